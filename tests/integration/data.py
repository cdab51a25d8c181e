#!/usr/bin/python3
"""The data profile: numpy and pandas where the host has them, imported once, and nothing shared between calls."""
import subprocess
import sys
import time

from libbrig import Suite, Supervisor

PYTHON = '/usr/bin/python3'
ARRAYS = """import numpy as np
def run():
    a = np.arange(12.0).reshape(3, 4)
    t = np.linalg.solve(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 4.0]))
    d = np.array(['2020-02-03'], dtype='datetime64[D]')
    return {'sum': a.sum(), 'mean': a.mean(axis=0).tolist(), 'solve': t.tolist(), 'max': a.max(), 'std': round(a.std(), 6),
            'day': str(d[0]), 'text': str(a[:1]), 'fft': np.fft.fft([1, 0, 0, 0]).real.tolist(), 'sorted': np.sort([3, 1, 2]).tolist()}
"""
ARRAYS_WANT = {'sum': 66.0, 'mean': [4.0, 5.0, 6.0, 7.0], 'solve': [1.0, 1.0], 'max': 11.0, 'std': 3.452053, 'day': '2020-02-03',
               'text': '[[0. 1. 2. 3.]]', 'fft': [1.0, 1.0, 1.0, 1.0], 'sorted': [1, 2, 3]}
RANDOM = """import numpy as np
def run(): return [np.random.rand(), np.random.randint(1 << 60), np.random.default_rng().random()]
"""
TABLE = """import pandas as pd, io
def run(text):
    t = pd.read_csv(io.StringIO(text), parse_dates=['day'])
    g = t.groupby('who')['n'].agg(['sum', 'mean'])
    return {'sum': g['sum'].to_dict(), 'year': int(t['day'].dt.year.max()), 'rows': len(t.merge(t, on='who')), 'text': t.to_string().count('\\n')}
"""
TABLE_TEXT = 'who,n,day\na,1,2020-01-01\nb,2,2021-02-03\na,5,2022-03-04\n'
TABLE_WANT = {'sum': {'a': 6, 'b': 2}, 'year': 2022, 'rows': 5, 'text': 3}
FILES = """import numpy as np
def run():
    np.arange(3.0).tofile('/tmp/raw')
    np.save('/tmp/a', np.ones(3))
    return [np.fromfile('/tmp/raw').tolist(), np.load('/tmp/a.npy').tolist()]
"""
SECRET = 'import numpy as np\ndef run(): return np.fromfile("/etc/shadow", dtype="u1").size'
# What one call leaves in the shared module must not be there for the next.
SPOIL = 'import numpy as np\ndef run():\n    was = getattr(np, "left", None)\n    np.left = 1\n    np.pi = 3\n    return [was, np.array([0])[0].item()]'


def importable(module):
    return subprocess.run([PYTHON, '-I', '-c', 'import ' + module], capture_output=True, check=False).returncode == 0


def import_ms(module):
    begin = time.monotonic()
    subprocess.run([PYTHON, '-c', 'import ' + module], check=True)
    return (time.monotonic() - begin) * 1e3


def without(t):
    """A host without them: the profile loads, and the tool is told. Any module that no host has stands for one."""
    profile = t.profile('nowhere', 'pure', python={'imports': ['brig_no_such_module'], 'preload': ['brig_no_such_module', 'math']})
    t.ends('a preload that is not installed is passed over', 'ok', 'def run(): return 1', profile)
    t.ends('and the import in the tool says so', 'tool_error', 'import brig_no_such_module\ndef run(): return 1', profile,
           also=lambda r: r['error.type'] == 'ModuleNotFoundError' and 'brig_no_such_module' in r['error.message'])


def arrays(t):
    t.ends('arrays, linear algebra, dates, fft', 'ok', ARRAYS, 'data', also=lambda r: r['result'] == ARRAYS_WANT or r['result'])
    t.ends('files in /tmp, by name', 'ok', FILES, 'data', also=lambda r: r['result'] == [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]] or r['result'])
    t.ends('numpy reads no file of the host', 'tool_error', SECRET, 'data', also=lambda r: r['error.type'] in ('FileNotFoundError', 'PermissionError') or r['error'])
    t.ends('a thread pool of its own does not stop it', 'ok', 'import numpy as np\ndef run(): return (np.ones((300, 300)) @ np.ones((300, 300)))[0, 0]', 'data',
           also=lambda r: r['result'] == 300.0)
    s = Supervisor()
    try:
        seen = [s.call('run', {'body': RANDOM, 'args': {}, 'profile': 'data'}) for _ in range(6)]
        values = [v for r in seen for v in r.get('result', [])]
        t.check('no two calls draw the same numbers', len(values) == 18 and len(set(values)) == 18, seen[:2])
        spoilt = [s.call('run', {'body': SPOIL, 'args': {}, 'profile': 'data'}).get('result') for _ in range(2)]
        t.check('a call leaves nothing in the module', spoilt == [[None, 0]] * 2, spoilt)
        # The zygote stands, so the import was paid: a call that paid it again would take as long as python3 -c "import numpy" does.
        took = []
        for _ in range(5):
            begin = time.monotonic()
            s.call('run', {'body': 'import numpy\ndef run(): return 1', 'args': {}, 'profile': 'data'})
            took.append((time.monotonic() - begin) * 1e3)
        bare = min(import_ms('numpy') for _ in range(3))
        t.check('the import is paid once, not per call', min(took) < bare / 2, 'call %.1f ms, import %.1f ms' % (min(took), bare))
    finally:
        t.check('the supervisor ends well', s.close() == 0)


def main():
    t = Suite()
    without(t)
    if importable('numpy'):
        arrays(t)
    else:
        t.check('arrays # SKIP needs numpy', True)
    if importable('pandas'):
        t.ends('tables', 'ok', TABLE, 'data', args={'text': TABLE_TEXT}, also=lambda r: r['result'] == TABLE_WANT or r['result'])
    else:
        t.check('tables # SKIP needs pandas', True)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
