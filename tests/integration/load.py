#!/usr/bin/python3
"""A daemon under mixed load: good, failing, flooding, memory-eating, hanging and cancelled tools of many clients at
once, beside clients that send garbage or leave. Every call gets exactly one answer, the right one, with its own
value in it; and the audit log says of each what its client was told.

BRIG_LOAD_ROUNDS sets how often each client sends every kind (4)."""
import collections
import json
import os
import shutil
import socket
import sys
import threading
import time

from libbrig import FACTOR, REPO, Daemon, Suite

ROUNDS = int(os.environ.get('BRIG_LOAD_ROUNDS', '4'))
CLIENTS = 8

# name, profile, body, outcomes that are right, more of the answer. Each body gets a number that no other call has.
KINDS = (
    ('good', 'calm', 'def run(n): return n', {'ok'}, lambda r, n: r['result'] == n),
    ('good, with output', 'calm', 'def run(n):\n print("out", n)\n return "r%d" % n', {'ok'},
     lambda r, n: r['result'] == 'r%d' % n and r['stdout']['text'] == 'out %d\n' % n),
    ('failing', 'calm', 'def run(n): raise KeyError(n)', {'tool_error'}, lambda r, n: r['error']['message'] == str(n)),
    ('flooding stdout', 'calm', 'def run(n):\n for _ in range(200): print("f" * 10000)\n return n', {'ok'},
     lambda r, n: r['result'] == n and r['stdout']['bytes'] == 200 * 10001 and 'stdout' in r['limits_hit']),
    ('flooding the result', 'calm', 'def run(n): return [n] * 1000000', {'result_too_large'}, None),
    ('eating memory', 'load', 'def run(n):\n keep = []\n while True: keep.append(bytearray(1 << 20))', {'out_of_memory', 'tool_error'},
     lambda r, n: r['outcome'] == 'out_of_memory' or r['error']['type'] == 'MemoryError'),
    ('hanging', 'short', 'import time\ndef run(n): time.sleep(60)', {'timeout'}, None),
    ('spinning', 'short', 'def run(n):\n while True: pass', {'timeout', 'cpu_limit'}, None),
    ('denied', 'load', 'import ctypes\ndef run(n): ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)', {'syscall_denied'}, None),
    ('leaving without a word', 'load', 'import os\ndef run(n): os._exit(7)', {'tool_error'}, None),
    ('forging a frame', 'load', 'import os, struct\ndef run(n):\n for fd in range(3, 16):\n'
     '  try: os.write(fd, struct.pack("<IIQ", 0x42525253, 1, 6) + b"\\"fake\\"")\n  except OSError: pass\n return n', {'ok', 'tool_error'},
     lambda r, n: r.get('result') in (n, None, 'fake')),
    ('cancelled', 'load', 'import time\ndef run(n): time.sleep(60)', {'cancelled'}, None),
)


def request(ident, method, params):
    return (json.dumps({'jsonrpc': '2.0', 'id': ident, 'method': method, 'params': params}) + '\n').encode()


class Caller:
    """One connection that keeps many calls in flight and takes their answers as they come."""

    def __init__(self, daemon, number):
        self.client, self.number = daemon.client(), number
        self.want, self.answers = {}, collections.defaultdict(list)
        self.wrong, self.ids, self.busy = [], {}, 0
        self.lock = threading.Lock()  # of the sending side

    def send(self, n):
        kind = self.want[n]
        with self.lock:
            self.client.sock.sendall(request(n, 'run', {'body': kind[2], 'args': {'n': n}, 'profile': kind[1], 'stream': kind[0] == 'cancelled'}))

    def send_all(self):
        for i in range(ROUNDS * len(KINDS)):
            n = self.number * 100000 + i
            self.want[n] = KINDS[(i + self.number) % len(KINDS)]
            self.send(n)

    def cancel(self, call_id):
        ident = 'cancel ' + call_id
        self.want[ident] = None
        with self.lock:
            self.client.sock.sendall(request(ident, 'cancel', {'call_id': call_id}))

    def again(self, n, after_ms):
        """What never began is sent once more, when it was said to be worth it."""
        self.busy += 1
        threading.Timer(after_ms / 1e3, self.send, (n,)).start()

    def take(self):
        line = self.client.recv()
        if line.get('method') == 'started':
            self.cancel(line['params']['call_id'])
        elif line.get('result', {}).get('outcome') == 'busy':
            self.again(line['id'], line['result']['retry_after_ms'])
        else:
            self.answers[line['id']].append(line)

    def run(self):
        sender = threading.Thread(target=self.send_all)
        sender.start()
        try:
            while sender.is_alive() or len(self.answers) < len(self.want):
                self.take()
        except (OSError, EOFError, ValueError) as e:
            self.wrong.append('client %d: the connection: %s; %d of %d answered' % (self.number, e, len(self.answers), len(self.want)))
        sender.join()

    def judge(self):
        for n, lines in self.answers.items():
            if n not in self.want or len(lines) != 1:
                self.wrong.append('id %r: %d answers, expected %s' % (n, len(lines), 'one' if n in self.want else 'none'))
            elif self.want[n]:
                self.judge_call(n, lines[0].get('result', {}))

    def judge_call(self, n, r):
        name, _, _, outcomes, also = self.want[n]
        self.ids[r.get('call_id')] = r.get('outcome')
        if r.get('outcome') not in outcomes or (also and not also(r, n)):
            self.wrong.append('%s, %d: %s' % (name, n, json.dumps(r)[:500]))


class Nuisance(threading.Thread):
    """Clients that send what is no request, or leave with calls in flight, until told to stop."""

    def __init__(self, daemon):
        super().__init__()
        self.path, self.stop, self.count, self.error = daemon.path('agent'), threading.Event(), 0, None

    def once(self, number):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path)
            s.settimeout(20 * FACTOR)
            if number % 3 == 0:
                s.sendall(b'\x00\xff garbage\n{"jsonrpc":"2.0"}\n[]\n')
                s.recv(100)
            elif number % 3 == 1:
                s.sendall(request(1, 'run', {'body': 'import time\ndef run(): time.sleep(60)', 'profile': 'load'}) * 2)
            else:
                s.sendall(b'{"jsonrpc":"2.0","id":1,"method":"run","params":{"body":"')

    def run(self):
        while not self.stop.wait(0.05):
            try:
                self.once(self.count)
                self.count += 1
            except OSError as e:
                self.error = e


def audit_ends(daemon):
    """call_id -> kinds and outcomes that the audit log has of it."""
    ends = collections.defaultdict(list)
    with open(daemon.state + '/audit/audit.log', encoding='utf-8') as f:
        for line in f:
            r = json.loads(line)
            if r.get('kind') in ('begin', 'end'):
                ends[r['call_id']].append(r.get('outcome') if r['kind'] == 'end' else 'begin')
    return ends


def idle(daemon):
    """No call is left, whoever left first."""
    admin = daemon.client('admin')
    end = time.monotonic() + 20 * FACTOR
    while time.monotonic() < end:
        got = admin.call('list', {})
        if got.get('calls') == []:
            return None
        time.sleep(0.1)
    return got


def main():
    t = Suite()
    profiles = t.dir + '/profiles'
    shutil.copytree(REPO + '/profiles', profiles)
    # Only what must run into a clock has a short one: a machine that is busy with all this makes the others wait.
    for name, extends, limits in (('calm', 'pure', {'wall': 60000}), ('load', 'python', {'wall': 60000, 'memory': '64M'}),
                                  ('short', 'python', {'wall': 1500, 'cpu': 1200})):
        os.replace(t.profile(name, extends, **limits), profiles + '/%s.json' % name)
    daemon = Daemon(('--profiles', profiles, '--config', t.file('brigd.conf', 'running_max = 12\n')))
    nuisance = Nuisance(daemon)
    callers = [Caller(daemon, i + 1) for i in range(CLIENTS)]
    threads = [threading.Thread(target=c.run) for c in callers]
    nuisance.start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    nuisance.stop.set()
    nuisance.join()
    for c in callers:
        c.judge()
    answered = sum(len(c.ids) for c in callers)
    wrong = [w for c in callers for w in c.wrong]
    t.check('%d calls of %d kinds: exactly one answer each, the right one' % (answered, len(KINDS)),
            not wrong and answered == CLIENTS * ROUNDS * len(KINDS), '\n'.join(wrong[:8]))
    busy = sum(c.busy for c in callers)
    t.check('%d more were sent than one user may have in flight: busy, and served later' % busy, busy > 0)
    t.check('%d clients with garbage or no patience came and went meanwhile' % nuisance.count, nuisance.count > 10 and not nuisance.error,
            nuisance.error)
    left = idle(daemon)
    t.check('no call outlives its client', left is None, left)
    told = {k: v for c in callers for k, v in c.ids.items()}
    logged = audit_ends(daemon)
    differ = {k: (v, logged.get(k)) for k, v in told.items() if logged.get(k) != ['begin', v]}
    t.check('the audit log has begin and end of each, with the outcome that was told', not differ, dict(list(differ.items())[:5]))
    odd = {k: v for k, v in logged.items() if len(v) != 2 or v[0] != 'begin'}
    t.check('and of those whose client left', not odd and len(logged) > len(told), dict(list(odd.items())[:5]))
    for c in callers:
        c.client.hang_up()
    status = daemon.close()
    t.check('the daemon ends well', status in (0, 143), status)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
