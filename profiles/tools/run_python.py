"""run_python: code that is an argument. The jail is the wall, as for any tool."""
import ast
import json

FILE = "code"


def line_of(error):
    """The last line of the code itself that the error passed."""
    line, step = None, error.__traceback__
    while step:
        if step.tb_frame.f_code.co_filename == FILE:
            line = step.tb_lineno
        step = step.tb_next
    return line


def failed(error, line):
    kind = type(error).__name__
    where = f" (line {line} of the code)" if line else ""
    return RuntimeError(f"{kind}: {error}{where}")


def shown(value):
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return repr(value)
    return value


def run(code, variables={}):
    try:
        tree = ast.parse(code, FILE)
    except SyntaxError as error:
        raise failed(error.msg and SyntaxError(error.msg), error.lineno) from None
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    space = dict(variables, __name__="__main__")
    try:
        exec(compile(tree, FILE, "exec"), space)
        value = eval(compile(ast.Expression(last.value), FILE, "eval"), space) if last else None
    except Exception as error:
        raise failed(error, line_of(error)) from None
    return shown(value)
