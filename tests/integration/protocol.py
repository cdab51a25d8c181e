#!/usr/bin/python3
"""The private socket under clients that are careless, hostile or slow: answers, bounds, and a supervisor that ends."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

from libbrig import BUILD, REPO, FACTOR, Suite, Supervisor, descendants

RUN = '"body":"def run(**k): return 1"'


def request(params, rpc_id='1', method='run'):
    return ('{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' % (rpc_id, method, params)).encode()


def exchange(data, answers=1):
    """Sends bytes, reads that many answers, closes. Returns them and how the supervisor ended."""
    s = Supervisor()
    s.sock.settimeout(20 * FACTOR)
    sender = threading.Thread(target=lambda: quiet_send(s.sock, data))
    sender.start()
    got = [s.recv() for _ in range(answers)]
    s.sock.shutdown(socket.SHUT_RDWR)
    sender.join()
    try:
        return got, s.close()
    except subprocess.TimeoutExpired:
        s.p.kill()
        return got, 'it did not end'


def quiet_send(sock, data):
    try:
        sock.sendall(data)
    except OSError:
        pass


def refused(t, title, data, code, word=''):
    got, status = exchange(data)
    error = got[0].get('error', {})
    t.check('refused: ' + title, error.get('code') == code and word in error.get('message', '') and status == 0, '%s %s' % (got, status))


def malformed(t):
    for title, data in (('no JSON', b'hello\n'), ('an empty line', b'\n'), ('NULs', b'\0\0\n'), ('nested without end', b'{"a":' * 100000 + b'\n'), ('a key twice', b'{"jsonrpc":"2.0","id":1,"id":2,"method":"status"}\n'),
                        ('a lone surrogate', request('{"body":"\\ud800"}'))):
        refused(t, title, data, -32700)
    for title, data in (('a batch', b'[' + request('{}').strip() + b']\n'), ('a number', b'5\n'),
                        ('an id that is too long', request('{}', '"%s"' % ('i' * 300), 'status')), ('no id', b'{"jsonrpc":"2.0","method":"status"}\n'), ('an id that is an object', request('{}', '{}', 'status')),
                        ('another version', b'{"jsonrpc":"2.0\\u0000x","id":1,"method":"status"}\n')):
        refused(t, title, data, -32600)
    refused(t, 'a member that no request has', b'{"jsonrpc":"2.0","id":1,"method":"status","parms":{}}\n', -32600, '"parms"')
    refused(t, 'one without a name', b'{"jsonrpc":"2.0","id":1,"method":"status","":1}\n', -32600, '""')
    refused(t, 'an unknown method', request('{}', method='runn'), -32601)
    refused(t, 'a method that ends in a NUL', request('{%s}' % RUN, method='run\\u0000x'), -32601)
    refused(t, 'a line without end', b'x' * (17 << 20), -32600, 'too long')
    got, status = exchange(b'x' * (17 << 20) + b'\n' + request('{}', '"after"', 'status'), 2)
    t.check('after a line that is too long the next one is served', got[0].get('error', {}).get('code') == -32600 and got[1].get('id') == 'after' and status == 0, got)


def parameters(t):
    for value in ('5', 'null', '["pure"]', 'true', '{}'):
        for name in ('body', 'profile', 'profile_path', 'profile_text'):
            params = '{"%s":%s}' % (name, value) if name == 'body' else '{%s,"%s":%s}' % (RUN, name, value)
            refused(t, '%s: %s' % (name, value), request(params), -32602, name)
    for value in ('"yes"', '1', 'null'):
        refused(t, 'best_effort: ' + value, request('{%s,"best_effort":%s}' % (RUN, value)), -32602, 'best_effort')
    for params in ('[1]', 'null', '"x"'):
        refused(t, 'params: ' + params, request(params), -32602)
    refused(t, 'a misspelt parameter', request('{%s,"profil":"python"}' % RUN), -32602, 'profil')
    refused(t, 'two profiles', request('{%s,"profile":"pure","profile_text":"{}"}' % RUN), -32602, 'exclude')
    refused(t, 'a path without its text', request('{%s,"profile_path":"x.json"}' % RUN), -32602, 'profile_text')
    refused(t, 'a parameter of another method', request('{"body":"x"}', method='status'), -32602, 'body')
    for what, params, word in (('no name', '{}', 'name'), ('a name that is no string', '{"name":["x"]}', 'name'), ('a body', '{"name":"x","body":"y"}', 'body'),
                               ('a profile', '{"name":"x","profile":"pure"}', 'profile'), ('trust', '{"name":"x","trust_level":"admin"}', 'trust_level'),
                               ('an approval that is neither', '{"name":"x","approval":"given"}', 'approval'), ('an approval id', '{"name":"x","approval":7}', 'approval')):
        refused(t, 'call with ' + what, request(params, method='call'), -32602, word)
    refused(t, 'an approval without its id', request('{}', method='approval.get'), -32602, 'id')
    refused(t, 'a state that is none', request('{"state":"open"}', method='approval.list'), -32602, 'state')
    refused(t, 'a decision over a socket that is not for it', request('{"id":"0123456789","approve":true}', method='approval.decide'), -32001, 'approval.decide')


def profiles(t):
    s = Supervisor()
    r = s.call('profile.show', {'profile': 'python'})
    with open(REPO + '/profiles/python.json', encoding='utf-8') as f:
        t.check('a profile is shown as it is written', r.get('text') == f.read(), r)
    text = '{ "name": "mine", "why": "w", "extends": "pure", "limits": { "wall": "2s" } }'
    r = s.call('profile.show', {'profile_path': 'x.json', 'profile_text': text})
    t.check('one that was sent likewise', r.get('text') == text, r)
    r = s.call('profile.show', {'profile_path': 'x.json', 'profile_text': text, 'effective': True})
    t.check('effective: merged, each value with its place', all(w in r.get('text', '') for w in ('"memory"', 'pure.json:', 'x.json:1')), r)
    s.close()


def room(t):
    s = Supervisor()
    n = 80
    text = json.dumps({'body': 'import time\ndef run(**k):\n    time.sleep(%d)\n    return 1' % (2 * FACTOR)}).encode()
    threading.Thread(target=lambda: [s.send('run', text) for _ in range(n)]).start()
    got = [s.recv()['result'] for _ in range(n)]
    busy = [r for r in got if r['outcome'] == 'busy']
    t.check('more calls than slots: each is ok or busy, and busy says when to ask again',
            len(busy) == n - 61 and all(r['retry_after_ms'] > 0 and not r['cause']['final'] for r in busy) and
            all(r['outcome'] in ('ok', 'busy') for r in got), {r['outcome'] for r in got})
    end = time.monotonic() + 30 * FACTOR
    r = s.call('run', {'body': 'def run(): return 2'})
    while r['outcome'] == 'busy' and time.monotonic() < end:  # jails that were answered for are still being buried
        time.sleep(r['retry_after_ms'] / 1000)
        r = s.call('run', {'body': 'def run(): return 2'})
    t.check('room comes back', r['outcome'] == 'ok', r)
    t.check('and the supervisor ends well', s.close() == 0 and not t.left(), t.left())
    s = Supervisor()
    ends = [s.call('run', {'body': 'def run(): return 1', 'profile_path': 'x.json', 'profile_text': json.dumps(
        {'name': 'x', 'why': 'w', 'extends': 'pure', 'limits': {'wall': '%dms' % (9000 + i), 'cpu': '5s'}})})['outcome'] for i in range(24)]
    t.check('more profiles than zygotes, one after the other: an idle one makes room', set(ends) == {'ok'}, ends)
    end = time.monotonic() + 10 * FACTOR  # the last call's jail may still be dying
    while len(descendants()) > 16 + 2 and time.monotonic() < end:
        time.sleep(0.05)
    t.check('no more zygotes than may be', len(descendants()) <= 16 + 2, len(descendants()))
    t.check('and that supervisor ends well', s.close() == 0 and not t.left(), t.left())


def resident():
    total = 0
    for pid in descendants():
        try:
            with open('/proc/%d/status' % pid) as f:
                total += sum(int(line.split()[1]) for line in f if line.startswith('VmRSS'))
        except OSError:
            pass
    return total


def slow(t):
    s = Supervisor()
    n = 6000
    small = request('{"profile":"base"}', '"%s"' % ('i' * 200), 'profile.show') * n
    sender = threading.Thread(target=lambda: quiet_send(s.sock, small))
    sender.start()
    time.sleep(1.5 * FACTOR)
    kib = resident()
    t.check('answers that nobody reads do not pile up', kib < 60 << 10, '%d KiB' % kib)
    got = sum(1 for _ in range(n) if s.file.readline())
    sender.join()
    t.check('all are there once they are read', got == n, got)
    big = request('{"profile":"base"}', '1', 'profile.show')
    s.sock.settimeout(1 * FACTOR)
    try:
        while True:
            s.sock.sendall(big)
    except OSError:
        pass
    t.check('a client that leaves without reading ends its supervisor', s.close() == 0 and not t.left(), t.left())


def host_limits(t):
    body = t.file('limits.py', 'def run(): return "x"')
    for n in (6, 16, 20, 64):
        p = subprocess.run(['prlimit', '--nofile=%d' % n, t.brig, 'run', '--json', body], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * FACTOR)
        t.check('%d open files are too few: refused by name' % n, p.returncode == 6 and '"setup_failed"' in p.stdout and 'open files' in p.stderr, str(p))
    p = subprocess.run(['prlimit', '--nofile=64:4096', t.brig, 'run', '--json', body], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * FACTOR)
    t.check('a low soft limit is raised', p.returncode == 0, str(p))
    with tempfile.TemporaryFile(dir=t.dir) as out:
        p = subprocess.run(['prlimit', '--fsize=0', t.brig, 'run', '--json', body], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, timeout=60 * FACTOR)
    t.check('a file size limit of nothing is told, no signal', p.returncode == 70 and b'cannot write' in p.stderr, str(p))
    if os.getuid() == 0:
        brig = t.user_brig()
        for n in range(1, 6):
            p = subprocess.run(['setpriv', '--reuid=64243', '--regid=64243', '--clear-groups', 'prlimit', '--nproc=%d' % n, brig, 'run', '--json', '--best-effort', body],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * FACTOR)
            t.check('%d processes for the user: the call works or is refused, and is not called busy' % n,
                    p.returncode in (0, 6, 70) and p.stdout.count('\n') == 1 and not t.left(), str(p))
    fake = t.file('full', '#!/bin/sh\nexit 75\n')
    os.chmod(fake, 0o755)
    p = subprocess.run([t.brig, 'run', '--json', body], stdin=subprocess.DEVNULL, capture_output=True, text=True, env={**os.environ, 'BRIG_BRIGD': fake})
    t.check('a supervisor that finds no free lane is busy', p.returncode == 75 and '"busy"' in p.stdout, str(p))


def main():
    t = Suite()
    assert os.path.exists(BUILD + '/brigd')
    for fn in (malformed, parameters, profiles, room, slow, host_limits):
        fn(t)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
