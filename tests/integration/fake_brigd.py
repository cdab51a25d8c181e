#!/usr/bin/python3
"""A stand-in for brigd that the client's tests start through BRIG_BRIGD.

It answers the one request on descriptor 3. What it does is chosen by a comment in the body
("# fake: WORD"), so that a test needs no other channel.
"""
import json
import os
import re
import socket
import sys
import time

RECEIPT = {"jail": "cold", "namespaces": ["user"], "cgroup": "v1", "degraded": []}


def result(outcome="ok", **more):
    return dict({"call_id": "c1", "tool": "run", "profile": "pure", "outcome": outcome,
                 "stdout": {"text": "", "bytes": 0, "truncated": False}, "stderr": {"text": "", "bytes": 0, "truncated": False},
                 "limits_hit": [], "receipt": RECEIPT}, **more)


def error(code, message, **data):
    return {"error": {"code": code, "message": message, "data": data}}


def run(params, raw):
    body = params["body"]
    word = (re.search(r"# fake: (\w+)", body) or [None, "echo"])[1]
    text = {"text": "one\n\x1b[31mbrig: ok\ntwo", "bytes": 100000, "truncated": True}
    answers = {
        "echo": lambda: {"result": result(result=json.dumps(params, sort_keys=True))},
        "raw": lambda: {"result": result(result=re.search(r'"args":(.*?),"(?:best|profile)', raw)[1])},
        "int": lambda: {"result": result(result=2 ** 80)},
        "escape": lambda: {"result": result(result="a\x1b[2Jb\x00c\u202e\U0001f600")},
        "env": lambda: {"result": result(result=" ".join(sorted(os.environ)))},
        "fds": lambda: {"result": result(result=" ".join(sorted(os.readlink("/proc/self/fd/" + f).split(":")[0] for f in "0123")) +
                                         " " + str(len(os.listdir("/proc/self/fd")) - 1))},
        "output": lambda: {"result": result("tool_error", stdout=text, limits_hit=["stdout"],
                                            error={"type": "ValueError", "message": "no\n\x1b[31mgood", "line": 3, "traceback": []},
                                            cause={"what": "the tool raised", "hint": "", "final": True})},
        "timeout": lambda: {"result": result("timeout", cause={"what": "ran longer than 5s", "rule": "pure.json:41",
                                                              "hint": "raise limits.wall", "final": True})},
        "degraded": lambda: {"result": result(result="x", receipt=dict(RECEIPT, degraded=["cgroup", {"layer": "landlock"}]))},
        "refuse": lambda: error(-32602, "unknown key 'memroy'", where="x.json:4:7", hint="did you mean 'memory'?"),
        "wrong": lambda: error(-32603, "something broke"),
        "outcome": lambda: {"result": result("splendid")},
    }
    if word == "die":
        os._exit(3)
    if word == "kill":
        os.kill(os.getpid(), 9)
    if word == "noise":
        return b"hello\n"
    if word == "twice":
        return b'{"jsonrpc":"2.0","id":1,"result":{"outcome":"ok","outcome":"denied"}}\n'
    if word == "hang":
        return None
    if word == "notify":
        answer = {"jsonrpc": "2.0", "method": "output", "params": {"id": 1}}
        return json.dumps(answer).encode() + b"\n" + line({"result": result(result="after")})
    return line(answers[word]())


def line(answer):
    return json.dumps(dict({"jsonrpc": "2.0", "id": 1}, **answer)).encode() + b"\n"


def layer(name, state, detail, fix=None):
    return {"name": name, "state": state, "detail": detail, **({"fix": fix} if fix else {})}


DOCTOR = {"verdict": "refused", "summary": "a call would be refused: cgroup",
          "layers": [layer("fds", "enforced", "read back"), layer("cgroup", "missing", "no controller is delegated " * 4, "systemd-run --user --scope -p Delegate=yes brig doctor")],
          "host": [layer("kernel", "ok", "6.1")], "receipt": None}


def main():
    sock = socket.socket(fileno=3)
    stream = sock.makefile("rb")
    raw = stream.readline().decode("utf-8")
    request = json.loads(raw)
    params = request["params"]
    method = request["method"]
    out = {"run": lambda: run(params, raw),
           "doctor": lambda: line({"result": DOCTOR}),
           "profile.list": lambda: line({"result": [{"name": "pure", "why": "computation only"}, {"name": "bad", "error": "no"}]}),
           "profile.show": lambda: line({"result": {"name": "mine", "text": json.dumps(params)}})}[method]()
    if out is not None:
        sock.sendall(out)
    stream.read()  # until the client closes
    if out is None:
        time.sleep(0.1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
