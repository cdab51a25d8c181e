#!/bin/bash
# What brigd's command line takes and refuses.
. "$(dirname "$0")/../lib.sh"
begin
brigd=$BUILD_DIR/brigd

run_brigd() {
	rc=0
	timeout 20 "$brigd" "$@" >"$work/.out" 2>"$work/.err" || rc=$?
	out=$(cat "$work/.out") err=$(cat "$work/.err")
}

run_brigd --help
is "--help ends well" "$rc" 0
has "--help shows examples" "$out" "examples:"
for option in --private --warm --profiles --version --help; do
	has "--help names $option" "$out" "$option"
done
run_brigd --version
is "--version ends well" "$rc" 0
has "--version names the program" "$out" "brigd "
BRIG_STATE=/proc/none run_brigd
is "a daemon without a place for its sockets: exit 6" "$rc" 6
has "and names it" "$err" "/proc/none/run"

refused() { # TITLE WORD ARG...
	local title=$1 word=$2
	shift 2
	run_brigd "$@"
	is "$title: exit 2" "$rc" 2
	has "$title: the message names it" "$err" "$word"
}
refused "an unknown option" "--privat" --privat 3
refused "a stray word" "stray" stray
refused "a missing value" "--warm" --private 3 --warm
refused "a value out of range" "62" --private 3 --warm 62
refused "a value that is no number" "3x" --private 3x
refused "a standard descriptor" "2" --private 2
refused "a value for --help" "--help" --help=1
refused "a descriptor that is not open" "9" --private 9
refused "a descriptor that is no socket" "9" --private 9 9</dev/null
refused "control characters are not echoed" '--a?b' $'--a\eb'
finish
