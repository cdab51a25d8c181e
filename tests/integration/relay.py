#!/usr/bin/python3
"""brig-relay between a daemon and somebody's web server: questions go out signed, signed answers come in once."""
import hashlib
import hmac
import http.client
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from libbrig import BUILD, FACTOR, WAITED, Daemon, Suite

KEY = 'a key of thirty-two characters ..'
TOOL = {'name': 'wipe', 'description': 'destroys', 'parameters': {'type': 'object', 'properties': {'what': {'type': 'string'}}, 'required': ['what'],
                                                                    'additionalProperties': False},
        'body': 'def run(what):\n    return "gone: " + what\n', 'permissions': {'scope': 'destructive'}}


def sign(body, at=None, key=KEY):
    at = str(int(at if at is not None else time.time()))
    return 't=%s,v1=%s' % (at, hmac.new(key.encode(), at.encode() + b'.' + body, hashlib.sha256).hexdigest())


class Hook:
    """A web server that keeps what was posted to it."""

    def __init__(self):
        self.posts, self.status = [], 200
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers['Content-Length']))
                hook.posts.append((self.headers.get('X-Brig-Signature'), body))
                self.send_response(hook.status)
                if hook.status == 302:
                    self.send_header('Location', 'http://127.0.0.1:%d/elsewhere' % hook.port)
                self.end_headers()

            def log_message(self, *args):
                pass
        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def free_port():
    s = socket.socket()
    s.bind(('127.0.0.1', 0))
    port = s.getsockname()[1]
    s.close()
    return port


def wait_for(fn, secs=15):
    end = time.monotonic() + secs * FACTOR
    while time.monotonic() < end:
        got = fn()
        if got:
            return got
        time.sleep(0.05)
    return fn()


def post(port, body, signature, path='/answer', headers=None):
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=20 * FACTOR)
    try:
        c.request('POST', path, body, {**({'X-Brig-Signature': signature} if signature else {}), **(headers or {})})
        r = c.getresponse()
        return r.status, r.read().decode('utf-8', 'replace')
    except OSError as e:
        return 0, str(e)
    finally:
        c.close()


class Relay:
    def __init__(self, dir, *argv, key=KEY):
        self.key = dir + '/relay.key'
        with open(self.key, 'w') as f:
            f.write(key + '\n')
        os.chmod(self.key, 0o600)
        self.log = open(dir + '/relay.log', 'a+')
        self.p = subprocess.Popen([BUILD + '/brig', 'relay', '--key', self.key, *argv], stdin=subprocess.DEVNULL, stderr=self.log, stdout=self.log)
        WAITED.add(self.p.pid)

    def said(self):
        self.log.flush()
        with open(self.log.name) as f:
            return f.read()

    def close(self):
        self.p.send_signal(signal.SIGTERM)
        status = self.p.wait(timeout=20 * FACTOR)
        self.log.close()
        return status


def refusals(t, dir):
    def says(argv, key_mode=0o600, key=KEY):
        path = dir + '/k'
        with open(path, 'w') as f:
            f.write(key)
        os.chmod(path, key_mode)
        p = subprocess.run([BUILD + '/brig', 'relay', '--key', path, *argv], capture_output=True, text=True, timeout=30 * FACTOR)
        return p.returncode, p.stderr
    for title, argv, mode, key, word in (
            ('a key that others may read', ['--listen', '127.0.0.1:1'], 0o644, KEY, 'others than you'),
            ('a short key', ['--listen', '127.0.0.1:1'], 0o600, 'short', 'guessed'),
            ('a port for everybody', ['--listen', '0.0.0.0:8099'], 0o600, KEY, 'this host alone'),
            ('no place', ['--listen', 'localhost'], 0o600, KEY, 'HOST:PORT'),
            ('nothing to do', [], 0o600, KEY, 'neither')):
        status, err = says(argv, mode, key)
        t.check('refused: ' + title, status == 2 and word in err, (status, err))


def answers(t, d, hook, port):
    agent, admin = d.client(), d.client('admin')
    r = agent.call('tool.create', TOOL)
    t.check('a destructive tool is made', r.get('state') == 'draft', r)

    def ask(what):
        r = agent.call('call', {'name': 'wipe', 'args': {'what': what}})
        return r, (r.get('cause') or {}).get('evidence', {}).get('approval_id')

    r, first = ask('disk')
    t.check('its call waits for a person', r.get('outcome') == 'approval_pending' and first, r)
    got = wait_for(lambda: [p for p in hook.posts if first.encode() in p[1]])
    t.check('the webhook hears of it', bool(got), hook.posts)
    signature, body = got[0] if got else ('', b'{}')
    said = json.loads(body).get('approval', {})
    at = signature[2:].split(',')[0] if signature else '0'
    t.check('signed, with all that would run', sign(body, int(at)) == signature and said.get('args') == {'what': 'disk'} and
            said.get('body') == TOOL['body'] and said.get('id') == first, (signature, body[:300]))
    time.sleep(2.5)
    t.check('once', len([p for p in hook.posts if first.encode() in p[1]]) == 1, len(hook.posts))

    yes = json.dumps({'id': first, 'approve': True, 'reason': 'looked at it'}).encode()
    for title, body, sig, want in (
            ('unsigned', yes, None, 401), ('signed with another key', yes, sign(yes, key='x' * 32), 401), ('signed, then changed', yes.replace(b'looked', b'l00ked'), sign(yes), 401),
            ('signed six minutes ago', yes, sign(yes, time.time() - 360), 401), ('signed for later', yes, sign(yes, time.time() + 360), 401),
            ('a signature of another form', yes, 'v1=' + '0' * 64, 401), ('no JSON', b'yes', sign(b'yes'), 400),
            ('a key twice', b'{"id":"x","approve":false,"approve":true}', sign(b'{"id":"x","approve":false,"approve":true}'), 400),
            ('a member of another kind', b'{"id":"x","approve":true,"uid":0}', sign(b'{"id":"x","approve":true,"uid":0}'), 400),
            ('too large', b'{"id":"%s"}' % (b'x' * 20000), 'x', (413, 400, 0))):
        status, text = post(port, body, sig)
        t.check('refused: ' + title, status == want or (isinstance(want, tuple) and status in want), (status, text))
    t.check('elsewhere there is nothing', post(port, yes, sign(yes), '/')[0] == 404)
    r = admin.call('approval.get', {'id': first})
    t.check('none of that decided anything', r.get('state') == 'pending', r)

    good = sign(yes)
    status, text = post(port, yes, good)
    t.check('a good answer is taken', status == 200 and json.loads(text)['state'] == 'approved', (status, text))
    status, text = post(port, yes, good)
    t.check('the same message again is not', status == 409 and 'before' in text, (status, text))
    again = json.dumps({'id': first, 'approve': False}).encode()
    status, text = post(port, again, sign(again))
    t.check('nor another word on what is decided', status == 409, (status, text))
    r, _ = ask('disk')
    t.check('the call runs', r.get('outcome') == 'ok' and r.get('result') == 'gone: disk', r)
    r, second = ask('disk')
    t.check('once', r.get('outcome') == 'approval_pending' and second and second != first, r)
    status, text = post(port, yes, sign(yes, time.time() + 1))
    t.check('the old answer does not fit the new question', status == 409, (status, text))
    no = json.dumps({'id': second, 'approve': False, 'reason': 'not on a weekday'}).encode()
    post(port, no, sign(no))
    r, _ = ask('disk')
    t.check('a denial reaches the one who asked', r.get('outcome') == 'denied' and 'weekday' in json.dumps(r.get('cause')), r)
    agent.hang_up()
    admin.hang_up()
    return ask


def trouble(t, d, hook, relay):
    agent = d.client()
    hook.status = 302
    n = len(hook.posts)
    agent.call('call', {'name': 'wipe', 'args': {'what': 'redirected'}})
    wait_for(lambda: len(hook.posts) >= n + 2)
    t.check('a redirection is not followed, and tried again later', len(hook.posts) >= n + 2 and 'answers 302' in relay.said(), relay.said()[-500:])
    hook.status = 200
    n = len(hook.posts)
    t.check('then it is taken', bool(wait_for(lambda: len(hook.posts) > n and 'sent' in relay.said().splitlines()[-1])), relay.said()[-500:])
    agent.hang_up()


def main():
    t = Suite()
    dir = tempfile.mkdtemp(prefix='brig-r-', dir='/var/tmp')
    refusals(t, dir)
    hook, port = Hook(), free_port()
    d = Daemon()
    relay = Relay(dir, '--webhook', 'http://127.0.0.1:%d/x' % hook.port, '--listen', '127.0.0.1:%d' % port, '--socket', d.path('admin'))
    t.check('it listens', bool(wait_for(lambda: post(port, b'', None)[0] == 401)), relay.said())
    if os.geteuid() == 0:
        answers(t, d, hook, port)
        trouble(t, d, hook, relay)
    state = d.state
    d.kept = True
    d.close()
    t.check('a daemon that went is said once', bool(wait_for(lambda: 'cannot be asked' in relay.said())), relay.said())
    d = Daemon(state=state)
    d.kept = False
    t.check('and one that comes back', bool(wait_for(lambda: 'there again' in relay.said())), relay.said())
    t.check('the key is in no line of the log', KEY not in relay.said())
    t.check('it ends when it is told to', relay.close() == 0)
    d.close()
    hook.close()
    subprocess.run(['rm', '-rf', dir], check=True)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
