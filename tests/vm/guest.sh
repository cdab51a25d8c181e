#!/bin/bash
# guest.sh - first program of the guest once its root stands. Plain guest: runs the smoke test as
# root and as an ordinary user who was given a cgroup subtree, then the suites. systemd guest: makes
# units of the smoke test and becomes systemd. Powers off at the end. TAP goes to the second serial
# port, whose last line is "# guest exit STATUS".
# shellcheck disable=SC1091,SC2154 # made by vm.sh
. /run/vm.conf
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
export BRIG_IN_VM=1 BUILD_DIR=$build B=${build#"$repo"/} BRIG=$build/brig BRIG_TEST_LOGS=/run/logs TMPDIR=/tmp
user=64242 cg=/sys/fs/cgroup
cd "$repo" || exit 1
[ -t 1 ] || [ -n "${1:-}" ] || stty -F /dev/ttyS1 raw -echo
exec </dev/null >>/dev/ttyS1 2>&1

bad=0
part() { # NAME SECONDS COMMAND...: its TAP as it comes, titles prefixed
	local name=$1 seconds=$2 rc
	shift 2
	timeout -k 10 "$seconds" "$@" 2>&1 | tee /run/part.log | sed -uE "s/^(not ok|ok) ([0-9]+ )?- /\1 - $name: /; /^1\.\./d"
	rc=${PIPESTATUS[0]}
	if [ "$rc" = 124 ] && [ -n "${may_skip:-}" ]; then
		echo "ok - $name, the rest # SKIP needs time: $(grep -cE '^(not )?ok' /run/part.log) attacks were tried in $seconds s"
		return
	fi
	[ "$rc" = 0 ] || bad=1
	if [ "$rc" = 124 ] || ! grep -qE '^(not )?ok' /run/part.log; then
		echo "not ok - $name ran to its end (exit $rc)"
		bad=1
	fi
}
smoke() { # WHO COMMAND...
	local who=$1
	shift
	part "smoke as $who" 300 "$@"
}
finish() {
	echo "# guest exit $bad"
	sync
	sleep 0.5
	exec /run/busybox poweroff -f
}
seconds_left() { # of the boot's bound: host time counts, from before the boot; the margin is for the attack at hand and for powering off
	local left=$((limit - ($(date +%s) - host_now) - 90))
	echo $((left > 20 ? left : 20))
}
measure() { # how much slower than the host
	/usr/bin/python3 -I -S -c 'import time; t = time.perf_counter(); sum(i * i for i in range(2000000)); print(time.perf_counter() - t)' |
		awk -v h="$host_seconds" '{ f = $1 / h; if (f < 1) f = 1; printf "%.1f\n", f }'
}

# ---- systemd guest, second stage: a service with Delegate=yes ----------------------
if [ "${1:-}" = service ]; then
	BRIG_TIME_FACTOR=$(measure)
	export BRIG_TIME_FACTOR
	echo "# $(uname -r), systemd, $BRIG_TIME_FACTOR times slower than the host"
	smoke "a delegated service of root" tests/vm/smoke.sh root
	run=(systemd-run --quiet --wait --pipe --collect --setenv=BRIG_TIME_FACTOR="$BRIG_TIME_FACTOR" --setenv=PATH="$PATH"
		--setenv=BUILD_DIR=/run/brig-copy/build --setenv=BRIG=/run/brig-copy/build/brig --working-directory=/)
	smoke "a delegated service of a user" "${run[@]}" --uid=$user --gid=$user --property=Delegate=yes /bin/bash "$repo/tests/vm/smoke.sh" user leaf
	systemctl start systemd-logind.service
	if ! dpkg-query -s libpam-systemd >/dev/null 2>&1; then
		echo "ok - smoke as a session of a user # SKIP needs libpam-systemd"
	elif systemctl start "user@$user.service" 2>&1; then
		smoke "a session of a user" setpriv --reuid=$user --regid=$user --clear-groups env XDG_RUNTIME_DIR=/run/user/$user HOME=/run/brig-home \
			DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$user/bus "${run[@]}" --user /bin/bash "$repo/tests/vm/smoke.sh" user
	else
		journalctl --no-pager -q -n 30 -u "user@$user.service" -u "user-runtime-dir@$user.service" -u systemd-logind.service | sed 's/^/# /'
		echo "not ok - the user's service manager starts"
		bad=1
	fi
	finish
fi

hostname guest
ulimit -Hn 65536
# An account and programs that it can read: a checkout may lie below a closed directory.
echo "tester:x:$user:$user::/run/brig-home:/bin/bash" >>/etc/passwd
echo "tester:x:$user:" >>/etc/group
echo "tester:*:19000:0:99999:7:::" >>/etc/shadow
mkdir -p /run/brig-copy/build /run/brig-home
cp "$build"/brig "$build"/brigd "$build"/brig-zygote /run/brig-copy/build/ 2>/dev/null
cp -r profiles /run/brig-copy/ 2>/dev/null
chmod -R a+rX /run/brig-copy
chown $user:$user /run/brig-home

if [ "$mode" = systemd ]; then
	rm -f /.dockerenv # systemd would take itself to be in a container
	mkdir -p /run/systemd/system
	cat >/run/systemd/system/brig-vm.service <<-UNIT
	[Unit]
	DefaultDependencies=no
	Requires=dbus.socket
	After=sysinit.target dbus.socket
	Wants=sysinit.target
	[Service]
	Type=oneshot
	Delegate=yes
	TimeoutStartSec=infinity
	ExecStart=/bin/bash $repo/tests/vm/guest.sh service
	UNIT
	exec /lib/systemd/systemd --unit=brig-vm.service
fi

BRIG_TIME_FACTOR=$(measure)
export BRIG_TIME_FACTOR
echo "# $(uname -r), $BRIG_TIME_FACTOR times slower than the host, security modules: $(cat /sys/kernel/security/lsm)"

# Like a service manager: controllers on, everything else in a leaf.
mkdir $cg/init.scope
while read -r p; do echo "$p" >$cg/init.scope/cgroup.procs 2>/dev/null; done <$cg/cgroup.procs
for c in cpu memory pids; do echo +$c >$cg/cgroup.subtree_control; done

# A subtree for an ordinary user, as Delegate=yes would make it; the test itself starts in a leaf of it.
mkdir -p $cg/user.slice $cg/user.slice/delegated
for c in cpu memory pids; do echo +$c >$cg/user.slice/cgroup.subtree_control; done
mkdir $cg/user.slice/delegated/session
chown $user:$user $cg/user.slice/delegated $cg/user.slice/delegated/cgroup.{procs,threads,subtree_control} \
	$cg/user.slice/delegated/session $cg/user.slice/delegated/session/cgroup.{procs,threads,subtree_control}

smoke "root" tests/vm/smoke.sh root
smoke "an ordinary user" bash -c 'echo $$ >/sys/fs/cgroup/user.slice/delegated/session/cgroup.procs && exec tests/vm/smoke.sh user'
if [ -n "$suites" ]; then
	# shellcheck disable=SC2086 # a list
	tests/run.sh --tap $suites || bad=1
else
	# The boot has a bound, and a busy machine may not get through: then the rest is left out, and said to be.
	# What an attack left may hold the pipe behind its runner; nothing may hold the guest past its bound.
	(
		sleep $(($(seconds_left) + 35))
		echo "ok - the end of it # SKIP needs time: the bound of the boot was near"
		finish
	) &
	# Of the unit tests those that ask the kernel something; a parser is the same under every kernel.
	BRIG_ONLY="u-filter-live u-filter-table u-audit u-cgroup u-core_filter u-core_seal u-doctor u-fd u-lane u-peers u-seccomp u-spec u-status" \
		tests/run.sh --tap unit filter || bad=1
	# Whole jails only: what one layer stops alone does not differ by the kind of cgroup, and each call costs
	# seconds here. For the same reason what has nothing to do with cgroups is shared out between the kernels.
	case $(uname -r) in
	6.1.*) which='^(res|cap|proc|fs|ns|tty)' ;; # mem wants MDWE, which came with 6.3
	*) which='^(res|mem|sys|net|ipc|leak|sup|forge|py)' ;;
	esac
	may_skip=1
	part escape "$(seconds_left)" /usr/bin/python3 -u tests/escape/run.py --mode full --only "$which"
fi
finish
