"""For integration tests in Python: run brig, speak to a private supervisor, see what is left, print TAP."""
import atexit
import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('BUILD_DIR', REPO + '/build')
BRIG = os.environ.get('BRIG', BUILD + '/brig')
FACTOR = float(os.environ.get('BRIG_TIME_FACTOR', '1'))
# For a brigd that was built with sanitizers.
SANITIZE = {k: os.environ[k] for k in ('ASAN_OPTIONS', 'LSAN_OPTIONS', 'UBSAN_OPTIONS') if k in os.environ}
sys.path.insert(0, REPO + '/tests/escape')
sys.dont_write_bytecode = True
from libhost import descendants  # noqa: E402

EXIT_OF = {'ok': 0, 'tool_error': 1, 'invalid_arguments': 3, 'denied': 4, 'approval_pending': 4, 'syscall_denied': 4, 'timeout': 5,
           'cpu_limit': 5, 'out_of_memory': 5, 'result_too_large': 5, 'setup_failed': 6, 'killed': 7, 'internal_error': 70, 'busy': 75,
           'cancelled': 130}


class Reply:
    def __init__(self, status, out, err, secs):
        self.status, self.out, self.err, self.secs = status, out, err, secs
        try:
            self.json = json.loads(out)
        except ValueError:
            self.json = {}
        if not isinstance(self.json, dict):
            self.json = {}
        self.outcome = self.json.get('outcome')

    def __getitem__(self, path):
        v = self.json
        for k in path.split('.'):
            v = v.get(k) if isinstance(v, dict) else None
        return v

    def __str__(self):
        return 'exit %d: %s %s' % (self.status, self.out[:700], self.err[:300])


class Suite:
    def __init__(self):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans of brig come to us
        self.number = self.bad = 0
        self.brig = BRIG
        self.dir = tempfile.mkdtemp(prefix='brig-it-', dir='/var/tmp')
        os.chmod(self.dir, 0o755)
        self.mounts = self.mount_list()

    # ---- TAP

    def check(self, title, good, why=''):
        self.number += 1
        self.bad += not good
        print('%sok %d - %s' % ('' if good else 'not ', self.number, title), flush=True)
        if not good:
            print('# ' + str(why)[:1500].replace('\n', '\n# '), flush=True)
        return good

    def finish(self):
        self.check('nothing is left: no process, no mount', not self.left(), self.left())
        shutil.rmtree(self.dir, ignore_errors=True)
        print('1..%d' % self.number)
        return 1 if self.bad else 0

    # ---- what is left

    @staticmethod
    def mount_list():
        with open('/proc/self/mountinfo') as f:
            return sorted(line.split()[4] for line in f)

    def left(self, secs=5):
        end = time.monotonic() + secs * FACTOR
        while True:
            self.reap()
            got = ['%s (%d)' % (n, p) for p, n in descendants().items()]
            if self.mount_list() != self.mounts:
                got.append('mounts')
            if not got or time.monotonic() > end:
                return ', '.join(got)
            time.sleep(0.05)

    @staticmethod
    def reap():
        """Orphans that came to us; not the children that subprocess waits for."""
        mine = {p.pid for p in getattr(subprocess, '_active', [])}
        for pid in list(descendants_all()):
            if pid not in mine and pid not in WAITED:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except OSError:
                    pass

    # ---- brig

    def file(self, name, text):
        path = self.dir + '/' + name
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        return path

    def profile(self, name='test', extends='python', **limits):
        """A profile that extends a shipped one; times are stretched on a slow machine."""
        more = {k: limits.pop(k) for k in list(limits) if isinstance(limits[k], dict)}
        for k in ('wall', 'cpu'):
            if k in limits:
                limits[k] = '%dms' % (int(limits[k]) * FACTOR)
        if 'wall' in limits and 'cpu' not in limits:
            limits['cpu'] = limits['wall']
        more['pool'] = {'warm': 0, **more.get('pool', {})}
        return self.file(name + '.json', json.dumps({'name': name, 'why': 'a test', 'extends': extends, 'limits': limits, **more}))

    def user_brig(self):
        """A copy of the programs that an ordinary user can reach (a checkout may lie below a closed directory)."""
        if not os.path.exists(self.dir + '/build'):
            os.mkdir(self.dir + '/build')
            for name in ('brig', 'brigd', 'brig-zygote'):
                shutil.copy(BUILD + '/' + name, self.dir + '/build/')
            shutil.copytree(REPO + '/profiles', self.dir + '/profiles')
            subprocess.run(['chmod', '-R', 'a+rX', self.dir], check=True)
        return self.dir + '/build/brig'

    def start(self, body, profile='pure', args=None, more=(), **popen):
        path = self.file('body.py', body)
        argv = [self.brig, 'run', path, '--profile', profile, '--json', *more]
        if args is not None:
            argv += ['--args', '@' + self.file('args.json', args if isinstance(args, str) else json.dumps(args))]
        popen = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **popen}
        p = subprocess.Popen(argv, **popen)
        WAITED.add(p.pid)
        return p

    def run(self, body, profile='pure', args=None, more=(), **popen):
        begin = time.monotonic()
        p = self.start(body, profile, args, more, **popen)
        try:
            out, err = p.communicate(timeout=60 * FACTOR)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
            err += b'\n(killed by the test after 60 s)'
        return Reply(p.returncode, out.decode('utf-8'), err.decode('utf-8', 'replace'), time.monotonic() - begin)

    def ends(self, title, want, body, profile='pure', args=None, also=None, **more):
        """One call that must end with that outcome and its exit status; also(reply) -> True or what is wrong."""
        r = self.run(body, profile, args, **more)
        good = r.outcome == want and r.status == EXIT_OF[want]
        extra = also(r) if good and also else True
        self.check('%s: %s' % (want, title), good and extra is True, '%s\n%s' % (r, '' if extra is True else 'extra: %r' % (extra,)))
        return r


WAITED = set()


def descendants_all():
    """Children that may be waited for: zombies too."""
    me = str(os.getpid())
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            try:
                with open('/proc/%s/stat' % pid) as f:
                    if f.read().rpartition(')')[2].split()[1] == me:
                        yield int(pid)
            except OSError:
                pass


class Client:
    """One connection to a supervisor, JSON-RPC 2.0, one object a line."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(60 * FACTOR)
        self.file = sock.makefile('rb')
        self.id = 0

    def send(self, method, params):
        self.id += 1
        self.sock.sendall(b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' % (
            self.id, method.encode(), params if isinstance(params, bytes) else json.dumps(params).encode()))
        return self.id

    def recv(self):
        line = self.file.readline()
        if not line:
            raise EOFError('the supervisor closed')
        return json.loads(line)

    def call(self, method, params):
        self.send(method, params)
        reply = self.recv()
        return reply.get('result', reply)

    def hang_up(self):
        self.file.close()
        self.sock.close()


class Keeper:
    """What has a keeper as its process self.p."""

    def lane(self):
        """The number of the lane that the keeper holds: it stands in the names of its groups."""
        fds = '/proc/%d/fd/' % self.p.pid
        for fd in os.listdir(fds):
            m = re.search(r'/lanes/(\d+)$', os.readlink(fds + fd))
            if m:
                return int(m.group(1))
        return None

    def groups(self):
        lane = self.lane()
        return {d for d in cgroup_dirs() if re.match(r'[0-9a-f]+-%s\.' % lane, os.path.basename(d))}

    def group_ids(self):
        """Which groups of jails those are: a number of a slot comes back, an inode of the kernel's cgroups does not."""
        got = set()
        for d in self.groups():
            if '.hold.' in d:
                continue  # the keeper's own, above the jails
            try:
                got.add((d, os.stat(d).st_ino))
            except OSError:
                pass
        return got


class Supervisor(Client, Keeper):
    """A private supervisor, as brig starts one."""

    def __init__(self, env=None, program=None, **popen):
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)

        def place():
            os.dup2(theirs.fileno(), 3)
        self.p = subprocess.Popen([program or BUILD + '/brigd', '--private', '3'], stdin=subprocess.DEVNULL, preexec_fn=place, pass_fds=(3,),
                                  close_fds=True, env={'PATH': '/usr/bin:/bin', **SANITIZE, **(env or {})}, **popen)
        WAITED.add(self.p.pid)
        theirs.close()
        super().__init__(ours)

    def close(self):
        self.hang_up()
        return self.p.wait(timeout=20 * FACTOR)


class Daemon(Keeper):
    """brigd with sockets, its state below a directory of its own (a short one: socket paths have 107 bytes)."""

    def __init__(self, argv=(), env=None, program=None, state=None, **popen):
        """state: of one that was there before; it stays the caller's."""
        self.kept = state is not None
        self.state = state or tempfile.mkdtemp(prefix='brig-d-', dir='/var/tmp')
        os.chmod(self.state, 0o755)
        self.p = subprocess.Popen([program or BUILD + '/brigd', *argv], stdin=subprocess.DEVNULL,
                                  env={'PATH': '/usr/bin:/bin', **SANITIZE, 'BRIG_STATE': self.state, **(env or {})}, **popen)
        atexit.register(lambda: self.p.poll() is None and self.p.kill())  # a test that broke off leaves none behind
        WAITED.add(self.p.pid)
        end = time.monotonic() + 20 * FACTOR
        while not self.listens():
            if self.p.poll() is not None or time.monotonic() > end:
                raise RuntimeError('brigd does not listen (exit %s)' % self.p.poll())
            time.sleep(0.01)

    def listens(self):
        """A socket of the dead looks like one of the living."""
        if not self.kept:
            return os.path.exists(self.path('admin'))
        try:
            self.client('admin').hang_up()
            return True
        except OSError:
            return False

    def path(self, which):
        return '%s/run/%s.sock' % (self.state, which)

    def client(self, which='agent'):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path(which))
        return Client(sock)

    def close(self, sig=signal.SIGTERM):
        """Drains; the exit status."""
        if self.p.poll() is None:
            self.p.send_signal(sig)
        try:
            return self.p.wait(timeout=60 * FACTOR)
        finally:
            if not self.kept:
                shutil.rmtree(self.state, ignore_errors=True)


def tree_of(pid):
    """The parts of a running brig: names of roles -> pids, by who started whom."""
    roles = {'brig': [pid], 'keeper': [], 'core': [], 'zygote': [], 'jail': []}
    children = {}
    for p in os.listdir('/proc'):
        if p.isdigit():
            try:
                with open('/proc/%s/stat' % p) as f:
                    children.setdefault(int(f.read().rpartition(')')[2].split()[1]), []).append(int(p))
            except OSError:
                pass

    def title(p):
        try:
            with open('/proc/%d/cmdline' % p) as f:
                return f.read()
        except OSError:
            return ''
    roles['keeper'] = children.get(pid, [])
    for k in roles['keeper']:
        for p in children.get(k, []):
            roles['zygote' if title(p).startswith('zygote') or title(p).startswith('brig-zygote') else 'core'].append(p)
    for z in roles['zygote']:
        roles['jail'] += children.get(z, [])
    return roles


def cgroup_dirs():
    """Directories of calls (brig/LANE.SLOT.SERIAL) in all hierarchies."""
    got = set()
    for base in ['/sys/fs/cgroup'] + ['/sys/fs/cgroup/' + d for d in os.listdir('/sys/fs/cgroup')]:
        try:
            got |= {base + '/brig/' + d for d in os.listdir(base + '/brig') if re.search(r'\.', d) and os.path.isdir(base + '/brig/' + d)}
        except OSError:
            pass
    return got


def lane_lives(path):
    """Another supervisor of this machine holds the lane of that group's directory: its groups are none of our business."""
    m = re.match(r'[0-9a-f]+-(\d+)\.', os.path.basename(path))
    try:
        fd = os.open('/run/brig/lanes/' + m.group(1), os.O_RDONLY | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(fd)


def frame(kind, payload, length=None):
    """Source text of a result frame for a body that forges one."""
    return 'struct.pack("IIQ16x", 0x42525253, %d, %s) + %r' % (kind, len(payload) if length is None else length, payload)


assert struct  # bodies use it by name
