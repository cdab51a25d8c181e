#!/usr/bin/python3
"""Many calls in a row: nothing grows. BRIG_STEADY_CALLS sets how many (500)."""
import os
import sys
import time

from libbrig import FACTOR, Suite, Supervisor, cgroup_dirs, lane_lives, tree_of

CALLS = int(os.environ.get('BRIG_STEADY_CALLS', '500'))
BODIES = (
    ('pure', 'def run(i): return i + 1', lambda r, i: r.get('outcome') == 'ok' and r['result'] == i + 1),
    ('pure', 'def run(i): raise ValueError(i)', lambda r, i: r.get('outcome') == 'tool_error' and r['error']['message'] == str(i)),
    ('pure', 'def run(i):\n print("x" * 100000)\n return "y"', lambda r, i: r.get('outcome') == 'ok' and r['stdout']['bytes'] == 100001),
    ('python', 'import os\ndef run(i):\n if os.fork() == 0: os._exit(0)\n os.wait()\n open("/tmp/f", "w").write("z" * 5000)\n return i', lambda r, i: r.get('outcome') == 'ok'),
    ('python', 'import ctypes\ndef run(i): ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)', lambda r, i: r.get('outcome') == 'syscall_denied'),
    ('python', 'import os\ndef run(i): os._exit(3)', lambda r, i: r.get('outcome') == 'tool_error'),
)


def status(pid, key):
    with open('/proc/%d/status' % pid) as f:
        for line in f:
            if line.startswith(key + ':'):
                return int(line.split()[1])
    return 0


def size_of(pid):
    """Descriptors, resident kilobytes that are the process's own, mounts that it sees."""
    with open('/proc/%d/mountinfo' % pid) as f:
        mounts = sum(1 for _ in f)
    return {'descriptors': len(os.listdir('/proc/%d/fd' % pid)), 'kilobytes': status(pid, 'RssAnon'), 'mounts': mounts}


def parts():
    """The supervisor is our own child: we stand where brig stands."""
    roles = tree_of(os.getpid())
    got = {}
    for role in ('keeper', 'core'):
        got[role] = size_of(roles[role][0])
    for n, pid in enumerate(sorted(roles['zygote'])):
        got['zygote %d' % n] = size_of(pid)
    got['processes'] = {'number': sum(len(v) for v in roles.values())}
    return got


def settled(secs=3):
    """Warm jails come and go: the state after which a quarter second nothing changes."""
    last = parts()
    end = time.monotonic() + secs * FACTOR
    while time.monotonic() < end:
        time.sleep(0.25)
        now = parts()
        if {k: v.get('descriptors') for k, v in now.items()} == {k: v.get('descriptors') for k, v in last.items()}:
            return now
        last = now
    return last


def main():
    t = Suite()
    before = cgroup_dirs()
    s = Supervisor()
    wrong = []

    def calls(n):
        for i in range(n):
            profile, body, good = BODIES[i % len(BODIES)]
            r = s.call('run', {'body': body, 'args': {'i': i}, 'profile': profile})
            if not good(r, i):
                wrong.append('%d %s: %s' % (i, body, str(r)[:300]))
    calls(60)
    first, groups_first = settled(), len(s.groups())
    begin = time.monotonic()
    calls(CALLS)
    took = time.monotonic() - begin
    last, groups_last = settled(), len(s.groups())
    t.check('%d calls, each as it must end (%.1f ms each)' % (CALLS, took * 1000 / CALLS), not wrong, '\n'.join(wrong[:5]))
    for part in first:
        for what, n in first[part].items():
            now = last.get(part, {}).get(what, -1)
            room = 256 + n // 4 if what == 'kilobytes' else 1 if part == 'processes' else 0
            t.check('%s: %s do not grow' % (part, what), 0 <= now <= n + room, '%s, then %s' % (n, now))
    t.check('groups do not grow', groups_last <= groups_first + 8, '%d, then %d' % (groups_first, groups_last))
    t.check('the supervisor ends well', s.close() == 0)
    bad = [r for r in (t.run('def run(): return 1') for _ in range(max(5, CALLS // 25))) if r.outcome != 'ok']
    t.check('processes of brig in a row', not bad, bad[:1])
    for _ in range(20):
        left = {d for d in cgroup_dirs() - before if not lane_lives(d)}
        if not left:
            break
        time.sleep(0.2)
    t.check('no group is left', not left, sorted(left)[:5])
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
