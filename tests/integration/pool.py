#!/usr/bin/python3
"""The queue and the pool of a daemon: jails that wait, how many, whose turn it is, what is busy, and generations."""
import os
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from libbrig import FACTOR, REPO, Daemon, Suite, descendants  # noqa: E402

ADD = {'body': 'def run(x):\n    return x + 1', 'args': {'x': 1}}


def sleeper(ms, **more):
    return {'body': 'import time\ndef run():\n    time.sleep(%g)\n    return 1' % (ms * FACTOR / 1000), 'profile': 'few', **more}


class Pooled(Daemon):
    """A daemon with knobs of the test's own, and a copy of the profiles that the test may change."""

    def __init__(self, t, name, profiles=None, **knobs):
        self.profiles = '%s/profiles-%s' % (t.dir, name)
        shutil.copytree(REPO + '/profiles', self.profiles)
        self.profile('few', 0)
        for p, pool in (profiles or {}).items():
            self.profile(p, *pool)
        self.conf = conf = t.file(name + '.conf', ''.join('%s = %s\n' % kv for kv in knobs.items()))
        os.chmod(conf, 0o644)
        super().__init__(['--config', conf, '--profiles', self.profiles], stderr=open('%s/%s.log' % (t.dir, name), 'w'))
        self.admin = self.client('admin')

    def profile(self, name, warm, most=None, extends='stdlib', more=''):
        with open('%s/%s.json' % (self.profiles, name), 'w', encoding='utf-8') as f:
            f.write('{ "name": "%s", "why": "a test of the pool: %s", "extends": "%s", "pool": { "warm": %d, "max": %d }%s }' %
                    (name, name, extends, warm, most or max(warm, 16), more))

    def pool(self, name):
        for p in self.admin.call('pool', {})['pools']:
            if p['profile'] == name:
                return p
        return {}

    def until(self, name, test, secs=10):
        """The pool once test(pool) holds, or as it is after so long."""
        end = time.monotonic() + secs * FACTOR
        while True:
            p = self.pool(name)
            if (p and test(p)) or time.monotonic() > end:
                return p
            time.sleep(0.02)

    def zygotes(self, name):
        return {p['pid']: p for p in self.admin.call('status', {})['processes'] if p.get('role') == 'zygote' and p['profile'] == name}

    def calls_groups(self):
        """Those of slots, not the one that keeps the others' parent."""
        return {g for g in self.groups() if g.split('.')[-2].isdigit()}

    def parked_pids(self):
        return [j['pid'] for j in self.admin.call('status', {})['jails'] if j['state'] == 'parked']


def load(d, clients, secs, params, answers):
    """So many clients that ask again as soon as they have their answer."""
    end = time.monotonic() + secs

    def one():
        c = d.client()
        while time.monotonic() < end:
            answers.append(c.call('run', params))
        c.hang_up()
    threads = [threading.Thread(target=one) for _ in range(clients)]
    for th in threads:
        th.start()
    return threads


def warm(t):
    d = Pooled(t, 'warm', {'two': (2, 8)}, prewarm='two', pool_idle='3s')
    p = d.until('two', lambda p: p['parked'] == 2)
    t.check('what the configuration says is filled at start', p.get('parked') == 2 and p['target'] == 2 and p['cold'] == 0, p)
    c = d.client()
    r = c.call('run', {**ADD, 'profile': 'two'})
    t.check('the first call finds a jail that waited', r['outcome'] == 'ok' and r['receipt']['jail'] == 'warm', r)
    r = c.call('run', ADD)
    t.check('a profile that nobody warmed begins cold, and says so', r['outcome'] == 'ok' and r['receipt']['jail'] == 'cold', r)
    p = d.until('pure', lambda p: p['parked'] == 4)
    t.check('and has its jails afterwards', p['parked'] == 4 and p['cold'] == 1, p)
    r = [c.call('run', {**ADD, 'profile': 'few'})['receipt']['jail'] for _ in range(3)]
    t.check('one that wants none has none', set(r) == {'cold'} and d.pool('few')['parked'] == 0, r)
    seen = []
    for _ in range(8):
        d.until('two', lambda p: p['parked'] > 0)
        r = c.call('run', {'body': 'import math\ndef run():\n    was = hasattr(math, "mark")\n    math.mark = 1\n    return was', 'profile': 'two'})
        seen.append((r['receipt']['jail'], r['result']))
    t.check('a jail is taken once: nothing of a call is there for the next', seen == [('warm', False)] * 8, seen)
    grows(t, d)
    drained(t, d)
    dies(t, d)
    t.check('the daemon ends well', d.close() == 0)


def grows(t, d):
    answers, most = [], {'target': 0, 'parked': 0}
    threads = load(d, 8, 3 * FACTOR, {**ADD, 'profile': 'two'}, answers)
    while any(th.is_alive() for th in threads):
        p = d.pool('two')
        most = {k: max(most[k], p[k]) for k in most}
        time.sleep(0.05)
    t.check('many callers at once: every call is right', {r['outcome'] for r in answers} == {'ok'} and len(answers) > 50, len(answers))
    t.check('the pool grows, and not above its maximum', most['target'] > 2 and most['target'] <= 8 and most['parked'] <= 8, most)
    p = d.until('two', lambda p: p['target'] == 2 and p['parked'] == 2, 20)
    t.check('and sinks to what the profile wants when nobody calls', p['target'] == 2 and p['parked'] == 2, p)
    t.check('it counts what it did', p['taken'] > 10 and p['refill_p50_ms'] > 0 and p['refill_p99_ms'] >= p['refill_p50_ms'], p)


def dies(t, d):
    if os.geteuid() != 0:
        t.number += 1
        print('ok %d - a jail that dies while it waits # SKIP needs root' % t.number)
        return
    before = d.until('two', lambda p: p['parked'] == 2)
    pids = d.parked_pids()
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    p = d.until('two', lambda p: p['parked'] == 2 and p['died_parked'] >= before['died_parked'] + 2)
    t.check('a jail that dies while it waits is counted and replaced', p['parked'] == 2 and p['died_parked'] == before['died_parked'] + 2, (before, p))
    t.check('and the new ones are others', not set(pids) & set(d.parked_pids()), pids)
    r = d.client().call('run', {**ADD, 'profile': 'two'})
    t.check('a call in one of them is as any', r['outcome'] == 'ok' and r['receipt']['jail'] == 'warm', r)
    before, end = d.pool('two'), time.monotonic() + 3 * FACTOR
    while time.monotonic() < end:
        for pid in d.parked_pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)
    died = sum(d.pool(p).get('died_parked', 0) for p in ('two', 'pure')) - before['died_parked']
    t.check('where each dies at once, new ones come ever more slowly', died < 60 * FACTOR, died)
    r = d.client().call('run', {**ADD, 'profile': 'two'})
    t.check('and calls go on', r['outcome'] == 'ok', r)


def drained(t, d):
    if os.geteuid() != 0:
        t.number += 1
        print('ok %d - a pool after a drain # SKIP needs root' % t.number)
        return
    before = d.until('two', lambda p: p['parked'] == 2, 40)
    d.admin.call('drain', {})
    for pid in d.parked_pids():
        os.kill(pid, signal.SIGKILL)
    p = d.until('two', lambda p: p['parked'] == 0)
    time.sleep(0.3 * FACTOR)
    t.check('nothing is made while it drains', before['parked'] == 2 and d.pool('two')['parked'] == 0, (before, p))
    d.admin.call('drain', {'on': False})
    p = d.until('two', lambda p: p['parked'] == 2, 40)
    t.check('and all that was missing afterwards, before anybody calls', p['parked'] == 2, p)


def generations(t):
    d = Pooled(t, 'gen', {'two': (2, 8)}, prewarm='two', generation_calls=5)
    d.until('two', lambda p: p['parked'] == 2)
    first = set(d.zygotes('two'))
    c, ends, jails, slow, seen = d.client(), set(), [], 0, set(first)
    for i in range(200):
        begin = time.monotonic()
        r = c.call('run', {'body': 'def run(x):\n    return x + 1', 'args': {'x': i}, 'profile': 'two'})
        slow = max(slow, time.monotonic() - begin)
        ends.add((r['outcome'], r.get('result') == i + 1))
        jails.append((r.get('receipt') or {}).get('jail'))
        if i % 5 == 0:
            seen |= set(d.zygotes('two'))
        time.sleep(0.005)
    t.check('200 calls over many generations: each has its right answer', ends == {('ok', True)}, ends)
    t.check('most of them warm', jails.count('warm') >= 120, {k: jails.count(k) for k in set(jails)})
    t.check('none waits for a new generation', slow < 2 * FACTOR, slow)
    p = d.until('two', lambda p: p['retiring'] == 0 and p['parked'] == 2)
    t.check('zygotes were replaced, the first one too', p['retired'] >= 5 and len(seen) >= 5 and not first & set(d.zygotes('two')), (p, seen))
    end = time.monotonic() + 10 * FACTOR  # killed is not yet dead
    while len(seen & set(descendants())) > 2 and time.monotonic() < end:
        time.sleep(0.05)
    t.check('and the old ones are gone', len(seen & set(descendants())) <= 2, (seen & set(descendants()), d.zygotes('two')))
    d.admin.call('run', {**ADD, 'profile': 'two'})
    long = d.client()
    long.send('run', {**sleeper(1500), 'profile': 'two'})
    time.sleep(0.3 * FACTOR)
    old = set(d.zygotes('two'))
    for i in range(12):
        c.call('run', {**ADD, 'profile': 'two'})
        time.sleep(0.05)
    r = long.recv()['result']
    t.check('a call outlives the generation that it began in', r['outcome'] == 'ok' and old != set(d.zygotes('two')), (r, old))
    t.check('the daemon ends well, with the next generation on its way or not', d.close() == 0)


def turns(t):
    d = Pooled(t, 'turns', running_max=2, queue_max=100)
    flood, other = d.client(), d.client()
    other.call('run', sleeper(1))
    n = 40
    for _ in range(n):
        flood.send('run', sleeper(100))
    time.sleep(0.3 * FACTOR)
    begin = time.monotonic()
    r = other.call('run', sleeper(1))
    waited = time.monotonic() - begin
    got = [flood.recv()['result'] for _ in range(n)]
    t.check('every call of a flood is answered', {r['outcome'] for r in got} == {'ok'}, {r['outcome'] for r in got})
    took = time.monotonic() - begin
    t.check('another connection waits for one call of it, not for all', r['outcome'] == 'ok' and waited < took / 4, (waited, took))
    queue = [r['usage']['queue_ms'] for r in got]
    t.check('queue_ms tells how long each waited', queue[0] < 50 * FACTOR and queue[-1] > 1000 * FACTOR and
            all(r['usage']['wall_ms'] < 400 * FACTOR for r in got), (queue[0], queue[-1]))
    d.close()

    d = Pooled(t, 'wait', running_max=1, queue_max=4, queue_wait='%dms' % (600 * FACTOR))
    c = d.client()
    c.call('run', sleeper(1))
    for _ in range(9):
        c.send('run', sleeper(350))
    got = {}
    for _ in range(9):
        m = c.recv()
        got[m['id']] = m['result']
    ends = [got[k]['outcome'] for k in sorted(got)]
    full = [r for r in got.values() if r['outcome'] == 'busy' and r['cause']['evidence'].get('limit') == 'queue_max']
    late = [r for r in got.values() if r['outcome'] == 'busy' and r['cause']['evidence'].get('limit') == 'queue_wait']
    t.check('over queue_max calls are busy at once', len(full) == 4 and ends[5:] == ['busy'] * 4, ends)
    t.check('over queue_wait they are busy later', 1 <= len(late) <= 3 and all(r['usage']['queue_ms'] >= 550 * FACTOR for r in late), late)
    t.check('busy says when to ask again, and that it may help', all(10 <= r['retry_after_ms'] <= 60000 and r['cause']['hint'] and
            not r['cause']['final'] for r in full + late), full + late)
    time.sleep(max(r['retry_after_ms'] for r in full + late) / 1000)
    t.check('there is room again then', c.call('run', sleeper(1))['outcome'] == 'ok')
    d.close()


def flood(t):
    d = Pooled(t, 'flood', running_max=2, queue_max=2000, calls_per_uid=2000)
    loud, quiet = d.client(), d.client()
    quiet.call('run', sleeper(1))
    for _ in range(1000):
        loud.send('run', sleeper(50))
    end = time.monotonic() + 20 * FACTOR
    while len(d.admin.call('list', {})['calls']) < 900 and time.monotonic() < end:
        time.sleep(0.05)
    waits = []
    for _ in range(5):
        r = quiet.call('run', sleeper(1))
        waits.append(r['usage']['queue_ms'] if r['outcome'] == 'ok' else 1e9)
    left = len(d.admin.call('list', {})['calls'])
    t.check('a thousand queued calls of another delay a call by about one of them', max(waits) < 1000 * FACTOR and left > 500, (waits, left))
    loud.hang_up()
    end = time.monotonic() + 5 * FACTOR
    while d.admin.call('list', {})['calls'] and time.monotonic() < end:
        time.sleep(0.02)
    t.check('they all go with their client', not d.admin.call('list', {})['calls'])
    one = d.client()
    a, b = (one.call('session.open', {})['session'] for _ in range(2))
    for _ in range(40):
        one.send('run', sleeper(50, session=a))
    mark = one.send('run', sleeper(1, session=b))
    order = [one.recv()['id'] for _ in range(41)]
    t.check('sessions of one connection take turns as well', order.index(mark) < 10, order)
    d.close()


def leaves_the_queue(t):
    d = Pooled(t, 'cancel', running_max=1)
    first, second, third = d.client(), d.client(), d.client()
    first.call('run', sleeper(1))
    first.send('run', sleeper(800))
    time.sleep(0.2 * FACTOR)
    for _ in range(3):
        second.send('run', sleeper(5000))
    third.send('run', {'body': 'def run():\n    return 7', 'profile': 'few'})
    time.sleep(0.2 * FACTOR)
    calls = d.admin.call('list', {})['calls']
    t.check('list shows who waits', [x['state'] for x in calls].count('queued') == 4, calls)
    second.hang_up()
    begin = time.monotonic()
    r = third.recv()['result']
    t.check('who leaves the queue holds up nobody', r['outcome'] == 'ok' and time.monotonic() - begin < 3 * FACTOR, r)
    t.check('the call before it ended as it would have', first.recv()['result']['outcome'] == 'ok')
    first.send('run', sleeper(1500))
    time.sleep(0.2 * FACTOR)
    third.send('run', sleeper(5000))
    time.sleep(0.2 * FACTOR)
    waits = [x['call_id'] for x in d.admin.call('list', {})['calls'] if x['state'] == 'queued']
    begin = time.monotonic()
    d.admin.call('cancel', {'call_id': waits[0]})
    r = third.recv()['result']
    t.check('a call that is cancelled while it waits is answered at once', r['outcome'] == 'cancelled' and 'receipt' not in r and
            r['usage']['queue_ms'] >= 150 * FACTOR and time.monotonic() - begin < 0.5 * FACTOR, r)
    first.recv()
    d.close()


def clocks(t):
    limit = '%dms' % (600 * FACTOR)
    d = Pooled(t, 'clock', {'brief': (0, 16, 'stdlib', ', "limits": { "wall": "%s", "cpu": "%s" }' % (limit, limit))}, running_max=1)
    c = d.client()
    c.call('run', sleeper(1))
    c.send('run', sleeper(1000))
    c.send('run', {**sleeper(1), 'profile': 'brief'})
    got = [c.recv()['result'] for _ in range(2)]
    t.check('time in the queue is not time of the tool', [r['outcome'] for r in got] == ['ok', 'ok'] and got[1]['usage']['queue_ms'] > 800 * FACTOR and
            got[1]['usage']['wall_ms'] < 600 * FACTOR, [r['usage'] for r in got])
    d.close()


def others(t):
    """What one profile holds or suffers is not the others' concern."""
    names = ['p%d' % i for i in range(9)]
    d = Pooled(t, 'slots', {n: (8, 8) for n in names}, prewarm=' '.join(names))
    end = time.monotonic() + 30 * FACTOR
    while d.admin.call('pool', {})['slots_free'] > 8 and time.monotonic() < end:
        time.sleep(0.1)
    p = d.admin.call('pool', {})
    t.check('more wanted than there are slots: some stay free', 3 <= p['slots_free'] <= 9, p)
    clients = [d.client() for _ in range(20)]
    for c in clients:
        c.send('run', {**sleeper(300), 'profile': 'few'})
    got = [c.recv()['result'] for c in clients]
    t.check('calls of another profile all find room', [r['outcome'] for r in got] == ['ok'] * 20, [r['outcome'] for r in got])
    zygote = [pid for pid, z in d.zygotes('p0').items()]
    if os.geteuid() == 0 and zygote:
        os.kill(zygote[0], signal.SIGSTOP)
        stuck, c = d.client(), d.client()
        for _ in range(12):
            stuck.send('run', {**ADD, 'profile': 'p0'})
        begin = time.monotonic()
        ends = [c.call('run', {**ADD, 'profile': 'p1'})['outcome'] for _ in range(10)]
        took = time.monotonic() - begin
        os.kill(zygote[0], signal.SIGCONT)
        t.check('a zygote that stands still stops no other profile', ends == ['ok'] * 10 and took < 5 * FACTOR, (ends, took))
        got = [stuck.recv()['result']['outcome'] for _ in range(12)]
        t.check('and its own calls go on when it does', got == ['ok'] * 12, got)
    d.close()


def undying(t):
    """A group that cannot be removed (it has a child of ours) stands for a process that does not die."""
    d = Pooled(t, 'undying')
    c, other = d.client(), d.client()
    c.call('run', sleeper(1))
    other.call('run', {**ADD, 'profile': 'few'})
    end = time.monotonic() + 5 * FACTOR
    while d.calls_groups() and time.monotonic() < end:
        time.sleep(0.02)
    c.send('run', sleeper(500))
    while not d.calls_groups() and time.monotonic() < end + 5 * FACTOR:
        time.sleep(0.02)
    if os.geteuid() != 0 or not d.calls_groups():
        t.number += 1
        print('ok %d - a jail that does not die # SKIP needs root and control groups' % t.number)
        d.close()
        return
    child = sorted(d.calls_groups())[0] + '/held'
    os.mkdir(child)
    t.check('a call whose group cannot go is answered', c.recv()['result']['outcome'] == 'ok')
    begin = time.monotonic()
    ends = [other.call('run', {**ADD, 'profile': 'few'})['outcome'] for _ in range(10)]
    t.check('nobody else waits for it', ends == ['ok'] * 10 and time.monotonic() - begin < 3 * FACTOR, (ends, time.monotonic() - begin))
    time.sleep(1)
    free = d.admin.call('pool', {})['slots_free']
    t.check('its slot is nobody else\'s', free == 60, free)
    time.sleep(11)
    t.check('not even after the time that one may take to die', d.admin.call('pool', {})['slots_free'] == 60)
    os.rmdir(child)
    end = time.monotonic() + 5 * FACTOR
    while d.admin.call('pool', {})['slots_free'] < 61 and time.monotonic() < end:
        time.sleep(0.05)
    t.check('and it comes back when it can', d.admin.call('pool', {})['slots_free'] == 61 and not d.calls_groups(), d.calls_groups())
    t.check('the daemon ends well after that', d.close() == 0)


def unmakable(t):
    """A profile whose zygote cannot start, warmed at start all the same: refused by name, and nothing spins."""
    where = t.dir + '/source'
    os.mkdir(where)
    d = Pooled(t, 'unmakable', {'lost': (2, 4, 'stdlib', ', "files": { "mounts": [ { "from": "%s", "to": "/data", "mode": "ro", "why": "a test" } ] }' % where)},
               generation_calls=2)
    c = d.client()
    r = c.call('run', {**ADD, 'profile': 'lost'})
    t.check('a profile with a directory of the host works', r['outcome'] == 'ok', r)
    os.rename(where, where + '-away')
    ends = set()
    for _ in range(30):
        ends.add(c.call('run', {**ADD, 'profile': 'lost'})['outcome'])
        time.sleep(0.02)
    t.check('a younger generation that cannot start takes nothing from the older', ends == {'ok'}, ends)
    gen = max(z['generation'] for z in d.admin.call('status', {})['processes'] if z.get('role') == 'zygote')
    for pid in d.zygotes('lost'):
        if os.geteuid() == 0:
            os.kill(pid, signal.SIGKILL)
    if os.geteuid() == 0:
        time.sleep(0.3 * FACTOR)
        r = c.call('run', {**ADD, 'profile': 'lost'})
        t.check('one that cannot start at all is setup_failed, and says what is missing', r['outcome'] == 'setup_failed' and 'source' in r['cause']['what'], r)
        time.sleep(2 * FACTOR)
        os.rename(where + '-away', where)
        end = time.monotonic() + 10 * FACTOR
        while c.call('run', {**ADD, 'profile': 'lost'})['outcome'] != 'ok' and time.monotonic() < end:
            time.sleep(0.05)
        p = d.until('lost', lambda p: p['parked'] == 2, 15)
        t.check('it comes back, after few attempts', p['parked'] == 2 and p['generation'] - gen < 40, (gen, p))
    d.close()


def reloaded(t):
    d = Pooled(t, 'reload', {'two': (2, 8), 'three': (3, 8)}, prewarm='two three')
    d.until('two', lambda p: p['parked'] == 2)
    d.until('three', lambda p: p['parked'] == 3)
    running = d.client()
    running.send('run', {**sleeper(1500), 'profile': 'two'})
    time.sleep(0.2 * FACTOR)
    os.unlink(d.profiles + '/two.json')
    d.profile('three', 5, 9)
    with open(d.conf, 'w', encoding='utf-8') as f:
        f.write('prewarm = three\n')
    r = d.admin.call('reload', {})
    t.check('a reload is done', 'error' not in r and 'code' not in r, r)
    p = d.until('three', lambda p: p['parked'] == 5)
    t.check('a pool gets its new size, and keeps its zygote', p['parked'] == 5 and p['max'] == 9 and p['retired'] == 0, p)
    end = time.monotonic() + 5 * FACTOR
    while time.monotonic() < end and len(d.zygotes('two')) and d.admin.call('status', {})['parked'] > 5:
        time.sleep(0.05)
    t.check('what waited for a profile that is gone is gone', not d.pool('two') and d.admin.call('status', {})['parked'] == 5, d.admin.call('pool', {}))
    r = d.client().call('run', {**ADD, 'profile': 'two'})
    t.check('it is refused by name', 'two' in str(r) and r.get('outcome') is None, r)
    t.check('a call that had begun ends as it would have', running.recv()['result']['outcome'] == 'ok')
    end = time.monotonic() + 5 * FACTOR
    while d.zygotes('two') and time.monotonic() < end:
        time.sleep(0.05)
    t.check('and its zygote goes with it', not d.zygotes('two'), d.zygotes('two'))
    d.close()


def main():
    t = Suite()
    every = (warm, generations, turns, flood, leaves_the_queue, clocks, others, undying, unmakable, reloaded)
    for part in every:
        if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
            part(t)
    return t.finish()


sys.exit(main())
