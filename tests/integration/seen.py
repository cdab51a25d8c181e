#!/usr/bin/python3
"""What is seen of a daemon from outside is true: metrics against calls counted here, status and doctor against /proc, the
log as JSON. And none of it holds a byte of a call's body, arguments or output."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import libprom
from libbrig import BRIG, FACTOR, REPO, Daemon, Suite

SECRET = 'xyzzy-not-for-any-eye'
OK = 'def run(secret): print(secret); return secret  # ' + SECRET
FAILS = 'def run(secret): raise ValueError(secret)'
DENIED = 'import ctypes\ndef run(secret): ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)'
OOM = 'def run(secret):\n    x = []\n    while True: x.append(bytearray(1 << 20))'
SLEEPS = 'import time\ndef run(secret, s=60): time.sleep(s); return 1'
CHATTY = 'def run(secret): print(secret * 40000); return 1'
ARGS = {'secret': SECRET}


class Log:
    """The daemon's standard error, as JSON lines."""

    def __init__(self, path):
        self.path = path

    def text(self):
        with open(self.path, encoding='utf-8') as f:
            return f.read()

    def lines(self):
        return [json.loads(line) for line in self.text().splitlines()]

    def events(self, name):
        return [e for e in self.lines() if e['event'] == name]

    def waits_for(self, name, count=1):
        end = time.monotonic() + 20 * FACTOR
        while len(self.events(name)) < count and time.monotonic() < end:
            time.sleep(0.05)
        return self.events(name)


def metrics(client):
    r = client.call('metrics', {})
    assert r['content_type'] == 'text/plain; version=0.0.4; charset=utf-8', r
    return libprom.Metrics(r['text']), r['text']


def until(what, secs=20):
    end = time.monotonic() + secs * FACTOR
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


def processes(client, role):
    return [p for p in client.call('status', {})['processes'] if p['role'] == role]


def make_profiles(t):
    """The shipped ones, one with a short wall clock, and one whose directory will be gone when it is used."""
    os.mkdir(t.dir + '/none')
    path = t.dir + '/with-ours'
    shutil.copytree(REPO + '/profiles', path)
    quick = {'name': 'quick', 'why': 'a test', 'extends': 'python', 'limits': {'wall': '%dms' % (400 * FACTOR)}}
    small = {'name': 'small', 'why': 'a test', 'extends': 'python', 'limits': {'wall': '60s', 'cpu': '60s', 'memory': '64M'}}
    gone = {'name': 'gone', 'why': 'a test', 'extends': 'python',
            'files': {'mounts': [{'from': t.dir + '/none', 'to': '/data', 'mode': 'ro', 'why': 'goes away'}]}}
    for p in (quick, small, gone):
        with open('%s/%s.json' % (path, p['name']), 'w', encoding='utf-8') as f:
            json.dump(p, f)
    subprocess.run(['chmod', '-R', 'a+rX', path], check=True)
    return path


def start(t, name, config):
    conf = t.file(name + '.conf', config)
    os.chmod(conf, 0o644)
    log = Log(t.dir + '/' + name + '.log')
    with open(log.path, 'wb') as err:
        d = Daemon(['--config', conf], stderr=err)
    if d.client().call('status', {}):  # core has read all its profiles by then
        return d, log
    raise RuntimeError(log.text())


class Calls:
    """Makes calls, and counts for itself how they must be counted."""

    def __init__(self, client):
        self.client, self.want, self.wrong = client, {}, []

    def note(self, profile, outcome, got):
        self.want[(profile, outcome)] = self.want.get((profile, outcome), 0) + 1
        if got.get('outcome') != outcome:
            self.wrong.append('%s, not %s: %s' % (got.get('outcome'), outcome, str(got)[:300]))

    def make(self, n, profile, outcome, body, args=ARGS, label=None, **more):
        for _ in range(n):
            self.note(profile or label, outcome, self.client.call('run', {'body': body, 'args': args, **({'profile': profile} if profile else {}), **more}))

    def total(self, outcome=None):
        return sum(n for (_, o), n in self.want.items() if outcome in (None, o))


def busy_calls(d, calls):
    """calls_per_uid is 4: of six at a time, two are turned away."""
    many = [d.client() for _ in range(6)]
    for c in many:
        c.send('run', {'body': SLEEPS, 'profile': 'python', 'args': {**ARGS, 's': 0.5 * FACTOR}})
        time.sleep(0.02)
    for c in many:
        got = c.recv()['result']
        calls.note('python', 'busy' if got['outcome'] == 'busy' else 'ok', got)
        c.hang_up()


def cancelled_call(d, calls):
    c = d.client()
    c.send('run', {'body': SLEEPS, 'profile': 'python', 'args': ARGS})
    other = d.client()
    until(lambda: other.call('list', {})['calls'])
    other.call('cancel', {'call_id': other.call('list', {})['calls'][0]['call_id']})
    calls.note('python', 'cancelled', c.recv()['result'])
    for each in (c, other):
        each.hang_up()


def every_end(t, d, log):
    """Calls of every kind of end that a call can be given on purpose; then the counters say just that."""
    c, admin = d.client(), d.client('admin')
    calls = Calls(c)
    os.rmdir(t.dir + '/none')
    calls.make(5, 'pure', 'ok', OK)
    calls.make(3, 'pure', 'tool_error', FAILS)
    calls.make(2, 'pure', 'invalid_arguments', OK, args=[SECRET])
    calls.make(2, 'python', 'syscall_denied', DENIED)
    calls.make(2, 'small', 'out_of_memory', OOM)
    calls.make(1, 'quick', 'timeout', SLEEPS)
    calls.make(2, 'gone', 'setup_failed', OK)
    calls.make(1, 'pure', 'ok', CHATTY)
    calls.client = admin
    calls.make(1, None, 'ok', OK, label='custom', profile_text=json.dumps({'name': SECRET, 'why': 'a test', 'extends': 'pure'}))
    calls.client = c
    busy_calls(d, calls)
    cancelled_call(d, calls)
    until(lambda: metrics(c)[0].get('brig_connections', socket='agent') == 1)  # those that hung up
    t.check('every call ends as it must', not calls.wrong and calls.total('busy') == 2, calls.wrong or calls.want)
    try:
        m, text = metrics(c)
        t.check('metrics are what Prometheus reads, strictly', True)
    except libprom.Bad as e:
        t.check('metrics are what Prometheus reads, strictly', False, e)
        return
    got = {(dict(labels)['profile'], dict(labels)['outcome']): n for (name, labels), n in m.samples.items() if name == 'brig_calls_total' and n}
    t.check('calls by profile and outcome, exactly', got == calls.want, 'got %s\nwant %s' % (sorted(got.items()), sorted(calls.want.items())))
    in_jails = calls.total() - calls.total('busy') - calls.total('invalid_arguments')
    t.check('each call that was begun is in one latency histogram', m.sum('brig_call_seconds_count') == in_jails, '%s not %s' % (m.sum('brig_call_seconds_count'), in_jails))
    t.check('and its wait in that of the queue', m.get('brig_queue_seconds_count') == in_jails, m.get('brig_queue_seconds_count'))
    t.check('warm ones are those that the pool gave', m.get('brig_call_seconds_count', jail='warm') == m.get('brig_pool_taken_total'), m.get('brig_pool_taken_total'))
    denied = {dict(labels)['layer']: n for (name, labels), n in m.samples.items() if name == 'brig_denied_total' and n}
    t.check('denials by layer', denied == {'seccomp': 2, 'cgroup': 2, 'mount': 2}, denied)
    t.check('out of memory', m.get('brig_oom_total') == 2, m.get('brig_oom_total'))
    t.check('the limit that was reached is named', m.get('brig_busy_total', limit='calls_per_uid') == 2 and m.sum('brig_busy_total') == 2, text)
    t.check('output that was cut is counted', m.get('brig_limits_hit_total', limit='stdout') == 1, text)
    t.check('the two connections', m.get('brig_connections', socket='agent') == 1 and m.get('brig_connections', socket='admin') == 1, text)
    t.check('nothing runs or waits', m.get('brig_running') == 0 and m.get('brig_queue_length') == 0, text)
    t.check('the audit log has two records for each call that was begun, and a note of the one that was cancelled',
            until(lambda: metrics(c)[0].get('brig_audit_records_total', result='written') >= 2 * in_jails), text[-1500:])
    started = m.get('process_start_time_seconds')
    t.check('core started a moment ago', time.time() - 600 * FACTOR < started <= time.time(), started)
    t.check('a pool for each profile in use', {dict(k[1])['profile'] for k in m.samples if k[0] == 'brig_pool_max'} >= {'pure', 'python', 'custom'}, text)
    t.check('the same on admin.sock', metrics(admin)[0].sum('brig_calls_total') == calls.total())
    promtool(t, text)
    t.check('no body, argument, output or name of a caller is in the metrics', SECRET not in text, text)
    ended = log.waits_for('call_ended', calls.total() - 4)
    by_outcome = {}
    for e in ended:
        key = (e['fields']['profile'], e['fields']['outcome'])
        by_outcome[key] = by_outcome.get(key, 0) + 1
    # Busy by account and bad arguments never became calls.
    want = {k: n for k, n in calls.want.items() if k[1] not in ('busy', 'invalid_arguments')}
    t.check('at debug level the log has the end of each call', by_outcome == want, 'got %s\nwant %s' % (by_outcome, want))
    for each in (c, admin):
        each.hang_up()


def promtool(t, text):
    if not shutil.which('promtool'):
        print('# promtool is not installed: the reader of this test alone has looked')
        return
    p = subprocess.run(['promtool', 'check', 'metrics'], input=text, capture_output=True, text=True)
    t.check('promtool agrees', p.returncode == 0, p.stdout + p.stderr)


def page(t, d):
    """brigd(8) names what there is, and nothing else."""
    with open(REPO + '/supervisor/brigd.8', encoding='utf-8') as f:
        text = f.read().partition('.Sh LOG AND METRICS')[2].partition('.Sh ENVIRONMENT')[0]
    c = d.client()
    there = {n for n in metrics(c)[0].types if n.startswith('brig_')}
    named = set(re.findall(r'\bbrig_[a-z_]+', text))
    t.check('brigd(8) names every metric and no other', named == there, named ^ there)
    c.hang_up()


def comm(pid):
    try:
        with open('/proc/%d/comm' % pid) as f:
            return f.read().strip()
    except OSError:
        return ''


def status(t, d):
    c = d.client()
    s = c.call('status', {})
    names = [(p['role'], comm(p['pid'])) for p in s['processes']]
    t.check('status: each process is there, under its name',
            all(n.startswith('zygote: ' if r == 'zygote' else 'brigd: ' + r) for r, n in names) and [r for r, _ in names][:3] == ['keeper', 'core', 'audit'], names)
    t.check('the keeper is the process that was started', s['processes'][0]['pid'] == d.p.pid, s)
    t.check('version, directories and configuration', s['version'] and s['run_dir'] == d.state + '/run' and s['state_dir'] == d.state and s['config'].endswith('.conf')
            and not s['private'] and not s['draining'], s)
    jails = {j['pid']: j['state'] for j in s['jails']}
    t.check('each jail that is parked lives', all(comm(p) for p, state in jails.items() if state == 'parked'), jails)
    t.check('counts fit', s['alive'] == sum(s['jail_states'].values()) and s['parked'] <= s['jail_states']['parked'], s)
    t.check('the audit log is in order', s['audit']['connected'] and s['audit']['error'] is None, s['audit'])
    t.check('a private supervisor says that it is one, and has no audit log', private_status() == (True, None, None), private_status())
    sleeper = d.client()
    sleeper.send('run', {'body': SLEEPS, 'profile': 'python', 'args': {**ARGS, 's': 1.0 * FACTOR}})
    t.check('a running call is counted', until(lambda: c.call('status', {})['calls']['running'] == 1))
    sleeper.recv()
    t.check('and no longer when it has ended', until(lambda: c.call('status', {})['calls']['running'] == 0))
    for each in (c, sleeper):
        each.hang_up()


def private_status():
    from libbrig import Supervisor
    p = Supervisor()
    s = p.call('status', {})
    p.close()
    return s['private'], s['audit'], s['run_dir']


def doctor_json(d, argv, user=()):
    p = subprocess.run([*user, *argv], capture_output=True, text=True, env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': d.state, 'HOME': '/tmp'},
                       stdin=subprocess.DEVNULL)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return {'processes': [], 'error': p.stdout + p.stderr}


def doctor(t, d):
    c = d.client()
    c.call('run', {'body': OK, 'args': ARGS})
    j = doctor_json(d, [BRIG, 'doctor', '--json'])
    p = {x['role']: x for x in reversed(j['processes'])}
    if not t.check('doctor: a process for each role', set(p) == {'keeper', 'core', 'audit', 'zygote'} and all(x['seen'] for x in p.values()), j):
        return
    for role in ('core', 'audit'):
        x = p[role]
        t.check('%s: no capability in any set of its own, no_new_privs, a filter, Landlock, both proven' % role,
                int(x['cap_effective'] + x['cap_permitted'] + x['cap_inheritable'] + x['cap_ambient'], 16) == 0 and x['no_new_privs'] and
                x['seccomp'] == 'filter' and x['seccomp_proven'] and x['landlock']['abi'] > 0 and x['landlock']['proven'], x)
    root = os.geteuid() == 0
    ids = [p[r]['uid'] for r in ('keeper', 'core', 'audit', 'zygote')]
    t.check('an id for each role, and none but the keeper is root', not root or (ids[0] == 0 and len(set(ids)) == 4), ids)
    kept = int(p['keeper']['cap_effective'], 16)
    t.check('the keeper holds kill, setgid, setuid and at most sys_admin', not root or kept & ~(1 << 21) == 0xe0, hex(kept))
    t.check('and has neither Landlock nor a filter, for its children mount', p['keeper']['seccomp'] == 'none' and not p['keeper']['landlock']['proven'])
    t.check('the capabilities of a zygote are those of its own user namespace', not root or 'own userns' in p['zygote']['capabilities'], p['zygote'])
    t.check('descriptors are counted', not root or all(x['descriptors'] > 2 for x in p.values()), [x['descriptors'] for x in p.values()])
    t.check('the audit process holds few', p['audit']['descriptors'] is None or p['audit']['descriptors'] <= 8, p['audit'])
    text = subprocess.run([BRIG, 'doctor'], capture_output=True, text=True, env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': d.state}).stdout
    rows = [line for line in text.partition('processes of this daemon')[2].splitlines()[1:] if line.startswith('  ')]
    t.check('the same as a table of at most 80 columns', len(rows) == 1 + len(j['processes']) and all(len(r) <= 80 for r in rows), text[-900:])
    if root:
        as_nobody(t, d)
    c.hang_up()


def as_nobody(t, d):
    user = ('setpriv', '--reuid=65534', '--regid=65534', '--clear-groups')
    j = doctor_json(d, [t.user_brig(), 'doctor', '--json'], user)
    p = {x['role']: x for x in reversed(j.get('processes', []))}
    t.check('an ordinary user sees ids, capabilities and filters too', set(p) >= {'keeper', 'core', 'audit'} and p['core']['seccomp'] == 'filter' and p['keeper']['uid'] == 0, j)
    t.check('not the descriptors of others, but what core says of its own', p and p['keeper']['descriptors'] is None and p['core']['descriptors'] > 2, p)
    who = [h for h in j.get('host', []) if h['name'] == 'authority']
    t.check('and that who asks there cannot approve', who and who[0]['state'] == 'ok', who)


def replaced(t, d, log):
    """Processes that die are counted, named and told."""
    c = d.client()
    victim = [z for z in processes(c, 'zygote') if z['profile'] == 'pure' and z['state'] == 'ready'][0]['pid']
    os.kill(victim, signal.SIGKILL)
    log.waits_for('zygote_lost')
    m, text = metrics(c)
    t.check('a zygote that died is counted', m.get('brig_process_restarts_total', process='zygote') == 1, text)
    audit = processes(c, 'audit')[0]['pid']
    os.kill(audit, signal.SIGKILL)
    t.check('and so is an audit process', until(lambda: metrics(c)[0].get('brig_process_restarts_total', process='audit') == 1))
    t.check('whose successor status names', until(lambda: [p['pid'] for p in processes(c, 'audit')] not in ([], [audit])), processes(c, 'audit'))
    core = processes(c, 'core')[0]['pid']
    os.kill(core, signal.SIGSYS)
    t.check('a core that its own filter ended is named so', log.waits_for('core_ended') and 'SIGSYS' in log.events('core_ended')[0]['message'], log.text()[-800:])
    c.hang_up()
    c = d.client()
    m, text = metrics(c)
    t.check('its successor begins to count at 0 and knows that it is one', m.sum('brig_calls_total') == 0 and
            m.get('brig_process_restarts_total', process='core') == 1 and c.call('status', {})['restarts'] == 1, text)
    c.hang_up()


def log_of(t, d, log):
    c = d.client()
    before = len(log.events('syscall_denied'))
    for _ in range(3 * 5):
        c.call('run', {'body': DENIED, 'profile': 'python', 'args': ARGS})
    # Five in ten seconds; a slow machine may see the next ten begin.
    told = len(log.events('syscall_denied')) - before
    t.check('what clients can cause at will is told a few times, and counted', 1 <= told <= 10, told)
    c.hang_up()
    lines = log.lines()
    want = {'time', 'level', 'process', 'pid', 'event', 'message'}
    t.check('each line of the log is one JSON object with the same keys', all(want <= set(e) <= want | {'fields'} for e in lines), lines[:3])
    seen = {e['event'] for e in lines}
    t.check('what an operator should know is there', seen >= {'ready', 'syscall_denied', 'setup_failed', 'busy', 'zygote_lost', 'core_ended', 'call_ended'}, seen)
    t.check('with the process that says it', {e['process'] for e in lines} >= {'keeper', 'core'} and all(e['pid'] > 0 for e in lines))
    denied = log.events('syscall_denied')[0]
    t.check('a denied call is named', denied['fields']['syscall'] == 'ptrace' and denied['fields']['profile'] == 'python', denied)
    failed = log.events('setup_failed')[0]
    t.check('a jail that cannot be built names the layer', failed['fields']['layer'] == 'mount' and failed['level'] == 'warning', failed)
    t.check('no body, argument, output or name of a caller is in the log', SECRET not in log.text())


def drained(t, d, log):
    t.check('SIGTERM: it ends well', d.close() == 0)
    seen = [e['event'] for e in log.lines()]
    t.check('the log tells of the drain and of the end', 'draining' in seen and seen[-1] == 'stopped', seen[-5:])


def quiet(t, profiles):
    """The default level tells nothing of calls that end well, and text is the default where no journal is."""
    d, log = start(t, 'quiet', 'profiles_dir = %s\n' % profiles)
    c = d.client()
    for _ in range(3):
        c.call('run', {'body': OK, 'args': ARGS})
    c.hang_up()
    d.close()
    text = log.text()
    t.check('as text, line for line from brigd', text and all(line.startswith('brigd: ') for line in text.splitlines()), text)
    t.check('and nothing of calls that end well', 'call' not in text.replace('no new calls', '') and SECRET not in text, text)


def main():
    t = Suite()
    t.check('the strict reader is one', libprom.self_test() == '', libprom.self_test())
    profiles = make_profiles(t)
    users = 'agent_mode = 0666\nagent_users = 65534\n' if os.geteuid() == 0 else ''
    d, log = start(t, 'seen', 'log_format = json\nlog_level = debug\ncalls_per_uid = 4\nprofiles_dir = %s\n%s' % (profiles, users))
    every_end(t, d, log)
    page(t, d)
    status(t, d)
    doctor(t, d)
    replaced(t, d, log)
    log_of(t, d, log)
    drained(t, d, log)
    os.mkdir(t.dir + '/none')
    quiet(t, profiles)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
