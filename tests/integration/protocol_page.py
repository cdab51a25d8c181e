#!/usr/bin/python3
"""brig(7): every example of the page is executed against a daemon, and its answers are as the page says; every method is on the page."""
import json
import re
import socket
import sys

from libbrig import FACTOR, REPO, Client, Daemon, Suite

ANY = '\0any'
LINE = re.compile(r'^(agent|admin) (->|<-) (.*)$')


def blocks(text):
    """The examples of the page: lists of (socket, direction, JSON text)."""
    for block in re.findall(r'^\.Bd -literal.*?\n(.*?)^\.Ed$', text, re.M | re.S):
        block = block.replace('\\(aq', "'").replace('\\-', '-').replace('\\e', '\\')
        got = []
        for line in block.split('\n'):
            m = LINE.match(line)
            if m:
                got.append([*m.groups()])
            elif got and line.startswith(' '):
                got[-1][2] += line.strip()
        if got:
            yield got


def pattern(text):
    """What the page writes as an answer, with its "..." as marks: for a value, and for further members or elements."""
    text = re.sub(r':\s*\.\.\.', lambda m: ':' + json.dumps(ANY), text)
    text = re.sub(r'([,{\[]\s*)\.\.\.(\s*\})', lambda m: m[1] + json.dumps(ANY) + ':0' + m[2], text)
    text = re.sub(r'([,\[]\s*)\.\.\.(\s*\])', lambda m: m[1] + json.dumps(ANY) + m[2], text)
    return json.loads(text)


class Mismatch(Exception):
    pass


def match(want, got, names, at=''):
    """names: what the page's ids are called in this run."""
    if want == ANY:
        return
    if isinstance(want, dict) and isinstance(got, dict):
        more = ANY in want
        missing = [k for k in want if k != ANY and k not in got]
        surplus = [] if more else [k for k in got if k not in want]
        if missing or surplus:
            raise Mismatch('%s: missing %s, surplus %s' % (at, missing, surplus))
        for k in want:
            if k != ANY:
                match(want[k], got[k], names, at + '.' + k)
    elif isinstance(want, list) and isinstance(got, list):
        more = bool(want) and want[-1] == ANY
        want = want[:-1] if more else want
        if len(got) < len(want) or (len(got) > len(want) and not more):
            raise Mismatch('%s: %d elements, not %d' % (at, len(got), len(want)))
        for i, w in enumerate(want):
            match(w, got[i], names, '%s[%d]' % (at, i))
    elif isinstance(want, str) and isinstance(got, str) and re.fullmatch('[0-9a-f]{32}', want):
        if not re.fullmatch('[0-9a-f]{32}', got) or names.setdefault(want, got) != got:
            raise Mismatch('%s: another id: %s' % (at, got))
    elif want != got or isinstance(want, bool) != isinstance(got, bool):
        raise Mismatch('%s: %r, not %r' % (at, got, want))


def execute(d, block):
    """None, or what differs from the page."""
    clients, names = {}, {}
    try:
        for which, arrow, text in block:
            if which not in clients:
                s = socket.socket(socket.AF_UNIX)
                s.connect(d.path(which))
                clients[which] = Client(s)
                clients[which].sock.settimeout(30 * FACTOR)
            if arrow == '->':
                for page, real in names.items():
                    text = text.replace(page, real)
                json.loads(text)
                clients[which].sock.sendall(text.encode() + b'\n')
            else:
                got = clients[which].recv()
                try:
                    match(pattern(text), got, names)
                except Mismatch as e:
                    return '%s\npage: %s\ngot:  %s' % (e, text, json.dumps(got)[:800])
    finally:
        for c in clients.values():
            c.hang_up()
    return None


def methods():
    """Of the tables: name, and whether it is the operator's."""
    import glob
    for path in glob.glob(REPO + '/supervisor/methods_*.c'):
        with open(path, encoding='utf-8') as f:
            for name, params, admin in re.findall(r'^\t\{ "([a-z.]+)", method_\w+, (\w+), (true|false) \},$', f.read(), re.M):
                yield name, params, admin == 'true'


def main():
    t = Suite()
    with open(REPO + '/supervisor/brig.7', encoding='utf-8') as f:
        text = f.read()
    d = Daemon()
    found = list(blocks(text))
    for block in found:
        wrong = execute(d, block)
        first = json.loads(block[0][2])
        t.check('the example of %s' % first['method'], wrong is None, wrong)
    shown = {json.loads(x[2])['method'] for b in found for x in b if x[1] == '->'}
    known = list(methods())
    for name, _, _ in known:
        t.check('%s is on the page, with an example' % name, re.search(r'Cm %s\b' % re.escape(name), text) and (name in shown or name == 'profile.reload'))
    t.check('no example names a method that is none', shown <= {k[0] for k in known}, shown)
    c = d.client()
    for name, _, admin in known:
        code = c.call(name, {'nosuch': 1}).get('error', {}).get('code')
        t.check('%s over agent.sock: %s' % (name, 'the operator\'s' if admin else 'its parameters are checked'), code == (-32001 if admin else -32602), code)
    c.hang_up()
    t.check('the daemon ends well', d.close() == 0)
    return t.finish()


if __name__ == '__main__':
    sys.exit(main())
