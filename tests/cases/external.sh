#!/bin/bash
# Independent cases and containment probes, where somebody laid them beside the checkout
# (../shared/cases, ../shared/probes, or BRIG_EXTERNAL). A fresh clone has none and skips.
. "$(dirname "$0")/../lib.sh"
external=${BRIG_EXTERNAL:-$SRC_DIR/../shared}
cases=$external/cases/run_cases.py probes=$external/probes/runner.py
[ -f "$cases" ] || [ -f "$probes" ] || skip_all "needs external-cases: no cases or probes beside the checkout"
begin

if [ -f "$cases" ]; then
	for via in run call; do
		title="every independent case comes out right, by brig $via"
		if BRIG=$BRIG BRIG_STATE=$work/state-$via timeout -k 5 600 "$PYTHON" "$cases" --via $via >"$work/cases.log" 2>&1; then
			ok "$title"
		else
			not_ok "$title"
			diag "$(tail -n 60 "$work/cases.log")"
		fi
	done
else
	skip "every independent case comes out right" "needs external-cases: none beside the checkout"
fi

if [ -f "$probes" ]; then
	# Probes of severity "info" only tell what is visible (fine clocks): SECURITY.md lists it.
	# What an allowlist of builtins cannot stop is the kernel's to stop: for the prelude's own
	# probes an escape from Python is a warning.
	if ADAPTER=$SRC_DIR/tests/probes/adapter BRIG=$BRIG timeout -k 5 800 "$PYTHON" "$probes" --quiet --min-severity low --warn-layer prelude >"$work/probes.log" 2>&1; then
		ok "every containment probe is contained"
	else
		not_ok "every containment probe is contained"
		diag "$(tail -n 60 "$work/probes.log")"
	fi
else
	skip "every containment probe is contained" "needs external-cases: no probes beside the checkout"
fi
finish
