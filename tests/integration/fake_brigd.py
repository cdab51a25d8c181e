#!/usr/bin/python3
"""A stand-in for brigd that the client's tests start through BRIG_BRIGD, or as a daemon.

It answers the one request on descriptor 3. What it does is chosen by a comment in the body
("# fake: WORD"), so that a test needs no other channel. With `--listen SOCKET WORD` it is a
daemon that treats every client according to the word (serve(), below).
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


ESC = "\x1b[31m\u202ename\n"
CALLS = [{"call_id": "%032x" % n, "profile": ESC * 3, "state": ESC, "age_ms": age, "uid": 4000000000 + n, "pid": 1}
         for n, age in enumerate((0.25, 450, 12345, 200000, 1e300, -1))] + [{}, {"call_id": None, "age_ms": "soon", "uid": ESC, "state": {"a": 1}}]
POOL = [{"profile": "pure", "warm": 4, "max": 64, "target": 6, "parked": 5, "running": 1, "taken": 123456, "cold": 7, "died_parked": 0},
        {"profile": ESC, "warm": ESC}]
HOSTILE = {"list": {"calls": CALLS}, "pool": {"pools": POOL, "slots": ESC}, "status": {"version": ESC, "calls": {"running": ESC}, "processes": [{"role": ESC}]},
           "cancel": {"call_id": ESC, "was": ESC}, "reload": {"config": ESC}, "drain": {"draining": True, "calls": "x"},
           "metrics": {"text": "a\x1b[2Jb 1\n"}, "run": result(result="hostile")}


def door(code, message, **data):
    return json.dumps(dict({"jsonrpc": "2.0", "id": None}, **error(code, message, **data))).encode() + b"\n"


def serve(path, word):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    os.chmod(path, 0o777)
    listener.listen(0 if word == "full" else 8)
    held = []
    while True:
        if word == "full":
            time.sleep(60)
        sock, _ = listener.accept()
        if word == "door":
            sock.sendall(door(-32001, "uid 5 may not use \x1b[31magent.sock", hint="ask the operator"))
        elif word == "crowd":
            sock.sendall(door(-32000, "too many connections", hint="come again", retry_after_ms=50))
        else:
            raw = sock.makefile("rb").readline()
            with open(path + ".got", "ab") as f:
                f.write(raw)
            if not raw:  # it does not trust us
                sock.close()
                continue
            if word == "hang":
                held.append(sock)
                continue
            method = json.loads(raw)["method"]
            sock.sendall({"hostile": lambda: line({"result": HOSTILE[method]}), "noise": lambda: b"\x00\xff garbage\n",
                          "authority": lambda: line(error(-32001, "pool is not for this socket", hint="ask the operator")),
                          "list": lambda: line({"result": 5}), "half": lambda: b'{"jsonrpc":"2.0","id":1,"resu', "end": lambda: b"",
                          "other": lambda: b'{"jsonrpc":"2.0","id":2,"result":{}}\n', "flood": lambda: b'{"method":"output"}\n' * 200000}[word]())
        sock.close()


def main():
    if sys.argv[1:2] == ["--listen"]:
        serve(*sys.argv[2:])
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
