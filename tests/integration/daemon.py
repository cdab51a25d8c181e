#!/usr/bin/python3
"""A daemon's life: start, refusals, configuration, reload, drain, and what is left and goes on when a part of it is killed."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from libbrig import BRIG, BUILD, FACTOR, REPO, WAITED, Client, Daemon, Suite

SLEEP = 'import time\ndef run(secs):\n    time.sleep(secs)\n    return "slept"\n'
ADD = 'def run(x): return x + 1'


class Manager:
    """What a service manager hears (sd_notify)."""

    def __init__(self, abstract=False):
        self.path = ('@brig-test-%d' % os.getpid()) if abstract else tempfile.mktemp(prefix='brig-n-', dir='/var/tmp')
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind('\0' + self.path[1:] if abstract else self.path)

    def next(self, word, secs=10):
        """The next message that holds that line, or ''."""
        end = time.monotonic() + secs * FACTOR
        while time.monotonic() < end:
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            try:
                text = self.sock.recv(4096).decode()
            except socket.timeout:
                return ''
            if any(line.startswith(word) for line in text.split('\n')):
                return text
        return ''

    def close(self):
        self.sock.close()
        if self.path[0] == '/':
            os.unlink(self.path)


class Life(Daemon):
    """A daemon with a configuration file and profiles of its own, whose messages are kept."""

    def __init__(self, conf='', manager=None, env=None, state=None, **popen):
        self.conf_dir = tempfile.mkdtemp(prefix='brig-c-', dir='/var/tmp')
        self.conf = self.conf_dir + '/brigd.conf'
        self.profiles = self.conf_dir + '/profiles'
        shutil.copytree(REPO + '/profiles', self.profiles)
        self.write(conf)
        self.log = open(self.conf_dir + '/log', 'w+', encoding='utf-8')
        more = {'NOTIFY_SOCKET': manager.path} if manager else {}
        super().__init__(('--config', self.conf, '--profiles', self.profiles), {**more, **(env or {})}, stderr=self.log, state=state, **popen)

    def write(self, conf):
        with open(self.conf, 'w', encoding='utf-8') as f:
            f.write(conf)
        os.chmod(self.conf, 0o644)

    def said(self):
        with open(self.conf_dir + '/log', encoding='utf-8') as f:
            return f.read()

    def says(self, word, secs=10):
        end = time.monotonic() + secs * FACTOR
        while time.monotonic() < end:
            if word in self.said():
                return True
            time.sleep(0.02)
        return False

    def kids(self):
        """Role -> pid of the keeper's children."""
        got = {}
        with open('/proc/%d/task/%d/children' % (self.p.pid, self.p.pid)) as f:
            for pid in f.read().split():
                try:
                    with open('/proc/%s/comm' % pid) as c:
                        got[c.read().strip().replace('brigd: ', '').split(':')[0]] = int(pid)
                except OSError:
                    pass
        return got

    def role(self, name, other_than=0, secs=15):
        end = time.monotonic() + secs * FACTOR
        while time.monotonic() < end:
            pid = self.kids().get(name, 0)
            if pid and pid != other_than:
                return pid
            time.sleep(0.01)
        return 0

    def run(self, body=ADD, args=None, profile='pure', secs=30):
        """One call on a connection of its own; None where the connection ends without an answer. Waits for a core that starts."""
        end = time.monotonic() + secs * FACTOR
        while time.monotonic() < end:
            try:
                c = self.client()
            except OSError:
                time.sleep(0.05)
                continue
            try:
                return c.call('run', {'body': body, 'args': {'x': 4} if args is None else args, 'profile': profile})
            except (EOFError, ConnectionError):
                return None
            finally:
                c.hang_up()
        return None

    def begin(self, secs, profile='python'):
        """A call that runs: its connection."""
        c = self.client()
        c.send('run', {'body': SLEEP, 'args': {'secs': secs}, 'profile': profile})
        a = self.client('admin')
        end = time.monotonic() + 20 * FACTOR
        while time.monotonic() < end:
            calls = a.call('list', {})
            if any(x.get('state') == 'running' for x in calls.get('calls', [])):
                break
            time.sleep(0.02)
        a.hang_up()
        return c

    def end_of(self, c):
        """The answer of a call that was begun, 'closed', or 'hangs'."""
        try:
            reply = c.recv()
            return reply.get('result', reply)
        except (EOFError, ConnectionError):
            return 'closed'
        except socket.timeout:
            return 'hangs'
        finally:
            c.hang_up()

    def audit_sound(self):
        r = subprocess.run([BRIG, 'audit', 'verify', self.state + '/audit'], capture_output=True, text=True)
        return r.returncode == 0, r.stdout + r.stderr

    def close(self, sig=signal.SIGTERM):
        status = super().close(sig)
        self.log.close()
        shutil.rmtree(self.conf_dir, ignore_errors=True)
        return status


def brigd(*argv, env=None, timeout=60, **more):
    """brigd, run to its end: (status, stdout, stderr)."""
    r = subprocess.run([BUILD + '/brigd', *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout * FACTOR,
                       env={'PATH': '/usr/bin:/bin', **(env or {})}, **more)
    return r.returncode, r.stdout, r.stderr


def outcome(r):
    return r.get('outcome') if isinstance(r, dict) else r


# ---- start -----------------------------------------------------------------------

def starts(t):
    for abstract in (False, True):
        m = Manager(abstract)
        d = Life('agent_mode = 0666\nagent_users = daemon\n', m)
        ready = m.next('READY=1')
        t.check('sd_notify says READY when it serves%s' % (' (abstract socket)' if abstract else ''), 'STATUS=' in ready, ready)
        if not abstract:
            r = d.run()
            t.check('and it does', outcome(r) == 'ok' and r['result'] == 5, r)
            modes = {w: oct(os.stat(d.path(w)).st_mode & 0o7777) for w in ('agent', 'admin')}
            t.check('the sockets have the modes of the configuration', modes == {'agent': '0o666', 'admin': '0o600'}, modes)
            t.check('keeper, core and audit are three processes', {'core', 'audit'} <= set(d.kids()), d.kids())
            t.check('the watchdog is fed while core lives', m.next('WATCHDOG=1', 8) != '')
            refused_twice(t, d)
        d.p.send_signal(signal.SIGTERM)
        t.check('and STOPPING when it ends', m.next('STOPPING=1') != '')
        status = d.p.wait(timeout=20 * FACTOR)
        left = os.listdir(d.state + '/run')
        t.check('it ends with 0 and leaves no socket', status == 0 and left == ['brigd.lock'], '%s %s' % (status, left))
        d.close()
        m.close()


def refused_twice(t, d):
    status, _, err = brigd(env={'BRIG_STATE': d.state})
    t.check('a second brigd in the same run directory is busy, by name', status == 75 and d.state + '/run' in err and 'another brigd' in err, err)
    t.check('and the first serves on', outcome(d.run()) == 'ok')


def stale(t):
    d = Life()
    t.check('before', outcome(d.run()) == 'ok')
    inode = os.stat(d.path('agent')).st_ino
    d.p.kill()
    d.p.wait()
    t.check('SIGKILL to the keeper leaves its sockets and nobody behind them', os.path.exists(d.path('agent')) and not t.left(), t.left())
    log = open(d.conf_dir + '/log', 'w', encoding='utf-8')
    d.p = subprocess.Popen([BUILD + '/brigd', '--config', d.conf, '--profiles', d.profiles], stdin=subprocess.DEVNULL, stderr=log,
                           env={'PATH': '/usr/bin', 'BRIG_STATE': d.state})
    WAITED.add(d.p.pid)
    d.says('serving')
    t.check('the next one replaces them', os.stat(d.path('agent')).st_ino != inode and outcome(d.run()) == 'ok', d.said())
    status = d.p.send_signal(signal.SIGTERM) or d.p.wait(timeout=20 * FACTOR)
    good, why = d.audit_sound()
    t.check('and the audit log of both is sound', status == 0 and good, why)
    d.close()
    log.close()


# ---- places that will not do -----------------------------------------------------

def place(t, title, prepare, words, status=6, conf='', also=None):
    """A fresh state directory, changed by prepare(dir); brigd must refuse it with these words."""
    state = tempfile.mkdtemp(prefix='brig-p-', dir='/var/tmp')
    os.chmod(state, 0o755)
    conf_file = state + '.conf'
    with open(conf_file, 'w', encoding='utf-8') as f:
        f.write(conf)
    os.chmod(conf_file, 0o644)
    argv = prepare(state) or [BUILD + '/brigd']
    try:
        r = subprocess.run(argv + ['--config', conf_file], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30 * FACTOR,
                           env={'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'BRIG_STATE': state})
        got, err = r.returncode, r.stderr
    except subprocess.TimeoutExpired:
        got, err = 'it runs', ''
    wrong = also(state) if also else ''
    t.check('refused: ' + title, got == status and all(w in err for w in words) and not wrong, '%s %s %s' % (got, err, wrong))
    os.unlink(conf_file)
    shutil.rmtree(state, ignore_errors=True)


def in_namespace(script):
    """brigd behind mounts of its own, which end with it."""
    return ['unshare', '-m', '--propagation', 'private', 'sh', '-ec', script + '\nexec "$0" "$@"', BUILD + '/brigd']


def places(t):
    def occupied(state):
        os.mkdir(state + '/run')
        with open(state + '/run/agent.sock', 'w') as f:
            f.write('mine')

    def still_there(state):
        try:
            with open(state + '/run/agent.sock') as f:
                return '' if f.read() == 'mine' else 'the file has changed'
        except OSError as e:
            return str(e)
    place(t, 'a file where the socket has to be, which stays', occupied, ['agent.sock', 'in the way'], also=still_there)

    def link(state):
        os.mkdir(state + '/real')
        os.symlink('real', state + '/run')
    place(t, 'a run directory that is a link', link, ['symbolic link'])

    def open_to_all(state):
        os.mkdir(state + '/run')
        os.chmod(state + '/run', 0o777)
    place(t, 'a run directory that others may write', open_to_all, ['0777', 'hint:'])

    def a_file(state):
        open(state + '/run', 'w').close()
    place(t, 'a run directory that is a file', a_file, ['/run', 'Not a directory'])

    def audit_link(state):
        os.mkdir(state + '/else')
        os.symlink('else', state + '/audit')
    place(t, 'an audit directory that is a link', audit_link, ['audit'])

    def log_is_directory(state):
        os.makedirs(state + '/audit/audit.log')
        os.chmod(state + '/audit', 0o700)
    place(t, 'an audit log that cannot be opened', log_is_directory, ['audit.log', 'hint:'])
    place(t, 'a run directory whose sockets would have too long a name', lambda s: None, ['at most', 'run_dir'], 2,
          'run_dir = /var/tmp/%s\n' % ('x' * 100))
    if os.geteuid() != 0:
        return

    def foreign(state):
        os.mkdir(state + '/run')
        os.chown(state + '/run', 1, 1)
    place(t, 'a run directory of another user', foreign, ['uid 1'])
    place(t, 'a run directory that is read-only', lambda s: os.mkdir(s + '/run') or in_namespace('mount -t tmpfs -o ro,mode=755 none %s/run' % s),
          ['Read-only', 'hint:'])
    place(t, 'a run directory that is full', lambda s: os.mkdir(s + '/run') or in_namespace(
        'mount -t tmpfs -o nr_inodes=2,mode=755 none %s/run' % s), ['No space', 'hint:'])
    place(t, 'an audit directory that is read-only', lambda s: os.mkdir(s + '/audit') or in_namespace(
        'mount -t tmpfs -o ro,mode=700 none %s/audit' % s), ['audit', 'Read-only'])


# ---- configuration ---------------------------------------------------------------

def configuration(t):
    def check(text, mode=0o644, owner=None):
        path = t.file('brigd.conf', text)
        os.chmod(path, mode)
        if owner is not None:
            os.chown(path, owner, owner)
        got = brigd('--config', path, '--check', env={'BRIG_STATE': t.dir + '/state'})
        os.unlink(path)
        return got

    status, out, err = check('drain = 10s  # for a while\nagent_users = root daemon\n')
    t.check('--check: a good file', status == 0 and out.startswith('OK'), out + err)
    for title, text, words in (
            ('an unknown key, with the right one', 'drian = 10s', ['brigd.conf:1:1', 'did you mean "drain"']),
            ('a key that is set twice', 'drain = 1s\n\ndrain = 2s\n', [':3:1', 'line 1']),
            ('a number without its unit', '\ndrain = 10', [':2:9', 'write 10s']),
            ('a value out of its range', 'running_max = 62', ['1 to 61']),
            ('a user that is not there', 'agent_users = root nobody-at-all', [':1:20', 'nobody-at-all']),
            ('admin.sock for everybody', 'admin_mode = 0666', ['0660']),
            ('"*" on admin.sock', 'admin_users = *', ['one by one']),
            ('a user on both sides', 'agent_users = daemon\nadmin_users = daemon\n', [':2:', 'may not decide']),
            ('everybody may ask, some may decide', 'agent_users = *\nadmin_users = daemon\n', ['admin_users']),
            ('a profile that does not exist', 'default_profile = pur', [':1:', '"pure"']),
            ('a profile that is only a base', 'default_profile = base', ['extended']),
            ('a line without a key', '= 3', [':1:1']),
            ('a control character', 'drain = 1s\x1b', [':1:11', '0x1b'])):
        status, out, err = check(text)
        t.check('refused: ' + title, status == 2 and all(w in err for w in words) and not out, '%s %s %s' % (status, out, err))
    status, _, err = check('', mode=0o666)
    t.check('refused: a file that others may write', status == 2 and '0666' in err and 'chmod' in err, err)
    if os.geteuid() == 0:
        status, _, err = check('', owner=1)
        t.check('refused: a file of another user', status == 2 and 'uid 1' in err, err)
    status, _, err = brigd('--config', t.dir + '/none.conf', '--check', env={'BRIG_STATE': t.dir + '/state'})
    t.check('refused: a file that was named and is not there', status == 2 and 'none.conf' in err, err)
    status, _, err = brigd('--check', env={'BRIG_STATE': t.dir + '/state', 'HOME': t.dir, 'XDG_CONFIG_HOME': t.dir})
    t.check('no file at all is fine', status == 0, err)
    path = t.file('brigd.conf', 'drain = 90s\nagent_users = daemon\naudit_rotate = 3M\nprofiles = pure stdlib\n')
    status, out, err = brigd('--config', path, '--print-config', env={'BRIG_STATE': t.dir + '/state'})
    t.check('--print-config says what holds and why', status == 0 and re.search(r'^drain = 90s +# .*brigd.conf:1$', out, re.M) and
            re.search(r'^queue_max = 1024 +# default$', out, re.M), out + err)
    again = t.file('again.conf', out)
    _, twice, err = brigd('--config', again, '--print-config', env={'BRIG_STATE': t.dir + '/state'})
    strip = [re.sub(r' *#.*', '', text) for text in (out, twice)]
    t.check('and can be read again', strip[0].split() and re.sub(r'\s+', ' ', strip[0]) == re.sub(r'\s+', ' ', strip[1]), err + twice)
    bad = t.dir + '/profiles'
    shutil.copytree(REPO + '/profiles', bad)
    with open(bad + '/mine.json', 'w') as f:
        f.write('{ "name": "mine", "why": "w", "extends": "pure",\n  "limits": { "wal": "5s" } }')
    env = {'BRIG_STATE': t.dir + '/state', 'HOME': t.dir, 'XDG_CONFIG_HOME': t.dir}
    status, _, err = brigd('--profiles', bad, '--check', env=env)
    t.check('--check finds a profile that is wrong', status == 2 and 'mine.json:2:' in err, err)
    status, _, err = brigd('--profiles', bad, env=env)
    t.check('and brigd does not start with one', status == 6 and 'mine.json:2:' in err, '%s %s' % (status, err))


# ---- reload ----------------------------------------------------------------------

def parked(d, profile):
    a = d.client('admin')
    r = a.call('pool', {})
    a.hang_up()
    return sum(p.get('parked', 0) for p in r.get('pools', []) if p.get('profile') == profile)


def wait_for(fn, secs=20):
    end = time.monotonic() + secs * FACTOR
    while time.monotonic() < end:
        if fn():
            return True
        time.sleep(0.03)
    return bool(fn())


def edit(d, name, change):
    path = '%s/%s.json' % (d.profiles, name)
    with open(path) as f:
        text = f.read()
    with open(path, 'w') as f:
        f.write(change(text))
    return text


def own(d, name, limits):
    path = '%s/%s.json' % (d.profiles, name)
    with open(path + '.new', 'w') as f:
        f.write('{ "name": "%s", "why": "a test", "extends": "python", "limits": { %s } }\n' % (name, limits))
    os.rename(path + '.new', path)


def zygote_of(d, profile):
    return [pid for name, pid in zygotes(d) if name.startswith('zygote: ' + profile)]


def reloads(t):
    m = Manager()
    d = Life('agent_users = daemon\nprofiles = pure python\n', m)
    m.next('READY=1')
    a = d.client('admin')

    def refuses(title, words, undo):
        before = d.said()
        r = a.call('reload', {})
        text = json.dumps(r)
        t.check('reload refused: ' + title, 'error' in r and all(w in text for w in words), text)
        d.p.send_signal(signal.SIGHUP)
        t.check('by SIGHUP too, said in the log: ' + title, wait_for(lambda: all(w in d.said()[len(before):] for w in words)), d.said())
        t.check('and all is as before', outcome(d.run()) == 'ok' and d.run(profile='stdlib').get('error'), d.run(profile='stdlib'))
        undo()

    good = 'agent_users = daemon\nprofiles = pure python\n'
    d.write(good + 'drian = 3s\n')
    refuses('a key that is wrong', ['brigd.conf:3:1'], lambda: d.write(good))
    d.write(good + 'run_dir = /var/tmp/elsewhere\n')
    refuses('what needs a restart', ['run_dir', 'restart'], lambda: d.write(good))
    text = edit(d, 'python', lambda s: s.replace('"name"', '"nam"', 1))
    refuses('a profile that is wrong', ['python.json:', 'nam'], lambda: edit(d, 'python', lambda s: text))
    os.rename(d.profiles + '/pure.json', d.conf_dir + '/pure.json')
    refuses('a profile that is gone and needed', ['pure'], lambda: os.rename(d.conf_dir + '/pure.json', d.profiles + '/pure.json'))
    os.chmod(d.conf, 0o666)
    refuses('a file that others may write now', ['0666'], lambda: os.chmod(d.conf, 0o644))
    while m.next('READY=1', 0.3):
        pass

    own(d, 'mine', '"wall": "9s", "cpu": "9s"')
    own(d, 'gone', '"wall": "9s", "cpu": "9s"')
    d.write('agent_users = daemon\nprofiles = pure python mine gone\n')
    r = a.call('reload', {})
    t.check('a good one is taken', r.get('profiles', 0) > 3 and r.get('config') == d.conf, r)
    t.check('sd_notify hears of it', 'MONOTONIC_USEC=' in m.next('RELOADING=1') and m.next('READY=1') != '')
    t.check('a profile may be used at once', all(outcome(d.run(profile=p)) == 'ok' for p in ('mine', 'gone', 'pure')))

    t.check('and has jails parked', wait_for(lambda: all(parked(d, p) > 0 for p in ('mine', 'gone', 'pure'))), a.call('pool', {}))
    kept = zygote_of(d, 'pure')
    begun = d.begin(3 * FACTOR, 'mine')
    own(d, 'mine', '"wall": "777ms", "cpu": "777ms"')
    r = a.call('profile.reload', {})
    t.check('a profile changes', 'error' not in r, r)
    r = d.end_of(begun)
    t.check('a call that runs ends as it began', outcome(r) == 'ok' and r['result'] == 'slept', r)
    r = d.run(SLEEP, {'secs': 3}, 'mine')
    t.check('a new one has the new limits', outcome(r) == 'timeout' and '777' in json.dumps(r['cause']), r)
    os.unlink(d.profiles + '/gone.json')
    d.write('agent_users = daemon\nprofiles = pure python mine\n')
    core = d.role('core')
    r = a.call('reload', {})
    t.check('a profile is removed while its jails are parked', 'error' not in r, r)
    t.check('it is gone for callers', 'gone' in json.dumps(d.run(profile='gone').get('error', '')))
    t.check('its parked jails went', wait_for(lambda: parked(d, 'gone') == 0), parked(d, 'gone'))
    t.check('core is the same one, and so are the zygotes of what did not change', d.role('core') == core and zygote_of(d, 'pure') == kept,
            '%s %s' % (kept, list(zygotes(d))))
    os.kill(core, signal.SIGKILL)
    t.check('the next core has what was loaded last', d.role('core', core) and 'gone' in json.dumps(d.run(profile='gone').get('error', '')) and
            outcome(d.run()) == 'ok' and outcome(d.run('def run(): return 1', {}, 'mine')) == 'ok', d.said())
    a.hang_up()
    agent = d.client()
    r = agent.call('reload', {})
    t.check('agent.sock may not reload', r.get('error', {}).get('code') == -32001, r)
    agent.hang_up()
    t.check('ends well', d.close() == 0)
    m.close()


# ---- the end ---------------------------------------------------------------------

def drains(t):
    d = Life()
    c = d.begin(1.5 * FACTOR)
    d.p.send_signal(signal.SIGTERM)
    t.check('SIGTERM: it says that it drains', d.says('draining'), d.said())
    r = d.run()
    t.check('a new call is busy, and says why', outcome(r) == 'busy' and 'draining' in r['cause']['what'] and r['retry_after_ms'] > 0, r)
    r = d.end_of(c)
    t.check('what runs ends', outcome(r) == 'ok', r)
    t.check('then all ends with 0', d.p.wait(timeout=20 * FACTOR) == 0)
    d.close()

    d = Life('drain = 500ms\n')
    c = d.begin(4)
    begin = time.monotonic()
    d.p.send_signal(signal.SIGTERM)
    r = d.end_of(c)
    t.check('after `drain` the rest is ended with an answer', outcome(r) == 'internal_error' and 'stopped' in r['cause']['what'] and
            time.monotonic() - begin < 3 * FACTOR, r)
    t.check('with 0', d.p.wait(timeout=20 * FACTOR) == 0)
    d.close()

    d = Life()
    c = d.begin(4)
    begin = time.monotonic()
    d.p.send_signal(signal.SIGINT)
    d.says('draining')
    d.p.send_signal(signal.SIGINT)
    r = d.end_of(c)
    t.check('a second signal: at once, with an answer', outcome(r) == 'internal_error' and time.monotonic() - begin < 2 * FACTOR, r)
    t.check('with 0 again', d.p.wait(timeout=20 * FACTOR) == 0 and not t.left(), t.left())
    d.close()

    d = Life(start_new_session=True)
    c = d.begin(1 * FACTOR)
    os.killpg(d.p.pid, signal.SIGINT)
    r = d.end_of(c)
    t.check('a signal to the whole group (Ctrl-C) drains likewise', outcome(r) == 'ok' and d.p.wait(timeout=20 * FACTOR) == 0, r)
    d.close()


# ---- parts that die ----------------------------------------------------------------

def kills(t):
    d = Life('queue_wait = 10s\n')
    t.check('before', outcome(d.run()) == 'ok')
    for sig in (signal.SIGKILL, signal.SIGSEGV):
        core = d.role('core')
        c = d.begin(20)
        groups = d.group_ids()
        os.kill(core, sig)
        t.check('core dies (%s): its clients see their connection close' % sig.name, d.end_of(c) == 'closed')
        t.check('another core serves', d.role('core', core) != 0 and outcome(d.run()) == 'ok', d.said())
        t.check('nothing of the old one is left', groups and wait_for(lambda: not d.group_ids() & groups), d.group_ids() & groups)
    good, why = d.audit_sound()
    t.check('the audit log is sound', good, why)

    audit = d.role('audit')
    c = d.begin(1)
    os.kill(audit, signal.SIGKILL)
    r = d.end_of(c)
    t.check('audit dies: the call that ran ends well', outcome(r) == 'ok', r)
    t.check('another one serves the next', d.role('audit', audit) != 0 and outcome(d.run()) == 'ok', d.said())
    t.check('core did not go for that', d.role('core') == d.kids()['core'])

    zygote = d.role('zygote')
    c = d.begin(20)
    for pid in [p for n, p in zygotes(d)]:
        os.kill(pid, signal.SIGKILL)
    r = d.end_of(c)
    t.check('zygotes die: their calls end as internal_error', outcome(r) == 'internal_error', r)
    t.check('and the next call is served', outcome(d.run()) == 'ok' and zygote)

    core = d.role('core')
    os.kill(core, signal.SIGSTOP)
    begin = time.monotonic()
    again = d.role('core', core, 60)
    took = time.monotonic() - begin
    t.check('a core that hangs is replaced after half a minute', again and 20 < took < 45 * FACTOR, '%s after %.1f s' % (again, took))
    t.check('and all is well', outcome(d.run()) == 'ok', d.said())
    good, why = d.audit_sound()
    t.check('the audit log is sound then, too', good, why)
    t.check('and the end is an orderly one', d.p.send_signal(signal.SIGTERM) or d.p.wait(timeout=20 * FACTOR) == 0, d.said())
    t.check('nothing is left of it', not t.left(), t.left())
    d.close()


def zygotes(d):
    with open('/proc/%d/task/%d/children' % (d.p.pid, d.p.pid)) as f:
        for pid in f.read().split():
            try:
                with open('/proc/%s/comm' % pid) as c:
                    name = c.read().strip()
            except OSError:
                continue
            if not name.startswith('brigd'):
                yield name, int(pid)


def again_and_again(t):
    d = Life()
    times = []
    for _ in range(6):
        core = d.role('core')
        wait_for(lambda: outcome(d.run()) == 'ok')
        begin = time.monotonic()
        os.kill(core, signal.SIGKILL)
        d.role('core', core)
        times.append(time.monotonic() - begin)
    t.check('a core that dies again and again comes back, ever slower', times[0] < 0.5 * FACTOR and times[-1] > times[0] + 0.5 and
            times[-1] < 6 * FACTOR, ['%.2f' % x for x in times])
    t.check('and serves', outcome(d.run()) == 'ok')
    d.p.send_signal(signal.SIGTERM)
    t.check('it ends', d.p.wait(timeout=20 * FACTOR) == 0)
    d.close()


def everything_dies(t):
    """SIGKILL to the keeper at several moments of calls: nothing runs on, and the log is sound after the next start."""
    d = Life()
    state, conf_dir = d.state, d.conf_dir
    wrong = []
    for i, pause in enumerate((0.0, 0.005, 0.02, 0.1, 0.3)):
        stop = threading.Event()

        def load():
            while not stop.is_set():
                try:
                    d.run(secs=1)
                except (OSError, ValueError, socket.timeout):
                    pass
        threads = [threading.Thread(target=load) for _ in range(3)]
        for th in threads:
            th.start()
        time.sleep(0.3 + pause)
        os.kill(d.p.pid, signal.SIGKILL)
        d.p.wait()
        stop.set()
        for th in threads:
            th.join()
        if t.left():
            wrong.append('%d: left %s' % (i, t.left()))
        d.p = subprocess.Popen([BUILD + '/brigd', '--config', d.conf, '--profiles', d.profiles], stdin=subprocess.DEVNULL, stderr=d.log,
                               env={'PATH': '/usr/bin', 'BRIG_STATE': state})
        WAITED.add(d.p.pid)
        if not wait_for(lambda: outcome(d.run(secs=2)) == 'ok', 20):
            wrong.append('%d: does not serve' % i)
    t.check('SIGKILL to the keeper under load, five times: nothing is left, the next one serves', not wrong, wrong)
    good, why = d.audit_sound()
    t.check('and the audit log is sound', good, why)
    assert conf_dir
    t.check('the last one ends well', d.p.send_signal(signal.SIGTERM) or d.p.wait(timeout=20 * FACTOR) == 0)
    d.close()


def main():
    t = Suite()
    only = sys.argv[1:]
    for part in (starts, stale, places, configuration, reloads, drains, kills, again_and_again, everything_dies):
        if not only or part.__name__ in only:
            part(t)
    assert Client
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
