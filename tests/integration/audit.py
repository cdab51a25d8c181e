#!/usr/bin/python3
"""The audit log of a daemon: whole and sound whatever is killed, full, removed or changed; no call runs without it."""
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from daemon import SLEEP, Life
from libbrig import BRIG, BUILD, FACTOR, Daemon, Suite


class Logged(Life):
    """A daemon and what its log says."""

    def verify(self, *more):
        r = subprocess.run([BRIG, 'audit', 'verify', self.state + '/audit', '--json', *more], capture_output=True, text=True)
        return r.returncode, json.loads(r.stdout)

    def records(self):
        got = []
        names = sorted(n for n in os.listdir(self.state + '/audit') if n != 'audit.log')
        for name in names + ['audit.log']:
            with open('%s/audit/%s' % (self.state, name), encoding='utf-8') as f:
                for line in f:
                    try:
                        got.append(json.loads(line))
                    except ValueError:
                        got.append({'kind': 'unreadable'})
        return got

    def wrong(self, answers):
        """What the log lacks or says otherwise than the answers: '' when each answered call has one begin, then one end that agrees."""
        bad, begun, ended = [], {}, {}
        for r in self.records():
            if r['kind'] == 'begin':
                begun[r['call_id']] = begun.get(r['call_id'], 0) + 1
            elif r['kind'] == 'end':
                bad += [] if begun.get(r['call_id']) == 1 else ['end before begin: %s' % r]
                ended.setdefault(r['call_id'], []).append(r['outcome'])
        for a in answers:
            if begun.get(a['call_id']) != 1 or ended.get(a['call_id']) != [a['outcome']]:
                bad.append('%s: answered %s, %s begins, ends %s' % (a['call_id'], a['outcome'], begun.get(a['call_id']), ended.get(a['call_id'])))
        bad += ['%s: no end' % i for i in begun if i not in ended]
        status, v = self.verify()
        return '\n'.join(bad[:5] + ([str(v)] if status else []))

    def stop(self):
        """Ends it and leaves its log to be looked at; close() removes all."""
        self.p.terminate()
        return self.p.wait(timeout=60 * FACTOR)


def flood(d, seconds, callers, answers):
    """Calls on some connections, one after the other on each, for so long."""
    until = time.monotonic() + seconds

    def one():
        try:
            c = d.client()
            while time.monotonic() < until:
                answers.append(c.call('run', {'body': 'def run(x): return x + 1', 'args': {'x': 1}, 'profile': 'pure'}))
            c.hang_up()
        except (EOFError, OSError) as e:
            answers.append({'call_id': 'closed', 'outcome': repr(e)})
    threads = [threading.Thread(target=one) for _ in range(callers)]
    for th in threads:
        th.start()
    return threads


def test_ordinary(t):
    d = Logged()
    answers = [d.run(), d.run('def run(x): raise ValueError(x)'), d.run('def run(x): return secret', {'x': 'hunter2' * 10})]
    d.stop()
    t.check('each call has a begin and an end that agrees with its answer', not d.wrong(answers), d.wrong(answers))
    kinds = [r['kind'] for r in d.records()]
    t.check('start, core, calls, end of core, stop', kinds == ['start', 'core_start', 'policy'] + ['begin', 'end'] * 3 + ['core_end', 'stop'], kinds)
    begin = d.records()[3]
    t.check('a begin tells who, what and why', begin['who'] == {'uid': os.getuid(), 'pid': os.getpid(), 'session': None} and
            begin['profile'] == 'pure' and begin['decision'] == 'allow' and begin['args']['bytes'] == 8, begin)
    with open(d.state + '/audit/audit.log', encoding='utf-8') as f:
        text = f.read()
    receipt = json.dumps(answers[0]['receipt'], separators=(',', ':'))
    t.check('an end holds the hash of the receipt that the answer carried',
            d.records()[4]['receipt'] == 'sha256:' + hashlib.sha256(receipt.encode()).hexdigest(), '%s %s' % (d.records()[4], receipt))
    t.check('no value of an argument stands in it', 'hunter2' not in text, '')
    st = os.stat(d.state + '/audit/audit.log')
    t.check('nobody else may read it', st.st_mode & 0o777 == 0o600, oct(st.st_mode))
    d.close()


def test_admin(t):
    d = Logged()
    a = d.client('admin')
    a.call('drain', {'on': True})
    a.call('drain', {'on': False})
    a.call('reload', {})
    c = d.begin(30)
    call_id = a.call('list', {})['calls'][0]['call_id']
    a.call('cancel', {'call_id': call_id})
    answer = d.end_of(c)
    with open(d.profiles + '/pure.json', 'a', encoding='utf-8') as f:
        f.write('x')
    a.call('reload', {})
    a.hang_up()
    d.stop()
    told = [(r['kind'], r['text'], r['who']['pid'] == os.getpid()) for r in d.records() if r['kind'] in ('drain', 'reload', 'cancel')]
    t.check('who drained, reloaded, cancelled, and what came of it', told[:5] == [
        ('drain', 'on', True), ('drain', 'off', True), ('reload', 'asked for', True), ('reload', 'taken', False), ('cancel', 'admin.sock', True)]
        and told[5] == ('reload', 'asked for', True) and told[6][1].startswith('reload refused, nothing has changed') and len(told) == 7, told)
    t.check('and the cancelled call has its end', answer['outcome'] == 'cancelled' and not d.wrong([answer]), d.wrong([answer]))
    d.close()


def test_process(t):
    d = Logged()
    pid = d.role('audit')
    with open('/proc/%d/status' % pid) as f:
        s = dict(line.split(':\t', 1) for line in f.read().splitlines())
    uids = set(s['Uid'].split())
    core = open('/proc/%d/status' % d.role('core')).read()
    t.check('audit: an id of its own, no capability, a filter, no way to more',
            (os.getuid() or (len(uids) == 1 and '0' not in uids and uids.pop() not in core)) and
            all(int(s['Cap' + c], 16) == 0 for c in ('Prm', 'Eff', 'Inh', 'Amb')) and s['NoNewPrivs'] == '1' and s['Seccomp'] == '2', s)
    files = []
    for fd in os.listdir('/proc/%d/fd' % pid):
        path = os.readlink('/proc/%d/fd/%s' % (pid, fd))
        if int(fd) > 2 and not path.startswith('socket:'):
            with open('/proc/%d/fdinfo/%s' % (pid, fd)) as f:
                files.append((path, int(re.search(r'flags:\s*(\d+)', f.read()).group(1), 8) & (os.O_APPEND | os.O_ACCMODE)))
    t.check('audit: its only file is the log, to append to', files == [(d.state + '/audit/audit.log', os.O_APPEND | os.O_WRONLY)], files)
    d.close()


def test_kill_audit(t, seconds):
    d = Logged('audit_rotate = 64K\n')
    answers = []
    threads = flood(d, seconds * FACTOR, 3, answers)
    kills = 0
    while any(th.is_alive() for th in threads):
        pid = d.kids().get('audit', 0)
        if pid:
            os.kill(pid, signal.SIGKILL)
            kills += 1
        time.sleep(0.05 + 0.37 * ((kills * 7) % 10) / 10)
    for th in threads:
        th.join()
    d.stop()
    bad = {a['outcome'] for a in answers} - {'ok'}
    t.check('SIGKILL to audit, %d times during %d calls: each call is answered well' % (kills, len(answers)),
            kills > 2 and len(answers) > 20 and not bad, '%s %s' % (bad, answers[-1:]))
    t.check('and each answered call is in the log once, and the chain is sound', not d.wrong(answers), d.wrong(answers))
    d.close()


def test_kill_core(t):
    d = Logged()
    c = d.begin(30)
    os.kill(d.role('core'), signal.SIGKILL)
    t.check('SIGKILL to core: the client sees its connection close', d.end_of(c) == 'closed')
    after = d.run()
    d.stop()
    ends = [r for r in d.records() if r['kind'] == 'end']
    t.check('its call ends in the log as internal_error, core_ended', [(e['outcome'], e['cause']) for e in ends] ==
            [('internal_error', 'core_ended'), ('ok', None)], ends)
    starts = [r['text'] for r in d.records() if r['kind'] == 'core_start']
    t.check('the next core is noted with the reason', starts == ['start', 'signal 9'], starts)
    t.check('and the log is sound', not d.wrong([after]), d.wrong([after]))
    d.close()


def test_kill_all(t):
    d = Logged()
    state = d.state
    c = d.begin(30)
    pids = list(d.kids().values())
    for pid in [d.p.pid, *pids]:
        os.kill(pid, signal.SIGKILL)
    d.p.wait()
    d.end_of(c)
    t.left()
    d2 = Logged(state=state)
    answer = d2.run()
    d2.stop()
    ends = [(r['outcome'], r['cause']) for r in d2.records() if r['kind'] == 'end']
    t.check('SIGKILL to all: the next start ends the open call', ends[:1] in ([('internal_error', 'supervisor_killed')],
                                                                             [('internal_error', 'core_ended')]), ends)
    t.check('and the log goes on, sound', not d2.wrong([answer]), d2.wrong([answer]))
    d2.close()
    d.close()


def test_kill_keeper(t):
    d = Logged()
    answers = [d.run() for _ in range(3)]
    c = d.begin(30)
    os.kill(d.p.pid, signal.SIGKILL)
    d.p.wait()
    t.check('SIGKILL to the keeper: the client sees its connection close', d.end_of(c) == 'closed')
    t.check('everything ends, audit too', not t.left(), t.left())
    last = [r['kind'] for r in d.records()][-3:]
    t.check('and audit wrote what was sent, the ends of all, and its own', last == ['end', 'core_end', 'stop'] and not d.wrong(answers),
            '%s %s' % (last, d.wrong(answers)))
    d.close()


class SmallDisk(Logged):
    """Its log lies on a file system of 2 MiB, in a mount namespace of its own."""

    def __init__(self):
        script = ('mkdir -m 700 "$BRIG_STATE/audit" && mount -t tmpfs -o size=2m,mode=700 brig "$BRIG_STATE/audit" && exec "$@"')
        self.conf_dir = tempfile.mkdtemp(prefix='brig-c-', dir='/var/tmp')
        self.log = open(self.conf_dir + '/log', 'w+', encoding='utf-8')
        Daemon.__init__(self, ('-m', '--propagation', 'private', 'sh', '-c', script, 'sh', BUILD + '/brigd'), program='/usr/bin/unshare',
                        stderr=self.log)
        self.inside = '/proc/%d/root%s/audit' % (self.p.pid, self.state)

    def fill(self):
        with open(self.inside + '/filler', 'wb', buffering=0) as f:
            try:
                while True:
                    f.write(b'x' * 4096)
            except OSError:
                pass

    def refused(self, good):
        """The first call that is refused: until then the room that was set aside is used up."""
        for _ in range(1000):
            r = self.run()
            if r['outcome'] != 'ok':
                return r
            good.append(r)
        return r

    def has_end(self, reply):
        with open(self.inside + '/audit.log', encoding='utf-8') as f:
            whole = [line for line in f if line.endswith('\n')]
        return reply['call_id'] in {r['call_id'] for r in map(json.loads, whole) if r['kind'] == 'end'}

    def take_log(self):
        os.makedirs(self.state + '/copy/audit', exist_ok=True)
        for name in os.listdir(self.inside):
            if name != 'filler':
                shutil.copy(self.inside + '/' + name, self.state + '/copy/audit/')
        real, self.state = self.state, self.state + '/copy'
        return real


def test_full_disk(t):
    if os.getuid() != 0:
        t.check('a full disk # SKIP needs root to mount one', True)
        return
    d = SmallDisk()
    good = [d.run()]
    c = d.begin(12 * FACTOR)
    d.fill()
    refused = d.refused(good)
    t.check('a full disk refuses new calls, names itself and what to do', refused['outcome'] == 'internal_error' and
            'No space left' in refused['cause']['what'] and 'make room' in refused['cause']['hint'], refused)
    good.append(d.end_of(c))
    t.check('a call that began ends as ever', good[-1]['outcome'] == 'ok', good[-1])
    end = time.monotonic() + 10 * FACTOR
    while not d.has_end(good[-1]) and time.monotonic() < end:
        time.sleep(0.05)
    t.check('and its end is in the log while the disk is still full', d.has_end(good[-1]))
    pid = d.role('audit')
    os.kill(pid, signal.SIGKILL)
    t.check('on the full disk another audit process starts', d.role('audit', pid) > 0)
    refused = d.refused(good)
    t.check('which refuses calls likewise', refused['outcome'] == 'internal_error', refused)
    os.unlink(d.inside + '/filler')
    time.sleep(0.7)
    good.append(d.run())
    t.check('with room again, calls run again by themselves', good[-1]['outcome'] == 'ok', good[-1])
    # The end of a call is written after its answer: soon, and on a busy machine not at once.
    end = time.monotonic() + 10 * FACTOR
    while not d.has_end(good[-1]) and time.monotonic() < end:
        time.sleep(0.05)
    real = d.take_log()
    v = d.wrong(good)
    d.state = real
    t.check('nothing is lost, the log is sound', not v, v)
    os.unlink(d.inside + '/audit.log')
    refused = d.run()
    t.check('a log that was removed takes no call', refused['outcome'] == 'internal_error' and 'No such file' in refused['cause']['what'],
            refused)
    d.close()


def test_stopped(t):
    d = Logged()
    good = [d.run()]
    pid = d.role('audit')
    os.kill(pid, signal.SIGSTOP)
    r = d.run()
    t.check('an audit process that does not answer: the call is refused by name', r['outcome'] == 'internal_error' and
            'audit log' in r['cause']['what'], r)
    os.kill(pid, signal.SIGCONT)
    good += [r, d.run()]
    # Until it has taken what waited, calls are refused still.
    end = time.monotonic() + 10 * FACTOR
    while good[-1]['outcome'] != 'ok' and time.monotonic() < end:
        time.sleep(0.05)
        good.append(d.run())
    t.check('and calls run when it does again', good[-1]['outcome'] == 'ok', good[-1])
    d.stop()
    t.check('all are in the log', not d.wrong(good), d.wrong(good))
    d.close()


def test_rotation(t):
    d = Logged('audit_rotate = 64K\n')
    answers = []
    for th in flood(d, 8 * FACTOR, 4, answers):
        th.join()
    status, v = d.verify()
    t.check('verify reads a log that is being written', status == 0, v)
    d.stop()
    names = sorted(os.listdir(d.state + '/audit'))
    t.check('%d calls: the log goes over to further files' % len(answers), len(names) > 1 and names[-1] == 'audit.log', names)
    t.check('and the chain goes on through all of them', not d.wrong(answers), d.wrong(answers))
    os.unlink(d.state + '/audit/' + names[0])
    status, v = d.verify()
    t.check('without the oldest file the rest is sound', status == 0 and v['first_seq'] > 1, v)
    if len(names) > 3:
        os.rename(d.state + '/audit/' + names[2], d.state + '/hidden')
        status, v = d.verify()
        t.check('without one in the middle it is not', status == 1 and 'is missing' in v['what'], v)
    d.close()


def test_verify(t):
    d = Logged()
    for _ in range(4):
        d.run()
    d.stop()
    log = d.state + '/audit/audit.log'
    with open(log, 'rb') as f:
        lines = f.read().splitlines(True)
    _, v = d.verify()

    def says(title, change, line, words):
        bad = change(list(lines))
        with open(log, 'wb') as f:
            f.write(b''.join(bad))
        status, got = d.verify()
        t.check('verify: ' + title, status == 1 and (got['break'] or {}).get('line') == line and words in got['what'] and
                (got['break'] or {'file': log})['file'] == log, got)

    says('a changed byte', lambda x: x[:5] + [x[5].replace(b'"pure"', b'"pyre"')] + x[6:], 6, 'does not match its hash')
    says('a changed hash', lambda x: x[:4] + [x[4][:-4] + b'0"}\n' if x[4][-4:-3] != b'0' else x[4][:-4] + b'1"}\n'] + x[5:], 5,
         'does not match its hash')
    says('a missing line', lambda x: x[:4] + x[5:], 5, 'record 5 is missing')
    says('two lines in the wrong order', lambda x: x[:4] + [x[5], x[4]] + x[6:], 5, 'record 5 is missing')
    says('a repeated line', lambda x: x[:5] + x[4:], 6, 'comes again')
    says('a cut line', lambda x: x[:-1] + [x[-1][:50]], len(lines), 'not finished')
    says('a missing beginning', lambda x: x[2:], 1, 'does not begin here')
    with open(log, 'wb') as f:
        f.write(b''.join(lines[:-2]))
    status, got = d.verify()
    t.check('verify: a cut at a line\'s end cannot be seen without a hash from before', status == 0, got)
    status, got = d.verify('--head', v['last']['hash'])
    t.check('verify --head: and is seen with one', status == 1 and '--head' in got['what'], got)
    with open(log, 'wb') as f:
        f.write(b''.join(lines))
    status, got = d.verify('--head', v['last']['hash'])
    t.check('verify --head: which is found where it is', status == 0, got)
    r = subprocess.run([BRIG, 'audit', 'verify', log], capture_output=True, text=True)
    t.check('verify of one file, in words', r.returncode == 0 and r.stdout.startswith('sound: %d records' % len(lines)), r)
    for argv in (['/nowhere'], [d.state], ['--head', 'abc', log], ['/etc/passwd', '/nowhere']):
        r = subprocess.run([BRIG, 'audit', 'verify', *argv], capture_output=True, text=True)
        t.check('verify %s: exit 2 with the reason' % ' '.join(argv).replace(d.state, 'DIR'), r.returncode == 2 and r.stderr.count('\n') == 1, r)
    d.close()


def main():
    t = Suite()
    seconds = int(os.environ.get('BRIG_AUDIT_SECONDS', '6'))
    test_ordinary(t)
    test_admin(t)
    test_process(t)
    test_verify(t)
    test_kill_audit(t, seconds)
    test_kill_core(t)
    test_kill_keeper(t)
    test_kill_all(t)
    test_rotation(t)
    test_full_disk(t)
    test_stopped(t)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
