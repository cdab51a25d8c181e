"""What a tool sees of Python, and how its result or its error becomes bytes.

Loaded once, in the zygote, by jail/python.c, which calls the functions named in
STEPS. The body of the tool and its run() are called from C, between these
steps, so that no frame of this file lies under the tool's own.

Nothing here is a wall. The list of builtins and the import gate tell a
well-meaning author at once, and in words, what a profile grants; who means ill
walks round them, and meets the kernel.
"""
import builtins
import gc
import json
import sys

STEPS = ("configure", "prepare", "entry", "drive", "encode", "describe", "finish", "examine")

# LIMIT_JSON_DEPTH and LIMIT_ERROR_BYTES of jail/base/limits.h, the latter with room for the frame.
DEPTH_MAX = 128
ERROR_BYTES_MAX = 63 << 10
MESSAGE_CHARS_MAX = 8000
TRACE_HEAD, TRACE_TAIL, TRACE_CHARS_MAX = 8, 24, 240
CHAIN_MAX = 8
LISTED_MAX = 40
# Exact integers of any size are JSON, but the readers of results are often Python, whose json stops at 4300 digits.
INT_DIGITS_MAX = 4300
INT_END = 10 ** INT_DIGITS_MAX

# A traceback names this file; a name in <> would stop linecache from asking __loader__.
FILE = "tool.py"
NAME = "tool"
# Bodies of a session whose text is kept for tracebacks: they may be a megabyte each, and it is the session's memory.
SOURCES_KEPT = 8

FUNCTIONS = """
    __build_class__ abs aiter all anext any ascii bin callable chr delattr divmod format getattr hasattr hash hex
    isinstance issubclass iter len max min next oct ord pow print repr round setattr sorted sum
""".split()
TYPES = """
    bool bytearray bytes classmethod complex dict enumerate filter float frozenset int list map memoryview object
    property range reversed set slice staticmethod str super tuple type zip Ellipsis NotImplemented
""".split()

# C code of these modules imports the helpers in the name of the frame that called it.
TIME_USERS = frozenset(("datetime", "time", "calendar"))
TIME_HELPERS = frozenset(("_strptime", "time"))

profile = "?"
restricted = True
session = False
allowed = frozenset()
parents = frozenset()
tool_builtins = None
first_stdout = None
first_stderr = None
# The body that runs: its name in tracebacks, and texts by such names. A session has had others, whose functions may still be called.
file = FILE
sources = {}
bodies = 0
loop = None
# A thread that waits for Python's lock looks for it so often; between a session's calls nobody gives it away.
IDLE_INTERVAL = 0.25
interval = sys.getswitchinterval()


class ToolError(Exception):
    """The tool is at fault, and no exception of its own says so."""

    def __init__(self, kind, message, line=None, column=None, source=None):
        super().__init__(message)
        where = [f'File "{file}", line {line}: {source.strip()}'] if line and source else []
        self.report = (kind, message, line, column, where)


class Unfit(Exception):
    """A value that JSON cannot hold. The path to it grows on the way up."""

    def __init__(self, text):
        super().__init__(text)
        self.path = []


# --- set-up, in the zygote ---------------------------------------------------------------------


def configure(name, full, imports, preload, host, keep=False):
    """host gives what only C can: bare(builtin function), gate(decide), say (a print of one write), shut().
    keep: the jails are sessions', and one body finds what the last one left."""
    global profile, restricted, session, allowed, parents, tool_builtins, first_stdout, first_stderr
    profile, restricted, session = name, not full, keep
    # "pkg.*" says the same as "pkg": a module and what lies below it.
    allowed = frozenset(each.removesuffix(".*") for each in imports)
    parents = frozenset(each[:i] for each in allowed for i, c in enumerate(each) if c == ".")
    for module in preload:
        preload_module(module)
    first_stdout, first_stderr = sys.stdout, sys.stderr
    builtins.print = host.say
    if restricted:
        tool_builtins = curated(host)
        host.shut()
    else:
        tool_builtins = builtins.__dict__


def preload_module(module):
    """A preload only saves time: where the module is not installed, its import says so, in the call."""
    try:
        __import__(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise


def curated(host):
    table = {}
    for name in FUNCTIONS:
        table[name] = host.bare(getattr(builtins, name))
    for name in TYPES:
        table[name] = getattr(builtins, name)
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            table[name] = value
    table["__import__"] = host.gate(refusal)
    return table


def listed(name):
    """On the list, or below something that is."""
    while name:
        if name in allowed:
            return True
        name = name.rpartition(".")[0]
    return False


def refusal(name, fromlist, level):
    """None where the import may go on, else what ImportError shall say."""
    if level:
        return "a tool is one file and belongs to no package: there is nothing to import relatively from"
    if "*" in allowed or listed(name):
        return None
    if name in TIME_HELPERS and not TIME_USERS.isdisjoint(allowed):
        return None
    if name in parents:
        # The package itself is only the way to a listed module: nothing else may be fetched out of it.
        wrong = [name + "." + item for item in fromlist if not (listed(name + "." + item) or name + "." + item in parents)]
        if not wrong:
            return None
        name = wrong[0]
    names = sorted(allowed)
    granted = ", ".join(names[:LISTED_MAX]) or "none"
    if len(names) > LISTED_MAX:
        granted += f" and {len(names) - LISTED_MAX} more"
    return (f"module {name!r} is not on the import list of profile \"{profile}\""
            f" (listed: {granted}); adding it to \"python.imports\" of the profile would allow it")


# --- before the tool ---------------------------------------------------------------------------


def prepare(body, args, seed):
    """Bytes of the body, of the arguments, 32 random bytes -> code, namespace, keyword arguments."""
    if session:
        sys.setswitchinterval(interval)
    module = kept_module() or new_module(seed)
    kwargs = arguments(args)
    source = unfence(source_text(body))
    code = compiled(source)
    sources[file] = source
    if len(sources) > SOURCES_KEPT:
        del sources[next(iter(sources))]
    space = module.__dict__
    space["__builtins__"] = tool_builtins
    # linecache, traceback and inspect ask the loader; a dict's own get() gives them no frame of ours.
    loader = type(sys.implementation)(get_source={NAME: source}.get)
    space["__loader__"] = loader
    # What a body without a run() of its own would else call is the last one's.
    space.pop("run", None)
    return code, space, kwargs


def new_module(seed):
    """The state that a session keeps begins here; its random numbers are a part of it, and are not seeded again."""
    global file, bodies
    reseed(seed)
    sources.clear()
    file, bodies = FILE, 1
    module = type(sys)(NAME)
    sys.modules[NAME] = module
    return module


def kept_module():
    """The module of a session's earlier bodies; one that a tool put another thing in the place of is gone."""
    global file, bodies
    module = sys.modules.get(NAME) if session else None
    if type(module) is not type(sys):
        return None
    bodies += 1
    file = f"{NAME}-{bodies}.py"
    return module


def source_text(body):
    try:
        source = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise ToolError("SyntaxError", "the body is not UTF-8", line, error.start - body.rfind(b"\n", 0, error.start)) from None
    if source[:1] == "\ufeff":
        source = source[1:]
    at = source.find("\0")
    if at >= 0:
        line = source.count("\n", 0, at) + 1
        raise ToolError("SyntaxError", "the body holds a NUL character", line, at - source.rfind("\n", 0, at))
    return source


def unfence(source):
    """Markdown fences round the whole body become empty lines, so that line numbers stay true."""
    start = source.lstrip()[:3]
    if start != "```" and start != "~~~":
        return source
    lines = source.split("\n")
    first = next(i for i, line in enumerate(lines) if line.strip())
    last = len(lines)
    for i in range(len(lines) - 1, first, -1):
        text = lines[i].strip()
        if text[:3] == start and not text.strip(start[0]):
            last = i
            break
    lines[:first + 1] = [""] * (first + 1)
    lines[last:] = [""] * (len(lines) - last)
    return "\n".join(lines)


def compiled(source):
    try:
        return compile(source, file, "exec", 0, True)
    except SyntaxError as error:
        raise ToolError(type(error).__name__, error.msg or "invalid syntax", error.lineno, error.offset or None, error.text) from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise ToolError("SyntaxError", f"the body cannot be compiled: {error or type(error).__name__}") from None


def exact_float(text):
    value = float(text)
    if value - value != 0.0:
        raise ToolError("ValueError", f"argument number {text[:40]} is beyond what a float can hold")
    return value


def no_constant(text):
    raise ToolError("ValueError", f"{text} is not JSON and cannot be an argument")


scan_arguments = json.JSONDecoder(parse_float=exact_float, parse_constant=no_constant).scan_once


def arguments(args):
    text = args.decode("utf-8").strip(" \t\r\n")
    digits = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        value, end = scan_arguments(text, 0)
    except (StopIteration, ValueError, RecursionError) as error:
        raise ToolError("ValueError", f"the arguments are not JSON: {error}") from None
    finally:
        sys.set_int_max_str_digits(digits)
    if end != len(text) or type(value) is not dict:
        raise ToolError("TypeError", "the arguments are not one JSON object")
    return value


def reseed(seed):
    """State that a fork would hand to every call alike. random sees to itself, by a hook of its own at each fork."""
    loaded = sys.modules
    if "numpy.random.mtrand" in loaded:
        loaded["numpy.random.mtrand"].seed([int.from_bytes(seed[i:i + 4], "little") for i in range(0, 32, 4)])
    if "tempfile" in loaded:
        loaded["tempfile"]._name_sequence = None
    if "uuid" in loaded:
        loaded["uuid"]._node = loaded["uuid"]._last_timestamp = None
    # OpenSSL tells a fork by the process id, which is 1 on both sides of ours.
    if "_ssl" in loaded:
        loaded["_ssl"].RAND_add(seed, 32.0)


# --- after the body ----------------------------------------------------------------------------


def entry(space):
    if "run" not in space:
        raise ToolError("NameError", "the body defines no function run(**kwargs)")
    run = space["run"]
    if not callable(run):
        raise ToolError("TypeError", f"run is not callable, it is {type_name(run)}")
    return run


def drive(awaitable):
    """The value of an awaitable that needs an event loop. What else the loop still holds ends with the jail, or goes on
    when a session's next call drives it."""
    global loop
    import asyncio

    async def whole():
        return await awaitable

    if loop is None or loop.is_closed():
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop.run_until_complete(whole())


def encode(value):
    sys.set_int_max_str_digits(INT_DIGITS_MAX)
    if type(value) is not str:
        return "".join(encode_value(fit(value), 0)).encode("utf-8")
    if not value.isascii():
        fit(value)
    return encode_string(value).encode("utf-8")


encode_string = json.encoder.encode_basestring


def no_default(value):
    raise TypeError(type_name(value))


# fit() has proved that there is no cycle, no NaN and no foreign type.
encode_value = json.encoder.c_make_encoder(None, no_default, encode_string, None, ":", ",", False, False, False)


def fit(value):
    """The same value in plain types only, or ToolError that says where it is not JSON."""
    try:
        return plain(value, set())
    except Unfit as unfit:
        where = "".join(f"[{key}]" for key in reversed(unfit.path))
        raise ToolError("ResultError", f"result{cut(where, 300)} {unfit}") from None


def plain(value, above):
    """Never calls a method that the tool could have overridden."""
    kind = type(value)
    if kind is int:
        return plain_int(value)
    if kind is bool or value is None:
        return value
    if issubclass(kind, str):
        return plain_str(value)
    if issubclass(kind, float):
        value = float.__pos__(value)
        if value - value != 0.0:
            raise Unfit(f"is {'NaN' if value != value else 'Infinity' if value > 0 else '-Infinity'}, which JSON cannot hold"
                        "; return None or a string in its place")
        return value
    if issubclass(kind, int):
        return plain_int(int.__pos__(value))
    if not issubclass(kind, (dict, list, tuple)):
        raise Unfit(f"is of type {type_name(value)}, which is not JSON; return str, int, float, bool, None, list or dict")
    mark = id(value)
    if mark in above:
        raise Unfit("contains itself")
    if len(above) >= DEPTH_MAX:
        raise Unfit(f"is nested deeper than {DEPTH_MAX} levels")
    above.add(mark)
    value = plain_dict(value, above) if issubclass(kind, dict) else plain_list(value, above)
    above.discard(mark)
    return value


def plain_int(number):
    if -INT_END < number < INT_END:
        return number
    raise Unfit(f"is an integer of more than {INT_DIGITS_MAX} digits, which many JSON readers refuse; return it as a string")


def plain_str(text):
    text = str.__str__(text)
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Unfit(f"holds a lone surrogate (\\u{ord(text[error.start]):04x} at character {error.start}), which is not Unicode text") from None
    return text


def plain_list(values, above):
    out = []
    for value in (list if issubclass(type(values), list) else tuple).__iter__(values):
        # Most of a large result is text: one call less for each.
        if type(value) is str and value.isascii():
            out.append(value)
            continue
        try:
            out.append(plain(value, above))
        except Unfit as unfit:
            unfit.path.append(str(len(out)))
            raise
    return out


def plain_dict(values, above):
    out = {}
    for key, value in dict.items(values):
        text = key if type(key) is str and key.isascii() else plain_key(key)
        if text in out:
            raise Unfit(f"has two keys that both become {cut(json.dumps(text), 100)} in JSON")
        if type(value) is str and value.isascii():
            out[text] = value
            continue
        try:
            out[text] = plain(value, above)
        except Unfit as unfit:
            unfit.path.append(cut(json.dumps(text), 60))
            raise
    return out


def plain_key(key):
    kind = type(key)
    if issubclass(kind, str):
        return plain_str(key)
    if key is None or kind is bool:
        return {None: "null", True: "true", False: "false"}[key]
    if not issubclass(kind, (int, float)):
        raise Unfit(f"has a key of type {type_name(key)}; JSON keys are strings")
    return repr(plain(key, None))


def finish():
    """What the tool wrote into a stream of its own making and did not flush."""
    global interval
    if session:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(IDLE_INTERVAL)
    for stream, first in ((sys.stdout, first_stdout), (sys.stderr, first_stderr)):
        if stream is not first and stream is not None:
            try:
                stream.flush()
            except BaseException:
                pass


# --- a body is looked at and not called ----------------------------------------------------------

# Larger ones would need more memory as a tree than a jail has; their author says what they need.
EXAMINED_CHARS_MAX = 256 << 10
EXAMINED_NAMES_MAX = 100
ONLY_AST = 0x400
VARKEYWORDS, COROUTINE = 0x08, 0x80
METHOD = type(json.JSONDecoder().decode)

NEEDS_OF_MODULES = {
    "network": frozenset("""socket ssl http urllib.request ftplib smtplib imaplib poplib telnetlib xmlrpc socketserver
        requests httpx aiohttp urllib3 websockets paramiko""".split()),
    "subprocess": frozenset("subprocess multiprocessing pty".split()),
    "filesystem": frozenset("pathlib glob shutil fileinput".split()),
}
NEEDS_OF_CALLS = {
    "network": frozenset("open_connection start_server create_connection".split()),
    "subprocess": frozenset("""popen fork forkpty posix_spawn posix_spawnp execv execve execvp execl execlp spawnv spawnl
        ProcessPoolExecutor create_subprocess_exec create_subprocess_shell""".split()),
    "filesystem": frozenset("listdir scandir read_text read_bytes iterdir rglob".split()),
    "write": frozenset("write_text write_bytes mkdir makedirs touch symlink_to hardlink_to copyfile copytree".split()),
    "destructive": frozenset("unlink rmtree rmdir removedirs".split()),
}
# Methods of strings, lists and what authors write are called the same.
CALLS_OF_OS = {
    "subprocess": frozenset(("system",)),
    "filesystem": frozenset(("walk", "stat")),
    "write": frozenset("rename renames replace link symlink truncate chmod copy copy2 move".split()),
    "destructive": frozenset(("remove",)),
}
# Ordinary words in a body that is only looked at; not beside a refusal.
MORE_OF_CALLS = {"network": frozenset("connect bind listen accept sendto AF_INET AF_INET6 AF_UNIX".split()), "subprocess": frozenset(("execvpe", "execle"))}
IMPLIED = {"destructive": ("destructive", "write", "filesystem"), "write": ("write", "filesystem")}


def examine(run):
    """What run takes, and what the body seems to need: for refusing and suggesting, nothing is decided by it."""
    source = sources.get(file, "")
    report = {"async": False, "parameters": None, "variable": True, "positional": [], "needs": None, "reasons": {}, "imports": []}
    examine_signature(run, report)
    if len(source) <= EXAMINED_CHARS_MAX:
        report["needs"] = dict.fromkeys(("filesystem", "network", "subprocess", "write", "destructive"), False)
        examine_tree(compile(source, file, "exec", ONLY_AST, True), report)
    return report


def examine_signature(run, report):
    """Of a plain function or method; what else can be called takes what it takes."""
    bound = type(run) is METHOD
    function = run.__func__ if bound else run
    if type(function) is not type(examine):
        return
    code = function.__code__
    names = code.co_varnames[:code.co_argcount]
    optional = set(names[len(names) - len(function.__defaults__ or ()):]) | set(function.__kwdefaults__ or ())
    only = code.co_varnames[code.co_argcount:code.co_argcount + code.co_kwonlyargcount]
    report["async"] = bool(code.co_flags & COROUTINE)
    report["variable"] = bool(code.co_flags & VARKEYWORDS)
    report["positional"] = [clean(name, 200) for name in names[bound:code.co_posonlyargcount]]
    report["parameters"] = [{"name": clean(name, 200), "default": name in optional}
                            for name in names[max(bound, code.co_posonlyargcount):] + only]


def examine_tree(tree, report):
    stack = [tree]
    while stack:
        node = stack.pop()
        if type(node) is list:
            stack += reversed(node)
            continue
        kind = type(node).__name__
        if kind == "Import":
            for each in node.names:
                need_module(each.name, node, report)
        elif kind == "ImportFrom" and node.module and not node.level:
            for each in node.names:
                need_module(f"{node.module}.{each.name}", node, report, node.module)
        elif kind == "Call":
            need_call(node, report)
        for name in getattr(node, "_fields", ()):
            child = getattr(node, name, None)
            if type(child) is list or hasattr(child, "_fields"):
                stack.append(child)


def need(which, what, node, report):
    for each in IMPLIED.get(which, (which,)):
        if not report["needs"][each]:
            report["needs"][each] = True
            report["reasons"][each] = clean(f"line {node.lineno}: {what}", 120)


def need_module(name, node, report, shown=None):
    shown = shown or name
    if shown not in report["imports"] and len(report["imports"]) < EXAMINED_NAMES_MAX:
        report["imports"].append(clean(shown, 200))
    for which, modules in NEEDS_OF_MODULES.items():
        # urllib.request is named as itself; "http" names what lies below it too.
        if any(name == module or name.startswith(module + ".") for module in modules):
            need(which, f"import {shown}", node, report)
    need_name(name.rpartition(".")[2] if shown != name else "", shown, f"from {shown} import", node, report)


def need_name(name, owner, what, node, report):
    for which, names in NEEDS_OF_CALLS.items():
        if name in names:
            need(which, f"{what} {name}".strip(), node, report)
    for which, names in CALLS_OF_OS.items():
        if owner in ("os", "shutil") and name in names:
            need(which, f"{what} {name}".strip(), node, report)


def need_call(node, report):
    function = node.func
    kind = type(function).__name__
    if kind == "Name" and function.id == "open" or kind == "Attribute" and function.attr == "open":
        need_open(node, function, kind, report)
    elif kind == "Attribute":
        need_name(function.attr, getattr(function.value, "id", None), "", node, report)


def need_open(node, function, kind, report):
    """A path below /tmp is the call's own; a mode that is no constant may write."""
    owner = getattr(function.value, "id", None) if kind == "Attribute" else "builtins"
    at = 1 if owner in ("builtins", "io", "codecs", "gzip", "bz2", "lzma") else 0
    path = getattr(node.args[0], "value", None) if at and node.args else None
    if type(path) is str and path.startswith("/tmp/"):
        return
    mode = [each.value for each in node.keywords if each.arg == "mode"] + node.args[at:at + 1]
    value = getattr(mode[0], "value", None) if mode else "r"
    if owner == "os" or type(value) is str and not set(value) & set("wax+"):
        need("filesystem", "open()", node, report)
    else:
        need("write", "open() for writing", node, report)


# --- errors ------------------------------------------------------------------------------------


def type_name(value):
    return str.__str__(type.__dict__["__name__"].__get__(type(value)))


def cut(text, most):
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} more characters)"


def clean(text, most):
    """Lone surrogates cannot travel; the reader still sees what was there."""
    return cut(text, most).encode("utf-8", "backslashreplace").decode("utf-8")


def describe(error):
    """An exception -> the payload of an error frame."""
    # What the tool did to these must not spoil the report.
    gc.disable()
    sys.set_int_max_str_digits(INT_DIGITS_MAX)
    sys.setrecursionlimit(1000)
    if type(error) is ToolError:
        kind, message, line, column, trace = error.report
    else:
        kind, message = type_name(error), message_of(error)
        trace, line, column = tool_frames(error)
        trace += chain(error)
    return packed(kind, message, line, column, trace, refused(error))


def packed(kind, message, line, column, trace, refusal_of):
    most = MESSAGE_CHARS_MAX
    while True:
        report = {"type": clean(kind, 200), "message": clean(message, most)}
        if refusal_of:
            report["refused"] = refusal_of
        if line is not None:
            report["line"] = line
        if column is not None:
            report["column"] = column
        report["traceback"] = [clean(text, TRACE_CHARS_MAX) for text in trace]
        payload = json.dumps(report, ensure_ascii=False).encode("utf-8")
        if len(payload) <= ERROR_BYTES_MAX:
            return payload
        most //= 2
        trace = trace[-(len(trace) // 2):] if len(trace) > 1 else []


def message_of(error):
    try:
        text = str.__str__(str(error))
    except BaseException as again:
        return f"(its message cannot be had: str() raised {type_name(again)})"
    kind = type(error)
    if issubclass(kind, NameError) and not issubclass(kind, UnboundLocalError) and restricted:
        return hidden_name(error) or text
    if issubclass(kind, SystemExit):
        return f"the tool ended itself without a result (exit status {text or 0}); return a value from run"
    if not text:
        return {MemoryError: "the tool asked for more memory than there is"}.get(kind, f"{type_name(error)} without a message")
    if kind is EOFError and text == "EOF when reading a line":
        return text + "; a tool has no stdin: take what it needs as arguments of run"
    return text


def hidden_name(error):
    name = NameError.__dict__["name"].__get__(error)
    if type(name) is not str or name in tool_builtins or not hasattr(builtins, name):
        return None
    more = ""
    if name == "input":
        more = "; a tool has no stdin: take what it needs as arguments of run"
    elif name == "open" and listed("pathlib"):
        more = "; pathlib.Path reads and writes files without it"
    return f"name '{name}' is not available in profile \"{profile}\"; python.builtins \"full\" lifts the list{more}"


# EPERM, ENOENT, EACCES, EROFS: what a kernel says that has been told to give no more.
REFUSALS = (1, 2, 13, 30)
WORD_BREAKS = str.maketrans({mark: " " for mark in "()[]{}.,:;=+-*/%@'\"<>|&!"})


def refused(error):
    """The first refusal of the kernel in what led to the error: for words about a missing permission, nothing is decided by it."""
    try:
        for step in leading_to(error):
            number = OSError.__dict__["errno"].__get__(step) if issubclass(type(step), OSError) else None
            if type(number) is int and number in REFUSALS:
                path = OSError.__dict__["filename"].__get__(step)
                return {"errno": number, "path": clean(path, 255) if type(path) is str else "", "need": need_of(step) if number in (1, 13) else ""}
    except BaseException:
        pass
    return None


def leading_to(error):
    found = [error]
    for step in found:
        more = [BaseException.__dict__[name].__get__(step) for name in ("__cause__", "__context__")]
        if issubclass(type(step), BaseExceptionGroup):
            more += BaseExceptionGroup.__dict__["exceptions"].__get__(step)
        found += [each for each in more if each is not None and len(found) < CHAIN_MAX and not any(each is one for one in found)]
    return found


def need_of(error):
    """Which permission the innermost frame that tells is about: a module of the library, or the words of the tool's own line."""
    steps = []
    step = traceback_of(error)
    while step is not None:
        steps.append(step)
        step = step.tb_next
    for step in reversed(steps):
        if is_body(step.tb_frame.f_code.co_filename):
            lines = source_of(step)
            line = lines[step.tb_lineno - 1] if 0 < step.tb_lineno <= len(lines) else ""
            words = line.translate(WORD_BREAKS).split()
            for which in ("subprocess", "network"):
                if any(word in NEEDS_OF_CALLS[which] | NEEDS_OF_MODULES[which] | MORE_OF_CALLS[which] for word in words):
                    return which
        else:
            name = dict.get(step.tb_frame.f_globals, "__name__", "")
            for which in ("subprocess", "network"):
                if any(name == module or name.startswith(module + ".") for module in NEEDS_OF_MODULES[which]):
                    return which
    return ""


def traceback_of(error):
    return BaseException.__dict__["__traceback__"].__get__(error)


def tool_frames(error):
    """The tool's own frames, outermost first, as text; line and column of the innermost of this body."""
    found = []
    step = traceback_of(error)
    while step is not None:
        if is_body(step.tb_frame.f_code.co_filename):
            found.append(step)
        step = step.tb_next
    if not found:
        return [], None, None
    inner = [step for step in found if step.tb_frame.f_code.co_filename == file][-1:]
    left_out = len(found) - TRACE_HEAD - TRACE_TAIL
    text = [frame_text(step) for step in (found if left_out <= 0 else found[:TRACE_HEAD])]
    if left_out > 0:
        text.append(f"... {left_out} more frames")
        text += [frame_text(step) for step in found[-TRACE_TAIL:]]
    return (text, inner[0].tb_lineno, column_of(inner[0])) if inner else (text, None, None)


def is_body(filename):
    return filename == FILE or filename.startswith(NAME + "-")


def source_of(step):
    return sources.get(step.tb_frame.f_code.co_filename, "").split("\n")


def frame_text(step):
    lines = source_of(step)
    line = step.tb_lineno
    source = lines[line - 1].strip() if line and 0 < line <= len(lines) else ""
    code = step.tb_frame.f_code
    return f'File "{code.co_filename}", line {line}, in {code.co_name}' + (f": {source}" if source else "")


def column_of(step):
    """co_positions counts bytes of UTF-8 from 0; people count characters from 1."""
    lines = source_of(step)
    for i, (line, _, column, _) in enumerate(step.tb_frame.f_code.co_positions()):
        if i == step.tb_lasti // 2:
            if column is None or not line or line > len(lines):
                return None
            return len(lines[line - 1].encode("utf-8", "replace")[:column].decode("utf-8", "replace")) + 1
    return None


def chain(error):
    """What led to it, and what is inside a group, one line each."""
    lines = []
    seen = {id(error)}
    step = error
    while len(lines) < CHAIN_MAX:
        cause = BaseException.__dict__["__cause__"].__get__(step)
        word = "caused by"
        if cause is None:
            if BaseException.__dict__["__suppress_context__"].__get__(step):
                break
            cause = BaseException.__dict__["__context__"].__get__(step)
            word = "while handling"
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        lines.append(f"{word} {type_name(cause)}: {message_of(cause)}")
        step = cause
    if issubclass(type(error), BaseExceptionGroup):
        inside = BaseExceptionGroup.__dict__["exceptions"].__get__(error)
        for i, each in enumerate(inside[:CHAIN_MAX]):
            lines.append(f"in the group, {i + 1} of {len(inside)}: {type_name(each)}: {message_of(each)}")
    return lines
