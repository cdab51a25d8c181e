#!/usr/bin/python3
"""bench: what a call costs, against bare python3 (no jail at all) as 1.

    tests/bench/bench.py [--build build] [--rounds 60] [--profile pure]

All kinds of call run turn by turn in one loop, so that a busy machine slows them alike, and
medians are compared, never sums. Each does the same work: compile the same body, call run(),
print its value.

    bare   /usr/bin/python3 -I -S -c BODY            a process, no jail
    cold   brigd with no parked jail                 fork from the zygote, every layer, one call
    warm   brigd with parked jails                   one call in a jail that waited for it
    ...    bubblewrap, crun, runsc                   what else there is, where installed (libothers.py)

Then 1, 2, 4, 8 and 16 callers at once, each over a connection of its own to one daemon, against as many
bare processes at once.

Writes BUILD/bench.json: warm_ratio and cold_ratio (time of a call / time of bare, smaller is
better), throughput_ratio (calls per second / bare processes per second at the same
concurrency), numpy_ratio (warm call of the numpy profile / python3 -c "import numpy", null
where it cannot be had), idle_jail_private_bytes, the medians behind each, concurrency and alternatives.
"""
import argparse
import json
import os
import resource
import select
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
from libothers import all_others  # noqa: E402

PYTHON = '/usr/bin/python3'
BODY = 'def run(n):\n    return str(sum(int(digit) for digit in str(n)))\n'
ARGS = {'n': 8675309}
WANT = str(sum(map(int, str(ARGS['n']))))
TARGETS = {'warm_ratio': '<= 0.02', 'cold_ratio': '<= 0.25', 'throughput_ratio': '>= 4', 'numpy_ratio': '<= 0.005', 'idle_jail_private_bytes': '<= 3145728'}
CLOCK = os.sysconf('SC_CLK_TCK')


def fail(text):
    sys.exit('bench: %s' % text)


class Client:
    """One connection to a supervisor."""

    def __init__(self, sock, process, profile, best_effort):
        self.sock, self.buffer, self.next_id = sock, b'', 1
        self.process, self.profile, self.best_effort = process, profile, best_effort

    def send(self, method, params):
        message = {'jsonrpc': '2.0', 'id': self.next_id, 'method': method, 'params': params}
        self.next_id += 1
        self.sock.sendall(json.dumps(message).encode() + b'\n')

    def receive(self, seconds=60):
        end = time.monotonic() + seconds
        while b'\n' not in self.buffer:
            if not select.select([self.sock], [], [], max(0, end - time.monotonic()))[0]:
                fail('brigd did not answer within %d s' % seconds)
            data = self.sock.recv(1 << 20)
            if not data:
                fail('brigd ended (exit %s)' % self.process.wait())
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b'\n')
        reply = json.loads(line)
        if 'error' in reply:
            fail('brigd refused: %s' % json.dumps(reply['error']))
        return reply['result']

    def ask(self, method, params):
        self.send(method, params)
        return self.receive()

    def request(self, stages=False):
        return {'body': BODY, 'args': ARGS, 'profile': self.profile, 'best_effort': self.best_effort, 'stages': stages}

    def run(self, stages=False):
        reply = self.ask('run', self.request(stages))
        self.check(reply)
        return reply

    @staticmethod
    def check(reply):
        if reply.get('outcome') != 'ok' or reply.get('result') != WANT:
            fail('a call ended wrong: %s' % json.dumps({k: reply.get(k) for k in ('outcome', 'result', 'error', 'cause')}))


class Brigd(Client):
    """A private supervisor, spoken to over its socket."""

    def __init__(self, build, profile, warm, best_effort):
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        argv = [os.path.join(build, 'brigd'), '--private', str(theirs.fileno())] + (['--warm', str(warm)] if warm else [])
        super().__init__(ours, subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL), profile, best_effort)
        theirs.close()

    def settle(self, parked):
        """Waits until that many jails are parked, so that none is being made while we measure."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            status = self.ask('status', {})
            if status.get('parked', 0) >= parked and status.get('alive', status.get('parked', 0)) <= max(parked, status.get('parked', 0)):
                return status
            time.sleep(0.002)
        fail('%d jails were to be parked, there are %s' % (parked, status))

    def cpu_seconds(self):
        """CPU time of all processes of this supervisor, dead jails included."""
        total, todo = 0.0, [self.process.pid]
        while todo:
            pid = todo.pop()
            try:
                with open('/proc/%d/stat' % pid, encoding='ascii', errors='replace') as f:
                    fields = f.read().rpartition(')')[2].split()
                with open('/proc/%d/task/%d/children' % (pid, pid), encoding='ascii') as f:
                    todo += map(int, f.read().split())
            except OSError:
                continue
            total += sum(map(int, fields[11:15])) / CLOCK
        return total

    def close(self):
        self.sock.close()
        self.process.wait(timeout=30)


class Daemon:
    """brigd with sockets; its state lies in a directory of its own."""

    def __init__(self, build):
        self.dir = tempfile.mkdtemp(prefix='brig-bench-', dir='/var/tmp')
        os.chmod(self.dir, 0o755)
        self.agent = self.dir + '/run/agent.sock'
        with open(self.dir + '/log', 'wb') as log:
            self.process = subprocess.Popen([os.path.join(build, 'brigd')], env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': self.dir},
                                            stdin=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + 20
        while not os.path.exists(self.agent):
            if self.process.poll() is not None or time.monotonic() > end:
                fail('brigd does not listen: %s' % open(self.dir + '/log', encoding='utf-8').read()[-300:])
            time.sleep(0.01)

    def client(self, profile, best_effort):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.agent)
        return Client(sock, self.process, profile, best_effort)

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=60)
        shutil.rmtree(self.dir, ignore_errors=True)


BARE = BODY + 'print(run(**%r))' % ARGS


def spawned(argv):
    """(wall ms, CPU ms of what was waited for) of one process, or None where it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(argv, capture_output=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
    took = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return None
    return took * 1e3, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def bare(code=BARE, flags=('-I', '-S')):
    return spawned([PYTHON, *flags, '-c', code])


def timed(call):
    start = time.perf_counter()
    reply = call()
    return (time.perf_counter() - start) * 1e3, reply


def callers(run, width, seconds):
    """(calls per second, median ms) of `width` threads that each call run(thread) again and again."""
    times, end = [], time.monotonic() + seconds

    def loop(n):
        while time.monotonic() < end:
            times.append(timed(lambda: run(n))[0])
    threads = [threading.Thread(target=loop, args=(n,)) for n in range(width)]
    begin = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return len(times) / (time.monotonic() - begin), statistics.median(times)


def bare_at_once(width, seconds):
    """The same of bare processes; started and waited for by one thread, which costs least."""
    running, done, begin = {}, [], time.monotonic()
    while time.monotonic() < begin + seconds:
        while len(running) < width:
            p = subprocess.Popen([PYTHON, '-I', '-S', '-c', BARE], stdout=subprocess.DEVNULL)
            running[p] = time.perf_counter()
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        for p in [p for p in running if p.poll() is not None]:
            done.append((time.perf_counter() - running.pop(p)) * 1e3)
    rate = len(done) / (time.monotonic() - begin)
    for p in running:
        p.wait()
    return rate, statistics.median(done)


def concurrency(opts):
    """For each number of callers: what a daemon answers, and bare processes; in two turns each, so that a busy moment hits both."""
    daemon, rows = Daemon(opts.build), []
    clients = [daemon.client(opts.profile, opts.best_effort) for _ in range(max(opts.widths))]
    for c in clients:
        c.run()
    for width in opts.widths:
        turns = [(callers(lambda n: clients[n].run(), width, opts.seconds / 2), bare_at_once(width, opts.seconds / 2)) for _ in range(2)]
        row = {'callers': width}
        for at, name in ((0, 'calls'), (1, 'bare')):
            row[name + '_per_second'] = statistics.mean(t[at][0] for t in turns)
            row[name + '_median_ms'] = statistics.mean(t[at][1] for t in turns)
        rows.append(dict(row, ratio=row['calls_per_second'] / row['bare_per_second']))
    daemon.close()
    return rows


def private_bytes(status):
    """Median private memory of the parked jails, from outside; None and the reason where that is not ours to read."""
    sizes = []
    for jail in status.get('jails', []):
        if jail.get('state', 'parked') != 'parked':
            continue
        try:
            with open('/proc/%d/smaps_rollup' % jail['pid'], encoding='ascii') as f:
                sizes.append(sum(int(line.split()[1]) * 1024 for line in f if line.startswith(('Private_Clean', 'Private_Dirty'))))
        except OSError as e:
            return None, 'a parked jail cannot be read by its starter: %s' % e.strerror
    return (int(statistics.median(sizes)), None) if sizes else (None, 'no jail was parked')


def numpy_part(build, rounds, best_effort):
    """(ratio, medians, reason)."""
    probe = bare('import numpy', ())
    if probe is None:
        return None, {}, 'numpy is not installed for %s' % PYTHON
    lister = Brigd(build, 'pure', 0, best_effort)
    names = [p['name'] for p in lister.ask('profile.list', {})]
    lister.close()
    if 'data' not in names:
        return None, {}, 'there is no profile that grants numpy yet'
    pool = Brigd(build, 'data', 2, best_effort)
    pool.run()
    imports, calls = [], []
    for _ in range(rounds):
        imports.append(bare('import numpy', ())[0])
        pool.settle(2)
        calls.append(timed(pool.run)[0])
    pool.close()
    medians = {'import_ms': statistics.median(imports), 'warm_ms': statistics.median(calls)}
    return medians['warm_ms'] / medians['import_ms'], medians, None


def measure(opts):
    cold = Brigd(opts.build, opts.profile, 0, opts.best_effort)
    pool = Brigd(opts.build, opts.profile, 4, opts.best_effort)
    others = all_others(BARE)
    first, _ = timed(cold.run)
    pool.run()
    times = {'bare': [], 'cold': [], 'warm': [], **{o.name: [] for o in others if not o.reason}}
    cpu = {'bare': [], 'cold_jail': [], 'warm_jail': [], **{o.name: [] for o in others if not o.reason}}
    stages = []
    jails = set()
    cpu_cold = cold.cpu_seconds()
    for _ in range(opts.rounds):
        ms, used = bare()
        times['bare'].append(ms)
        cpu['bare'].append(used)
        ms, reply = timed(lambda: cold.run(True))
        times['cold'].append(ms)
        stages.append(reply.get('stages') or {})
        cpu['cold_jail'].append((reply.get('usage') or {}).get('cpu_ms'))
        pool.settle(4)
        ms, reply = timed(pool.run)
        times['warm'].append(ms)
        cpu['warm_jail'].append((reply.get('usage') or {}).get('cpu_ms'))
        jails.add((reply.get('receipt') or {}).get('jail'))
        for o in others:
            if not o.reason:
                ms, used = spawned(o.argv()) or fail('%s failed' % o.name)
                times[o.name].append(ms)
                cpu[o.name].append(used)
    cpu_cold = (cold.cpu_seconds() - cpu_cold) * 1e3 / opts.rounds
    if jails != {'warm'}:
        fail('calls that were to be warm say in their receipts: %s' % sorted(map(str, jails)))
    idle, idle_reason = private_bytes(pool.settle(4))
    cold.close()
    pool.close()
    rows = concurrency(opts)
    for o in others:
        o.close()
    median = {k: statistics.median(v) for k, v in times.items()}
    known = {k: [x for x in v if x is not None] for k, v in cpu.items()}
    numpy_ratio, numpy_medians, numpy_reason = numpy_part(opts.build, min(opts.rounds, 30), opts.best_effort)
    return {
        'warm_ratio': median['warm'] / median['bare'], 'cold_ratio': median['cold'] / median['bare'], 'throughput_ratio': max(r['ratio'] for r in rows if r['callers'] >= (os.cpu_count() or 1)),
        'numpy_ratio': numpy_ratio, 'idle_jail_private_bytes': idle,
        'medians_ms': median, 'first_call_ms': first,
        'p90_ms': {k: sorted(v)[int(len(v) * 0.9)] for k, v in times.items()},
        'cpu_ms': dict({k: statistics.median(v) if v else None for k, v in known.items()}, cold_all_processes=cpu_cold),
        'concurrency': rows,
        'alternatives': {o.name: {'what': o.what, 'reason': o.reason, 'median_ms': median.get(o.name), 'ratio': median[o.name] / median['bare'] if o.name in median else None}
                         for o in others},
        'numpy': dict(numpy_medians, reason=numpy_reason), 'idle_jail': {'reason': idle_reason},
        'stages_us': {k: statistics.median(s.get(k, 0) for s in stages) / 1e3 for k in (stages[0] if stages else {})},
        'rounds': opts.rounds, 'profile': opts.profile, 'targets': TARGETS, 'kernel': os.uname().release, 'cpus': os.cpu_count(),
    }


def holds(value, target):
    sign, bound = target.split()
    return value <= float(bound) if sign == '<=' else value >= float(bound)


def report(r):
    def line(name, ms, p90):
        print('  %-52s %8.2f (%8.2f) %8.2f' % (name, ms, p90, ms / r['medians_ms']['bare']))
    print('%d rounds, turn by turn; medians (90th percentile) in ms, and as a multiple of bare python\n' % r['rounds'])
    for k, text in (('bare', 'python3 -I -S -c, no jail'), ('warm', 'brig: call in a parked jail'), ('cold', 'brig: cold call, fresh jail')):
        line(text, r['medians_ms'][k], r['p90_ms'][k])
    for k, o in r['alternatives'].items():
        if o['reason']:
            print('  %-52s skipped: %s' % (o['what'], o['reason']))
        else:
            line(o['what'], r['medians_ms'][k], r['p90_ms'][k])
    print('  %-52s %8.2f' % ('brig: first call, zygote starts', r['first_call_ms']))
    if r['numpy'].get('warm_ms'):
        print('  %-52s %8.2f\n  %-52s %8.2f' % ('brig: call in a parked jail of data', r['numpy']['warm_ms'], 'python3 -c "import numpy"', r['numpy']['import_ms']))
    print('\n  CPU ms: ' + ', '.join('%s %s' % (k.replace('_', ' '), 'unknown' if v is None else '%.2f' % v) for k, v in r['cpu_ms'].items()))
    print('\n  %-8s %14s %10s %14s %10s %7s' % ('callers', 'brig calls/s', 'median ms', 'bare python/s', 'median ms', 'ratio'))
    for row in r['concurrency']:
        print('  %-8d %14.0f %10.2f %14.0f %10.2f %7.2f' % tuple(row[k] for k in (
            'callers', 'calls_per_second', 'calls_median_ms', 'bare_per_second', 'bare_median_ms', 'ratio')))
    print()
    for k, target in TARGETS.items():
        value = r[k]
        if value is None:
            print('  %-26s null: %s' % (k, r['numpy']['reason'] if k == 'numpy_ratio' else r['idle_jail']['reason']))
        else:
            print('  %-26s %12.4g   target %-11s %s' % (k, value, target, 'met' if holds(value, target) else 'MISSED'))
    stages = dict(r['stages_us'])
    total = stages.pop('total', 0)
    if total:
        print('\n  What a cold call is made of (median µs of each stage; total is until the jail is parked)\n')
        for k, v in stages.items():
            print('  %-34s %9.0f  %5.1f %%' % (k, v, 100 * v / total))
        rest = total - sum(stages.values())
        print('  %-34s %9.0f  %5.1f %%' % ('between the processes', rest, 100 * rest / total))
        print('  %-34s %9.0f' % ('total', total))


def main():
    parser = argparse.ArgumentParser(description='what a call costs, against bare python3')
    parser.add_argument('--build', default='build')
    parser.add_argument('--rounds', type=int, default=60)
    parser.add_argument('--seconds', type=float, default=4, help='of each number of callers, and again for bare processes')
    parser.add_argument('--widths', type=int, nargs='+', default=[1, 2, 4, 8, 16], help='callers at once')
    parser.add_argument('--profile', default='pure')
    parser.add_argument('--best-effort', action='store_true')
    opts = parser.parse_args()
    result = measure(opts)
    with open(os.path.join(opts.build, 'bench.json'), 'w', encoding='utf-8') as f:
        json.dump(result, f, indent=2)
        f.write('\n')
    report(result)


if __name__ == '__main__':
    main()
