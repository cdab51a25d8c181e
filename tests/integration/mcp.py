#!/usr/bin/python3
"""brig mcp: an MCP client's pipe in both eras of the protocol, over a daemon and over a supervisor of its own."""
import json
import os
import signal
import subprocess
import tempfile
import time

from libbrig import BUILD, FACTOR, WAITED, Daemon, Suite, tree_of

MODERN = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {}}
DOUBLE = {'name': 'double', 'description': 'doubles x', 'body': 'def run(x):\n    return {"v": x * 2}\n',
          'parameters': {'type': 'object', 'properties': {'x': {'type': 'integer'}}, 'required': ['x'], 'additionalProperties': False}}
OWN = ['create_tool', 'remove_tool', 'list_my_tools', 'call_tool']
t = Suite()


class Pipe:
    """A client that knows lines and ids."""

    def __init__(self, state, *argv):
        self.p = subprocess.Popen([BUILD + '/brig', 'mcp', *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': state})
        WAITED.add(self.p.pid)
        self.next, self.others, self.early = 0, [], {}

    def send(self, text):
        self.p.stdin.write((text if isinstance(text, str) else json.dumps(text)).encode() + b'\n')
        self.p.stdin.flush()

    def recv(self):
        """Every byte of stdout has to be a message."""
        line = self.p.stdout.readline()
        return json.loads(line) if line else None

    def wait(self, ident):
        """The answer of that id; what comes before it is kept."""
        while ident not in self.early:
            m = self.recv()
            if m is None:
                return None
            if 'method' in m:
                self.others.append(m)
            else:
                self.early[m['id']] = m
        return self.early.pop(ident)

    def ask(self, method, params=None, meta=None, ident=None):
        self.next += 1
        ident = self.next if ident is None else ident
        if meta is not None:
            params = {**(params or {}), '_meta': meta}
        self.send({'jsonrpc': '2.0', 'id': ident, 'method': method, **({'params': params} if params is not None else {})})
        return self.wait(ident)

    def tool(self, name, args=None, meta=None):
        r = self.ask('tools/call', {'name': name, 'arguments': args or {}}, meta)
        return (r or {}).get('result') or r

    def notified(self, method, secs=5):
        """A notification that came, or comes before an answer that takes its time."""
        end = time.monotonic() + secs * FACTOR
        while not any(m['method'] == method for m in self.others) and time.monotonic() < end:
            self.ask('tools/list')
            time.sleep(0.05)
        return [m for m in self.others if m['method'] == method]

    def close(self):
        self.p.stdin.close()
        try:
            return self.p.wait(timeout=10 * FACTOR)
        finally:
            self.p.kill()
            self.p.stdout.close()


def text(result):
    return result['content'][0]['text'] if result and 'content' in result else ''


def legacy(state, *argv):
    c = Pipe(state, *argv)
    for asked, agreed in (('2025-11-25', '2025-11-25'), ('2025-03-26', '2025-03-26'), ('2099-01-01', '2025-11-25'), ('2025-06-18', '2025-06-18')):
        r = c.ask('initialize', {'protocolVersion': asked, 'capabilities': {}, 'clientInfo': {'name': 't', 'version': '1'}})
        t.check('initialize %s: %s' % (asked, agreed), r['result']['protocolVersion'] == agreed and r['result']['capabilities']['tools'] == {'listChanged': True}, r)
    c.send({'jsonrpc': '2.0', 'method': 'notifications/initialized'})
    t.check('ping', c.ask('ping')['result'] == {})
    r = c.ask('tools/list')['result']
    t.check('the server\'s own tools stand first', [x['name'] for x in r['tools']][:4] == OWN and 'resultType' not in r, r)
    c.others.clear()
    r = c.tool('create_tool', DOUBLE)
    t.check('create_tool says how to call the new tool', r['isError'] is False and 'double' in text(r) and 'call_tool' in text(r), r)
    t.check('the list has changed, and the client hears it', c.notified('notifications/tools/list_changed'), c.others)
    r = [x for x in c.ask('tools/list')['result']['tools'] if x['name'] == 'double']
    t.check('the new tool is on it, with hints from what it may do', r and r[0]['inputSchema'] == DOUBLE['parameters'] and r[0]['annotations']['readOnlyHint'] is True and
            r[0]['annotations']['openWorldHint'] is False, r)
    r = c.tool('double', {'x': 9007199254740993})
    t.check('numbers keep every digit', text(r) == '{"v":18014398509481986}' and r['structuredContent'] == {'v': 18014398509481986} and not r['isError'], r)
    t.check('call_tool is another way to it', text(c.tool('call_tool', {'name': 'double', 'arguments': {'x': 2}})) == '{"v":4}')
    r = c.tool('double', {'x': 'q'})
    t.check('arguments that do not fit: an error that a model can act on', r['isError'] is True and text(r).startswith('invalid_arguments: x: wanted integer'), r)
    r = c.tool('create_tool', DOUBLE)
    t.check('a second one of that name: refused, with the reason', r['isError'] is True and 'double' in text(r), r)
    r = c.tool('create_tool', {**{k: v for k, v in DOUBLE.items() if k not in ('body', 'parameters')}, 'name': 'other', 'code': DOUBLE['body'],
                               'input_schema': DOUBLE['parameters']})
    t.check('code and input_schema are other words for body and parameters', r['isError'] is False, r)
    r = c.tool('create_tool', {**DOUBLE, 'name': 'broken', 'body': 'def run(:\n'})
    t.check('a body that does not compile: the line', r['isError'] is True and 'line 1' in text(r), r)
    c.tool('create_tool', {'name': 'fails', 'description': 'fails', 'parameters': {'type': 'object', 'properties': {}},
                           'body': 'def run():\n    print("so far")\n    return 1 / 0\n'})
    r = c.tool('fails')
    t.check('a tool that raises: the error, the line, and what it printed', r['isError'] is True and 'ZeroDivisionError' in text(r) and 'line 3' in text(r) and
            'so far' in text(r), r)
    c.tool('create_tool', {'name': 'large', 'description': 'says much', 'parameters': {'type': 'object', 'properties': {}}, 'profile': 'python',
                           'body': 'def run():\n    return "\\u00e9" * 200000 + "end"\n'})
    r = c.tool('large')
    t.check('a result that is too long is cut in the middle, and says how much', len(text(r).encode()) < 263000 and text(r).endswith('end') and
            'bytes are left out' in text(r), len(text(r)) if r else r)
    c.tool('create_tool', {'name': 'purge', 'description': 'destroys', 'parameters': {'type': 'object', 'properties': {}}, 'permissions': {'scope': 'destructive'},
                           'body': 'def run():\n    return "gone"\n'})
    r = c.tool('purge')
    t.check('what needs a person: no hang, and the word', r['isError'] is True and text(r).split(':')[0] in ('approval_pending', 'denied'), r)
    r = c.tool('remove_tool', {'name': 'other'})
    t.check('remove_tool', r['isError'] is False and not any(x['name'] == 'other' for x in c.ask('tools/list')['result']['tools']), r)
    r = c.tool('remove_tool', {'name': 'other'})
    t.check('a second time there is nothing to remove', 'error' in r or r.get('isError') is True, r)
    t.check('list_my_tools', 'doubles x' in text(c.tool('list_my_tools')))
    t.check('stdin ends: so does it, with 0', c.close() == 0)


def modern(state, *argv):
    c = Pipe(state, *argv)
    r = c.ask('server/discover', {}, MODERN)['result']
    t.check('server/discover', r['resultType'] == 'complete' and r['supportedVersions'] == ['2026-07-28'] and r['_meta'], r)
    c.send({'jsonrpc': '2.0', 'id': 'sub', 'method': 'subscriptions/listen', 'params': {'notifications': {'toolsListChanged': True, 'promptsListChanged': True},
                                                                                     '_meta': MODERN}})
    r = c.ask('tools/list', {}, MODERN)['result']
    t.check('tools/list', r['resultType'] == 'complete' and r['cacheScope'] == 'private' and r['ttlMs'] == 0 and r['tools'], r)
    ack = [m['params'] for m in c.others if m['method'] == 'notifications/subscriptions/acknowledged']
    t.check('a subscription is acknowledged for what there is', ack and ack[0]['notifications'] == {'toolsListChanged': True} and
            ack[0]['_meta'] == {'io.modelcontextprotocol/subscriptionId': 'sub'}, c.others)
    c.others.clear()
    name = 'said' + os.path.basename(state).replace('-', '_')
    r = c.tool('create_tool', {'name': name, 'description': 'tells how far it is', 'parameters': {'type': 'object', 'properties': {}},
                               'body': 'import brig\ndef run():\n    brig.progress(1, 2, "half")\n    return [1]\n'}, MODERN)
    t.check('create_tool', r['isError'] is False and r['resultType'] == 'complete', r)
    m = c.notified('notifications/tools/list_changed')
    t.check('the subscription tells of it', m and m[0]['params']['_meta'] == {'io.modelcontextprotocol/subscriptionId': 'sub'}, c.others)
    r = c.tool(name, None, {**MODERN, 'progressToken': 'p'})
    t.check('any JSON value is structured content', text(r) == '[1]' and r['structuredContent'] == [1], r)
    m = [x['params'] for x in c.others if x['method'] == 'notifications/progress']
    t.check('its progress goes to who gave a token', m == [{'progressToken': 'p', 'progress': 1, 'total': 2, 'message': 'half'}], c.others)
    for what, meta, code in (('no capabilities', {'io.modelcontextprotocol/protocolVersion': '2026-07-28'}, -32602),
                             ('an unknown version', {**MODERN, 'io.modelcontextprotocol/protocolVersion': '1900-01-01'}, -32022)):
        r = c.ask('tools/list', {}, meta)
        t.check('%s: %d' % (what, code), r['error']['code'] == code, r)
    for method in ('ping', 'initialize', 'tasks/list', 'x' * 200, ''):
        r = c.ask(method, {}, MODERN)
        t.check('%s is no method of it: -32601' % (method[:12] or 'nothing'), r['error']['code'] == -32601, r)
    r = c.ask('tools/list', {'cursor': 'zzz'}, MODERN)
    t.check('a cursor that nobody gave: -32602', r['error']['code'] == -32602, r)
    t.check('both eras on one pipe', c.ask('initialize', {'protocolVersion': '2025-06-18'})['result']['protocolVersion'] == '2025-06-18')
    c.close()


def bad_input(state, *argv):
    c = Pipe(state, *argv)
    for what, line, ident, code in (
            ('no JSON', 'garbage', None, -32700), ('a number', '7', None, -32600), ('a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, -32600),
            ('the id null', '{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600), ('an object as id', '{"jsonrpc":"2.0","id":{},"method":"ping"}', None, -32600),
            ('another version', '{"jsonrpc":"1.0","id":2,"method":"ping"}', 2, -32600), ('no method', '{"jsonrpc":"2.0","id":3}', 3, -32600),
            ('params that are a list', '{"jsonrpc":"2.0","id":4,"method":"ping","params":[]}', 4, -32600),
            ('a key that stands twice', '{"jsonrpc":"2.0","id":5,"id":6,"method":"ping"}', None, -32700),
            ('arguments that are no object', '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":[1]}}', 7, -32602),
            ('no name', '{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}', 8, -32602)):
        c.send(line)
        r = c.recv()
        t.check('%s: %d' % (what, code), r['id'] == ident and r['error']['code'] == code, r)
    c.send('')
    c.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody"}}')
    c.send('{"jsonrpc":"2.0","method":"no/such"}')
    c.send('{"jsonrpc":"2.0","id":"q","result":{}}')
    t.check('what wants no answer gets none', c.ask('ping') == {'jsonrpc': '2.0', 'id': 1, 'result': {}})
    c.send('"' + 'x' * (20 << 20) + '"')
    r = c.recv()
    t.check('a line that is too long: one error, and the next is served', r['error']['code'] in (-32600, -32700) and c.ask('ping')['result'] == {}, r)
    for ident in (9007199254740993, -1, 1.5, 'caf\u00e9', ''):
        t.check('the id %r comes back as it was' % ident, c.ask('ping', ident=ident)['id'] == ident)
    c.close()


def ends(state, *argv):
    """A call that is cancelled, and a client that is killed: the jails go."""
    for how in ('cancelled', 'killed'):
        c = Pipe(state, *argv)
        c.ask('initialize', {'protocolVersion': '2025-11-25'})
        c.tool('create_tool', {'name': 'sleeps', 'description': 'sleeps', 'parameters': {'type': 'object', 'properties': {}},
                               'body': 'import time\ndef run():\n    time.sleep(4)\n    return 1\n'})
        c.send({'jsonrpc': '2.0', 'id': 'long', 'method': 'tools/call', 'params': {'name': 'sleeps', 'arguments': {}}})
        time.sleep(0.5 * FACTOR)
        begin = time.monotonic()
        if how == 'cancelled':
            c.send({'jsonrpc': '2.0', 'method': 'notifications/cancelled', 'params': {'requestId': 'long'}})
            t.check('a cancelled call is not answered, and what comes after it is', c.ask('ping')['result'] == {} and 'long' not in c.early)
            c.close()
        else:
            tree = [p for pids in tree_of(c.p.pid).values() for p in pids]
            os.kill(c.p.pid, signal.SIGTERM)
            c.p.wait(timeout=10 * FACTOR)
            left = [p for p in tree if os.path.exists('/proc/%d' % p)]
            t.check('SIGTERM: it ends with all it started, %d processes (%.1f s)' % (len(tree), time.monotonic() - begin), len(tree) > 3 and not left, left)
            c.close()


state = tempfile.mkdtemp(prefix='brig-m-', dir='/var/tmp')
for who in (legacy, modern, bad_input, ends):
    who(state, '--private')
subprocess.run(['rm', '-rf', state], check=True)
d = Daemon(stderr=subprocess.DEVNULL)
legacy(d.state)
modern(d.state)
one, two = Pipe(d.state), Pipe(d.state)
one.ask('initialize', {'protocolVersion': '2025-11-25'})
two.ask('initialize', {'protocolVersion': '2025-11-25'})
one.others.clear()
two.tool('create_tool', {**DOUBLE, 'name': 'shared'})
t.check('of two clients of a daemon one hears what the other wrote', one.notified('notifications/tools/list_changed') and
        text(one.tool('shared', {'x': 4})) == '{"v":8}')
d.close()
r = one.tool('shared', {'x': 4})
t.check('without its daemon a call says so, or a supervisor of its own serves', r is not None and ('error' in r or 'content' in r), r)
one.close()
two.close()
raise SystemExit(t.finish())
