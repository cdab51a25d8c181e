#!/usr/bin/python3
"""An external decision point: asked after the policy, by a process of its own; whatever is not a decision is a denial."""
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

from libbrig import BUILD, FACTOR, Suite
from libgate import DESTRUCTIVE, agent, create, daemon, kill_core, log_of, outcome

ALLOW = [{'name': 'all', 'match': '*', 'when': {'scope': 'read-only'}, 'decide': 'allow'},
         {'name': 'asks', 'match': 'wipe', 'decide': 'escalate', 'reason': 'destroys'}]
ECHO = 'def run(x):\n    return "got %s" % (x,)\n'


class Point:
    """A web server that answers what it is told to."""

    def __init__(self):
        self.asked, self.answer, self.status, self.pause, self.raw, self.headers = [], {'result': True}, 200, 0, None, {}
        point = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self):
                point.asked.append(json.loads(self.rfile.read(int(self.headers['Content-Length']))))
                time.sleep(point.pause)
                if point.raw == b'':
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                body = json.dumps(point.answer).encode() if point.raw is None else point.raw
                try:
                    self.send_response(point.status)
                    for name, value in point.headers.items():
                        self.send_header(name, value)
                    self.send_header('Content-Length', str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    pass

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass
        self.server = Server(('127.0.0.1', 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def says(self, answer=None, **more):
        self.answer, self.status, self.pause, self.raw, self.headers = answer, 200, 0, None, {}
        self.__dict__.update(more)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def call(c, name='echo', **args):
    return c.call('call', {'name': name, 'args': args or {'x': 1}})


def denied(r, *words):
    return outcome(r) == 'denied' and all(w in r['cause']['what'] for w in words) and r['cause'].get('rule') == 'decision point'


def decisions(t, p, a, ad):
    p.says({'result': True})
    r = a.call('call', {'name': 'echo', 'args': {'x': 9007199254740993}})
    q = p.asked[-1]['input']
    t.check('true: it runs', outcome(r) == 'ok' and r['result'] == 'got 9007199254740993', r)
    t.check('the question has tool, hash, permissions, arguments and context', q['tool'] == 'echo' and q['hash'].startswith('sha256:') and q['args'] ==
            {'x': 9007199254740993} and q['permissions']['scope'] == 'read-only' and q['trust_level'] == 'standard' and q['labels'] == {} and
            q['rule'].startswith('policy.json:'), q)
    p.says({'result': {'decide': 'allow', 'reason': 'fine', 'more': [1]}, 'decision_id': 'x'})
    r = call(a)
    t.check('allow: it runs, whatever else stands there', outcome(r) == 'ok', r)
    p.says({'result': False})
    r = call(a)
    t.check('false: denied', denied(r, 'denies it') and 'result' not in r, r)
    p.says({'result': {'decide': 'deny', 'reason': 'not\non a "Tuesday"'}})
    r = call(a)
    t.check('deny: its reason reaches the model, in one line', denied(r, 'not on a "Tuesday"'), r)
    s = a.call('session.open', {'task': 'sort', 'user_id': 'anna', 'labels': {'team': 'red'}})['session']
    p.says({'result': True})
    r = a.call('call', {'name': 'echo', 'args': {'x': {'trust_level': 'admin'}}, 'session': s})
    q = p.asked[-1]['input']
    t.check('the context is the session\'s', outcome(r) == 'ok' and (q['task'], q['user_id'], q['labels'], q['session'], q['trust_level']) ==
            ('sort', 'anna', {'team': 'red'}, s, 'standard'), q)
    a.call('session.close', {'session': s})
    body = 'def run():\n    return 7\n'
    r = a.call('run', {'body': body, 'args': {}, 'profile': 'pure'})
    q = p.asked[-1]['input']
    t.check('a body over agent.sock is shown to it', outcome(r) == 'ok' and q['tool'] == 'run' and q['body'] == body, r)
    n = len(p.asked)
    r = a.call('call', {'name': 'nobody', 'args': {}})
    r2 = call(a, 'third')
    t.check('what our own gate refuses is not asked', outcome(r) == 'invalid_arguments' and outcome(r2) == 'denied' and len(p.asked) == n, (r, r2))
    r = ad.call('tool.list', {})
    t.check('nor is anything that is no call', len(p.asked) == n, r)


def approvals(t, p, a, ad):
    p.says({'result': {'decide': 'escalate', 'reason': 'a person looks at seven'}})
    r = call(a, x=7)
    i = (r.get('cause', {}).get('evidence') or {}).get('approval_id')
    t.check('escalate: approval_pending with its reason', outcome(r) == 'approval_pending' and 'looks at seven' in r['cause']['what'] and i, r)
    r = ad.call('approval.decide', {'id': i, 'approve': True})
    r = call(a, x=7)
    t.check('approved: the same call runs', outcome(r) == 'ok', r)
    r = call(a, x=7)
    t.check('once', outcome(r) == 'approval_pending', r)
    p.says({'result': True})
    r = call(a, 'wipe', x=1)
    n = len(p.asked)
    i = (r.get('cause', {}).get('evidence') or {}).get('approval_id')
    t.check('a question of our own policy is put to a person first', outcome(r) == 'approval_pending' and i, r)
    ad.call('approval.decide', {'id': i, 'approve': True, 'uses': 2})
    r = call(a, 'wipe', x=1)
    t.check('and then to the point', outcome(r) == 'ok' and len(p.asked) == n + 1 and p.asked[-1]['input']['approval'] == i, r)
    p.says({'result': False})
    r = call(a, 'wipe', x=1)
    t.check('which may still deny it', denied(r, 'denies'), r)
    p.says({'result': True})
    r = call(a, 'wipe', x=2)
    w = a.send('call', {'name': 'wipe', 'args': {'x': 3}, 'approval': 'wait'})
    note = a.recv()
    ad.call('approval.decide', {'id': note['params']['approval_id'], 'approve': True})
    r = a.recv()
    t.check('a call that waited for a person is asked, too', r.get('id') == w and outcome(r['result']) == 'ok' and p.asked[-1]['input']['args'] == {'x': 3}, r)


def broken(t, p, a):
    for title, word, how in (
            ('garbage', 'no JSON object', {'raw': b'<html>oops'}),
            ('two keys that are the same', 'no JSON object', {'raw': b'{"result":false,"result":true}'}),
            ('an array', 'no JSON object', {'raw': b'[true]'}),
            ('an empty object: the rule is not defined', 'no result', {'raw': b'{}'}),
            ('a word instead of a truth', 'neither true nor false', {'answer': {'result': 'true'}}),
            ('a number', 'neither true nor false', {'answer': {'result': 1}}),
            ('another word to decide', 'none of allow', {'answer': {'result': {'decide': 'ALLOW'}}}),
            ('allow, with status 500', 'status 500', {'answer': {'result': True}, 'status': 500}),
            ('allow, with status 201', 'status 201', {'answer': {'result': True}, 'status': 201}),
            ('a redirect', 'status 307', {'answer': {'result': True}, 'status': 307, 'headers': {'Location': 'http://127.0.0.1:%d/x' % p.port}}),
            ('a connection that closes', 'no decision', {'raw': b''}),
            ('a huge answer', 'too large', {'raw': b'{"result":true,"pad":"%s"}' % (b'x' * 200000)}),
            ('huge headers', 'no decision', {'answer': {'result': True}, 'headers': {'X-%d' % i: 'y' * 8000 for i in range(20)}}),
            ('a slow one', 'imeout', {'answer': {'result': True}, 'pause': 2.5})):
        n = len(p.asked)
        p.says(**{'answer': None, **how})
        begin = time.monotonic()
        r = call(a)
        t.check('%s: denied by name, and it did not run' % title, denied(r, 'no decision', word) and 'result' not in r and len(p.asked) > n
                and time.monotonic() - begin < 2.4 * FACTOR, r)
    p.says({'result': True})
    r = call(a)
    t.check('after all of that it decides again', outcome(r) == 'ok', r)
    r = call(a, x='y' * 70000)
    t.check('a call that is too large to be shown is denied', denied(r, 'too large'), r)
    p.says({'result': True}, pause=0.5)
    ids = {a.send('call', {'name': 'echo', 'args': {'x': k}}) for k in range(8)}
    begin = time.monotonic()
    got = [a.recv() for _ in ids]
    t.check('eight at a time wait side by side', all(outcome(g['result']) == 'ok' for g in got) and time.monotonic() - begin < 3 * FACTOR, got)
    w = a.send('call', {'name': 'echo', 'args': {'x': 1}})
    time.sleep(0.1)
    listed = a.call('list', {})
    first = a.recv() if 'calls' in listed else listed
    t.check('a call that waits for it is listed so', any(c.get('state') == 'decision' for c in listed.get('calls', [])) and first.get('id') == w, listed)


def courier_of(d):
    for pid in open('/proc/%d/task/%d/children' % (d.p.pid, d.p.pid)).read().split():
        with open('/proc/%s/comm' % pid) as f:
            if f.read().strip().startswith('brigd: courier'):
                return int(pid)
    return None


def status_of(pid):
    with open('/proc/%d/status' % pid) as f:
        return dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)


def process(t, d, p, a):
    pid = courier_of(d)
    s = status_of(pid)
    t.check('the courier has no capability, no_new_privs and a filter', int(s['CapEff'], 16) == int(s['CapPrm'], 16) == int(s['CapAmb'], 16) == 0
            and s['NoNewPrivs'] == '1' and s['Seccomp'] == '2', s)
    uids = {status_of(int(x))['Uid'].split()[0] for x in open('/proc/%d/task/%d/children' % (d.p.pid, d.p.pid)).read().split()}
    if os.geteuid() == 0:
        t.check('and an id that none of the others has', s['Uid'].split()[0] in uids and len(set(s['Uid'].split())) == 1 and len(uids) >= 4, uids)
        t.check('its environment and command line hold nothing', open('/proc/%d/environ' % pid).read().count('=') == 3 and
                str(p.port) not in open('/proc/%d/cmdline' % pid).read())
    fds = [os.readlink('/proc/%d/fd/%s' % (pid, f)) for f in os.listdir('/proc/%d/fd' % pid)]
    t.check('no file, no directory, no listening socket of ours', all(re.match(r'socket:|pipe:|anon_inode:|/dev/', f) or f == os.readlink('/proc/self/fd/2') for f in fds), fds)
    p.says({'result': True}, pause=0.7)
    w = a.send('call', {'name': 'echo', 'args': {'x': 1}})
    time.sleep(0.2)
    os.kill(pid, signal.SIGKILL)
    r = a.recv()
    t.check('killed while it asks: that call is denied at once', r['id'] == w and denied(r['result'], 'no decision'), r)
    p.says({'result': True})
    end = time.monotonic() + 10 * FACTOR
    while outcome(call(a)) != 'ok' and time.monotonic() < end:
        time.sleep(0.05)
    t.check('another one is started', courier_of(d) not in (None, pid) and outcome(call(a)) == 'ok', courier_of(d))
    kill_core(d)
    a = agent(d)
    r = call(a)
    t.check('another core uses the same courier', outcome(r) == 'ok', r)
    return a


def refused_config(t):
    for line, words in (('decision_url = ftp://x/', 'https://'), ('decision_url = http://', 'no host'), ('decision_url = http://u:p@h/', 'password'),
                        ('decision_url = http://h/a b', 'not a character'), ('decision_timeout = 31s', 'out of range')):
        path = t.file('bad.conf', line + '\n')
        os.chmod(path, 0o644)
        r = subprocess.run([BUILD + '/brigd', '--config', path, '--check'], capture_output=True, text=True, env={'BRIG_STATE': t.dir + '/s', 'PATH': '/bin'})
        t.check('%s: refused with its place' % line, r.returncode == 2 and words in r.stderr and 'bad.conf:1:' in r.stderr, r.stderr)


def main():
    t = Suite()
    p = Point()
    refused_config(t)
    # A name, so that the resolver's thread and its files are used under the filter.
    d = daemon(t, ALLOW, 'decision_url = http://localhost:%d/v1/data/brig\n' % p.port)
    a, ad = agent(d), d.client('admin')
    create(ad, 'echo', ECHO)
    create(ad, 'wipe', ECHO, DESTRUCTIVE)
    create(ad, 'third', ECHO, {**DESTRUCTIVE, 'scope': 'read-write'})
    decisions(t, p, a, ad)
    approvals(t, p, a, ad)
    broken(t, p, a)
    a = process(t, d, p, a)
    p.says({'result': True}, headers={'Connection': 'close'})
    call(a)
    p.close()
    r = call(a)
    t.check('nobody listens any more: denied', denied(r, 'no decision'), r)
    log = [x for x in log_of(d) if x.get('rule') == 'decision point']
    t.check('the audit log names who denied', any(x.get('decision') == 'deny' for x in log), log[:2])
    a.hang_up()
    ad.hang_up()
    t.check('it ends as it should, and the courier with it', d.close() == 0, '')
    return t.finish()


sys.exit(main())
