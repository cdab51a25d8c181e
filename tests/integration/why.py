#!/usr/bin/python3
"""brig why: of tools, over both sockets and alone, nothing runs and nothing is left behind; of paths, hosts and calls, of profiles and tools."""
import json
import os
import subprocess

from libbrig import BRIG, Daemon, Suite

t = Suite()
NUMBERS = {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'path': {'type': 'string'}}, 'additionalProperties': False}


def why(*argv, env=None):
    r = subprocess.run([BRIG, 'why', *argv, '--json'], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False,
                       env={'PATH': os.environ['PATH'], 'BRIG_STATE': t.dir + '/state', **(env or {})})
    try:
        r.json = json.loads(r.stdout)
    except ValueError:
        r.json = {}
    return r


def is_so(title, r, status, **members):
    t.check(title, r.returncode == status and all(str(r.json.get(k)).startswith(v) for k, v in members.items()), r)


def alone():
    is_so('a call that the filter allows', why('--syscall', 'read'), 0, verdict='allow', layer='seccomp', rule='base.json:')
    is_so('one that it answers with ENOSYS', why('--syscall', 'clone3'), 4, verdict='enosys', layer='seccomp')
    is_so('one that ends the call', why('--syscall', 'bpf'), 4, verdict='kill', layer='seccomp')
    is_so('a path that nothing shows', why('--path', '/etc/shadow'), 4, verdict='deny', layer='mount')
    is_so('a path of the call\'s own', why('--path', '/tmp/x'), 0, verdict='allow', layer='mount')
    is_so('a host', why('--host', 'example.org'), 4, verdict='deny', layer='net', rule='base.json:')
    mine = t.profile('mine', 'stdlib', files={'mounts': [{'from': '/usr/share', 'to': '/data', 'why': 'a test'}]})
    is_so('a profile from a file, with its line', why('--path', '/data/x', '--profile', mine), 0, verdict='allow', rule='mine.json:')
    is_so('a body of run', why('run'), 0, verdict='allow', layer='policy', rule='default.json:')
    r = why('nosuch')
    is_so('a tool that is none', r, 3, verdict='invalid_arguments', layer='tool')
    for argv in ([], ['--path', '/a', '--host', 'b'], ['--path', 'a'], ['--syscall', 'opne'], ['--args', '{}', '--path', '/x'], ['--profile', 'nosuch', '--path', '/']):
        r = why(*argv)
        t.check('usage: why %s' % ' '.join(argv), r.returncode == 2 and r.stderr.startswith('brig: '), r)
    r = subprocess.run([BRIG, 'why', '--host', 'x\x1b[31m'], capture_output=True, text=True, timeout=60, check=False, env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': t.dir + '/state'})
    t.check('for people: a line for each word, 80 columns but for sentences', r.returncode == 4 and r.stdout.startswith('verdict  deny\nlayer    net\n') and '\x1b' not in r.stdout, r)


def create(c, name, **permissions):
    r = c.call('tool.create', {'name': name, 'description': 'A test.', 'parameters': NUMBERS, 'body': 'def run(a=1, path=""):\n    return a\n',
                               **({'permissions': permissions} if permissions else {}), 'profile': 'files-rw' if permissions.get('write') else 'pure'})
    t.check('%s is there' % name, r.get('outcome', 'ok') == 'ok' and r.get('hash'), r)


def daemon():
    work = t.dir + '/work'
    os.mkdir(work)
    conf = t.file('brigd.conf', 'workspace = %s\n' % work)
    os.chmod(conf, 0o644)
    d = Daemon(argv=['--config', conf], stderr=subprocess.DEVNULL)
    env = {'BRIG_STATE': d.state}
    c, admin = d.client(), d.client('admin')
    create(c, 'plain')
    create(c, 'burn', filesystem=True, write=True, scope='destructive')
    create(c, 'put', filesystem=True, write=True, scope='read-write')
    is_so('a tool that computes', why('plain', '--args', '{"a": 1}', env=env), 0, verdict='allow', rule='default.json:', state='draft', profile='pure')
    is_so('one that destroys', why('burn', '--args', '{"path": "x"}', env=env), 4, verdict='escalate', layer='policy', rule='default.json:')
    pending = admin.call('approval.list', {})
    t.check('and no question was asked', not (pending if isinstance(pending, list) else pending.get('approvals')), pending)
    is_so('over admin.sock it is allowed', why('burn', '--admin', '--args', '{"path": "x"}', env=env), 0, verdict='allow')
    for path, status, verdict in (('x', 0, 'allow'), ('/workspace/x', 0, 'allow'), ('../x', 4, 'deny'), ('/etc/x', 4, 'deny'), ('/workspace/../x', 4, 'deny'), (work + '/x', 4, 'deny')):
        is_so('put %s: %s' % (path.replace(t.dir, ''), verdict), why('put', '--args', json.dumps({'path': path}), env=env), status, verdict=verdict, layer='policy')
    is_so('arguments that do not fit', why('plain', '--args', '{"a": "x"}', env=env), 3, verdict='invalid_arguments', layer='parameters')
    is_so('what a tool finds at a path: its own narrowed profile', why('plain', '--path', '/workspace/x', env=env), 4, verdict='deny', layer='mount')
    is_so('where it declared that it reads, a draft may not write', why('put', '--path', '/workspace/x', env=env), 0, verdict='allow', layer='mount')
    r = c.call('why', {'path': '/x', 'profile_text': '{}'})
    t.check('an agent brings no profile of its own', r.get('error', {}).get('code') == -32001, r)
    s = c.call('session.open', {'task': 'x'})
    is_so('in a session', why('plain', '--session', s.get('session', ''), env=env), 0, verdict='allow')
    r = c.call('why', {'tool': 'plain', 'session': 'nosuch'})
    t.check('in none that is', r.get('error', {}).get('code') == -32003, r)
    c.hang_up()
    admin.hang_up()
    d.close()


alone()
daemon()
raise SystemExit(t.finish())
