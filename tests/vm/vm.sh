#!/bin/bash
# vm.sh [GUEST...] - boots the distribution's own kernels (6.1, and 6.12 where apt has it) in
# QEMU, with unified cgroup v2, and runs tests/vm/guest.sh there. Prints TAP. A guest is a kernel
# version; "6.1/systemd" boots systemd as PID 1 and runs only the smoke test, as a service.
#
# No KVM: everything is emulated, a guest is some ten times slower than this machine, so all
# suites run in one boot per kernel and the kernels run side by side. The guest's root is this
# machine's, read-only under a throw-away overlay; nothing is installed for it but what
# `tools/deps vm` names, and the kernels are only unpacked into a cache.
#
# BRIG_VM_CACHE (default build/vm), BRIG_VM_TIMEOUT seconds per boot (default 900),
# BRIG_VM_SUITES what guest.sh runs, BRIG_VM_VERBOSE=1 to see the guests' consoles.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 2
repo=$PWD
build=${BUILD_DIR:-$repo/build}
cache=${BRIG_VM_CACHE:-$repo/build/vm}
limit=${BRIG_VM_TIMEOUT:-900}
virtiofsd=$(command -v virtiofsd || echo /usr/lib/qemu/virtiofsd)
[ $# -gt 0 ] || set -- 6.1 6.12 6.1/systemd

skip_all() { echo "1..0 # SKIP $*"; exit 0; }
[ "$(uname -m)" = x86_64 ] || skip_all "needs x86_64: the guests are"
[ "$(id -u)" = 0 ] || skip_all "needs root: virtiofsd shows the guest every file with its owner"
command -v qemu-system-x86_64 >/dev/null || skip_all "needs qemu: apt-get install qemu-system-x86"
[ -x "$virtiofsd" ] || skip_all "needs virtiofsd: apt-get install qemu-system-common"
command -v apt-get busybox depmod >/dev/null || skip_all "needs apt-get, busybox and depmod: tools/deps vm"
mkdir -p "$cache" && cache=$(cd "$cache" && pwd) || exit 2

# ---- a kernel, once per machine: unpacked, with the few modules that reach the root ----
fetch_kernel() { # VERSION -> $cache/VERSION/{vmlinuz,initrd}; 0, or 1 with the reason on stdout
	local k=$cache/$1 meta=linux-image-$1-cloud-amd64 pkg t v m
	[ ! -e "$k/initrd" ] || return 0
	[ "$1" != 6.1 ] || meta=linux-image-cloud-amd64
	apt-cache show "$meta" >/dev/null 2>&1 || apt-get -qq update >/dev/null 2>&1
	pkg=$(apt-cache depends "$meta" 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$pkg" ] || { echo "apt knows no $meta"; return 1; }
	rm -rf "$k" && mkdir -p "$k" && t=$k/unpacked || return 1
	(cd "$k" && apt-get -qq -o APT::Sandbox::User=root download "$pkg" && dpkg-deb -x ./*.deb unpacked && rm -f ./*.deb) >&2 ||
		{ rm -rf "$k"; echo "cannot download $pkg"; return 1; }
	v=$(basename "$t"/lib/modules/*)
	depmod -b "$t" "$v"
	mkdir -p "$k/root"/{bin,m,proc,dev,lower,rw,root}
	cp "$(command -v busybox)" "$k/root/bin/busybox"
	for m in virtio_pci virtiofs overlay; do # each after what it depends on; the guest loads them in this order
		modprobe -d "$t" -S "$v" --show-depends "$m" | awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++' | while read -r m; do
		case $m in
		*.xz) xz -dc "$m" >"$k/root/m/$(basename "$m" .xz)" ;;
		*) cp "$m" "$k/root/m/" ;;
		esac
		basename "$m" .xz >>"$k/root/m/order"
	done
	cp "$t"/boot/vmlinuz-* "$k/vmlinuz"
	rm -rf "$t"
	cp tests/vm/init "$k/root/init"
	pack "$k/root" "$k/initrd.new" && mv "$k/initrd.new" "$k/initrd"
}
pack() { (cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null) >"$2"; }

# The unit in which the guest measures how slow it is.
work_seconds() {
	/usr/bin/python3 -I -S -c 'import time; t = time.perf_counter(); sum(i * i for i in range(2000000)); print(time.perf_counter() - t)'
}

# ---- one boot -------------------------------------------------------------------
boot() { # VERSION[/systemd]: TAP of the guest on stdout
	local k=$cache/${1%/*} mode=script t rc=0 sock status
	[ "$1" = "${1%/*}" ] || mode=${1#*/}
	if [ "$mode" = systemd ] && [ ! -x /lib/systemd/systemd ]; then
		echo "ok - boot # SKIP needs systemd"
		return
	fi
	t=$(mktemp -d "${TMPDIR:-/tmp}/brig-vm.XXXXXX") || return 1
	# What differs from run to run rides in a second archive behind the first.
	mkdir -p "$t/i/job" "$t/shown"
	cp tests/vm/init "$t/i/init"
	printf 'repo=%q\nbuild=%q\nhost_seconds=%q\nsuites=%q\nhost_now=%q\nmode=%q\nlimit=%q\n' \
		"$repo" "$build" "$(work_seconds)" "${BRIG_VM_SUITES:-}" "$(date +%s)" "$mode" "$limit" >"$t/i/job/conf"
	pack "$t/i" "$t/initrd2"
	cat "$k/initrd" "$t/initrd2" >"$t/initrd"

	# Shown through a mount namespace in which it is read-only: root in the guest cannot write here.
	sock=$t/fs.sock
	unshare --mount --propagation private bash -c '
		set -e
		shown=$1; shift
		mount --bind / "$shown"
		for d in /usr "$1" "$2"; do
			m=$(findmnt -nro TARGET -T "$d" | tail -n 1)
			[ "$m" != / ] || continue
			mount --bind "$m" "$shown$m"
			mount -o remount,bind,ro "$shown$m"
		done
		shift 2
		mount -o remount,bind,ro "$shown"
		exec "$@"' ns "$t/shown" "$repo" "$build" \
		"$virtiofsd" --socket-path="$sock" -o "source=$t/shown,cache=always,sandbox=chroot,xattr,log_level=err" </dev/null >"$t/fs.log" 2>&1 &
	local fs=$!
	for _ in $(seq 200); do [ ! -S "$sock" ] || break; sleep 0.05; done

	# thread=single: with one host thread per guest CPU the emulator loses a race against a kernel that
	# patches its own code (writing cpu.max does), and the guest dies. norandmaps: with randomised
	# addresses each process's libc is translated anew, which makes every exec several times slower.
	timeout -k 5 "$limit" qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -nic none \
		-M q35 -accel tcg,thread=single -cpu Nehalem,+rdrand -smp 2 -m 1024 \
		-object memory-backend-memfd,id=m,size=1024M,share=on -numa node,memdev=m \
		-chardev "socket,id=f,path=$sock" -device vhost-user-fs-pci,chardev=f,tag=root \
		-serial "file:$t/console" -serial "file:$t/tap" -device virtio-rng-pci \
		-kernel "$k/vmlinuz" -initrd "$t/initrd" \
		-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr norandmaps no_timer_check tsc=reliable audit=0 random.trust_cpu=on rcupdate.rcu_expedited=1" \
		</dev/null >"$t/qemu.log" 2>&1 || rc=$?
	kill "$fs" 2>/dev/null
	wait "$fs" 2>/dev/null

	tr -d '\r' <"$t/tap" 2>/dev/null | grep -v '^# guest exit'
	status=$(tr -d '\r' <"$t/tap" 2>/dev/null | sed -n 's/^# guest exit //p')
	[ -z "${BRIG_VM_VERBOSE:-}" ] || sed 's/^/# console: /' "$t/console" >&2
	if [ "$status" != 0 ] && [ "$status" != 1 ]; then
		sed 's/^/# /' "$t/fs.log" "$t/qemu.log"
		grep -av 'Killed process' "$t/console" 2>/dev/null | tail -n 40 | tr -d '\r' | sed 's/^/# console: /'
		case $rc in
		124 | 137) echo "not ok - the guest ended within $limit s" ;;
		*) echo "not ok - the guest ran to its end (qemu exit $rc, guest status ${status:-none})" ;;
		esac
	else
		echo "ok - the guest ran to its end"
	fi
	rm -rf "$t"
}

# ---- all kernels side by side, one TAP stream ------------------------------------
out=$(mktemp -d "${TMPDIR:-/tmp}/brig-vms.XXXXXX")
trap 'rm -rf "$out"' EXIT
for v; do
	if why=$(fetch_kernel "${v%/*}"); then
		boot "$v" >"$out/${v/\//-}" &
	else
		echo "ok - boot # SKIP needs kernel-$v: $why" >"$out/${v/\//-}"
	fi
done
wait
for v; do
	echo "# ---- Linux $v"
	sed -E "/^1\.\.[0-9]+/d; s|^(not ok\|ok)( [0-9]+)?( - )?|\1 - Linux $v: |" "$out/${v/\//-}"
done | awk '/^(not )?ok / { n++; sub(/ok - /, "ok " n " - ") } { print } /^not ok/ { bad = 1 } END { print "1.." n; exit bad }'
