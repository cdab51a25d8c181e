#!/usr/bin/python3
"""The prelude under plain CPython, with no jail and no embedding: each kind of body, argument, result and error.

jail/python.c calls the steps; Host and call() below do here what it does there.
"""
import importlib.util
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "..", "..", "jail", "prelude.py")


class Host:
    """Stand-in for jail/python_host.c."""

    def bare(self, function):
        return function

    def gate(self, decide):
        def __import__(name, globals=None, locals=None, fromlist=(), level=0):
            text = decide(name, list(fromlist or ()), level)
            if text is not None:
                raise ImportError(text, name=name)
            import builtins
            return builtins.__import__(name, globals, locals, fromlist or (), level)
        return __import__

    say = staticmethod(print)

    def shut(self):
        pass


def fresh(imports=(), full=False, profile="pure", keep=False):
    spec = importlib.util.spec_from_file_location("brig_prelude_under_test", SOURCE)
    prelude = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prelude)
    prelude.configure(profile, full, list(imports), [], Host(), keep)
    return prelude


def call(body, args=None, imports=(), full=False, raw=None, prelude=None):
    """-> ("ok", value) or ("error", report). prelude: a session's, which keeps the module of the tool."""
    kept = prelude is not None
    prelude = prelude or fresh(imports, full)
    text = raw if raw is not None else json.dumps({} if args is None else args)
    body = body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")
    try:
        code, space, kwargs = prelude.prepare(body, text.encode(), os.urandom(32))
        exec(code, space)
        value = prelude.entry(space)(**kwargs)
        if hasattr(type(value), "__await__"):
            value = prelude.drive(value)
        payload = prelude.encode(value)
        kind = "ok"
    except BaseException as error:
        payload = prelude.describe(error)
        kind = "error"
    finally:
        prelude.finish()
        if not kept:
            sys.modules.pop("tool", None)
    assert len(payload) <= 64 << 10 or kind == "ok", len(payload)
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return kind, json.loads(payload.decode("utf-8"), parse_constant=lambda word: 1 / 0)
    finally:
        sys.set_int_max_str_digits(digits)


class Case(unittest.TestCase):
    def ok(self, want, body, args=None, **more):
        kind, got = call(body, args, **more)
        self.assertEqual(kind, "ok", got)
        self.assertEqual(got, want)
        self.assertIs(type(got), type(want))

    def error(self, body, args=None, type=None, has=(), line=None, column=None, **more):
        kind, got = call(body, args, **more)
        self.assertEqual(kind, "error", got)
        for text in (has,) if isinstance(has, str) else has:
            self.assertIn(text, got["message"])
        if type:
            self.assertEqual(got["type"], type)
        if line:
            self.assertEqual(got.get("line"), line, got)
        if column:
            self.assertEqual(got.get("column"), column, got)
        return got


class Bodies(Case):
    def test_plain_call_gets_its_arguments_and_returns_text(self):
        self.ok("43", "def run(n):\n    return str(n + 1)\n", {"n": 42})

    def test_helpers_constants_and_recursion_share_one_namespace(self):
        self.ok([120, 3], "LIMIT = 3\ndef fact(k):\n    return 1 if k < 2 else k * fact(k - 1)\ndef run():\n    return [fact(5), min(9, LIMIT)]\n")

    def test_classes_and_super_and_module_name(self):
        self.ok(["<x>", "tool"], "class A: pass\nclass B(A):\n    def __init__(self, n):\n        super().__init__(); self.n = n\n"
                "    def __repr__(self): return f'<{self.n}>'\ndef run():\n    return [repr(B('x')), B.__module__]\n")

    def test_dataclass_with_postponed_annotations(self):
        self.ok(3, "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\n"
                "def run():\n    p = P(1)\n    return p.x + p.y\n", imports=["dataclasses", "__future__"])

    def test_generators_match_walrus_and_real_types(self):
        self.ok([6, "list", True, 256], "def g(n):\n    yield from range(n)\ndef kind(x):\n    match x:\n        case [*_]: return 'list'\n    return '?'\n"
                "def run():\n    if (t := sum(g(4))) > 5: pass\n    return [t, kind([1]), isinstance(5, int), int.from_bytes(b'\\x01\\x00', 'big')]\n")

    def test_not_implemented_and_whole_exception_tree(self):
        self.ok(["UnicodeDecodeError", "group"], "class A:\n    def __eq__(self, o): return NotImplemented\ndef run():\n    out = []\n    try: b'\\xff'.decode()\n"
                "    except UnicodeDecodeError as e: out.append(type(e).__name__)\n    try: raise ExceptionGroup('g', [ValueError(1)])\n    except* ValueError: out.append('group')\n    return out\n")

    def test_async_run_without_and_with_asyncio(self):
        self.ok("a", "async def run():\n    return 'a'\n")
        self.ok("b", "import asyncio\nasync def run():\n    await asyncio.sleep(0.001)\n    return await asyncio.to_thread(str.lower, 'B')\n", imports=["asyncio"])

    def test_markdown_fences_keep_line_numbers(self):
        self.ok(1, "```python\ndef run():\n    return 1\n```\n")
        self.ok("```", "~~~\ndef run():\n    return '```'\n~~~\nThat is all.\n")
        self.error("\n```py\ndef run():\n    return 1 / 0\n```", type="ZeroDivisionError", line=4)
        self.ok(2, "```\ndef run():\n    return 2\n")

    def test_byte_order_mark_and_crlf(self):
        self.ok(1, b"\xef\xbb\xbfdef run():\r\n    return 1\r\n")

    def test_syntax_errors_have_line_and_column(self):
        self.error("def run():\n    return (1\n", type="SyntaxError", line=2, column=12)
        self.error("def run():\n    x = 1\n  y = 2\n", type="IndentationError", line=3)
        self.error("def run():\n\tif 1:\n        return 1\n", type="TabError", line=3)
        self.error("def run():\n    return '\0'\n", type="SyntaxError", has="NUL", line=2, column=13)
        self.error(b"def run():\n    return '\xff'\n", type="SyntaxError", has="UTF-8", line=2)
        self.error("def run(:\n", type="SyntaxError", line=1)
        self.error("x = " + "(" * 300 + ")" * 300, type="SyntaxError")
        self.error("x = " + "-" * 200000 + "1", type="SyntaxError")

    def test_missing_run_and_run_that_is_no_function(self):
        self.error("x = 1\n", has="defines no function run")
        self.error("", has="defines no function run")
        self.error("run = 5\n", type="TypeError", has="not callable")

    def test_wrong_arguments(self):
        self.error("def run(a): return a\n", {}, type="TypeError", has="missing 1 required")
        self.error("def run(a): return a\n", {"a": 1, "b": 2}, type="TypeError", has="'b'")
        self.ok({"b": 2}, "def run(**kwargs): return kwargs\n", {"b": 2})

    def test_traceback_shows_only_the_tools_own_lines(self):
        got = self.error("import json\ndef helper(text):\n    return json.loads(text)\ndef run():\n    return helper('{')\n", imports=["json"], type="JSONDecodeError", line=3)
        self.assertEqual(len(got["traceback"]), 2)
        self.assertIn("return helper('{')", got["traceback"][0])

    def test_linecache_finds_the_body(self):
        body = "import traceback\ndef run():\n    try:\n        1 / 0  # here\n    except ZeroDivisionError:\n        return traceback.format_exc()\n"
        kind, got = call(body, imports=["traceback"])
        self.assertIn("1 / 0  # here", got)


class Imports(Case):
    def test_message_names_module_profile_and_key(self):
        self.error("def run():\n    import requests\n", imports=["json"], type="ImportError", has=("'requests'", '"pure"', '"python.imports"', "json"), line=2)

    def test_dotted_entries_open_only_themselves(self):
        body = "def run():\n    out = []\n    for name in ('urllib.parse', 'xml.etree.ElementTree', 'urllib.request', 'xml.dom.minidom', 'xml.sax', 'urllib'):\n" \
               "        try:\n            __import__(name); out.append('in')\n        except ImportError:\n            out.append('out')\n    return out\n"
        self.ok(["in", "in", "out", "out", "out", "in"], body, imports=["urllib.parse", "xml.etree.ElementTree"])

    def test_from_parent_import_unlisted_submodule(self):
        self.error("import urllib.request as gone\n", imports=["urllib.parse"], has="urllib.request")
        self.error("from urllib import request\ndef run(): pass\n", imports=["urllib.parse"], has="urllib.request", line=1)
        self.ok("a%20b", "from urllib import parse\ndef run(): return parse.quote('a b')\n", imports=["urllib.parse"])
        self.error("from xml import *\ndef run(): pass\n", imports=["xml.etree.ElementTree"], type="ImportError")

    def test_a_package_opens_what_is_below_it(self):
        self.ok("a", "import os.path, collections.abc\nfrom os import path\ndef run(): return path.basename('/x/a')\n", imports=["os", "collections.*"])

    def test_similar_names_are_not_opened(self):
        self.error("import jsonx\n", imports=["json"], has="'jsonx'")
        self.error("import js\n", imports=["json"], has="'js'")

    def test_datetime_works_through_the_gate(self):
        self.ok(["2024-02-29", "29", 366], "from datetime import datetime, date\ndef run():\n    d = datetime.strptime('2024-02-29', '%Y-%m-%d')\n"
                "    return [d.strftime('%Y-%m-%d'), f'{d:%d}', date(2024, 12, 31).timetuple().tm_yday]\n", imports=["datetime"])
        self.error("import _strptime\n", imports=["json"], has="_strptime")
        self.error("import time\n", imports=["json"], has="'time'")

    def test_relative_import(self):
        self.error("def run():\n    from . import helpers\n", type="ImportError", line=2)

    def test_star_and_full_builtins_have_no_gate(self):
        self.ok(True, "import os\ndef run(): return os.getpid() > 0\n", imports=["*"])
        self.ok(True, "import os\ndef run(): return callable(open)\n", full=True)

    def test_caught_import_error_is_ordinary(self):
        self.ok("no", "try:\n    import numpy\nexcept ImportError:\n    numpy = None\ndef run():\n    return 'no' if numpy is None else 'yes'\n")


class Builtins(Case):
    def test_absent_names_say_why(self):
        for name in "open exec eval compile breakpoint globals locals vars dir id help exit quit".split():
            if hasattr(__import__("builtins"), name):
                self.error(f"def run():\n    return {name}\n", type="NameError", has=(name, 'profile "pure"', 'python.builtins "full"'), line=2)
        self.error("def run():\n    return input('name?')\n", type="NameError", has=("input", "no stdin"))

    def test_a_misspelt_name_is_only_that(self):
        got = self.error("def run():\n    return lenght\n", type="NameError", has="lenght")
        self.assertNotIn("profile", got["message"])

    def test_full_builtins_are_all_there(self):
        self.ok(True, "def run(): return all(callable(f) for f in (open, eval, exec, compile, globals, dir, id))\n", full=True)

    def test_end_of_input(self):
        self.error("def run(): raise EOFError('EOF when reading a line')\n", has="no stdin")


class Arguments(Case):
    def test_numbers_arrive_exact(self):
        body = "def run(n): return n\n"
        for text in ("9007199254740993", "-0.1", "1e22", "123456789012345678901234567890", "0.1", "true", "null", "[]", '"\\u00e9"', '"\\ud83d\\ude00"'):
            kind, got = call(body, raw='{"n": %s}' % text)
            self.assertEqual((kind, got), ("ok", json.loads(text)))
        self.ok([True, "int", "float"], "def run(a, b): return [a == 10 ** 5000, type(a).__name__, type(b).__name__]\n", raw='{"a": 1%s, "b": 1.0}' % ("0" * 5000))

    def test_what_is_not_json_or_no_object(self):
        body = "def run(**k): return 1\n"
        for text in ("", "[1]", "{", '{"a": NaN}', '{"a": -Infinity}', '{"a": 1e999}', "{} x", "1"):
            kind, got = call(body, raw=text)
            self.assertEqual(kind, "error", text)
            self.assertTrue(got["message"])

    def test_digit_limit_of_the_tool_itself_is_pythons(self):
        self.error("def run(): return str(10 ** 5000)\n", type="ValueError", has="digits")


class Results(Case):
    def test_json_values_pass_exactly(self):
        for want in ("text", "h\u00e9llo \U0001f389 \0 \u2028", 5, -1.5, True, None, [], {}, [1, [2.5, {"a": None}]], 10 ** 400, 2 ** 53 + 1, 1e-300):
            self.ok(want, f"def run(): return {want!r}\n")

    def test_tuples_and_simple_keys(self):
        self.ok([1, "a"], "def run(): return (1, 'a')\n")
        self.ok({"1": "x", "true": 1, "null": 2, "1.5": 3}, "def run(): return {1: 'x', True + 0 == 2 or 1.5: 3, None: 2} | {'true': 1}\n")

    def test_huge_integers(self):
        self.ok(10 ** 4000, "def run(): return 10 ** 4000\n")
        self.ok([1 - 10 ** 4300], "def run(): return [1 - 10 ** 4300]\n")
        self.error("def run(): return {'k': [10 ** 4300]}\n", type="ResultError", has=('result["k"][0]', "4300 digits"))
        self.error("def run(): return -10 ** 5000\n", type="ResultError", has="digits")
        self.error("def run(): return {10 ** 5000: 1}\n", type="ResultError", has="digits")
        self.ok(10 ** 4299, "import sys\ndef run():\n    sys.set_int_max_str_digits(640)\n    return 10 ** 4299\n", imports=["sys"])

    def test_values_that_are_not_json_are_named_and_placed(self):
        for value, words in (("{1, 2}", "set"), ("b'ab'", "bytes"), ("object()", "object"), ("{'a': [1, 2j]}", 'result["a"][1] is of type complex'),
                             ("float('nan')", "NaN"), ("[1, float('inf')]", "result[1] is Infinity"), ("{'m': {'x': -float('inf')}}", 'result["m"]["x"] is -Infinity'),
                             ("{(1, 2): 3}", "key of type tuple"), ("{float('nan'): 1}", "NaN"), ("'a\\ud800'", "surrogate"), ("['\\udfff']", "result[0] holds a lone surrogate"),
                             ("{'\\ud800': 1}", "surrogate"), ("{1: 'a', '1': 'b'}", "two keys"), ("run", "function"), ("(x for x in [])", "generator"), ("range(3)", "range")):
            self.error(f"def run(): return {value}\n", type="ResultError", has=words)

    def test_cycles_and_depth(self):
        self.error("def run():\n    a = []\n    a.append(a)\n    return {'cyc': a}\n", type="ResultError", has=('result["cyc"][0]', "contains itself"))
        self.error("def run():\n    a = []\n    for _ in range(100000): a = [a]\n    return a\n", type="ResultError", has="nested deeper than 128")
        self.ok([[1], [1]], "def run():\n    a = [1]\n    return [a, a]\n")

    def test_depth_128_passes(self):
        body = "def run():\n    a = 1\n    for _ in range(128): a = [a]\n    return a\n"
        self.assertEqual(call(body)[0], "ok")

    def test_subclasses_lose_their_methods(self):
        self.ok("plain", "def bad(*a, **k): return 'forged'\nclass S(str):\n    __str__ = __repr__ = __format__ = encode = join = isascii = bad\n    def __len__(self): return -1\n"
                "    def __eq__(self, o): return True\n    def __hash__(self): return 0\ndef run(): return S('plain')\n")
        self.ok({"a": [1, 2.0, "s", True]}, "class I(int):\n    def __repr__(self): return '7'\nclass F(float):\n    def __repr__(self): return 'x'\nclass S(str): pass\n"
                "class L(list):\n    def __iter__(self): return iter('forged')\nclass D(dict):\n    def items(self): return [('forged', 1)]\n"
                "def run(): return D({S('a'): L([I(1), F(2), S('s'), True])})\n")
        self.ok({"x": 1}, "from collections import OrderedDict, Counter\nfrom enum import IntEnum\nclass E(IntEnum):\n    A = 1\ndef run(): return OrderedDict(x=E.A)\n", imports=["collections", "enum"])
        self.ok([1, 2], "from collections import namedtuple\ndef run(): return namedtuple('P', 'x y')(1, 2)\n", imports=["collections"])

    def test_a_lying_class_is_no_list(self):
        self.error("class L:\n    __class__ = list\ndef run(): return L()\n", type="ResultError", has="type L")


class Errors(Case):
    def test_message_is_kept(self):
        self.error("def run(): raise ValueError('boom: no disk')\n", type="ValueError", has="boom: no disk", line=1)

    def test_column_counts_characters(self):
        self.error("def run():\n    '\u00e9\u00e9'; return 1 / 0\n", line=2, column=18)

    def test_hostile_exceptions(self):
        got = self.error("def run(**kwargs):\n    class Boom(Exception):\n        def __str__(self): raise Boom()\n        __repr__ = __str__\n        @property\n"
                         "        def args(self): raise Boom()\n        __traceback__ = __cause__ = __context__ = args\n    raise Boom()\n", type="Boom", line=8)
        self.assertIn("str() raised Boom", got["message"])
        self.error("class M(type):\n    __name__ = property(lambda c: 1 / 0)\nclass E(Exception, metaclass=M): pass\ndef run(): raise E('x')\n", type="E", has="x")
        self.error("class S(str):\n    def __len__(self): return 10 ** 9\nclass E(Exception):\n    def __str__(self): return S('text')\ndef run(): raise E\n", has="text")

    def test_base_exceptions(self):
        self.error("def run(): raise SystemExit(0)\n", type="SystemExit", has="without a result (exit status 0)")
        self.error("def run(): raise SystemExit\n", type="SystemExit", has="without a result")
        self.error("raise SystemExit(3)\n", type="SystemExit", has="exit status 3")
        self.error("def run(): raise KeyboardInterrupt('from the tool')\n", type="KeyboardInterrupt", has="from the tool")
        self.error("def run(): raise GeneratorExit\n", type="GeneratorExit", has="without a message")
        self.error("class B(BaseException): pass\ndef run(): raise B('b')\n", type="B")

    def test_recursion_and_memory(self):
        got = self.error("def f(n): return f(n + 1) + 1\ndef run(): return f(0)\n", type="RecursionError", has="recursion depth")
        self.assertLess(len(got["traceback"]), 40)
        self.error("def run(): return len('a' * (1 << 62))\n")
        self.error("def run(): raise MemoryError\n", type="MemoryError", has="memory")

    def test_groups_and_chains(self):
        got = self.error("def run():\n    raise ExceptionGroup('two', [ValueError('a'), KeyError('b')])\n", type="ExceptionGroup", has="two")
        self.assertTrue(any("ValueError: a" in text for text in got["traceback"]))
        got = self.error("def run():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError('bad') from e\n", type="ValueError")
        self.assertTrue(any("caused by ZeroDivisionError" in text for text in got["traceback"]))

    def test_reports_are_bounded_and_valid(self):
        self.error("def run(): raise ValueError('\\0' * 5_000_000)\n", has="more characters")
        self.error("def run(): raise ValueError('\\ud800\\x1b[2J')\n", has="\\ud800")
        self.error("x = '" + "z" * 90000 + "'; 1 / 0\n", type="ZeroDivisionError")
        self.error("class " + "K" * 9000 + "(Exception): pass\ndef run(): raise " + "K" * 9000 + "('x')\n")
        self.error("def run():\n    e = None\n    for i in range(1000):\n        n = ValueError('\\0' * 9000); n.__cause__ = e; e = n\n    raise e\n")

    def refused(self, want, body, **more):
        self.assertEqual(self.error(body, full=True, **more).get("refused"), want)

    def test_refusals_of_the_kernel_are_told_apart(self):
        perm = "    raise PermissionError(1, 'Operation not permitted')\n"
        self.refused({"errno": 1, "path": "", "need": "subprocess"}, "class os:\n  def fork():\n" + perm + "def run(): return os.fork()\n")
        self.refused({"errno": 1, "path": "", "need": "network"}, "def connect():\n" + perm + "def run(): return connect()\n")
        self.refused({"errno": 30, "path": "/data/x", "need": ""}, "def run(): raise OSError(30, 'Read-only file system', '/data/x')\n")
        self.refused({"errno": 2, "path": "/nowhere/x", "need": ""}, "def run(): return open('/nowhere/x').read()\n")
        # It need not be the last one, nor alone.
        self.refused({"errno": 30, "path": "/d", "need": ""}, "def run():\n    try: raise OSError(30, 'ro', '/d')\n    except OSError as e: raise ValueError('no') from e\n")
        self.refused({"errno": 30, "path": "/d", "need": ""}, "def run(): raise ExceptionGroup('g', [ValueError('a'), OSError(30, 'ro', '/d')])\n")
        # A library's frame says more than what it was called by.
        self.refused({"errno": 1, "path": "", "need": "subprocess"},
                     "import subprocess\nclass P(subprocess.Popen):\n  def _execute_child(self, *a):\n" + perm + "def run(): return P(['x'])\n")

    def test_what_is_no_refusal(self):
        for body in ("def run(): raise OSError(5, 'io')\n", "def run(): raise OSError('words')\n", "def run(): raise ValueError(1, 'no')\n",
                     "def run():\n    e = OSError(1, 'x'); e.errno = 'forged'; raise e\n"):
            self.refused(None, body)
        got = self.error("class E(PermissionError):\n    __cause__ = errno = filename = property(lambda s: 1 / 0)\ndef run(): raise E(1, 'x', 7)\n", full=True)
        self.assertEqual(got["refused"]["path"], "")
        self.error("def run():\n    e = OSError(30, 'ro', '/' + 'x' * 100000 + '\\udcff'); raise e\n", full=True)

    def test_a_cycle_of_causes_ends(self):
        self.error("def run():\n    a = ValueError('a'); b = ValueError('b'); a.__cause__ = b; b.__cause__ = a\n    raise a\n", type="ValueError")


class Fresh(Case):
    def test_names_of_temporary_files_start_anew(self):
        import tempfile
        tempfile._name_sequence = object()
        fresh().reseed(b"a" * 32)
        self.assertIsNone(tempfile._name_sequence)

    def test_random_reseeds_itself_at_fork(self):
        import random
        random.seed(1)
        want = random.random()
        random.seed(1)
        child = os.fork()
        if child == 0:
            os._exit(random.random() == want)
        self.assertEqual(os.waitpid(child, 0)[1], 0)


class Files(unittest.TestCase):
    def test_the_prelude_fits_into_a_spec(self):
        self.assertLessEqual(os.path.getsize(SOURCE), 64 << 10)


class Sessions(Case):
    """One prelude for several bodies, as a session's jail has it."""

    def setUp(self):
        self.prelude = fresh(("asyncio", "sys"), keep=True)

    def tearDown(self):
        sys.modules.pop("tool", None)

    def run_body(self, body, **more):
        return call(body, prelude=self.prelude, **more)

    def test_names_stay(self):
        self.assertEqual(self.run_body("x = [1]\ndef run():\n    return x"), ("ok", [1]))
        self.assertEqual(self.run_body("x.append(2)\ndef run():\n    return x"), ("ok", [1, 2]))

    def test_run_is_the_bodys_own(self):
        self.run_body("def run():\n    return 1")
        kind, report = self.run_body("y = 2")
        self.assertEqual((kind, report["type"]), ("error", "NameError"))

    def test_lines_of_each_body(self):
        self.run_body("def f():\n\n    return 1 / 0\ndef run():\n    return 1")
        kind, report = self.run_body("\n\n\ndef run():\n    return f()")
        self.assertEqual((kind, report["line"]), ("error", 5))
        self.assertEqual(report["traceback"], ['File "tool-2.py", line 5, in run: return f()', 'File "tool.py", line 3, in f: return 1 / 0'])
        kind, report = self.run_body("def run(: pass")
        self.assertEqual((report["type"], report["line"], 'tool-3.py' in report["traceback"][0]), ("SyntaxError", 1, True))

    def test_a_thousand_bodies_are_not_kept(self):
        self.run_body("def f():\n    return 1 / 0\ndef run():\n    return 1")
        for _ in range(1000):
            self.run_body("def run():\n    return 1")
        self.assertEqual(len(self.prelude.sources), 8)
        kind, report = self.run_body("def run():\n    return f()")
        self.assertEqual((report["line"], report["traceback"][1]), (2, 'File "tool.py", line 2, in f'))

    def test_a_spoilt_module_begins_anew(self):
        self.run_body("import sys\nx = 1\nsys.modules['tool'] = 7\ndef run():\n    return 1")
        self.assertEqual(self.run_body("def run():\n    return x")[1]["type"], "NameError")

    def test_one_event_loop(self):
        body = "import asyncio\nasync def run():\n    await asyncio.sleep(0)\n    return hash(asyncio.get_running_loop())"
        self.assertEqual(self.run_body(body), self.run_body(body))
        self.prelude.loop.close()

    def test_the_switch_interval_is_the_tools(self):
        before = sys.getswitchinterval()
        self.run_body("import sys\nsys.setswitchinterval(0.001)\ndef run():\n    return 1")
        self.assertAlmostEqual(sys.getswitchinterval(), 0.25)
        self.assertEqual(self.run_body("def run():\n    return round(sys.getswitchinterval(), 4)"), ("ok", 0.001))
        sys.setswitchinterval(before)

    def test_restricted_builtins_hold_again(self):
        for _ in range(2):
            self.assertEqual(self.run_body("def run():\n    return open('/etc/passwd')")[1]["type"], "NameError")


if __name__ == "__main__":
    unittest.main()
