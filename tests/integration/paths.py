#!/usr/bin/python3
"""The reviewed tools on a workspace: what is in it is served, and no path, no kind of file and no race leads out of it.

Canaries lie outside: their text must never be in an answer, and they must stay as they are to the byte and the nanosecond."""
import itertools
import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time

from libbrig import BUILD, FACTOR, Daemon, Suite, Supervisor

SECRET = 'CANARY-7f3a91'
OWNER = 1000


class Place:
    """A workspace, and beside it what nobody may reach."""

    def __init__(self, owner):
        self.dir = tempfile.mkdtemp(prefix='brig-p-', dir='/var/tmp')
        os.chmod(self.dir, 0o755)
        self.ws, self.out = self.dir + '/ws', self.dir + '/outside'
        for d in (self.ws, self.out, self.ws + '/sub', self.ws + '/sub/deep'):
            os.mkdir(d)
        self.put('good.txt', 'inside\n')
        self.put('sub/deep/x.txt', 'deep\n')
        self.put('private.txt', 'of the owner alone\n', 0o600)
        for name in ('secret.txt', 'passwd'):
            with open(self.out + '/' + name, 'w') as f:
                f.write(SECRET)
            os.chmod(self.out + '/' + name, 0o666)  # permission is not what stops them
        os.chmod(self.out, 0o777)
        for base, dirs, files in os.walk(self.ws):
            for n in [base] + [base + '/' + f for f in files]:
                os.chown(n, owner, owner)
        self.owner = owner
        self.kinds()
        self.before = self.look()

    def put(self, name, text, mode=0o644):
        with open(self.ws + '/' + name, 'w') as f:
            f.write(text)
        os.chmod(self.ws + '/' + name, mode)

    def kinds(self):
        w = self.ws
        os.symlink(self.out + '/secret.txt', w + '/abs_link')
        os.symlink('../outside/secret.txt', w + '/rel_link')
        os.symlink(self.out, w + '/dir_link')
        os.symlink('../outside', w + '/rel_dir')
        os.symlink('/proc/self/root' + self.out, w + '/magic')
        os.symlink('/proc/1/cwd', w + '/magic2')
        os.symlink('good.txt', w + '/in_link')
        os.symlink('loop_b', w + '/loop_a')
        os.symlink('loop_a', w + '/loop_b')
        os.symlink('abs_link', w + '/chain')
        os.symlink('.', w + '/self')
        os.symlink('/', w + '/root')
        os.link(self.out + '/secret.txt', w + '/hard')
        os.mkfifo(w + '/fifo', 0o666)
        os.chmod(w + '/fifo', 0o666)
        s = socket.socket(socket.AF_UNIX)
        s.bind(w + '/socket')
        s.close()
        os.mknod(w + '/null', 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        os.chmod(w + '/null', 0o666)
        with open(w + '/others.txt', 'w') as f:
            f.write(SECRET)
        os.chown(w + '/others.txt', 4242, 4242)
        os.chmod(w + '/others.txt', 0o600)
        with open(w + '/others_666.txt', 'w') as f:
            f.write('anybody may read this\n')
        os.chown(w + '/others_666.txt', 4242, 4242)
        os.chmod(w + '/others_666.txt', 0o666)

    def look(self):
        got = {}
        for name in sorted(os.listdir(self.out)):
            st = os.stat(self.out + '/' + name)
            with open(self.out + '/' + name) as f:
                got[name] = (f.read(), st.st_mode, st.st_uid, st.st_mtime_ns, st.st_size)
        with open(self.ws + '/others.txt') as f:
            got['others'] = f.read()
        with open(self.ws + '/others_666.txt') as f:
            got['others_666'] = f.read()
        return got

    def done(self):
        shutil.rmtree(self.dir)


def supervisor(place, state):
    return Supervisor(env={'BRIG_STATE': state, 'BRIG_WORKSPACE': place.ws})


def hostile_paths(place):
    """Paths of which none names a regular file inside, with one name, that is the owner's."""
    outs = ['../outside/secret.txt', '..', '../..', '../../../../../../etc/passwd', '/etc/passwd', place.out + '/secret.txt', '//etc/passwd',
            '/workspace/../etc/passwd', 'sub/../../outside/secret.txt', 'sub/deep/../../../outside/secret.txt', 'nope/../../outside/secret.txt',
            'good.txt/../../outside/secret.txt', '.../secret.txt', '..\\outside\\secret.txt', '%2e%2e/outside/secret.txt', '..%2foutside',
            '\uff0e\uff0e/outside/secret.txt', '\u2024\u2024/outside/secret.txt', '..\u2215outside\u2215secret.txt', '.. /outside/secret.txt',
            ' ../outside/secret.txt', '../outside/secret.txt ', '..\t/outside', '..\n/outside', '..\u200b/outside/secret.txt', '\u202e../outside',
            'file:///etc/passwd', '~', '~/x', '~root/.ssh/id', '$HOME/x', '`id`', '*', '?', 'good.txt\u0000', '\u0000', 'a\u0000/../../x', '', ' ',
            '.', './', './.', 'sub/', 'sub//deep/x.txt', 'sub/./deep/x.txt', './good.txt', 'good.txt/', 'good.txt/.', 'x' * 300, 'x/' * 500 + 'x',
            '/'.join(['..'] * 200), '/' * 1000, '-', '--help', 'con', 'good.txt:stream', '/dev/stdin', '/dev/fd/3', '/proc/self/mem', '/proc/1/root/etc/passwd',
            'socket', 'null', 'fifo', 'hard', 'others.txt', 'sub', 'sub/deep', 'root/etc/passwd', 'root' + place.out + '/secret.txt']
    links = ['abs_link', 'rel_link', 'dir_link', 'rel_dir', 'magic', 'magic2', 'in_link', 'loop_a', 'loop_b', 'chain', 'self', 'root']
    tails = ['', '/', '/secret.txt', '/passwd', '/../outside/secret.txt', '/good.txt', '/.', '/..', '/sub/../..', '/self/good.txt']
    return list(dict.fromkeys(outs + [a + b for a, b in itertools.product(links, tails)]))


def legit(tool, path):
    """list_files may list directories, which no link may lead to."""
    return tool == 'list_files' and path in ('.', 'sub', 'sub/deep')


def every_path(t, place, s, who):
    paths, wrong, leaks, served = hostile_paths(place), [], [], []
    for path in paths:
        for tool, args in (('read_file', {}), ('list_files', {'depth': 3}), ('write_file', {'content': 'x', 'mode': 'overwrite'}),
                           ('write_file', {'content': 'x', 'mode': 'create'}), ('write_file', {'content': 'x', 'mode': 'append'})):
            r = s.call('call', {'name': tool, 'args': {'path': path, **args}})
            text = json.dumps(r)
            if SECRET in text:
                leaks.append((tool, path))
            if r.get('outcome') == 'ok' and not legit(tool, path):
                served.append((tool, args.get('mode'), path, r.get('result')))
            elif r.get('outcome') not in ('ok', 'denied', 'tool_error', 'invalid_arguments'):
                wrong.append((tool, path, text[:200]))
    made = {p[2] for p in served if p[0] == 'write_file'}
    # A name that only looks hostile is a name like others: it was made inside, as a regular file with one name.
    odd = [p for p in made if not (os.path.isfile(place.ws + '/' + p) and not os.path.islink(place.ws + '/' + p) and os.stat(place.ws + '/' + p).st_nlink == 1 and
                                   '/' not in p)]
    read = [p for p in served if p[0] != 'write_file' and p[2] not in made]
    t.check('%s: %d hostile paths, five ways each: each has its answer' % (who, len(paths)), len(paths) > 150 and not wrong, wrong[:5])
    t.check('%s: none of them shows what lies outside' % who, not leaks, leaks[:5])
    t.check('%s: none is served, but odd names that lie inside' % who, not odd and not read, (odd[:5], read[:5]))
    t.check('%s: what lies outside is as it was' % who, place.look() == place.before, place.look())
    for p in made:
        if os.path.isfile(place.ws + '/' + p):
            os.unlink(place.ws + '/' + p)


def good_ones(t, place, s, who):
    def call(tool, **args):
        return s.call('call', {'name': tool, 'args': args})
    r = call('read_file', path='good.txt')
    t.check('%s: a file is read' % who, r.get('outcome') == 'ok' and r['result']['text'] == 'inside\n', r)
    r = call('read_file', path='private.txt')
    t.check('%s: one that only its owner may read, too' % who, r.get('outcome') == 'ok' and r['result']['text'].startswith('of the owner'), r)
    r = call('read_file', path='others_666.txt')
    t.check('%s: what anybody may read is read' % who, r.get('outcome') == 'ok', r)
    r = call('write_file', path='others_666.txt', content='x', mode='overwrite')
    t.check('%s: another owner\'s file is not written, whatever its mode' % who, r.get('outcome') == 'tool_error', r)
    r = call('read_file', path='sub/deep/x.txt', offset=1, limit=2)
    t.check('%s: a part of one' % who, r.get('outcome') == 'ok' and r['result']['text'] == 'ee' and r['result']['truncated'] is True, r)
    r = call('list_files', depth=3)
    names = [e['path'] for e in r.get('result', {}).get('entries', [])]
    t.check('%s: a listing goes down, and follows no link' % who, 'sub/deep/x.txt' in names and 'dir_link' in names and not any(n.startswith(('dir_link/', 'self/')) for n in names), names)
    r = call('write_file', path='sub/new.txt', content='h\u00e9llo')
    t.check('%s: a file is made' % who, r.get('outcome') == 'ok' and r['result']['created'] is True, r)
    st = os.stat(place.ws + '/sub/new.txt') if os.path.exists(place.ws + '/sub/new.txt') else None
    t.check('%s: and belongs to the owner of the workspace' % who, st and st.st_uid == place.owner and st.st_gid == place.owner, st)
    r = call('write_file', path='sub/new.txt', content='x')
    t.check('%s: made once' % who, r.get('outcome') == 'tool_error', r)
    call('write_file', path='sub/new.txt', content='!', mode='append')
    call('write_file', path='good.txt', content='other', mode='overwrite')
    with open(place.ws + '/sub/new.txt', encoding='utf-8') as f, open(place.ws + '/good.txt') as g:
        t.check('%s: lengthened, and another one replaced' % who, f.read() == 'h\u00e9llo!' and g.read() == 'other')
    place.put('good.txt', 'inside\n')
    r = call('run_python', code='import os\nos.listdir("/")')
    t.check('%s: code sees no workspace' % who, r.get('outcome') == 'ok' and 'workspace' not in r['result'], r)


def race(t, place, s):
    """Somebody on the host swaps a directory for a link to the outside, as fast as he can."""
    real, link, spot = place.ws + '/real', place.ws + '/link', place.ws + '/spot'
    os.mkdir(real)
    with open(real + '/secret.txt', 'w') as f:
        f.write('inside')
    os.symlink(place.out, link)
    subprocess.run(['chown', '-hR', str(place.owner), real, link], check=True)
    os.rename(real, spot)
    stop, swaps = threading.Event(), [0]

    def swap():
        while not stop.is_set():
            os.rename(spot, real)
            os.rename(link, spot)
            os.rename(spot, link)
            os.rename(real, spot)
            swaps[0] += 2

    racer = threading.Thread(target=swap)
    racer.start()
    leaks, inside, odd = [], 0, []
    end = time.monotonic() + 6
    n = 0
    try:
        while time.monotonic() < end:
            n += 1
            for tool, args in (('read_file', {}), ('write_file', {'content': 'raced', 'mode': 'overwrite'}), ('write_file', {'content': 'raced', 'mode': 'create'})):
                path = 'spot/secret.txt' if args.get('mode') != 'create' else 'spot/made%d' % n
                r = s.call('call', {'name': tool, 'args': {'path': path, **args}})
                if SECRET in json.dumps(r):
                    leaks.append(r)
                inside += r.get('outcome') == 'ok'
                if r.get('outcome') not in ('ok', 'tool_error'):
                    odd.append(r)
    finally:
        stop.set()
        racer.join()
    t.check('a race of a directory against a link (%d calls, %d swaps): nothing leaks' % (3 * n, swaps[0]), not leaks and not odd and swaps[0] > 100, (leaks[:2], odd[:2]))
    t.check('some calls met the directory', inside > 0, inside)
    t.check('and nothing was written outside', place.look() == place.before, place.look())


HARM = '''import os
def run():
    out = {}
    def attempt(name, act):
        try:
            act(); out[name] = 'done'
        except OSError as e:
            out[name] = 'refused'
    os.close(os.open('/workspace/mine', os.O_CREAT | os.O_WRONLY, 0o644))
    attempt('set-uid by chmod', lambda: os.chmod('/workspace/mine', 0o4755))
    attempt('set-uid by open', lambda: os.open('/workspace/mine2', os.O_CREAT | os.O_WRONLY, 0o4755))
    attempt('device', lambda: os.mknod('/workspace/dev', 0o20666, os.makedev(1, 1)))
    attempt('hard link out', lambda: os.link('/etc/passwd', '/workspace/l'))
    attempt('capability', lambda: os.setxattr('/workspace/mine', 'security.capability', b'\\x01' * 20))
    attempt('owner', lambda: os.chown('/workspace/mine', 0, 0))
    attempt('others file', lambda: os.open('/workspace/others_666.txt', os.O_WRONLY))
    attempt('read others', lambda: os.open('/workspace/others.txt', os.O_RDONLY))
    attempt('write /etc', lambda: os.open('/etc/passwd', os.O_WRONLY))
    attempt('write /', lambda: os.mkdir('/x'))
    attempt('write /usr', lambda: os.mkdir('/usr/x'))
    attempt('up', lambda: os.open('/workspace/../outside/secret.txt', os.O_RDONLY))
    attempt('link out', lambda: os.open('/workspace/abs_link', os.O_RDONLY))
    attempt('execute', lambda: os.execv('/workspace/mine', ['x']))
    attempt('socket of the host', lambda: __import__('socket').socket(1).connect('/workspace/socket'))
    return out
'''


def harm(t, place, s, who):
    """The same without the reviewed tools' manners: any code, with the workspace writable. The kernel's walls alone."""
    r = s.call('run', {'body': HARM, 'profile': 'files-rw', 'args': {}})
    done = sorted(k for k, v in (r.get('result') or {'no answer': 'done'}).items() if v != 'refused')
    t.check('%s: any code, a writable workspace: all of it is refused' % who, r.get('outcome') == 'ok' and not done, done or r)
    t.check('%s: nothing outside has changed' % who, place.look() == place.before, place.look())
    modes = [n for n in os.listdir(place.ws) if not os.path.islink(place.ws + '/' + n) and os.lstat(place.ws + '/' + n).st_mode & 0o6000]
    t.check('%s: no set-id bit is left in the workspace' % who, not modes, modes)
    r = s.call('run', {'body': HARM, 'profile': 'files-ro', 'args': {}})
    t.check('%s: read-only, nothing can be made at all' % who, r.get('outcome') == 'tool_error' and 'Read-only' in json.dumps(r.get('error')), r)


def slots(t, place, state):
    """Jails at the same time: each has a mount of its own, all with the same files."""
    s = supervisor(place, state)
    body = 'import os, time\ndef run():\n    time.sleep(0.5)\n    return os.stat("/workspace/good.txt").st_uid\n'
    ids = [s.send('run', {'body': body, 'profile': 'files-rw', 'args': {}}) for _ in range(6)]
    got = [s.recv().get('result', {}) for _ in ids]
    t.check('six at once, each with a host id of its own, own the workspace', all(g.get('result') == 1000 for g in got) and
            len({g.get('receipt', {}).get('host_uid') for g in got}) == 6, got)
    mounts = sum(place.ws in line or '/mounts/' in line for line in open('/proc/self/mountinfo'))
    t.check('the host sees none of these mounts', mounts == 0, mounts)
    s.close()


def none(t, state):
    s = Supervisor(env={'BRIG_STATE': state})
    r = s.call('call', {'name': 'read_file', 'args': {'path': 'x'}})
    t.check('without a workspace: setup_failed, and what to set', r.get('outcome') == 'setup_failed' and 'workspace' in json.dumps(r.get('cause')), r)
    r = s.call('call', {'name': 'run_python', 'args': {'code': '6 * 7'}})
    t.check('what needs none still runs', r.get('outcome') == 'ok' and r.get('result') == 42, r)
    s.close()
    p = subprocess.run([BUILD + '/brigd', '--check'], env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': state, 'BRIG_WORKSPACE': '/nonexistent/ws'},
                       capture_output=True, text=True, timeout=60 * FACTOR)
    t.check('one that is not there is named', p.returncode != 0 and '/nonexistent/ws' in p.stderr, p.stderr)


def relative(t, place):
    """A file that was named by a relative path is found again, after a zygote had to be started from another directory, too."""
    t.file('here.conf', 'workspace = %s\n' % place.ws)
    os.chmod(t.dir + '/here.conf', 0o600)
    d = Daemon(['--config', 'here.conf'], cwd=t.dir, stderr=subprocess.DEVNULL)
    c = d.client('admin')
    r = c.call('call', {'name': 'read_file', 'args': {'path': 'good.txt'}})
    t.check('a daemon serves its workspace', r.get('outcome') == 'ok' and r['result']['text'] == 'inside\n', r)
    r = c.call('reload', {})
    t.check('... and finds its configuration again by a relative path', r.get('config') == 'here.conf', r)
    c.hang_up()
    d.close()


def main():
    t = Suite()
    state = tempfile.mkdtemp(prefix='brig-s-', dir='/var/tmp')
    if os.geteuid() != 0:
        t.check('the workspace of others # SKIP needs root', True)
        return t.finish()
    for owner, who in ((OWNER, 'a user\'s workspace'), (0, 'root\'s workspace')):
        place = Place(owner)
        s = supervisor(place, state)
        good_ones(t, place, s, who)
        every_path(t, place, s, who)
        harm(t, place, s, who)
        if owner:
            race(t, place, s)
        t.check('%s: the supervisor ends well' % who, s.close() == 0)
        if owner:
            slots(t, place, state)
            relative(t, place)
        place.done()
    none(t, state)
    shutil.rmtree(state)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
