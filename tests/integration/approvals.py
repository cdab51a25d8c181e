#!/usr/bin/python3
"""Approvals: bound to what exactly would run, used once, decided once, by somebody else than asked; over restarts, races, drift."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

from libbrig import BUILD, FACTOR, Suite
from libgate import AGENT, DESTRUCTIVE, agent, create, daemon, kill_core, log_of, outcome, pid_of, rules

WIPE = 'def run(n):\n    return "wiped %s" % n\n'
OTHER = 64246
ROOT = os.geteuid() == 0


def pend(a, n=1, tool='wipe', **more):
    r = a.call('call', {'name': tool, 'args': {'n': n}, **more})
    return r, (r.get('cause', {}).get('evidence') or {}).get('approval_id')


def decide(ad, i, approve=True, **more):
    return ad.call('approval.decide', {'id': i, 'approve': approve, **more})


def once(t, a, ad):
    r, i = pend(a)
    t.check('escalated: approval_pending at once, with an id and what to do', outcome(r) == 'approval_pending' and len(i) == 32
            and 'destructive-asks' in r['cause']['rule'] and i in r['cause']['hint'] and not r['cause']['final'], r)
    r, again = pend(a)
    t.check('the same question is not asked twice', again == i and len(ad.call('approval.list', {})['approvals']) == 1, r)
    r = a.call('approval.decide', {'id': i, 'approve': True})
    t.check('who asks cannot decide over agent.sock', outcome(r) == -32001, r)
    shown = ad.call('approval.get', {'id': i[:6]})
    t.check('approval.get: the body and the arguments that would run', shown.get('body') == WIPE and shown.get('args') == {'n': 1}
            and shown['permissions']['scope'] == 'destructive', shown)
    r = decide(ad, i)
    t.check('approved', r.get('state') == 'approved' and r['uses'] == 1, r)
    r = decide(ad, i)
    t.check('approved twice: refused by name', outcome(r) == -32005 and 'approved already' in r['error']['message'], r)
    r = decide(ad, i, False)
    t.check('nor denied afterwards', outcome(r) == -32005, r)
    for n, why in ((2, 'another value'), ('1', 'another type'), (1.0, 'another spelling')):
        r, j = pend(a, n)
        t.check('%s is another question' % why, outcome(r) == 'approval_pending' and j != i, r)
        decide(ad, j, False)
    r = ad.call('call', {'name': 'wipe', 'args': {'n': 1}})
    t.check('over admin.sock the same tool needs none', outcome(r) == 'ok', r)
    r, _ = pend(a)
    t.check('the same call now runs', outcome(r) == 'ok' and r['result'] == 'wiped 1', r)
    r, j = pend(a)
    t.check('once: the next one asks anew', outcome(r) == 'approval_pending' and j != i, r)
    r = decide(ad, i)
    t.check('a used one is not approved again', outcome(r) == -32005 and 'used' in r['error']['message'], r)
    r = decide(ad, j, False, reason='not on a "Tuesday"\n')
    t.check('denied', r.get('state') == 'denied', r)
    r, k = pend(a)
    t.check('the reason reaches the model, and it is final', outcome(r) == 'denied' and 'Tuesday' in r['cause']['what'] and r['cause']['final'] and k == j, r)
    for what in ({'id': '0' * 32}, {'id': i[:5]}, {'id': 'x' * 4000}, {'id': ''}, {'id': i + '\u0000'}):
        r = ad.call('approval.decide', {**what, 'approve': True})
        t.check('id %.12r is none' % what['id'], outcome(r) == -32602, r)
    for what in ({'uses': 0}, {'uses': 1001}, {'uses': -1}, {'uses': 1.5}, {'uses': 1e3}, {'for': '0s'}, {'for': '25h'}, {'for': 'soon'}, {'reason': 'x' * 513},
                 {'approve': False, 'uses': 2}, {'why': 'x'}):
        r = ad.call('approval.decide', {'id': i, 'approve': True, **what})
        t.check('%.40s is refused as a parameter' % json.dumps(what), outcome(r) == -32602, r)
    r = ad.call('approval.decide', {'id': i})
    t.check('a decision without approve is none', outcome(r) == -32602, r)
    t.check('an unknown state to list', outcome(ad.call('approval.list', {'state': 'open'})) == -32602)


def uses_and_time(t, a, ad):
    _, i = pend(a, 'three')
    decide(ad, i, uses=3, **{'for': '1h'})
    got = [outcome(pend(a, 'three')[0]) for _ in range(4)]
    t.check('three uses are three', got == ['ok', 'ok', 'ok', 'approval_pending'], got)
    _, i = pend(a, 'short')
    decide(ad, i, uses=100, **{'for': '1s'})
    got = [outcome(pend(a, 'short')[0])]
    time.sleep(1.2)
    got.append(outcome(pend(a, 'short')[0]))
    t.check('an approval ends after its time', got == ['ok', 'approval_pending'], got)
    states = {x['id']: x['state'] for x in ad.call('approval.list', {'state': 'all'})['approvals']}
    t.check('and shows as expired', states[i] == 'expired', states)


def who(t, d, a, ad):
    _, i = pend(a, 'who')
    if not ROOT:
        return
    b = agent(d, OTHER)
    t.check('another user sees no question of his', i not in json.dumps(b.call('approval.list', {'state': 'all'})))
    t.check('nor gets it', outcome(b.call('approval.get', {'id': i})) == -32602)
    decide(ad, i)
    r, j = pend(b, 'who')
    t.check('an approval is of one user', outcome(r) == 'approval_pending' and j != i, r)
    decide(ad, j, False)
    t.check('whose use is still there', outcome(pend(a, 'who')[0]) == 'ok')
    b.hang_up()


def told(t, d, a, ad):
    s, o = agent(d), d.client('admin')
    for c in (s, o):
        c.call('subscribe', {'events': ['approvals']})
    _, i = pend(a, 'told')
    decide(ad, i)
    pend(a, 'told')
    for c, whom in ((s, 'who asked'), (o, 'the operator')):
        got = [c.recv() for _ in range(3)]
        t.check('%s is told what becomes of a question' % whom, [x['params']['state'] for x in got] == ['pending', 'approved', 'used']
                and all(x['method'] == 'approvals.changed' and x['params']['id'] == i for x in got), got)
        c.hang_up()


def spent(t, d, a, ad):
    """Core dies after the use was taken and before its jail had the request: at most once is what an approver means."""
    _, i = pend(a, 'spent')
    decide(ad, i)
    audit = pid_of(d, 'brigd: audit')
    os.kill(audit, signal.SIGSTOP)  # no call begins without its word
    w = agent(d)
    w.send('call', {'name': 'wipe', 'args': {'n': 'spent'}})
    end = time.monotonic() + 10 * FACTOR
    while ad.call('approval.get', {'id': i})['state'] != 'used' and time.monotonic() < end:
        time.sleep(0.05)
    kill_core(d)
    os.kill(audit, signal.SIGCONT)
    try:
        r = w.recv()
    except (EOFError, OSError):
        r = None
    t.check('core was killed between the use and the jail: no answer', r is None, r)
    a, ad = again(d)
    r, j = pend(a, 'spent')
    t.check('that use is spent, the next call asks anew', outcome(r) == 'approval_pending' and j != i, r)
    return a, ad


def again(d):
    """Connections to the core that begins now."""
    end = time.monotonic() + 20 * FACTOR
    while True:
        try:
            a, ad = agent(d), d.client('admin')
            a.call('status', {})
            return a, ad
        except (OSError, EOFError, RuntimeError):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def racing(t, d, a, ad):
    for round_ in range(5):
        _, i = pend(a, 'race%d' % round_)
        got, begin = [], threading.Barrier(4)

        def one(approve):
            c = d.client('admin')
            begin.wait()
            got.append((approve, outcome(decide(c, i, approve)), c))
        threads = [threading.Thread(target=one, args=(k % 2 == 0,)) for k in range(4)]
        for th in threads:
            th.start()
        for th in threads:
            th.join()
        for _, _, c in got:
            c.hang_up()
        won = [approve for approve, code, _ in got if code is None]
        state = ad.call('approval.get', {'id': i})['state']
        r = outcome(pend(a, 'race%d' % round_)[0])
        t.check('of four who decide at once one does', len(won) == 1 and state == ('approved' if won[0] else 'denied') and r == ('ok' if won[0] else 'denied'),
                (got, state, r))
    _, i = pend(a, 'take')
    decide(ad, i)
    clients = [agent(d) for _ in range(8)]
    for c in clients:
        c.send('call', {'name': 'wipe', 'args': {'n': 'take'}})
    got = sorted(outcome(c.recv()['result']) for c in clients)
    t.check('of eight that use it at once one does', got == ['approval_pending'] * 7 + ['ok'], got)
    for c in clients:
        c.hang_up()


def drift(t, a, ad):
    _, i = pend(a, 'body')
    decide(ad, i)
    create(a, 'wipe', WIPE + '# other\n', DESTRUCTIVE, replace=True)
    r, j = pend(a, 'body')
    t.check('another body: what was approved is void, it is asked anew', outcome(r) == 'approval_pending' and j != i, r)
    _, k = pend(a, 'pending')
    create(a, 'wipe', WIPE, DESTRUCTIVE, replace=True)
    r = decide(ad, k)
    t.check('nor can what was asked before be approved now', outcome(r) == -32005 and 'changed' in r['error']['message'], r)
    r, _ = pend(a, 'pending')
    t.check('and nothing of it runs', outcome(r) == 'approval_pending', r)
    _, i = pend(a, 'held')
    ad.call('tool.quarantine', {'name': 'wipe', 'reason': 'for a test'})
    r = decide(ad, i)
    t.check('nor what is in quarantine since', outcome(r) == -32005 and 'changed' in r['error']['message'], r)
    ad.call('tool.restore', {'name': 'wipe', 'to': 'draft'})
    create(a, 'gone', WIPE, DESTRUCTIVE)
    _, i = pend(a, 1, 'gone')
    decide(ad, i)
    a.call('tool.remove', {'name': 'gone'})
    r, _ = pend(a, 1, 'gone')
    t.check('a removed tool', outcome(r) == 'invalid_arguments', r)


def policy_drift(t, d, a, ad):
    ask = {'match': '*', 'decide': 'escalate', 'reason': 'all'}
    _, i = pend(a, 'policy')
    decide(ad, i)
    rules(t, [ask, {'name': 'closed', 'match': 'wipe', 'decide': 'deny', 'reason': 'closed'}])
    ad.call('profile.reload', {})
    r, _ = pend(a, 'policy')
    t.check('a policy that denies now denies, whatever was approved', outcome(r) == 'denied' and 'closed' in r['cause']['rule'], r)
    rules(t, [ask])
    ad.call('profile.reload', {})
    r, _ = pend(a, 'policy')
    t.check('and the use was not spent on that', outcome(r) == 'ok', r)
    w = agent(d)
    w.send('call', {'name': 'wipe', 'args': {'n': 'policy2'}, 'approval': 'wait'})
    i = w.recv()['params']['approval_id']
    rules(t, [ask, {'name': 'closed', 'match': 'wipe', 'decide': 'deny', 'reason': 'closed'}])
    ad.call('profile.reload', {})
    decide(ad, i)
    r = w.recv()['result']
    t.check('so does one that waits', outcome(r) == 'denied' and 'closed' in r['cause']['what'], r)
    rules(t, [ask])
    ad.call('profile.reload', {})
    r = a.call('run', {'body': 'def run():\n    return 5\n'})
    i = r['cause']['evidence'].get('approval_id')
    t.check('a body that comes along is asked for with its text', outcome(r) == 'approval_pending' and 'return 5' in ad.call('approval.get', {'id': i})['args']['body'], r)
    decide(ad, i)
    t.check('another body is not what was approved', outcome(a.call('run', {'body': 'def run():\n    return 6\n'})) == 'approval_pending')
    t.check('that body is', a.call('run', {'body': 'def run():\n    return 5\n'}).get('result') == 5)
    w.hang_up()


def waiting(t, d, a, ad):
    w = agent(d)

    def begin(n):
        w.send('call', {'name': 'wipe', 'args': {'n': n}, 'approval': 'wait'})
        e = w.recv()
        return e.get('params', {}).get('approval_id') or e
    i = begin('w1')
    calls = a.call('list', {})['calls']
    t.check('a call that waits is listed as that', [c['state'] for c in calls] == ['approval'] and calls[0]['tool'] == 'wipe', calls)
    r, j = pend(a, 'w1')
    t.check('others may ask the same', j == i, r)
    decide(ad, i)
    t.check('it goes on when approved', w.recv()['result']['result'] == 'wiped w1')
    i = begin('w2')
    decide(ad, i, False, reason='never')
    r = w.recv()['result']
    t.check('it ends when denied, with the reason', outcome(r) == 'denied' and 'never' in r['cause']['what'] and r['cause']['final'], r)
    i = begin('w3')
    create(a, 'wipe', WIPE + '# third\n', DESTRUCTIVE, replace=True)
    decide(ad, i)
    time.sleep(1.5)
    r = w.recv()['result']
    t.check('drift while it waits', outcome(r) == 'denied' and 'changed' in r['cause']['what'], r)
    create(a, 'wipe', WIPE, DESTRUCTIVE, replace=True)
    i = begin('w4')
    call_id = a.call('list', {})['calls'][0]['call_id']
    a.call('cancel', {'call_id': call_id})
    t.check('cancelled while it waits', outcome(w.recv()['result']) == 'cancelled')
    i = begin('w5')
    w.hang_up()
    time.sleep(0.2)
    t.check('a client that leaves takes its call along', a.call('list', {})['calls'] == [])
    r = decide(ad, i)
    t.check('its question can be decided all the same', r.get('state') == 'approved', r)
    t.check('and serves the next call', outcome(pend(a, 'w5')[0]) == 'ok')
    w = agent(d)
    w.send('call', {'name': 'wipe', 'args': {'n': 'w6'}, 'approval': 'wait'})
    w.recv()
    ad.call('drain', {})
    r = w.recv()['result']
    t.check('a drain does not wait for a person', outcome(r) == 'approval_pending', r)
    ad.call('drain', {'on': False})
    w.hang_up()


def queued(t):
    d = daemon(t, [{'match': 'wipe', 'decide': 'escalate', 'reason': 'all'}, {'match': '*', 'decide': 'allow'}],
               'running_max = 1\nqueue_wait = %dms\n' % (2000 * FACTOR))
    a, w, ad, busy = agent(d), agent(d), d.client('admin'), d.client('admin')
    create(a, 'wipe', WIPE, DESTRUCTIVE)
    w.send('call', {'name': 'wipe', 'args': {'n': 'q'}, 'approval': 'wait'})
    i = w.recv()['params']['approval_id']
    time.sleep(2.2 * FACTOR)  # longer than a call may wait for its turn
    busy.send('run', {'body': 'import time\ndef run():\n    time.sleep(%g)\n' % (1 * FACTOR), 'profile': 'stdlib'})
    while all(c['state'] != 'running' for c in ad.call('list', {})['calls']):
        time.sleep(0.02)
    decide(ad, i)
    r = w.recv()['result']
    t.check('the wait for a person is none for a turn: approved while another call runs, it waits and runs', outcome(r) == 'ok', r)
    t.check('the other call ended', outcome(busy.recv()['result']) == 'ok')
    for c in (a, w, ad, busy):
        c.hang_up()
    t.check('the daemon ends clean', d.close() == 0)


def cli(t, d, ad, a):
    _, i = pend(a, 'cli\u202e\x1b[31m')

    def brig(*argv):
        q = subprocess.run([BUILD + '/brig', *argv], env={**os.environ, 'BRIG_STATE': d.state, 'COLUMNS': '80'}, capture_output=True, text=True, timeout=60, check=False)
        return q.returncode, q.stdout, q.stderr
    status, out, err = brig('approvals')
    t.check('brig approvals: a table of 80 columns', status == 0 and i in out and max(map(len, out.splitlines())) <= 80, (status, out, err))
    status, out, err = brig('approvals', 'show', i[:8])
    t.check('brig approvals show: all of it, escaped', status == 0 and '  | def run(n):' in out and '\x1b' not in out and '\u202e' not in out, (status, out, err))
    status, out, err = brig('deny', i[:8], '--reason', 'no')
    t.check('brig deny', status == 0 and 'is denied' in out, (status, out, err))
    status, out, err = brig('approve', i[:8])
    t.check('brig approve of what was denied: exit 4', status == 4 and 'denied already' in err, (status, out, err))
    _, i = pend(a, 'cli2')
    status, out, err = brig('approve', i, '--uses', '2', '--for', '10m', '--json')
    t.check('brig approve --json', status == 0 and json.loads(out) == {'id': i, 'state': 'approved', 'uses': 2, 'for_ms': 600000}, (status, out, err))
    for argv in (('approve', 'abc'), ('approve', i, '--uses', 'many'), ('approve', i, '--for', 'ever'), ('approvals', 'list'), ('approvals', 'show'), ('approve',)):
        status, out, err = brig(*argv)
        t.check('brig %s: exit 2' % ' '.join(argv)[:30], status == 2 and err.startswith('brig: '), (status, out, err))
    status, out, err = brig('approvals', '--all', '--json')
    t.check('brig approvals --all --json', status == 0 and len(json.loads(out)['approvals']) > 1, (status, err))


def restarts(t, d, a, ad):
    _, pending = pend(a, 'left')
    _, approved = pend(a, 'kept')
    decide(ad, approved, uses=2)
    kill_core(d)
    a, ad = again(d)
    t.check('core was killed: what was approved runs', outcome(pend(a, 'kept')[0]) == 'ok')
    r, i = pend(a, 'left')
    t.check('and the question is open still', i == pending, r)
    a.hang_up()
    ad.hang_up()
    d.p.send_signal(signal.SIGTERM)
    d.p.wait(30 * FACTOR)
    d = daemon(t, config=KEPT, state=d.state)
    a, ad = agent(d), d.client('admin')
    r, i = pend(a, 'left')
    t.check('the daemon was started anew: open still', i == pending, r)
    t.check('and the second use is there', outcome(pend(a, 'kept')[0]) == 'ok')
    t.check('and no third', outcome(pend(a, 'kept')[0]) == 'approval_pending')
    decide(ad, i)
    t.check('what was asked before runs after', outcome(pend(a, 'left')[0]) == 'ok')
    return d, a, ad


def asker_becomes_approver(t):
    """One who asked, and may use admin.sock since: his own question is not his to decide."""
    if not ROOT:
        return
    d = daemon(t, config='agent_users = %d %d\nagent_mode = 0666\nadmin_group = %d\nadmin_mode = 0660\n' % (AGENT, OTHER, OTHER))
    a, b, ad = agent(d), agent(d, OTHER), d.client('admin')
    create(a, 'wipe', WIPE, DESTRUCTIVE)
    _, his = pend(b, 'his')
    _, other = pend(a, 'other')
    with open(t.config_path, encoding='utf-8') as f:
        text = f.read()
    with open(t.config_path, 'w', encoding='utf-8') as f:
        f.write(text.replace('agent_users = %d %d' % (AGENT, OTHER), 'agent_users = %d\nadmin_users = %d' % (AGENT, OTHER)))
    r = ad.call('profile.reload', {})
    o = agent(d, OTHER, 'admin')
    r = decide(o, his)
    t.check('who asks does not decide, whatever he may now', outcome(r) == -32001 and 'uid %d asked' % OTHER in r['error']['message'], r)
    t.check('his question is open still', ad.call('approval.get', {'id': his})['state'] == 'pending')
    t.check('that of another he decides', decide(o, other).get('state') == 'approved')
    t.check('and root his', decide(ad, his).get('state') == 'approved')
    for c in (a, b, ad, o):
        c.hang_up()
    t.check('the daemon ends clean', d.close() == 0)


KEPT = 'approval_time = 1m\napprovals_per_uid = 1000\n'


def limits(t):
    d = daemon(t, config='approval_time = 1s\napprovals_per_uid = 3\n')
    a, ad = agent(d), d.client('admin')
    create(a, 'wipe', WIPE, DESTRUCTIVE)
    got = [outcome(pend(a, n)[0]) for n in range(4)]
    r, _ = pend(a, 3)
    t.check('three open questions, the fourth is denied by name', got == ['approval_pending'] * 3 + ['denied'] and 'approvals_per_uid' in r['cause']['what'], (got, r))
    _, i = pend(a, 0)
    time.sleep(1.2)
    r = decide(ad, i)
    t.check('past its time it cannot be approved', outcome(r) == -32005 and 'expired' in r['error']['message'], r)
    time.sleep(1.2)
    w = agent(d)
    w.send('call', {'name': 'wipe', 'args': {'n': 'late'}, 'approval': 'wait'})
    w.recv()
    r = w.recv()['result']
    t.check('nobody decides: that is a denial', outcome(r) == 'denied' and 'nobody decided' in r['cause']['what'], r)
    r, _ = pend(a, 'x' * 300000)
    t.check('more than a person can look at is denied', outcome(r) == 'denied' and '262144' in r['cause']['what'], r)
    time.sleep(1.5)
    log = log_of(d)
    t.check('the log has who asked and that it expired', any(x['kind'] == 'approval_ask' and x.get('tool') == 'wipe' for x in log)
            and any(x['kind'] == 'approval_decide' and x.get('decision') == 'deny' for x in log), [x['kind'] for x in log])
    for c in (a, ad, w):
        c.hang_up()
    t.check('the daemon ends clean', d.close() == 0)


def main():
    t = Suite()
    d = daemon(t, config=KEPT)
    a, ad = agent(d), d.client('admin')
    create(a, 'wipe', WIPE, DESTRUCTIVE)
    once(t, a, ad)
    uses_and_time(t, a, ad)
    who(t, d, a, ad)
    told(t, d, a, ad)
    racing(t, d, a, ad)
    drift(t, a, ad)
    waiting(t, d, a, ad)
    cli(t, d, ad, a)
    log = log_of(d)
    t.check('each use is in the log, with the id of its approval', sum(x['kind'] == 'approval_use' for x in log) >= 10
            and all(len(x.get('approval') or '') == 32 for x in log if x['kind'] == 'approval_use'), [x for x in log if x['kind'] == 'approval_use'][:2])
    begun = [x for x in log if x['kind'] == 'begin' and x.get('approval') and x.get('decision') == 'allow']
    t.check('and in the decision that it allowed', len(begun) >= 10, len(begun))
    a, ad = spent(t, d, a, ad)
    d, a, ad = restarts(t, d, a, ad)
    a.hang_up()
    ad.hang_up()
    d.kept = False
    t.check('the daemon ends clean', d.close() == 0)
    d = daemon(t, [{'match': '*', 'decide': 'escalate', 'reason': 'all'}], KEPT)
    a, ad = agent(d), d.client('admin')
    create(a, 'wipe', WIPE, DESTRUCTIVE)
    policy_drift(t, d, a, ad)
    a.hang_up()
    ad.hang_up()
    t.check('the daemon ends clean', d.close() == 0)
    asker_becomes_approver(t)
    queued(t)
    limits(t)
    return t.finish()


assert AGENT
sys.exit(main())
