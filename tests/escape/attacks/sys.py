# System calls: kernel interfaces that no tool needs, other ways to enter the kernel, and the filter itself.


def sys_bpf_map(kw):
    attr = ctypes.create_string_buffer(struct.pack('IIIII', 2, 4, 8, 1, 0), 120)
    return verdict('bpf', sysc(321, 0, attr, 72))


def sys_bpf_thread(kw):
    """From a second thread: the filter must hold in all of them, and the name must still be told."""
    got = []
    attr = ctypes.create_string_buffer(struct.pack('IIIII', 2, 4, 8, 1, 0), 120)
    t = threading.Thread(target=lambda: got.append(verdict('bpf', sysc(321, 0, attr, 72))))
    t.start()
    t.join()
    return got[0]


def sys_bpf_grandchild(kw):
    attr = ctypes.create_string_buffer(struct.pack('IIIII', 2, 4, 8, 1, 0), 120)
    return in_child(lambda: in_child(lambda: verdict('bpf', sysc(321, 0, attr, 72))))


def sys_perf_event(kw):
    attr = ctypes.create_string_buffer(struct.pack('IIQ', 1, 112, 0), 256)
    return verdict('perf_event_open', sysc(298, attr, 0, -1, -1, 0))


def sys_userfaultfd(kw):
    return verdict('userfaultfd', sysc(323, 1))


def sys_io_uring(kw):
    return verdict('io_uring_setup', sysc(425, 4, ctypes.create_string_buffer(256)))


def sys_io_uring_register(kw):
    """The calls beside the set-up: blind register and enter."""
    return verdict('io_uring_register', sysc(427, -1, 13, None, 1), ('EBADF', 'EINVAL', 'EFAULT'))


def sys_kexec(kw):
    return verdict('kexec_load', sysc(246, 0, 0, None, 0))


def sys_init_module(kw):
    return verdict('finit_module', sysc(313, -1, b'', 0), ('EBADF', 'ENOEXEC', 'EFAULT'))


def sys_delete_module(kw):
    return verdict('delete_module', sysc(176, b'nosuch', 2048), ('ENOENT',))


def sys_personality(kw):
    return in_child(lambda: verdict('personality', sysc(135, 0x0440000)))


def sys_modify_ldt(kw):
    desc = ctypes.create_string_buffer(struct.pack('IIII', 0, 0, 0, 0x28), 16)
    return verdict('modify_ldt', sysc(154, 17, desc, 16))


def sys_ioperm(kw):
    return verdict('ioperm', sysc(173, 0x80, 1, 0))


def sys_arch_set_gs(kw):
    """Segment bases: a known way to confuse what runs in the same thread."""
    return in_child(lambda: verdict('arch_prctl', sysc(158, 0x1001, 0)))


def sys_arch_cpuid_fault(kw):
    return in_child(lambda: verdict('arch_prctl', sysc(158, 0x1012, 1), ('ENODEV',)))


def sys_x32_getpid(kw):
    return in_child(lambda: verdict('x32 getpid', sysc(0x40000000 | 39)))


def sys_x32_ioctl(kw):
    """Numbers of the x32 table proper (512 and up), with the bit."""
    return in_child(lambda: verdict('x32 ptrace', sysc(0x40000000 | 521, 0, 0, 0, 0)))


def _machine_code(raw):
    _libc.mmap.restype = ctypes.c_ulong
    _libc.mmap.argtypes = [ctypes.c_ulong, ctypes.c_ulong, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    at = _libc.mmap(0x10000000, 4096, 3, 0x22 | 0x40, -1, 0)
    if at in (0, 2 ** 64 - 1):
        raise OSError(ctypes.get_errno(), 'mmap')
    ctypes.memmove(at, raw, len(raw))
    if _libc.mprotect(ctypes.c_void_p(at), ctypes.c_size_t(4096), 5):
        raise OSError(ctypes.get_errno(), 'mprotect')
    return ctypes.CFUNCTYPE(ctypes.c_int)(at)


def sys_int80_getpid(kw):
    """mov eax, 20; int 0x80: the 32-bit table, where 20 is getpid."""
    def go():
        r = _machine_code(b'\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3')()
        return esc('int80 answered %d' % r) if r > 0 else con(errno.errorcode.get(-r, str(r)) + ' int80')
    return in_child(go)


def sys_int80_after_far_jump(kw):
    """In the tool's own process, so that the end of the whole call is seen."""
    r = _machine_code(b'\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3')()
    return esc('int80 answered %d' % r) if r > 0 else con(errno.errorcode.get(-r, str(r)) + ' int80')


def sys_sysenter_table(kw):
    """Numbers past the table: what the filter does not know."""
    got = [n for n in (600, 1023, 0x0fffffff) if sysc(n)[0] >= 0]
    return esc('answered: %r' % got) if got else con(sysc(600)[1] + ' unknown numbers')


def sys_upper_half_number(kw):
    """rax holds 64 bits, the kernel looks at 32: number 321 in disguise."""
    attr = ctypes.create_string_buffer(struct.pack('IIIII', 2, 4, 8, 1, 0), 120)
    return verdict('bpf', sysc(321 | 1 << 32, 0, attr, 72))


def sys_add_filter(kw):
    """A filter of the tool's own that returns errors, traps or kills would forge how calls end."""
    prog = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000), 8)
    fprog = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(prog)), 16)
    sysc(157, 38, 1, 0, 0, 0)
    return in_child(lambda: verdict('seccomp', sysc(317, 1, 0, fprog)))


def sys_add_listener(kw):
    prog = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000), 8)
    fprog = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(prog)), 16)
    sysc(157, 38, 1, 0, 0, 0)
    return in_child(lambda: verdict('seccomp', sysc(317, 1, 8, fprog)))


def sys_prctl_seccomp(kw):
    prog = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000), 8)
    fprog = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 1, ctypes.addressof(prog)), 16)
    sysc(157, 38, 1, 0, 0, 0)
    return in_child(lambda: verdict('PR_SET_SECCOMP', sysc(157, 22, 2, fprog, 0, 0)))


def sys_prctl_dumpable(kw):
    return verdict('PR_SET_DUMPABLE', sysc(157, 4, 1, 0, 0, 0))


def sys_prctl_pdeathsig(kw):
    return verdict('PR_SET_PDEATHSIG', sysc(157, 1, 0, 0, 0, 0))


def sys_prctl_mm(kw):
    return verdict('PR_SET_MM', sysc(157, 35, 14, ctypes.create_string_buffer(400), 4, 0), ('EINVAL',))


def sys_prctl_ptracer(kw):
    return verdict('PR_SET_CHILD_SUBREAPER', sysc(157, 36, 1, 0, 0, 0))


def sys_prctl_dispatch(kw):
    """Syscall user dispatch: SIGSYS at will."""
    return verdict('PR_SET_SYSCALL_USER_DISPATCH', sysc(157, 59, 0, 0, 0, 0))


def sys_prctl_tsc(kw):
    return verdict('PR_SET_TSC', sysc(157, 26, 1, 0, 0, 0))


def sys_prctl_timing(kw):
    return verdict('PR_SET_TIMERSLACK', sysc(157, 29, 10 ** 9, 0, 0, 0))


def sys_prctl_high_bits(kw):
    """prctl takes an int: option 4 with bits above 32."""
    return verdict('prctl', sysc(157, 4 | 1 << 33, 1, 0, 0, 0))


def sys_prctl_core_sched(kw):
    return verdict('PR_SCHED_CORE', sysc(157, 62, 0, 0, 0, 0), ('EINVAL', 'ENODEV'))


def sys_speculation_off(kw):
    """Turn a protection of the processor off again."""
    return verdict('PR_SET_SPECULATION_CTRL', sysc(157, 53, 0, 2, 0, 0))


def sys_mdwe_clear(kw):
    return verdict('PR_SET_MDWE', sysc(157, 65, 0, 0, 0, 0))


def sys_thp_disable(kw):
    return verdict('PR_SET_THP_DISABLE', sysc(157, 41, 1, 0, 0, 0))


def mem_wx_map(kw):
    import mmap
    return attempt('mmap RWX', lambda: len(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)))


def mem_w_to_x(kw):
    """Written first, made executable after."""
    import mmap
    m = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 3)
    m[0] = 0xc3
    return verdict('mprotect', sysc(10, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, 5))


def mem_pkey_to_x(kw):
    import mmap
    m = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 3)
    return verdict('pkey_mprotect', sysc(329, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, 5, -1))


def mem_shared_double_map(kw):
    """One memory, two views: written through the first, executed through the second."""
    import mmap

    def views():
        fd = os.memfd_create('x')
        os.truncate(fd, 4096)
        mmap.mmap(fd, 4096, mmap.MAP_SHARED, 3)[0] = 0xc3
        return len(mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC))
    return attempt('second view', views)


def mem_remap_pages(kw):
    return verdict('remap_file_pages', sysc(216, 0, 0, 0, 0, 0), ('EINVAL',))


def sys_lookup_lsm(kw):
    return verdict('lsm_list_modules', sysc(461, None, ctypes.byref(ctypes.c_uint32(0)), 0), ('E2BIG',))


def sys_landlock_more(kw):
    """ABI questions are harmless; a new ruleset is not the tool's business. Answers only."""
    return verdict('landlock_create_ruleset', sysc(444, None, 0, 1))


def sys_name_to_handle(kw):
    h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0), 136)
    return verdict('name_to_handle_at', sysc(303, -100, b'/tmp', h, ctypes.byref(ctypes.c_int()), 0))


def sys_lookup_dcookie(kw):
    return verdict('quotactl', sysc(179, 0x80000700, None, 0, None), ('ENODEV', 'ENOENT', 'ESRCH', 'EINVAL'))


def sys_vmsplice(kw):
    """The pipe trick behind several kernel holes."""
    r, w = os.pipe()
    buf = ctypes.create_string_buffer(4096)
    iov = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(buf), 4096), 16)
    return verdict('vmsplice', sysc(278, w, iov, 1, 0))


def sys_set_robust_list_other(kw):
    head = ctypes.c_void_p()
    size = ctypes.c_size_t()
    return verdict('get_robust_list', sysc(274, kw['victim'], ctypes.byref(head), ctypes.byref(size)))


def sys_madvise_merge(kw):
    """Merged pages are shared with other jails, and the time that a write takes tells."""
    import mmap
    m = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 3)
    return verdict('MADV_MERGEABLE', sysc(28, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, 12))


def sys_mempolicy(kw):
    return verdict('set_mempolicy', sysc(238, 0, None, 0))


def sys_mincore(kw):
    """Which pages of a shared file are in memory: what others have used."""
    import json
    import mmap
    fd = os.open(json.__file__, os.O_RDONLY)
    m = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, 3)
    return verdict('mincore', sysc(27, ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, ctypes.create_string_buffer(8)))


def sys_cachestat(kw):
    import json
    fd = os.open(json.__file__, os.O_RDONLY)
    span = ctypes.create_string_buffer(struct.pack('QQ', 0, 4096), 16)
    return verdict('cachestat', sysc(451, fd, span, ctypes.create_string_buffer(40), 0))


def sys_setaffinity(kw):
    return attempt('sched_setaffinity', lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))


def sys_execveat_memory(kw):
    """A program by descriptor, without a path."""
    fd = os.open('/usr/bin/true', os.O_RDONLY)
    argv = (ctypes.c_char_p * 2)(b'true', None)
    text = in_child(lambda: con(sysc(322, fd, b'', argv, None, 0x1000)[1] + ' execveat'))
    return esc('ran') if 'exit 0' in text else text


def sys_pidfd_of_thread(kw):
    """Number and flags of pidfd_open at once: a thread as a process."""
    fd, e = sysc(434, os.getpid(), 0o200)
    return con(e + ' pidfd_open') if fd < 0 else verdict('pidfd_getfd', sysc(438, fd, 0, 0))


def sys_race_number(kw):
    """One thread changes a buffer while another calls: a filter sees values only, so the call must be refused each time."""
    buf = ctypes.create_string_buffer(struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0), 64)
    stop = time.monotonic() + 0.3

    def flip():
        while time.monotonic() < stop:
            struct.pack_into('Q', buf, 0, 0x10000000)
            struct.pack_into('Q', buf, 0, 0)
    t = threading.Thread(target=flip)
    t.start()
    e = ''
    while time.monotonic() < stop:
        r, e = sysc(435, buf, 64)
        if r == 0:
            os._exit(0)
        if r > 0:
            os.kill(r, 9)  # made while the other thread held the interpreter's lock, it would wait for ever
            os.waitpid(r, 0)
            t.join()
            return esc('clone3 made %d' % r)
    t.join()
    return con(e + ' each time')


def sys_watch_queue(kw):
    """A pipe for notifications of the kernel; ENOPKG: it was asked for, and this kernel has none."""
    return verdict('pipe2 O_NOTIFICATION_PIPE', sysc(293, ctypes.create_string_buffer(8), 0x80), ('ENOPKG',))
