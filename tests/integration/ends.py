#!/usr/bin/python3
"""Every way a call can end, provoked; the exit status, the cause and what is kept of the output with each."""
import argparse
import ctypes
import fcntl
import os
import re
import signal
import subprocess
import sys
import threading
import time

from libbrig import FACTOR, Suite, Supervisor, descendants, frame

HEAD = 'import ctypes, os, signal, struct, sys, threading, time\n'
BPF = '''
def bpf():
    c = ctypes.CDLL(None)
    c.syscall(321, 0, ctypes.create_string_buffer(120), 72)
'''
SPEAK = 'sys.stdout.write("before "); sys.stdout.flush(); os.write(2, b"warned ")\n'


def cause(r):
    return (r['cause.what'] or '') + str(r['cause.evidence']) + (r['cause.hint'] or '')


def kept(r):
    """What was written before the end is there, whatever the end."""
    if r['stdout.text'] != 'before ' or r['stderr.text'] != 'warned ':
        return 'output: %r %r' % (r['stdout.text'], r['stderr.text'])
    return True


def kept_and(*words):
    def also(r):
        missing = [w for w in words if w not in cause(r)]
        return 'cause lacks %s: %s' % (missing, cause(r)) if missing else kept(r)
    return also


def body(text):
    return HEAD + BPF + 'def run(**kw):\n    ' + SPEAK + ''.join('    %s\n' % line for line in text.strip('\n').split('\n'))


def values(t):
    t.ends('a string', 'ok', 'def run(): return "six"', also=lambda r: r['result'] == 'six' or r['result'])
    t.ends('other JSON values', 'ok', 'def run(): return {"a": [1, 2.5, None, True], "b": "\\u00e9\\u0000"}',
           also=lambda r: r['result'] == {'a': [1, 2.5, None, True], 'b': '\u00e9\0'} or r['result'])
    t.ends('an async run', 'ok', 'async def run(): return "six"', also=lambda r: r['result'] == 'six' or r['result'])
    big = 9007199254740993
    huge = 10 ** 400 + 7
    t.ends('large integers are exact both ways', 'ok', 'def run(a, b): return [a, b, a + 1, isinstance(b, int)]',
           args='{"a": %d, "b": %d}' % (big, huge), also=lambda r: r['result'] == [big, huge, big + 1, True] or r['result'])
    t.ends('an exponent stays a float, an integer an integer', 'ok', 'def run(a, b): return [type(a).__name__, type(b).__name__, b]',
           args='{"a": 1e3, "b": -0}', also=lambda r: r['result'] in (['float', 'int', 0],) or r['result'])
    t.ends('argument text arrives exact', 'ok', 'def run(s): return [len(s), s]', args={'s': 'a\0b\u2028\U0001f600"\\'},
           also=lambda r: r['result'] == [7, 'a\0b\u2028\U0001f600"\\'] or r['result'])
    t.ends('an argument of a megabyte', 'ok', 'def run(s): return len(s)', args={'s': 'x' * (1 << 20)}, also=lambda r: r['result'] == 1 << 20)
    t.ends('output is kept', 'ok', body('return "x"'), 'python', also=kept)


def tool_errors(t):
    t.ends('the type, message and line of the tool', 'tool_error', 'def run():\n    x = 1\n    raise ValueError("b" + "ad")\n',
           also=lambda r: (r['error.type'], r['error.message'], r['error.line']) == ('ValueError', 'bad', 3) or r['error'])
    t.ends('output is kept', 'tool_error', body('1 / 0'), 'python', also=kept)
    t.ends('a syntax error with its place', 'tool_error', 'def run():\n  return (\n', also=lambda r: (r['error.type'] == 'SyntaxError' and bool(r['error.line'])) or r['error'])
    t.ends('no run defined', 'tool_error', 'x = 1')
    t.ends('a result that is no JSON value', 'tool_error', 'def run(): return {1, 2}', also=lambda r: 'set' in r['error.message'] or r['error'])
    t.ends('not a number', 'tool_error', 'def run(): return float("nan")')
    t.ends('a lone surrogate', 'tool_error', 'def run(): return chr(0xd800)')
    t.ends('wrong arguments of run', 'tool_error', 'def run(a): return a', args={'b': 1}, also=lambda r: r['error.type'] == 'TypeError' or r['error'])
    t.ends('sys.exit(0)', 'tool_error', HEAD + 'def run(): sys.exit(0)', 'python')
    t.ends('an exit without a result', 'tool_error', body('os._exit(0)'), 'python', also=kept)
    t.ends('an exit with the status of another failure', 'tool_error', body('os._exit(137)'), 'python', also=kept)
    t.ends('an exception whose text raises', 'tool_error', 'class E(Exception):\n    def __str__(self): raise E()\ndef run(): raise E()')
    t.ends('recursion without end', 'tool_error', 'def run(): return run()', also=lambda r: r['error.type'] == 'RecursionError' or r['error'])
    t.ends('a message of megabytes is cut', 'tool_error', 'def run(): raise ValueError("x" * 3000000)', also=lambda r: len(r['error.message']) <= 65536 or len(r['error.message']))


def limits(t):
    short = t.profile('short', wall=400)
    for title, text in (('a sleep', 'time.sleep(60)'), ('a busy loop under a wider cpu limit', 'while True: pass'),
                        ('signals ignored', 'for s in (1, 2, 3, 6, 10, 12, 15, 24): signal.signal(s, signal.SIG_IGN)\ntime.sleep(60)'),
                        ('stopped by itself', 'os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)'),
                        ('children in sessions of their own', 'for i in range(3):\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(60)\ntime.sleep(60)'),
                        ('a lock that is never released', 'threading.Lock().acquire() and None\nl = threading.Lock()\nl.acquire()\nl.acquire()')):
        if 'busy' in title:
            prof = t.profile('wide', wall=400, cpu=400, cpus=0.5)
            r = t.run(body(text), prof)
            t.check('timeout: ' + title, r.outcome in ('timeout', 'cpu_limit') and kept(r) is True, r)
        else:
            t.ends(title, 'timeout', body(text), short, also=kept)
    t.ends('a loop in the restricted profile', 'timeout', 'import time\ndef run(): time.sleep(60)', t.profile('pshort', 'pure', wall=300))
    cpu = t.profile('cpu', wall=20000, cpu=300)
    t.ends('the tool itself', 'cpu_limit', body('while True: pass'), cpu, also=kept)
    t.ends('SIGXCPU ignored', 'cpu_limit', body('signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass'), cpu, also=kept)
    t.ends('shared out among children', 'cpu_limit', body('for i in range(4):\n    if os.fork() == 0:\n        while True: pass\ntime.sleep(60)'), cpu, also=kept)
    t.ends('in one call of C', 'cpu_limit', body('import re\nre.match(r"(a+)+$", "a" * 60 + "b")'), cpu, also=kept)
    t.ends('in the restricted profile', 'cpu_limit', 'def run():\n    while True: pass', t.profile('pcpu', 'pure', wall=20000, cpu=300))
    mem = t.profile('mem', memory='48M', wall=20000)
    t.ends('the tool itself', 'out_of_memory', body('x = bytearray(200 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1'), mem, also=kept)
    t.ends('a child of the tool, which then says it is fine', 'out_of_memory',
           body('if os.fork() == 0:\n    x = b"x" * (200 << 20)\n    os._exit(0)\nos.wait()\nreturn "fine"'), mem, also=kept)
    t.ends('a grandchild in a session of its own', 'out_of_memory',
           body('if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        x = b"x" * (200 << 20)\n    time.sleep(30)\ntime.sleep(30)'), mem, also=kept)
    t.ends('files in /tmp', 'out_of_memory', body('for i in range(8):\n    open("/tmp/%d" % i, "wb").write(b"x" * (8 << 20))\nreturn "fine"'),
           t.profile('memtmp', memory='32M', files={'tmp': '31M'}, wall=20000), also=kept)
    t.ends('in the restricted profile', 'out_of_memory', 'def run():\n    x = []\n    while True: x.append("x" * 1000000)', t.profile('pmem', 'pure', memory='32M'))
    t.ends('a result over the cap', 'result_too_large', body('return "x" * 3000000'), t.profile('res', result=100000), also=kept)
    t.ends('a result written past the cap by hand', 'result_too_large',
           body('os.write(4, %s)\nwhile True: os.write(4, b"x" * 65536)' % frame(1, b'"', 1 << 30)), t.profile('res', result=100000), also=kept)


def kernel_ends(t):
    t.ends('in the main thread', 'syscall_denied', body('bpf()\nreturn "fine"'), 'python', also=kept_and('bpf'))
    t.ends('in a thread', 'syscall_denied', body('x = threading.Thread(target=bpf)\nx.start()\nx.join()\nreturn "fine"'), 'python', also=kept_and('bpf'))
    t.ends('in a grandchild', 'syscall_denied',
           body('if os.fork() == 0:\n    if os.fork() == 0:\n        bpf()\n    os.wait()\n    os._exit(0)\nos.wait()\ntime.sleep(5)\nreturn "fine"'), 'python', also=kept_and('bpf'))
    t.ends('another call, another name', 'syscall_denied', body('ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)'), 'python', also=kept_and('ptrace'))
    t.ends('by a signal, named: SIGSEGV', 'killed', body('ctypes.string_at(0)'), 'python', also=kept_and('SIGSEGV'))
    t.ends('by a signal, named: SIGABRT', 'killed', body('os.abort()'), 'python', also=kept_and('SIGABRT'))
    t.ends('by a signal, named: SIGKILL of its own', 'killed', body('os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(1)'), 'python', also=kept_and('SIGKILL'))
    t.ends('by a signal, named: SIGTERM of its own', 'killed', body('os.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(1)'), 'python', also=kept_and('SIGTERM'))
    t.ends('by a signal, named: SIGALRM', 'killed', body('signal.alarm(1)\ntime.sleep(10)'), 'python', also=kept_and('SIGALRM'))
    t.ends('by a signal, named: a real-time one', 'killed', body('os.kill(os.getpid(), signal.SIGRTMIN + 3)\ntime.sleep(1)'), 'python', also=kept_and('SIGRTMIN+3', '37'))
    t.ends('SIGSYS cannot be made', 'ok', body('try: os.kill(os.getpid(), signal.SIGSYS)\nexcept PermissionError: return "refused"'), 'python',
           also=lambda r: r['result'] == 'refused' or r['result'])
    t.ends('the init is killed', 'killed', body('try:\n    os.kill(1, signal.SIGKILL)\nexcept OSError as e:\n    pass\nos.kill(os.getpid(), 9)'), 'python', also=kept)


def no_user_namespaces(argv):
    """As an ordinary user inside a user namespace that allows no further ones."""
    up, go = os.pipe(), os.pipe()

    def confine():
        c = ctypes.CDLL(None)
        if c.unshare(0x10000000):
            os._exit(99)
        os.write(up[1], b'x')
        os.read(go[0], 1)
        with open('/proc/sys/user/max_user_namespaces', 'w') as f:
            f.write('0')
        os.setgroups([])
        os.setresgid(64242, 64242, 64242)
        os.setresuid(64242, 64242, 64242)

    def write_maps():
        os.read(up[0], 1)
        for pid in descendants():
            for name in ('uid_map', 'gid_map'):
                try:
                    with open('/proc/%d/%s' % (pid, name), 'w') as f:
                        f.write('0 0 65536')
                except OSError:
                    pass
        os.write(go[1], b'x')
    mapper = threading.Thread(target=write_maps)
    mapper.start()
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, preexec_fn=confine)
    mapper.join()
    for fd in (*up, *go):
        os.close(fd)
    return p


def refusals(t):
    for title, args in (('not an object', '[1]'), ('not JSON', '{a: 1}'), ('a key twice', '{"a": 1, "a": 2}'), ('nested too deep', '{"a":' + '[' * 500 + ']' * 500 + '}'),
                        ('a lone surrogate', '{"a": "\\ud800"}'), ('text after the object', '{} {}')):
        r = t.run('def run(**kw): return "ran"', args=args)
        t.check('invalid_arguments: ' + title, r.outcome == 'invalid_arguments' and r.status == 3, r)
    r = t.run('def run(): return 1', 'no-such-profile')
    t.check('an unknown profile is refused, and nothing runs', r.status in (2, 3) and 'no-such-profile' in r.out + r.err, r)
    r = t.run('def run(): return 1', t.file('bad.json', '{"name": "bad", "why": "x", "extends": "pure", "limitz": {}}'))
    t.check('a profile with an unknown key is refused with its place', r.status in (2, 3) and 'bad.json:1:' in r.out + r.err and 'limits' in r.out + r.err, r)
    r = t.run('def run(): return 1', t.file('gone.json', '''{"name": "gone", "why": "x", "extends": "pure",
        "files": {"mounts": [{"from": "/nonexistent-dir", "to": "/data", "mode": "ro", "why": "x"}]}}'''))
    t.check('a mount that is not there is refused by name', r.status in (2, 3, 6) and '/nonexistent-dir' in r.out + r.err, r)
    # A user namespace that may have no further ones: the first layer cannot be had.
    if os.getuid() == 0:
        p = no_user_namespaces([t.user_brig(), 'run', t.file('body.py', 'def run(): return "ran"'), '--json', '--best-effort'])
        t.check('setup_failed: no user namespace to be had, the layer is named, the tool does not run',
                p.returncode == 6 and '"setup_failed"' in p.stdout and 'user' in p.stdout and '"ran"' not in p.stdout, '%s %s' % (p.returncode, p.stdout + p.stderr))


def cancels(t):
    for title, prof, sig in (('Ctrl-C', 'python', signal.SIGINT), ('SIGTERM', 'python', signal.SIGTERM), ('Ctrl-C in the restricted profile', 'pure', signal.SIGINT)):
        text = body('time.sleep(60)') if prof == 'python' else 'import time\ndef run(): time.sleep(60)'
        p = t.start(text, prof)
        time.sleep(0.7 * FACTOR)
        begin = time.monotonic()
        p.send_signal(sig)
        out, err = p.communicate(timeout=20 * FACTOR)
        good = p.returncode == 130 and out.count(b'\n') <= 1 and b'"cancelled"' in out
        t.check('cancelled: ' + title, good, '%d %r %r' % (p.returncode, out[:300], err[:300]))
        t.check('cancelled: soon, and nothing is left', time.monotonic() - begin < 3 * FACTOR and not t.left(), t.left())
    read_end, write_end = os.pipe()
    os.write(write_end, b'x' * fcntl.fcntl(write_end, 1032))  # F_GETPIPE_SZ
    p = t.start('def run(): return "x"', stdout=write_end)
    time.sleep(1 * FACTOR)
    p.send_signal(signal.SIGINT)
    try:
        p.communicate(timeout=10 * FACTOR)
    except subprocess.TimeoutExpired:
        p.kill()
    t.check('Ctrl-C ends a brig whose reader does not read', p.wait() == -signal.SIGINT and not t.left(), '%s %s' % (p.returncode, t.left()))
    os.close(read_end)
    os.close(write_end)
    p = t.start(body('time.sleep(60)'), 'python')
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20 * FACTOR)
    t.check('cancelled: before it began', p.returncode in (130, -2), '%d %r %r' % (p.returncode, out[:300], err[:300]))


def touched_limits(t):
    few = t.profile('few', pids=8, file_size='1M', stdout='4K', stderr='4K', files={'tmp': '2M', 'tmp_inodes': 64}, wall=20000)

    def hit(*names):
        def also(r):
            return set(names) <= set(r['limits_hit'] or []) or 'limits_hit: %r' % r['limits_hit']
        return also
    t.ends('pids', 'ok', body('k = []\ntry:\n    for i in range(30):\n        p = os.fork()\n        if p == 0: time.sleep(30)\n        k.append(p)\nexcept BlockingIOError: pass\nreturn len(k)'),
           few, also=hit('pids'))
    t.ends('pids by threads', 'ok', body('k = 0\ntry:\n    for i in range(30):\n        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()\n        k += 1\nexcept RuntimeError: pass\nreturn k'),
           few, also=hit('pids'))
    t.ends('stdout', 'ok', body('for i in range(2000): print("line %d" % i)\nreturn "x"'), few, also=lambda r: hit('stdout')(r) is True and (
        r['stdout.truncated'] is True and r['stdout.bytes'] > 16000 and 'line 0\n' in r['stdout.text'] and 'line 1999' in r['stdout.text'] and len(r['stdout.text']) < 5000) or str(r))
    t.ends('stderr', 'ok', body('os.write(2, b"y" * 10000)\nreturn "x"'), few, also=lambda r: hit('stderr')(r) is True and r['stderr.bytes'] == 10007 or r['stderr'])
    t.ends('file size', 'ok', body('try:\n    open("/tmp/a", "wb").write(b"x" * (1 << 21))\nexcept OSError as e: return e.errno'), few,
           also=lambda r: r['result'] == 27 and hit('file_size')(r))
    t.ends('tmpfs', 'ok', body('try:\n    for i in range(9): open("/tmp/%d" % i, "wb").write(b"x" * 900000)\nexcept OSError as e: return e.errno'), few,
           also=lambda r: r['result'] == 28 and hit('tmpfs')(r))
    t.ends('tmpfs inodes', 'ok', body('try:\n    for i in range(900): open("/tmp/%d" % i, "wb").close()\nexcept OSError as e: return e.errno'), few,
           also=lambda r: r['result'] == 28 and hit('tmpfs')(r))
    t.ends('file size: not by a signal of its own', 'ok', body('try: os.kill(os.getpid(), signal.SIGXFSZ)\nexcept PermissionError: return "refused"'), few,
           also=lambda r: (r['result'], r['limits_hit']) == ('refused', []) or str(r))
    t.ends('none where none was touched', 'ok', body('return "x"'), few, also=lambda r: r['limits_hit'] == [] or r['limits_hit'])


def outputs(t):
    valid = lambda r: isinstance(r['stdout.text'], str)
    t.ends('binary output becomes text', 'ok', body('os.write(1, bytes(range(256)))\nreturn "x"'), 'python', also=lambda r: valid(r) and r['stdout.bytes'] == 263 or r['stdout'])
    t.ends('NULs and terminal sequences stay text', 'ok', body('os.write(1, b"\\x00\\x1b[2J\\x1b]0;t\\x07")\nreturn "x"'), 'python',
           also=lambda r: '\0\x1b[2J' in r['stdout.text'] or r['stdout'])
    t.ends('half a character at the end', 'ok', body('os.write(1, "\u00e9".encode()[:1])\nreturn "x"'), 'python', also=lambda r: r['stdout.text'] == 'before \ufffd' or r['stdout'])
    t.ends('characters in pieces', 'ok', body('for b in "\U0001f600".encode():\n    os.write(1, bytes([b]))\n    time.sleep(0.02)\nreturn "x"'), 'python',
           also=lambda r: r['stdout.text'] == 'before \U0001f600' or r['stdout'])
    t.ends('a character on the edge of the cap', 'ok', body('os.write(1, "\u20ac".encode() * 5000)\nreturn "x"'), t.profile('cap', stdout=1001), also=lambda r: valid(r) and r['stdout.truncated'])
    t.ends('stdout and stderr closed', 'ok', body('os.close(1)\nos.close(2)\nreturn "x"'), 'python', also=kept)
    t.ends('the result pipe closed', 'tool_error', body('os.close(4)\nreturn "x"'), 'python', also=kept)
    t.ends('a flood', 'ok', body('for i in range(800): os.write(1, b"z" * 65536)\nreturn "x"'), 'python', also=lambda r: r['stdout.bytes'] == 800 * 65536 + 7 or r['stdout.bytes'])
    r = t.run(body('while True: os.write(1, b"z" * 65536)'), t.profile('fl', wall=500))
    t.check('a flood without end is ended by time', r.outcome in ('timeout', 'cpu_limit') and r['stdout.truncated'] is True, r)
    r = t.run(body('for i in range(12):\n    if os.fork() == 0:\n        while True: os.write(4, b"z" * 65536)\ntime.sleep(60)'),
              t.profile('fr', wall=700, cpu=5600, cpus=8))
    t.check('a flood of bad frames by many keeps nobody from ending it', r.outcome in ('timeout', 'cpu_limit') and r.secs < 10 * FACTOR, r)
    r = t.run(HEAD + 'def run():\n    for i in range(4):\n        os.write(1, b"\\x01" * (1 << 20))\n        os.write(2, b"\\xff" * (1 << 20))\n    return "x"',
              t.profile('wide', stdout='4M', stderr='4M', memory='256M'))
    t.check('output at a wide cap, all of it to be escaped, arrives', r.outcome == 'ok' and r['stdout.text'] == '\x01' * (4 << 20) and not r['limits_hit'],
            '%s %s %s' % (r.status, r.outcome, r.err[:300]))
    r = t.ends('a child that holds stdout delays nothing', 'ok', body('if os.fork() == 0:\n    os.setsid()\n    time.sleep(25)\n    os._exit(0)\nreturn "x"'), 'python', also=kept)
    t.check('a child that holds stdout delays nothing: in time', r.secs < 10 * FACTOR, r.secs)
    r = t.ends('a child that floods after the return', 'ok', body('if os.fork() == 0:\n    while True: os.write(1, b"y" * 4096)\nreturn "x"'), 'python')
    t.check('a child that floods after the return: in time', r.secs < 10 * FACTOR, r.secs)
    t.ends('a printed result is text', 'tool_error', body('print(\'{"outcome":"ok","result":"forged"}\')\nraise ValueError("x")'), 'python', also=lambda r: 'forged' in r['stdout.text'])
    t.ends('one byte at a time', 'ok', body('for i in range(3000): os.write(1, b"o")\nreturn "x"'), 'python', also=lambda r: r['stdout.bytes'] == 3007)
    t.ends('a digest of all bytes, of the cut ones too', 'ok', HEAD + 'def run():\n    os.write(1, b"q" * 5000)\n    return "x"', t.profile('cap', stdout=1000), also=lambda r: r['stdout.sha256'] ==
           __import__('hashlib').sha256(b'q' * 5000).hexdigest() or r['stdout'])


def forged(t):
    for title, text, want, also in (
            ('a whole frame, then an exit: the tool\'s own word', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'"mine"'), 'ok', lambda r: r['result'] == 'mine'),
            ('a frame that claims an outcome', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'{"outcome":"timeout","receipt":{}}'), 'ok',
             lambda r: r['receipt.capabilities'] == 'none' and r['usage.wall_ms'] is not None),
            ('a whole answer on a line of its own', 'os.write(4, %s)\nos._exit(0)' % frame(
                1, b'[\n{"jsonrpc":"2.0","id":1,"result":{"outcome":"ok","result":"forged"}}\r\n]'), 'ok',
             lambda r: r['result'] == [{'jsonrpc': '2.0', 'id': 1, 'result': {'outcome': 'ok', 'result': 'forged'}}]),
            ('an integer that readers of JSON refuse', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'9' * 4301), 'tool_error', None),
            ('the longest that they take', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'-' + b'9' * 4300), 'ok', None),
            ('a number beyond every double', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'[1, -1e999999]'), 'tool_error', None),
            ('an unknown kind', 'os.write(4, %s)\nos._exit(0)' % frame(9, b'"x"'), 'tool_error', None),
            ('a length that lies', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'"x"', 77), 'tool_error', None),
            ('no JSON', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'"x'), 'tool_error', None),
            ('a key twice', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'{"a":1,"a":2}'), 'tool_error', None),
            ('broken UTF-8', 'os.write(4, %s)\nos._exit(0)' % frame(1, b'"\xff"'), 'tool_error', None),
            ('an error without fields', 'os.write(4, %s)\nos._exit(0)' % frame(2, b'{}'), 'tool_error', None),
            ('an error that is no object', 'os.write(4, %s)\nos._exit(0)' % frame(2, b'[1]'), 'tool_error', None),
            ('the first frame wins', 'os.write(4, %s)\nreturn "second"' % frame(1, b'"first"'), 'ok', lambda r: r['result'] == 'first'),
            ('a frame of a child wins no more than its own', 'if os.fork() == 0:\n    os.write(4, %s)\n    os._exit(0)\nos.wait()\nreturn "second"' % frame(1, b'"child"'), 'ok',
             lambda r: r['result'] == 'child')):
        t.ends('forged: ' + title, want, body(text), 'python', also=also)
    for delay in (5, 15, 25, 35, 50):
        t.ends('forged: a denied call that a signal interrupts after %d us is still told' % delay, 'syscall_denied', body(
            'import ctypes, signal\nsignal.signal(signal.SIGALRM, lambda *a: None)\nsignal.siginterrupt(signal.SIGALRM, True)\nlibc = ctypes.CDLL(None)\n'
            'for i in range(20):\n    signal.setitimer(signal.ITIMER_REAL, %de-6)\n    libc.ptrace(0, 0, 0, 0)\nreturn "hidden"' % delay), 'python')
    t.ends('forged: a frame, then a denied call: the first complete frame ends the call', 'ok', body('os.write(4, %s)\ntime.sleep(1)\nbpf()' % frame(1, b'"x"')), 'python')


def shared_state(t):
    """What jails of one zygote could hand to each other: the flags and locks of an open file that both have."""
    text = HEAD + ('import fcntl\ndef run():\n    seen = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in range(3)]\n'
                   '    for fd in range(3): fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)\n'
                   '    try: os.utime(0); touched = "yes"\n    except OSError as e: touched = e.strerror\n    return [seen, touched]')
    sup = Supervisor()
    first, second = (sup.call('run', {'body': text, 'args': {}, 'profile': 'python'}).get('result') for i in range(2))
    sup.close()
    t.check('descriptors of the next call are as those of the first were', bool(first) and first[0] == second[0], (first, second))
    t.check('a touch of standard input changes no file of the host', bool(first) and first[1] == 'Read-only file system', first)


def own_memory(t):
    """A tool reads all its memory: no path of the host behind a mount is in it."""
    os.mkdir(t.dir + '/mounted-here')
    mounts = [{'from': t.dir + '/mounted-here', 'to': '/data', 'why': 'a test'}]
    text = HEAD + ('import ctypes, re\ndef run(a, b):\n    found = []\n    for line in open("/proc/self/maps"):\n        at, rights, name = line.split()[0], line.split()[1], line.split()[5:]\n'
                   '        if rights[0] != "r" or name[:1] in (["[vvar]"], ["[vvar_vclock]"], ["[vsyscall]"]): continue\n        lo, hi = (int(x, 16) for x in at.split("-"))\n'
                   '        if re.search((a + "[-]" + b).encode(), ctypes.string_at(lo, hi - lo)): found.append([line, "path"])\n        if "brig-spec" in line: found.append([line, "spec"])\n    return found')
    t.ends('no host path is in the memory of a tool', 'ok', text, t.profile('memory', files={'mounts': mounts}), args={'a': 'mounted', 'b': 'here'},
           also=lambda r: r['result'] == [] or r['result'])


def fresh(t):
    names = set()
    for i in range(3):
        r = t.run(HEAD + 'import random, uuid, tempfile\ndef run(): return [random.random(), str(uuid.uuid4()), tempfile.mktemp(), os.urandom(4).hex(), os.listdir("/tmp")]', 'python')
        names |= set(map(str, (r['result'] or [])[:4]))
        if i == 0:
            t.check('a fresh jail has an empty /tmp', (r['result'] or [0] * 5)[4] == [], r)
    t.check('random, uuid4, tempfile and urandom repeat in no call', len(names) == 12, names)
    t.run(HEAD + 'def run():\n    open("/tmp/left", "w").write("x")\n    open("/dev/shm/left", "w").write("x")\n    import builtins\n    builtins.left = 1', 'python')
    t.ends('nothing of the last call is there', 'ok', HEAD + 'import builtins\ndef run(): return [os.path.exists("/tmp/left"), os.path.exists("/dev/shm/left"), hasattr(builtins, "left")]',
           'python', also=lambda r: r['result'] == [False, False, False] or r['result'])
    shared_state(t)
    own_memory(t)
    r = t.run('def run(): return 1')
    t.check('usage is told', all(isinstance(r['usage.' + k], (int, float)) for k in ('wall_ms', 'cpu_ms', 'processes_peak')), r)
    r = t.run('def run(): return 1', stdin=subprocess.PIPE)
    t.check('an open stdin holds nobody up', r.outcome == 'ok', r)
    full = os.open('/dev/full', os.O_WRONLY)
    p = t.start('def run(): return "x"', stdout=full)
    p.communicate()
    os.close(full)
    t.check('a result that cannot be written is no success', p.returncode not in (0, 1), p.returncode)


SETS = {f.__name__: f for f in (values, tool_errors, limits, kernel_ends, refusals, cancels, touched_limits, outputs, forged, fresh)}


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--only', default='')
    args = p.parse_args()
    t = Suite()
    for name, fn in SETS.items():
        if re.search(args.only, name):
            fn(t)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
