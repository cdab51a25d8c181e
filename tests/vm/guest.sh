#!/bin/bash
# guest.sh - PID 1 of the guest once its root stands: runs the suites as root, and the smoke
# test as root and as an ordinary user who was given a cgroup subtree, then powers off.
# TAP goes to the second serial port, whose last line is "# guest exit STATUS".
# shellcheck disable=SC1091,SC2154 # made by vm.sh
. /run/vm.conf
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
export BRIG_IN_VM=1 BUILD_DIR=$build B=${build#"$repo"/} BRIG=$build/brig BRIG_TEST_LOGS=/run/logs TMPDIR=/tmp
cd "$repo" || exit 1
stty -F /dev/ttyS1 raw -echo
exec </dev/null >/dev/ttyS1 2>&1
hostname guest
ulimit -Hn 65536

guest_seconds=$(/usr/bin/python3 -I -S -c 'import time; t = time.perf_counter(); sum(i * i for i in range(2000000)); print(time.perf_counter() - t)')
BRIG_TIME_FACTOR=$(awk -v g="$guest_seconds" -v h="$host_seconds" 'BEGIN { f = g / h; if (f < 1) f = 1; printf "%.1f\n", f }')
export BRIG_TIME_FACTOR
echo "# $(uname -r), $BRIG_TIME_FACTOR times slower than the host, Landlock and friends: $(cat /sys/kernel/security/lsm)"

# Like a service manager: controllers on, everything else in a leaf.
cg=/sys/fs/cgroup
mkdir $cg/init.scope
while read -r p; do echo "$p" >$cg/init.scope/cgroup.procs 2>/dev/null; done <$cg/cgroup.procs
for c in cpu memory pids; do echo +$c >$cg/cgroup.subtree_control; done

# A subtree for uid 64242, as Delegate=yes would make it; the test itself starts in a leaf of it.
user=64242
mkdir -p $cg/user.slice $cg/user.slice/delegated
for c in cpu memory pids; do echo +$c >$cg/user.slice/cgroup.subtree_control; done
mkdir $cg/user.slice/delegated/session
chown $user:$user $cg/user.slice/delegated $cg/user.slice/delegated/cgroup.{procs,threads,subtree_control} \
	$cg/user.slice/delegated/session $cg/user.slice/delegated/session/cgroup.{procs,threads,subtree_control}

bad=0
smoke() { # NAME COMMAND...: its TAP, titles prefixed
	local name=$1
	shift
	timeout -k 10 300 "$@" >/run/smoke.log 2>&1 || bad=1
	sed -E "s/^(not ok|ok) ([0-9]+ )?- /\1 - smoke as $name: /; /^1\.\./d" /run/smoke.log
	grep -qE '^(not )?ok' /run/smoke.log || { echo "not ok - smoke as $name ran"; bad=1; }
}
if [ -x tests/vm/smoke.sh ]; then
	smoke "root" tests/vm/smoke.sh root
	smoke "an ordinary user" bash -c 'echo $$ >/sys/fs/cgroup/user.slice/delegated/session/cgroup.procs && exec tests/vm/smoke.sh user'
fi
# shellcheck disable=SC2086 # a list
tests/run.sh --tap ${suites:-unit escape} || bad=1
echo "# guest exit $bad"
sleep 0.5
sync
exec /run/busybox poweroff -f
