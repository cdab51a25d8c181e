/* What a version of a tool runs under, and who decides that: its profile, what it declared, the tier of its state. */
#include "supervisor/core_state.h"
#include "supervisor/narrow.h"
#include "supervisor/profile_cache.h"

#include <string.h>

/* Which tier a state has; NULL: none. Neither of the last two runs, but somebody may ask what they would run under. */
static const struct {
	const char *tier;
	bool write;
} tiers[TOOL_STATE_COUNT] = {
	[TOOL_DRAFT] = { "draft", false },
	[TOOL_PROBATION] = { "probation", true },
	[TOOL_APPROVED] = { NULL, true },
	[TOOL_QUARANTINED] = { "draft", false },
	[TOOL_REMOVED] = { "draft", false },
};

int narrow_tool(struct core *core, const struct tool *tool, struct profile **ret, struct permissions *ret_effective, struct err *err)
{
	const char *text = tool->profile_text, *name = tiers[tool->state].tier;
	struct profile *profile, *tier = NULL;
	int r = profile_cache_get(core->profiles, tool->profile, "profile", text, text ? strlen(text) : 0, &profile, err);

	if (r < 0)
		return r;
	if (name)
		r = profile_cache_tier(core->profiles, name, &tier, err);
	if (r == 0)
		r = profile_cache_narrow(core->profiles, profile, &tool->declared, tier, tiers[tool->state].write, ret, ret_effective, err);
	profile_free(tier);
	profile_free(profile);
	return r;
}
