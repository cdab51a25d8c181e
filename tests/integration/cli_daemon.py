#!/usr/bin/python3
"""brig against a daemon: the same words as with a private supervisor, every verb, and every way in which a daemon can fail its client."""
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from libbrig import BRIG, FACTOR, HERE, WAITED, Daemon, Reply, Suite

NOBODY = pwd.getpwnam('nobody').pw_uid
SLEEP = 'import time\ndef run():\n    time.sleep(60)\n'


class Brig:
    """brig with an environment of its own."""

    def __init__(self, t, state=None, program=None, uid=None, **env):
        self.t, self.program, self.uid = t, program or BRIG, uid
        self.env = {'PATH': '/usr/bin:/bin', 'LC_ALL': 'C.UTF-8', **({'BRIG_STATE': state} if state else {}), **env}

    def start(self, *argv, **popen):
        def drop():
            if self.uid is not None:
                os.setgroups([])
                os.setresgid(self.uid, self.uid, self.uid)
                os.setresuid(self.uid, self.uid, self.uid)
        popen = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'preexec_fn': drop, 'cwd': self.t.dir, **popen}
        p = subprocess.Popen([self.program, *argv], env=self.env, **popen)
        WAITED.add(p.pid)
        return p

    def __call__(self, *argv, secs=60, **popen):
        begin = time.monotonic()
        p = self.start(*argv, **popen)
        try:
            out, err = p.communicate(timeout=secs * FACTOR)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            err += b'\n(killed by the test)'
        return Reply(p.returncode, (out or b'').decode('utf-8'), (err or b'').decode('utf-8', 'replace'), time.monotonic() - begin)

    def until(self, want, *argv, secs=15):
        """Repeats a verb until want(reply)."""
        end = time.monotonic() + secs * FACTOR
        while True:
            r = self(*argv)
            if want(r) or time.monotonic() > end:
                return r
            time.sleep(0.02)


class Fake:
    """fake_brigd.py as a daemon."""
    all = []

    def __init__(self, t, word, uid=None, where=None):
        self.dir = where or tempfile.mkdtemp(prefix='brig-f-', dir='/var/tmp')
        os.makedirs(self.dir + '/run', exist_ok=True)
        if uid is not None:
            os.chown(self.dir, uid, uid)
            os.chown(self.dir + '/run', uid, uid)
        os.chmod(self.dir, 0o755)
        self.socks = []
        self.p = []
        Fake.all.append(self)
        for name in ('agent', 'admin'):
            path = '%s/run/%s.sock' % (self.dir, name)
            self.p.append(Brig(t, program='/usr/bin/python3', uid=uid).start('-I', HERE + '/fake_brigd.py', '--listen', path, word,
                                                                             stdout=None, stderr=None))
            self.socks.append(path)
        end = time.monotonic() + 10 * FACTOR
        while not all(self.listens(s) for s in self.socks) and time.monotonic() < end:
            time.sleep(0.02)

    @staticmethod
    def listens(path):
        """The mode is set between bind and listen; a connection would be counted."""
        with open('/proc/net/unix', encoding='utf-8') as f:
            return any(line.split()[-1] == path and line.split()[3] == '00010000' for line in f)

    def got(self):
        return ''.join(open(s + '.got', encoding='utf-8').read() for s in self.socks if os.path.exists(s + '.got'))

    def close(self):
        for p in self.p:
            p.kill()
            p.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def same(reply):
    """What must be the same whichever supervisor served: all but names, times and how the jail came to be."""
    text = re.sub(r'"(call_id|host_uid|wall_ms|cpu_ms|queue_ms|memory_peak_bytes|processes_peak|jail|ran)":\s*("[^"]*"|[0-9.]+|null)', r'"\1":*',
                  reply.out + reply.err)
    return reply.status, re.sub(r'"(evidence)":\{[^}]*\}', r'"\1":*', text)


TABLE = (
    ('a text', 0, 'def run(**kw):\n    return "text"\n', ()),
    ('a value', 0, 'def run(n):\n    return [n, None]\n', ('--args', '{"n": 9007199254740993}')),
    ('output', 0, 'def run():\n    print("out\\x1b[31m")\n    return 1\n', ()),
    ('an error with its line', 1, 'def run():\n    return 1 / 0\n', ()),
    ('no run', 1, 'x = 1\n', ()),
    ('a syntax error', 1, 'def run(:\n', ()),
    # Not a body that spins: of pure's equal limits of time and processor whichever the load of the machine lets be first ends that one.
    ('a time limit', 5, 'import time\ndef run():\n    time.sleep(60)\n', ('--profile', 'pure')),
    ('too much memory', 5, 'def run():\n    return len([bytes(1 << 20) * 64 for _ in range(64)])\n', ()),
    ('an attack', 4, 'import ctypes\ndef run():\n    ctypes.CDLL(None).ptrace(0, 0, 0, 0)\n', ('--profile', 'python')),
    ('an unknown profile', 2, 'def run(): return 1\n', ('--profile', 'pur')),
    ('arguments that are no object', 3, 'def run(): return 1\n', ('--args', '[1]')),
)


def both_ways(t, daemon, private):
    for title, status, body, more in TABLE:
        path = t.file('both.py', body)
        for form in ((), ('--json',)):
            a, b = daemon('run', path, *more, *form), private('run', path, *more, *form)
            t.check('%s%s: %d, the same from a daemon and from a private supervisor' % (title, ' as JSON' if form else '', status),
                    a.status == b.status == status and same(a) == same(b), '%s\n%s' % (a, b))
    r = daemon('run', path, '--args', '{}', '--private', '--json')
    t.check('--private where a daemon runs', r.status == 0, r)
    r = daemon('run', path, '--args', '{}', '--best-effort')
    t.check('--best-effort over agent.sock is the operator\'s to allow, and says so', r.status == 4 and 'allow_best_effort' in r.err, r)
    r = daemon('run', path, '--profile', t.profile())
    t.check('a profile of one\'s own is refused by a daemon, and --private is named', r.status == 4 and '--private' in r.err, r)
    r = daemon('run', path, '--profile', t.profile(), '--private')
    t.check('and with --private it runs', r.status == 0, r)
    for what in ('check', 'show'):
        r = daemon('profile', what, t.profile())
        t.check('profile %s of a file works beside a daemon' % what, r.status == 0 and 'test' in r.out, r)


def verbs(t, d, brig):
    """Each verb for people and as JSON."""
    p = brig.start('run', t.file('sleep.py', SLEEP), '--profile', 'python')
    r = brig.until(lambda r: ' running ' in r.out, 'list')
    t.check('list shows the call that runs, in 80 columns', re.search(r'^[0-9a-f]{32}  python +running +[0-9.]+m?s +%d$' % os.getuid(), r.out, re.M) and
            all(len(line) <= 80 for line in r.out.split('\n')), r)
    r = brig('list', '--json')
    t.check('list --json is one object', r.status == 0 and len(r.json['calls']) == 1 and r.out.count('\n') == 1, r)
    call_id = r.json['calls'][0]['call_id']
    t.check('list --admin shows it too', call_id in brig('list', '--admin').out)
    r = brig('status')
    t.check('status for people', r.status == 0 and '1 running of' in r.out and all(len(line) <= 80 for line in r.out.split('\n')), r)
    r = brig('status', '--json')
    t.check('status --json is one object', r.status == 0 and r.json.get('version') and r.out.count('\n') == 1, r)
    kind = r['cgroup.kind']
    receipt = brig('run', t.file('fine.py', 'def run(): return 1\n'), '--json')
    t.check('status names the cgroups that calls get', kind == receipt['receipt.cgroup'], '%s\n%s' % (r, receipt))
    r = brig('pool')
    t.check('pool lists the profile', r.status == 0 and re.search(r'^python ', r.out, re.M) and all(len(line) <= 80 for line in r.out.split('\n')), r)
    r = brig('pool', '--json')
    t.check('pool --json is one object', r.status == 0 and any(x['profile'] == 'python' for x in r.json['pools']) and r.out.count('\n') == 1, r)
    r = brig('metrics')
    t.check('metrics is the text of Prometheus', r.status == 0 and '# TYPE brig_calls_total counter' in r.out, r)
    r = brig('metrics', '--json')
    t.check('metrics --json is one object', r.status == 0 and r.json['text'].startswith('# HELP') and r.out.count('\n') == 1, r)
    r = brig('cancel', call_id)
    out, err = p.communicate(timeout=10 * FACTOR)
    t.check('cancel ends the call', r.status == 0 and r.out == 'call %s was cancelled; it was running\n' % call_id, r)
    t.check('whose client gets 130 and who did it', p.returncode == 130 and b'cancelled by uid' in err, '%s %s' % (p.returncode, err))
    for form in ((), ('--json',)):
        r = brig('cancel', call_id, *form)
        t.check('cancel of a call that ended is refused%s' % (' as an object' if form else ''), r.status == 2 and 'no call of that id' in r.err and
                bool(r.json) == bool(form), r)
    r = brig('cancel', '\x1b[31m"\\', '--json')
    t.check('cancel of nonsense', r.status == 2 and '\x1b' not in r.err and r.json, r)
    r = brig('list')
    t.check('an empty list says so', r.status == 0 and r.out == 'no call is queued or running\n', r)
    r = brig('reload')
    t.check('reload', r.status == 0 and r.out.startswith('reloaded'), r)
    r = brig('reload', '--json')
    t.check('reload --json is one object', r.status == 0 and r.json is not None and r.out.count('\n') == 1, r)
    r = brig('pool', '--socket', d.path('agent'))
    t.check('an admin verb over agent.sock: denied, 4', r.status == 4 and 'not for agent.sock' in r.err, r)


def drain(t, brig):
    path = t.file('fine.py', 'def run(): return 1\n')
    p = brig.start('run', t.file('sleep.py', SLEEP), '--profile', 'python')
    brig.until(lambda r: ' running ' in r.out, 'list')
    r = brig('drain')
    t.check('drain tells how many are left', r.status == 0 and r.out == 'brigd takes no new calls; 1 is left\n', r)
    r = brig('run', path, '--json')
    t.check('a draining daemon answers busy, 75, with a time to come back', r.status == 75 and r.json.get('retry_after_ms', 0) > 0, r)
    w = brig.start('drain', '--wait', '--json')
    time.sleep(0.3 * FACTOR)
    t.check('drain --wait waits', w.poll() is None)
    w.send_signal(signal.SIGINT)
    t.check('and can be stopped', w.wait(timeout=5 * FACTOR) == 130)
    w.communicate()
    w = brig.start('drain', '--wait')
    time.sleep(0.3 * FACTOR)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=10 * FACTOR)
    out = w.communicate(timeout=10 * FACTOR)[0]
    t.check('drain --wait ends when no call is left', w.returncode == 0 and out == b'brigd takes no new calls, and none is left\n', out)
    r = brig('drain', '--off', '--json')
    t.check('drain --off takes calls again', r.status == 0 and r.json == {'draining': False, 'calls': 0} and brig('run', path).status == 0, r)


def gone(pids, secs=10):
    end = time.monotonic() + secs * FACTOR
    while time.monotonic() < end:
        if not [p for p in pids if os.path.exists('/proc/%d' % p)]:
            return True
        time.sleep(0.05)
    return False


def running(brig):
    """Pids of the jails that run a call; others wait parked."""
    return [j['pid'] for j in brig('status', '--json').json['jails'] if j['state'] == 'running']


def stopped(t, brig):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
        p = brig.start('run', t.file('sleep.py', SLEEP), '--profile', 'python', '--json')
        brig.until(lambda r: ' running ' in r.out, 'list')
        jails = running(brig)
        p.send_signal(sig)
        out, err = p.communicate(timeout=10 * FACTOR)
        want = -9 if sig == signal.SIGKILL else 130
        r = brig.until(lambda r: 'no call' in r.out, 'list', secs=5)
        t.check('%s to brig: %d, the call ends in the daemon and its jail dies' % (sig.name, want), p.returncode == want and 'no call' in r.out and
                jails and gone(jails), '%s %s %s %s' % (p.returncode, out, err, jails))


def jails_of(d):
    return [jail for role in children(d.p.pid) for jail in children(role)]


def children(pid):
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def named(pid, name):
    """Children of the keeper by what ps shows."""
    def title(p):
        try:
            with open('/proc/%d/comm' % p, encoding='utf-8') as f:
                return f.read().strip()
        except OSError:
            return ''
    return [p for p in children(pid) if title(p) == name]


def killed(t, role):
    d = Daemon(stderr=subprocess.DEVNULL)
    brig = Brig(t, d.state)
    path = t.file('sleep.py', SLEEP)
    calls = [brig.start('run', path, '--profile', 'python', '--json') for _ in range(3)]
    brig.until(lambda r: r.out.count('running') == 3, 'list')
    jails = jails_of(d)
    pid = d.p.pid if role == 'keeper' else named(d.p.pid, 'brigd: ' + role)[0]
    begin = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    good = len(jails) >= 3
    why = str(jails)
    for p in calls:
        try:
            out, err = p.communicate(timeout=10 * FACTOR)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
        r = Reply(p.returncode, out.decode(), err.decode(), 0)
        good = good and r.status == 70 and r.outcome == 'internal_error' and 'closed the connection' in r['cause.what']
        why += '\n%s' % r
    t.check('SIGKILL to the %s while calls run: each ends as internal_error, 70, within seconds (%.1f)' % (role, time.monotonic() - begin), good, why)
    t.check('SIGKILL to the %s: no jail is left' % role, gone(jails))
    fine = t.file('fine.py', 'def run(): return 1\n')
    if role == 'core':
        r = brig.until(lambda r: r.status == 0, 'run', fine, '--socket', d.path('agent'), secs=20)
        t.check('and the daemon serves again', r.status == 0, r)
    else:
        r = brig('status')
        t.check('and its socket is stale: no daemon, 6', r.status == 6 and 'no supervisor listens' in r.err, r)
        t.check('which is no obstacle to a private supervisor', brig('run', fine).status == 0)
    d.close()


def no_daemon(t):
    brig = Brig(t, t.dir + '/nowhere')
    for verb in ('status', 'list', 'metrics', 'pool', 'reload', 'drain', 'cancel'):
        more = ('x',) if verb == 'cancel' else ()
        r, j = brig(verb, *more), brig(verb, *more, '--json')
        t.check('%s without a daemon: 6, and how to start one; --json one object' % verb, r.status == j.status == 6 and 'brigd' in r.err and not r.out and
                r.err.count('\n') == 1 and j.outcome == 'setup_failed' and j.out.count('\n') == 1, '%s\n%s' % (r, j))
    fine = t.file('fine.py', 'def run(): return 1\n')
    r = brig('run', fine, '--socket', t.dir + '/none.sock', '--json')
    t.check('run --socket where nobody listens is an error', r.status == 6 and r.outcome == 'setup_failed' and 'none.sock' in r.err, r)
    r = Brig(t, BRIG_SOCKET=t.dir + '/none.sock')('run', fine)
    t.check('so is BRIG_SOCKET', r.status == 6 and 'none.sock' in r.err, r)
    r = Brig(t, BRIG_SOCKET=t.dir + '/none.sock')('pool')
    t.check('an admin verb takes the admin.sock beside BRIG_SOCKET', r.status == 6 and t.dir + '/admin.sock' in r.err, r)
    r = Brig(t, BRIG_SOCKET=t.dir + '/none.sock')('run', fine, '--private')
    t.check('--private wins over BRIG_SOCKET', r.status == 0, r)
    for path in ('', 'x' * 200):
        r = brig('run', fine, '--socket', path)
        t.check('a socket path of %d bytes: usage' % len(path), r.status == 2 and 'socket' in r.err, r)
    r = brig('run', fine, '--socket', 'x', '--private')
    t.check('--socket and --private exclude each other', r.status == 2 and 'exclude' in r.err, r)
    for what, path in (('a regular file', fine), ('a directory', t.dir)):
        r = brig('status', '--socket', path)
        t.check('%s as --socket' % what, r.status in (4, 6) and path in r.err, r)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(t.dir + '/dgram')
    r = brig('status', '--socket', t.dir + '/dgram')
    t.check('a datagram socket', r.status == 6 and 'dgram' in r.err, r)
    sock.close()


def strangers(t):
    """Who may not connect, and whom we do not trust."""
    if os.geteuid() != 0:
        t.check('sockets of other users # SKIP needs root', True)
        return
    d = Daemon(stderr=subprocess.DEVNULL)
    fine = t.file('fine.py', 'def run(): return 1\n')
    os.chmod(fine, 0o644)
    user = Brig(t, d.state, program=t.user_brig(), uid=NOBODY)
    for form in ((), ('--json',)):
        r = user('status', *form)
        t.check('a socket that this user may not open: denied, 4%s' % (' as an object' if form else ''),
                r.status == 4 and 'may not connect' in r.err and (r.outcome == 'denied') == bool(form), r)
    r = user('run', fine, '--best-effort')
    t.check('run then says so in one line and serves itself', r.out == '1\n' and r.err.startswith('brig: note: this user may not connect'), r)
    d.close()
    f = Fake(t, 'hostile', uid=NOBODY)
    for argv in (('--socket', f.socks[0]), ()):
        r = Brig(t, f.dir)('run', fine, *argv)
        want = (4, '') if argv else (0, '1\n')
        t.check('a stranger\'s socket below /var/tmp gets nothing%s' % (' even when named' if argv else '; a private supervisor serves'),
                (r.status, r.out) == want and 'another user' in r.err and f.got() == '', '%s\n%s' % (r, f.got()))
    f.close()
    kept = tempfile.mkdtemp(prefix='brig-t-', dir='/run')
    f = Fake(t, 'hostile', uid=NOBODY, where=kept)
    r = Brig(t, f.dir)('run', fine)
    t.check('a service user\'s socket where only root could put it is used', r.out == 'hostile\n', r)
    f.close()


def end_of(p, secs):
    """What it says on standard error until it ends, or is made to."""
    try:
        return p.communicate(timeout=secs * FACTOR)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        return p.communicate()[1]


def fakes(t):
    fine = t.file('fine.py', 'def run(): return 1\n')
    for word in ('noise', 'half', 'end', 'other', 'list', 'flood'):
        f = Fake(t, word)
        r = Brig(t, f.dir)('run', fine, '--json')
        t.check('a daemon that answers with "%s": internal_error, 70, one object' % word, r.status == 70 and r.outcome == 'internal_error' and
                r.out.count('\n') == 1, r)
        f.close()
    f = Fake(t, 'door')
    brig = Brig(t, f.dir)
    r = brig('run', fine)
    t.check('a daemon that does not admit this user: one note, and a private supervisor serves', r.out == '1\n' and r.status == 0 and
            r.err.startswith('brig: note: uid 5') and r.err.count('\n') == 1 and '\x1b' not in r.err, r)
    r = brig('run', fine, '--socket', f.socks[0], '--json')
    t.check('where the socket was named it is denied, 4', r.status == 4 and r.outcome == 'denied' and 'ask the operator' in r.err, r)
    r = brig('status')
    t.check('so is what needs a daemon', r.status == 4, r)
    f.close()
    f = Fake(t, 'crowd')
    r = Brig(t, f.dir)('run', fine, '--json')
    t.check('a daemon with too many connections: busy, 75', r.status == 75 and r.outcome == 'busy', r)
    f.close()
    f = Fake(t, 'authority')
    r = Brig(t, f.dir)('run', fine)
    t.check('a refusal of the request itself is no reason to run it elsewhere', r.status == 4 and not r.out, r)
    f.close()
    f = Fake(t, 'hang')
    brig = Brig(t, f.dir)
    waits = [brig.start(v) for v in ('status', 'list', 'pool')]
    p = brig.start('run', fine)
    begin = time.monotonic()
    ends = [end_of(w, 40) for w in waits]
    t.check('a daemon that hangs: short verbs give up after 10 s, 70', [w.returncode for w in waits] == [70] * 3 and all(b'10 s' in e for e in ends) and
            8 < time.monotonic() - begin < 30 * FACTOR, ends)
    p.send_signal(signal.SIGINT)
    t.check('and a run can be stopped', p.wait(timeout=5 * FACTOR) == 130)
    p.communicate()
    f.close()
    f = Fake(t, 'hostile')
    brig = Brig(t, f.dir)
    for verb in ('list', 'pool', 'status', 'reload', 'drain', 'metrics', 'cancel'):
        r = brig(verb, *(('x',) if verb == 'cancel' else ()))
        t.check('%s: nothing of a hostile daemon reaches the terminal' % verb, r.status == 0 and not re.search('[\x00-\x09\x0b-\x1f\u202e]', r.out + r.err) and
                (verb == 'metrics' or all(len(line) <= 80 for line in r.out.split('\n'))), r)
    t.check('times are shown for people', all(w in brig('list').out for w in ('0.2ms', '450ms', '12.3s', '3m20s')), brig('list'))
    f.close()


def full_queue(t):
    f = Fake(t, 'full')
    held = []
    for _ in range(8):
        s = socket.socket(socket.AF_UNIX)
        s.setblocking(False)
        try:
            s.connect(f.socks[0])
        except BlockingIOError:
            break
        held.append(s)
    r = Brig(t, f.dir)('run', t.file('fine.py', 'def run(): return 1\n'), '--json')
    t.check('a daemon whose queue of connections stays full: busy, 75, in bounded time', r.status == 75 and r.outcome == 'busy' and 4 < r.secs < 20 * FACTOR, r)
    p = Brig(t, f.dir).start('status')
    time.sleep(0.5)
    p.send_signal(signal.SIGINT)
    t.check('and the wait can be stopped', p.wait(timeout=3 * FACTOR) == 130)
    p.communicate()
    for s in held:
        s.close()
    f.close()


def served(t):
    d = Daemon(stderr=subprocess.DEVNULL)
    try:
        brig = Brig(t, d.state)
        both_ways(t, brig, Brig(t, t.dir + '/nowhere'))
        verbs(t, d, brig)
        stopped(t, brig)
        drain(t, brig)
    finally:
        status = d.close()
    t.check('the daemon ends in order', status == 0, status)


def killed_parts(t):
    for role in ('core', 'keeper'):
        killed(t, role)


PARTS = (no_daemon, served, killed_parts, strangers, fakes, full_queue)


def main():
    """All parts, or those that are named."""
    t = Suite()
    try:
        for part in PARTS:
            if len(sys.argv) == 1 or part.__name__ in sys.argv:
                part(t)
    finally:
        for f in Fake.all:
            f.close()
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
