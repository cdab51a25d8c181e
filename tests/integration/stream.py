#!/usr/bin/python3
"""What a tool writes, told as it comes: over a real brigd, and by brig run --stream."""
import json
import os
import socket
import subprocess
import sys
import time

from libbrig import BRIG, FACTOR, Daemon, Suite

t = Suite()


def collect(client):
    """Every message up to the answer: notifications, and the answer itself."""
    got = []
    while True:
        m = client.recv()
        if 'id' in m:
            return got, m
        got.append(m)


def run(client, body, **params):
    client.send('run', {'body': body, 'profile': 'python', 'stream': True, **params})
    return collect(client)


def text_of(events, stream='stdout'):
    return ''.join(e['params']['text'] for e in events if e['method'] == 'output' and e['params']['stream'] == stream)


def body(lines):
    return 'import os, sys, time\ndef run(**kw):\n' + ''.join('    %s\n' % line for line in lines.split('\n'))


def as_it_comes(c):
    begin = time.monotonic()
    c.send('run', {'body': body('print("one")\ntime.sleep(0.6)\nprint("two", file=sys.stderr)\nreturn 3'), 'profile': 'python', 'stream': True})
    first, second = c.recv(), c.recv()
    early = time.monotonic() - begin
    rest, answer = collect(c)
    call_id = first['params']['call_id']
    t.check('started comes first, with the call\'s id', first['method'] == 'started' and first['params'] == {'id': c.id, 'call_id': call_id}, first)
    t.check('output comes while the tool runs', second['method'] == 'output' and second['params'] ==
            {'id': c.id, 'call_id': call_id, 'stream': 'stdout', 'offset': 0, 'text': 'one\n'} and early < 0.5 * FACTOR + 0.1, [second, early])
    t.check('stderr is told apart', text_of(rest, 'stderr') == 'two\n' and text_of(rest) == '', rest)
    r = answer['result']
    t.check('the result is that of a call without it', (r['call_id'], r['outcome'], r['result'], r['stdout']['text'], r['stderr']['text']) ==
            (call_id, 'ok', 3, 'one\n', 'two\n'), r)
    c.send('run', {'body': body('print("quiet")'), 'profile': 'python'})
    t.check('without stream: true nothing but the answer comes', 'result' in c.recv())
    e, a = run(c, 'def run(: pass')
    t.check('a body that does not compile: started, and the answer', [m['method'] for m in e] == ['started'] and a['result']['outcome'] == 'tool_error', [e, a])
    e, a = run(c, body('print("before")\ntime.sleep(0.1)\nos.kill(os.getpid(), 11)'))
    t.check('what was written before a crash is told', text_of(e) == 'before\n' and a['result']['outcome'] == 'killed', [e, a])


def any_bytes(c):
    pieces = 'data = "\\u00e9\\u20ac\\U0001f600".encode() * 40 + b"\\xff\\xc3("\nfor b in data:\n    os.write(1, bytes([b]))\n    time.sleep(0.001)'
    e, a = run(c, body(pieces))
    t.check('whole characters, wherever a piece ends', text_of(e) == a['result']['stdout']['text'] == '\u00e9\u20ac\U0001f600' * 40 + '\ufffd\ufffd(', text_of(e))
    t.check('pieces are put together: far fewer events than writes', len(e) < 60, len(e))
    e, a = run(c, body('print("x" * 60000, end="")'))
    sizes = [len(m['params']['text']) for m in e[1:]]
    offsets = [m['params']['offset'] for m in e[1:]]
    t.check('at most 16 KiB in one event, at their offsets', max(sizes) == 16384 and offsets == [sum(sizes[:i]) for i in range(len(sizes))], [sizes, offsets])
    e, a = run(c, 'def run():\n    for i in range(200):\n        print("y" * 9999)', profile='pure')
    cap = len(text_of(e))
    t.check('no more than the result may keep, and then one event that says so', cap == 65536 and sum(m['params'].get('truncated', False) for m in e[1:] if m['params']['stream'] == 'stdout') == 1
            and a['result']['stdout']['bytes'] == 2000000, [cap, a['result']['stdout']['bytes']])
    line = '{"jsonrpc":"2.0","id":%d,"result":{"outcome":"ok","result":"forged"}}' % (c.id + 1)
    e, a = run(c, body('sys.stdout.write(%r)\nsys.stderr.write(%r)\nreturn "true"' % ('\n' + line + '\n', '\r\n' + line + '\u2028')))
    t.check('nothing that a tool prints is a line of the protocol', a['result'].get('result') == 'true' and line in text_of(e), a)


def deaf(d, c):
    """A client that does not read loses events, and nobody else waits for it."""
    s = socket.socket(socket.AF_UNIX)
    s.connect(d.path('agent'))
    flood = body('for i in range(64):\n    os.write(1, b"\\x01" * 1000)\n    time.sleep(0.001)\nreturn "done"')
    n = 60  # calls, each with about 380 KiB of events
    for i in range(n):
        s.sendall(json.dumps({'jsonrpc': '2.0', 'id': i, 'method': 'run', 'params': {'body': flood, 'profile': 'python', 'stream': True}}).encode() + b'\n')
    slow = 0
    for _ in range(20):
        begin = time.monotonic()
        c.call('run', {'body': 'def run(): return 1', 'profile': 'pure'})
        slow = max(slow, time.monotonic() - begin)
    t.check('others are answered meanwhile', slow < 5 * FACTOR, slow)
    end = time.monotonic() + 60 * FACTOR
    while c.call('list', {})['calls'] and time.monotonic() < end:
        time.sleep(0.1)
    s.settimeout(30 * FACTOR)
    f, answers, heard = s.makefile('rb'), 0, 0
    while answers < n:
        m = json.loads(f.readline())
        answers += 'id' in m and m['result']['outcome'] == 'ok' and m['result']['stdout']['bytes'] == 64000
        heard += len(m.get('params', {}).get('text', ''))
    t.check('every call of it has its answer, with all of its output', answers == n, answers)
    t.check('what it had no room for was dropped', heard < n * 64000 / 2, heard)
    s.close()
    late = d.client()
    late.send('run', {'body': body('for i in range(60):\n    os.write(1, b"\\x01" * 10000)\ntime.sleep(1)\nprint("end")'), 'profile': 'python', 'stream': True})
    time.sleep(0.6 * FACTOR)
    e, a = collect(late)
    last = e[-1]['params']
    lost = 600000 - sum(len(m['params'].get('text', '')) for m in e[:-1])
    t.check('and is told to one that reads again', (last['offset'], last['text'], last.get('dropped')) == (600000, 'end\n', lost) and lost > 0, [str(last)[:200], lost])
    late.hang_up()


def cancelled(d, c):
    """`started` tells in time whom to cancel."""
    c.send('run', {'body': body('print("on")\ntime.sleep(30)'), 'profile': 'python', 'stream': True})
    first = c.recv()
    other = d.client()
    r = other.call('cancel', {'call_id': first['params']['call_id']})
    e, a = collect(c)
    t.check('a call can be cancelled by the id of its started', a['result']['outcome'] == 'cancelled' and 'call_id' in r, [r, a])
    other.hang_up()


def brig(argv, env=None, **popen):
    return subprocess.run([BRIG, *argv], capture_output=True, text=True, timeout=60 * FACTOR, stdin=subprocess.DEVNULL,
                          env={**os.environ, **(env or {})}, check=False, **popen)


def command_line(d):
    path = t.file('tool.py', 'import os, sys\n\ndef run():\n    os.write(1, b"half ")\n    os.write(2, b"err\\n")\n    os.write(1, b"line\\n")\n'
                  '    print("brig: ok\\r\\x1b[31m\\u202e")\n    return "result"\n')
    for where in (['--private'], ['--socket', d.path('agent')]):
        r = brig(['run', path, '--profile', 'python', '--stream', *where])
        lines = sorted(r.stderr.split('\n'))
        t.check('brig run --stream %s: the result on stdout' % where[0], (r.returncode, r.stdout) == (0, 'result\n'), r)
        t.check('... lines behind the channel\'s name, escaped, each once', r.stderr.count('| err') == 1 and 'stdout| brig: ok\\r\\x1b[31m\\u202e' in lines and
                'stderr| err' in lines and all(x == '' or x.startswith(('stdout| ', 'stderr| ')) for x in lines), r.stderr)
        r = brig(['run', path, '--profile', 'python', '--stream', '--json', *where])
        t.check('... with --json one object on stdout all the same', json.loads(r.stdout)['result'] == 'result' and 'stderr| err' in r.stderr, r)
    cut = t.file('cut.py', 'def run():\n    print("x" * 70000)\n    return 1\n')
    r = brig(['run', cut, '--stream', '--private'])
    t.check('output over its bound is cut, and said', 'stdout was cut: it wrote 70001 bytes' in r.stderr and 65000 < len(r.stderr) < 66000, len(r.stderr))
    p = subprocess.Popen([BRIG, 'run', t.file('slow.py', 'import time\ndef run():\n    print("now", end="")\n    time.sleep(1)\n    return 1\n'), '--profile', 'python',
                          '--stream', '--private'], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    got = p.stderr.read(11)
    t.check('a line without an end is shown at once', got == b'stdout| now' and p.poll() is None, got)
    p.communicate()


def main():
    d = Daemon(stderr=subprocess.DEVNULL)
    c = d.client()
    r = c.call('run', {'body': 'def run(): return 1'})
    if r['outcome'] == 'setup_failed':
        t.check('what a tool writes, as it comes # SKIP needs cgroups: %s' % r['cause']['what'][:80], True)
        c.hang_up()
        d.close()
        return t.finish()
    as_it_comes(c)
    any_bytes(c)
    cancelled(d, c)
    deaf(d, c)
    command_line(d)
    c.hang_up()
    t.check('brigd ends', d.close() == 0)
    return t.finish()


sys.exit(main())
