"""The host around an attack: secrets to find, sockets to reach, a process to hurt, a terminal to type into.

Everything lies in one throw-away directory or dies with close(). facts() is what an attacker is told (the worst case: it
knows every path and number); touched() says what the host saw of it since the last look.
"""
import ctypes
import errno
import fcntl
import os
import pty
import secrets
import select
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
IPC_CREAT, IPC_RMID = 0o1000, 0


def descendants():
    """Living processes below this one. We are their reaper (subreaper), so an orphan does not get away: PID -> name."""
    parents, names = {}, {}
    for pid in os.listdir('/proc'):
        if not pid.isdigit():
            continue
        try:
            with open('/proc/%s/stat' % pid) as f:
                name, _, rest = f.read().rpartition(')')
        except OSError:
            continue
        state, ppid = rest.split()[:2]
        if state != 'Z':
            parents[int(pid)], names[int(pid)] = int(ppid), name.partition('(')[2]
    below = {}
    for pid in parents:
        at = pid
        while at in parents and at != os.getpid():
            at = parents[at]
        if at == os.getpid() and pid != at:
            below[pid] = names[pid]
    return below


class Host:
    def __init__(self, base, repo):
        self.base, self.repo = base, repo
        _libc.prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
        self.dir = base + '/host'
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o777)
        self.secret = 'secret-' + secrets.token_hex(8)
        self.canary = self.dir + '/canary'
        self._write(self.canary, self.secret)
        self.scratch = self.dir + '/scratch'
        self._write(self.scratch, 'x' * 100)
        os.mkfifo(self.dir + '/fifo', 0o666)
        os.chmod(self.dir + '/fifo', 0o666)
        self.fifo_fd = os.open(self.dir + '/fifo', os.O_RDWR | os.O_NONBLOCK)
        self._sockets()
        self._victim()
        self._ipc()
        self.shm = '/dev/shm/brig-esc-' + secrets.token_hex(4)
        self._write(self.shm, self.secret)
        self.leak_fd = os.open(self.canary, os.O_RDONLY)
        self.leak_dirfd = os.open(self.dir, os.O_RDONLY | os.O_DIRECTORY)
        self.mark_r, self.mark_w = os.pipe()
        os.set_blocking(self.mark_r, False)
        self.suid = self.dir + '/suid-id'
        shutil.copy('/usr/bin/id', self.suid)
        os.chmod(self.suid, 0o4755)
        self.cgroup = self._cgroup()
        self.terminal = b''

    def _write(self, path, text):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(path, 0o666)

    def _sockets(self):
        self.listeners = {}

        def listen(name, family, kind, addr):
            s = socket.socket(family, kind)
            s.bind(addr)
            s.setblocking(False)
            if kind == socket.SOCK_STREAM:
                s.listen(8)
            self.listeners[name] = s
            return s.getsockname()
        listen('unix', socket.AF_UNIX, socket.SOCK_STREAM, self.dir + '/sock')
        listen('unix dgram', socket.AF_UNIX, socket.SOCK_DGRAM, self.dir + '/dgram')
        for name in ('sock', 'dgram'):
            os.chmod(self.dir + '/' + name, 0o777)
        self.abstract = 'brig-esc-' + secrets.token_hex(6)
        listen('abstract', socket.AF_UNIX, socket.SOCK_STREAM, '\0' + self.abstract)
        listen('abstract dgram', socket.AF_UNIX, socket.SOCK_DGRAM, '\0' + self.abstract + 'd')
        self.tcp_port = listen('tcp', socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 0))[1]
        self.udp_port = listen('udp', socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', 0))[1]
        try:
            self.tcp6_port = listen('tcp6', socket.AF_INET6, socket.SOCK_STREAM, ('::1', 0))[1]
        except OSError:
            self.tcp6_port = self.tcp_port

    def _victim(self):
        """A process that could be killed, read or traced, leader of its own session."""
        self.victim = subprocess.Popen(['/usr/bin/sleep', '3600'], env={'BRIG_ESC_SECRET': self.secret}, start_new_session=True, cwd=self.dir)

    def _ipc(self):
        self.key = 0x42000000 | secrets.randbits(24)
        call = _libc.syscall
        self.shm_id = call(29, self.key, ctypes.c_size_t(4096), IPC_CREAT | 0o666)
        self.msg_id = call(68, self.key, IPC_CREAT | 0o666)
        self.sem_id = call(64, self.key, 1, IPC_CREAT | 0o666)
        self.mq = 'brigesc%d' % os.getpid()
        self.mq_fd = call(240, self.mq.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        # A session keyring of our own: nothing is put into the caller's.
        call(250, 1, None)
        call(248, b'user', b'brig-esc', b'secret', ctypes.c_size_t(6), -3)

    def _cgroup(self):
        for top in ('/sys/fs/cgroup/unified', '/sys/fs/cgroup'):
            if os.path.exists(top + '/cgroup.procs'):
                path = top + '/brig-esc-%d' % os.getpid()
                try:
                    os.mkdir(path)
                    return path
                except OSError:
                    pass
        return '/sys/fs/cgroup'

    def facts(self):
        st = os.stat('/')
        return {'canary': self.canary, 'dir': self.dir, 'scratch': self.scratch, 'fifo': self.dir + '/fifo', 'unix': self.dir + '/sock',
                'unix_dgram': self.dir + '/dgram', 'abstract': self.abstract, 'abstract_dgram': self.abstract + 'd', 'tcp_port': self.tcp_port,
                'tcp6_port': self.tcp6_port, 'udp_port': self.udp_port, 'victim': self.victim.pid,
                'shm_key': self.key, 'mq': self.mq, 'shm_name': os.path.basename(self.shm), 'leak_fd': self.leak_fd,
                'leak_dirfd': self.leak_dirfd, 'mark_fd': self.mark_w, 'mark_path': self.dir + '/mark', 'suid_id': self.suid,
                'cgroup': self.cgroup, 'hostname': socket.gethostname(), 'repo': self.repo, 'env_secret': self.secret,
                'boottime': time.clock_gettime(time.CLOCK_BOOTTIME), 'monotonic': time.clock_gettime(time.CLOCK_MONOTONIC_RAW),
                'root_id': [st.st_dev, st.st_ino]}

    def run(self, argv, secs, user=None):
        """With a terminal of our making as controlling terminal and stderr, a secret on stdin, inherited descriptors."""
        self._drain_sockets()
        master, slave = pty.openpty()
        r, w = os.pipe()
        os.write(w, self.secret.encode())
        os.close(w)

        def terminal():
            os.setsid()
            if os.getuid() == 0:
                os.setgroups([0, 4, 24])  # to be seen, if they are inherited
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            if user is not None:
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
        p = subprocess.Popen(argv, stdin=r, stdout=subprocess.PIPE, stderr=slave, cwd=self.dir, preexec_fn=terminal,
                             pass_fds=(self.leak_fd, self.leak_dirfd, self.mark_w),
                             env={**os.environ, 'BRIG_ESC_SECRET': self.secret + '-env'})
        os.close(r)
        out, end = b'', time.monotonic() + secs
        os.set_blocking(master, False)
        self.terminal = b''
        open_out = True
        while open_out or p.poll() is None:
            gone = p.poll() is not None
            ready = select.select([p.stdout, master] if open_out else [master], [], [], 0.05)[0]
            if p.stdout in ready:
                chunk = os.read(p.stdout.fileno(), 65536)
                open_out = bool(chunk)
                out += chunk
            if master in ready:
                try:
                    self.terminal += os.read(master, 65536)
                except OSError:
                    pass
            if time.monotonic() > end:
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
                os.close(slave)
                os.close(master)
                p.stdout.close()
                raise subprocess.TimeoutExpired(argv, secs)
            if gone and p.stdout not in ready:
                break  # it had ended before we looked, and there was nothing more to read
        p.stdout.close()
        self.typed = struct.unpack('i', fcntl.ioctl(slave, termios.FIONREAD, bytes(4)))[0]
        os.close(slave)
        os.close(master)
        return subprocess.CompletedProcess(argv, p.wait(), out)

    def last_terminal(self):
        return self.terminal.decode('utf-8', 'replace')

    def mark_read(self):
        try:
            return os.read(self.mark_r, 100)
        except BlockingIOError:
            return b''

    def _drain_sockets(self):
        seen = []
        for name, s in self.listeners.items():
            try:
                while True:
                    if s.type == socket.SOCK_STREAM:
                        s.accept()[0].close()
                    else:
                        s.recv(100)
                    seen.append(name + ' socket')
            except OSError:
                pass
        return seen

    def touched(self):
        """What the host saw; and puts it right again."""
        seen = self._drain_sockets()
        try:
            if os.read(self.fifo_fd, 100):
                seen.append('the fifo')
        except BlockingIOError:
            pass
        for name in os.listdir(self.dir):
            if name.startswith(('mark', 'linked')):
                seen.append('file ' + name)
                os.unlink(self.dir + '/' + name)
        st = os.stat(self.scratch)
        if st.st_size != 100 or st.st_mode & 0o777 != 0o666:
            seen.append('the scratch file changed')
            self._write(self.scratch, 'x' * 100)
        if self.victim.poll() is not None:
            seen.append('the death of the victim')
            self._victim()
        if getattr(self, 'typed', 0):
            seen.append('%d characters typed' % self.typed)
            self.typed = 0
        if self.mark_read():
            seen.append('a word on the mark pipe')
        return ', '.join(seen)

    def close(self):
        """Takes everything away; returns what is left of Brig."""
        self.victim.kill()
        self.victim.wait()
        for s in self.listeners.values():
            s.close()
        for call, what in ((31, self.shm_id), (71, self.msg_id)):
            _libc.syscall(call, what, IPC_RMID, None)
        _libc.syscall(66, self.sem_id, 0, IPC_RMID, None)
        _libc.syscall(241, self.mq.encode())
        os.unlink(self.shm)
        if self.cgroup != '/sys/fs/cgroup':
            try:
                os.rmdir(self.cgroup)
            except OSError as e:
                if e.errno != errno.ENOENT:
                    return 'cgroup %s: %s' % (self.cgroup, e)
        shutil.rmtree(self.base, ignore_errors=True)
        for _ in range(30):
            left = descendants()
            if not left:
                return ''
            time.sleep(0.1)
        return ', '.join('%s (%d)' % (name, pid) for pid, name in left.items())
