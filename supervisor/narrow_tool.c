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

/* Both are references of the caller's. lets: what the tier gives. */
static int deciders(struct core *core, const struct tool *tool, struct profile **ret_profile, struct profile **ret_tier, struct permissions *ret_lets,
		    struct err *err)
{
	const char *text = tool->profile_text, *name = tiers[tool->state];
	int r = profile_cache_get(core->profiles, tool->profile, "profile", text, text ? strlen(text) : 0, ret_profile, err);

	*ret_tier = NULL;
	*ret_lets = (struct permissions){ 0 };
	if (r < 0 || !name)
		return r;
	r = profile_cache_tier(core->profiles, name, ret_tier, err);
	if (r == 0)
		profile_grants(*ret_tier, ret_lets);
	else
		profile_free(take_ptr(*ret_profile));
	return r;
}

int narrow_tool(struct core *core, const struct tool *tool, struct profile **ret, struct permissions *ret_effective, struct err *err)
{
	struct profile *profile, *tier;
	struct permissions lets;
	int r = deciders(core, tool, &profile, &tier, &lets, err);

	if (r < 0)
		return r;
	r = profile_cache_narrow(core->profiles, profile, &tool->declared, tier, lets.write, ret, ret_effective, err);
	profile_free(tier);
	profile_free(profile);
	return r;
}

int narrow_tool_left(struct core *core, const struct tool *tool, struct permissions *ret, struct err *err)
{
	struct profile *profile, *tier;
	struct permissions lets;
	int r = deciders(core, tool, &profile, &tier, &lets, err);

	if (r < 0)
		return r;
	profile_left(profile, &tool->declared, tier, lets.write, ret);
	profile_free(tier);
	profile_free(profile);
	return 0;
}
