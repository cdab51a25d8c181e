# What a tool can learn about the host and about its caller.


def leak_hostname(kw):
    got = {socket.gethostname(), os.uname().nodename} & {kw['hostname']}
    return esc('host name %s' % got) if got else con('own name ' + socket.gethostname())


def leak_domainname(kw):
    buf = ctypes.create_string_buffer(390)
    sysc(63, buf)
    return esc('host name in utsname') if kw['hostname'].encode() + b'\0' in buf.raw else con('own names')


def leak_environment(kw):
    """From the C library's own list, not from os.environ."""
    env = (ctypes.c_char_p * 4096).from_address(ctypes.c_void_p.in_dll(_libc, 'environ').value)
    for v in env:
        if v is None:
            break
        if b'BRIG_ESC_SECRET' in v or b'SSH_' in v or b'HOME=/root' in v:
            return esc(v.decode()[:20])
    return con('clean environment')


def leak_stack_strings(kw):
    """argv, environment and program name as the kernel left them at the top of the stack."""
    _libc.getauxval.restype = ctypes.c_ulong
    at = _libc.getauxval(31)
    text = ctypes.string_at(at) if at else b''
    here = kw['repo'].encode()
    return esc('program is %r' % text) if here in text or b'/home' in text or b'/root' in text else con('program is %r' % text[:30])


def leak_own_cmdline(kw):
    import sys
    text = repr(getattr(sys, 'orig_argv', '')) + repr(sys.argv) + sys.executable + repr(sys.path)
    try:
        text += open('/proc/self/cmdline').read()
    except OSError:
        pass
    return esc('host path in argv') if kw['repo'] in text else con('no host path')


def leak_proc_cmdline(kw):
    return attempt('/proc/cmdline', lambda: open('/proc/cmdline').read(20))


def leak_mountinfo(kw):
    return attempt('mountinfo', lambda: open('/proc/self/mountinfo').read(20))


def leak_mountinfo_words(kw):
    """Where the jail has a mountinfo: does it name the caller's directories?"""
    def go():
        text = open('/proc/self/mountinfo').read()
        for word_ in (kw['repo'], kw['dir'], kw['hostname'], '/home', '/root'):
            if word_ in text:
                return word_
        raise OSError(errno.ENODATA, 'no word of the host')
    return attempt('mountinfo', go)


def leak_uptime_sched(kw):
    """The scheduler's own clock."""
    return attempt('/proc/self/sched', lambda: [x for x in open('/proc/self/sched') if 'exec_start' in x][0].split()[-1])


def leak_maps_paths(kw):
    def go():
        text = open('/proc/self/maps').read()
        if kw['repo'] not in text:
            raise OSError(errno.ENODATA, 'clean')
        return 'host path in maps'
    return attempt('maps', go)


def leak_host_processes(kw):
    try:
        n = len([p for p in os.listdir('/proc') if p.isdigit() and int(p) == kw['victim']])
    except OSError as e:
        return con(word(e) + ' /proc')
    return esc('the process %d is seen' % kw['victim']) if n else con('other processes hidden')


def leak_load(kw):
    return attempt('/proc/loadavg', lambda: open('/proc/loadavg').read(20))


def leak_boot_id(kw):
    return attempt('boot_id', lambda: open('/proc/sys/kernel/random/boot_id').read(20))


def leak_machine_id(kw):
    return attempt('machine-id', lambda: open('/etc/machine-id').read(20) or 'empty')


def leak_passwd(kw):
    try:
        users = open('/etc/passwd').read().split('\n')
    except OSError as e:
        return con(word(e) + ' passwd')
    return esc('%d users' % len(users)) if len(users) > 8 else con('made-up users')


def leak_uptime_clock(kw):
    t = time.clock_gettime(time.CLOCK_BOOTTIME)
    return esc('up for %d s' % t) if t >= kw['boottime'] - 0.5 else con('own boot time')


def leak_uptime_monotonic(kw):
    t = time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
    return esc('up for %d s' % t) if t >= kw['monotonic'] - 0.5 else con('own monotonic clock')


def leak_uptime_sysinfo(kw):
    buf = ctypes.create_string_buffer(128)
    r, e = sysc(99, buf)
    if r < 0:
        return con(e + ' sysinfo')
    up = struct.unpack_from('q', buf)[0]
    return esc('up for %d s' % up) if up >= kw['boottime'] - 2 else con('own uptime')


def leak_load_sysinfo(kw):
    buf = ctypes.create_string_buffer(128)
    r, e = sysc(99, buf)
    return con(e + ' sysinfo') if r < 0 else esc('memory of the host: %d MiB' % (struct.unpack_from('Q', buf, 32)[0] >> 20))


def leak_uptime_times(kw):
    """times() counts ticks from five minutes before the machine's boot, wrapped as the kernel's jiffies are."""
    t, e = sysc(100, None)
    if t < 0:
        return con(e + ' times')
    ups = [t / 100 - (2 ** 32 - 300 * hz) / hz for hz in (100, 250, 300, 1000)]
    near = [up for up in ups if abs(up - kw['boottime']) < 60]
    return esc('up for %d s' % near[0]) if near else con('ticks tell nothing: %d' % t)


def leak_kernel_log(kw):
    buf = ctypes.create_string_buffer(4096)
    return verdict('syslog', sysc(103, 3, buf, 4096))


def leak_cgroup_path(kw):
    def go():
        text = open('/proc/self/cgroup').read()
        if all(line.split(':', 2)[2] == '/' for line in text.split('\n') if line):
            raise OSError(errno.ENODATA, 'only roots')
        return text
    return attempt('/proc/self/cgroup', go)


def leak_uid_map(kw):
    """The map as seen from inside names ids of the namespace above, never of the host."""
    def go():
        inside, outside, count = map(int, open('/proc/self/uid_map').read().split())
        if count == 1 and outside < 65536:
            raise OSError(errno.ENODATA, 'no host id')
        return 'host id %d, %d of them' % (outside, count)
    return attempt('uid_map', go)


def leak_terminal(kw):
    names = []
    for fd in (0, 1, 2):
        try:
            names.append(os.ttyname(fd))
        except OSError:
            pass
    return esc(names[0]) if names else con('ENOTTY no terminal')


def leak_stdio_paths(kw):
    def go():
        names = [os.readlink('/proc/self/fd/%d' % fd) for fd in (0, 1, 2)]
        if all(n == '/dev/null' or n.startswith('pipe:') for n in names):
            raise OSError(errno.ENODATA, 'pipes and null')
        return names
    return attempt('/proc/self/fd', go)


def leak_stdio_reopen_size(kw):
    """Descriptors 0 to 4 must be null and plain pipes: no file, no socket, no terminal."""
    import stat
    odd = []
    for fd in range(0, 5):
        try:
            st = os.fstat(fd)
        except OSError:
            continue
        if not (stat.S_ISFIFO(st.st_mode) or stat.S_ISCHR(st.st_mode) and os.major(st.st_rdev) == 1):
            odd.append('%d: %o' % (fd, st.st_mode))
    return esc(' '.join(odd)) if odd else con('pipes and null only')


def leak_statfs_device(kw):
    """The mount that the tool stands on is not one of the host's file systems."""
    st = os.stat('/')
    return esc('the root directory of the host') if (st.st_dev, st.st_ino) == tuple(kw['root_id']) else con('own root')


def leak_session_ids(kw):
    """0 is what a namespace shows of a session that began outside of it."""
    sid, pgid = os.getsid(0), os.getpgid(0)
    mine = (1, os.getpid())
    return con('own session') if sid in mine and pgid in mine else esc('session %d, group %d of the caller' % (sid, pgid))


def leak_supplementary_groups(kw):
    got = [g for g in os.getgroups() if g not in (1000, 65534)]
    return esc('groups %r' % got) if got else con('no groups')


def leak_cpu_times(kw):
    return attempt('/proc/stat', lambda: open('/proc/stat').read(20))


def leak_sched_host(kw):
    r, e = sysc(145, kw['victim'])
    return verdict('sched_getscheduler', (r, e))


def leak_memory_of_zygote(kw):
    """The interpreter was warm before the call: does it hold a word of the supervisor's environment or of the other caller?"""
    needle = kw['env_secret'][::-1].encode()  # reversed, lest we find ourselves; what follows it in the environment is -env
    try:
        ranges = [line.split()[0].split('-') for line in open('/proc/self/maps') if ' rw-p ' in line]
    except OSError as e:
        return con(word(e) + ' maps')
    try:
        mem = os.open('/proc/self/mem', os.O_RDONLY)
    except OSError as e:
        return con(word(e) + ' mem')
    hits = 0
    for a, b in ranges:
        try:
            text = os.pread(mem, min(int(b, 16) - int(a, 16), 64 << 20), int(a, 16))
            hits += text[::-1].count(b'vne-' + needle)
            del text
        except OSError:
            pass
    return esc('%d copies' % hits) if hits else con('not in memory')
