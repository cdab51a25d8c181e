"""A strict reader of the Prometheus text format 0.0.4: what a lenient one lets pass is an error here."""
import math
import re

NAME = re.compile(r'[a-zA-Z_:][a-zA-Z0-9_:]*\Z')
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)\Z')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|\Z)')
TYPES = ('counter', 'gauge', 'histogram', 'summary', 'untyped')
SUFFIXES = {'histogram': ('_bucket', '_sum', '_count'), 'summary': ('', '_sum', '_count')}


class Bad(Exception):
    pass


def labels_of(text, line):
    got = {}
    while text:
        m = LABEL.match(text)
        if not m or m.group(1) in got or (m.group(3) == ',' and m.end() == len(text)):
            raise Bad('labels: ' + line)
        got[m.group(1)] = re.sub(r'\\(.)', lambda e: '\n' if e.group(1) == 'n' else e.group(1), m.group(2))
        text = text[m.end():]
    return got


def value_of(text, line):
    if text in ('+Inf', '-Inf', 'NaN'):
        return float(text.replace('Inf', 'inf').replace('NaN', 'nan'))
    if not re.match(r'[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\Z', text):
        raise Bad('value: ' + line)
    return float(text)


class Metrics:
    def __init__(self, text):
        self.samples = {}  # (name, frozenset of label pairs) -> value
        self.types, self.helps, self.closed = {}, {}, set()
        self.family = None
        if not text.endswith('\n') or '\r' in text or '\n\n' in text:
            raise Bad('line ends')
        for line in text[:-1].split('\n'):
            if line.startswith('# HELP '):
                self.help(line)
            elif line.startswith('# TYPE '):
                self.type(line)
            elif line.startswith('#'):
                raise Bad('a comment of no kind: ' + line)
            else:
                self.sample(line)
        for name, kind in self.types.items():
            if kind == 'histogram':
                self.check_histogram(name)

    def help(self, line):
        name, sep, text = line[7:].partition(' ')
        if not sep or not text or not NAME.match(name) or name in self.helps:
            raise Bad('HELP: ' + line)
        if self.family:
            self.closed.add(self.family)
        self.helps[name], self.family = text, name

    def type(self, line):
        name, _, kind = line[7:].partition(' ')
        if kind not in TYPES or name != self.family or name in self.types:
            raise Bad('TYPE without its HELP, or of no type: ' + line)
        if (kind == 'counter') != name.endswith('_total'):
            raise Bad('counters and only they end in _total: ' + line)
        self.types[name] = kind

    def sample(self, line):
        m = SAMPLE.match(line)
        if not m:
            raise Bad('sample: ' + line)
        name, labels, value = m.group(1), labels_of(m.group(3) or '', line), value_of(m.group(4), line)
        if self.family not in self.types or name not in [self.family + s for s in SUFFIXES.get(self.types[self.family], ('',))]:
            raise Bad('outside its family: ' + line)
        key = (name, frozenset(labels.items()))
        if key in self.samples or (m.group(2) and not labels):
            raise Bad('twice, or empty braces: ' + line)
        if self.types[self.family] != 'gauge' and not value >= 0:
            raise Bad('below zero: ' + line)
        self.samples[key] = value

    def check_histogram(self, name):
        series = {}
        for (sample, labels), value in self.samples.items():
            if sample == name + '_bucket':
                rest, le = frozenset(p for p in labels if p[0] != 'le'), dict(labels).get('le')
                if le is None:
                    raise Bad('a bucket without le: ' + name)
                series.setdefault(rest, []).append((math.inf if le == '+Inf' else float(le), value))
        for rest, buckets in series.items():
            count, total = self.samples.get((name + '_count', rest)), self.samples.get((name + '_sum', rest))
            if count is None or total is None or buckets != sorted(buckets) or buckets[-1] != (math.inf, count):
                raise Bad('histogram %s%s: %s, count %s' % (name, dict(rest), buckets, count))
            if any(a[1] > b[1] or a[0] >= b[0] for a, b in zip(buckets, buckets[1:])):
                raise Bad('histogram %s%s does not grow: %s' % (name, dict(rest), buckets))

    def get(self, name, **labels):
        """The one sample with exactly these labels; None: there is none."""
        return self.samples.get((name, frozenset(labels.items())))

    def sum(self, name, **labels):
        want = set(labels.items())
        return sum(v for (n, l), v in self.samples.items() if n == name and want <= l)


GOOD = '# HELP a_total A.\n# TYPE a_total counter\na_total{x="y\\"\\\\\\n"} 1\n# HELP h H.\n# TYPE h histogram\n' \
       'h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 2\nh_sum 3.5\nh_count 2\n'
BAD = ('', 'a 1', 'a_total 1\n', GOOD[:-1], GOOD.replace('# TYPE a_total counter\n', ''), GOOD.replace('counter', 'count'), GOOD.replace('\\"', '"'),
       GOOD.replace('} 1\n', '} 1\n\n', 1), GOOD.replace('} 1', '}1', 1), GOOD + 'a_total 1\n', GOOD + 'h_count 2\n', GOOD.replace('h_count 2', 'h_count 3'),
       GOOD.replace('le="1"} 1', 'le="1"} 3'), GOOD.replace('"1"', '"x"'), GOOD.replace('h_sum 3.5\n', ''), GOOD.replace('3.5', '3,5'),
       GOOD.replace('# HELP h H.\n', ''), GOOD.replace('a_total', 'a'), GOOD.replace(' 1\n', ' 1 2 3\n', 1), GOOD.replace(' 1\n', ' -1\n', 1),
       GOOD.replace('a_total{', 'b_total{'), GOOD.replace('x="', '1x="'))


def self_test():
    """What is wrong with this reader itself; '' nothing."""
    try:
        if Metrics(GOOD).get('a_total', x='y"\\\n') != 1:
            return 'a good text is misread'
    except Bad as e:
        return 'a good text is refused: %s' % e
    for i, text in enumerate(BAD):
        try:
            Metrics(text)
            return 'bad text %d is taken: %r' % (i, text)
        except (Bad, ValueError):
            pass
    return ''
