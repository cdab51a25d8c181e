#!/usr/bin/python3
"""Fails each call of a starting jail in turn: the tool never starts, the layer is named, nothing is left.

    run.py [--errno NAME[,NAME]] [--verbose]

The calls are counted first, then each of them fails once for each errno (tests/fault/libshim.c). Where the jail goes on all
the same, the call must have been an attempt that has to fail (of the verify step, mostly): then it is made to look as if it
succeeded, and that must stop the jail. A call that may fail without harm stands in HARMLESS with the reason; a protection
that the profile allows to be missing must be in the receipt's `degraded`.
"""
import argparse
import errno
import json
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE) + '/integration')
sys.dont_write_bytecode = True
from libbrig import BUILD, EXIT_OF, Reply, Suite, Supervisor  # noqa: E402

OFF, COUNT, NAME, FAIL, SUCCEED = range(5)
MAGIC = b'BRIG-FAULT-PLAN-001\0'

# (call, beginning of the stage's name, errno or '' for any, why the jail may go on)
HARMLESS = (
    ('setrlimit', 'resource limits', 'EPERM', 'a lower hard limit of the host stands; the layer reads back that it is one'),
    ('prctl', 'seccomp', 'EPERM', 'asking for the mode is itself refused by the filter'),
    ('prctl', 'no_new_privs', 'EPERM', 'speculation control that is settled for the machine; the layer reads back that it is'),
    ('prctl', 'verify', '', 'what speculation control there is to try; without an answer nothing is claimed'),
)


class Zygote:
    """The program with a plan in it, beside a copy of brig and brigd: brigd takes its zygote from where it lies."""

    def __init__(self, t):
        with open(BUILD + '/tests/fault/zygote', 'rb') as f:
            self.image = f.read()
        assert self.image.count(MAGIC) == 1
        self.at = self.image.index(MAGIC) + len(MAGIC)
        t.brig = t.user_brig()
        self.path = os.path.dirname(t.brig) + '/brig-zygote'
        os.unlink(self.path)
        with open(self.path, 'wb') as f:
            f.write(self.image)
        os.chmod(self.path, 0o755)

    def plan(self, mode, number=0, err=0, sweep=0):
        with open(self.path, 'r+b') as f:
            f.seek(self.at)
            f.write(struct.pack('IIiI', mode, number, err, sweep))


def run(t, z, profile, mode, number=0, err=0):
    z.plan(mode, number, err)
    return t.run('def run(): return "the tool ran"', profile)


def text_of(r):
    return r.out + r.err


def verdict(r):
    """'' when the call ended as a failed set-up must, 'went on' when the tool ran, else what is wrong."""
    if r.outcome == 'setup_failed':
        what = r['cause.what'] or ''
        if r.status != 6:
            return 'exit %d' % r.status
        if not what or 'the tool ran' in text_of(r):
            return 'no cause: %s' % r
        return ''
    if r.outcome == 'ok':
        return 'degraded' if r['receipt.degraded'] else 'went on'
    return 'outcome %s: %s' % (r.outcome, r)


def name_of(t, z, profile, number):
    """(call, stage) of the number-th call."""
    r = run(t, z, profile, NAME, number)
    m = re.search(r'call=(\w+) stage=([a-z_, ]*)', text_of(r))
    return m.groups() if m else ('?', '?')


def sweep(t, z, profile, total, err):
    """All numbers with one supervisor and one zygote, a jail for each: number -> Reply."""
    z.plan(FAIL, 1, getattr(errno, err), 1)
    with open(profile, encoding='utf-8') as f:
        text = f.read()
    got = {}
    s = Supervisor(program=os.path.dirname(t.brig) + '/brigd')
    for number in range(1, total + 1):
        r = s.call('run', {'body': 'def run(): return "the tool ran"', 'profile_text': text, 'profile_path': 'fault.json'})
        got[number] = Reply(EXIT_OF.get(r.get('outcome'), -1), json.dumps(r), '', 0)
    s.close()
    return got


def judge(t, z, profile, number, err, r):
    how = verdict(r)
    if how in ('', 'degraded'):
        return ''
    # Alone, in a zygote of its own, to know what it was.
    how = verdict(run(t, z, profile, FAIL, number, getattr(errno, err)))
    call, stage = name_of(t, z, profile, number)
    if how == 'went on':
        if any(call == c and stage.startswith(g) and e in (err, '') for c, g, e, _ in HARMLESS) or verdict(run(t, z, profile, SUCCEED, number)) == '':
            return ''
    return '%d %s in "%s" %s: %s' % (number, call, stage, err, how)


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--errno', default='EIO,EPERM')
    p.add_argument('--verbose', action='store_true')
    args = p.parse_args()
    t = Suite()
    if not os.path.exists(BUILD + '/tests/fault/zygote'):
        print('1..0 # SKIP needs gcc (build/tests/fault/zygote, x86-64)')
        return 0
    z = Zygote(t)
    for kind, profile in (('with an init, procfs and shm', t.profile('fault', 'python')), ('as PID 1', t.profile('fault1', 'pure'))):
        r = run(t, z, profile, OFF)
        t.check('%s: the program without a plan runs the tool' % kind, r.outcome == 'ok' and r['result'] == 'the tool ran', r)
        r = run(t, z, profile, COUNT)
        m = re.search(r'calls=(\d+)', text_of(r))
        total = int(m.group(1)) if m else 0
        t.check('%s: %d calls between fork and park' % (kind, total), total > 50 and verdict(r) == '', r)
        for err in args.errno.split(','):
            wrong = []
            for number, r in sweep(t, z, profile, total, err).items():
                w = judge(t, z, profile, number, err, r)
                if args.verbose:
                    print('#', number, w or r['cause.what'], flush=True)
                if w:
                    wrong.append(w)
            t.check('%s: each of them fails with %s: the tool does not start, the layer is named' % (kind, err), not wrong, '\n'.join(wrong))
            t.check('%s: nothing is left' % kind, not t.left(), t.left())
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
