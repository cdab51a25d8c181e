# The object model: ways round a list of builtins. They are expected to work to some extent (no list is a wall);
# what they then do must be stopped by the kernel all the same. Each stands alone: no lib.py in front of it.


def py_subclasses_to_os(kw):
    for c in ().__class__.__base__.__subclasses__():
        g = getattr(getattr(c, '__init__', None), '__globals__', None)
        if g and 'sys' in g:
            os = g['sys'].modules.get('os') or g['sys'].modules.get('posix')
            try:
                fd = os.open(kw['canary'], 0)
            except OSError as e:
                return 'CONTAINED: E%d canary' % e.errno
            return 'ESCAPED: ' + os.read(fd, 20).decode()
    return 'CONTAINED: no way to os'


def py_loader_of_a_class(kw):
    for c in object.__subclasses__():
        if c.__name__ == 'BuiltinImporter':
            posix = c.load_module('posix')
            try:
                fd = posix.open(kw['canary'], 0)
            except OSError as e:
                return 'CONTAINED: E%d canary' % e.errno
            return 'ESCAPED: ' + posix.read(fd, 20).decode()
    return 'CONTAINED: no importer'


def py_frame_climb(kw):
    def gen():
        yield g.gi_frame.f_back
    g = gen()
    f = next(g)
    while f is not None:
        b = f.f_builtins
        if 'open' in b:
            try:
                return 'ESCAPED: ' + b['open'](kw['canary']).read(20)
            except OSError as e:
                return 'CONTAINED: E%d canary' % e.errno
        f = f.f_back
    return 'CONTAINED: no frame with open'


def py_traceback_climb(kw):
    try:
        1 / 0
    except ZeroDivisionError as e:
        f = e.__traceback__.tb_frame
    while f is not None:
        imp = f.f_builtins.get('__import__')
        for name in ('os', 'posix', 'io'):
            try:
                m = imp(name)
            except Exception:
                continue
            try:
                fd = (m.open)(kw['canary'], 0) if name != 'io' else m.open(kw['canary']).fileno()
                return 'ESCAPED: descriptor %d' % fd
            except OSError as e:
                return 'CONTAINED: E%d canary' % e.errno
        f = f.f_back
    return 'CONTAINED: no import'


def py_method_self(kw):
    b = print.__self__
    try:
        return 'ESCAPED: ' + b.open(kw['canary']).read(20)
    except OSError as e:
        return 'CONTAINED: E%d canary' % e.errno
    except AttributeError:
        return 'CONTAINED: AttributeError open'


def py_code_swap(kw):
    """Code objects made by hand: names that the compiler was never shown."""
    def f():
        return placeholder
    def g(x):
        return x
    code = f.__code__.replace(co_names=('open',))
    try:
        opener = type(f)(code, f.__globals__)()
        return 'ESCAPED: ' + opener(kw['canary']).read(20)
    except NameError:
        return 'CONTAINED: NameError open'
    except OSError as e:
        return 'CONTAINED: E%d canary' % e.errno


def py_format_walk(kw):
    """str.format walks attributes and items without getattr."""
    class A:
        def __init__(self):
            pass
    text = '{0.__init__.__globals__}'.format(A())
    if kw['repo'] in text or 'BRIG_ESC_SECRET' in text:
        return 'ESCAPED: host text in globals'
    return 'CONTAINED: nothing of the host in %d characters' % len(text)


def py_import_nested(kw):
    """A granted module that imported a forbidden one."""
    import json
    for name in ('codecs', 'decoder', 'scanner'):
        m = getattr(json, name, None)
        for inner in ('sys', 'builtins', 'os'):
            x = getattr(m, inner, None)
            o = getattr(x, 'open', None) or getattr(getattr(x, 'modules', {}).get('io') if inner == 'sys' else None, 'open', None)
            if o:
                try:
                    return 'ESCAPED: ' + o(kw['canary']).read(20)
                except OSError as e:
                    return 'CONTAINED: E%d canary' % e.errno
    o = getattr(json.codecs, 'open', None) if hasattr(json, 'codecs') else None
    if o:
        try:
            return 'ESCAPED: ' + o(kw['canary']).read(20)
        except OSError as e:
            return 'CONTAINED: E%d canary' % e.errno
        except NameError:
            return 'CONTAINED: NameError codecs'
    return 'CONTAINED: AttributeError nothing nested'


def py_exception_group_frames(kw):
    """From a coroutine: cr_frame, then the builtins of whoever awaits."""
    async def co():
        pass
    c = co()
    f = c.cr_frame
    c.close()
    b = f.f_builtins if f else print.__self__.__dict__
    op = b.get('open')
    if op is None:
        return 'CONTAINED: KeyError open'
    try:
        return 'ESCAPED: ' + op(kw['canary']).read(20)
    except OSError as e:
        return 'CONTAINED: E%d canary' % e.errno


def py_del_hook(kw):
    """Work in a destructor at the end of the interpreter, after the result."""
    class Late:
        def __del__(self, sub=object.__subclasses__):
            for c in sub():
                if c.__name__ == 'BuiltinImporter':
                    posix = c.load_module('posix')
                    try:
                        posix.close(posix.open(kw['mark_path'], 65, 0o644))
                    except OSError:
                        pass
    kw['self'] = kw
    kw['late'] = Late()
    return 'CONTAINED: a destructor waits'


def py_bytes_of_address(kw):
    """id() is an address: with a forged bytearray it would be memory. Only the address is asked for here."""
    f = print.__self__
    c = getattr(f, 'compile', None)
    if c is None:
        return 'CONTAINED: AttributeError compile'
    try:
        exec_ = getattr(f, 'exec')
        space = {}
        exec_(c('r = open(p).read(20)', 'x', 'exec'), {'p': kw['canary'], '__builtins__': f}, space)
        return 'ESCAPED: ' + space['r']
    except OSError as e:
        return 'CONTAINED: E%d canary' % e.errno
