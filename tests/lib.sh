# shellcheck shell=bash
# lib.sh - for shell tests: TAP lines, skips with a need, a leak check, an ordinary user.
#
#   . "$(dirname "$0")/../lib.sh"
#   begin                                  # takes the "before" of the leak check
#   run_brig run body.py --json            # -> $rc, $out, $err
#   check "title" [ "$rc" = 0 ]            # ok or not ok, by the command's status
#   finish                                 # leak check, plan, exit status
#
# A test file works in $work, a directory of its own that goes away at the end.
set -uo pipefail
SRC_DIR=${SRC_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
BUILD_DIR=${BUILD_DIR:-$SRC_DIR/build}
BRIG=${BRIG:-$BUILD_DIR/brig}
PYTHON=/usr/bin/python3
# Outcomes are asserted, never times; where a time-out is needed anyway it grows with this
# (an emulated machine measures its own, see tests/vm/guest.sh).
TIME_FACTOR=${BRIG_TIME_FACTOR:-1}

tap_n=0 tap_bad=0
work=$(mktemp -d "${TMPDIR:-/tmp}/brig-t.XXXXXX")
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT

ok() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $*"; }
not_ok() { tap_n=$((tap_n + 1)); tap_bad=$((tap_bad + 1)); echo "not ok $tap_n - $*"; }
diag() { sed 's/^/# /' <<<"$*"; }
skip() { # TITLE REASON: the reason starts with "needs WORD" (tests/run.sh, have())
	tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"
}
skip_all() { echo "1..0 # SKIP $*"; exit 0; }

check() { # TITLE COMMAND...
	local title=$1
	shift
	if "$@"; then ok "$title"; else
		not_ok "$title"
		diag "failed: $*"
		[ -z "${rc+x}" ] || diag "last brig: exit $rc"$'\n'"stdout: ${out:0:600}"$'\n'"stderr: ${err:0:600}"
		return 1
	fi
}
is() { # TITLE GOT WANTED
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1"; diag "got:    ${2:0:400}"; diag "wanted: ${3:0:400}"; return 1; fi
}
has() { # TITLE TEXT PART
	if [[ $2 == *"$3"* ]]; then ok "$1"; else not_ok "$1"; diag "lacks:  $3"; diag "in:     ${2:0:600}"; return 1; fi
}
scaled() { awk -v s="$1" -v f="$TIME_FACTOR" 'BEGIN { printf "%d\n", s * f + 0.999 }'; }

run_brig() { # ARG...: stdin is ours
	rc=0
	timeout -k 5 "$(scaled "${BRIG_TIMEOUT:-60}")" "$BRIG" "$@" >"$work/.out" 2>"$work/.err" || rc=$?
	out=$(tr -d '\0' <"$work/.out") err=$(tr -d '\0' <"$work/.err")
}
# One value of the last JSON reply, by a dotted path: `json outcome`, `json stdout.text`.
json() {
	"$PYTHON" -I -c 'import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."):
    v = v[int(k)] if isinstance(v, list) else v.get(k) if isinstance(v, dict) else None
print(v if isinstance(v, str) else json.dumps(v))' "$work/.out" "$1" 2>/dev/null
}

# ---- an ordinary user ------------------------------------------------------------
# An id that has no name here and owns nothing; the programs are copied to where it may read
# them, since a checkout is often below a closed home directory.
TEST_UID=${TEST_UID:-64242}
user_setup() {
	[ -z "${user_dir:-}" ] || return 0
	user_dir=$work/user
	mkdir -p "$user_dir/build" "$user_dir/home" "$user_dir/run"
	cp "$BUILD_DIR"/brig "$BUILD_DIR"/brigd "$BUILD_DIR"/brig-zygote "$user_dir/build/"
	cp -r "$SRC_DIR/profiles" "$user_dir/"
	chmod -R a+rX "$user_dir"
	chmod 700 "$user_dir/home" "$user_dir/run"
	chown -R "$TEST_UID:$TEST_UID" "$user_dir/home" "$user_dir/run"
}
as_user() { # COMMAND...: as that user when we are root, else as ourselves; BRIG is its copy
	if [ "$(id -u)" != 0 ]; then "$@"; return; fi
	user_setup
	setpriv --reuid="$TEST_UID" --regid="$TEST_UID" --clear-groups --inh-caps=-all \
		env -i PATH="$PATH" HOME="$user_dir/home" XDG_RUNTIME_DIR="$user_dir/run" TMPDIR=/tmp LC_ALL=C.UTF-8 "$@"
}

# ---- leaks -----------------------------------------------------------------------
# What must be the same before and after: processes of Brig, mounts of this name space, cgroups
# of Brig, files in /dev/shm and System V objects of the ids that jails run under. Another run may
# go on beside this one (its processes hang below a living client that is not ours, its lane is
# locked): that is not our leak.
leak_processes() {
	ps -eo pid=,ppid=,stat=,comm=,args= | awk -v me=$$ '
	{ parent[$1] = $2; text[$1] = $0; ours[$1] = $3 !~ /^Z/ && ($4 ~ /^(brig|brigd|zygote|zy:|jail)/ || $5 ~ /^(brigd|zygote|jail):/) }
	END {
		for (pid in ours) {
			if (!ours[pid]) continue
			for (top = pid; ours[parent[top]]; ) top = parent[top]
			for (up = parent[top]; up > 1 && up != me; ) up = parent[up]
			if (parent[top] == 1 || up == me) print "  " text[pid]
		}
	}' | sort
}
leak_cgroups() { # a lane that is locked belongs to a living supervisor; names without a lane to other programs
	find /sys/fs/cgroup -mindepth 2 -type d -path '*brig*/*-*.*.*' 2>/dev/null | sort | while read -r d; do
		local lane=${d##*/}
		lane=${lane%%.*} lane=${lane##*-}
		[ -e "/run/brig/lanes/$lane" ] && ! flock -n "/run/brig/lanes/$lane" true 2>/dev/null || echo "  $d"
	done
}
leak_state() {
	echo "processes:"
	leak_processes
	echo "mounts:"
	awk '{ print "  " $5 }' /proc/self/mountinfo | sort
	echo "cgroups:"
	leak_cgroups
	echo "ipc:"
	awk 'FNR > 1 && $(FILENAME ~ /sem/ ? 5 : 8) >= 1000 { print "  " FILENAME, $1, $2 }' /proc/sysvipc/* 2>/dev/null
	find /dev/shm -mindepth 1 ! -uid 0 2>/dev/null | sort
	echo "descriptors: $(find "/proc/$$/fd" -mindepth 1 2>/dev/null | wc -l)"
}
begin() { leak_state >"$work/.before"; }
# Only what is there after and was not before is a leak. The kernel ends a namespace after its last
# process: a few looks before a verdict.
leak_check() {
	local title="nothing is left behind: processes, mounts, cgroups, ipc, descriptors" new
	[ -e "$work/.before" ] || { not_ok "$title"; diag "begin was never called"; return 1; }
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
		leak_state >"$work/.after"
		new=$(sort "$work/.before" | comm -13 - <(sort "$work/.after"))
		[ -n "$new" ] || { ok "$title"; return 0; }
		sleep 0.2
	done
	not_ok "$title"
	diag "$new"
	return 1
}
finish() {
	leak_check
	echo "1..$tap_n"
	[ "$tap_bad" = 0 ] || exit 1
	exit 0
}
