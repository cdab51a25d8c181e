# The file system: what is there, what can be written, what leads out.


def fs_read_canary(kw):
    return attempt('open', lambda: open(kw['canary']).read(20))


def fs_read_dotdot(kw):
    fd = os.open('/tmp' if os.path.isdir('/tmp') else '/', os.O_PATH)
    return attempt('openat', lambda: os.read(os.open('../' * 30 + kw['canary'], os.O_RDONLY, dir_fd=fd), 20))


def fs_read_shadow_sendfile(kw):
    def steal():
        r, w = os.pipe()
        return os.sendfile(w, os.open('/etc/shadow', os.O_RDONLY), 0, 4096), os.read(r, 1)
    return attempt('shadow', steal)


def fs_read_proc_root(kw):
    return attempt('/proc/self/root', lambda: open('/proc/self/task/%d/root%s' % (os.getpid(), kw['canary'])).read(20))


def fs_read_victim_root(kw):
    return attempt('/proc/PID/cwd', lambda: open('/proc/%d/cwd/%s' % (kw['victim'], '../' * 20 + kw['canary'])).read(20))


def fs_cwd_leak(kw):
    name = os.path.basename(kw['canary'])
    return attempt('getcwd file', lambda: open(name).read(20))


def fs_openat2_canary(kw):
    how = ctypes.create_string_buffer(struct.pack('QQQ', 0, 0, 0), 24)
    return verdict('openat2', sysc(437, -100, kw['canary'].encode(), how, 24))


def fs_symlink_swap_race(kw):
    """One thread swings a link between a harmless file and the canary, another opens it."""
    d = '/tmp/race%d' % os.getpid()
    os.mkdir(d)
    open(d + '/a', 'w').write('a')
    stop = time.monotonic() + 0.4
    got = []

    def swing():
        while time.monotonic() < stop:
            for t in ('a', kw['canary']):
                os.symlink(t, d + '/n')
                os.rename(d + '/n', d + '/l')

    try:
        t = threading.Thread(target=swing)
        t.start()
    except RuntimeError:
        t = None
        os.symlink(kw['canary'], d + '/l')
    last = 'nothing'
    while time.monotonic() < stop and not got:
        try:
            text = open(d + '/l').read(20)
            if text != 'a':
                got.append(text)
        except OSError as e:
            last = word(e)
    if t:
        t.join()
    return esc(got[0]) if got else con(last + ' race')


def fs_write_host_dir(kw):
    return attempt('create', lambda: os.close(os.open(kw['dir'] + '/mark', os.O_CREAT | os.O_WRONLY, 0o644)))


def fs_truncate_host_file(kw):
    return attempt('truncate', lambda: os.truncate(kw['scratch'], 1))


def fs_hardlink_host_file(kw):
    return attempt('link', lambda: os.link(kw['scratch'], kw['dir'] + '/linked%d' % os.getpid()))


def fs_write_python_lib(kw):
    import json
    path = os.path.dirname(json.__file__) + '/brig_esc_mark'

    def put():
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.unlink(path)
    return attempt('create in the library', put)


def fs_write_root_dir(kw):
    def put():
        os.mkdir('/brig_esc_mark')
        os.rmdir('/brig_esc_mark')
    return attempt('mkdir /', put)


def fs_chmod_host_file(kw):
    return attempt('fchmodat', lambda: os.chmod(kw['scratch'], 0o640))


def fs_device_kmsg(kw):
    return attempt('/dev/kmsg', lambda: os.close(os.open('/dev/kmsg', os.O_RDONLY | os.O_NONBLOCK)))


def fs_device_list(kw):
    try:
        odd = [d for d in os.listdir('/dev') if d not in ('null', 'zero', 'full', 'random', 'urandom', 'shm', 'fd', 'stdin', 'stdout', 'stderr')]
    except OSError as e:
        return con(word(e) + ' /dev')
    return esc('devices: ' + ' '.join(odd[:8])) if odd else con('minimal /dev')


def fs_mknod_device(kw):
    path = '/tmp/nod%d' % os.getpid()
    return attempt('mknod', lambda: os.mknod(path, 0o600 | 0o020000, os.makedev(1, 1)))


def fs_rename_whiteout(kw):
    """A rename that leaves a device node (0:0) behind, without a call of mknod."""
    a, b = b'/tmp/wa%d' % os.getpid(), b'/tmp/wb%d' % os.getpid()
    open(a, 'w').close()
    return verdict('renameat2', sysc(316, -100, a, -100, b, 4))


def fs_lock_device(kw):
    """An exclusive lock on a device node that the host and every jail has."""
    import fcntl
    fd = os.open('/dev/null', os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    held = any(' %d ' % os.getpid() in line for line in open('/proc/locks')) if os.path.exists('/proc/locks') else None
    if held is None:  # no such file in the jail: the lock is seen from a child, which would find it taken
        pid = os.fork()
        if pid == 0:
            try:
                r = fcntl.fcntl(os.open('/dev/null', os.O_RDWR), fcntl.F_GETLK, struct.pack('hhqqi', fcntl.F_WRLCK, 0, 0, 0, 0))
                os._exit(struct.unpack('hhqqi', r)[0] != fcntl.F_UNLCK)
            except OSError:
                os._exit(2)
        held = os.waitpid(pid, 0)[1] != 0
    return esc('locked /dev/null') if held else con('idle lock')


def fs_open_by_handle(kw):
    h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136)
    mid = ctypes.c_int()
    sysc(303, -100, b'/tmp', h, ctypes.byref(mid), 0)
    fd = os.open('/', os.O_RDONLY)
    return verdict('open_by_handle_at', sysc(304, fd, h, 0), ('ESTALE', 'EINVAL', 'EOPNOTSUPP', 'ENOTSUP'))


def fs_chroot_breakout(kw):
    d = '/tmp/cr%d' % os.getpid()

    def out():
        os.mkdir(d)
        os.chroot(d)
        os.chdir('../' * 20)
        os.chroot('.')
        return open(kw['canary']).read(20)
    return attempt('chroot', out)


def fs_pivot_root(kw):
    """Permission comes first: EINVAL says that the caller would have been let through."""
    return verdict('pivot_root', sysc(155, b'/tmp', b'/tmp'), ('EINVAL', 'EBUSY'))


def fs_mount_tmpfs(kw):
    return verdict('mount', sysc(165, b'none', b'/tmp', b'tmpfs', 0, None))


def fs_mount_bind(kw):
    return verdict('mount MS_BIND', sysc(165, b'/', b'/tmp', None, 4096, None))


def fs_remount_rw(kw):
    return verdict('remount', sysc(165, None, b'/tmp', None, 32 | 4096, None), ('EINVAL',))


def fs_umount_detach(kw):
    return verdict('umount2', sysc(166, b'/tmp', 2), ('EINVAL',))


def fs_fsopen_procfs(kw):
    return verdict('fsopen', sysc(430, b'proc', 0))


def fs_open_tree_clone(kw):
    return verdict('open_tree', sysc(428, -100, b'/', 1))


def fs_mount_setattr(kw):
    attr = ctypes.create_string_buffer(struct.pack('QQQQ', 0, 0, 0, 0), 32)
    return verdict('mount_setattr', sysc(442, -100, b'/', 0, attr, 32), ('EINVAL',))


def fs_move_mount(kw):
    return verdict('move_mount', sysc(429, -100, b'/tmp', -100, b'/tmp', 0), ('EINVAL', 'ELOOP'))


def fs_fspick_root(kw):
    return verdict('fspick', sysc(433, -100, b'/', 0), ('EINVAL',))


def fs_listmount(kw):
    req = ctypes.create_string_buffer(struct.pack('IIQQ', 24, 0, 2 ** 64 - 1, 0), 24)
    ids = ctypes.create_string_buffer(800)
    return verdict('listmount', sysc(458, req, ids, 100, 0), ('EINVAL',))


def fs_core_pattern_write(kw):
    return attempt('core_pattern', lambda: os.close(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)))


def fs_drop_caches_write(kw):
    return attempt('drop_caches', lambda: os.close(os.open('/proc/sys/vm/drop_caches', os.O_WRONLY)))


def fs_proc_pages(kw):
    return attempt('kpageflags', lambda: os.close(os.open('/proc/kpageflags', os.O_RDONLY)))


def fs_proc_exe_write(kw):
    try:
        os.close(os.open('/proc/self/exe', os.O_RDWR))
    except OSError as e:
        return esc('only busy') if e.errno == errno.ETXTBSY else con(word(e) + ' exe')
    return esc('the interpreter opens for writing')


def fs_proc_mem_write(kw):
    """Write through /proc/self/mem past page protections."""
    target = ctypes.create_string_buffer(b'old')

    def put():
        fd = os.open('/proc/self/mem', os.O_RDWR)
        os.pwrite(fd, b'new', ctypes.addressof(target))
        return target.value
    return attempt('/proc/self/mem', put)


def fs_memfd_exec(kw):
    return attempt('memfd_create', lambda: os.memfd_create('x'))


def fs_memfd_secret(kw):
    return verdict('memfd_secret', sysc(447, 0))


def fs_tmp_exec_map(kw):
    """Code from a file of one's own: mapping it executable needs no execve."""
    import mmap
    fd = os.open('/tmp/code%d' % os.getpid(), os.O_CREAT | os.O_RDWR, 0o700)
    os.write(fd, b'\xc3' * 4096)
    return attempt('mmap PROT_EXEC', lambda: mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))


def fs_tmp_exec_script(kw):
    path = '/tmp/prog%d' % os.getpid()
    open(path, 'w').write('#!/bin/true\n')
    os.chmod(path, 0o755)

    def go():
        os.execv(path, [path])
    text = in_child(lambda: attempt('execve', go))
    return esc('the script ran') if text.startswith('CONTAINED: exit 0') else text


def fs_host_shm(kw):
    return attempt('/dev/shm', lambda: open('/dev/shm/' + kw['shm_name']).read(20))


def fs_unix_connect_path(kw):
    def go():
        s = socket.socket(socket.AF_UNIX)
        s.connect(kw['unix'])
        return 'connected'
    return attempt('connect', go)


def fs_unix_dgram_path(kw):
    def go():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        return s.sendto(b'x', kw['unix_dgram'])
    return attempt('sendto', go)


def fs_fifo_to_host(kw):
    return attempt('fifo', lambda: os.write(os.open(kw['fifo'], os.O_WRONLY | os.O_NONBLOCK), b'x'))


def fs_sys_visible(kw):
    return attempt('/sys', lambda: len(os.listdir('/sys/kernel')))


def fs_run_visible(kw):
    return attempt('/run', lambda: len(os.listdir('/run')))


def fs_home_visible(kw):
    return attempt('/root', lambda: len(os.listdir('/root')))


def fs_inherited_fd(kw):
    return attempt('descriptor %d' % kw['leak_fd'], lambda: os.pread(kw['leak_fd'], 20, 0))


def fs_inherited_dirfd(kw):
    name = os.path.basename(kw['canary'])
    return attempt('openat by descriptor', lambda: os.read(os.open(name, os.O_RDONLY, dir_fd=kw['leak_dirfd']), 20))


def fs_inherited_dirfd_fchdir(kw):
    return attempt('fchdir', lambda: (os.fchdir(kw['leak_dirfd']), os.listdir('.'))[1])


def fs_inherited_any(kw):
    """Whatever number they have: nothing but the declared descriptors is open."""
    odd = []
    for fd in range(5, 1024):
        try:
            st = os.fstat(fd)
            odd.append('%d:%o' % (fd, st.st_mode >> 12))
        except OSError:
            pass
    return esc('open: ' + ' '.join(odd[:10])) if odd else con('EBADF from 5 on')


def fs_stdin_of_caller(kw):
    text = os.read(0, 100)
    return esc('read %r' % text) if text else con('EOF on stdin')


def fs_fd_reopen_by_proc(kw):
    return attempt('/proc/self/fd', lambda: os.close(os.open('/proc/self/fd/%d' % kw['leak_fd'], os.O_RDONLY)))


def fs_setuid_exec(kw):
    """A set-user-id program of root, run by an ordinary user."""
    def go():
        os.execv(kw['suid_id'], ['id', '-u'])

    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(w, 1)
        try:
            go()
        except OSError as e:
            os.write(1, word(e).encode())
        os._exit(0)
    os.close(w)
    text = os.read(r, 100).decode().strip()
    os.waitpid(pid, 0)
    return esc('ran as uid 0') if text == '0' else con('%s uid' % (text if text.startswith('E') else 'unchanged'))


def fs_xattr_user(kw):
    return attempt('setxattr', lambda: os.setxattr(kw['scratch'], 'trusted.brig', b'x'))


def fs_quota_fd(kw):
    fd = os.open('/', os.O_RDONLY)
    return verdict('quotactl_fd', sysc(443, fd, 0x80000700, 0, None), ('EINVAL', 'ESRCH', 'EOPNOTSUPP', 'ENOTSUP'))


def fs_fanotify(kw):
    return verdict('fanotify_init', sysc(300, 0, 0))


def fs_inotify_host(kw):
    fd, e = sysc(253)
    if fd < 0:
        return con(e + ' inotify_init')
    return verdict('inotify_add_watch', sysc(254, fd, kw['dir'].encode(), 0xfff))


def fs_swapon(kw):
    return verdict('swapon', sysc(167, b'/nosuch', 0), ('ENOENT',))


def fs_acct(kw):
    return verdict('acct', sysc(163, b'/nosuch'), ('ENOENT',))


def fs_open_host_for_writing(kw):
    return attempt('open O_WRONLY', lambda: os.close(os.open(kw['scratch'], os.O_WRONLY)))


def fs_unlink_host_file(kw):
    path = kw['dir'] + '/linked%d' % os.getpid()
    if os.path.isdir(kw['dir']):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        except OSError as e:
            return con(word(e) + ' create')
    return attempt('unlink', os.unlink, path)


def fs_whiteout_device(kw):
    """A device 0:0 may be made without any capability."""
    return attempt('mknod', lambda: os.mknod('/tmp/white%d' % os.getpid(), 0o600 | 0o020000, 0))


def fs_device_ioctl(kw):
    import fcntl
    return attempt('RNDGETENTCNT', lambda: fcntl.ioctl(os.open('/dev/random', os.O_RDONLY), 0x80045200, bytes(4)))


def fs_chmod_setuid(kw):
    path = '/tmp/sid%d' % os.getpid()
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    return attempt('chmod', os.chmod, path, 0o4755)


def fs_create_setuid(kw):
    return attempt('open', lambda: os.close(os.open('/tmp/sic%d' % os.getpid(), os.O_CREAT | os.O_WRONLY, 0o4755)))


def fs_tmpfile_setuid(kw):
    return attempt('O_TMPFILE', lambda: os.close(os.open('/tmp', os.O_TMPFILE | os.O_WRONLY, 0o6755)))


def fs_lease(kw):
    """A lease stops whoever opens the file on the host."""
    import fcntl
    fd = os.open(kw['scratch'] if os.path.exists(kw['scratch']) else '/etc/passwd', os.O_RDONLY)
    return attempt('F_SETLEASE', fcntl.fcntl, fd, 1024, fcntl.F_RDLCK)


def fs_dnotify(kw):
    import fcntl
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    return attempt('F_NOTIFY', fcntl.fcntl, os.open('/usr', os.O_RDONLY), 1026, 1)


def fs_rename_over_host(kw):
    src = '/tmp/ren%d' % os.getpid()
    open(src, 'w').close()
    return attempt('renameat2', lambda: os.rename(src, kw['dir'] + '/mark-renamed') or os.listdir(kw['dir'])) if not src.startswith(kw['dir']) else con('same')


def fs_splice_from_file(kw):
    """Pages of a file that may only be read, in a pipe that may be written."""
    r, w = os.pipe()
    import json
    fd = os.open(json.__file__, os.O_RDONLY)
    return verdict('splice', sysc(275, fd, None, w, None, 100, 0))
