#!/usr/bin/python3
"""Very many calls of every kind over a daemon's socket, and nothing grows: memory, descriptors, mounts, groups, processes, latency.

BRIG_SOAK_CALLS sets how many (2000; make soak: 100000), BRIG_SOAK_CLIENTS how many callers stand side by side (4)."""
import collections
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time

from libbrig import BRIG, FACTOR, REPO, Daemon, Suite, cgroup_dirs, lane_lives

CALLS = int(os.environ.get('BRIG_SOAK_CALLS', '2000'))
CLIENTS = int(os.environ.get('BRIG_SOAK_CLIENTS', '4'))
TENTHS = 10
# The first calls make zygotes, fill caches and libc's free lists; what grows after them is a leak.
WARM_UP = 200
BARE_EVERY = 20
PYTHON = '/usr/bin/python3'
# Pages that libc, libevent and the kernel take and give back; a leak of 200 bytes a call is more than that after 2000 calls.
ROOM_KB = 384

FORK = """import os
def run(i):
    if os.fork() == 0: os._exit(0)
    os.wait()
    open("/tmp/f", "w").write("z" * 5000)
    return i
"""
# profile, body, of 100 calls so many, outcome, more of the answer
KINDS = (
    ('pure', 'def run(i): return i + 1', 52, 'ok', lambda r, i: r['result'] == i + 1),
    ('pure', 'def run(i): return "x" * 60000', 8, 'ok', lambda r, i: len(r['result']) == 60000),
    ('pure', 'def run(i):\n print("x" * 100000)\n return "y"', 8, 'ok', lambda r, i: r['stdout']['bytes'] == 100001 and r['stdout']['truncated']),
    ('pure', 'def run(i): raise ValueError(i)', 10, 'tool_error', lambda r, i: r['error']['message'] == str(i)),
    ('pure', 'def run(i) return', 4, 'tool_error', lambda r, i: r['error']['type'] == 'SyntaxError'),
    ('pure', 'def run(i): return "x" * 300000', 3, 'result_too_large', None),
    ('pure', 'def run(i): return len(bytearray(1 << 28))', 3, ('tool_error', 'out_of_memory'), None),
    ('soak', FORK, 6, 'ok', lambda r, i: r['result'] == i),
    ('soak', 'import os\ndef run(i): os._exit(3)', 2, 'tool_error', None),
    ('soak', 'import ctypes\ndef run(i): ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)', 3, 'syscall_denied', None),
    ('soak', 'def run(i):\n while True: pass', 1, ('timeout', 'cpu_limit'), None),
)
# "soak" is the profile python with a short clock. One of 100 in an even mix, so that every tenth sees all kinds.
ORDER = sorted((n * 100 / kind[2] + at / 50, at) for at, kind in enumerate(KINDS) for n in range(kind[2]))


def timed(call):
    begin = time.monotonic()
    got = call()
    return (time.monotonic() - begin) * 1e3, got


class Caller:
    """One connection; each answer is checked. plain: wall times of the plainest kind; bare: of an interpreter with no jail,
    started now and then beside the calls, so that a machine which slows down with other work is told from a daemon that does."""

    def __init__(self, daemon):
        self.client = daemon.client()
        self.plain, self.bare, self.wrong, self.outcomes = [], [], [], collections.Counter()

    def calls(self, number):
        for _ in range(number):
            done = sum(self.outcomes.values())
            at = ORDER[done % len(ORDER)][1]
            if done % BARE_EVERY == 0:
                self.bare.append(timed(lambda: subprocess.run([PYTHON, '-I', '-S', '-c', 'pass'], check=True))[0])
            try:
                self.one(KINDS[at], plain=at == 0)
            except (OSError, EOFError) as e:
                self.wrong.append('the connection: %s' % e)
                return

    def one(self, kind, plain):
        profile, body, _, want, also = kind
        i = sum(self.outcomes.values())
        ms, r = timed(lambda: self.client.call('run', {'body': body, 'args': {'i': i}, 'profile': profile}))
        if plain:
            self.plain.append(ms)
        self.outcomes[r.get('outcome')] += 1
        if r.get('outcome') not in (want if isinstance(want, tuple) else (want,)) or (also and not also(r, i)):
            self.wrong.append('%s: %s' % (body[:80], str(r)[:400]))


def anonymous_kb(pid):
    """Memory that is the process's own; a page that it shares with its children since a fork counts too."""
    with open('/proc/%d/status' % pid, encoding='ascii', errors='replace') as f:
        return next((int(line.split()[1]) for line in f if line.startswith('RssAnon:')), 0)


def members(pid):
    """name of role -> pids of the daemon's processes, jails left out (they come and go)."""
    got, todo = collections.defaultdict(list), [pid]
    while todo:
        p = todo.pop()
        try:
            with open('/proc/%d/comm' % p, encoding='utf-8', errors='replace') as f:
                name = f.read().strip()
            with open('/proc/%d/task/%d/children' % (p, p), encoding='ascii') as f:
                kids = f.read().split()
        except OSError:
            continue
        got[name].append(p)
        if not name.startswith('zygote'):
            todo += map(int, kids)
    return got


def look(daemon):
    """Numbers that must not grow, by what they are of."""
    roles = members(daemon.p.pid)
    got = {('daemon', 'processes'): sum(map(len, roles.values())), ('host', 'mounts'): len(Suite.mount_list()),
           ('daemon', 'groups'): len(daemon.groups())}
    for role, pids in roles.items():
        got[role, 'kilobytes'] = max(map(anonymous_kb, pids))
        got[role, 'descriptors'] = max(len(os.listdir('/proc/%d/fd' % p)) for p in pids)
    return got


def settled(daemon, secs=20):
    """Jails of the pool come and go: the look at which pools are at rest, and two in a row agree on everything that is counted in pieces."""
    end, last = time.monotonic() + secs * FACTOR, {}
    admin = daemon.client('admin')
    while time.monotonic() < end:
        pools = admin.call('pool', {})['pools']
        now = look(daemon)
        if (all(p['target'] == p['parked'] == p['warm'] and not p['starting'] for p in pools) and
                {k: v for k, v in now.items() if k[1] != 'kilobytes'} == {k: v for k, v in last.items() if k[1] != 'kilobytes'}):
            return now
        last = now
        time.sleep(0.5)
    return last


def side_by_side(callers, number):
    threads = [threading.Thread(target=c.calls, args=(number // len(callers),)) for c in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def flat(t, first, last):
    for key in sorted(set(first) | set(last)):
        was, now = first.get(key, 0), last.get(key, 0)
        room = ROOM_KB + was // 8 if key[1] == 'kilobytes' else 8 if key[1] in ('groups', 'descriptors') else 1
        t.check('%s: %s stay flat (%d, then %d)' % (*key, was, now), now <= was + room, 'room is %d' % room)


def main():
    t = Suite()
    groups = cgroup_dirs()
    profiles = t.dir + '/profiles'
    shutil.copytree(REPO + '/profiles', profiles)
    os.replace(t.profile('soak', 'python', wall=300), profiles + '/soak.json')
    # Between the looks pools go back to what profiles say: how many jails stand ready by then is no leak.
    daemon = Daemon(('--profiles', profiles, '--config', t.file('brigd.conf', 'pool_idle = 1s\n')))
    callers = [Caller(daemon) for _ in range(CLIENTS)]
    side_by_side(callers, WARM_UP)
    first = settled(daemon)
    tenths, begin = [], time.monotonic()
    for _ in range(TENTHS):
        for c in callers:
            del c.plain[:], c.bare[:]
        side_by_side(callers, CALLS // TENTHS)
        tenths.append([statistics.median([ms for c in callers for ms in getattr(c, what)] or [0]) for what in ('plain', 'bare')])
    took = time.monotonic() - begin
    last = settled(daemon)
    outcomes = sum((c.outcomes for c in callers), collections.Counter())
    wrong = [w for c in callers for w in c.wrong]
    t.check('%d calls of %d kinds, each as it must end (%.0f a second)' % (sum(outcomes.values()), len(KINDS), CALLS / took),
            not wrong and sum(outcomes.values()) >= CALLS, '\n'.join(wrong[:5]))
    print('# outcomes: %s' % dict(outcomes))
    print('# median ms of a plain call, and of bare python beside it, tenth by tenth: %s' % ' '.join('%.1f/%.1f' % tuple(x) for x in tenths))
    flat(t, first, last)
    # What slows down with the number of calls does so in every later tenth.
    ratios = [plain / bare if bare else 0 for plain, bare in tenths]
    t.check('latency stays flat', min(ratios[-3:]) <= 1.5 * max(ratios[:3]), ratios)
    for c in callers:
        c.client.hang_up()
    if subprocess.run([BRIG, 'audit', 'verify', '--help'], capture_output=True, check=False).returncode == 0:
        r = subprocess.run([BRIG, 'audit', 'verify'], env={**os.environ, 'BRIG_STATE': daemon.state}, capture_output=True, text=True, check=False)
        t.check('the audit log is whole', r.returncode == 0, r.stdout + r.stderr)
    status = daemon.close()
    t.check('the daemon ends well', status in (0, 143), status)
    for _ in range(40):
        left = {d for d in cgroup_dirs() - groups if not lane_lives(d)}
        if not left:
            break
        time.sleep(0.25)
    t.check('no group is left', not left, sorted(left)[:5])
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
