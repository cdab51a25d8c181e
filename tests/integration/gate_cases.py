#!/usr/bin/python3
"""The gate's cases of the shared collection, where it lies beside the checkout: each by `brig policy test`, in every order and split
over files, and again live: tools of a registry, called over agent.sock."""
import glob
import itertools
import json
import os
import re
import subprocess

from libbrig import BRIG, REPO, Daemon, Suite

CASES = os.environ.get('BRIG_EXTERNAL', REPO + '/../shared') + '/cases/bugs'
WORDS = {'denied': 'denied', 'allowed': 'ok', 'escalated': 'approval_pending', 'unknown_tool': 'invalid_arguments'}
ANY = {'type': 'object', 'properties': {}, 'additionalProperties': False}


def gate_cases():
    for path in sorted(glob.glob(CASES + '/*.json')):
        with open(path, encoding='utf-8') as f:
            case = json.load(f)
        if case['kind'] == 'gate':
            yield case


cases = list(gate_cases())
if not cases:
    print('1..0 # SKIP needs external-cases: no gate cases beside the checkout')
    raise SystemExit(0)
t = Suite()


def brig(*argv):
    return subprocess.run([BRIG, *argv], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False,
                          env={'PATH': os.environ['PATH'], 'BRIG_STATE': t.dir + '/state'})


def write(name, rules):
    return t.file(name, json.dumps({'rules': rules}, indent=1))


def layouts(rules):
    """The rules in every order, in one file and in one for each."""
    for order in itertools.permutations(rules):
        yield [write('policy.json', list(order))]
        yield [write('policy-%d.json' % i, [rule]) for i, rule in enumerate(order)]


def refused(case):
    files = [write('policy.json', case['policy']['rules'])]
    files += [write('rule-%d.json' % i, [rule]) for i, rule in enumerate(case['policy']['rules'])]
    for path in files:
        r = brig('policy', 'check', path)
        place = re.search(re.escape(os.path.basename(path)) + r':\d+:\d+: ', r.stderr)
        t.check('%s: %s is refused with its place' % (case['id'][:4], os.path.basename(path)), r.returncode == 1 and place, r)
        conf = t.file('refused.conf', 'policy = %s\n' % path)
        os.chmod(conf, 0o644)
        state = t.dir + '/refused'
        os.makedirs(state, exist_ok=True)
        r = subprocess.run([os.path.dirname(BRIG) + '/brigd', '--config', conf], capture_output=True, text=True, timeout=60, check=False,
                           env={'PATH': '/usr/bin:/bin', 'BRIG_STATE': state})
        t.check('%s: a daemon does not start with it' % case['id'][:4], r.returncode not in (0, -9) and os.path.basename(path) + ':' in r.stderr, r)


def verdicts(case):
    requests = [r for r in case['requests'] if r['expect'] in WORDS]
    tools = [r['tool'] for r in requests if r['expect'] != 'unknown_tool']
    table = t.file('cases.json', json.dumps({'tools': tools, 'requests': [{'tool': r['tool'], 'expect': r['expect']} for r in requests]}))
    wrong = []
    for files in layouts(case['policy']['rules']):
        r = brig('policy', 'test', table, '--policy', *files)
        if r.returncode != 0:
            wrong.append(r)
    t.check('%s: every verdict of the table, in every order and over several files' % case['id'][:4], requests and not wrong, wrong[:1])


def create(client, name, body='v1', **more):
    return client.call('tool.create', {'name': name, 'description': 'A test.', 'parameters': ANY, 'body': 'def run():\n    return %r\n' % body, **more})


def live(case):
    conf = t.file('live.conf', 'policy = %s\n' % write('live.json', case['policy']['rules']))
    os.chmod(conf, 0o644)
    d = Daemon(argv=['--config', conf], stderr=subprocess.DEVNULL)
    agent, admin = d.client(), d.client('admin')
    try:
        for r in case['requests']:
            word = WORDS.get(r['expect'].split(',')[0])
            made = create(agent, r['tool'], r.get('body', 'v1'), **({'replace': True} if r.get('body', 'v1') != 'v1' else {})) if r['expect'] != 'unknown_tool' else {}
            got = agent.call('call', {'name': r['tool'], 'args': {}})
            t.check('%s: %r %s is %s' % (case['id'][:4], r['tool'].encode('ascii', 'replace').decode(), r.get('body', ''), r['expect']), got.get('outcome') == word, [made, got])
            if r['expect'] == 'escalated, then allowed':
                one = got.get('cause', {}).get('evidence', {}).get('approval_id', '')
                done = admin.call('approval.decide', {'id': one, 'approve': True, 'uses': 5})
                again = agent.call('call', {'name': r['tool'], 'args': {}})
                t.check('%s: approved, the very same runs' % case['id'][:4], again.get('outcome') == 'ok' and again.get('result') == r['body'], [done, again])
    finally:
        agent.hang_up()
        admin.hang_up()
        d.close()


for one in cases:
    if any(r['expect'] == 'profile_rejected' for r in one['requests']):
        refused(one)
        continue
    if all(r['expect'] in WORDS for r in one['requests']):
        verdicts(one)
    live(one)
d = Daemon(stderr=subprocess.DEVNULL)
c = d.client()
for star in ('t*', '*', 'net_*', 't?', '[t]'):
    got = create(c, star)
    t.check('no tool can be called %s' % star, got.get('outcome') == 'invalid_arguments', got)
c.hang_up()
d.close()
raise SystemExit(t.finish())
