# shellcheck shell=bash
# Completion of brig for bash. It asks brig itself what there is, so it cannot be out of date.

_brig() {
	local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} words=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		words=$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
	elif [[ $cur == -* ]]; then
		words=$("${COMP_WORDS[0]}" help "$verb" 2>/dev/null | sed -n 's/^  \(--[a-z-]*\).*/\1/p')
	elif [[ $before == --profile || ($verb == profile && $before == show) ]]; then
		words=$("${COMP_WORDS[0]}" profile list 2>/dev/null | cut -d ' ' -f 1)
	elif [[ $before == --kind ]]; then
		words='begin end cancel reload drain session_open session_end tool_create tool_remove tool_state approval_ask approval_decide approval_use policy'
	elif [[ $before == --format ]]; then
		[[ $verb == audit ]] && words='jsonl csv' || words='openai anthropic mcp'
	elif [[ $before == --to ]]; then
		words='draft probation approved'
	elif [[ $before == --decision ]]; then
		words='allow deny escalate'
	elif [[ $before == --tool || $verb == call || ($verb == why && $cur != -*) ]] ||
		[[ $verb == tool && $before =~ ^(show|remove|export|promote|quarantine|restore)$ ]]; then
		words=$("${COMP_WORDS[0]}" tool list 2>/dev/null | sed -n '2,$s/^\([A-Za-z_][A-Za-z0-9_]*\) .*/\1/p')
	elif [[ ($verb == approve || $verb == deny) && $COMP_CWORD -eq 2 ]] || [[ $verb == approvals && $before == show ]]; then
		words=$("${COMP_WORDS[0]}" approvals 2>/dev/null | sed -n '2,$s/^\([0-9a-f]\{6,\}\) .*/\1/p')
	elif [[ $verb == tool && $COMP_CWORD -eq 2 ]]; then
		words='create list show remove export import promote quarantine restore'
	elif ((COMP_CWORD == 2)) && [[ $verb =~ ^(audit|profile|session|policy|approvals)$ ]]; then
		# The actions stand in the usage line: "usage: brig audit tail|export|verify ..."
		words=$("${COMP_WORDS[0]}" help "$verb" 2>/dev/null | sed -n '1s/^usage: brig [a-z]* \(.*\) \[options\]/\1/p' | sed 's/[A-Z][A-Za-z.|]*//g' | tr -c 'a-z\n' ' ')
	elif [[ $verb == cancel ]]; then
		words=$("${COMP_WORDS[0]}" list 2>/dev/null | sed -n 's/^\([0-9a-f]\{32\}\) .*/\1/p')
	elif [[ $verb == help ]]; then
		words=$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
# Where nothing fits, bash completes names of files.
complete -o default -F _brig brig
