#!/usr/bin/python3
"""Registries that nobody should meet, over a real brigd: each is told by name, nothing in it is changed, and what was answered is never lost."""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from libbrig import FACTOR, Daemon, Suite, Supervisor
from libgate import create, kill_core

BODY = 'def run(x):\n    return x\n'
ROOT = os.geteuid() == 0


def create_raw(client, name):
    return client.call('tool.create', {'name': name, 'description': 'for a test', 'parameters': {'type': 'object', 'properties': {'x': {}},
                                                                                                   'required': ['x']}, 'body': BODY, 'permissions': {}})


def with_registry(t, prepare):
    """A daemon's answer over a registry that a daemon made and prepare(path of its directory) spoiled."""
    state = tempfile.mkdtemp(prefix='brig-s-', dir='/var/tmp')
    d = Daemon(state=state)
    create(d.client('admin'), 'first', BODY)
    d.close()
    undo = prepare(state + '/registry')
    d = Daemon(state=state)
    c = d.client('admin')
    listed, made, ran = c.call('tool.list', {}), create_raw(c, 'second'), c.call('run', {'body': BODY, 'args': {'x': 1}, 'profile': 'pure'})
    d.close()
    if undo:
        undo()
    return state, listed, made, ran


def write(path, offset, data, cut=False):
    with open(path, 'r+b') as f:
        f.truncate(0 if cut else os.path.getsize(path))
        f.seek(offset)
        f.write(data)


def newer(r):
    db = sqlite3.connect(r + '/registry.db')
    db.execute('PRAGMA user_version = 9999')
    db.commit()
    db.close()


def garbage(r):
    os.truncate(r + '/registry.db-wal', 0)  # it holds every page since the last checkpoint
    write(r + '/registry.db', 0, b'#!/bin/sh\necho this is no database\n' * 99, True)


def halve(r):
    db = r + '/registry.db'
    sqlite3.connect(db).execute('PRAGMA wal_checkpoint(TRUNCATE)')
    os.truncate(db, os.path.getsize(db) // 2)


def bad_ones(t):
    rows = [('no database', garbage, ''),
            ('cut in half', halve, ''),
            ('of a newer brigd', newer, 'format 9999')]
    if ROOT:
        rows += [('in a directory of somebody else', lambda r: os.chown(r, 65534, 65534), 'cannot make or open it'),
                 ('a file that others may write', lambda r: os.chmod(r + '/registry.db', 0o666), 'not ours'),
                 ('a symbolic link', lambda r: (os.rename(r + '/registry.db', r + '/real'), os.symlink('real', r + '/registry.db'))[1], '')]
    for title, prepare, word in rows:
        state, listed, made, ran = with_registry(t, prepare)
        message = str(listed.get('error', {}).get('message'))
        t.check('%s: refused by name' % title, 'error' in listed and word in message and 'registry' in str(listed), listed)
        t.check('%s: nothing is created in it' % title, 'hash' not in made, made)
        t.check('%s: bodies still run' % title, ran.get('outcome') == 'ok', ran)
        shutil.rmtree(state, ignore_errors=True)


def locked(t):
    state = tempfile.mkdtemp(prefix='brig-s-', dir='/var/tmp')
    d = Daemon(state=state)
    c = d.client('admin')
    create(c, 'first', BODY)
    db = sqlite3.connect(state + '/registry/registry.db', isolation_level=None)
    db.execute('BEGIN IMMEDIATE')
    begin = time.monotonic()
    r = create_raw(c, 'second')
    t.check('locked by another for long: refused within seconds', 'hash' not in r and time.monotonic() - begin < 20 * FACTOR, r)
    r = c.call('tool.list', {})
    t.check('reading goes on meanwhile', [x['name'] for x in r.get('tools', []) if not x.get('reviewed')] == ['first'], r)
    db.execute('ROLLBACK')
    db.close()
    r = create_raw(c, 'second')
    t.check('and writing afterwards', 'hash' in r, r)
    d.close()
    shutil.rmtree(state, ignore_errors=True)


def killed(t):
    """Nothing that was answered is lost."""
    state = tempfile.mkdtemp(prefix='brig-s-', dir='/var/tmp')
    config = t.file('brigd.conf', 'max_custom_tools = 1000\n')
    d = Daemon(('--config', config), state=state)
    answered, n, kills, stop = [], 0, 0, time.monotonic() + 40 * FACTOR
    while kills < 6 and time.monotonic() < stop:
        killer = None
        try:
            c = d.client('admin')
            while True:
                n += 1
                if 'hash' in create_raw(c, 'tool_%d' % n):
                    answered.append('tool_%d' % n)
                if not killer:  # its first check of a body is slow, the next ones write as fast as they can
                    killer = threading.Timer(0.03 + 0.017 * kills, kill_core, (d,))
                    killer.start()
        except (OSError, EOFError, ValueError):
            time.sleep(0.05)
        if killer:
            killer.join()
            kills += 1
    time.sleep(0.5 * FACTOR)
    end, names = time.monotonic() + 15 * FACTOR, set()
    while time.monotonic() < end and not names:
        try:
            names = {x['name'] for x in d.client('admin').call('tool.list', {}).get('tools', [])}
        except (OSError, EOFError):
            time.sleep(0.2)
    t.check('core killed in a loop while it writes: what was answered is there (%d tools)' % len(answered), kills >= 3 and len(answered) > kills and set(answered) <= names,
            (kills, set(answered) - names))
    d.close()
    db = sqlite3.connect(state + '/registry/registry.db')
    t.check('and the database is whole', db.execute('PRAGMA integrity_check').fetchone() == ('ok',))
    db.close()
    shutil.rmtree(state, ignore_errors=True)


def two_at_once(t):
    state = tempfile.mkdtemp(prefix='brig-s-', dir='/var/tmp')
    both, made = [Supervisor(env={'BRIG_STATE': state}) for _ in range(2)], [[], []]

    def make(i):
        for k in range(8):
            made[i].append('hash' in create_raw(both[i], 'of_%d_%d' % (i, k)))
    threads = [threading.Thread(target=make, args=(i,)) for i in range(2)]
    for th in threads:
        th.start()
    for th in threads:
        th.join()
    seen = [{x['name'] for x in s.call('tool.list', {})['tools']} for s in both]
    t.check('two private supervisors at once: each sees what both made', all(made[0] + made[1]) and seen[0] == seen[1] and len(seen[0]) >= 16, (made, seen))
    r = create_raw(both[1], 'of_0_0')
    t.check('a name of the other is taken', 'hash' not in r, r)
    for s in both:
        s.close()
    shutil.rmtree(state, ignore_errors=True)


def full_disk():
    """Runs in a mount namespace of its own: a tmpfs that has no room left."""
    t = Suite()
    where = tempfile.mkdtemp(prefix='brig-s-', dir='/var/tmp')
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=6m,mode=755', 'none', where], check=True)
    s = Supervisor(env={'BRIG_STATE': where})
    ok = 'hash' in create_raw(s, 'first')
    fill = os.open(where + '/fill', os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            os.write(fill, b'x' * 4096)
    except OSError:
        os.close(fill)
    refused = [r for r in (create_raw(s, 'more_%d' % i) for i in range(12)) if 'hash' not in r]
    names = {x['name'] for x in s.call('tool.list', {}).get('tools', [])}
    os.unlink(where + '/fill')
    again = create_raw(s, 'after')
    s.close()
    subprocess.run(['umount', where], check=False)
    os.rmdir(where)
    shutil.rmtree(t.dir, ignore_errors=True)
    print(bool(ok and refused and 'first' in names and 'hash' in again), refused[:1], names, again)


def main():
    if sys.argv[1:] == ['full']:
        return full_disk()
    t = Suite()
    bad_ones(t)
    locked(t)
    two_at_once(t)
    killed(t)
    if ROOT:
        r = subprocess.run(['unshare', '-m', '--propagation', 'private', sys.executable, __file__, 'full'], capture_output=True, text=True)
        t.check('a full disk: refused, what was there stays, and with room it goes on', r.stdout.startswith('True'), r.stdout + r.stderr)
    return t.finish()


sys.exit(main())
