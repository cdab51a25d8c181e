#!/bin/bash
# Everything that can be wrong with a command line, a body, arguments and a profile: one clear line,
# the documented status, nothing started, nothing left behind. Runs against the real supervisor
# where one is built, else against a stand-in; what only the real one judges is then skipped.
. "$(dirname "$0")/../lib.sh"

# Proof that nothing was started: a supervisor that leaves a mark.
trap_brigd=$work/trap-brigd
printf '#!/bin/sh\ntouch %s/started\nexit 9\n' "$work" >"$trap_brigd"
chmod 755 "$trap_brigd"
fake=$SRC_DIR/tests/integration/fake_brigd.py

# TITLE STATUS PART-OF-THE-LINE ARG...: refused by the client itself.
refused() {
	local title=$1 status=$2 part=$3
	shift 3
	rm -f "$work/started"
	BRIG_BRIGD=$trap_brigd BRIG_TIMEOUT=20 run_brig "$@" <"${stdin:-/dev/null}"
	if [ "$rc" != "$status" ]; then check "$title" false "status $rc, wanted $status"
	elif [ "$(wc -l <"$work/.err")" != 1 ]; then check "$title" false "not one line"
	elif [[ $err != brig:*"$part"* ]]; then check "$title" false "the line lacks: $part"
	elif [ -s "$work/.out" ] && ! want_json "$@"; then check "$title" false "something on standard output"
	elif want_json "$@" && ! is_object; then check "$title" false "standard output is not one JSON object"
	elif [ -e "$work/started" ]; then check "$title" false "a supervisor was started"
	else ok "$title"; fi
}
want_json() { local a; for a; do [ "$a" != --json ] || return 0; done; return 1; }
is_object() { # one line, strict JSON, an outcome
	[ "$(wc -l <"$work/.out")" = 1 ] && [ "$(json outcome)" = "${outcome:-invalid_arguments}" ]
}
stuff() { "$PYTHON" -I -c "import sys; sys.stdout.buffer.write($1)" >"$2"; }

begin
cd "$work" || exit 1
printf 'def run(**kw):\n    return "fine"\n' >good.py

# ---- the command line
refused "an unknown verb is told with the nearest one" 2 "did you mean 'run'" rnu good.py
refused "a verb of a later version is told as such" 2 "not in this version" serve
refused "an unknown option is told with the nearest one" 2 "did you mean '--json'" run good.py --jsno
refused "an option of a later version is told as such" 2 "not in this version" doctor --attack
refused "a missing FILE is a usage error" 2 "needs FILE.py" run
refused "two FILEs are one too many" 2 "too many" run good.py good.py
refused "an option without its value" 2 "needs a value" run good.py --args
refused "an option given twice" 2 "twice" run good.py --args '{}' --args '{}'
refused "an escape sequence in an option does not reach the terminal" 2 '\x1b' run good.py $'--\e[31m'
refused "a usage error with --json is an object" 2 "jsno" run good.py --json --jsno
refused "an unknown action of profile" 2 "did you mean 'show'" profile shwo
refused "profile check without a file" 2 "one FILE" profile check
refused "a verb that takes no word" 2 "too many" status now
refused "cancel without a call" 2 "needs CALL_ID" cancel
refused "cancel with two" 2 "too many" cancel a b --json
refused "an option of another verb" 2 "unknown option" status --wait
refused "a daemon's option that is misspelt" 2 "did you mean '--wait'" drain --wiat
refused "drain --wait and --off exclude each other" 2 "exclude" drain --wait --off --json
refused "--socket without its value" 2 "needs a value" list --socket
refused "an empty --socket" 2 "is empty" pool --socket=
refused "a --socket that is too long" 2 "too long" reload --json --socket "$(printf 'x%.0s' {1..200})"
refused "--socket and --private exclude each other" 2 "exclude" run good.py --private --socket s

# ---- the body
refused "a body that is not there" 2 "No such file" run missing.py
refused "the same with --json is an object" 2 "No such file" run missing.py --json
refused "an empty name" 2 "No such file" run ''
refused "a directory as a body" 2 "a directory" run .
mkfifo pipe.py
refused "a FIFO as a body does not hang" 2 "a pipe" run pipe.py
refused "a device as a body" 2 "a device" run /dev/zero
refused "a file below a file" 2 "Not a directory" run good.py/x
refused "a name with an escape sequence and a new line stays one line" 2 '\x1b[2J\n' run $'no\e[2J\nsuch'
stuff "b'x' * 300" name
refused "a name that is too long" 2 "too long" run "$(cat name)"
ln -s loop.py loop.py
refused "a loop of links" 2 "symbolic links" run loop.py
stuff "b'def run():\n    return \"\xff\"\n'" latin.py
refused "a body that is not UTF-8: byte, offset and line" 2 "byte 0xff at offset 23, line 2" run latin.py
stuff "b'x = \"\xed\xa0\x80\"\n'" surrogate.py
refused "an encoded surrogate in a body" 2 "not UTF-8" run surrogate.py
stuff "b'a = 1\n\0b = 2\n'" nul.py
refused "a NUL in a body: offset and line" 2 "NUL byte at offset 6, line 2" run nul.py
stuff "b'#' * (1 << 20) + b'\n'" large.py
refused "a body one byte too large" 2 "larger than 1048576 bytes" run large.py
if [ "$(id -u)" = 0 ]; then
	skip "an unreadable body" "needs nonroot"
else
	install -m 000 /dev/null closed.py
	refused "an unreadable body" 2 "Permission denied" run closed.py
fi

# ---- the arguments
args() { refused "$1" 3 "$2" run good.py --args "$3" "${@:4}"; }
args "arguments that are not JSON: line and column" "line 1, column 7" '{"a": x}'
args "the same with --json is an object" "line 1, column 7" '{"a": x}' --json
args "empty arguments" "line 1, column 1" ''
args "a list as arguments" "column 1" '[1]'
args "a string as arguments" "column 1" '"a"'
args "text after the object" "column 4" '{} {}'
args "a comment" "column 3" '{ /* no */ }'
args "a key given twice" "uplicate" '{"a":1,"b":2,"a":3}'
args "a key given twice in another spelling" "uplicate" '{"a":1,"\u0061":2}'
args "a key given twice further down" "uplicate" '{"x":[{"a":1,"a":1}]}'
args "NaN" "line 1" '{"a":NaN}'
args "Infinity" "line 1" '{"a":-Infinity}'
args "a lone surrogate" "urrogate" '{"a":"\ud800"}'
args "half a pair of surrogates" "urrogate" '{"a":"\udc00\ud800"}'
args "a control character in a string" "line 1" $'{"a":"\x01"}'
args "bytes that are not UTF-8" "UTF-8" $'{"a":"\xff"}'
args "a line is counted" "line 3, column 1" $'{\n"a":1,\n}'
args "a file that is not there" "No such file" @missing.json
args "no file name" "No such file" @
args "a directory" "a directory" @.
args "a FIFO" "--args -" @pipe.py
stuff "b'{\"a\":' + b'[' * 10000 + b']' * 10000 + b'}'" deep.json
args "nested 10,000 deep, from a file" "line 1" @deep.json
stuff "b'{\"a\":\"' + b'x' * 10000000 + b'\"}'" big.json
args "10 MB, from a file" "larger than 8388608 bytes" @big.json
stdin=big.json args "10 MB, from standard input" "larger than 8388608 bytes" -
stdin=deep.json args "nested 10,000 deep, from standard input" "line 1" -
args "nothing on standard input" "line 1" -
stuff "b'{\"a\":\"\0\"}'" nul.json
args "a NUL in a file" "line 1" @nul.json

# ---- a profile's file
refused "a profile file that is not there" 2 "No such file" run good.py --profile ./missing.json
refused "a directory as a profile" 2 "a directory" run good.py --profile ./
refused "a FIFO as a profile" 2 "a pipe" run good.py --profile ./pipe.py
stuff "b' ' * 300000" large.json
refused "a profile that is too large" 2 "larger than 262144 bytes" run good.py --profile large.json
refused "profile check of a file that is not there" 2 "No such file" profile check missing

# ---- the supervisor that cannot be had
BRIG_BRIGD=$work/none run_brig run good.py --json
check "no supervisor: internal_error, and says which" eval '[ "$rc" = 70 ] && [[ $err == *"/none"*"No such file"* ]] && outcome=internal_error is_object'
for word in die kill noise twice wrong outcome; do
	echo "# fake: $word" >fake.py
	BRIG_BRIGD=$fake run_brig run fake.py --json
	check "a supervisor that answers with \"$word\" is an internal_error" eval '[ "$rc" = 70 ] && [ "$(wc -l <"$work/.err")" = 1 ] && outcome=internal_error is_object'
done

# ---- what must arrive
echo '# fake: raw' >fake.py
sent='{"n": 9007199254740993, "e": 1e400, "s": "\ud83d\ude00", "z": -0.0}'
BRIG_BRIGD=$fake run_brig run fake.py --args "$sent"
is "numbers and strings travel byte for byte" "$out" "$sent"
printf '{\n"n":\r\n1}' >lines.json
BRIG_BRIGD=$fake run_brig run fake.py --args @lines.json
is "arguments on many lines travel as one" "$rc $out" '0 { "n":  1}'
echo '# fake: env' >fake.py
BRIG_BRIGD=$fake BRIG_STATE=$work/state SECRET=x LD_LIBRARY_PATH=/nowhere run_brig run fake.py
check "the supervisor gets no environment but the declared names" eval '[[ $out == *BRIG_STATE* && $out != *SECRET* && $out != *LD_* && $out != *BRIG_BRIGD* ]]'
echo '# fake: fds' >fake.py
BRIG_BRIGD=$fake run_brig run fake.py 7<good.py 9>other
has "the supervisor gets four descriptors, none of ours" "$out" "/dev/null"
has "and no more than these" "$out" " 4"

# ---- an end by signal
echo '# fake: hang' >fake.py
for sig in INT TERM HUP; do
	BRIG_BRIGD=$fake timeout --preserve-status -k 5 -s $sig 1 "$BRIG" run fake.py --json >.out 2>.err
	rc=$? out=$(cat .out) err=$(cat .err)
	check "SIG$sig: cancelled, 130, one object" eval '[ "$rc" = 130 ] && outcome=cancelled is_object && [[ $err == *SIG'$sig'* ]]'
done

# ---- a stdout that fails
echo '# fake: int' >fake.py
rc=0; err=$(BRIG_BRIGD=$fake "$BRIG" run fake.py 2>&1 >/dev/full) || rc=$?
is "a full disk is told" "$rc $err" "70 brig: cannot write the result: No space left on device"
rc=0; err=$(BRIG_BRIGD=$fake "$BRIG" run fake.py 2>&1 >&-) || rc=$?
has "a closed standard output is told" "$rc $err" "70 brig: cannot write"
BRIG_BRIGD=$fake "$BRIG" run fake.py 2>.err | true
is "a reader that left is no error" "${PIPESTATUS[0]} $(cat .err)" "0 "

# ---- what only the supervisor can judge
if [ -x "$BUILD_DIR/brigd" ]; then
	unset BRIG_BRIGD
	judged() { # TITLE STATUS PART ARG...
		local title=$1 status=$2 part=$3
		shift 3
		run_brig "$@"
		check "$title" eval '[ "$rc" = "$status" ] && [ "$(grep -c ^brig: .err)" = 1 ] && [[ $err == *"$part"* ]]'
	}
	judged "an unknown profile is told with the nearest one" 2 "pure" run good.py --profile pur
	printf '{ "name": "x", "why": "y", "extends": "pure",\n  "limits": { "wall": "5 parsecs" } }\n' >unit.json
	judged "a wrong unit: file, line and column" 2 "unit.json:2:" run good.py --profile unit.json
	printf '{ "name": "x", "why": "y", "extends": "pure",\n  "limits": { "memroy": "5M" } }\n' >key.json
	judged "an unknown key: file, line, column, and the nearest one" 2 "key.json:2:" run good.py --profile ./key.json
	has "the nearest key is named" "$err" "memory"
	printf 'def run(:\n' >syntax.py
	judged "a syntax error has a line" 1 "line 1" run syntax.py
	printf 'x = 1\n' >norun.py
	judged "a body without run" 1 "run" run norun.py
	printf 'run = 3\n' >notcallable.py
	judged "a run that cannot be called" 1 "run" run notcallable.py
	printf 'def run(a):\n    return "x"\n' >one.py
	judged "wrong arguments" 1 "run" run one.py --args '{"b": 1}'
else
	skip "what the supervisor judges: profiles and bodies" "needs brigd"
fi
# shellcheck disable=SC2119 # no title of our own
finish
