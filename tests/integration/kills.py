#!/usr/bin/python3
"""SIGKILL to each part of a running call at many moments: no process, mount or group is left, and no result is made up."""
import argparse
import os
import random
import signal
import subprocess
import sys
import time

from libbrig import EXIT_OF, FACTOR, Suite, Supervisor, cgroup_dirs, lane_lives, tree_of

BODY = '''
import os, time
def run(**kw):
    for i in range(3):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(60)
            os._exit(0)
    time.sleep(60)
    return "never"
'''
MOMENTS = (0.0, 0.003, 0.01, 0.03, 0.06, 0.1, 0.15, 0.25, 0.5)


def pid_of(brig, role, secs):
    """The process of that role, waited for."""
    end = time.monotonic() + secs
    while time.monotonic() < end:
        if role == 'brig':
            return brig
        got = tree_of(brig)[role]
        if got:
            return got[0]
        time.sleep(0.002)
    return 0


def kill_at(t, role, moment):
    p = t.start(BODY, 'python')
    time.sleep(moment * FACTOR)
    pid = pid_of(p.pid, role, 3 * FACTOR)
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pid = 0
    try:
        out, err = p.communicate(timeout=15 * FACTOR)
    except subprocess.TimeoutExpired:
        p.kill()
        p.communicate()
        return '%s at %.3f: brig did not end' % (role, moment)
    left = t.left(5)
    if left:
        return '%s at %.3f: left %s' % (role, moment, left)
    if not pid:
        return '%s at %.3f: was not there to kill: %r' % (role, moment, out[:200])
    if role != 'brig' and (p.returncode not in set(EXIT_OF.values()) - {0} or b'"never"' in out or b'"ok"' in out):
        return '%s at %.3f: exit %s, %r' % (role, moment, p.returncode, out[:300])
    if role not in ('brig',) and out.count(b'\n') != 1:
        return '%s at %.3f: not one object: %r %r' % (role, moment, out[:300], err[:300])
    return ''


def groups_gone(t, before):
    """The next start sweeps what the dead left. Other users of this machine may have groups that live."""
    for _ in range(20):
        t.run('def run(): return 1')
        new = {d for d in cgroup_dirs() - before if not lane_lives(d)}
        if not new:
            return ''
        time.sleep(0.3 * FACTOR)
    return ', '.join(sorted(new)[:6])


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--rounds', type=int, default=1)
    args = p.parse_args()
    t = Suite()
    before = cgroup_dirs()
    for role in ('brig', 'keeper', 'core', 'zygote', 'jail'):
        wrong = [w for r in range(args.rounds) for m in MOMENTS for w in [kill_at(t, role, m * (1 + random.random() * 0.3))] if w]
        t.check('SIGKILL to the %s, at %d moments: nothing is left, no result is made up' % (role, len(MOMENTS)), not wrong, '\n'.join(wrong))
    # All at once, as an out-of-memory killer or an impatient operator might.
    p = t.start(BODY, 'python')
    time.sleep(0.4 * FACTOR)
    for pids in tree_of(p.pid).values():
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    p.communicate()
    t.check('SIGKILL to all of them: nothing is left', not t.left(), t.left())
    # A client that goes away in the middle of a call, and one that never says anything.
    s = Supervisor()
    s.send('run', {'body': BODY, 'profile': 'python'})
    time.sleep(0.5 * FACTOR)
    status = s.close()
    t.check('a client that leaves ends its call and its supervisor', status == 0 and not t.left(), '%s %s' % (status, t.left()))
    s = Supervisor()
    t.check('a client that says nothing', s.close() == 0 and not t.left(), t.left())
    s = Supervisor()
    s.sock.sendall(b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"body":"def run(): retu')
    t.check('a client that leaves in the middle of a line', s.close() in (0, 1) and not t.left(), t.left())
    s = Supervisor()
    s.send('run', {'body': BODY, 'profile': 'python'})
    time.sleep(0.5 * FACTOR)
    os.kill(s.p.pid, signal.SIGSTOP)
    core = [q for q in tree_of(os.getpid())['core']]
    s.sock.close()
    s.file.close()
    time.sleep(0.3 * FACTOR)
    os.kill(s.p.pid, signal.SIGKILL)
    s.p.wait()
    t.check('a keeper that was stopped, then killed', not t.left(), '%s %s' % (core, t.left()))
    left = groups_gone(t, before)
    t.check('the next start sweeps the groups of the dead', not left, left)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
