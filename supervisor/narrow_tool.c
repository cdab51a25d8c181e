/* What a version of a tool runs under, and who decides that: its profile, what it declared, the tier of its state. */
#include "supervisor/core_state.h"
#include "supervisor/narrow.h"
#include "supervisor/profile_cache.h"

#include <string.h>

/* Which tier a state has; NULL: none. Neither of the last two runs, but somebody may ask what they would run under. */
static const char *const tiers[TOOL_STATE_COUNT] = {
	[TOOL_DRAFT] = "draft",
	[TOOL_PROBATION] = "probation",
	[TOOL_QUARANTINED] = "draft",
	[TOOL_REMOVED] = "draft",
};

int narrow_tool(struct core *core, const struct tool *tool, struct profile **ret, struct permissions *ret_effective, struct err *err)
{
	const char *text = tool->profile_text, *name = tiers[tool->state];
	struct profile *profile, *tier = NULL;
	struct permissions lets = { 0 };
	int r = profile_cache_get(core->profiles, tool->profile, "profile", text, text ? strlen(text) : 0, &profile, err);

	if (r < 0)
		return r;
	if (name)
		r = profile_cache_tier(core->profiles, name, &tier, err);
	if (r == 0 && tier)
		profile_grants(tier, &lets);
	if (r == 0)
		r = profile_cache_narrow(core->profiles, profile, &tool->declared, tier, lets.write, ret, ret_effective, err);
	profile_free(tier);
	profile_free(profile);
	return r;
}
