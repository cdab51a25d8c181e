/* An error that a tool raised, read as the lack of a permission: which one, who did not give it, and what to do. The outcome stays
 * what it is, a tool_error; the frame is the tool's own word, so these are words for people and models, and nothing is decided by
 * them. Only permissions that the call really did not have are ever named. Core only; pure. */
#ifndef BRIG_SUPERVISOR_MISSING_H
#define BRIG_SUPERVISOR_MISSING_H

#include "supervisor/narrow.h"

struct missing {
	enum permission which;
	int error;      /* errno */
	char what[300];
	char rule[96];  /* "tool: not declared", "tier draft (tiers/draft.json:12)", "base.json:31" */
	char hint[300];
};

/* frame: the payload of an error frame, JSON that was checked. profile: what the call ran under, left: what it had of what tool
 * declares. False: nothing that a permission would have given. */
bool missing_find(const struct tool *tool, const struct profile *profile, const struct permissions *left, const char *frame, size_t len,
		  struct missing *ret);

#endif
