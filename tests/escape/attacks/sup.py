# The supervisor: what a tool could make it believe, wait for or die of. The descriptors are those of the jail: 4 is the result pipe.


def _frame(kind, payload, length=None, magic=0x42525253):
    return struct.pack('IIQ16x', magic, kind, len(payload) if length is None else length) + payload


def sup_forge_then_raise(kw):
    os.write(4, _frame(1, b'"forged'))
    raise RuntimeError('no result')


def sup_forge_ok_then_die(kw):
    """A whole frame is the tool's own statement; what it may not choose is anything else."""
    os.write(4, _frame(1, b'{"outcome":"ok","receipt":{"capabilities":"all"},"usage":{"cpu_ms":0}}'))
    os._exit(0)


def sup_forge_outcome_kind(kw):
    os.write(4, _frame(7, b'"denied"'))
    os._exit(0)


def sup_forge_bad_magic(kw):
    os.write(4, _frame(1, b'"x"', magic=0x42525251))
    os._exit(0)


def sup_forge_huge_length(kw):
    os.write(4, _frame(1, b'"x"', length=2 ** 63))
    os._exit(0)


def sup_forge_wrapping_length(kw):
    os.write(4, _frame(1, b'"x"', length=2 ** 64 - 16))
    os._exit(0)


def sup_forge_not_json(kw):
    os.write(4, _frame(1, b'{"a":1,"a":2}'))
    os._exit(0)


def sup_forge_bad_utf8(kw):
    os.write(4, _frame(1, b'"\xff\xfe\xc0\x80"'))
    os._exit(0)


def sup_forge_deep_json(kw):
    os.write(4, _frame(1, b'[' * 20000 + b']' * 20000))
    os._exit(0)


def sup_forge_two_frames(kw):
    os.write(4, _frame(1, b'"first"') + _frame(2, b'{"type":"X","message":"second"}'))
    os._exit(0)


def sup_forge_half_frame_hang(kw):
    os.write(4, _frame(1, b'"x"')[:10])
    time.sleep(kw['hang_s'])
    return 'never'


def sup_forge_error_fields(kw):
    """An error payload that brings keys of the supervisor's."""
    os.write(4, _frame(2, b'{"type":"X","message":"m","outcome":"ok","cause":{"what":"forged"},"traceback":[1,{"a":2}]}'))
    os._exit(0)


def sup_write_request_pipe(kw):
    return attempt('write to 3', os.write, 3, b'x')


def sup_status_socket(kw):
    """The records of the start-up socket, as another jail state would send them."""
    got = []
    for fd in range(5, 64):
        try:
            os.write(fd, struct.pack('IHHiiii', 0x42524754, 5, 0, 0, 0, -1, 0) + bytes(200))
            got.append(fd)
        except OSError:
            pass
    return esc('written to %r' % got) if got else con('EBADF from 5 on')


def sup_result_pipe_steal(kw):
    return attempt('read of 4', os.read, 4, 1)


def sup_listener_kept(kw):
    """The notification descriptor would let the tool answer for itself."""
    buf = ctypes.create_string_buffer(80)
    import fcntl
    for fd in range(3, 64):
        try:
            fcntl.ioctl(fd, 0xc0502100, buf)
            return esc('listener at %d' % fd)
        except OSError as e:
            if e.errno not in (errno.EBADF, errno.ENOTTY, errno.EINVAL, errno.EPERM):
                return esc('descriptor %d answers %s' % (fd, word(e)))
    return con('EBADF no listener')


def sup_close_stdout(kw):
    os.close(1)
    os.close(2)
    return con('closed')


def sup_close_result_pipe(kw):
    os.close(4)
    return con('unheard')


def sup_flood_stdout(kw):
    chunk = b'\x00\xff\x1b]0;x\x07' * 8192
    for i in range(400):
        os.write(1, chunk)
    return con('flooded')


def sup_flood_stderr_threads(kw):
    def go():
        for i in range(100):
            os.write(2, b'\xe2\x82' * 4096)
    ts = [threading.Thread(target=go) for i in range(3)]
    for t in ts:
        t.start()
    for t in ts:
        t.join()
    return con('flooded')


def sup_flood_result(kw):
    os.write(4, _frame(1, b'"', length=1 << 30))
    chunk = b'x' * 65536
    while True:
        os.write(4, chunk)


def sup_exit_zero(kw):
    os._exit(0)


def sup_exit_like_setup(kw):
    """The exit statuses that a failing jail could use."""
    os._exit(125)


def sup_sigkill_self(kw):
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.2)
    return con('PID 1 survives its own SIGKILL')


def sup_orphan_holds_stdout(kw):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(kw['hang_s'])
        os._exit(0)
    return con('orphan holds stdout')


def sup_nonblocking_pipes(kw):
    """File status flags are shared with the other end's holder only where it is the same description."""
    os.set_blocking(1, False)
    os.set_blocking(4, False)
    return con('survived ' + 'x' * 100)


def sup_pipe_resize(kw):
    import fcntl
    return con('size %r' % [fcntl.fcntl(fd, 1031, 4096) for fd in (1, 4)])


def sup_kill_all(kw):
    """Everything that a signal reaches, itself excepted."""
    try:
        os.kill(-1, signal.SIGKILL)
    except OSError as e:
        return con('alone: ' + word(e))
    return con('alone')


def sup_hurt_init(kw):
    for s in (signal.SIGTERM, signal.SIGSEGV, signal.SIGSTOP, signal.SIGKILL, signal.SIGCHLD, signal.SIGUSR1):
        try:
            os.kill(1, s)
        except OSError:
            pass
    time.sleep(0.1)
    return con('unhurt')


def sup_fake_child_status(kw):
    """A sibling for the init to wait for, with an end of its own."""
    r, e = sysc(56, 0x8000 | 17, 0, 0, 0, 0)
    if r == 0:
        os._exit(77)
    time.sleep(0.2)
    return con('sibling %s' % (e or 'made'))


def sup_slow_frame(kw):
    for b in _frame(1, b'"' + b'x' * 1000 + b'"'):
        os.write(4, bytes([b]))
        time.sleep(0.01)
    return 'second'


def sup_many_zombies_at_end(kw):
    n = 0
    try:
        for n in range(12):
            if os.fork() == 0:
                os._exit(0)
    except OSError:
        pass
    return con('zombies left')


def sup_stopped_children(kw):
    for i in range(3):
        if os.fork() == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
    return con('stopped children left')


def sup_frozen_in_vfork(kw):
    """A parent that is asleep in vfork cannot be woken by anything but its child."""
    r, e = sysc(56, 0x4000 | 0x100 | 17, 0, 0, 0, 0)
    if r == 0:
        time.sleep(kw['hang_s'])
        os._exit(0)
    return con((e or 'came back') + ' vfork')
