#!/bin/bash
# smoke.sh root|user [leaf] - the heart of Brig on a machine with unified cgroup v2: ends and limits that
# need real enforcement, as root or as an ordinary user (uid 64242, in a leaf of a delegated
# subtree). Run by guest.sh. Outcomes are asserted, never times.
. "$(dirname "$0")/../lib.sh"
who=${1:-root}
BRIG_TIMEOUT=20
# A group that holds processes cannot have controllers for its children: in a service that was given
# a subtree the test moves itself into a leaf of it.
if [ "${2:-}" = leaf ]; then
	group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup)
	mkdir "$group/test" && echo $$ >"$group/test/cgroup.procs" || exit 1
fi
begin
if [ "$who" = user ] && [ "$(id -u)" = 0 ]; then
	user_setup
	real_brig=$user_dir/build/brig
	cat >"$work/brig-as-user" <<-END
	#!/bin/bash
	exec setpriv --reuid=$TEST_UID --regid=$TEST_UID --clear-groups --inh-caps=-all \
		env -i PATH="$PATH" HOME="$user_dir/home" XDG_RUNTIME_DIR="$user_dir/run" LC_ALL=C.UTF-8 "$real_brig" "\$@"
	END
	chmod 755 "$work/brig-as-user"
	BRIG=$work/brig-as-user
fi

# An emulated machine is an order of magnitude slower: generous clocks, the limits stay.
limits() { # EXTENDS WALL EXTRA -> a profile file
	printf '{"name": "smoke", "why": "smoke test", "extends": "%s", "python": {"builtins": "full"}, "limits": {"wall": "%ss", "cpu": "%ss", %s}}\n' \
		"$1" "$(scaled "$2")" "$(scaled "$2")" "$3" >"$work/profile.json"
	chmod 644 "$work/profile.json"
}
call() { # BODY ARG...
	printf '%s\n' "$1" >"$work/body.py"
	chmod 644 "$work/body.py"
	shift
	run_brig run "$work/body.py" --profile "$work/profile.json" --json "$@"
}

limits python 20 '"memory": "128M", "pids": 16'
call 'def run(n): return sum(map(int, str(n)))' --args '{"n": 8675309}'
is "a call returns its value" "$rc $(json outcome) $(json result)" "0 ok 38"
is "the receipt says cgroup v2" "$(json receipt.cgroup)" v2
if [ "$who" = root ]; then
	is "nothing is degraded" "$(json receipt.degraded)" "[]"
else # supplementary groups of a session cannot be dropped without privilege, and the receipt must say so
	wanted='[]'
	[ "$(id -u)" = 0 ] || [ -z "$(awk '$1 == "Groups:" { print $2 }' /proc/self/status)" ] || wanted='["groups"]'
	is "nothing is degraded but what an ordinary user cannot have" "$(json receipt.degraded)" "$wanted"
fi
is "no capability" "$(json receipt.capabilities)" none
if [ "$who" = root ]; then
	check "the host uid is not 0" [ "$(json receipt.host_uid)" -gt 999 ]
else
	is "the host uid is the user's own" "$(json receipt.host_uid)" "$TEST_UID"
fi

call 'def run():
    x = []
    while True: x.append(bytearray(1 << 20))'
is "a memory bomb is out_of_memory" "$rc $(json outcome)" "5 out_of_memory"

call 'import os
def run():
    n = 0
    try:
        while True:
            if os.fork() == 0:
                while True: pass
            n += 1
    except OSError as e:
        return [n < 16, e.errno]'
check "a fork bomb is held by pids.max or refused" [ "$(json outcome)" = ok ] || diag "$out"

limits python 4 '"memory": "128M"'
call 'import time
def run(): time.sleep(100000)'
is "a sleeper times out" "$rc $(json outcome)" "5 timeout"

call 'def run(): raise ValueError("no")'
is "a raised error is tool_error" "$rc $(json outcome) $(json error.type)" "1 tool_error ValueError"

# The daemon: its core is killed with a call in flight, and serves again.
if [ "$who" = root ]; then
	export BRIG_STATE=$work/state
	daemon_core() { "$BRIG" status --json 2>/dev/null | "$PYTHON" -c 'import json, sys
print(next(p["pid"] for p in json.load(sys.stdin)["processes"] if p["role"] == "core"))' 2>/dev/null; }
	until_core() { # NOT-THIS-PID
		for _ in $(seq "$(scaled 100)"); do
			core=$(daemon_core)
			[ -z "$core" ] || [ "$core" = "$1" ] || return 0
			sleep 0.1
		done
		return 1
	}
	"${BRIG%/brig}/brigd" 2>"$work/brigd.log" &
	daemon=$!
	until_core none
	is "brigd serves" "$?" 0
	printf 'def run(n): return n + 1\n' >"$work/body.py"
	run_brig run "$work/body.py" --json --args '{"n": 41}'
	is "a call over its socket" "$rc $(json outcome) $(json result) $(json receipt.cgroup)" "0 ok 42 v2"
	printf 'import time\ndef run(): time.sleep(1000)\n' >"$work/sleep.py"
	"$BRIG" run "$work/sleep.py" --profile python >"$work/killed.out" 2>&1 &
	caller=$!
	for _ in $(seq "$(scaled 100)"); do
		"$BRIG" list --json | grep -q running && break
		sleep 0.1
	done
	killed=$core
	kill -9 "$killed"
	wait "$caller"
	is "core is killed: the call in flight is internal_error" "$?" 70
	until_core "$killed"
	is "and another core serves" "$?" 0
	run_brig run "$work/body.py" --json --args '{"n": 41}'
	is "calls go on" "$rc $(json outcome) $(json result)" "0 ok 42"
	kill "$daemon"
	wait "$daemon"
	is "it drains and ends" "$?" 0
	run_brig audit verify
	is "the audit log is whole" "$rc" 0
	is "no control group of a jail is left" "$(find /sys/fs/cgroup -path '*brig*' -type d -name '*-*.*.*' | wc -l)" 0
	unset BRIG_STATE
fi
finish
