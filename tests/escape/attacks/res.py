# Resources. Every bomb is bounded by itself, so that the control without any layer is safe for the machine.


def res_fork_bomb(kw):
    kids = []
    why = ''
    while len(kids) < 60 and not why:
        try:
            pid = os.fork()
        except OSError as e:
            why = word(e)
            break
        if pid == 0:
            time.sleep(20)
            os._exit(0)
        kids.append(pid)
    for k in kids:
        os.kill(k, signal.SIGKILL)
        os.waitpid(k, 0)
    return con('%s after %d processes' % (why, len(kids))) if why else esc('%d processes' % len(kids))


def res_double_fork_bomb(kw):
    """Each child leaves its session and its parent before it sleeps."""
    r, w = os.pipe()
    for i in range(60):
        try:
            pid = os.fork()
        except OSError as e:
            return con('%s after %d orphans' % (word(e), i))
        if pid == 0:
            os.setsid()
            try:
                if os.fork() == 0:
                    os.close(w)
                    os.read(r, 1)
            except OSError as e:
                os._exit(e.errno)
            os._exit(0)
        st = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if st:
            return con('%s after %d orphans' % (errno.errorcode.get(st, st), i))
    return esc('60 orphans')


def res_zombie_bomb(kw):
    kids = []
    try:
        for i in range(60):
            pid = os.fork()
            if pid == 0:
                os._exit(0)
            kids.append(pid)
    except OSError as e:
        return con('%s after %d zombies' % (word(e), len(kids)))
    finally:
        for k in kids:
            os.waitpid(k, 0)
    return esc('60 zombies')


def res_thread_bomb(kw):
    stop = threading.Event()
    threads = []
    try:
        for i in range(60):
            t = threading.Thread(target=stop.wait)
            t.start()
            threads.append(t)
    except (RuntimeError, MemoryError):
        return con('EAGAIN after %d threads' % len(threads))
    finally:
        stop.set()
    return esc('60 threads')


def _fill(mib):
    import mmap
    m = mmap.mmap(-1, mib << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, mib << 20, 4096):
        m[at] = 1
    return m


def res_memory_anon(kw):
    _fill(kw['memory_mib'] + 40)
    return esc('%d MiB held' % (kw['memory_mib'] + 40))


def res_memory_shared(kw):
    import mmap
    size = (kw['memory_mib'] + 40) << 20
    m = mmap.mmap(-1, size)
    for at in range(0, size, 4096):
        m[at] = 1
    return esc('%d MiB shared' % (size >> 20))


def res_memory_populate(kw):
    import mmap
    size = (kw['memory_mib'] + 40) << 20
    m = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x8000)
    return esc('%d MiB populated' % (len(m) >> 20))


def res_memory_children(kw):
    """Each child stays small, together they are not."""
    kids = []
    r, w = os.pipe()
    n = 6
    each = (kw['memory_mib'] + 40) // n
    try:
        for i in range(n):
            pid = os.fork()
            if pid == 0:
                keep = _fill(each)
                os.write(w, b'x')
                time.sleep(10)
                os._exit(0 if keep else 1)
            kids.append(pid)
        os.close(w)
        full = 0
        while full < n:
            if not os.read(r, 1):
                return con('ENOMEM only %d of %d children' % (full, n))
            full += 1
    except OSError as e:
        return con(word(e) + ' children')
    finally:
        for k in kids:
            os.kill(k, signal.SIGKILL)
            os.waitpid(k, 0)
    return esc('%d MiB in %d children' % (each * n, n))


def res_memory_tmpfs(kw):
    def go():
        with open('/tmp/fill%d' % os.getpid(), 'wb') as f:
            for i in range(80):
                f.write(b'x' * (1 << 20))
                f.flush()
        return '80 MiB in /tmp'
    try:
        return attempt('write', go)
    finally:
        try:
            os.unlink('/tmp/fill%d' % os.getpid())
        except OSError:
            pass


def res_tmpfs_many_files(kw):
    """Under any limit of one file, over the limit of the file system."""
    made = []

    def go():
        for i in range(12):
            path = '/tmp/part%d-%d' % (os.getpid(), i)
            made.append(path)
            with open(path, 'wb') as f:
                f.write(b'x' * (8 << 20))
        return '96 MiB in 12 files'
    try:
        return attempt('write', go)
    finally:
        for p in made:
            try:
                os.unlink(p)
            except OSError:
                pass


def res_tmpfs_inodes(kw):
    d = '/tmp/many%d' % os.getpid()
    os.mkdir(d)
    n = 0
    try:
        for n in range(8000):
            os.mknod('%s/%d' % (d, n))
    except OSError as e:
        return con('%s after %d files' % (word(e), n))
    finally:
        for name in os.listdir(d):
            os.unlink(d + '/' + name)
        os.rmdir(d)
    return esc('8000 files')


def res_sparse_file(kw):
    path = '/tmp/sparse%d' % os.getpid()
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    os.unlink(path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return attempt('ftruncate', lambda: os.truncate(fd, 1 << 38))


def res_fallocate(kw):
    path = '/tmp/alloc%d' % os.getpid()
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    os.unlink(path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return attempt('fallocate', lambda: os.posix_fallocate(fd, 0, 96 << 20))


def res_file_size(kw):
    path = '/tmp/size%d' % os.getpid()
    fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    os.unlink(path)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return attempt('pwrite', lambda: os.pwrite(fd, b'x', 96 << 20))


def res_descriptors(kw):
    fds = []
    try:
        while len(fds) < 600:
            fds.append(os.dup(1))
    except OSError as e:
        return con('%s after %d' % (word(e), len(fds)))
    finally:
        for fd in fds:
            os.close(fd)
    return esc('600 descriptors')


def res_descriptor_number(kw):
    """One high number instead of many."""
    return attempt('dup2', lambda: os.dup2(1, 3000))


def res_raise_nofile(kw):
    import resource

    def go():
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3000, max(3000, hard) if hard < 3000 else hard))
        return 'raised'
    try:
        return attempt('setrlimit', go)
    except ValueError:
        return con('EPERM above the hard limit')


def res_raise_fsize(kw):
    import resource

    def go():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 40, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        return 'raised'
    try:
        return attempt('setrlimit', go)
    except ValueError:
        return con('EINVAL above the hard limit')


def res_raise_by_prlimit(kw):
    new = ctypes.create_string_buffer(struct.pack('QQ', 1 << 40, 2 ** 64 - 1), 16)
    return verdict('prlimit64', sysc(302, 0, 1, new, None))


def res_core_dump_on(kw):
    import resource
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    return esc('core files up to %d' % hard) if hard > 1 or hard == -1 else con('EPERM core limit %d' % hard)


def res_mlock(kw):
    import mmap
    m = mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return verdict('mlock', sysc(149, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4 << 20))


def res_mlock2_onfault(kw):
    import mmap
    m = mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return verdict('mlock2', sysc(325, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4 << 20, 1))


def res_map_locked(kw):
    import mmap
    return attempt('mmap MAP_LOCKED', lambda: len(mmap.mmap(-1, 4 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2000)))


def res_signals_queued(kw):
    """Pending real-time signals live in kernel memory."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    info = ctypes.create_string_buffer(struct.pack('iii', 40, 0, -1), 128)
    for i in range(3000):
        r, e = sysc(129, os.getpid(), 40, info)
        if r < 0:
            return con('%s after %d signals' % (e, i))
    return esc('3000 signals pending')


def res_timers(kw):
    """POSIX timers pin kernel memory as well."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [40])
    for i in range(3000):
        ev = ctypes.create_string_buffer(struct.pack('QiiQ', 0, 40, 0, 0), 64)
        r, e = sysc(222, 1, ev, ctypes.byref(ctypes.c_int()))
        if r < 0:
            return con('%s after %d timers' % (e, i))
    return esc('3000 timers')


def res_mqueue_bytes(kw):
    attr = ctypes.create_string_buffer(struct.pack('8q', 0, 10, 8192, 0, 0, 0, 0, 0), 64)
    for i in range(9):
        name = b'brigq%d' % i
        r, e = sysc(240, name, 0o102, 0o600, attr)
        sysc(241, name)
        if r < 0:
            return con('%s after %d queues' % (e, i))
    return esc('9 queues of 80 KiB')


def res_cpu_loop(kw):
    """Ignores SIGXCPU and computes on."""
    try:
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
    except OSError:
        pass
    start = time.process_time()
    while time.process_time() - start < kw['cpu_s'] + 2:
        sum(range(20000))
    return esc('%.1f s of processor time' % (time.process_time() - start))


def res_native_loop(kw):
    """Long calls into C that do not come back to the interpreter."""
    import re
    end = time.process_time() + kw['cpu_s'] + 2
    while time.process_time() < end:
        re.match(r'(a+)+$', 'a' * 22 + 'b')
    return esc('%d s in the regular expression engine' % (kw['cpu_s'] + 2))


def res_stack_overflow(kw):
    """Deep recursion in C: a fault, not a hang."""
    import sys
    sys.setrecursionlimit(10 ** 8)

    def go():
        class A:
            def __getattr__(self, n):
                return getattr(self, n + 'x')
        try:
            A().x
        except (RecursionError, MemoryError):
            return con('RecursionError')
        return esc('no end')
    text = in_child(go)
    return text


def res_pipe_buffers(kw):
    """Pipe buffers of a megabyte each count against somebody."""
    import fcntl
    pipes = []
    total = 0
    try:
        for i in range(60):
            r, w = os.pipe()
            pipes += [r, w]
            total += fcntl.fcntl(w, 1031, 1 << 20)
            os.set_blocking(w, False)
            while True:
                try:
                    os.write(w, b'x' * 65536)
                except BlockingIOError:
                    break
    except OSError as e:
        return con('%s after %d pipes' % (word(e), len(pipes) // 2))
    return esc('%d MiB in pipes' % (total >> 20))


def res_oom_score(kw):
    """A tool that is never picked gets others killed."""
    return attempt('oom_score_adj', lambda: os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'500'))


def res_cgroup_leave(kw):
    """Moves itself to a group without limits."""
    return attempt('cgroup.procs', lambda: os.write(os.open(kw['cgroup'] + '/cgroup.procs', os.O_WRONLY), b'%d' % os.getpid()))


def res_cgroup_mkdir(kw):
    return attempt('mkdir', lambda: (os.mkdir(kw['cgroup'] + '/sub'), os.rmdir(kw['cgroup'] + '/sub'))[0])


def res_cgroup_mount(kw):
    return verdict('mount cgroup2', sysc(165, b'none', b'/tmp', b'cgroup2', 0, None))


def res_fifo_block(kw):
    """Blocks in open for ever, in every thread that it can have."""
    signal.alarm(int(kw['hang_s']))
    os.mkfifo('/tmp/ff%d' % os.getpid())
    os.open('/tmp/ff%d' % os.getpid(), os.O_RDONLY)
    return esc('came back')


def res_ignore_all_signals(kw):
    for s in range(1, 65):
        try:
            signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    end = time.monotonic() + kw['hang_s']
    while time.monotonic() < end:
        time.sleep(0.1)
    return esc('slept for %d s' % kw['hang_s'])


def res_block_all_signals(kw):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    signal.sigtimedwait([64], kw['hang_s'])
    return esc('waited for %d s' % kw['hang_s'])


def res_stop_self(kw):
    """Stopped processes do not handle anything. A child wakes it again where nobody else ends it."""
    me = os.getpid()
    try:
        pid = os.fork()
    except OSError as e:
        return con(word(e) + ' fork')
    if pid == 0:
        time.sleep(kw['hang_s'])
        os.kill(me, signal.SIGCONT)
        os._exit(0)
    os.kill(me, signal.SIGSTOP)
    time.sleep(kw['hang_s'])
    return esc('woken after %d s' % kw['hang_s'])


def res_survivor(kw):
    """A child in a session of its own that outlives the call and then leaves a mark (run.py looks for it)."""
    fd = kw.get('mark_fd', -1)
    try:
        pid = os.fork()
    except OSError as e:
        return con(word(e) + ' fork')
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
                signal.signal(s, signal.SIG_IGN)
            for f in (0, 1, 2):
                os.close(f)
            time.sleep(1.2)
            os.write(fd, b'alive')
        os._exit(0)
    os.waitpid(pid, 0)
    return con('left a survivor behind')


def res_vfork_sleep(kw):
    """Clone flags that hide a child from wait: exit signal 0 and CLONE_PARENT."""
    r, e = sysc(56, 0x8000, 0, 0, 0, 0)
    if r == 0:
        time.sleep(kw['hang_s'])
        os._exit(0)
    return verdict('clone CLONE_PARENT', (r, e))


def forge_sigsys_kill(kw):
    """SIGSYS is the mark of the filter: a tool that sends it to itself would forge the verdict."""
    return in_child(lambda: verdict('kill', sysc(62, os.getpid(), 31)))


def forge_sigsys_tgkill(kw):
    return in_child(lambda: verdict('tgkill', sysc(234, os.getpid(), os.getpid(), 31)))


def forge_sigsys_sigqueue(kw):
    info = ctypes.create_string_buffer(struct.pack('iii', 31, 0, -1), 128)
    signal.signal(31, signal.SIG_IGN)
    return verdict('rt_sigqueueinfo', sysc(129, os.getpid(), 31, info))


def forge_sigsys_tgsigqueue(kw):
    info = ctypes.create_string_buffer(struct.pack('iii', 31, 0, -1), 128)
    signal.signal(31, signal.SIG_IGN)
    return verdict('rt_tgsigqueueinfo', sysc(297, os.getpid(), os.getpid(), 31, info))


def forge_sigsys_pidfd(kw):
    signal.signal(31, signal.SIG_IGN)
    fd, e = sysc(434, os.getpid(), 0)
    return con(e + ' pidfd_open') if fd < 0 else verdict('pidfd_send_signal', sysc(424, fd, 31, None, 0))


def forge_sigsys_high_bits(kw):
    """The signal is an int: 31 with bits above it."""
    signal.signal(31, signal.SIG_IGN)
    return verdict('kill', sysc(62, os.getpid(), 31 | 1 << 32))


def forge_sigsys_timer(kw):
    """A POSIX timer that fires SIGSYS: the signal number lies behind a pointer."""
    ev = ctypes.create_string_buffer(struct.pack('QiiQ', 0, 31, 0, 0), 64)
    tid = ctypes.c_int()
    r, e = sysc(222, 1, ev, ctypes.byref(tid))
    if r < 0:
        return con(e + ' timer_create')
    sysc(223, tid.value, 0, ctypes.create_string_buffer(struct.pack('4q', 0, 0, 0, 10 ** 6), 32), None)
    time.sleep(0.3)
    return con('survived the timer')


def forge_sigsys_fcntl(kw):
    """F_SETSIG: input on a pipe sends the signal of one's choice."""
    import fcntl
    r, w = os.pipe()

    def go():
        fcntl.fcntl(r, 10, 31)
        fcntl.fcntl(r, 8, os.getpid())
        fcntl.fcntl(r, 4, os.O_ASYNC | os.O_NONBLOCK)
        os.write(w, b'x')
        time.sleep(0.2)
        return 'armed'
    text = attempt('F_SETSIG', go)
    return con('survived the signal') if text.startswith('ESC') else text


def forge_sigsys_exit_signal(kw):
    """A child's exit signal is the low byte of clone's flags."""
    r, e = sysc(56, 31, 0, 0, 0, 0)
    if r == 0:
        os._exit(0)
    if r < 0:
        return con(e + ' clone')
    time.sleep(0.3)
    return con('survived the exit signal')


def res_deep_tree(kw):
    d = '/tmp/deep%d' % os.getpid()
    os.mkdir(d)
    os.chdir(d)
    try:
        for i in range(3000):
            os.mkdir('d')
            os.chdir('d')
    except OSError as e:
        return con('%s after %d levels' % (word(e), i))
    return esc('3000 levels')


def res_pipe_size(kw):
    import fcntl
    r, w = os.pipe()
    return attempt('F_SETPIPE_SZ', fcntl.fcntl, w, 1031, 1 << 20)


def res_socket_buffers(kw):
    pairs = []
    try:
        while len(pairs) < 300:
            a, b = socket.socketpair()
            pairs += [a, b]
            a.setblocking(False)
            while a.send(b'x' * 65536) > 0:
                pass
    except BlockingIOError:
        pass
    except OSError as e:
        return con('%s after %d' % (word(e), len(pairs)))
    return con('EAGAIN in one pair')


def res_xattr_tmpfs(kw):
    """Extended attributes are no file content: are they counted at all?"""
    path = '/tmp/xa%d' % os.getpid()
    open(path, 'w').close()

    def go():
        for i in range(400):
            os.setxattr(path, 'user.x%d' % i, b'x' * 60000)
        return '24 MB in attributes'
    return attempt('setxattr', go)
