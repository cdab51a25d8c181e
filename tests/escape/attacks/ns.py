# Namespaces, credentials, capabilities and other processes.


def ns_unshare_user(kw):
    return in_child(lambda: verdict('unshare', sysc(272, 0x10000000)))


def ns_unshare_each(kw):
    """Every other namespace by one flag at a time, from a thread-free child."""
    def go():
        got = [n for n, f in (('mnt', 0x20000), ('uts', 0x4000000), ('ipc', 0x8000000), ('net', 0x40000000), ('cgroup', 0x2000000), ('time', 0x80), ('pid', 0x20000000))
               if sysc(272, f)[0] == 0]
        return esc(' '.join(got)) if got else con(sysc(272, 0x20000)[1] + ' unshare')
    return in_child(go)


def ns_unshare_files_and_newuser(kw):
    """Forbidden bit among harmless ones."""
    return in_child(lambda: verdict('unshare', sysc(272, 0x10000000 | 0x400 | 0x200)))


def ns_clone_newuser(kw):
    r, e = sysc(56, 0x10000000 | 17, 0, 0, 0, 0)
    if r == 0:
        os._exit(0)
    if r > 0:
        os.waitpid(r, 0)
    return verdict('clone', (r, e))


def ns_clone_high_bits(kw):
    """The kernel looks at the low half of clone's flags; a filter that compares 64 bits does not see them."""
    r, e = sysc(56, (1 << 40) | 0x10000000 | 17, 0, 0, 0, 0)
    if r == 0:
        os._exit(0)
    if r > 0:
        os.waitpid(r, 0)
    return verdict('clone', (r, e))


def ns_clone3_newuser(kw):
    args = ctypes.create_string_buffer(struct.pack('8Q', 0x10000000, 0, 0, 0, 17, 0, 0, 0), 64)
    r, e = sysc(435, args, 64)
    if r == 0:
        os._exit(0)
    if r > 0:
        os.waitpid(r, 0)
    return verdict('clone3', (r, e))


def ns_clone_pidfd_newnet(kw):
    fd = ctypes.c_int()
    r, e = sysc(56, 0x40000000 | 0x1000 | 17, 0, ctypes.byref(fd), 0, 0)
    if r == 0:
        os._exit(0)
    if r > 0:
        os.waitpid(r, 0)
    return verdict('clone', (r, e))


def ns_setns_pidfd(kw):
    fd, e = sysc(434, kw['victim'], 0)
    return con(e + ' pidfd_open') if fd < 0 else verdict('setns', sysc(308, fd, 0x40000000))


def ns_setns_bad_fd(kw):
    """Refused before the descriptor is looked at, or not at all."""
    return verdict('setns', sysc(308, -1, 0x40000000), ('EBADF',))


def ns_setns_proc_path(kw):
    return attempt('/proc/PID/ns/net', lambda: os.open('/proc/%d/ns/net' % kw['victim'], os.O_RDONLY))


def ns_ioctl_owner(kw):
    """NS_GET_USERNS climbs from a namespace to the user namespace that owns it."""
    import fcntl
    return attempt('NS_GET_USERNS', lambda: fcntl.ioctl(os.open('/proc/self/ns/net', os.O_RDONLY), 0xb701))


def ns_sethostname(kw):
    return verdict('sethostname', sysc(170, b'owned', 5))


def ns_setdomainname(kw):
    return verdict('setdomainname', sysc(171, b'owned', -1), ('EINVAL',))


def _capset():
    head = ctypes.create_string_buffer(struct.pack('Ii', 0x20080522, 0), 8)
    data = ctypes.create_string_buffer(struct.pack('6I', 1 << 21, 1 << 21, 0, 0, 0, 0), 24)
    return verdict('capset', sysc(126, head, data))


def cap_capset(kw):
    return _capset()


def cap_capset_thread(kw):
    """The same from a second thread: credentials are per thread."""
    got = []
    t = threading.Thread(target=lambda: got.append(_capset()))
    t.start()
    t.join()
    return got[0]


def cap_ambient(kw):
    return verdict('PR_CAP_AMBIENT_RAISE', sysc(157, 47, 2, 0, 0, 0)) if _inheritable(0) else con('EPERM inheritable')


def _inheritable(cap):
    head = ctypes.create_string_buffer(struct.pack('Ii', 0x20080522, 0), 8)
    data = ctypes.create_string_buffer(24)
    if sysc(125, head, data)[0]:
        return False
    e, p, i, a, b, c = struct.unpack('6I', data.raw)
    data = ctypes.create_string_buffer(struct.pack('6I', e, p, i | 1 << cap, a, b, c), 24)
    return sysc(126, head, data)[0] == 0


def cap_securebits(kw):
    return verdict('PR_SET_SECUREBITS', sysc(157, 28, 1, 0, 0, 0))


def cap_bounding_read(kw):
    got = [c for c in range(41) if sysc(157, 23, c, 0, 0, 0)[0] == 1]
    return esc('%d in the bounding set' % len(got)) if got else con('%s bounding set' % (sysc(157, 23, 0, 0, 0, 0)[1] or 'empty'))


def cap_keepcaps_setuid(kw):
    """Keep the capabilities over a change of id."""
    return verdict('PR_SET_KEEPCAPS', sysc(157, 8, 1, 0, 0, 0))


def cap_setuid_zero(kw):
    def go():
        os.setresuid(0, 0, 0)
        return os.getuid()
    return in_child(lambda: attempt('setresuid', go))


def cap_setfsuid_zero(kw):
    """setfsuid reports nothing: ask twice."""
    sysc(122, 0)
    r, e = sysc(122, -1)
    return esc('fsuid is 0') if r == 0 else con((e or 'unchanged') + ' setfsuid')


def cap_setgroups(kw):
    return in_child(lambda: attempt('setgroups', os.setgroups, [0, 4, 6]))


def cap_setgid_disk(kw):
    return in_child(lambda: attempt('setresgid', os.setresgid, 6, 6, 6))


def cap_chown_other(kw):
    path = '/tmp/own%d' % os.getpid()
    open(path, 'w').close()
    return attempt('fchownat', lambda: os.chown(path, 2, 2))


def cap_uid_map_write(kw):
    return attempt('uid_map', lambda: os.close(os.open('/proc/self/uid_map', os.O_WRONLY)))


def cap_nice_negative(kw):
    return in_child(lambda: attempt('setpriority', lambda: os.setpriority(os.PRIO_PROCESS, 0, -10)))


def cap_sched_fifo(kw):
    return in_child(lambda: attempt('sched_setscheduler', lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))))


def cap_ioprio_rt(kw):
    return verdict('ioprio_set', sysc(251, 1, 0, 1 << 13))


def cap_adjtime(kw):
    """Sets the clock's tick to what it is: the permission is the question."""
    buf = ctypes.create_string_buffer(208)
    if sysc(159, buf)[0] < 0:
        return con(sysc(159, buf)[1] + ' adjtimex')
    tick = struct.unpack_from('q', buf, 88)[0]
    buf = ctypes.create_string_buffer(208)
    struct.pack_into('I', buf, 0, 0x4000)
    struct.pack_into('q', buf, 88, tick)
    return verdict('adjtimex', sysc(159, buf))


def cap_clock_adjtime(kw):
    """The newer call, on the real-time clock by number."""
    buf = ctypes.create_string_buffer(208)
    sysc(305, 0, buf)
    tick = struct.unpack_from('q', buf, 88)[0]
    struct.pack_into('I', buf, 0, 0x4000)
    struct.pack_into('q', buf, 88, tick)
    return verdict('clock_adjtime', sysc(305, 0, buf), ('EINVAL',))


def cap_settimeofday(kw):
    tz = ctypes.create_string_buffer(struct.pack('ii', 10 ** 6, 0), 8)
    return verdict('settimeofday', sysc(164, None, tz), ('EINVAL',))


def cap_reboot(kw):
    return verdict('reboot', sysc(169, 0xfee1dead, 672274793, 0x77777777, None), ('EINVAL',))


def cap_vhangup(kw):
    return in_child(lambda: (os.setsid(), verdict('vhangup', sysc(153)))[1])


def cap_syslog(kw):
    return verdict('syslog', sysc(103, 10, None, 0))


def cap_mlock_future(kw):
    return in_child(lambda: verdict('mlockall', sysc(151, 3)))


def proc_kill_victim(kw):
    return attempt('kill', os.kill, kw['victim'], 0)


def proc_kill_everyone(kw):
    """kill(-1) in its harmless form: whom could it reach?"""
    return attempt('kill -1', os.kill, -1, 0)


def proc_kill_parent_group(kw):
    return attempt('killpg', os.killpg, kw['victim'], 0)


def proc_kill_thread(kw):
    return verdict('tgkill', sysc(234, kw['victim'], kw['victim'], 0))


def proc_sigqueue_victim(kw):
    info = ctypes.create_string_buffer(struct.pack('iii', 0, 0, -1), 128)
    return verdict('rt_sigqueueinfo', sysc(129, kw['victim'], 0, info))


def proc_pidfd_signal(kw):
    fd, e = sysc(434, kw['victim'], 0)
    return con(e + ' pidfd_open') if fd < 0 else verdict('pidfd_send_signal', sysc(424, fd, 0, None, 0))


def proc_prlimit_victim(kw):
    buf = ctypes.create_string_buffer(16)
    return verdict('prlimit64', sysc(302, kw['victim'], 7, None, buf))


def proc_setpriority_victim(kw):
    return attempt('setpriority', lambda: os.setpriority(os.PRIO_PROCESS, kw['victim'], 1))


def proc_affinity_victim(kw):
    return attempt('sched_getaffinity', lambda: len(os.sched_getaffinity(kw['victim'])))


def proc_parent_visible(kw):
    p = os.getppid()
    return esc('parent is %d' % p) if p > 1 else con('no parent')


def proc_pid_large(kw):
    """A process number of the host's size tells where one is."""
    return esc('pid %d' % os.getpid()) if os.getpid() > 20 else con('own numbering')


def proc_ptrace_victim(kw):
    return verdict('ptrace', sysc(101, 0x4206, kw['victim'], 0, 0))


def proc_ptrace_init(kw):
    return verdict('ptrace', sysc(101, 16, 1, 0, 0))


def proc_ptrace_traceme(kw):
    return in_child(lambda: verdict('ptrace', sysc(101, 0, 0, 0, 0)))


def proc_vm_readv(kw):
    buf = ctypes.create_string_buffer(8)
    iov = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(buf), 8), 16)
    far = ctypes.create_string_buffer(struct.pack('QQ', 0x400000, 8), 16)
    return verdict('process_vm_readv', sysc(310, kw['victim'], iov, 1, far, 1, 0), ('EFAULT',))


def proc_vm_writev(kw):
    buf = ctypes.create_string_buffer(8)
    iov = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(buf), 8), 16)
    far = ctypes.create_string_buffer(struct.pack('QQ', 8, 8), 16)
    return verdict('process_vm_writev', sysc(311, kw['victim'], iov, 1, far, 1, 0), ('EFAULT',))


def proc_pidfd_getfd(kw):
    fd, e = sysc(434, kw['victim'], 0)
    return con(e + ' pidfd_open') if fd < 0 else verdict('pidfd_getfd', sysc(438, fd, 0, 0))


def proc_pidfd_getfd_init(kw):
    """Descriptors of whatever is PID 1 here (the init of a jail that has one)."""
    fd, e = sysc(434, 1, 0)
    return con(e + ' pidfd_open') if fd < 0 else verdict('pidfd_getfd', sysc(438, fd, 0, 0), ('EBADF',))


def proc_kcmp(kw):
    return verdict('kcmp', sysc(312, os.getpid(), kw['victim'], 0, 0, 0))


def proc_madvise_victim(kw):
    fd, e = sysc(434, kw['victim'], 0)
    iov = ctypes.create_string_buffer(struct.pack('QQ', 0, 0), 16)
    return con(e + ' pidfd_open') if fd < 0 else verdict('process_madvise', sysc(440, fd, iov, 1, 20, 0), ('EINVAL',))


def proc_migrate_pages(kw):
    mask = ctypes.create_string_buffer(struct.pack('Q', 1), 8)
    return verdict('migrate_pages', sysc(256, kw['victim'], 2, mask, mask))


def proc_environ_victim(kw):
    return attempt('environ', lambda: open('/proc/%d/environ' % kw['victim'], 'rb').read(20))


def proc_mem_victim(kw):
    return attempt('mem', lambda: os.close(os.open('/proc/%d/mem' % kw['victim'], os.O_RDONLY)))


def ipc_shm_attach(kw):
    r = sysc(29, kw['shm_key'], 0, 0)
    return verdict('shmget', r)


def ipc_msg_queue(kw):
    return verdict('msgget', sysc(68, kw['shm_key'], 0))


def ipc_semaphores(kw):
    return verdict('semget', sysc(64, kw['shm_key'], 0, 0))


def ipc_shm_stat_any(kw):
    """Walks the table by index instead of by key."""
    buf = ctypes.create_string_buffer(256)
    for i in range(64):
        r, e = sysc(31, i, 15, buf)
        if r >= 0:
            return esc('segment %d' % r)
    return con(e + ' shmctl')


def ipc_mqueue_open(kw):
    return verdict('mq_open', sysc(240, kw['mq'].encode(), 0, 0, None))


def ipc_key_search(kw):
    """A key that the caller of the sandbox holds in its session."""
    return verdict('KEYCTL_SEARCH', sysc(250, 10, -3, b'user', b'brig-esc', 0))


def ipc_key_request(kw):
    return verdict('request_key', sysc(249, b'user', b'brig-esc', None, 0))


def ipc_key_add_user_ring(kw):
    return verdict('add_key', sysc(248, b'user', b'brig-esc-tool', b'x', 1, -2))


def tty_inject(kw):
    import fcntl
    import termios

    def push():
        fd = os.open('/dev/tty', os.O_RDWR | os.O_NOCTTY)
        fcntl.ioctl(fd, termios.TIOCSTI, b'\n')
        return fd
    return attempt('/dev/tty', push)


def tty_take_over(kw):
    """Leaves the session and claims the terminal behind any descriptor."""
    import fcntl
    import termios

    def go():
        os.setsid()
        return [fd for fd in range(0, 10) if os.isatty(fd) and fcntl.ioctl(fd, termios.TIOCSCTTY, 1) == 0]
    text = in_child(lambda: attempt('TIOCSCTTY', go))
    return con('ENOTTY no terminal') if text.endswith('[]') else text


def cap_sched_deadline(kw):
    attr = ctypes.create_string_buffer(struct.pack('IIQiIQQQ', 48, 6, 0, 0, 0, 10 ** 6, 10 ** 7, 10 ** 7), 48)
    return in_child(lambda: verdict('sched_setattr', sysc(314, 0, attr, 0), ('EBUSY',)))


def proc_signal_out_of_domain(kw):
    """Landlock's own wall around signals."""
    return attempt('kill', os.kill, kw['victim'], signal.SIGCONT)


def proc_move_pages_victim(kw):
    page = (ctypes.c_void_p * 1)(0x400000)
    status = (ctypes.c_int * 1)()
    return verdict('move_pages', sysc(279, kw['victim'], 1, page, None, status, 0))
