#!/usr/bin/python3
"""The sockets of a daemon under clients that are careless, hostile, slow or many: what each is told, and that others do not wait for it."""
import array
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import sys
import time

from libbrig import BUILD, FACTOR, REPO, Client, Daemon, Suite, WAITED

QUICK = {'body': 'def run(): return 1'}
STRANGER = 64244


def slow_call(secs):
    return {'profile': 'python', 'body': 'import time\ndef run():\n    time.sleep(%g)\n    return "done"' % (secs * FACTOR)}


def line(method, params, rpc_id=1):
    return json.dumps({'jsonrpc': '2.0', 'id': rpc_id, 'method': method, 'params': params}).encode() + b'\n'


class Attack:
    """A process of its own that does something bad until it is stopped, so that its work is not the measuring client's."""

    def __init__(self, fn, uid=None):
        self.pid = os.fork()
        if self.pid == 0:
            status = 1
            try:
                if uid is not None:
                    os.setgroups([])
                    os.setresgid(uid, uid, uid)
                    os.setresuid(uid, uid, uid)
                status = fn() or 0
            finally:
                os._exit(status)
        WAITED.add(self.pid)

    def wait(self, secs=30):
        end = time.monotonic() + secs * FACTOR
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return self.stop()

    def stop(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return 'stopped'


def connected(d, which='agent'):
    s = socket.socket(socket.AF_UNIX)
    s.connect(d.path(which))
    return s


def latency(client, n=15):
    """Seconds of each of n calls, which all must be ok; None: one was not."""
    got = []
    for _ in range(n):
        begin = time.monotonic()
        if client.call('run', QUICK).get('outcome') != 'ok':
            return None
        got.append(time.monotonic() - begin)
    return got


def served_beside(t, d, title, fn, quiet, settle=0.3):
    """While fn goes on in another process, a call takes little longer than without it."""
    c = d.client()
    a = Attack(fn)
    time.sleep(settle)
    got = latency(c)
    a.stop()
    c.hang_up()
    most = 15 * quiet + 0.25 * FACTOR
    t.check('others are served beside ' + title, got and statistics.median(got) < most and max(got) < 3 * FACTOR,
            'quiet %.4f s, beside: %s' % (quiet, got and ['%.4f' % x for x in got]))


def core_pid(d):
    a = d.client('admin')
    pid = next(p['pid'] for p in a.call('status', {})['processes'] if p['role'] == 'core')
    a.hang_up()
    return pid


def open_files(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def no_calls(d, secs=5):
    a = d.client('admin')
    end = time.monotonic() + secs * FACTOR
    while True:
        calls = a.call('list', {})['calls']
        if not calls or time.monotonic() > end:
            a.hang_up()
            return not calls
        time.sleep(0.02)


# ---- one client's mistakes

def mistakes(t, d):
    for title, data, code in (
            ('no JSON', b'hello\n', -32700), ('an empty line', b'\n', -32700), ('half an object', b'{"jsonrpc":"2.0","id":1\n', -32700),
            ('not UTF-8', b'{"jsonrpc":"2.0","id":"\xff","method":"status"}\n', -32700),
            ('a batch', b'[' + line('status', {}).strip() + b']\n', -32600), ('a notification', b'{"jsonrpc":"2.0","method":"status"}\n', -32600),
            ('an id that is true', b'{"jsonrpc":"2.0","id":true,"method":"status"}\n', -32600),
            ('an id of 300 bytes', b'{"jsonrpc":"2.0","id":"%s","method":"status"}\n' % (b'i' * 300), -32600),
            ('version 1', b'{"id":1,"method":"status"}\n', -32600), ('version "3.0"', b'{"jsonrpc":"3.0","id":1,"method":"status"}\n', -32600),
            ('no method', b'{"jsonrpc":"2.0","id":1}\n', -32600), ('a method that is a number', b'{"jsonrpc":"2.0","id":1,"method":7}\n', -32600),
            ('an unknown method', line('frobnicate', {}), -32601), ('wrong types', line('run', {'body': 7}), -32602),
            ('an unknown parameter', line('run', {'body': 'x', 'profil': 'pure'}), -32602),
            ('a call_id that is none', line('cancel', {'call_id': 'x'}), -32602), ('cancel without an id', line('cancel', {}), -32602),
            ('an operator\'s method', line('drain', {}), -32001), ('a profile of its own', line('run', {**QUICK, 'profile_text': '{}'}), -32001),
            ('best effort', line('run', {**QUICK, 'best_effort': True}), -32001), ('the profile base', line('run', {**QUICK, 'profile': 'base'}), -32001),
            ('no such profile', line('run', {**QUICK, 'profile': 'nosuch'}), -32602)):
        c = d.client()
        c.sock.sendall(data)
        error = c.recv().get('error', {})
        after = c.call('run', QUICK)
        c.hang_up()
        t.check('told: %s; and the next request is served' % title,
                error.get('code') == code and error.get('message') and error['data']['hint'] and after.get('outcome') == 'ok', '%s %s' % (error, after))


def too_long(t, d):
    c = d.client()
    a = Attack(lambda: c.sock.sendall(b'x' * (40 << 20) + b'\n' + line('status', {}, 'after')))
    first, second = c.recv(), c.recv()
    t.check('a line of 40 MiB is refused once, and the one after it is served',
            first.get('error', {}).get('code') == -32600 and 'too long' in first['error']['message'] and second.get('id') == 'after', '%s %s' % (first, str(second)[:200]))
    a.wait()
    c.hang_up()


def same_id(t, d):
    c = d.client()
    c.sock.sendall(line('run', slow_call(0.7), 'x') + line('run', QUICK, 'x') + line('run', QUICK, 'y'))
    got = [c.recv() for _ in range(3)]
    errors = [g for g in got if 'error' in g]
    results = {g['id']: g['result']['outcome'] for g in got if 'result' in g}
    t.check('a second request with the id of one in flight is refused, and the first goes on',
            len(errors) == 1 and errors[0]['error']['code'] == -32600 and errors[0]['id'] is None and results == {'x': 'ok', 'y': 'ok'}, got)
    t.check('the id is free again after its answer', c.call('run', QUICK)['outcome'] == 'ok')
    c.hang_up()


def descriptors(t, d):
    pid = core_pid(d)
    c = d.client()
    c.call('run', QUICK)
    before = open_files(pid)
    null = os.open('/dev/null', os.O_RDONLY)
    for i in range(40):
        c.sock.sendmsg([line('list', {}, i)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [null] * 50))])
    got = [c.recv() for _ in range(80)]
    os.close(null)
    answered = sorted(g['id'] for g in got if 'result' in g)
    told = [g['error'] for g in got if 'error' in g]
    t.check('descriptors that nobody asked for are refused, and the requests they came with are served',
            answered == list(range(40)) and len(told) == 40 and 'descriptors' in told[0]['message'], got[:3])
    t.check('and none stays open', open_files(pid) < before + 200, '%d before, %d after' % (before, open_files(pid)))
    c.hang_up()


# ---- ends of a connection

def half_closed(t, d):
    s = connected(d)
    s.sendall(line('run', slow_call(0.5), 1) + line('run', QUICK, 2) + line('list', {}, 3).rstrip(b'\n'))
    s.shutdown(socket.SHUT_WR)
    c = Client(s)
    got = {}
    try:
        while True:
            r = c.recv()
            got[r['id']] = r['result']
    except EOFError:
        pass
    t.check('a client that shuts its sending side down gets every answer, the last request without a line end too; then the connection is closed',
            sorted(got) == [1, 2, 3] and got[1]['outcome'] == got[2]['outcome'] == 'ok', got)
    c.hang_up()
    s = connected(d)
    s.sendall(line('run', slow_call(20)))
    s.shutdown(socket.SHUT_WR)
    time.sleep(0.4 * FACTOR)
    t.check('half closed, its call runs on', not no_calls(d, 0))
    s.close()
    t.check('then closed, its call is cancelled', no_calls(d))
    s = connected(d)
    s.shutdown(socket.SHUT_WR)
    t.check('one that says nothing and ends is closed', s.recv(1) == b'')
    s.close()


def gone(t, d):
    for title, n, secs in (('running', 1, 20), ('running and queued', 60, 20)):
        s = connected(d)
        s.sendall(b''.join(line('run', slow_call(secs), i) for i in range(n)))
        time.sleep(0.5 * FACTOR)
        there = not no_calls(d, 0)
        s.close()
        t.check('a client that leaves ends its calls: ' + title, there and no_calls(d, 10))
    s = connected(d)
    s.sendall(line('run', QUICK)[:-30])
    s.close()
    c = d.client()
    t.check('one that leaves in the middle of a line disturbs nobody', c.call('run', QUICK)['outcome'] == 'ok')
    c.hang_up()


# ---- many and much

def flood_status(d):
    s = connected(d)
    data = line('status', {}) * 500
    s.setblocking(False)
    rest = b''
    while True:
        try:
            rest = rest[s.send(rest or data):] if rest else data[s.send(data):]
        except BlockingIOError:
            pass
        try:
            s.recv(1 << 20)
        except BlockingIOError:
            pass


def flood_garbage(d):
    s = connected(d)
    while True:
        s.sendall(b'\xff{[garbage\n' * 100)
        s.recv(1 << 20)


def flood_connections(d):
    while True:
        s = connected(d)
        s.sendall(line('status', {}))
        s.close()


def flood_big_lines(d):
    s = connected(d)
    data = b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"body":"x","args":{"a":"%s"}}}\n' % (b'x' * (7 << 20))
    while True:
        s.sendall(data)


def never_reads(d):
    s = connected(d)
    while True:
        s.sendall(line('profile.show', {'profile': 'pure', 'effective': True}))


def drip(d):
    socks = [connected(d) for _ in range(40)]
    while True:
        for s in socks:
            s.send(b' ')


def beside(t, d):
    c = d.client()
    latency(c)
    quiet = statistics.median(latency(c))
    c.hang_up()
    for title, fn in (('a flood of requests', flood_status), ('a flood of garbage', flood_garbage), ('a flood of connections', flood_connections),
                      ('lines of 7 MiB', flood_big_lines), ('one who never reads', never_reads), ('40 who send a byte at a time', drip)):
        served_beside(t, d, title, lambda fn=fn: fn(d), quiet)
    return quiet


def connections(t, d, quiet):
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(12000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
    some = [connected(d) for _ in range(64)]
    more = connected(d)
    told = Client(more).recv()
    t.check('one connection more than a uid may have: told which limit, when to come again, and closed',
            told['error']['code'] == -32000 and told['error']['data']['where'] == 'connections_per_uid' and
            told['error']['data']['retry_after_ms'] > 0 and more.recv(1) == b'', told)
    a = d.client('admin')
    t.check('the operator still gets in', 'processes' in a.call('status', {}))
    a.hang_up()
    some.pop().close()
    # Core has yet to see that one leave, and when it does is the load's to say.
    end = time.monotonic() + 10 * FACTOR
    c = d.client()
    while (r := c.call('run', QUICK)).get('error', {}).get('data', {}).get('where') == 'connections_per_uid' and time.monotonic() < end:
        c.hang_up()
        time.sleep(0.05)
        c = d.client()
    t.check('and another one once there is room', r.get('outcome') == 'ok', r)
    pid, before = core_pid(d), None
    before = open_files(pid)

    def many():
        kept = []
        for _ in range(10000):
            kept.append(connected(d))
            if len(kept) > 900:
                kept.clear()
    attack = Attack(many)
    got = latency(c, 30)
    ended = attack.wait(60)
    t.check('10,000 connections at once: each is answered, and who is connected is served',
            ended == 0 and got and statistics.median(got) < 15 * quiet + 0.25 * FACTOR, '%s quiet %.4f: %s' % (ended, quiet, got))
    for s in some:
        s.close()
    c.hang_up()
    time.sleep(0.3 * FACTOR)
    t.check('and no descriptor is left of them', open_files(pid) < before, '%d before, %d after' % (before, open_files(pid)))


def accounts(t, d):
    c = d.client()
    n = 300
    data = b''.join(line('run', slow_call(0.05), i) for i in range(n))
    sender = Attack(lambda: c.sock.sendall(data))
    got = [c.recv()['result'] for _ in range(n)]
    sender.wait()
    busy = [g for g in got if g['outcome'] == 'busy' and g['cause']['rule'] == 'calls_per_uid']
    t.check('more calls in flight than a uid may have: busy, naming the limit and when to come again',
            busy and all(g['retry_after_ms'] > 0 and not g['cause']['final'] for g in busy) and {g['outcome'] for g in got} == {'ok', 'busy'},
            {g['outcome'] for g in got})
    c.hang_up()
    socks = [connected(d) for _ in range(7)]
    part = b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"body":"' + b'x' * (14 << 20)
    for s in socks:
        s.settimeout(20 * FACTOR)
        s.sendall(part)
    told = []
    for s in socks:
        s.settimeout(1.5 * FACTOR)
        try:
            told.append(json.loads(s.makefile('rb').readline()))
        except OSError:
            pass
        s.close()
    t.check('more bytes of requests than a uid may have waiting: refused while they come, naming the limit',
            told and all(g['error']['code'] == -32000 and g['error']['data']['where'] == 'queued_bytes_per_uid' for g in told), told)
    c = d.client()
    t.check('and all is well afterwards', c.call('run', QUICK)['outcome'] == 'ok' and no_calls(d))
    c.hang_up()


# ---- who asks

def uids(t, d):
    if os.getuid() != 0:
        t.check('who may connect # SKIP needs root', True)
        return
    for which in ('agent', 'admin'):
        os.chmod(d.path(which), 0o666)  # what an operator might do; the list of uids holds all the same

        def stranger(which=which):
            s = connected(d, which)
            told = Client(s).recv()['error']
            return 0 if told['code'] == -32001 and str(STRANGER) in told['message'] and which + '_users' in told['data']['hint'] and s.recv(1) == b'' else 3
        t.check('a uid that is not listed is told so by %s.sock, and shut out' % which, Attack(stranger, STRANGER).wait() == 0)


def cancels(t, d):
    c, other, a = d.client(), d.client(), d.client('admin')
    for title, who in (('another connection of the same uid', other), ('an operator', a)):
        c.send('run', slow_call(20))
        end = time.monotonic() + 10 * FACTOR
        calls = []
        while not (calls and calls[0]['state'] == 'running') and time.monotonic() < end:
            calls = who.call('list', {})['calls']
            time.sleep(0.02)
        begin = time.monotonic()
        was = who.call('cancel', {'call_id': calls[0]['call_id']})
        got = c.recv()['result']
        t.check('cancel by %s: told what it was, and the call ends as cancelled at once' % title,
                was == {'call_id': calls[0]['call_id'], 'was': 'running'} and got['outcome'] == 'cancelled' and 'cancelled by uid' in got['cause']['what'] and
                time.monotonic() - begin < 3 * FACTOR, '%s %s' % (was, got))
    t.check('a call that ended is unknown', who.call('cancel', {'call_id': calls[0]['call_id']})['error']['code'] == -32602)
    for i in (c, other, a):
        i.hang_up()


def drains(t, d):
    c, a = d.client(), d.client('admin')
    c.send('run', slow_call(0.6))
    time.sleep(0.2 * FACTOR)
    now = a.call('drain', {})
    waiting = d.client('admin')
    waiting.send('drain', {'wait': True})
    refused = d.client()
    busy = refused.call('run', QUICK)
    t.check('draining, a new call is busy', now == {'draining': True, 'calls': 1} and busy['outcome'] == 'busy' and busy['retry_after_ms'] > 0, '%s %s' % (now, busy))
    t.check('what was accepted ends well', c.recv()['result']['outcome'] == 'ok')
    t.check('and whoever waits for the end is told', waiting.recv()['result'] == {'draining': True, 'calls': 0})
    t.check('calls are taken again', a.call('drain', {'on': False}) == {'draining': False, 'calls': 0} and refused.call('run', QUICK)['outcome'] == 'ok')
    for i in (c, a, waiting, refused):
        i.hang_up()


def configured(t):
    conf = ('agent_users = %s\nagent_mode = 0666\nunread_wait = 500ms\nprofiles = python stdlib\ndefault_profile = stdlib\n'
            'allow_best_effort = yes\ncalls_per_uid = 4\nconnections_max = 24\nconnections_per_uid = 24\n')
    path = t.file('brigd.conf', conf % STRANGER)
    d = Daemon(['--config', path])
    a, c = d.client('admin'), d.client()
    t.check('without a profile the configured one holds', c.call('run', QUICK).get('profile') == 'stdlib')
    told = c.call('run', {**QUICK, 'profile': 'pure'})
    t.check('a profile that is not listed is refused by name', told['error']['code'] == -32001 and 'pure' in told['error']['message'], told)
    t.check('and not shown', [p['name'] for p in c.call('profile.list', {})] == ['python', 'stdlib'])
    t.check('an operator may name any', a.call('run', {**QUICK, 'profile': 'pure'}).get('outcome') == 'ok')
    t.check('best effort where it is permitted', c.call('run', {**QUICK, 'best_effort': True}).get('outcome') == 'ok')
    several(t, d, c)
    if os.getuid() == 0:
        two_uids(t, d, c, a, path, conf)
    unread(t, d, a)
    full(t, d, a)
    for i in (a, c):
        i.hang_up()
    d.close()


def several(t, d, c):
    sent = [c.send('run', slow_call(0.5)) for _ in range(6)]
    got = [c.recv()['result'] for _ in sent]
    busy = [g for g in got if g['outcome'] == 'busy']
    t.check('the fifth call of a uid that may have four is busy', len(busy) == 2 and all(g['cause']['rule'] == 'calls_per_uid' for g in busy),
            [g['outcome'] for g in got])


def two_uids(t, d, c, a, path, conf):
    """Another uid that may use agent.sock: it sees and ends what is its own, until it may not any more."""
    c.send('run', slow_call(30))
    time.sleep(0.3 * FACTOR)
    mine = a.call('list', {})['calls'][0]['call_id']

    def other():
        o = Client(connected(d))
        if o.call('run', QUICK).get('outcome') != 'ok' or o.call('list', {})['calls']:
            return 3
        if o.call('cancel', {'call_id': mine})['error']['code'] != -32602:
            return 4
        o.send('run', slow_call(30))
        try:
            o.recv()
            return 5
        except (EOFError, OSError):
            return 0
    attack = Attack(other, STRANGER)
    end = time.monotonic() + 15 * FACTOR
    both = []
    while len(both) < 2 and time.monotonic() < end:
        both = a.call('list', {})['calls']
        time.sleep(0.02)
    t.check('an operator sees the calls of every uid', {x['uid'] for x in both} == {0, STRANGER}, both)
    with open(path, 'w') as f:
        f.write(conf % 'root')
    told = a.call('reload', {})
    t.check('a uid that is taken from the list at a reload is shut out; it saw and ended no call of another uid', attack.wait() == 0, told)
    a.call('cancel', {'call_id': mine})
    t.check('and its calls with it, no others', c.recv()['result']['outcome'] == 'cancelled' and no_calls(d))


def unread(t, d, a):
    s = connected(d)
    s.sendall(line('run', slow_call(60), 'slow'))

    def never():
        while True:
            s.sendall(line('profile.show', {'profile': 'python', 'effective': True}))
    attack = Attack(never)
    time.sleep(0.3 * FACTOR)
    there = not no_calls(d, 0)
    t.check('a client that does not read its answers is dropped, and its calls end', there and no_calls(d, 10))
    attack.wait(5)
    s.close()
    c = d.client()
    c.sock.settimeout(30 * FACTOR)
    for _ in range(3):
        c.send('profile.show', {'profile': 'python', 'effective': True})
    time.sleep(1.2 * FACTOR)
    t.check('one that merely takes its time is not', all('result' in c.recv() for _ in range(3)) and c.call('run', QUICK)['outcome'] == 'ok')
    c.hang_up()


LONG = {'profile': 'long', 'body': 'def run():\n    print("\\x01" * 1000000)\n    return "r" * 1000000'}


def high_water_kb(pid):
    with open('/proc/%d/status' % pid, encoding='ascii') as f:
        return next(int(row.split()[1]) for row in f if row.startswith('VmHWM'))


def lying(t):
    """Answers of 7 MB each: whoever reads gets all of them, and whoever does not gets no more calls that fill core's memory."""
    profiles = t.dir + '/profiles-long'
    shutil.copytree(REPO + '/profiles', profiles)
    os.replace(t.profile('long', 'python', stdout='1M', result='1M'), profiles + '/long.json')
    d = Daemon(['--profiles', profiles, '--config', t.file('lying.conf', 'agent_users = %s\nagent_mode = 0666\n' % STRANGER)])
    a, c = d.client('admin'), d.client()
    core = next(p['pid'] for p in a.call('status', {})['processes'] if p['role'] == 'core')
    for _ in range(20):
        c.send('run', LONG)
    got = [c.recv()['result'] for _ in range(20)]
    t.check('20 answers of 7 MB reach a client that reads', all(r['outcome'] == 'ok' and len(r['result']) == 1000000 for r in got))
    s = [connected(d) for _ in range(3)]
    for each in s:
        each.sendall(b''.join(line('run', LONG, i) for i in range(20)))
    time.sleep(4 * FACTOR)
    states = [x['state'] for x in a.call('list', {})['calls']]
    t.check('where 60 of them lie unread, most do not begin', states.count('queued') > 20, states)
    other = Attack(lambda: 0 if Client(connected(d)).call('run', QUICK).get('outcome') == 'ok' else 3, STRANGER if os.getuid() == 0 else None)
    t.check("another user's call does", other.wait(15) == 0 or os.getuid() != 0)
    for each in s:
        each.close()
    kb = high_water_kb(core)
    t.check('and core never held them all (%d KB)' % kb, kb < 300 << 10, kb)
    t.check('calls go on, and the account is empty again', no_calls(d) and c.call('run', QUICK)['outcome'] == 'ok')
    for i in (a, c):
        i.hang_up()
    d.close()


def shares(t):
    """One user's calls leave room for those of another, however long they take."""
    conf = 'agent_users = %s\nagent_mode = 0666\nrunning_max = 3\nrunning_per_uid = 2\n' % STRANGER
    d = Daemon(['--config', t.file('shares.conf', conf)])
    a, c = d.client('admin'), d.client()
    for _ in range(5):
        c.send('run', slow_call(60))
    end = time.monotonic() + 10 * FACTOR
    states = []
    while states.count('running') < 2 and time.monotonic() < end:
        states = [x['state'] for x in a.call('list', {})['calls']]
        time.sleep(0.05)
    t.check('two of a user run at once, the others wait though there is room', sorted(states) == ['queued'] * 3 + ['running'] * 2, states)
    if os.getuid() == 0:
        other = Attack(lambda: 0 if Client(connected(d)).call('run', QUICK).get('outcome') == 'ok' else 3, STRANGER)
        t.check("another user's call does not wait for them", other.wait(15) == 0)
    c.hang_up()
    a.hang_up()
    d.close()


def full(t, d, a):
    socks = []
    told = None
    while told is None and len(socks) < 40:
        s = connected(d)
        socks.append(s)
        try:
            s.sendall(line('list', {}))
        except BrokenPipeError:  # turned away already
            pass
        got = Client(s).recv()
        told = got.get('error')
    t.check('the house is full: told which limit', told and told['code'] == -32000 and told['data']['where'] == 'connections_max' and len(socks) < 24, told)
    b = d.client('admin')
    t.check('the operator has a place of his own', 'connections' in b.call('status', {}))
    b.hang_up()
    for s in socks:
        s.close()


def few_files(t):
    """With few descriptors the connections are fewer, and calls still work."""
    d = Daemon(program='/usr/bin/prlimit', argv=['--nofile=1024', BUILD + '/brigd'])
    a = d.client('admin')
    most = a.call('status', {})['connections']['max']
    t.check('with few open files the bound of connections is lower, and status says so', 16 <= most < 512, most)
    t.check('and calls work', a.call('run', QUICK).get('outcome') == 'ok')
    a.hang_up()
    d.close()
    d = Daemon(program='/usr/bin/prlimit', argv=['--nofile=1024:6000', BUILD + '/brigd', '--config', t.file('many.conf', 'connections_max = 4500\n')])
    a = d.client('admin')
    most = a.call('status', {})['connections']['max']
    t.check('a low soft limit is raised for the connections that the configuration asks for', most == 4500, most)
    a.hang_up()
    d.close()


def trials(t, d):
    """Doctor's jails wait for no turn, so a flood of them must not take the slots of calls."""
    c, other = d.client(), d.client()
    ids = [c.send('doctor', {}) for _ in range(60)]
    outcome = other.call('run', QUICK).get('outcome')
    got = {}
    while len(got) < len(ids):
        answer = c.recv()
        got[answer['id']] = answer
    codes = [a['error']['code'] for a in got.values() if 'error' in a]
    t.check('of a flood of doctor requests some are answered and the rest are busy', set(got) == set(ids) and set(codes) == {-32000} and
            0 < len(ids) - len(codes) < 30, codes)
    t.check('and a call beside them runs', outcome == 'ok', outcome)
    c.hang_up()
    other.hang_up()


def stops(t):
    d = Daemon()
    c = d.client()
    c.send('run', slow_call(60))
    queued = [c.send('run', slow_call(60)) for _ in range(40)]
    time.sleep(1 * FACTOR)
    for sig in (signal.SIGTERM, signal.SIGTERM):
        d.p.send_signal(sig)
        time.sleep(0.2)
    got = [c.recv()['result']['outcome'] for _ in range(1 + len(queued))]
    t.check('a brigd that is stopped at once answers every call before it goes', set(got) <= {'internal_error', 'busy'}, got)
    try:
        c.recv()
        t.check('and closes', False)
    except EOFError:
        t.check('and closes', True)
    c.hang_up()
    t.check('and ends', d.close() is not None)


def main():
    t = Suite()
    d = Daemon()
    for fn in (mistakes, too_long, same_id, descriptors, half_closed, gone, cancels, drains, trials):
        fn(t, d)
    quiet = beside(t, d)
    connections(t, d, quiet)
    accounts(t, d)
    uids(t, d)
    status = d.close()
    t.check('the daemon ends well', status == 0, status)
    for fn in (configured, lying, shares, few_files, stops):
        fn(t)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
