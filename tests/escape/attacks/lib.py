# Put in front of every attack that runs with full builtins (tests/escape/run.py joins the texts).
# An attack answers "ESCAPED: what was reached" or "CONTAINED: WORD how it was stopped"; WORD is what EXPECT lists.
import ctypes
import errno
import os
import signal
import socket
import struct
import threading
import time

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def sysc(nr, *args):
    """One raw system call: (value, errno name or '')."""
    conv = []
    for a in args:
        if isinstance(a, int):
            a = ctypes.c_ulong(a & (2 ** 64 - 1))
        elif isinstance(a, bytes):
            a = ctypes.c_char_p(a)
        elif a is None:
            a = ctypes.c_void_p(0)
        conv.append(a)
    ctypes.set_errno(0)
    r = _libc.syscall(ctypes.c_long(nr), *conv)
    return r, errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno())) if r == -1 else ''


def word(e):
    return errno.errorcode.get(e.errno, type(e).__name__) if isinstance(e, OSError) else type(e).__name__


def esc(text):
    return 'ESCAPED: ' + text


def con(text):
    return 'CONTAINED: ' + text


def verdict(what, res, passed=()):
    """A call that got through, or that failed only after its permission check, has escaped."""
    r, e = res
    if r >= 0:
        return esc('%s returned %d' % (what, r))
    return esc('%s passed its check (%s)' % (what, e)) if e in passed else con('%s %s' % (e, what))


def worst(*verdicts):
    for v in verdicts:
        if v.startswith('ESCAPED'):
            return v
    return verdicts[0]


def attempt(what, fn, *args):
    """fn that raises OSError when it is stopped."""
    try:
        r = fn(*args)
    except OSError as e:
        return con('%s %s' % (word(e), what))
    return esc('%s: %.60r' % (what, r))


def in_child(fn, secs=5):
    """fn() -> text in a forked child, so that its death is only an answer."""
    r, w = os.pipe()
    try:
        pid = os.fork()
    except OSError as e:
        return con('%s fork' % word(e))
    if pid == 0:
        try:
            os.close(r)
            try:
                text = fn()
            except BaseException as e:
                text = con('%s %s' % (word(e), e))
            os.write(w, text.encode()[:3000])
        finally:
            os._exit(0)
    os.close(w)
    text = b''
    while True:
        chunk = os.read(r, 4096)
        if not chunk:
            break
        text += chunk
    os.close(r)
    st = os.waitpid(pid, 0)[1]
    if text:
        return text.decode()
    if os.WIFSIGNALED(st):
        return con('%s in the child' % signal.Signals(os.WTERMSIG(st)).name)
    return con('exit %d of the child' % os.waitstatus_to_exitcode(st))
