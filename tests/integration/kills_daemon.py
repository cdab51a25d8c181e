#!/usr/bin/python3
"""SIGKILL to every process of a daemon while calls are in flight: each call gets one right answer or a closed connection, nothing is
left, the audit log stays sound and whole, and the daemon serves again at once. The order and the moments come from --seed."""
import argparse
import collections
import glob
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from libbrig import BRIG, FACTOR, WAITED, Daemon, Suite, cgroup_dirs, lane_lives

WORKERS = 4
ROLES = ('core', 'audit', 'zygote', 'jail', 'client', 'keeper')
# What one kill may cost: calls that end otherwise than their tool did. The audit log is written again, so its process costs none.
# Who connects again while core follows its keeper is closed twice.
PRICE = {'core': WORKERS, 'audit': 0, 'zygote': WORKERS, 'jail': 1, 'client': 0, 'keeper': 2 * WORKERS}
KINDS = {
    'quick': ('ok', 'def run(n):\n    return n\n'),
    'slow': ('ok', 'import time\ndef run(n):\n    time.sleep(0.15)\n    return n\n'),
    'forks': ('ok', 'import os, time\ndef run(n):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)\n    time.sleep(0.05)\n    return n\n'),
    'error': ('tool_error', 'def run(n):\n    raise ValueError(n)\n'),
    'output': ('ok', 'def run(n):\n    print(n * 100)\n    return n\n'),
}
# A jail that dies before it is locked down is a protection that could not be had.
HURT = {'internal_error', 'killed', 'setup_failed'}
SLEEP = 'import time\ndef run():\n    time.sleep(60)\n'


class Worker(threading.Thread):
    """One client after the other, each with one call at a time; knows what the answer must be."""

    def __init__(self, daemon, number):
        super().__init__(daemon=True)
        self.where, self.number, self.random = daemon, number, random.Random(number)
        self.stop = False
        self.ended = collections.Counter()
        self.wrong, self.answered = [], set()
        self.serial = 0

    def connect(self):
        end = time.monotonic() + 30 * FACTOR
        while not self.stop:
            try:
                return self.where().client()
            except OSError:
                if time.monotonic() > end:
                    self.wrong.append('no connection for 30 s')
                    return None
                time.sleep(0.02)
        return None

    def judge(self, kind, nonce, reply, rpc_id):
        result = reply.get('result', {})
        outcome = result.get('outcome')
        if reply.get('id') != rpc_id or not result:
            return 'not the answer to %s: %s' % (rpc_id, reply)
        self.ended[outcome] += 1
        self.answered.add(result['call_id'])
        if outcome in HURT or outcome == 'busy':
            return '' if 'result' not in result and result['cause']['what'] else 'a failed call with a result, or none without a cause: %s' % result
        if outcome != KINDS[kind][0]:
            return '%s ended as %s' % (kind, reply)
        said = result['result'] if outcome == 'ok' else result['error']['message']
        return '' if said == nonce and (kind != 'output' or nonce * 100 in result['stdout']['text']) else 'not its result: %s' % reply

    def one(self, client):
        kind = self.random.choice(list(KINDS))
        self.serial += 1
        nonce = '%d.%d;' % (self.number, self.serial)
        rpc_id = client.send('run', {'body': KINDS[kind][1], 'args': {'n': nonce}, 'profile': 'python'})
        line = client.file.readline()
        if not line:
            raise EOFError
        return self.judge(kind, nonce, json.loads(line), rpc_id)

    def run(self):
        while not self.stop:
            client = self.connect()
            try:
                while client and not self.stop:
                    wrong = self.one(client)
                    if wrong:
                        self.wrong.append(wrong)
            except TimeoutError:
                self.wrong.append('no answer within the time')
            except (OSError, EOFError):
                self.ended['closed'] += 1
            except ValueError as e:
                self.wrong.append('half an answer: %s' % e)
            if client:
                client.hang_up()


def comm(pid):
    try:
        with open('/proc/%d/comm' % pid, encoding='utf-8') as f:
            return f.read().strip()
    except OSError:
        return ''


def children(pid):
    try:
        with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as f:
            return [int(p) for p in f.read().split()]
    except OSError:
        return []


def below(pid):
    return [pid] + [q for p in children(pid) for q in below(p)]


class Crew:
    """The daemon under fire, started again by us when its keeper dies, always on the same state."""

    def __init__(self, t):
        self.t = t
        self.state = tempfile.mkdtemp(prefix='brig-k-', dir='/var/tmp')
        os.chmod(self.state, 0o755)
        self.log = open(self.state + '/log', 'ab')
        self.now = None
        self.start()

    def start(self):
        self.now = Daemon(state=self.state, stderr=self.log)

    def pid_of(self, role, rng):
        keeper = self.now.p.pid
        zygotes = [p for p in children(keeper) if comm(p).startswith('zygote')]
        found = {'keeper': [keeper], 'zygote': zygotes, 'jail': [j for z in zygotes for j in children(z)],
                 'core': [p for p in children(keeper) if comm(p) == 'brigd: core'],
                 'audit': [p for p in children(keeper) if comm(p) == 'brigd: audit']}[role]
        return rng.choice(found) if found else 0


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def all_gone(pids, secs):
    end = time.monotonic() + secs * FACTOR
    while any(os.path.exists('/proc/%d/root' % p) and comm(p) for p in pids if not is_zombie(p)):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def is_zombie(pid):
    try:
        with open('/proc/%d/stat' % pid, encoding='utf-8', errors='replace') as f:
            return f.read().rpartition(')')[2].split()[0] == 'Z'
    except OSError:
        return True


def serves_after(crew, secs=10):
    """Seconds until a call over a new connection ends ok; None: it does not."""
    begin = time.monotonic()
    while time.monotonic() - begin < secs * FACTOR:
        try:
            client = crew.now.client()
            r = client.call('run', {'body': 'def run(): return 1', 'profile': 'python'})
            client.hang_up()
            if r.get('outcome') == 'ok':
                return time.monotonic() - begin
        except (OSError, EOFError, ValueError):
            pass
        time.sleep(0.02)
    return None


def strike_client(crew):
    """A client of our own dies in the middle of its call: the call must end with it."""
    path = crew.t.file('sleep.py', SLEEP)
    p = subprocess.Popen([BRIG, 'run', path, '--profile', 'python', '--socket', crew.now.path('agent')], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    WAITED.add(p.pid)
    admin = crew.now.client('admin')
    mine, end = [], time.monotonic() + 10 * FACTOR
    while not mine and time.monotonic() < end:
        mine = [c['call_id'] for c in admin.call('list', {})['calls'] if c['pid'] == p.pid and c['state'] == 'running']
        time.sleep(0.01)
    kill(p.pid)
    p.wait()
    end = time.monotonic() + 5 * FACTOR
    left = mine
    while left and time.monotonic() < end:
        left = [c for c in admin.call('list', {})['calls'] if c['call_id'] in mine and c['state'] != 'ending']
        time.sleep(0.01)
    admin.hang_up()
    return 'its call never ran' if not mine else 'its call still runs: %s' % left if left else ''


def strike(crew, role, rng):
    """One kill and what must hold right after; '' or what is wrong, and the time until the daemon served again."""
    time.sleep(rng.uniform(0, 0.25) * FACTOR)
    if role == 'client':
        return strike_client(crew), 0
    pid = crew.pid_of(role, rng)
    dead = below(pid) if role in ('zygote', 'jail') and pid else [p for p in below(crew.now.p.pid) if comm(p) != 'brigd: audit']
    if not pid or not kill(pid):
        return 'was not there', 0
    if role == 'keeper':
        crew.now.p.wait()
        if not all_gone(dead, 10):
            return 'left processes', 0
        crew.start()
    took = serves_after(crew)
    if role == 'core' and not all_gone([p for p in dead if p != crew.now.p.pid], 5):
        return 'the jails of the dead core live on: %s' % [(p, comm(p)) for p in dead], 0
    if took is None:
        return 'does not serve again', 0
    return '', took


def records(state):
    """begin and end of each call in the audit log, over all its files."""
    seen = {'begin': collections.Counter(), 'end': collections.Counter()}
    for path in sorted(glob.glob(state + '/audit/*.log')):
        with open(path, 'rb') as f:
            for line in f:
                try:
                    r = json.loads(line)
                except ValueError:
                    continue  # torn by a kill; `brig audit verify` knows where that may be
                if r.get('kind') in seen:
                    seen[r['kind']][r['call_id']] += 1
    return seen


def audit_wrong(state, answered):
    r = subprocess.run([BRIG, 'audit', 'verify', state + '/audit'], capture_output=True, text=True, timeout=60 * FACTOR, check=False)
    if r.returncode != 0:
        return 'verify: %s %s%s' % (r.returncode, r.stdout, r.stderr)
    seen = records(state)
    twice = [(k, c) for k in seen for c, n in seen[k].items() if n != 1]
    lost = [c for c in answered if not seen['begin'][c] or not seen['end'][c]]
    open_ = [c for c in seen['begin'] if not seen['end'][c]]
    return '\n'.join('%s: %s' % (what, got[:5]) for what, got in (('twice', twice), ('answered without both records', lost),
                                                                 ('begun and never ended', open_)) if got)


def groups_left(before):
    end = time.monotonic() + 5 * FACTOR
    while True:
        new = {d for d in cgroup_dirs() - before if not lane_lives(d)}
        if not new or time.monotonic() > end:
            return ', '.join(sorted(new)[:6])
        time.sleep(0.1)


def fire(crew, workers, seconds, rng):
    """The loop: hits, what was wrong by role, and the longest time without service."""
    hits, wrong, slowest = collections.Counter(), collections.defaultdict(list), collections.Counter()
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(hits) < len(ROLES):
        for role in rng.sample(ROLES, len(ROLES)):
            what, took = strike(crew, role, rng)
            slowest[role] = max(slowest[role], took)
            hits[role] += what != 'was not there'
            if what and what != 'was not there':
                wrong[role].append(what)
        if any(wrong.values()) or any(w.wrong for w in workers):
            break
    return hits, wrong, slowest


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--seconds', type=float, default=40)
    p.add_argument('--seed', type=int, default=20261130)
    args = p.parse_args()
    rng = random.Random(args.seed)
    t = Suite()
    before = cgroup_dirs()
    crew = Crew(t)
    workers = [Worker(lambda: crew.now, n) for n in range(WORKERS)]
    for w in workers:
        w.start()
    hits, wrong, slowest = fire(crew, workers, args.seconds, rng)
    for w in workers:
        w.stop = True
    for w in workers:
        w.join(60 * FACTOR)
    ended = sum((w.ended for w in workers), collections.Counter())
    print('# seed %d; kills %s; calls %s; longest without service %s' % (
        args.seed, dict(hits), dict(ended), {r: '%.2f s' % s for r, s in slowest.items()}))
    for role in ROLES:
        t.check('SIGKILL to the %s, %d times while calls ran: nothing of the dead lives on, it serves again within seconds' % (role, hits[role]),
                hits[role] and not wrong[role], '%s' % wrong[role])
    lies = [x for w in workers for x in w.wrong]
    t.check('every one of %d calls got exactly one right answer or a closed connection' % sum(ended.values()), ended['ok'] > 10 and not lies, lies[:5])
    price = sum(n * PRICE[role] for role, n in hits.items())
    hurt = sum(ended[o] for o in HURT | {'closed'})
    t.check('no more calls were hurt (%d) than the kills can account for (%d)' % (hurt, price), hurt <= price, dict(ended))
    t.check('the daemon ends in order', crew.now.close() == 0)
    answered = set().union(*(w.answered for w in workers))
    bad = audit_wrong(crew.state, answered)
    t.check('the audit log is sound, with one begin and one end of each of %d answered calls' % len(answered), not bad, bad)
    t.check('no cgroup is left', not groups_left(before), groups_left(before))
    if not t.bad:
        shutil.rmtree(crew.state, ignore_errors=True)
    else:
        print('# state and log: %s' % crew.state)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
