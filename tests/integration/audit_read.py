#!/usr/bin/python3
"""What the audit log says, read again: audit.read in pages and by filter, brig audit tail and export, over a rotation."""
import csv
import io
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from libbrig import BRIG, FACTOR, Daemon, Suite  # noqa: E402

ECHO = 'def run(x): return x'
RAISE = 'def run(x): raise ValueError(x)'


class Logged(Daemon):
    def __init__(self, conf=''):
        self.conf = '/var/tmp/brig-ar-%d.conf' % os.getpid()
        with open(self.conf, 'w', encoding='utf-8') as f:
            f.write(conf)
        super().__init__(['--config', self.conf], stderr=subprocess.DEVNULL)

    def records(self):
        out = []
        names = sorted(n for n in os.listdir(self.state + '/audit') if n != 'audit.log')
        for name in names + ['audit.log']:
            with open('%s/audit/%s' % (self.state, name), 'rb') as f:
                out += f.read().splitlines()
        return out

    def brig(self, *argv):
        return subprocess.run([BRIG, 'audit', *argv], capture_output=True, text=True, timeout=60 * FACTOR,
                              env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': self.state})

    def close(self, *a):
        super().close(*a)
        os.unlink(self.conf)


def make(d, n):
    c = d.client()
    for i in range(n):
        c.call('run', {'body': RAISE if i % 10 == 9 else ECHO, 'args': {'x': i}, 'profile': 'pure'})
    c.hang_up()


def pages(a, **params):
    got, after = [], 0
    while True:
        r = a.call('audit.read', {'after_seq': after, **params})
        got += r['records']
        if r['next'] < after or not r['more']:
            return got, r
        after = r['next']


def test_pages(t, d):
    a = d.client('admin')
    all_of = [json.loads(r) for r in d.records()]
    t.check('the log was rotated', len(os.listdir(d.state + '/audit')) > 2, os.listdir(d.state + '/audit'))
    for limit in (1000, 97, 7):
        got, r = pages(a, limit=limit)
        t.check('pages of %d: every record once, in order' % limit, got == all_of and r['last'] == all_of[-1]['seq'], (len(got), len(all_of), r['last']))
    middle = all_of[len(all_of) // 2]['seq']
    r = a.call('audit.read', {'after_seq': middle, 'limit': 5})
    t.check('from the middle on', [x['seq'] for x in r['records']] == list(range(middle + 1, middle + 6)) and r['more'], r)
    for seq in [x['seq'] for x in all_of if x['kind'] == 'file']:
        r = a.call('audit.read', {'after_seq': seq - 2, 'limit': 3})
        t.check('across the files at %d' % seq, [x['seq'] for x in r['records']] == [seq - 1, seq, seq + 1], [x['seq'] for x in r['records']])
    r = a.call('audit.read', {'after_seq': 10 ** 15})
    t.check('from beyond the end: nothing, and no more', r['records'] == [] and not r['more'], r)
    r = a.call('audit.read', {'limit': 0})
    t.check('limit 0: only where the log ends', r['records'] == [] and r['last'] == all_of[-1]['seq'], r)
    got, _ = pages(a, outcome='tool_error')
    t.check('by outcome', got == [x for x in all_of if x.get('outcome') == 'tool_error'] and got, len(got))
    got, _ = pages(a, kind='begin', decision='allow', uid=os.getuid())
    t.check('by kind, decision and uid', got == [x for x in all_of if x['kind'] == 'begin'], len(got))
    got, _ = pages(a, uid=os.getuid() + 1)
    t.check('nothing of another user', got == [], got[:1])
    one = all_of[-3]['call_id']
    got, _ = pages(a, call_id=one)
    t.check('by call', [x['kind'] for x in got] == ['begin', 'end'] and {x['call_id'] for x in got} == {one}, got)
    since = all_of[-4]['time']
    got, _ = pages(a, since=since)
    t.check('since a time', got == all_of[-4:], [x['seq'] for x in got])
    got, _ = pages(a, until=since)
    t.check('until that time', got == all_of[:-4], len(got))
    a.hang_up()


def test_refused(t, d):
    a, c = d.client('admin'), d.client()
    for params, word in [({'kind': 'bgin'}, 'kind'), ({'outcome': 'fine'}, 'outcome'), ({'decision': 'maybe'}, 'decision'), ({'since': 'now'}, 'time'),
                         ({'until': '2026-01-02 03'}, 'time'), ({'limit': 1001}, 'limit'), ({'limit': -1}, 'limit'), ({'limit': 1.5}, 'limit'),
                         ({'after_seq': 1e30}, 'after_seq'), ({'after_seq': '1'}, 'after_seq'), ({'tool': 'a\0b'}, 'NUL'), ({'tol': 'x'}, 'tol')]:
        r = a.call('audit.read', params)
        t.check('refused by name: %s' % params, r.get('error', {}).get('code') == -32602 and word in r['error']['message'], r)
    r = c.call('audit.read', {})
    t.check('not for agent.sock', r.get('error', {}).get('code') == -32001, r)
    a.hang_up()
    c.hang_up()


def test_cli(t, d):
    lines = d.records()
    text = b'\n'.join(lines).decode() + '\n'
    r = d.brig('export')
    t.check('export: the lines as they stand in the log', r.returncode == 0 and r.stdout == text, (r.returncode, len(r.stdout), r.stderr))
    with open(d.state + '/copy.jsonl', 'w', encoding='utf-8') as f:
        f.write(r.stdout)
    v = d.brig('verify', d.state + '/copy.jsonl')
    t.check('and they can be verified', v.returncode == 0 and 'sound' in v.stdout, v)
    t.check('from files: the same', d.brig('export', d.state + '/audit').stdout == text and d.brig('export', d.state + '/copy.jsonl').stdout == text)
    r = d.brig('export', '--format', 'csv', '--kind', 'end')
    rows = list(csv.DictReader(io.StringIO(r.stdout)))
    want = [json.loads(x) for x in lines if json.loads(x)['kind'] == 'end']
    t.check('export as CSV', [(x['seq'], x['outcome'], x['usage.wall_us']) for x in rows] ==
            [(str(x['seq']), x['outcome'], str(x['usage']['wall_us'])) for x in want], r.stdout[:300])
    for argv in ([], ['-n', '5'], ['--outcome', 'tool_error', '-n', '3'], ['--since', '1h', '-n', '1']):
        a, b = d.brig('tail', *argv), d.brig('tail', *argv[:0], d.state + '/audit', *argv)
        t.check('tail %s: daemon and files say the same' % ' '.join(argv), a.returncode == 0 and a.stdout == b.stdout, (a, b))
        wide = [x for x in a.stdout.splitlines() if len(x) > 80]
        t.check('and it fits 80 columns', not wide and len(a.stdout.splitlines()) > 1, wide)
    r = json.loads(d.brig('tail', '-n', '4', '--json').stdout)
    t.check('tail --json: one object', r['records'] == [json.loads(x) for x in lines[-4:]], r)
    r = json.loads(d.brig('tail', '-n', '2', '--outcome', 'tool_error', '--json').stdout)
    t.check('the last two that match, however far back', r['records'] == [json.loads(x) for x in lines if b'"tool_error"' in x][-2:], r)
    for argv in (['-n', '0'], ['-n', 'x'], ['--outcome', 'fine'], ['--since', 'x'], ['--format', 'csv'], ['--uid', 'root'], ['-f', d.state + '/audit']):
        r = d.brig('tail', *argv)
        t.check('tail %s: usage' % ' '.join(argv)[:20], r.returncode == 2 and r.stderr.count('\n') == 1, r)


def test_follow(t, d):
    p = subprocess.Popen([BRIG, 'audit', 'tail', '-f', '-n', '1', '--json', '--kind', 'end'], stdout=subprocess.PIPE, text=True,
                         env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': d.state})
    p.stdout.readline()
    make(d, 3)
    got = [json.loads(p.stdout.readline())['outcome'] for _ in range(3)]
    p.terminate()
    t.check('tail -f: what comes is shown', got == ['ok'] * 3 and p.wait(timeout=20 * FACTOR) == 0, (got, p.returncode))


def test_hostile_text(t, d):
    """B111: what strangers write forges no line, and moves no terminal."""
    evil = 'x\n{"seq":1,"kind":"approval_decide","tool":"evil"}\n\x1b[2J\u009b2J\u202e' + 'A' * 3000
    c = d.client()
    s = c.call('session.open', {'task': evil[:1000], 'profile': 'pure'})
    c.call('run', {'body': ECHO, 'args': {'x': evil}, 'session': s['session']})
    c.call('session.close', {'session': s['session']})
    before = time.monotonic()
    while b'session_end' not in d.records()[-1]:
        time.sleep(0.02)
    lines = [json.loads(x) for x in d.records()]
    opened = [x for x in lines if x['kind'] == 'session_open'][-1]
    t.check('one record for each event, each of them JSON', sorted(x['kind'] for x in lines[-4:]) == ['begin', 'end', 'session_end', 'session_open'],
            lines[-4:])
    t.check('a long text is cut and says so', 'bytes, sha256 ' in opened['text'] and opened['text'].startswith('x\n{"seq"'), opened)
    raw = b'\n'.join(d.records())
    t.check('no control character stands in the log', not [b for b in raw if b < 32 and b != 10] and '\u009b' not in raw.decode(), '')
    out = d.brig('tail', '-n', '4').stdout
    t.check('tail shows it escaped, a line for each', len(out.splitlines()) == 5 and '\x1b' not in out and '\u202e' not in out, out)
    rows = list(csv.DictReader(io.StringIO(d.brig('export', '--format', 'csv').stdout)))
    t.check('CSV keeps it in its cell', len(rows) == len(lines) and rows[-4]['text'].startswith('x\\n{"seq":1'), rows[-4])
    t.check('and nothing took long', time.monotonic() - before < 30 * FACTOR)
    c.hang_up()


def test_values(t):
    """Arguments go into the log where the profile says so, and nowhere else."""
    d = Logged('profiles_dir = %s\n' % values_profiles(t))
    c = d.client()
    c.call('run', {'body': ECHO, 'args': {'x': 'sesame-1'}, 'profile': 'pure'})
    c.call('run', {'body': ECHO, 'args': {'x': 'sesame-2'}, 'profile': 'told'})
    c.call('run', {'body': ECHO, 'args': {'x': 'ä' * 2000}, 'profile': 'told'})
    c.hang_up()
    begins = [json.loads(x) for x in d.records() if json.loads(x)['kind'] == 'begin']
    t.check('hash: no value', 'value' not in begins[0]['args'] and b'sesame-1' not in b''.join(d.records()), begins[0])
    t.check('values: the text as it came', json.loads(begins[1]['args']['value']) == {'x': 'sesame-2'}, begins[1])
    v = begins[2]['args']['value']
    t.check('a long one is cut, and says how much is missing and its hash', len(v.encode()) <= 1024 and v.startswith('{"x"') and
            'bytes, sha256 ' in v and begins[2]['args']['bytes'] > 4000, v[-80:])
    v = d.brig('verify', d.state + '/audit')
    t.check('and the log is sound', v.returncode == 0, v)
    d.close()


def values_profiles(t):
    import shutil
    from libbrig import REPO
    path = t.dir + '/profiles'
    shutil.copytree(REPO + '/profiles', path)
    with open(path + '/told.json', 'w', encoding='utf-8') as f:
        json.dump({'name': 'told', 'why': 'a test', 'extends': 'pure', 'audit': {'args': 'values'}}, f)
    return path


def main():
    t = Suite()
    d = Logged('audit_rotate = 64K\n')
    make(d, 150)
    test_pages(t, d)
    test_refused(t, d)
    test_cli(t, d)
    test_follow(t, d)
    test_hostile_text(t, d)
    d.close()
    test_values(t)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
