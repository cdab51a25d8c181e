#!/bin/bash
# run.sh BUILD-DIR SECONDS - builds the fuzz targets and runs each for a while over its committed
# corpus (tests/fuzz/corpus/NAME), as one TAP test each. What it finds new stays in BUILD-DIR/corpus.
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 2
out=${1:-build/fuzz} seconds=${2:-20}
export CCACHE_DISABLE=1 ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/lsan.supp:print_suppressions=0}

if ! command -v clang >/dev/null; then echo "1..0 # SKIP needs clang"; exit 0; fi
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n); int LLVMFuzzerTestOneInput(const char *d, long n) { return 0 * (int)n * !d; }' |
	clang -x c -fsanitize=fuzzer,address -o /dev/null - 2>/dev/null; then
	echo "1..0 # SKIP needs libfuzzer: apt-get install libclang-rt-dev"
	exit 0
fi
log=$(mktemp) n=0 bad=0
trap 'rm -f "$log"' EXIT
if ! make --no-print-directory fuzz-build B="${out%/fuzz}" >"$log" 2>&1; then
	sed 's/^/# /' "$log"
	echo "not ok 1 - the fuzz targets build"
	echo "1..1"
	exit 1
fi
for program in "$out"/tests/fuzz/f-*; do
	case $program in *.o | *.d | *'*') continue ;; esac
	name=${program##*/f-}
	n=$((n + 1))
	mkdir -p "$out/corpus/$name" "$out/found"
	seeds=()
	[ ! -d "tests/fuzz/corpus/$name" ] || seeds+=("tests/fuzz/corpus/$name")
	if "$program" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 \
		-artifact_prefix="$out/found/$name-" -print_final_stats=1 "$out/corpus/$name" "${seeds[@]}" >"$log" 2>&1; then
		echo "ok $n - $name ($(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs)"
	else
		bad=1
		tail -n 40 "$log" | sed 's/^/# /'
		echo "not ok $n - $name: the input is in $out/found"
	fi
done
echo "1..$n"
exit $bad
