#!/usr/bin/python3
"""Tools that agents write: every guardrail of tool.create both ways, lists, removal, plain folders, restarts, two agents."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from libbrig import BRIG, Client, Daemon, Suite  # noqa: E402
import socket  # noqa: E402

s = Suite()
N = {'type': 'object', 'properties': {'n': {'type': 'integer'}}, 'required': ['n'], 'additionalProperties': False}
BODY = 'def run(n):\n    return n + 1\n'


def create(c, name, body=BODY, **more):
    return c.call('tool.create', {'name': name, 'description': 'A test.', 'parameters': N, 'body': body, **more})


def refused(title, got, guardrail, *words, outcome='invalid_arguments'):
    text = json.dumps([got.get('error'), got.get('cause')], ensure_ascii=False)
    s.check('%s: %s, by %s, in words' % (title, outcome, guardrail),
            got.get('outcome') == outcome and got['cause']['evidence'].get('guardrail') == guardrail and all(w in text for w in words)
            and bool(got['cause']['what']) and got['cause']['final'] is True, got)


def names(c, **params):
    """Those that somebody wrote."""
    return [t['name'] for t in c.call('tool.list', params)['tools'] if not t['reviewed']]


def guardrails(c):
    got = create(c, 'add')
    s.check('a good tool is taken: draft, version 1, hash', got.get('outcome') == 'ok' and got['state'] == 'draft' and got['version'] == 1
            and got['hash'].startswith('sha256:') and got['warnings'] == [] and got['inferred'] is True, got)
    s.check('and listed', names(c) == ['add'], names(c))
    refused('a duplicate', create(c, 'add'), 'duplicate', 'add exists', 'replace')
    refused('the same again', create(c, 'add', replace=True), 'unchanged')
    refused('a replacement of nothing', create(c, 'ad', replace=True), 'tool', 'did you mean add?')
    for name, word in (('a.b', "'.'"), ('a/b', "'/'"), ('../x', "'.'"), ('', 'empty'), ('9a', "'9'"), ('а', 'no ASCII'), ('ａ', 'no ASCII'),
                       ('a\0b', 'control'), ('x' * 10240, '10240 bytes'), ('run', 'reserved'), ('read_file', 'reserved'), ('create_tool', 'reserved'), ('remove_tool', 'reserved'),
                       ('list_my_tools', 'reserved'), ('call_tool', 'reserved')):
        refused('the name %.12r' % name, create(c, name), 'name', word)
    refused('no description', create(c, 'x', description=''), 'description', 'empty')
    refused('a long description', create(c, 'x', description='d' * 4097), 'description', '4097')
    for value in ('{}', [], 7, None, {'type': 'string'}, {}):
        refused('parameters %r' % (value,), create(c, 'x', parameters=value), 'parameters')
    refused('parameters of 70 KB', create(c, 'x', parameters={**N, 'description': 'd' * 70000}), 'parameters', '65536')
    for value in ('all', {'netwrok': True}, {'write': True}, {'network': 1}):
        refused('permissions %r' % (value,), create(c, 'x', permissions=value), 'permissions')
    s.check('none of these is listed', names(c) == ['add'], names(c))


def bodies(c):
    for title, body, words in (
            ('a syntax error', 'def run(:\n    return 1\n', ('SyntaxError', 'line 1')),
            ('a syntax error further down', 'x = 1\ndef run(n):\n    return )\n', ('SyntaxError', 'line 3')),
            ('tabs and spaces mixed', 'def run(n):\n\tif n:\n        return 1\n', ('TabError', 'line 3')),
            ('no run', 'x = 1\n', ('NameError', 'defines no function run')),
            ('run is a number', 'run = 5\n', ('TypeError', 'not callable')),
            ('a module that its profile does not list', 'import socket\n' + BODY, ('ImportError', 'line 1')),
            ('an argument that the schema lacks', 'def run(z):\n    return z\n', ('needs an argument z',)),
            ('a property that run does not take', 'def run():\n    return 1\n', ('takes no argument n',)),
            ('by position only', 'def run(n, /):\n    return n\n', ('by position only',)),
            ('an empty body', '', ('defines no function run',)),
            ('a NUL', 'x = 1\n\0' + BODY, ('NUL', 'line 2')),
            ('more than 1 MiB', '#' * (1 << 20) + '\n' + BODY, ('bytes long',)),
            ('an endless one', 'while True: pass\n' + BODY, ('timeout', 'inside run')),
            ('one that eats memory', 'x = bytearray(1 << 30)\n' + BODY, ('memory',)),
            ('a frame of its own making', 'run = type("", (), {"__call__": 1})()\nx = 1/0\n' + BODY, ('ZeroDivisionError', 'line 2'))):
        refused(title, create(c, 'bad', body), 'body', *words)
    s.check('none of these is listed', 'bad' not in names(c), names(c))
    for i, (title, body) in enumerate((
            ('async', 'async def run(n):\n    return n\n'), ('markdown fences', '```python\n' + BODY + '```\n'),
            ('**kwargs', 'def run(**kwargs):\n    return 1\n'), ('a default more', 'def run(n, m=2):\n    return n\n'),
            ('a lambda', 'run = lambda n: n\n'), ('a method', 'class A:\n    def go(self, n):\n        return n\nrun = A().go\n'),
            ('a callable', 'class A:\n    def __call__(self, n):\n        return n\nrun = A()\n'),
            ('a large one', '#' * 900000 + '\n' + BODY))):
        got = create(c, 'good%d' % i, body)
        s.check('taken: ' + title, got.get('outcome') == 'ok', got)
        whole = c.call('tool.get', {'name': 'good%d' % i})
        s.check('and kept as it was sent', whole['tool']['body'] == body, str(whole)[:300])
        c.call('tool.remove', {'name': 'good%d' % i})


def permissions(c):
    got = create(c, 'net', 'import socket\ndef run(n):\n    open("/srv/x", "w")\n    return 1\n', profile='python')
    s.check('what the body shows is suggested', got['suggested'] == {'filesystem': True, 'network': True, 'subprocess': False, 'write': True, 'scope': 'read-write'}, got)
    s.check('and what its profile cannot give is not taken as declared', got['permissions']['network'] is False and got['permissions']['scope'] == 'read-only', got)
    s.check('which is said, with the line', any('line 1: import socket' in w for w in got['warnings']), got)
    got = create(c, 'sub', 'import subprocess\n' + BODY, profile='python')
    s.check('what it can give is', got['inferred'] is True and got['permissions']['subprocess'] is True, got)
    got = create(c, 'strict', 'import subprocess\n' + BODY, profile='python', permissions={})
    s.check('what is declared holds strictly', got['inferred'] is False and got['permissions']['subprocess'] is False
            and any('subprocess' in w and 'not declared' in w for w in got['warnings']), got)
    got = create(c, 'forged', 'import sys, os\nimport json\ndef run(n):\n    return 1\nrun.__defaults__ = (9,)\n')
    for name in ('net', 'sub', 'strict'):
        c.call('tool.remove', {'name': name})


def wrong_requests(c):
    for method, params in (('tool.create', {}), ('tool.create', {'name': 'x'}), ('tool.create', {'name': 1}), ('tool.list', {'format': 'x'}),
                           ('tool.list', {'state': 'x'}), ('tool.get', {}), ('tool.get', {'name': 'add', 'version': 0}),
                           ('tool.get', {'name': 'add', 'version': 1, 'hash': 'x'}), ('tool.remove', {}), ('subscribe', {}), ('subscribe', {'events': ['x']})):
        got = c.call(method, params)
        s.check('%s %s is a wrong request' % (method, params), got.get('error', {}).get('code') == -32602, got)
    got = create(c, 'x', profile='nosuch')
    s.check('an unknown profile too', 'error' in got and 'outcome' not in got, got)


def lists(c):
    create(c, 'zz')
    create(c, 'aa')
    s.check('the order is that of the names', names(c) == sorted(names(c)) and 'zz' in names(c), names(c))
    t = {x: c.call('tool.list', {'format': x})['tools'] for x in ('openai', 'anthropic', 'mcp')}
    aa = {k: next(e for e in v if e.get('function', e)['name'] == 'aa') for k, v in t.items()}
    s.check('as OpenAI takes them', aa['openai'] == {'type': 'function', 'function': {'name': 'aa', 'description': 'A test.', 'parameters': N}}, aa)
    s.check('as Anthropic takes them', aa['anthropic'] == {'name': 'aa', 'description': 'A test.', 'input_schema': N}, aa)
    s.check('as MCP takes them', {k: aa['mcp'][k] for k in ('name', 'description', 'inputSchema')} == {'name': 'aa', 'description': 'A test.', 'inputSchema': N}
            and aa['mcp']['annotations'] == {'readOnlyHint': True, 'destructiveHint': False, 'idempotentHint': True, 'openWorldHint': False}, aa)
    create(c, 'aa', BODY + '# 2\n', replace=True)
    got = c.call('tool.get', {'name': 'aa'})
    s.check('a replacement is the next version, a draft, with its history', got['tool']['version'] == 2 and [h['version'] for h in got['history']] == [1, 2], got)
    old = c.call('tool.get', {'name': 'aa', 'version': 1})
    s.check('an old version is kept', old['tool']['body'] == BODY, old)
    s.check('and had by its hash', c.call('tool.get', {'name': 'aa', 'hash': old['tool']['hash']})['tool']['version'] == 1)
    refused('a version that never was', c.call('tool.get', {'name': 'aa', 'version': 9}), 'tool', 'no such version')
    refused('a tool that never was', c.call('tool.get', {'name': 'zy'}), 'tool', 'did you mean zz?')
    got = c.call('tool.remove', {'name': 'zz'})
    s.check('removed', got.get('state') == 'removed' and 'zz' not in names(c), got)
    s.check('and kept for its history', 'zz' in names(c, all=True) and names(c, state='removed')[-1] == 'zz', names(c, all=True))
    refused('removed again', c.call('tool.remove', {'name': 'zz'}), 'tool', 'no tool is called')
    refused('a reviewed one', c.call('tool.remove', {'name': 'read_file'}), 'name')
    got = create(c, 'zz')
    s.check('the name is free again, versions go on', got.get('version') == 2, got)


def as_user(d, uid):
    """A connection of another uid: made in a child, handed over."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgid(uid)
            os.setuid(uid)
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(d.path('agent'))
            socket.send_fds(theirs, [b'x'], [sock.fileno()])
        finally:
            os._exit(0)
    theirs.close()
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    os.waitpid(pid, 0)
    ours.close()
    return Client(socket.socket(fileno=fds[0]))


def two_agents(d, c):
    other = d.client()
    got = other.call('subscribe', {'events': ['tools']})
    create(c, 'hot')
    told = other.recv()
    s.check('a change is told at once', told.get('method') == 'tools.changed' and told['params']['generation'] > got['generation'], told)
    s.check('and what is told is there', 'hot' in names(other), names(other))
    c.call('tool.remove', {'name': 'hot'})
    s.check('a removal too', other.recv().get('method') == 'tools.changed')
    other.call('subscribe', {'events': []})
    create(c, 'hot')
    s.check('who has had enough is told no more', 'tools' in other.call('tool.list', {}))
    other.hang_up()
    if os.getuid() == 0:
        them = as_user(d, 65534)
        refused('another user may not remove it', them.call('tool.remove', {'name': 'hot'}), 'tool', 'created by uid 0', outcome='denied')
        refused('nor replace it', create(them, 'hot', BODY + '#', replace=True), 'tool', 'created by uid 0', outcome='denied')
        s.check('but has tools of its own', create(them, 'theirs').get('outcome') == 'ok')
        admin = d.client('admin')
        s.check('which the operator may remove', admin.call('tool.remove', {'name': 'theirs'}).get('state') == 'removed')
        admin.hang_up()
        them.hang_up()


def limits(c, d):
    n = len(names(c))
    got = [create(c, 'fill%d' % i) for i in range(20 - n)]
    s.check('up to max_custom_tools', all(g.get('outcome') == 'ok' for g in got), got[-1:])
    refused('one more', create(c, 'fill99'), 'max_custom_tools', '20 tools', outcome='denied')
    s.check('a replacement needs no place', create(c, 'fill1', BODY + '#', replace=True).get('outcome') == 'ok')
    two = d.client()
    two.call('tool.remove', {'name': 'fill1'})
    a, b = d.client(), d.client()
    a.send('tool.create', {'name': 'race_a', 'description': 'x', 'parameters': N, 'body': BODY})
    b.send('tool.create', {'name': 'race_b', 'description': 'x', 'parameters': N, 'body': BODY})
    got = sorted(x.recv()['result']['outcome'] for x in (a, b))
    s.check('two for the last place: one gets it', got == ['denied', 'ok'], got)
    for x in (two, a, b):
        x.hang_up()


def gone_creator(d):
    c = d.client()
    c.send('tool.create', {'name': 'orphan', 'description': 'x', 'parameters': N, 'body': 'import time\ntime.sleep(1)\n' + BODY})
    c.hang_up()
    c = d.client()
    while c.call('list', {})['calls']:
        pass
    s.check('who leaves meanwhile leaves no tool', 'orphan' not in names(c, all=True))
    c.hang_up()


def restart(state):
    d = Daemon(state=state)
    c = d.client()
    s.check('a restart keeps them', 'aa' in names(c), names(c))
    got = c.call('tool.get', {'name': 'aa'})
    s.check('with their history', [h['version'] for h in got['history']] == [1, 2], got)
    s.check('a fresh supervisor counts rebuilds anew', c.call('tool.remove', {'name': 'aa'}).get('state') == 'removed')
    c.hang_up()
    d.close()


def switched_off():
    conf = s.file('off.conf', 'allow_tool_creation = no\n')
    os.chmod(conf, 0o600)
    d = Daemon(['--config', conf])
    c, admin = d.client(), d.client('admin')
    refused('creation switched off', create(c, 'x'), 'allow_tool_creation', outcome='denied')
    s.check('but not for the operator', create(admin, 'x').get('outcome') == 'ok')
    c.hang_up()
    admin.hang_up()
    d.close()
    conf = s.file('few.conf', 'max_rebuilds = 2\n')
    os.chmod(conf, 0o600)
    d = Daemon(['--config', conf])
    c, admin = d.client(), d.client('admin')
    s.check('two changes', create(c, 'x').get('outcome') == 'ok' and create(c, 'x', BODY + '#', replace=True).get('outcome') == 'ok')
    refused('a third', create(c, 'y'), 'max_rebuilds', outcome='denied')
    refused('also as a removal', c.call('tool.remove', {'name': 'x'}), 'max_rebuilds', outcome='denied')
    s.check('but not for the operator', admin.call('tool.remove', {'name': 'x'}).get('state') == 'removed')
    c.hang_up()
    admin.hang_up()
    d.close()


def audited(state):
    log = ''
    for root, _, files in os.walk(state):
        log += ''.join(open(root + '/' + f, encoding='utf-8').read() for f in files if root.endswith('audit') and not f.endswith('.lock'))
    kinds = [json.loads(line) for line in log.splitlines() if line.startswith('{')]
    made = [k for k in kinds if k.get('kind') == 'tool_create']
    s.check('creations are in the log, taken and refused', any(k.get('decision') == 'allow' and k.get('tool') == 'add' for k in made)
            and any(k.get('decision') == 'deny' for k in made), made[:2])
    s.check('and removals', any(k.get('kind') == 'tool_remove' for k in kinds))
    s.check('no body is', 'return n + 1' not in log)


def tool(*argv, state, stdin=None):
    return subprocess.run([BRIG, 'tool', *argv], capture_output=True, text=True, input=stdin, env={**os.environ, 'BRIG_STATE': state}, timeout=120)


def command_line():
    state = s.dir + '/cli'
    os.mkdir(state)
    body, bad = s.file('b.py', BODY), s.file('bad.py', 'def run(:\n')
    base = ['create', '--description', 'Adds.', '--parameters', json.dumps(N)]
    r = tool(*base, '--name', 'add', '--body', body, state=state)
    s.check('create: one line, status 0', r.returncode == 0 and r.stdout.startswith('add version 1 (draft)'), r)
    r = tool(*base, '--name', 'bad', '--body', bad, '--json', state=state)
    s.check('refused: status 3, one JSON object, line 1', r.returncode == 3 and json.loads(r.stdout)['error']['line'] == 1 and '(line 1)' in r.stderr, r)
    r = tool(*base, '--name', 'two', '--body', '-', '--permissions', '{"filesystem":true}', state=state, stdin=BODY)
    s.check('a body from standard input', r.returncode == 0 and 'filesystem' in r.stdout, r)
    r = tool(*base[:-1], 'nonsense', '--name', 'x', '--body', body, state=state)
    s.check('no JSON: status 3', r.returncode == 3 and 'no JSON' in r.stderr, r)
    r = tool('create', '--name', 'x', state=state)
    s.check('missing options: status 2', r.returncode == 2 and '--description' in r.stderr, r)
    r = tool('list', state=state)
    s.check('a table of 80 columns', r.returncode == 0 and 'add' in r.stdout and max(map(len, r.stdout.splitlines())) <= 80, r)
    r = tool('list', '--format', 'openai', state=state)
    s.check('schemas', {'add', 'two', 'read_file'} <= {t['function']['name'] for t in json.loads(r.stdout)}, r)
    r = tool('show', 'add', state=state)
    s.check('show', 'return n + 1' in r.stdout and 'version:      1' in r.stdout, r)
    r = tool('show', 'ad', state=state)
    s.check('show of none: status 3, the nearest', r.returncode == 3 and 'did you mean add?' in r.stderr, r)
    out = s.dir + '/out'
    r = tool('export', '--all', out, state=state)
    s.check('export', r.returncode == 0 and sorted(os.listdir(out)) == ['add', 'two'] and sorted(os.listdir(out + '/add')) == ['body.py', 'tool.json'], r)
    s.check('into an old folder: nothing is written over', tool('export', 'add', out, state=state).returncode == 2)
    for name in ('add', 'two'):
        tool('remove', name, state=state)
    r = tool('list', state=state)
    s.check('removed', 'draft' not in r.stdout and 'read_file' in r.stdout, r)
    r = tool('import', out, state=state)
    s.check('import gives them back', r.returncode == 0, r)
    both = [json.loads(tool('show', 'two', '--json', '--version', v, state=state).stdout)['tool'] for v in ('1', '2')]
    s.check('the very same: their hashes say so', both[0]['hash'] == both[1]['hash'], both)
    r = tool('create', out + '/add', state=state)
    s.check('a single folder; and the guardrails hold', r.returncode == 3 and 'exists' in r.stderr, r)
    hostile_folders(state)


def without_root():
    """An ordinary user, with no group of control to give: only by the explicit word."""
    if os.getuid() != 0:
        return
    brig, state = s.user_brig(), s.dir + '/theirs'
    os.mkdir(state, 0o700)
    os.chown(state, 65534, 65534)

    def theirs(*argv, env=None):
        return subprocess.run([brig, 'tool', *argv], capture_output=True, text=True, timeout=120, user=65534, group=65534, extra_groups=[],
                              env={'PATH': '/usr/bin:/bin', **(env or {'BRIG_STATE': state})}, input=BODY)
    argv = ['create', '--name', 'add', '--description', 'x', '--parameters', json.dumps(N), '--body', '-']
    first = theirs(*argv)
    s.check('an ordinary user: taken, or refused by the name of the layer', first.returncode == 0 or (first.returncode == 6 and 'best-effort' in first.stderr), first)
    r = theirs(*argv, '--best-effort', '--replace') if first.returncode == 0 else theirs(*argv, '--best-effort')
    s.check('with --best-effort', r.returncode in (0, 3), r)
    s.check('and it is there', 'draft' in theirs('list').stdout)
    r = theirs('list', '--private', env={'HOME': state})
    s.check('without BRIG_STATE and XDG_RUNTIME_DIR the registry is below HOME', r.returncode == 0 and
            os.path.exists(state + '/.local/state/brig/registry/registry.db'), r)
    r = theirs('list', '--private', env={'LANG': 'C'})
    s.check('and without HOME it says so', r.returncode == 70 and 'HOME is not set' in r.stderr, r)


def hostile_folders(state):
    def folder(name, text, body=BODY):
        os.makedirs(s.dir + '/h/' + name)
        s.file('h/%s/tool.json' % name, text)
        if body is not None:
            s.file('h/%s/body.py' % name, body)
        return s.dir + '/h/' + name
    good = {'name': 'h', 'description': 'x', 'parameters': N}
    secret = s.file('secret', 'def run(n):\n    return "secret"\n')
    for title, make, status in (
            ('an unknown key', lambda: folder('a', json.dumps({**good, 'bdy': 1})), 2),
            ('a duplicate key', lambda: folder('b', '{"name":"h","name":"i"}'), 2),
            ('no body', lambda: folder('c', json.dumps(good), None), 2),
            ('a name that climbs', lambda: folder('d', json.dumps({**good, 'name': '../h'})), 3),
            ('a body that does not compile', lambda: folder('e', json.dumps(good), 'def'), 3)):
        r = tool('import', make(), state=state)
        s.check('import of %s: status %d' % (title, status), r.returncode == status, r)
    path = folder('f', json.dumps(good), None)
    os.symlink(secret, path + '/body.py')
    r = tool('import', path, state=state)
    s.check('a link to a file of ours is not followed', r.returncode == 2 and 'secret' not in tool('list', '--all', '--json', state=state).stdout, r)
    path = folder('g', json.dumps(good), None)
    os.mkfifo(path + '/body.py')
    s.check('a pipe is not waited for', tool('import', path, state=state).returncode == 2)
    r = tool('import', s.dir + '/h', state=state)
    s.check('a folder of folders: each is tried, the first failure is the status', r.returncode == 2, r)
    where = s.dir + '/where'
    os.mkdir(where)
    os.symlink(s.dir, where + '/add')
    r = tool('export', 'add', where, state=state)
    s.check('export follows no link either', r.returncode == 2 and not os.path.exists(s.dir + '/tool.json'), r)


def main():
    state = s.dir + '/d'
    os.mkdir(state)
    conf = s.file('all.conf', 'agent_users = *\nagent_mode = 0666\n')
    os.chmod(conf, 0o600)
    d = Daemon(['--config', conf], state=state)
    c = d.client()
    guardrails(c)
    bodies(c)
    permissions(c)
    wrong_requests(c)
    lists(c)
    two_agents(d, c)
    limits(c, d)
    gone_creator(d)
    c.hang_up()
    d.close()
    restart(state)
    audited(state)
    shutil.rmtree(state)
    switched_off()
    command_line()
    without_root()
    return s.finish()


if __name__ == '__main__':
    sys.exit(main())
