#!/usr/bin/python3
"""call: from a name to a decision. Every outcome, over both sockets and in a private supervisor; and that the gate and the jail
never see two different arguments."""
import json
import os
import subprocess
import sys
import time

from libbrig import BUILD, EXIT_OF, REPO, Suite, Supervisor
from libgate import AGENT, DESTRUCTIVE, PURE, agent, create, daemon, log_of, outcome

ADD = 'def run(a, b):\n    return a + b\n'
ECHO = 'import json\ndef run(**kwargs):\n    return repr(kwargs)\n'
TWO = {'type': 'object', 'properties': {'a': {'type': 'integer'}, 'b': {'type': 'integer'}}, 'required': ['a', 'b'], 'additionalProperties': False}


def names(t, a):
    create(a, 'add', ADD, parameters=TWO)
    create(a, 'Shout', 'def run(s):\n    return s.upper()\n')
    for name, near in (('adde', 'add'), ('ADD', None), ('add ', 'add'), (' add', 'add'), ('shout', 'Shout'), ('а' 'dd', None), ('add\u0000', None),
                       ('', None), ('run', None), ('*', None), ('ad?', None), ('../add', None), ('add' * 3500, None)):
        r = a.call('call', {'name': name, 'args': {'a': 1, 'b': 2}})
        good = outcome(r) == 'invalid_arguments' and r['tool'] is None and r['cause']['what'].startswith('no tool is called')
        if near:
            good = good and 'did you mean %s?' % near in r['cause']['hint']
        t.check('%r is no tool, and says so%s' % (name[:20], ', naming %s' % near if near else ''), good, r)
    r = a.call('call', {'name': 'add', 'args': {'a': 1, 'b': 2}})
    t.check('add runs: its name and profile are in the answer', outcome(r) == 'ok' and r['result'] == 3 and r['tool'] == 'add' and r['profile'] == 'pure'
            and len(r['call_id']) == 32, r)
    for args, word in (({'a': 1}, 'b'), ({'a': 1, 'b': 5.5}, 'b'), ({'a': 1, 'b': '2'}, 'b'), ({'a': 1, 'b': 2, 'c': 3}, 'c'), ({'a': True, 'b': 2}, 'a')):
        r = a.call('call', {'name': 'add', 'args': args})
        t.check('%s does not fit, and %s is named' % (json.dumps(args), word),
                outcome(r) == 'invalid_arguments' and word in r['cause']['what'] and r['tool'] == 'add' and r['cause']['final'], r)
    for params in ({}, {'name': 5}, {'name': 'add', 'argz': {}}, {'name': 'add', 'trust': 'admin'}, {'name': 'add', 'task': 'x'}, {'name': 'add', 'approval': 'yes'},
                   {'name': 'add', 'user_id': 'root'}, {'name': 'add', 'labels': {}}, {'name': 'add', 'profile': 'python'}):
        t.check('call %s: a wrong request' % json.dumps(params), outcome(a.call('call', params)) == -32602, params)
    r = a.call('call', {'name': 'add', 'args': [1]})
    t.check('arguments that are no object', outcome(r) == 'invalid_arguments', r)


RULES = [
    {'name': 'no-nets', 'match': 'net_*', 'decide': 'deny', 'reason': 'nets are not for fish', 'hint': 'use a boat'},
    {'name': 'big', 'match': 'echo', 'when': {'args': {'n': {'equals': 9007199254740993}}}, 'decide': 'deny', 'reason': 'that very number'},
    {'name': 'often', 'match': 'often', 'when': {'rate': {'over': 2, 'per': '1m'}}, 'decide': 'deny', 'reason': 'too often'},
    {'name': 'tasks', 'match': 'tasked', 'when': {'task': 'billing*'}, 'decide': 'allow'},
    {'name': 'admins', 'match': 'adminly', 'when': {'trust_at_least': 'admin'}, 'decide': 'allow'},
    {'name': 'no-bodies', 'match': 'run', 'when': {'subprocess': True}, 'decide': 'deny', 'reason': 'no processes'},
    {'name': 'ask', 'match': 'asks', 'decide': 'escalate', 'reason': 'a person looks'},
    {'name': 'rest', 'match': ['echo', 'often', 'run', 'add'], 'decide': 'allow'},
]


def decisions(t, d, a, ad):
    create(a, 'net_get', 'def run():\n    return 1\n')
    create(a, 'often', 'def run():\n    return 1\n')
    create(a, 'tasked', 'def run():\n    return 1\n')
    create(a, 'adminly', 'def run(**k):\n    return 1\n')
    create(a, 'nowhere', 'def run():\n    return 1\n')
    r = a.call('call', {'name': 'net_get', 'args': {}})
    t.check('denied: rule with its place, reason and hint', outcome(r) == 'denied' and r['cause']['rule'] == 'policy.json:3 no-nets'
            and 'nets are not for fish' in r['cause']['what'] and r['cause']['hint'] == 'use a boat' and r['cause']['final'] is False, r)
    r = a.call('call', {'name': 'net_get', 'args': {}})
    t.check('the very same again is final', outcome(r) == 'denied' and r['cause']['final'] is True, r)
    r = a.call('call', {'name': 'net_get', 'args': {'x': 1}})
    t.check('other arguments are another denial', outcome(r) == 'denied' and r['cause']['final'] is False, r)
    s = a.call('session.open', {'task': 'billing of may'})['session']
    r = a.call('call', {'name': 'net_get', 'args': {}, 'session': s})
    t.check('another session has not been told yet', outcome(r) == 'denied' and r['cause']['final'] is False, r)
    r = a.call('call', {'name': 'nowhere', 'args': {}})
    t.check('what no rule speaks of is denied', outcome(r) == 'denied' and r['cause']['rule'] == 'default', r)
    t.check('a task\'s rule: without a session it does not hold', outcome(a.call('call', {'name': 'tasked', 'args': {}})) == 'denied')
    t.check('with its session it does', outcome(a.call('call', {'name': 'tasked', 'args': {}, 'session': s})) == 'ok')
    for args in ({'trust_level': 'admin'}, {'trust': 'admin', '_meta': {'trust_level': 'admin', 'uid': 0}}, {'context': {'trust_level': 'admin', 'task': 'billing'}}):
        t.check('arguments that look like context raise nothing: %s' % json.dumps(args), outcome(a.call('call', {'name': 'adminly', 'args': args})) == 'denied')
    s2 = a.call('session.open', {'task': 'x', 'labels': {'trust_level': 'admin'}, 'user_id': 'root'})['session']
    t.check('nor does a session that says so of itself', outcome(a.call('call', {'name': 'adminly', 'args': {}, 'session': s2})) == 'denied')
    t.check('over admin.sock the operator has it', outcome(ad.call('call', {'name': 'adminly', 'args': {}})) == 'ok')
    got = [outcome(a.call('call', {'name': 'often', 'args': {}})) for _ in range(4)]
    t.check('a rate holds for a user without session', got == ['ok', 'ok', 'denied', 'denied'] or got == ['ok', 'ok', 'ok', 'denied'], got)
    got = [outcome(a.call('call', {'name': 'often', 'args': {}, 'session': s})) for _ in range(4)]
    t.check('and for each session by itself', got[0] == 'ok' and got[3] == 'denied', got)
    t.check('a stateful session takes no tool', outcome(a.call('call', {'name': 'add', 'args': {}, 'session': a.call('session.open', {'state': True})['session']})) == -32602)
    body = {'body': 'def run():\n    return 7\n', 'profile': 'python'}
    r = a.call('run', body)
    t.check('a body over agent.sock passes the gate', outcome(r) == 'denied' and r['cause']['rule'] == 'policy.json:49 no-bodies' and r['tool'] is None
            or outcome(r) == 'denied' and 'no-bodies' in r['cause']['rule'], r)
    t.check('over admin.sock it does not', outcome(ad.call('run', body)) == 'ok')
    t.check('one that asks for less is allowed', outcome(a.call('run', {'body': 'def run():\n    return 7\n'})) == 'ok')


def parsers_agree(t, a):
    """What the gate compared is what the tool gets, byte for byte."""
    create(a, 'echo', ECHO)
    for raw in (b'{"n":1,"n":2}', b'{"n":1,"\\u006e":2}', b'{"x":{"a":1,"\\u0061":2}}', b'{"x":[{"k":0,"k":0}]}'):
        r = a.call('call', b'{"name":"echo","args":' + raw + b'}')
        t.check('two keys that are one are refused: %s' % raw.decode(), outcome(r) == -32700, r)
    r = a.call('call', b'{"name":"echo","name":"add","args":{}}')
    t.check('and two names', outcome(r) == -32700, r)
    for raw, want, shown in ((b'9007199254740993', 'denied', None), (b'9007199254740992', 'ok', '9007199254740992'), (b'9007199254740994', 'ok', '9007199254740994'),
                             (b'9007199254740993.0', 'denied', None), (b'9.007199254740993e15', 'denied', None), (b'"9007199254740993"', 'ok', "'9007199254740993'"),
                             (b'-0', 'ok', '0'), (b'-0.0', 'ok', '-0.0'), (b'1e2', 'ok', '100.0'), (b'[9007199254740993]', 'ok', '[9007199254740993]'),
                             (b'123456789012345678901234567890', 'ok', '123456789012345678901234567890')):
        r = a.call('call', b'{"name":"echo","args":{"n":' + raw + b'}}')
        t.check('%s: %s' % (raw.decode(), want), outcome(r) == want and (not shown or r['result'] == "{'n': %s}" % shown), r)
    r = a.call('call', b'{"name":"echo","args":{"\\u006e":9007199254740993}}')
    t.check('an escaped key is the same key to the gate', outcome(r) == 'denied', r)
    r = a.call('call', b'{"n\\u0061me":"net_get","args":{}}')
    t.check('an escaped parameter is no parameter', outcome(r) == -32602, r)


def in_the_log(t, d, a):
    r = a.call('call', {'name': 'net_get', 'args': {'q': 1}})
    ok = a.call('call', {'name': 'echo', 'args': {'q': 2}})
    time.sleep(0.2)
    log = log_of(d)
    mine = [x for x in log if x.get('call_id') == r['call_id']]
    begin = next((x for x in mine if x['kind'] == 'begin'), {})
    end = next((x for x in mine if x['kind'] == 'end'), {})
    t.check('a denied call is in the log: decision, rule, tool, hash, end', begin.get('decision') == 'deny' and begin.get('rule') == 'policy.json:3 no-nets'
            and begin.get('tool') == 'net_get' and end.get('outcome') == 'denied', mine or log[-3:])
    begin = next((x for x in log if x.get('call_id') == ok['call_id'] and x['kind'] == 'begin'), {})
    t.check('an allowed one too', begin.get('decision') == 'allow' and begin.get('tool') == 'echo' and 'rest' in str(begin.get('rule')), begin)
    text = json.dumps(a.call('metrics', {}))
    t.check('metrics count decisions, and no name of a tool is in them', 'brig_decisions_total{decision=\\"deny\\"}' in text and 'net_get' not in text, text[:300])


def trust(t):
    with_config = 'trust_admin = %d\n' % AGENT
    d = daemon(t, config=with_config)
    a = agent(d)
    create(a, 'wipe', 'def run():\n    return "wiped"\n', DESTRUCTIVE)
    r = a.call('call', {'name': 'wipe', 'args': {}})
    t.check('trust_admin lets a destructive tool run', outcome(r) == ('ok' if os.geteuid() == 0 else 'approval_pending'), r)
    with open(t.config_path, encoding='utf-8') as f:
        text = f.read()
    with open(t.config_path, 'w', encoding='utf-8') as f:
        f.write(text.replace('trust_admin', 'trust_elevated'))
    ad = d.client('admin')
    ad.call('profile.reload', {})
    r = a.call('call', {'name': 'wipe', 'args': {}})
    t.check('after a reload it does not', outcome(r) == 'approval_pending', r)
    t.check('who asks sees his own question', [x['tool'] for x in a.call('approval.list', {})['approvals']] == ['wipe'])
    for m in ('approval.decide', 'tool.promote', 'tool.quarantine', 'tool.restore', 'profile.reload', 'drain', 'audit.read', 'pool'):
        r = a.call(m, {})
        t.check('%s is not for agent.sock' % m, outcome(r) == -32001, r)
    ad.call('drain', {})
    r = a.call('call', {'name': 'wipe', 'args': {}})
    t.check('draining: busy, and nobody is asked', outcome(r) == 'busy' and len(ad.call('approval.list', {})['approvals']) == 1, r)
    a.hang_up()
    ad.hang_up()
    t.check('the daemon ends clean', d.close() == 0)


def profiles(t):
    d = daemon(t, [{'match': '*', 'decide': 'allow'}], 'profiles = pure\n')
    a, ad = agent(d), d.client('admin')
    create(ad, 'wide', ADD, parameters=TWO, profile='stdlib')
    create(ad, 'fits', ADD, parameters=TWO)
    args = {'a': 1, 'b': 2}
    r = a.call('call', {'name': 'wide', 'args': args})
    t.check('an operator\'s tool is no way to a profile that agents may not use', outcome(r) == 'denied' and 'not for agent.sock' in r['cause']['what'], r)
    t.check('one of theirs runs', outcome(a.call('call', {'name': 'fits', 'args': args})) == 'ok')
    t.check('and he may call his own', outcome(ad.call('call', {'name': 'wide', 'args': args})) == 'ok')
    a.hang_up()
    ad.hang_up()
    t.check('the daemon ends clean', d.close() == 0)


def private(t):
    state = t.dir + '/private'
    os.makedirs(state, exist_ok=True)
    env = {'BRIG_STATE': state}
    p = Supervisor(env=env)
    create(p, 'add', ADD, parameters=TWO)
    create(p, 'wipe', 'def run():\n    return "wiped"\n', DESTRUCTIVE)
    create(p, 'boom', 'def run():\n    return 1 // 0\n')
    r = p.call('call', {'name': 'add', 'args': {'a': 40, 'b': 2}})
    t.check('private: a call', outcome(r) == 'ok' and r['result'] == 42, r)
    r = p.call('call', {'name': 'wipe', 'args': {}})
    t.check('private: what would escalate is denied, and the way out is told', outcome(r) == 'denied' and 'uid of its own' in r['cause']['hint'], r)
    r = p.call('call', {'name': 'wipe', 'args': {}, 'approval': 'wait'})
    t.check('private: nor does it wait', outcome(r) == 'denied' and r['cause']['final'], r)
    p.close()

    def brig(*argv):
        q = subprocess.run([BUILD + '/brig', *argv, '--private'], env={**os.environ, **env}, capture_output=True, text=True, timeout=120, check=False)
        return q.returncode, q.stdout, q.stderr
    t.check('brig call: result and exit 0', brig('call', 'add', '--args', '{"a":1,"b":2}') == (0, '3\n', ''))
    status, out, err = brig('call', 'boom')
    t.check('brig call: 1 for an error of the tool', status == 1 and out == '' and 'ZeroDivisionError' in err, (status, out, err))
    status, out, err = brig('call', 'adx')
    t.check('brig call: 3, and the nearest name', status == 3 and out == '' and 'did you mean add?' in err, (status, out, err))
    status, out, err = brig('call', 'wipe', '--json')
    t.check('brig call --json: one object, exit 4, the cause line', status == EXIT_OF['denied'] and json.loads(out)['outcome'] == 'denied'
            and err.startswith('brig: denied: it needs an approval'), (status, out, err))
    path = t.file('args.json', '{"a": 20,\n "b": 3}')
    t.check('brig call --args @FILE', brig('call', 'add', '--args', '@' + path)[:2] == (0, '23\n'))
    status, out, err = brig('call', 'add', '--args', '{"a":1,"a":2,"b":3}')
    t.check('a key twice is refused before anything', status == 3 and 'args' in err or status == 3, (status, out, err))


def main():
    t = Suite()
    d = daemon(t)
    a = agent(d)
    names(t, a)
    a.hang_up()
    d.close()
    d = daemon(t, RULES)
    a, ad = agent(d), d.client('admin')
    create(a, 'add', ADD, parameters=TWO)
    parsers_agree(t, a)
    decisions(t, d, a, ad)
    in_the_log(t, d, a)
    a.hang_up()
    ad.hang_up()
    t.check('the daemon ends clean', d.close() == 0)
    trust(t)
    profiles(t)
    private(t)
    return t.finish()


assert REPO and PURE
sys.exit(main())
