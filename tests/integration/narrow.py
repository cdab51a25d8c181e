#!/usr/bin/python3
"""Permissions over a real brigd: what a tool did not declare it cannot do, what its tier takes comes back by promotion, and one that the
kernel keeps stopping goes into quarantine."""
import json
import os
import shutil
import subprocess
import sys

from libbrig import BRIG, FACTOR, REPO, Daemon, Suite, Supervisor

t = Suite()
RULES = t.dir + '/rules'
WORK = t.dir + '/work'
AUTHORITY, PARAMS = -32001, -32602

FORK = '''import os, subprocess
def run(how):
    if how == "fork":
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if how == "run":
        return subprocess.run(["/usr/bin/true"]).returncode
    if how == "spawn":
        return os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)[1])
    if how == "exec":
        os.execv("/usr/bin/true", ["true"])
    if how == "pool":
        from concurrent.futures import ProcessPoolExecutor
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(abs, -1).result()
    if how == "hidden":
        try:
            os.fork()
        except OSError as e:
            raise ValueError("no child") from e
    if how == "thread":
        import threading
        got = []
        thread = threading.Thread(target=got.append, args=(1,))
        thread.start()
        thread.join()
        return got
'''
FILE = '''def run(how, path):
    if how == "read":
        return open(path).read()
    with open(path, "w") as f:
        f.write("by the tool")
    return "written"
'''
FILE_2 = FILE + '# another version\n'
NET = '''import socket
def run():
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"x")
            return server.accept()[0].recv(1).decode()
'''
SLEEP = 'import time\ndef run(s):\n    time.sleep(s)\n    return "awake"\n'
ATTACK = 'import ctypes\ndef run(attack):\n    if attack:\n        ctypes.CDLL(None).syscall(101, 0, 0, 0, 0)\n    return "calm"\n'
ATTACK_2 = ATTACK.replace('calm', 'quiet')


def schema(**props):
    return {'type': 'object', 'properties': props, 'required': list(props), 'additionalProperties': False}


STRING, NUMBER, BOOL = {'type': 'string'}, {'type': 'number'}, {'type': 'boolean'}
OF = {FORK: schema(how=STRING), FILE: schema(how=STRING, path=STRING), FILE_2: schema(how=STRING, path=STRING), NET: schema(), SLEEP: schema(s=NUMBER), ATTACK: schema(attack=BOOL), ATTACK_2: schema(attack=BOOL)}
RW = {'filesystem': True, 'write': True, 'scope': 'read-write'}


def config():
    shutil.copytree(REPO + '/profiles', RULES)
    shutil.move(t.profile('looped', 'python', network={'mode': 'loopback'},
                          syscalls={'allow': [{'group': '@sockets-ip', 'why': 'a test'}]}), RULES)
    os.mkdir(WORK)
    with open(WORK + '/there.txt', 'w', encoding='utf-8') as f:
        f.write('somebody\'s words')
    policy = t.file('policy.json', json.dumps({'rules': [{'name': 'all', 'match': '*', 'decide': 'allow'}]}))
    return t.file('brigd.conf', 'policy = %s\nworkspace = %s\nquarantine_after = 2\nprofiles_dir = %s\n' % (policy, WORK, RULES))


class Host:
    def __init__(self, conf, state):
        self.daemon = Daemon(('--config', conf), state=state, stderr=subprocess.DEVNULL)
        self.agent, self.admin = self.daemon.client(), self.daemon.client('admin')

    def create(self, name, body, profile='python', permissions=None, quiet=False, **more):
        r = self.agent.call('tool.create', {'name': name, 'description': 'a test', 'parameters': OF[body], 'body': body, 'profile': profile,
                                            **({} if permissions is None else {'permissions': permissions}), **more})
        if 'hash' not in r and not quiet:
            t.check('%s is created' % name, False, r)
        return r

    def call(self, name, **args):
        return self.agent.call('call', {'name': name, 'args': args})

    def tool(self, name):
        got = self.agent.call('tool.get', {'name': name})
        return {**got['tool'], 'observed': got.get('observed')} if 'tool' in got else got

    def close(self):
        self.agent.hang_up()
        self.admin.hang_up()
        return self.daemon.close()


def ok(r, result):
    return r.get('outcome') == 'ok' and r.get('result') == result


def lacks(r, permission, rule, *words):
    """A tool's error whose cause names the permission and who did not give it."""
    c = r.get('cause', {})
    return r.get('outcome') == 'tool_error' and c.get('evidence', {}).get('permission') == permission and permission in c['what'] and \
        c.get('rule', '').startswith(rule) and all(w in c['hint'] for w in words)


def programs(h):
    h.create('no_children', FORK, permissions={})
    h.create('children', FORK, permissions={'subprocess': True})
    for how, result in (('fork', 7), ('run', 0), ('spawn', 0), ('pool', 1)):
        r = h.call('no_children', how=how)
        t.check('undeclared: %s is refused by the kernel, and the permission is named' % how,
                lacks(r, 'subprocess', 'tool: not declared', '"subprocess":true'), r)
        r = h.call('children', how=how)
        t.check('declared: %s works in a draft' % how, ok(r, result), r)
    r = h.call('no_children', how='exec')
    t.check('undeclared: no other program in its place', lacks(r, 'subprocess', 'tool: not declared'), r)
    r = h.call('no_children', how='hidden')
    t.check('a refusal behind another error is found', lacks(r, 'subprocess', 'tool: not declared') and r['error']['type'] == 'ValueError', r)
    r = h.call('no_children', how='thread')
    t.check('threads need no permission', ok(r, [1]), r)


def files(h):
    h.create('blind', FILE, 'rw_full', {})
    h.create('reader', FILE, 'rw_full', {'filesystem': True})
    h.create('writer', FILE, 'rw_full', RW)
    there, new = '/workspace/there.txt', '/workspace/new.txt'
    r = h.call('blind', how='read', path=there)
    t.check('filesystem undeclared: the workspace is not there', lacks(r, 'filesystem', 'tool: not declared', '"filesystem":true'), r)
    r = h.call('reader', how='read', path=there)
    t.check('filesystem declared: it is', ok(r, 'somebody\'s words'), r)
    r = h.call('reader', how='write', path=new)
    t.check('write undeclared: read-only', lacks(r, 'write', 'tool: not declared', '"write":true') and not os.path.exists(WORK + '/new.txt'), r)
    r = h.call('reader', how='write', path='/usr/lib/x')
    t.check('what no permission would give is an ordinary error', r['outcome'] == 'tool_error' and 'permission' not in r['cause']['evidence'], r)
    r = h.call('writer', how='write', path=new)
    t.check('write declared, a draft: its tier takes it', lacks(r, 'write', 'tier draft', 'promote writer') and not os.path.exists(WORK + '/new.txt'), r)
    r = h.call('writer', how='write', path='/tmp/x')
    t.check('its own /tmp is always there', ok(r, 'written'), r)
    r = h.admin.call('tool.promote', {'name': 'writer'})
    t.check('promoted to probation', r.get('state') == 'probation' and r.get('was') == 'draft', r)
    r = h.call('writer', how='write', path=new)
    t.check('then it writes', ok(r, 'written') and open(WORK + '/new.txt', encoding='utf-8').read() == 'by the tool', r)
    h.create('writer', FILE_2, 'rw_full', RW, replace=True)
    r = h.call('writer', how='write', path=new)
    t.check('its next version is a draft again', h.tool('writer')['state'] == 'draft' and lacks(r, 'write', 'tier draft'), r)


def network(h):
    h.create('offline', NET, 'looped', {})
    h.create('online', NET, 'looped', {'network': True})
    r = h.call('offline')
    t.check('network undeclared: no socket', lacks(r, 'network', 'tool: not declared', '"network":true'), r)
    for state in ('draft', 'probation'):
        r = h.call('online')
        t.check('network declared, %s: its tier takes it' % state, lacks(r, 'network', 'tier %s (tiers/%s.json:' % (state, state)), r)
        h.admin.call('tool.promote', {'name': 'online'})
    r = h.call('online')
    t.check('approved: it connects', ok(r, 'x'), r)
    h.create('nowhere', NET, 'python', {'network': True})
    h.admin.call('tool.promote', {'name': 'nowhere', 'to': 'approved'})
    r = h.call('nowhere')
    t.check('what the profile does not grant no promotion gives', lacks(r, 'network', 'base.json:', 'profile'), r)


def tiers(h):
    h.create('sleeper', SLEEP, permissions={})
    h.create('sleeper_2', SLEEP, permissions={})
    path = RULES + '/tiers/draft.json'
    with open(path, encoding='utf-8') as f:
        was = f.read()
    ms = int(1000 * FACTOR)

    def put(text):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return h.admin.call('reload', {})
    r = h.call('sleeper', s=0)
    t.check('a draft runs', ok(r, 'awake'), r)
    put(was.replace('"10s"', '"%dms"' % ms))
    r = h.call('sleeper', s=2.0 * FACTOR)
    t.check('a tier that was edited by hand holds after a reload', r['outcome'] == 'timeout' and r['cause']['evidence']['limit_ms'] == ms and
            r['cause']['rule'].startswith('tier draft (tiers/draft.json:'), r)
    h.admin.call('tool.promote', {'name': 'sleeper', 'to': 'approved'})
    r = h.call('sleeper', s=1.5 * FACTOR)
    t.check('and not for what is approved', ok(r, 'awake'), r)
    r = put(was.replace('"10s"', '"10 sec"'))
    t.check('a wrong tier refuses the reload by its place', 'draft.json:' in json.dumps(r.get('error', {})), r)
    os.unlink(path)
    h.admin.call('reload', {})
    r = h.call('sleeper_2', s=0)
    t.check('without its tier no draft runs', r.get('outcome') != 'ok' and 'tier' in json.dumps(r), r)
    put(was)
    for name in ('draft', 'tiers/draft'):
        r = h.agent.call('run', {'body': 'def run(): return 1', 'profile': name})
        t.check('a tier is no profile: %s' % name, 'no profile' in json.dumps(r.get('error', {})), r)
    names = [p['name'] for p in h.agent.call('profile.list', {})]
    t.check('and is not listed as one', 'draft' not in names and 'python' in names, names)


def who_decides(h):
    h.create('judged', SLEEP, permissions={})
    for method, more in (('promote', {}), ('quarantine', {'reason': 'x'}), ('restore', {})):
        r = h.agent.call('tool.' + method, {'name': 'judged', **more})
        t.check('tool.%s is not for agent.sock' % method, r.get('error', {}).get('code') == AUTHORITY, r)
    now = h.tool('judged')

    def refused(title, method, params, *words):
        r = h.admin.call('tool.' + method, params)
        t.check(title, r.get('error', {}).get('code') == PARAMS and all(w in json.dumps(r) for w in words), r)
    refused('another hash than the operator saw', 'promote', {'name': 'judged', 'hash': 'sha256:' + '0' * 64}, 'drift', now['hash'])
    refused('no such tool', 'promote', {'name': 'judget'}, 'no tool is called')
    refused('no such state', 'promote', {'name': 'judged', 'to': 'draft'}, 'probation or approved')
    refused('no name', 'promote', {}, 'name')
    refused('a name that is none', 'promote', {'name': 'a/b'}, 'character')
    refused('quarantine without a reason', 'quarantine', {'name': 'judged'}, 'reason')
    refused('a reason without end', 'quarantine', {'name': 'judged', 'reason': 'x' * 1000}, 'longer')
    refused('restore of what is not in quarantine', 'restore', {'name': 'judged'}, 'is draft')
    r = h.admin.call('tool.promote', {'name': 'judged', 'hash': now['hash'], 'to': 'approved'})
    t.check('the hash that he saw', r.get('state') == 'approved', r)
    refused('nothing to promote', 'promote', {'name': 'judged'}, 'is approved')
    r = h.admin.call('tool.quarantine', {'name': 'judged', 'reason': 'odd "words"'})
    t.check('quarantine by an operator', r.get('state') == 'quarantined', r)
    r = h.call('judged', s=0)
    t.check('it does not run, and says why', r['outcome'] == 'denied' and 'odd \\"words\\"' in json.dumps(r['cause']) and 'restore' in r['cause']['hint'], r)
    refused('promoted out of quarantine', 'promote', {'name': 'judged'}, 'restore')
    r = h.admin.call('tool.restore', {'name': 'judged', 'to': 'probation'})
    t.check('given back as what he says', r.get('state') == 'probation' and h.call('judged', s=0)['outcome'] == 'ok', r)


def cli(h):
    env = {'PATH': '/usr/bin:/bin', 'BRIG_STATE': h.daemon.state}

    def brig(*argv):
        p = subprocess.run([BRIG, 'tool', *argv], env=env, capture_output=True, text=True, timeout=60 * FACTOR)
        return p.returncode, p.stdout, p.stderr
    h.create('by_hand', SLEEP, permissions={})
    r = brig('promote', 'by_hand')
    t.check('brig tool promote', r[0] == 0 and 'is probation now; it was draft' in r[1], r)
    r = brig('quarantine', 'by_hand')
    t.check('brig tool quarantine wants a reason', r[0] == 2 and '--reason' in r[2], r)
    r = brig('quarantine', 'by_hand', '--reason', 'a test', '--json')
    t.check('brig tool quarantine', r[0] == 0 and json.loads(r[1])['state'] == 'quarantined', r)
    r = brig('restore', 'by_hand', '--to', 'approved', '--hash', 'sha256:00')
    t.check('brig tool restore of another version', r[0] != 0 and 'drift' in r[2], r)
    r = brig('restore', 'by_hand', '--to', 'approved')
    t.check('brig tool restore', r[0] == 0 and 'is approved now' in r[1], r)


def evidence(h):
    h.create('attacker', ATTACK, permissions={})
    h.create('attacker_2', ATTACK, permissions={})
    r = h.call('attacker', attack=False)
    t.check('a calm call', ok(r, 'calm'), r)
    r = h.call('attacker', attack=True)
    t.check('one denied action is no quarantine yet', r['outcome'] == 'syscall_denied' and h.tool('attacker')['state'] == 'draft', r)
    r = h.call('attacker', attack=True)
    last = r
    t.check('the second is, and the answer says so', r['outcome'] == 'syscall_denied' and 'quarantine' in r['cause']['hint'] and
            h.tool('attacker')['state'] == 'quarantined', r)
    r = h.call('attacker', attack=False)
    words = json.dumps(r['cause'])
    t.check('then no call of it runs; count, call and system call are told', r['outcome'] == 'denied' and 'receipt' not in r and
            last['call_id'] in words and 'ptrace' in words and 'stopped 2' in words and 'restore' in words, r)
    r = h.create('attacker', ATTACK_2, permissions={}, replace=True, quiet=True)
    t.check('its author may not replace it', r['outcome'] == 'denied' and 'quarantine' in json.dumps(r), r)
    r = h.agent.call('tool.remove', {'name': 'attacker'})
    t.check('nor remove it', r['outcome'] == 'denied' and 'quarantine' in json.dumps(r), r)
    t.check('of it alone', ok(h.call('attacker_2', attack=False), 'calm'))
    seen = h.tool('attacker').get('observed', {})
    t.check('tool.get tells what was seen', seen.get('calls') == 4 and seen.get('outcomes') == {'ok': 1, 'syscall_denied': 2, 'denied': 1}, seen)
    return last


def after_restart(h, last):
    r = h.call('attacker', attack=False)
    t.check('after a restart it is still in quarantine, with the evidence', r['outcome'] == 'denied' and last['call_id'] in json.dumps(r['cause']), r)
    r = h.admin.call('tool.restore', {'name': 'attacker'})
    t.check('restored, it is a draft', r.get('state') == 'draft', r)
    t.check('and runs', ok(h.call('attacker', attack=False), 'calm'))
    h.call('attacker', attack=True)
    t.check('the next denied action brings it back at once', h.tool('attacker')['state'] == 'quarantined', h.tool('attacker').get('why'))
    t.check('what was promoted before stays so', h.tool('online')['state'] == 'approved' and ok(h.call('online'), 'x'), h.tool('online')['state'])


def observed(h):
    seen = h.tool('no_children')['observed']
    t.check('missing permissions are summed up', seen['missing'].get('subprocess', 0) >= 5 and seen['unused'] == [], seen)
    h.create('idle', SLEEP, permissions={'subprocess': True})
    h.call('idle', s=0)
    seen = h.tool('idle')['observed']
    t.check('what was declared and never used is named', seen['unused'] == ['subprocess'] or seen['tasks_peak'] is None, seen)
    h.call('children', how='fork')
    seen = h.tool('children')['observed']
    t.check('and not what was', seen['unused'] == [], seen)


def private():
    """Two private supervisors on one registry: what one puts into quarantine the other does not run. Nobody there can promote."""
    env = {'BRIG_STATE': t.dir + '/p'}
    os.mkdir(env['BRIG_STATE'])
    a, b = Supervisor(env=env), Supervisor(env=env)
    r = a.call('tool.create', {'name': 'attacker', 'description': 'a test', 'parameters': OF[ATTACK], 'body': ATTACK, 'profile': 'python',
                               'permissions': {}})
    t.check('private: a tool is made', r.get('state') == 'draft', r)

    def call(c, attack):
        return c.call('call', {'name': 'attacker', 'args': {'attack': attack}})
    got = [call(c, True).get('outcome') for c in (a, b, a)]
    t.check('private: the calls of both are counted', got == ['syscall_denied'] * 3, got)
    r = [call(a, False), call(b, False)]
    t.check('private: then neither runs it', all(x['outcome'] == 'denied' and 'stopped 3' in json.dumps(x) for x in r), r)
    r = a.call('tool.restore', {'name': 'attacker'})
    t.check('private: who asks may not give it back', r.get('error', {}).get('code') == AUTHORITY, r)
    r = b.call('tool.remove', {'name': 'attacker'})
    t.check('private: its owner can remove it, for there is no operator to ask', r.get('outcome') == 'ok', r)
    t.check('private: both end well', [a.close(), b.close()] == [0, 0])


def recorded(state):
    """What an operator and the kernel did, in the audit log."""
    rows = []
    for name in sorted(os.listdir(state + '/audit')):
        with open(state + '/audit/' + name, encoding='utf-8') as f:
            rows += [json.loads(line) for line in f if line.startswith('{')]
    states = [r for r in rows if r.get('kind') == 'tool_state']
    text = json.dumps(states)
    t.check('changes of state are in the audit log', 'draft -> probation' in text and '"reason": {"sha256"' in text and 'ptrace' in text and
            all(r.get('tool') for r in states), text[:600])


def main():
    conf = config()
    with open(RULES + '/rw_full.json', 'w', encoding='utf-8') as f:
        json.dump({'name': 'rw_full', 'why': 'a test', 'extends': 'files-rw', 'python': {'builtins': 'full'}}, f)
    state = t.dir + '/d'
    os.mkdir(state)
    h = Host(conf, state)
    programs(h)
    if os.geteuid() == 0:
        files(h)
    network(h)
    tiers(h)
    who_decides(h)
    cli(h)
    last = evidence(h)
    observed(h)
    h.close()
    h = Host(conf, state)
    after_restart(h, last)
    h.close()
    recorded(state)
    private()
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
