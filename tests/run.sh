#!/bin/bash
# run.sh [--tap] [SUITE...] - runs the suites that this machine can run, cheapest first, and says
# what it left out. The last line is "N passed, N failed, N skipped"; exit 1 when anything
# failed or a suite ran no test at all. With --tap the output is one TAP stream of all tests
# instead (for a runner above this one: tests/vm).
#
# A test program prints TAP ("ok", "not ok", "# SKIP reason") or is a Python unittest. A skip
# says what it lacks as "needs WORD ..."; where this machine has WORD (have(), below) such a
# skip is a failure: a test that could run and did not is not a pass. With BRIG_MUST_WORK=1
# (CI) every skip must be of that form.
#
# BRIG_ONLY="NAME ...": of each suite's programs only these (tests/vm).
#
# Programs of a suite: tests/SUITE/run.sh or run.py where there is one, else every executable
# tests/SUITE/*.sh and *.py (not lib*, fake*) and every compiled build/tests/SUITE/u-*.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2

all_suites=(unit filter link lint demo escape integration fault cases fuzz asan clang vm)
# Of the integration tests, those that a slow core without a filter of its own can pass.
asan_integration=(ends sessions load)
# Longest time that one program of a suite may take, seconds; vm is also bounded by vm.sh itself.
declare -A limit=([escape]=1200 [integration]=900 [fault]=900 [cases]=1500 [asan]=900 [clang]=600 [vm]=1080)

export B=${B:-build}
export SRC_DIR=$PWD BUILD_DIR=$PWD/$B BRIG=${BRIG:-$PWD/$B/brig} PYTHON=/usr/bin/python3
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
export LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 CMOCKA_MESSAGE_OUTPUT=TAP
unset CDPATH PYTHONPATH PYTHONHOME BRIG_SOCKET
logs=${BRIG_TEST_LOGS:-$BUILD_DIR/test-logs}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/brig-test.XXXXXX")
chmod 755 "$scratch"
export TMPDIR=$scratch
# A daemon of this machine is none of the tests' business: where no test put one, there is none.
export BRIG_STATE=$scratch/state
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT TERM

passed=0 failed=0 skipped=0
skips=() failures=()
tap=
if [ "${1:-}" = --tap ]; then tap=1; shift; fi

have() { # WORD of a "needs WORD" skip: 0 this machine has it, 1 it has not (or nobody knows)
	case $1 in
	root) [ "$(id -u)" = 0 ] ;;
	userns) unshare -Ur true 2>/dev/null ;;
	cgroup-v1) [ -d /sys/fs/cgroup/memory ] && [ "$(id -u)" = 0 ] ;;
	cgroup-v2) grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null && [ "$(id -u)" = 0 ] ;;
	shared-data) [ -d ../shared/data/json-schema-test-suite ] || [ -d ../../shared/data/json-schema-test-suite ] ;;
	qemu) command -v qemu-system-x86_64 >/dev/null ;;
	strace | clang | cppcheck | shellcheck | gcc | git) command -v "$1" >/dev/null ;;
	*) return 1 ;;
	esac
}

# Reads one program's log: lines "pass TEXT", "passes N" (more of them, without a title), "fail TEXT", "skip TEXT".
read_log() { # LOG EXIT-STATUS
	awk -v rc="$2" '
	function trim(s) { sub(/^[ \t-]+/, "", s); sub(/[ \t\r]+$/, "", s); return s }
	/^1\.\.[0-9]+/ {
		plan = substr($1, 4) + 0; planned = 1
		if (plan == 0) { if (match($0, /# *[Ss][Kk][Ii][Pp]/)) { skips++; print "skip whole program: " trim(substr($0, RSTART + RLENGTH)) } }
		next
	}
	/^# skip: / { why = substr($0, 9); next }
	/^(not )?ok([ \t]|$)/ {
		ran++
		line = $0; bad = /^not /
		sub(/^(not )?ok[ \t]*[0-9]*[ \t]*/, "", line)
		if (match(line, /# *[Ss][Kk][Ii][Pp][^ \t]*/)) {
			name = trim(substr(line, 1, RSTART - 1)); rest = trim(substr(line, RSTART + RLENGTH))
			# cmocka puts the name where the reason belongs; the reason is a "# skip: " line before it
			if (name == "") { name = rest; rest = why }
			skips++; print "skip " name ": " rest
		} else if (match(line, /# *[Tt][Oo][Dd][Oo]/)) { skips++; print "skip " trim(line) }
		else if (bad) { fails++; print "fail " trim(line) }
		else { pass++; print "pass " trim(line) }
		why = ""
		next
	}
	/^Bail out!/ { fails++; print "fail " $0 }
	/^Ran [0-9]+ tests? in / { unittest = $2; ran += $2 }
	/^(FAIL|ERROR): / && !planned { fails++; print "fail " $2 " " $3 }
	/^(OK|FAILED) \(.*skipped=/ { s = $0; sub(/.*skipped=/, "", s); skips += s + 0; for (i = 0; i < s + 0; i++) print "skip unittest: see the log" }
	END {
		if (unittest != "") { pass = unittest - fails - skips; print "passes " pass }
		if (rc == 124 || rc == 137) { fails++; print "fail timed out or killed after " pass + 0 " passed tests" }
		else if (rc != 0 && !fails) { fails++; print "fail exit status " rc }
		else if (rc == 0 && fails) print "fail exit status 0 in spite of a failed test"
		if (planned && plan != ran) print "fail planned " plan " tests, ran " ran + 0
		if (!ran && !skips && !fails) print "fail ran no test"
	}' "$1"
}

tap_line() { # STATUS TEXT
	[ -z "$tap" ] || { tap_n=$((${tap_n:-0} + 1)); echo "$1 $tap_n - $2"; }
}
fail() { # TEXT: of run_program's current program
	f=$((f + 1))
	failures+=("$suite/$name: $1")
	tap_line "not ok" "$suite/$name: $1"
}

run_program() { # SUITE NAME COMMAND...
	local suite=$1 name=$2 log=$logs/$1/$2.log rc=0 p=0 f=0 s=0 kind text reason start=$EPOCHREALTIME
	shift 2
	mkdir -p "${log%/*}"
	timeout -k 10 "${limit[$suite]:-300}" "$@" >"$log" 2>&1 </dev/null || rc=$?
	while read -r kind text; do
		case $kind in
		pass) p=$((p + 1)); tap_line "ok" "$suite/$name: $text" ;;
		passes) p=$((p + text)); tap_line "ok" "$suite/$name: $text tests" ;;
		fail) fail "$text" ;;
		skip)
			reason=${text#*: }
			[[ $text != *': needs '* ]] || reason="needs ${text##*: needs }"
			read -r word need _ <<<"${reason//[:,;]/ }"
			# What a guest lacks is no matter of what this machine has.
			if [ "$word" = needs ] && [ "$suite" != vm ] && have "$need"; then
				fail "skipped \"$text\", but this machine has $need"
			elif [ "$word" != needs ] && [ -n "${BRIG_MUST_WORK:-}" ]; then
				fail "skipped without a need: $text"
			else
				s=$((s + 1)); skips+=("$suite/$name: $text"); tap_line "ok" "$suite/$name: ${text%%: *} # SKIP $reason"
			fi ;;
		esac
	done < <(read_log "$log" "$rc")
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	[ -z "$tap" ] || { [ "$f" = 0 ] || tail -n 40 "$log" | sed 's/^/#   | /'; return; }
	printf '%-40s %4d passed %3d failed %3d skipped %8.1f s\n' "$suite/$name" "$p" "$f" "$s" \
		"$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')"
	[ "$f" = 0 ] || { tail -n 30 "$log" | sed 's/^/    | /'; }
}

programs() { # SUITE: one command a line
	local f
	for f in "tests/$1/run.sh" "tests/$1/run.py"; do
		[ ! -x "$f" ] || { echo "$f"; return; }
	done
	for f in "$B/tests/$1"/u-* "tests/$1"/*.sh "tests/$1"/*.py; do
		case ${f##*/} in lib* | fake* | *.o | *.d) continue ;; esac
		[ ! -f "$f" ] || [ ! -x "$f" ] || echo "$f"
	done
}

# A build or a checker as one TAP test.
run_tap() { # SUITE NAME NEED TITLE COMMAND...
	local script='title=$1; shift; echo 1..1; if "$@"; then echo "ok 1 - $title"; else echo "not ok 1 - $title"; exit 1; fi'
	have "$3" || script='echo "1..0 # SKIP needs $0"'
	run_program "$1" "$2" bash -c "$script" "$3" "${@:4}"
}

run_suite() {
	local suite=$1 before=$((passed + failed + skipped)) f name
	case $suite in
	link) run_program link check-link tools/lint/check-link "$B" ;;
	lint) run_program lint lint tools/lint/run "$B" ;;
	demo) run_tap demo demo userns "the demo stops every hostile body" "$PYTHON" tools/demo --brig "$BRIG" ;;
	asan)
		run_tap asan build gcc "sanitizer build" make --no-print-directory B="$B" asan
		for f in "$B"/asan/tests/*/u-*; do
			[ ! -x "$f" ] || run_program asan "${f##*/}" "$f"
		done
		# Core seals itself from what a leak report needs; soak is what tells there. A sanitized core has no filter, and is slow.
		for name in "${asan_integration[@]}"; do
			run_program asan "$name" env ASAN_OPTIONS=detect_leaks=0 BRIG_TIME_FACTOR=3 BUILD_DIR="$BUILD_DIR/asan" \
				BRIG="$BUILD_DIR/asan/brig" "tests/integration/$name.py"
		done ;;
	clang) run_tap clang build clang "clang compiles everything without a warning" make --no-print-directory B="$B/clang" CC=clang tests ;;
	vm) run_program vm vm tests/vm/vm.sh ;;
	fuzz) run_program fuzz fuzz tests/fuzz/run.sh "$B/fuzz" "${FUZZ_SECONDS:-10}" ;;
	*)
		while read -r f; do
			name=${f##*/}
			[ -z "${BRIG_ONLY:-}" ] || [[ " $BRIG_ONLY " = *" ${name%.*} "* ]] || continue
			run_program "$suite" "${name%.*}" "$f"
		done < <(programs "$suite") ;;
	esac
	[ $((passed + failed + skipped)) -gt "$before" ] || {
		failed=$((failed + 1))
		failures+=("$suite: the suite ran no test")
		tap_line "not ok" "$suite: the suite ran no test"
	}
}

if [ $# = 0 ]; then
	set -- "${all_suites[@]}"
	# In a guest of the vm suite (tests/vm/guest.sh) there is nothing to compile with and no second guest.
	[ -z "${BRIG_IN_VM:-}" ] || set -- unit escape integration
fi
for suite; do run_suite "$suite"; done

if [ -n "$tap" ]; then
	echo "1..${tap_n:-0}"
	[ "$failed" = 0 ]
	exit
fi
echo
[ ${#skips[@]} = 0 ] || { echo "Skipped:"; printf '  %s\n' "${skips[@]}"; }
[ ${#failures[@]} = 0 ] || { echo "Failed (logs in $B/test-logs):"; printf '  %s\n' "${failures[@]}"; }
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
