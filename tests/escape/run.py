#!/usr/bin/python3
"""Runs the attack table (EXPECT): each attack without a layer, with one layer, and in a whole jail.

    run.py [--only PATTERN] [--mode control|onelayer|full] [--rootless] [--factor F] [--brig PATH] [--verbose]

Without --mode all three. --rootless: whole jails started by an ordinary user, with --best-effort where cgroups are not
delegated (then the attacks that only a cgroup stops are left out). Prints TAP. What an attack says of itself is half of the evidence: the other half is the host
around it (libhost.py), which is looked at after each run. A crash, a missing program or a skip is never a pass.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get('BUILD_DIR', REPO + '/build')
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
from libhost import Host  # noqa: E402

USER_ID = 64243
MODES = ('control', 'onelayer', 'full')
MEMORY_MIB = 64  # of the suite's profiles and of onelayer

IN_VM = ('cgroup', 'user', 'landlock', 'time', 'cgroup_ns', 'uts', 'proc', 'mdwe', 'no_new_privs', 'rlimit', 'session')


class Attack:
    def __init__(self, line):
        cells = [c.strip() for c in line.split('|')]
        self.name, self.profile, self.layer, self.as_, one, full, self.note = cells + [''] * (7 - len(cells))
        self.one = one.split('/')
        self.full = self.one if full == '=' else full.split('/')
        self.no_control = self.note.startswith('none:')
        self.no_b = self.note.startswith('no b:') or self.layer in ('supervisor', 'sum', 'proc')
        self.control = 'ESCAPED' if not self.note or ':' in self.note else self.note
        if self.layer == 'supervisor' or self.note == 'again':
            self.no_control = self.no_b = True


def read_table():
    with open(HERE + '/EXPECT', encoding='utf-8') as f:
        return [Attack(line) for line in f if line.strip() and not line.startswith('#')]


def read_bodies():
    """Attack name -> source of its function; helpers (_name) travel with every function of their file."""
    import ast
    lib = open(HERE + '/attacks/lib.py', encoding='utf-8').read()
    bodies = {}
    for name in sorted(os.listdir(HERE + '/attacks')):
        if not name.endswith('.py') or name == 'lib.py':
            continue
        text = open(HERE + '/attacks/' + name, encoding='utf-8').read()
        parts = [(n.name, ast.get_source_segment(text, n)) for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)]
        helpers = '\n\n'.join(src for n, src in parts if n.startswith('_'))
        head = '' if name == 'py.py' else lib + '\n\n' + helpers
        for n, src in parts:
            if not n.startswith('_'):
                bodies[n] = '%s\n\n%s\n\n\ndef run(**kw):\n    return %s(kw)\n' % (head, src, n)
    return bodies


def words_of(text):
    """The words that a text gives as evidence, or ['ESCAPED']."""
    if text.startswith('ESCAPED'):
        return ['ESCAPED']
    m = re.match(r'CONTAINED: (\S+)', text) or re.match(r'RAISED: (\w+)', text)
    return [m.group(1)] if m else ['no answer']


def words_one(reply):
    end = reply.get('end')
    words = {'text': lambda: words_of(reply['text']), 'signal': lambda: [reply['name']], 'timeout': lambda: ['timeout'],
             'denied': lambda: ['denied:' + reply['name'], 'denied'], 'exit': lambda: ['exit %d' % reply['code']],
             'setup': lambda: ['setup of the layer failed: %s %s' % (reply.get('name'), reply.get('text'))]}[end]()
    if reply.get('oom'):
        words.append('oom')
    return words


def words_full(reply):
    outcome = reply.get('outcome')
    if outcome == 'ok':
        result = reply.get('result')
        return words_of(result) + (['ok'] if not str(result).startswith('ESCAPED') else []) if isinstance(result, str) else ['ok']
    words = [outcome]
    if outcome == 'syscall_denied':
        names = re.findall(r'"syscall": ?"(\w+)"', json.dumps(reply.get('cause', {})))
        words += ['denied:' + n for n in names]
    if outcome == 'tool_error' and reply.get('error'):
        words.append(reply['error'].get('type'))
    return words


class Runner:
    def __init__(self, args):
        self.args = args
        self.bodies = read_bodies()
        self.dir = tempfile.mkdtemp(prefix='brig-escape-', dir='/var/tmp')  # not /tmp: a jail has one of its own
        os.chmod(self.dir, 0o755)
        self.host = Host(self.dir, REPO)
        self.onelayer = BUILD + '/tests/escape/onelayer'
        self.user, self.allowed, self.more = None, set(), []
        if args.rootless:
            self.become_user()

    def become_user(self):
        """Copies of the programs where an ordinary user can reach them."""
        os.mkdir(self.dir + '/build')
        for name in ('brig', 'brigd', 'brig-zygote'):
            shutil.copy(BUILD + '/' + name, self.dir + '/build/')
        shutil.copytree(REPO + '/profiles', self.dir + '/profiles')
        subprocess.run(['chmod', '-R', 'a+rX', self.dir], check=True)
        self.args.brig = self.dir + '/build/brig'
        if os.getuid() == 0:
            self.user = USER_ID
        self.allowed, self.more = {'cgroup', 'groups'}, ['--best-effort']

    def kwargs(self, mode):
        hang = 1 if mode == 'control' else 30
        return {**self.host.facts(), 'memory_mib': MEMORY_MIB, 'cpu_s': self.args.factor, 'hang_s': hang * self.args.factor}

    def files(self, attack, mode):
        body, kw = self.dir + '/body.py', self.dir + '/kw.json'
        with open(body, 'w', encoding='utf-8') as f:
            f.write(self.bodies[attack.name])
        with open(kw, 'w', encoding='utf-8') as f:
            json.dump(self.kwargs(mode), f)
        return body, kw

    def call(self, argv, secs, user=None):
        try:
            p = self.host.run(argv, secs * self.args.factor, user)
        except subprocess.TimeoutExpired:
            return None, 'no end after %d s' % (secs * self.args.factor)
        try:
            return json.loads(p.stdout.decode('utf-8').strip().split('\n')[-1]), ''
        except (ValueError, IndexError):
            return None, 'exit %d: %s' % (p.returncode, self.host.last_terminal()[-300:])

    def run_one(self, attack, mode):
        body, kw = self.files(attack, mode)
        layer = 'none' if mode == 'control' else attack.layer
        ms = 800 if attack.profile == 'hang' and mode == 'onelayer' else 10000
        # As in the zygote: with restartable sequences on, a thread that may not register them aborts.
        argv = ['/usr/bin/env', 'GLIBC_TUNABLES=glibc.pthread.rseq=0', self.onelayer, '--timeout', str(int(ms * self.args.factor))]
        if attack.as_ == 'user':
            argv += ['--uid', str(USER_ID)]
        if attack.name == 'res_survivor':
            argv += ['--linger', str(int(1500 * self.args.factor))]
        reply, why = self.call(argv + [layer, body, kw], 20)
        words = words_one(reply) if reply else ['broken: ' + why]
        if attack.name == 'res_survivor':
            words = ['alive'] if self.host.mark_read() else ['gone']
        return words, reply

    def profile(self, name):
        """A profile of the suite, its times stretched for a slow machine; or the name of a shipped one."""
        own = HERE + '/profiles/' + name + '.json'
        if not os.path.exists(own):
            return name
        with open(own, encoding='utf-8') as f:
            text = re.sub(r'"(\d+)s"', lambda m: '"%dms"' % (int(m.group(1)) * 1000 * self.args.factor), f.read())
        copy = self.dir + '/' + name + '.json'
        with open(copy, 'w', encoding='utf-8') as f:
            f.write(text)
        return copy

    def run_full(self, attack):
        body, kw = self.files(attack, 'full')
        reply, why = self.call([self.args.brig, 'run', body, '--profile', self.profile(attack.profile), '--args', '@' + kw, '--json', *self.more], 30, self.user)
        words = words_full(reply) if reply else ['broken: ' + why]
        if attack.name == 'res_survivor':
            time.sleep(1.5)
            words = ['alive'] if self.host.mark_read() else ['gone'] if reply and reply.get('outcome') == 'ok' else words
        if reply and set(reply.get('receipt', {}).get('degraded', [])) - self.allowed:
            words = ['degraded: %s' % reply['receipt']['degraded']]
        touched = self.host.touched()
        return (['ESCAPED: the host saw ' + touched] if touched else words), reply

    def judge(self, attack):
        """(passed, text)"""
        said = []
        modes = [self.args.mode] if self.args.mode else MODES
        bad = []
        if 'control' in modes and not attack.no_control:
            words, reply = self.run_one(attack, 'control')
            self.host.touched()
            if attack.control not in words:
                bad.append('control: wanted %s, got %s %s' % (attack.control, words, reply))
        if 'onelayer' in modes and not attack.no_b:
            words, reply = self.run_one(attack, 'onelayer')
            self.host.touched()
            got = [w for w in words if w in attack.one]
            said.append('stopped by %s (%s)' % (attack.layer, got[0]) if got else '')
            if not got:
                bad.append('one layer (%s): wanted %s, got %s %s' % (attack.layer, attack.one, words, reply))
        if 'full' in modes:
            words, reply = self.run_full(attack)
            got = [w for w in words if w in attack.full]
            said.append('in the jail %s' % got[0] if got else '')
            if not got:
                brief = {k: reply[k] for k in ('outcome', 'result', 'error', 'cause') if k in reply} if reply else None
                bad.append('full: wanted %s, got %s %s' % (attack.full, words, json.dumps(brief)[:600]))
        if not modes:
            bad.append('nothing was run')
        return bad, ', '.join(s for s in said if s) or 'as expected'


def main():
    p = argparse.ArgumentParser()
    p.add_argument('--only', default='')
    p.add_argument('--mode', choices=MODES)
    p.add_argument('--rootless', action='store_true')
    p.add_argument('--factor', type=float, default=float(os.environ.get('BRIG_TIME_FACTOR', '1')))
    p.add_argument('--brig', default=os.environ.get('BRIG', BUILD + '/brig'))
    p.add_argument('--verbose', action='store_true')
    args = p.parse_args()
    table = [a for a in read_table() if re.search(args.only, a.name)]
    if os.environ.get('BRIG_IN_VM') and not args.mode:
        print('# a guest, many times slower: whole jails only, and of those what another kernel or unified cgroups could change')
        args.mode = 'full'
        table = [a for a in table if a.layer in IN_VM or a.name.startswith('sup_forge')]
    if os.getuid() != 0:
        args.rootless = True
    if args.rootless:
        print('# an ordinary user: whole jails only, and what only a cgroup stops is left out')
        args.mode = 'full'
        table = [a for a in table if a.layer != 'cgroup']
    runner = Runner(args)
    missing = [a.name for a in table if a.name not in runner.bodies]
    stray = sorted(set(runner.bodies) - {a.name for a in read_table()})
    failed = len(missing) + len(stray)
    for name in missing + stray:
        print('not ok - %s: only in one of EXPECT and attacks/' % name)
    number = 0
    try:
        for attack in table:
            if attack.name in missing:
                continue
            number += 1
            start = time.monotonic()
            bad, said = runner.judge(attack)
            failed += bool(bad)
            took = ' [%.1f s]' % (time.monotonic() - start) if args.verbose else ''
            name = attack.name + (' with a procfs' if attack.note == 'again' else '')
            print('%sok %d - %s: %s%s' % ('not ' if bad else '', number, name, said if not bad else '; '.join(bad)[:1500], took), flush=True)
    finally:
        left = runner.host.close()
    print('# %d attacks; %d without a control here, %d that no single layer can be tried against' % (
        len(table), sum(a.no_control for a in table), sum(a.no_b for a in table)))
    if left:
        failed += 1
        number += 1
        print('not ok %d - left behind: %s' % (number, left))
    print('1..%d' % number)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
