#!/usr/bin/python3
"""Installs a filter in this very interpreter and then does ordinary things.

    python_under.py FILTER-FD CHECK

u-filter-python.c starts it, once for each check. The filter comes as raw BPF; it goes on
by ctypes, so a profile needs no grant of execve for this test. Prints one word: ok, or
what went wrong."""
import ctypes, os, struct, sys


def install(program):
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    prog = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(program) // 8, ctypes.addressof(code)), 16)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
        raise OSError(ctypes.get_errno(), 'cannot install the filter')


def compute():
    import math, json, re, datetime, decimal, dataclasses, random, uuid, zoneinfo, hashlib, csv, io
    assert math.gcd(12, 18) == 6 and json.loads('[1]') == [1] and re.findall('a+', 'caat') == ['aa']
    assert datetime.datetime.strptime('2020-02-03', '%Y-%m-%d').year == 2020
    assert zoneinfo.ZoneInfo('Europe/Berlin').utcoffset(datetime.datetime(2020, 7, 1)).seconds == 7200
    assert len({uuid.uuid4() for _ in range(10)}) == 10 and hashlib.sha256(b'').hexdigest()[:4] == 'e3b0'
    bytearray(64 << 20)
    [str(i) * 50 for i in range(200000)]
    os.uname(), os.cpu_count(), os.getpid(), os.isatty(0)
    try:
        os.get_terminal_size(0)
    except OSError:
        pass


def files():
    import shutil, tempfile, sqlite3, zipfile, pathlib
    with tempfile.TemporaryDirectory() as d:
        a, b = os.path.join(d, 'a'), os.path.join(d, 'b')
        pathlib.Path(a).write_text('x' * 100000)
        shutil.copy2(a, b)
        os.rename(b, b + '2'); os.link(a, b); os.symlink(a, b + '3'); os.mkfifo(b + '4')
        os.chmod(a, 0o600); os.utime(a); os.truncate(a, 10)
        shutil.copytree(d, d + 'x', ignore=shutil.ignore_patterns('b4')); shutil.rmtree(d + 'x')
        db = sqlite3.connect(os.path.join(d, 'db'))
        db.execute('create table t (a)'); db.executemany('insert into t values (?)', [(i,) for i in range(1000)])
        db.commit(); assert db.execute('select sum(a) from t').fetchone() == (499500,); db.close()
        with zipfile.ZipFile(os.path.join(d, 'z'), 'w') as z:
            z.write(a)
        assert sorted(os.listdir(d))[0] == 'a' and shutil.disk_usage(d)


def loop():
    import asyncio, selectors

    async def main():
        r, w = os.pipe()
        await asyncio.gather(*(asyncio.sleep(0.01) for _ in range(10)))
        os.write(w, b'x')
        return os.read(r, 1)
    assert asyncio.run(main()) == b'x'
    selectors.DefaultSelector().close()


def threads():
    import asyncio, concurrent.futures, threading
    seen = []
    ts = [threading.Thread(target=seen.append, args=(i,)) for i in range(8)]
    [t.start() for t in ts]; [t.join() for t in ts]
    assert sorted(seen) == list(range(8))
    with concurrent.futures.ThreadPoolExecutor(4) as ex:
        assert list(ex.map(lambda x: x * x, range(10)))[9] == 81
    assert asyncio.run(asyncio.to_thread(lambda: 7)) == 7


def no_threads():
    import threading
    try:
        threading.Thread(target=print).start()
    except RuntimeError:
        return
    raise AssertionError('a thread was started')


def no_processes():
    import subprocess
    for attempt in (os.fork, lambda: subprocess.run(['/bin/true']), lambda: os.execv('/bin/true', ['true'])):
        try:
            attempt()
        except OSError:
            continue
        raise AssertionError('a process was started')


def no_network():
    import socket
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, 38, 40):
        try:
            socket.socket(family).close()
        except OSError:
            continue
        raise AssertionError('a socket of family %d' % family)
    try:
        socket.create_connection(('127.0.0.1', 9), 1)
    except OSError:
        pass
    try:
        socket.getaddrinfo('example.org', 80)
    except socket.gaierror:
        pass
    a, b = socket.socketpair()
    a.sendall(b'x'); assert b.recv(1) == b'x'
    try:
        socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    except OSError:
        return
    raise AssertionError('a datagram pair')


def loopback():
    import socket, threading
    server = socket.create_server(('127.0.0.1', 0))
    threading.Thread(target=lambda: server.accept()[0].sendall(b'hello')).start()
    with socket.create_connection(server.getsockname(), 5) as c:
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert c.recv(5) == b'hello'
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(('127.0.0.1', 0)); u.sendto(b'x', u.getsockname())
    assert u.recv(1) == b'x'
    for a in ((socket.AF_INET, socket.SOCK_RAW, 1), (socket.AF_UNIX, 1, 0), (socket.AF_INET, socket.SOCK_DGRAM, 1)):
        try:
            socket.socket(*a).close()
        except OSError:
            continue
        raise AssertionError('socket %r' % (a,))


def processes():
    import asyncio, multiprocessing, subprocess
    assert subprocess.run(['/bin/sh', '-c', 'echo a | sort; sleep 0.01; exit 3'], capture_output=True).returncode == 3
    assert subprocess.check_output(['/bin/echo', 'x'], start_new_session=True) == b'x\n'
    assert subprocess.check_output('ls / | wc -l', shell=True)
    assert subprocess.check_output([sys.executable, '-c', 'import threading; print(1)']) == b'1\n'
    p = subprocess.Popen(['sleep', '100']); p.kill(); assert p.wait() == -9

    async def sub():
        p = await asyncio.create_subprocess_exec('/bin/echo', 'y', stdout=subprocess.PIPE)
        return (await p.communicate())[0]
    assert asyncio.run(sub()) == b'y\n'
    with multiprocessing.Pool(2) as pool:
        assert pool.map(abs, [-1, -2]) == [1, 2]
    q = multiprocessing.Queue()
    p = multiprocessing.Process(target=q.put, args=(5,)); p.start(); assert q.get(timeout=20) == 5; p.join()
    p = multiprocessing.get_context('spawn').Process(target=abs, args=(1,)); p.start(); p.join(); assert p.exitcode == 0


def callbacks():
    libc = ctypes.CDLL(None)
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
    xs = (ctypes.c_int * 4)(3, 1, 2, 0)
    libc.qsort(xs, 4, ctypes.sizeof(ctypes.c_int), kind(lambda a, b: a[0] - b[0]))
    assert list(xs) == [0, 1, 2, 3]


def numbers():
    try:
        import numpy
    except ImportError:
        return 'skip'
    a = numpy.random.default_rng(1).random((200, 200))
    assert abs((numpy.linalg.inv(a) @ a).trace() - 200) < 1e-6


def signals():
    import signal, faulthandler
    faulthandler.enable()
    got = []
    signal.signal(signal.SIGALRM, lambda *a: got.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    signal.pause()
    signal.signal(signal.SIGUSR1, lambda *a: got.append(2))
    os.kill(os.getpid(), signal.SIGUSR1); signal.raise_signal(signal.SIGUSR1)
    assert got == [1, 2, 2]
    for send in (lambda: os.kill(os.getpid(), signal.SIGSYS), lambda: signal.raise_signal(signal.SIGSYS)):
        try:
            send()
        except OSError:
            continue
        raise AssertionError('SIGSYS was sent')


def main():
    fd, check = int(sys.argv[1]), sys.argv[2]
    program = b''
    while True:
        part = os.read(fd, 65536)
        if not part:
            break
        program += part
    os.close(fd)
    install(program)
    print(globals()[check]() or 'ok')


if __name__ == '__main__':
    main()
