"""For tests of the gate: tools, a policy of their own, connections of another uid."""
import json
import os
import re
import signal
import socket

from libbrig import BUILD, Client, Daemon, Suite, WAITED

PURE = {'filesystem': False, 'network': False, 'subprocess': False, 'write': False, 'scope': 'read-only'}
DESTRUCTIVE = {**PURE, 'scope': 'destructive'}
AGENT = 64245


def takes_all_of(body):
    """A schema for the arguments of run, each of which may be anything."""
    words = re.search(r'def run\((.*?)\)', body).group(1).replace(' ', '').split(',')
    needed = [w for w in words if w and not w.startswith('*')]
    return {'type': 'object', 'properties': {w: {} for w in needed}, 'required': needed}


def create(client, name, body, permissions=None, parameters=None, **more):
    params = {'name': name, 'description': 'for a test', 'parameters': parameters or takes_all_of(body), 'body': body, **more}
    params['permissions'] = permissions or PURE
    r = client.call('tool.create', params)
    if 'hash' not in r:
        raise RuntimeError('tool.create: %s' % json.dumps(r)[:600])
    return r


def outcome(r):
    return r.get('outcome', r.get('error', {}).get('code'))


def daemon(t, policy=None, config='', **more):
    """One whose agents run as AGENT where we are root, with that policy (rules)."""
    text = config + ('agent_users = %d %d\nagent_mode = 0666\n' % (AGENT, AGENT + 1) if os.geteuid() == 0 and 'agent_users' not in config else '')
    if policy is not None:
        t.policy_path = t.file('policy.json', json.dumps({'rules': policy}, indent=1))
        os.chmod(t.policy_path, 0o644)
        text += 'policy = %s\n' % t.policy_path
    t.config_path = t.file('brigd.conf', text)
    os.chmod(t.config_path, 0o644)
    return Daemon(argv=('--config', t.config_path), **more)


def rules(t, policy):
    """They are written; a reload takes them."""
    with open(t.policy_path, 'w', encoding='utf-8') as f:
        json.dump({'rules': policy}, f, indent=1)


def agent(d, uid=AGENT, which='agent'):
    """A connection that another uid made: SO_PEERCRED tells who connected."""
    if os.geteuid() != 0:
        return d.client(which)
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            s = socket.socket(socket.AF_UNIX)
            s.connect(d.path(which))
            socket.send_fds(theirs, [b'x'], [s.fileno()])
            status = 0
        finally:
            os._exit(status)
    WAITED.add(pid)
    theirs.close()
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
        raise RuntimeError('uid %d cannot connect' % uid)
    _, fds, _, _ = socket.recv_fds(ours, 1, 1)
    ours.close()
    return Client(socket.socket(fileno=fds[0]))


def pid_of(d, name):
    """The child of the keeper of that name."""
    with open('/proc/%d/task/%d/children' % (d.p.pid, d.p.pid), encoding='ascii') as f:
        children = f.read().split()
    for pid in children:
        with open('/proc/%s/comm' % pid, encoding='ascii') as f:
            if f.read().strip() == name:
                return int(pid)
    raise RuntimeError('no %s' % name)


def kill_core(d):
    """SIGKILL; another one begins."""
    os.kill(pid_of(d, 'brigd: core'), signal.SIGKILL)


def log_of(d):
    records = []
    for name in sorted(os.listdir(d.state + '/audit')):
        with open(d.state + '/audit/' + name, encoding='utf-8') as f:
            records += [json.loads(line) for line in f if line.strip()]
    return records


assert BUILD and Suite
