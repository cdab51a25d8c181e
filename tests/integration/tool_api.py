#!/usr/bin/python3
"""What a tool says while it runs and what it asks (module brig), over a real brigd: hostile tools, deaf clients, approvals, sessions."""
import json
import os
import subprocess
import sys
import time

from libbrig import BRIG, FACTOR, Suite, frame
from libgate import DESTRUCTIVE, PURE, agent, create, daemon, log_of, outcome

t = Suite()
FORM = {'type': 'object', 'properties': {'name': {'type': 'string'}, 'n': {'type': 'integer', 'minimum': 1}}, 'required': ['name']}
ASK = 'import brig\ndef run(**kw):\n    return brig.ask("who", "Who is it for?", %r)\n' % FORM
YES = {'inputs': {'who': {'action': 'accept', 'content': {'name': 'Z\u00e9', 'n': 3}}}}
EVENTS, EVENT_BYTES, PAYLOAD = 1000, 64 << 10, 4096 - 32
PARAMS = -32602


def collect(c):
    got = []
    while True:
        m = c.recv()
        if 'id' in m:
            return got, m.get('result', m)
        got.append(m)


def run(c, body, profile='python', stream=True, **params):
    c.send('run', {'body': body, 'profile': profile, **({'stream': True} if stream else {}), **params})
    got, r = collect(c)
    return [m['params'] for m in got if m['method'] == 'event'], r


def body(lines, args=''):
    return 'import brig, os, struct, sys, time\ndef run(%s):\n' % args + ''.join('    %s\n' % line for line in lines.split('\n'))


def bare(events):
    return [{k: v for k, v in e.items() if k not in ('id', 'call_id')} for e in events]


# ---- progress and log


def said(c):
    b = body('brig.progress(0)\nbrig.progress(50, 100)\nbrig.progress(done=1.5, total=2, message="h\u00e4lf\\n\\"\\x00")\n'
             'brig.log("info", {"a": [1, 2.5, None, True, "\u20ac"], "big": 9007199254740993})\nbrig.log(level="emergency", data="x", logger="l")\nreturn "done"')
    for profile in ('pure', 'stdlib', 'python'):
        e, r = run(c, b.replace(', os', '').replace(', sys', ''), profile=profile)
        t.check('%s: progress and log come as events, the result as ever' % profile, outcome(r) == 'ok' and r['result'] == 'done' and r['limits_hit'] == [] and bare(e) == [
            {'progress': 0}, {'progress': 50, 'total': 100}, {'progress': 1.5, 'total': 2, 'message': 'h\u00e4lf\n"\x00'},
            {'log': {'level': 'info', 'data': {'a': [1, 2.5, None, True, '\u20ac'], 'big': 9007199254740993}}},
            {'log': {'level': 'emergency', 'logger': 'l', 'data': 'x'}}], [e, r])
        t.check('... with the ids of the call', all((m['id'], m['call_id']) == (c.id, r['call_id']) for m in e), e)
    begin = time.monotonic()
    c.send('run', {'body': body('brig.progress(1)\ntime.sleep(0.6)\nreturn 1'), 'profile': 'python', 'stream': True})
    early = None
    while early is None:
        early = time.monotonic() - begin if c.recv()['method'] == 'event' else None
    collect(c)
    t.check('an event comes while the tool runs', early < 0.5 * FACTOR + 0.1, early)
    e, r = run(c, b, stream=False)
    t.check('without stream: read and dropped', e == [] and r['result'] == 'done', [e, r])
    e, r = run(c, body('import threading\nall = [threading.Thread(target=lambda i=i: [brig.progress(i * 100 + j) for j in range(50)]) for i in range(8)]\n'
                       '[x.start() for x in all]\n[x.join() for x in all]\nreturn "x" * 100000'))
    t.check('from threads: each whole, and the result after them', len(e) == 400 and len({m['progress'] for m in e}) == 400 and r.get('result') == 'x' * 100000, [len(e), str(r)[:300]])
    e, r = run(c, body('if os.fork() == 0:\n    for i in range(99): brig.progress(i)\n    os._exit(0)\nos.wait()\nbrig.progress(7)\nreturn 1'))
    t.check('a child that the tool forked says nothing in its name', bare(e) == [{'progress': 7}] and r['result'] == 1, [e, r])
    e, r = run(c, body('os.close(4)\nbrig.progress(1)\nreturn 1'))
    t.check('a hint that cannot be written is no error of the tool\'s', e == [] and outcome(r) == 'tool_error' and r['error']['type'] == 'NoResult', r)
    e, r = run(c, body('async def one():\n    brig.progress(1)\nasync def main():\n    import asyncio\n    await asyncio.gather(one(), one())\n    return 2\n'
                       'import asyncio\nreturn asyncio.run(main())'))
    t.check('from coroutines', len(e) == 2 and r['result'] == 2, r)


def wrong_words(c):
    for call, kind, words in (
            ('brig.progress("1")', 'TypeError', 'done'), ('brig.progress(True)', 'TypeError', 'done'), ('brig.progress()', 'TypeError', ''),
            ('brig.progress(1, "2")', 'TypeError', 'total'), ('brig.progress(float("nan"))', 'ValueError', 'NaN'), ('brig.progress(1, 1e999)', 'ValueError', 'infinity'),
            ('brig.progress(1, 2, 3)', 'TypeError', 'message'), ('brig.progress(1, 2, "\\ud800")', 'UnicodeEncodeError', ''),
            ('brig.log("loud", 1)', 'ValueError', 'emergency'), ('brig.log(1, 1)', 'ValueError', 'level'), ('brig.log("info")', 'TypeError', ''),
            ('brig.log("info", {1: 2})', 'TypeError', 'key of type int'), ('brig.log("info", {1})', 'TypeError', 'of type set'),
            ('brig.log("info", [float("inf")])', 'ValueError', 'data'), ('brig.log("info", "x" * 5000)', 'ValueError', 'too large'),
            ('a = []; a.append(a); brig.log("info", a)', 'ValueError', 'contains itself'), ('brig.log("info", 10 ** 5000)', 'ValueError', ''),
            ('brig.ask("", "m", F)', 'ValueError', 'key'), ('brig.ask("a b", "m", F)', 'ValueError', 'key'), ('brig.ask(1, "m", F)', 'ValueError', 'key'),
            ('brig.ask("k" * 65, "m", F)', 'ValueError', 'key'), ('brig.ask("k", "", F)', 'ValueError', 'message'), ('brig.ask("k", "m" * 2001, F)', 'ValueError', '2000'),
            ('brig.ask("k", "m", {})', 'ValueError', 'schema'), ('brig.ask("k", "m", {"type": "object"})', 'ValueError', 'properties'),
            ('brig.ask("k", "m", {"type": "object", "properties": {"o": {"type": "object"}}})', 'ValueError', 'schema'),
            ('brig.ask("k", "m", {**F, "x": {1}})', 'TypeError', 'schema'), ('brig.ask("k", "m", {**F, "title": "x" * 17000})', 'ValueError', 'too large'),
            ('brig.ask_all({})', 'ValueError', '1 to 8'), ('brig.ask_all([])', 'TypeError', 'dict'), ('brig.ask_all({"k": "m"})', 'ValueError', 'ask_all'),
            ('brig.ask_all({"k%d" % i: ("m", F) for i in range(9)})', 'ValueError', '1 to 8')):
        e, r = run(c, 'import brig\nF = %r\ndef run():\n    %s\n    return 1\n' % (FORM, call))
        t.check('%s: %s, in the tool\'s own line' % (call[:60], kind), outcome(r) == 'tool_error' and r['error']['type'] == kind and words in r['error']['message']
                and r['error']['line'] == 4 and e == [], r)


def floods(c):
    e, r = run(c, body('for i in range(5000): brig.progress(i)\nreturn "end"'))
    t.check('no more than %d events, the first ones; said in limits_hit' % EVENTS, bare(e) == [{'progress': i} for i in range(EVENTS)]
            and r['result'] == 'end' and r['limits_hit'] == ['events'], [len(e), r])
    e, r = run(c, body('for i in range(100): brig.log("info", "x" * 3900)\nreturn "end"'))
    told = sum(len(json.dumps({'log': m['log']}, separators=(',', ':'))) for m in e)
    t.check('nor more than 64 KiB of them', EVENT_BYTES - 4096 < told <= EVENT_BYTES and r['limits_hit'] == ['events'], [told, r])
    e, r = run(c, body('for i in range(%d): brig.progress(i)\nreturn 1' % EVENTS))
    t.check('as many as may be touch no limit', len(e) == EVENTS and r['limits_hit'] == [], [len(e), r])
    e, r = run(c, body('for i in range(5000): brig.progress(i)\nreturn 1'), stream=False)
    t.check('what nobody listens to touches none', r['limits_hit'] == [], r)
    one = frame(3, b'{"progress":1}')
    e, r = run(c, body('f = (%s) * 1000\nfor i in range(100): os.write(4, f)\nreturn "end"' % one))
    t.check('100,000 forged events: bounded, and the result comes', len(e) == EVENTS and r.get('result') == 'end' and r['limits_hit'] == ['events'], [len(e), r])
    e, r = run(c, body('f = (%s) * 1000\nend = time.monotonic() + 1\nwhile time.monotonic() < end: os.write(4, f)\nos._exit(0)' % one))
    t.check('events without a result are none', outcome(r) == 'tool_error' and r['error']['type'] == 'NoResult', r)
    c.send('run', {'body': body('f = (%s) * 1000\nwhile True: os.write(4, f)' % one), 'profile': 'python', 'stream': True})
    call_id = c.recv()['params']['call_id']
    time.sleep(0.3)
    other = D.client('admin')
    begin = time.monotonic()
    r = other.call('run', {'body': 'def run(): return 1', 'profile': 'pure'})
    t.check('others are answered while a tool floods', outcome(r) == 'ok' and time.monotonic() - begin < 5 * FACTOR, r)
    other.call('cancel', {'call_id': call_id})
    other.hang_up()
    e, r = collect(c)
    t.check('and it can be ended', outcome(r) == 'cancelled', r)


def forged(c):
    ok = frame(1, b'"result"')
    event = b'{"progress":1}'
    good = [('an event by hand, then a result', '%s + %s' % (frame(3, event), ok), [{'progress': 1}]),
            ('white space and line breaks in it stay one line', '%s + %s' % (frame(3, b'{"progress":\n1 ,\r "message":"x"}'), ok), [{'progress': 1, 'message': 'x'}]),
            ('one as large as may be', '%s + %s' % (frame(3, b'{"progress":1%s}' % (b' ' * (PAYLOAD - 14))), ok), [{'progress': 1}]),
            ('after the result: nothing', '%s + %s + %s' % (ok, frame(3, event), frame(1, b'"second"')), []),
            ('a result in pieces', '%s + %s[:9]); time.sleep(0.1); os.write(4, (%s)[9:]' % (frame(3, event), '(%s)' % ok, ok), [{'progress': 1}])]
    for title, data, want in good:
        e, r = run(c, body('os.write(4, %s)\nos._exit(0)' % data))
        t.check('forged: %s' % title, outcome(r) == 'ok' and r['result'] == 'result' and bare(e) == want, [e, r])
    for title, data in (
            ('one byte too large', frame(3, b'{"progress":1%s}' % (b' ' * (PAYLOAD - 13)))), ('a giant length', frame(3, event, 1 << 40)), ('no JSON', frame(3, b'{"progress":')),
            ('nothing', frame(3, b'')), ('no object', frame(3, b'[1]')), ('an id of its own', frame(3, b'{"progress":1,"id":1}')),
            ('an unknown member', frame(3, b'{"result":"x"}')), ('an unknown level', frame(3, b'{"log":{"level":"x","data":1}}')),
            ('a key twice', frame(3, b'{"progress":1,"progress":2}')), ('broken UTF-8', frame(3, b'{"progress":1,"message":"\xff"}')),
            ('a number beyond every double', frame(3, b'{"progress":1e999}')), ('garbage between', frame(3, event) + ' + b"garbage" * 9'), ('an unknown kind', frame(4, event))):
        for stream in (True, False):
            e, r = run(c, body('os.write(4, %s + %s)\nreturn "mine"' % (data, ok)), stream=stream)
            t.check('forged: %s: a broken frame%s' % (title, '' if stream else ', without stream too'), outcome(r) == 'tool_error' and r['error']['type'] == 'NoResult'
                    and 'result' not in r and (title == 'garbage between' or e == []), [e, r])
    for title, asks in (('too many', {'k%d' % i: {'message': 'm', 'schema': FORM} for i in range(9)}), ('a nested form', {'k': {'message': 'm', 'schema': {'type': 'object', 'properties': {'o': {'type': 'object'}}}}}),
                        ('another mode', {'k': {'message': 'm', 'schema': FORM, 'url': 'http://x'}}), ('no object', [1]), ('large', {'k': {'message': 'm' * 17000, 'schema': FORM}})):
        r = run(c, body('os.write(4, %s)\nos._exit(0)' % frame(2, json.dumps({'type': 'InputNeeded', 'message': 'm', 'traceback': [], 'asks': asks}).encode())))[1]
        t.check('forged questions, %s: not passed on' % title, outcome(r) == 'tool_error' and r['error'] == {'type': 'InputNeeded', 'message': 'm', 'traceback': []}, r)
    r = run(c, body('os.write(4, %s)\nos._exit(0)' % frame(2, json.dumps({'type': 'ValueError', 'message': 'm', 'asks': {'k': {'message': 'm', 'schema': FORM}}}).encode())))[1]
    t.check('questions of another error are none', 'asks' not in r['error'], r)


def deaf():
    """A client that does not read loses events, and nobody waits for it."""
    late = D.client()
    flood = body('for i in range(16): brig.log("info", "\\x01" * 600)\nreturn "done"')
    n = 120
    for _ in range(n):
        late.send('run', {'body': flood, 'profile': 'python', 'stream': True})
    other = D.client()
    end = time.monotonic() + 120 * FACTOR
    while other.call('list', {})['calls'] and time.monotonic() < end:
        time.sleep(0.1)
    other.hang_up()
    answers = events = 0
    while answers < n:
        m = late.recv()
        answers += 'id' in m and m['result']['result'] == 'done'
        events += m.get('method') == 'event'
    t.check('a client that does not read has every answer, and misses events', answers == n and events < n * 16, [answers, events])
    late.hang_up()


# ---- questions


def asked(c):
    e, r = run(c, ASK)
    want = {'who': {'message': 'Who is it for?', 'schema': FORM}}
    t.check('unanswered: a tool_error of type InputNeeded with what is asked', outcome(r) == 'tool_error' and r['error']['type'] == 'InputNeeded' and r['error']['asks'] == want
            and 'who: Who is it for?' in r['error']['message'] and r['error']['traceback'] == [], r)
    t.check('... and the cause says what to do', 'asks the person' in r['cause']['what'] and 'context.inputs' in r['cause']['hint'] and not r['cause']['final'], r)
    r = run(c, ASK, context=YES)[1]
    t.check('answered: what the person said', outcome(r) == 'ok' and r['result'] == YES['inputs']['who'], r)
    for action in ('decline', 'cancel'):
        r = run(c, ASK, context={'inputs': {'who': {'action': action}}})[1]
        t.check('%s: no content' % action, outcome(r) == 'ok' and r['result'] == {'action': action}, r)
    r = run(c, ASK, context={'inputs': {'whom': {'action': 'accept', 'content': {}}}})[1]
    t.check('the answer to another question is none', r['error'].get('asks') == want, r)
    two = 'import brig\nF = %r\ndef run():\n    return brig.ask_all({"a": ("First?", F), "b": ("Second?", F)})\n' % FORM
    r = run(c, two)[1]
    t.check('several at once', sorted(r['error']['asks']) == ['a', 'b'] and 'a: First?; b: Second?' in r['error']['message'], r)
    r = run(c, two, context={'inputs': {'a': {'action': 'decline'}}})[1]
    t.check('those without an answer are asked', list(r['error']['asks']) == ['b'], r)
    r = run(c, two, context={'inputs': {'a': {'action': 'decline'}, 'b': {'action': 'accept', 'content': {'name': 'x'}}}})[1]
    t.check('all answered', r.get('result') == {'a': {'action': 'decline'}, 'b': {'action': 'accept', 'content': {'name': 'x'}}}, r)
    for title, lines, want_type in (
            ('except Exception lets it pass', 'try:\n    brig.ask("k", "m", F)\nexcept Exception:\n    return "caught"', 'InputNeeded'),
            ('in a group of tasks', 'import asyncio\nasync def one():\n    brig.ask("k", "m", F)\nasync def main():\n    async with asyncio.TaskGroup() as g:\n        g.create_task(one())\n'
             'asyncio.run(main())', 'InputNeeded'),
            ('caught, and another error', 'try:\n    brig.ask("k", "m", F)\nexcept BaseException:\n    pass\nraise ValueError("x")', 'ValueError'),
            ('raised by the tool itself', 'raise brig.InputNeeded("none")', 'InputNeeded'),
            ('caught, spoilt and raised again', 'try:\n    brig.ask("k", "m", F)\nexcept brig.InputNeeded as e:\n    e.args = ({1}, brig)\n    raise', 'InputNeeded')):
        r = run(c, 'F = %r\n' % FORM + body(lines))[1]
        has = title not in ('caught, and another error', 'raised by the tool itself')
        t.check(title, outcome(r) == 'tool_error' and r['error']['type'] == want_type and ('asks' in r['error']) == has, r)
    r = run(c, body('try:\n    brig.ask("k", "m", {"type": "object", "properties": {}})\nexcept BaseException:\n    return "went on"'))[1]
    t.check('who catches all goes on', r.get('result') == 'went on', r)
    r = run(c, body('brig.ask("\u00e9", "m", {})'))[1]
    t.check('a key beyond ASCII is refused', r['error']['type'] == 'ValueError', r)


def capabilities(c):
    tell = 'import brig\ndef run():\n    return [type(brig.capabilities).__name__, sorted(brig.capabilities)]\n'
    for context, want in ((None, []), ({}, []), ({'capabilities': []}, []), ({'capabilities': ['progress', 'elicitation']}, ['elicitation', 'progress'])):
        r = run(c, tell, profile='pure', **({} if context is None else {'context': context}))[1]
        t.check('context %s: capabilities %s' % (json.dumps(context), want), r.get('result') == ['tuple', want], r)
    for context, word in (({'input': {}}, 'neither'), ({'inputs': []}, 'inputs'), ({'inputs': {'a b': {'action': 'accept'}}}, 'key'), ({'inputs': {'a': {'action': 'yes'}}}, 'answer'),
                          ({'inputs': {'a': {'action': 'decline', 'content': {}}}}, 'answer'), ({'inputs': {'a': {'action': 'accept', 'content': {'x': {}}}}}, 'answer'),
                          ({'capabilities': ['root']}, 'capabilities'), ({'trust_level': 'admin'}, 'neither'),
                          ({'inputs': {'a': {'action': 'accept', 'content': {'x': 'y' * 65536}}}}, '65536')):
        for method, params in (('run', {'body': tell}), ('call', {'name': 'none', 'args': {}})):
            r = c.call(method, {**params, 'context': context})
            t.check('%s: context %.50s is refused by name' % (method, json.dumps(context)), outcome(r) == 'invalid_arguments' and word in r['cause']['what'] and r['cause']['rule'] == 'context', r)
    for context in ([], 'x', 1, None):
        t.check('context %r is no object' % (context,), outcome(c.call('run', {'body': tell, 'context': context})) == PARAMS)


REACH = '''import brig
def run(how):
    things = [brig, brig.progress, brig.log, brig.ask, brig.ask_all, brig.InputNeeded, brig.capabilities]
    try:
        brig.ask("k", "m", {"type": "object", "properties": {}})
    except BaseException as e:
        things += [e, e.__traceback__, e.__traceback__.tb_frame, e.__traceback__.tb_next, e.__context__, e.__cause__]
        frame = e.__traceback__.tb_frame
        while frame is not None:
            things += [frame.f_globals, frame.f_builtins]
            frame = frame.f_back
    for call in (lambda: brig.progress("x"), lambda: brig.log("x", 1), lambda: brig.log("info", {1}), lambda: brig.ask("", "", 1)):
        try:
            call()
        except Exception as e:
            things += [e, e.__traceback__.tb_next.tb_next]
    found, seen = [], set()
    for thing in things:
        for name in ("__self__", "__module__", "__globals__", "__builtins__", "__loader__", "__spec__", "__func__", "__wrapped__", "__dict__", "f_globals", "tb_frame"):
            try:
                value = getattr(thing, name)
            except AttributeError:
                continue
            if value is not None:
                things_of = value if isinstance(value, dict) else {}
                for word in ("open", "exec", "eval", "compile", "refusal", "plain", "g_decide"):
                    if word in things_of or hasattr(value, word):
                        found.append([name, word])
        if isinstance(thing, dict):
            found += [["dict", word] for word in ("open", "exec", "refusal") if word in thing]
    return found
'''


def reach(c):
    r = run(c, REACH, profile='pure', args={'how': 1})[1]
    t.check('restricted: the module leads to nothing', outcome(r) == 'ok' and r['result'] == [], r)
    r = run(c, REACH.replace('import brig\n', 'import brig\nfrom brig import progress\n'), profile='python', args={'how': 1})[1]
    t.check('... which the same walk finds under full builtins (the control)', outcome(r) == 'ok' and ['dict', 'open'] in r['result'], r)
    for line in ('import brig.x', 'from brig import open', 'from . import brig', 'from brig.ask import x'):
        r = run(c, line + '\ndef run():\n    return 1\n', profile='pure')[1]
        t.check('%s: ImportError' % line, r.get('error', {}).get('type') in ('ImportError', 'ModuleNotFoundError'), r)


# ---- sessions, approvals, audit, the command line


def sessions(c):
    s = c.call('session.open', {'task': 'x', 'state': True, 'profile': 'python'})
    if 'session' not in s:
        t.check('sessions # SKIP needs cgroups: %s' % str(s)[:80], True)
        return
    one = {'session': s['session'], 'profile': 'python'}
    e, r = run(c, ASK, **one)
    t.check('session: unanswered, and it goes on', r['error']['type'] == 'InputNeeded', r)
    e, r = run(c, ASK, context={**YES, 'capabilities': ['log']}, **one)
    t.check('session: answered', r.get('result') == YES['inputs']['who'], r)
    e, r = run(c, body('try:\n    brig.ask("who", "m", %r)\nexcept BaseException as e:\n    return [type(e).__name__, brig.capabilities]' % FORM), **one)
    t.check('session: the answers of a call are gone with it', r.get('result') == ['InputNeeded', []], r)
    e, r = run(c, body('for i in range(2000): brig.progress(i)\nreturn 1'), **one)
    n = len(e)
    e, r = run(c, body('brig.progress(5)\nraise brig.InputNeeded()'), **one)
    t.check('session: each call has its own bounds, and its own questions', n == EVENTS and bare(e) == [{'progress': 5}] and 'asks' not in r['error'] and r['limits_hit'] == [], [n, e, r])
    run(c, body('import threading\nthreading.Thread(target=lambda: [(time.sleep(0.001), brig.progress(i)) for i in range(300)], daemon=True).start()\nreturn 1'), **one)
    e, r = run(c, body('time.sleep(0.5)\nreturn "fine"'), **one)
    t.check('session: a thread of an earlier call speaks in the call that runs', r.get('result') == 'fine' and all('progress' in m for m in bare(e)), [len(e), r])
    e, r = run(c, body('os.write(4, %s)\nreturn 1' % frame(3, b'{"progress":1}')), **one)
    t.check('session: an event without the call\'s nonce is no event, and ends it', outcome(r) == 'tool_error' and r['error']['type'] == 'NoResult' and e == [], [e, r])
    r = run(c, body('return 1'), **one)[1]
    t.check('... by name', outcome(r) == -32003 and 'no answer' in r['error']['message'], r)


def bound(a, ad):
    """An approval is for the answers, too."""
    create(a, 'ask', ASK, permissions=DESTRUCTIVE, parameters={'type': 'object'})
    def call(context=None):
        return a.call('call', {'name': 'ask', **({} if context is None else {'context': context})})
    r = call(YES)
    i = (r.get('cause', {}).get('evidence') or {}).get('approval_id')
    t.check('an escalated call with a context waits for a person', outcome(r) == 'approval_pending' and i, r)
    shown = ad.call('approval.get', {'id': i})
    t.check('who sees the answers beside the arguments', shown.get('context') == YES and shown['args'] == {} and shown['context_bytes'] > 0, shown)
    text = subprocess.run([BRIG, 'approvals', 'show', i, '--socket', D.path('admin')], capture_output=True, text=True, timeout=60, check=False)
    t.check('brig approvals show: the same', 'context' in text.stdout and '"name"' in text.stdout, text)
    ad.call('approval.decide', {'id': i, 'approve': True})
    other = {'inputs': {'who': {'action': 'accept', 'content': {'name': 'another'}}}}
    for context in (other, None, {}, {**YES, 'capabilities': ['log']}):
        r = call(context)
        j = (r.get('cause', {}).get('evidence') or {}).get('approval_id')
        t.check('approved for other answers than %.60s: it asks anew' % json.dumps(context), outcome(r) == 'approval_pending' and j != i, r)
    r = call(YES)
    t.check('what was approved runs', outcome(r) == 'ok' and r['result'] == YES['inputs']['who'], r)
    r = call(YES)
    t.check('once', outcome(r) == 'approval_pending', r)
    a.send('call', {'name': 'ask', 'approval': 'wait', 'context': {**YES, 'capabilities': []}})
    m = a.recv()
    while m.get('method') != 'approval':
        m = a.recv()
    ad.call('approval.decide', {'id': m['params']['approval_id'], 'approve': True})
    r = collect(a)[1]
    t.check('one that waited runs with its own answers', outcome(r) == 'ok' and r['result'] == YES['inputs']['who'], r)


def annotations(ad):
    def hints(name):
        tools = ad.call('tool.list', {'format': 'mcp'})['tools']
        t.check('tool.list: by name', [x['name'] for x in tools] == sorted(x['name'] for x in tools))
        return next(x['annotations'] for x in tools if x['name'] == name)
    tight = {'readOnlyHint': True, 'destructiveHint': False, 'idempotentHint': True, 'openWorldHint': False}
    loose = {'readOnlyHint': False, 'destructiveHint': True, 'idempotentHint': False, 'openWorldHint': False}
    create(ad, 'writes', 'def run():\n    return 1\n', permissions={'filesystem': True, 'network': True, 'subprocess': False, 'write': True, 'scope': 'destructive'}, profile='files-rw')
    t.check('a draft: declared to write and to use the network, and it can do neither', hints('writes') == tight, hints('writes'))
    ad.call('tool.promote', {'name': 'writes', 'to': 'approved'})
    t.check('approved: it can write, whatever it calls that; its profile has no network', hints('writes') == loose, hints('writes'))
    create(ad, 'mild', 'def run():\n    return 1\n', permissions={**PURE, 'filesystem': True, 'write': True, 'scope': 'read-write'}, profile='files-rw')
    ad.call('tool.promote', {'name': 'mild', 'to': 'approved'})
    t.check('a writable mount can be emptied', hints('mild') == loose, hints('mild'))
    create(ad, 'reads', 'def run():\n    return 1\n', permissions={**PURE, 'filesystem': True}, profile='files-rw')
    ad.call('tool.promote', {'name': 'reads', 'to': 'approved'})
    t.check('declared to read: the mount is read-only', hints('reads') == tight, hints('reads'))
    create(ad, 'plain', 'def run():\n    return 2\n', permissions=DESTRUCTIVE)
    t.check('words alone make nothing destructive', hints('plain') == tight, hints('plain'))


def audited(d):
    begins = [r for r in log_of(d) if r['kind'] == 'begin']
    with_context = [r for r in begins if 'context' in r]
    raw = json.dumps(YES, separators=(', ', ': ')).encode()
    t.check('audit: hash and size of a context, where there is one', 0 < len(with_context) < len(begins) and any(r['context']['bytes'] == len(raw) for r in with_context)
            and all(set(r['context']) == {'sha256', 'bytes'} for r in with_context), with_context[:2])
    asks = [r for r in log_of(d) if r['kind'] == 'approval_ask']
    t.check('... and of a question to an approver', any('context' in r for r in asks) and any('context' not in r for r in asks), asks[:2])
    r = subprocess.run([BRIG, 'audit', 'verify', d.state + '/audit'], capture_output=True, text=True, timeout=60, check=False)
    t.check('... in a chain that holds', r.returncode == 0, r)


def command_line(d):
    path = t.file('ask.py', ASK)
    for where in (['--private'], ['--socket', d.path('agent')]):
        r = subprocess.run([BRIG, 'run', path, *where], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        t.check('brig run %s: one line that says what is asked' % where[0], r.returncode == 1 and r.stdout == '' and r.stderr.count('\n') == 1
                and 'InputNeeded' in r.stderr and 'who: Who is it for?' in r.stderr, r)
    answers = t.file('answers.json', json.dumps(YES, indent=1))
    for verb, what in (('run', path), ('call', 'plain_ask')):
        where = ['--socket', d.path('admin')]
        r = subprocess.run([BRIG, verb, what, *where, '--context', '@' + answers], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
        t.check('brig %s --context: the answer' % verb, r.returncode == 0 and json.loads(r.stdout) == YES['inputs']['who'], r)
        for bad, words in (('{"input":{}}', 'context holds a member'), ('[]', '--context takes one JSON object'), ('-', '--context takes'), ('@/nowhere', 'No such file')):
            r = subprocess.run([BRIG, verb, what, *where, '--context', bad], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
            t.check('brig %s --context %s: refused by name' % (verb, bad), r.returncode == 3 and words in r.stderr and r.stdout == '', r)
    said_path = t.file('said.py', 'import brig\ndef run():\n    brig.progress(1, 2, "half\\nbrig: ok")\n    brig.log("info", {"a": 1})\n    return "x"\n')
    r = subprocess.run([BRIG, 'run', said_path, '--stream', '--socket', d.path('agent')], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    t.check('brig run --stream shows what it says, a line each', r.returncode == 0 and r.stdout == 'x\n' and r.stderr == 'progress| 1 of 2: half\\nbrig: ok\nlog| info: {"a":1}\n', r)
    r = subprocess.run([BRIG, 'call', 'plain_ask', '--socket', d.path('admin'), '--json'], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False)
    t.check('brig call --json: with the form', r.returncode == 1 and json.loads(r.stdout)['error']['asks']['who']['schema'] == FORM, r)


def main():
    global D
    work = t.dir + '/work'
    os.mkdir(work)
    D = daemon(t, config='profiles = pure stdlib python\nworkspace = %s\n' % work, stderr=subprocess.DEVNULL)
    a, ad = agent(D), D.client('admin')
    r = a.call('run', {'body': 'def run(): return 1'})
    if r.get('outcome') == 'setup_failed':
        t.check('what a tool may say # SKIP needs cgroups: %s' % r['cause']['what'][:80], True)
    else:
        said(a)
        wrong_words(a)
        floods(a)
        forged(a)
        deaf()
        asked(a)
        capabilities(a)
        reach(a)
        sessions(a)
        bound(a, ad)
        create(ad, 'plain_ask', ASK, parameters={'type': 'object'})
        annotations(ad)
        audited(D)
        command_line(D)
    a.hang_up()
    ad.hang_up()
    t.check('brigd ends', D.close() == 0)
    return t.finish()


sys.exit(main())
