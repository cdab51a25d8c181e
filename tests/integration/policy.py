#!/usr/bin/python3
"""brig policy: what check and test say and how they end; a daemon takes its policy whole, at start and at each reload."""
import json
import os
import re
import shutil
import subprocess

from libbrig import BRIG, BUILD, Daemon, Suite

t = Suite()
ALLOW = {'match': '*', 'decide': 'allow'}
DENY = {'match': 'net_*', 'decide': 'deny', 'name': 'no-net'}


def policy(name, *rules, **more):
    return t.file(name, json.dumps({'rules': list(rules), **more}))


def cases(name, *requests, **more):
    return t.file(name, json.dumps({'requests': list(requests), **more}))


def brig(*argv):
    r = subprocess.run([BRIG, 'policy', *argv], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                       env={'PATH': os.environ['PATH'], 'BRIG_STATE': t.dir + '/state'}, check=False)
    try:
        r.json = json.loads(r.stdout)
    except ValueError:
        r.json = {}
    return r


def narrow(r):
    return all(len(line) <= 80 for line in r.stdout.splitlines() if not re.match(r'\S+: |wrong: ', line))


def check():
    r = brig('check')
    t.check('the shipped policy is good, and nothing is said of it', r.returncode == 0 and 'rules, good' in r.stdout and 'warning' not in r.stdout, r)
    r = brig('check', policy('a.json', ALLOW, {'match': 'net_get', 'decide': 'allow'}), policy('b.json', DENY))
    t.check('several files are one policy; what can hardly be meant is said with its place',
            r.returncode == 0 and 'a.json:1:' in r.stdout and 'b.json:1 no-net decides "deny"' in r.stdout and '3 rules, good' in r.stdout, r)
    r = brig('check', '--json', t.dir + '/a.json')
    t.check('--json is one object', r.returncode == 0 and r.json.get('good') and r.json['rules'] == 2 and r.json['warnings'][0]['where'], r)
    bad = t.file('bad.json', '{ "rules": [\n  { "match": "a", "decide": "allow" },\n  { "mach": "x", "decide": "deny" } ] }')
    r = brig('check', bad)
    t.check('a key that is none is refused with file, line, column and the nearest one',
            r.returncode == 1 and r.stdout == '' and 'bad.json:3:5' in r.stderr and "did you mean \"match\"" in r.stderr, r)
    r = brig('check', '--json', bad)
    t.check('the same in JSON', r.returncode == 1 and r.json.get('good') is False and r.json['error']['where'] == 'bad.json:3:5', r)
    for text, word in (('{"rules":[{"match":"net_[","decide":"deny"}]}', 'no ]'), ('{"rules":[{"match":"y","decide":"dney"}]}', '"deny"'),
                       ('{"rules":[{"match":"y","decide":"deny","decide":"allow"}]}', 'decide'), ('{"rules":[', ''), ('', ''),
                       ('{"rules":[{"match":"y","decide":"deny","when":{"args":{"a":{"matches":"("}}}}]}', 'pattern')):
        r = brig('check', t.file('w.json', text))
        t.check('refused: %s' % text[:60], r.returncode == 1 and 'w.json:1:' in r.stderr and word in r.stderr, r)
    for argv in (['chek'], ['check', t.dir + '/none.json'], ['check', t.dir], ['test'], ['check', '--policy', bad], ['test', bad, '--admin', '--policy', bad]):
        r = brig(*argv)
        t.check('usage: %s' % ' '.join(argv)[:50].replace(t.dir, ''), r.returncode == 2 and r.stderr.startswith('brig: '), r)


def test():
    good = cases('good.json', {'tool': 'net_get', 'expect': 'denied'}, {'tool': 'math_add', 'expect': 'allowed'})
    p, q = policy('p.json', ALLOW), policy('q.json', DENY)
    for files in ([policy('one.json', ALLOW, DENY)], [policy('two.json', DENY, ALLOW)], [p, q], [q, p]):
        r = brig('test', good, '--policy', *files)
        t.check('a deny wins: %s' % ' '.join(os.path.basename(f) for f in files), r.returncode == 0 and '2 requests, 0 wrong; 2 rules, 0 never hit' in r.stdout, r)
    t.check('the table fits 80 columns', narrow(r), r.stdout)
    r = brig('test', good, '--policy', p)
    t.check('a wrong verdict is told with what came instead, and exit status 1',
            r.returncode == 1 and 'wrong: request 1 (net_get): expected deny, got allow' in r.stdout and '1 wrong' in r.stdout, r)
    r = brig('test', good, '--policy', policy('r.json', ALLOW, DENY, {'match': 'x', 'decide': 'escalate', 'name': 'lost'}))
    t.check('rules that nothing hits are listed', r.returncode == 0 and 'r.json:1: never hit: escalate lost' in r.stdout, r)
    r = brig('test', cases('own.json', {'tool': 'a', 'expect': 'escalated', 'name': 'own'}, policy={'rules': [{'match': 'a', 'decide': 'escalate'}]}), '--json')
    t.check('cases may bring their policy', r.returncode == 0 and r.json['wrong'] == 0 and r.json['rules'][0]['hits'] == 1, r)
    r = brig('test', cases('classic.json', {'tool': 't', 'expect': 'allow'}, {'tool': 't', 'permissions': {'network': True}, 'expect': 'deny'},
                           {'tool': 't', 'scope': 'destructive', 'expect': 'escalate'}, {'tool': 't', 'scope': 'destructive', 'trust': 'admin', 'expect': 'allow'},
                           {'tool': 't', 'scope': 'read-write', 'args': {'path': 'a/../../b'}, 'expect': 'deny'}), '--json')
    t.check('without --policy: the shipped one', r.returncode == 0 and r.json['requests'][1]['rule'] == 'default.json:6 network-needs-trust', r)
    r = brig('test', t.file('odd.json', '{"requests":[\n{"tool":"a","expect":"maybe"}]}'))
    t.check('cases that are wrong: their place, and exit status 2', r.returncode == 2 and 'odd.json:2:13' in r.stderr, r)
    r = brig('test', good, '--policy', t.dir + '/bad.json')
    t.check('a policy that is refused: exit status 1', r.returncode == 1 and 'bad.json:3:5' in r.stderr, r)
    r = brig('test', cases('esc.json', {'tool': '\x1b[31m', 'expect': 'unknown_tool', 'name': '\x1b]0;x\x07'}))
    t.check('what a stranger wrote obeys no terminal', r.returncode == 0 and '\x1b' not in r.stdout and '\x07' not in r.stdout, r)


def daemon():
    mine = policy('mine.json', {**DENY, 'match': 'run'})
    conf = t.file('brigd.conf', 'policy = %s %s\n' % (mine, policy('more.json', ALLOW)))
    os.chmod(conf, 0o644)
    d = Daemon(argv=['--config', conf])
    c = d.client('admin')
    r = c.call('policy.check', {})
    t.check('a daemon has the files of its configuration', r.get('rules') == 2, r)
    a = d.client()
    for method, params in (('policy.check', {}), ('policy.test', {'cases_text': '{}'})):
        r = a.call(method, params)
        t.check('not over agent.sock: ' + method, r.get('error', {}).get('code') == -32001, r)
    policy('mine.json', ALLOW, {'match': 'x', 'decide': 'deny', 'whne': {}})
    r = c.call('reload', {})
    t.check('a reload with a wrong policy is refused with its place', 'mine.json:1:' in json.dumps(r) and '\\"when\\"' in json.dumps(r), r)
    r = c.call('policy.check', {})
    t.check('and nothing has changed', r.get('rules') == 2, r)
    policy('mine.json', ALLOW, DENY, ALLOW)
    r = c.call('reload', {})
    t.check('a good one is taken', 'error' not in r and c.call('policy.check', {}).get('rules') == 4, r)
    r = subprocess.run([BRIG, 'policy', 'test', cases('live.json', {'tool': 'net_x', 'expect': 'deny'}), '--admin', '--socket', d.path('admin'), '--json'],
                       capture_output=True, text=True, timeout=60, check=False)
    t.check('brig policy test --admin asks the policy that the daemon has', r.returncode == 0 and 'mine.json' in r.stdout, r)
    d.close()
    policy('mine.json', {'match': 'x'})
    r = subprocess.run([BUILD + '/brigd', '--config', conf, '--check'], capture_output=True, text=True, timeout=60, check=False)
    t.check('brigd --check tells of it', r.returncode != 0 and 'mine.json:1:' in r.stderr, r)


def whose():
    loose = policy('loose.json', ALLOW)
    conf = t.file('loose.conf', 'run_dir = %s/r\nstate_dir = %s/s\npolicy = %s\n' % (t.dir, t.dir, loose))
    os.chmod(conf, 0o644)
    for mode, good in ((0o644, True), (0o646, False)):
        os.chmod(loose, mode)
        r = subprocess.run([BUILD + '/brigd', '--config', conf, '--check'], capture_output=True, text=True, timeout=60, check=False)
        t.check('a file of mode %04o is %s' % (mode, 'taken' if good else 'refused'), (r.returncode == 0) == good and (good or 'everybody may write' in r.stderr), r)
    os.unlink(loose)
    r = subprocess.run([BUILD + '/brigd', '--config', conf, '--check'], capture_output=True, text=True, timeout=60, check=False)
    t.check('one that is not there is no empty policy', r.returncode != 0 and 'loose.json' in r.stderr, r)
    shutil.rmtree(t.dir + '/r', ignore_errors=True)


check()
test()
daemon()
whose()
raise SystemExit(t.finish())
