"""What a user would pick instead of Brig, where the distribution's package is installed: the same interpreter, flags and body in
bubblewrap, crun and runsc, each closed as tightly as its own options do it simply. None of them gets a filter of system calls or a
Landlock rule set here, and bubblewrap no limits: they do less than a Brig jail does.

make bench-deps installs them."""
import json
import os
import shutil
import subprocess
import tempfile

PYTHON = '/usr/bin/python3'
# The first start may load images and modules; a platform that hangs must not hang the bench.
PROBE_S = 20
MEMORY, PIDS = 128 << 20, 16


class Other:
    """reason: None, or why it cannot be measured here."""
    name = what = ''

    def __init__(self, code):
        self.code, self.serial, self.reason = code, 0, None
        self.dir = tempfile.mkdtemp(prefix='brig-bench-', dir='/var/tmp')
        if not shutil.which(self.name):
            self.reason = 'not installed (make bench-deps)'
            return
        try:
            self.prepare()
            done = subprocess.run(self.argv(), capture_output=True, text=True, check=False, timeout=PROBE_S, stdin=subprocess.DEVNULL)
            if done.returncode or not done.stdout.strip():
                said = (done.stderr.strip() or 'no output').split('\n')[-1]
                self.reason = 'exit %d: %s' % (done.returncode, said[:120])
        except (subprocess.TimeoutExpired, OSError) as e:
            self.reason = str(e)[:120]

    def prepare(self):
        pass

    def argv(self):
        raise NotImplementedError

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Bubblewrap(Other):
    name, what = 'bwrap', 'bubblewrap: namespaces, read-only /usr, no limits'

    def argv(self):
        return ['bwrap', '--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--uid', '1000', '--gid', '1000',
                '--ro-bind', '/usr', '/usr', '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--symlink', 'usr/bin', '/bin',
                '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', PYTHON, '-I', '-S', '-c', self.code]


class Bundle(Other):
    """Runs an OCI bundle whose root is the host's /usr, read-only."""
    resources = None

    def prepare(self):
        root = self.dir + '/rootfs'
        for name in ('usr', 'proc', 'dev', 'tmp'):
            os.makedirs(root + '/' + name)
        for name in ('lib', 'lib64', 'bin'):
            os.symlink('usr/' + name, root + '/' + name)

        def mount(where, kind, *options):
            return {'destination': where, 'type': kind, 'source': where if kind == 'bind' else kind, 'options': ['nosuid', *options]}
        config = {
            'ociVersion': '1.0.0', 'hostname': 'bench',
            'process': {'terminal': False, 'user': {'uid': 1000, 'gid': 1000}, 'args': [PYTHON, '-I', '-S', '-c', self.code], 'env': ['PATH=/usr/bin'],
                        'cwd': '/', 'noNewPrivileges': True, 'capabilities': {k: [] for k in ('bounding', 'effective', 'inheritable', 'permitted')}},
            'root': {'path': 'rootfs', 'readonly': True},
            'mounts': [mount('/usr', 'bind', 'bind', 'ro', 'nodev'), mount('/proc', 'proc', 'nodev', 'noexec'),
                       mount('/dev', 'tmpfs', 'mode=755', 'size=64k'), mount('/tmp', 'tmpfs', 'nodev', 'size=16m')],
            'linux': {'namespaces': [{'type': t} for t in ('pid', 'network', 'ipc', 'uts', 'mount')], **(self.resources or {})},
        }
        with open(self.dir + '/config.json', 'w', encoding='utf-8') as f:
            json.dump(config, f)

    def container(self):
        self.serial += 1
        return 'brig-bench-%d-%d' % (os.getpid(), self.serial)


class Crun(Bundle):
    name, what = 'crun', 'crun: a container, memory and process limits'
    resources = {'resources': {'memory': {'limit': MEMORY}, 'pids': {'limit': PIDS}}}

    def argv(self):
        return ['crun', '--root', self.dir + '/state', 'run', '--bundle', self.dir, self.container()]


class Runsc(Bundle):
    name, what = 'runsc', 'runsc: a kernel in user space, no limits'

    def argv(self):
        return ['runsc', '--root', self.dir + '/state', '--network=none', '--ignore-cgroups', 'run', '--bundle', self.dir, self.container()]


def all_others(code):
    return [kind(code) for kind in (Bubblewrap, Crun, Runsc)]
