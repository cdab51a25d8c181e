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
	elif [[ $verb == cancel ]]; then
		words=$("${COMP_WORDS[0]}" list 2>/dev/null | sed -n 's/^\([0-9a-f]\{32\}\) .*/\1/p')
	elif [[ $verb == help ]]; then
		words=$("${COMP_WORDS[0]}" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
# Where nothing fits, bash completes names of files.
complete -o default -F _brig brig
