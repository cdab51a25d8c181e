#!/bin/bash
# What doctor says of a call is what a call does, for root and for an ordinary user.
. "$(dirname "$0")/../lib.sh"
begin
printf 'def run():\n    return 1\n' >"$work/one.py"

agree() { # WHO COMMAND...: how the user is become
	local who=$1 doctor call
	shift
	"$@" "$BRIG" doctor --json >"$work/doctor" 2>/dev/null
	doctor=$?
	"$@" "$BRIG" run "$work/one.py" --json >"$work/call" 2>/dev/null
	call=$?
	is "$who: doctor and run end alike" "$doctor" "$call"
	is "$who: doctor's verdict says so" "$("$PYTHON" -I -c 'import json, sys
print(json.load(open(sys.argv[1])).get("verdict", "refused") == "refused")' "$work/doctor")" "$([ "$call" = 0 ] && echo False || echo True)"
}

if [ "$(id -u)" = 0 ]; then
	chmod 777 "$work"
	agree 'root' env
	agree 'an ordinary user' setpriv --reuid=65534 --regid=65534 --clear-groups env -i HOME=/tmp "PATH=$PATH"
	agree 'a user namespace of one id' unshare -Ur env HOME=/tmp
else
	agree 'this user' env
fi
finish
