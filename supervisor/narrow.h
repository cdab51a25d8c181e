/* An effective profile made tighter: what a tool did not declare, or its tier does not give, is taken away. Core only. */
#ifndef BRIG_SUPERVISOR_NARROW_H
#define BRIG_SUPERVISOR_NARROW_H

#include "supervisor/profile.h"
#include "supervisor/tool.h"

struct core;

/* The four switches of struct permissions, for who has to name one. */
enum permission { PERMISSION_FILESYSTEM, PERMISSION_NETWORK, PERMISSION_SUBPROCESS, PERMISSION_WRITE, PERMISSION_COUNT };
const char *permission_name(enum permission which); /* "filesystem", ... */
bool permission_of(const struct permissions *p, enum permission which);

/* What the profile could give at most; its scope is read-write where it lets write, else read-only. */
void profile_grants(const struct profile *profile, struct permissions *ret);
/* profile ∩ declared ∩ tier (an effective profile whose limits, network and processes are ceilings; NULL: none). *ret is
 * another profile with a digest of its own, equal for equal results; the same one where nothing was taken. *ret_effective is what
 * is left of the declared. The scope stays what was declared. tier_write: the tier lets it write (it has a writable mount itself). store: as for profile_load(). */
int profile_narrow(const struct profile_store *store, struct profile *profile, const struct permissions *declared,
		   const struct profile *tier, bool tier_write, struct profile **ret, struct permissions *ret_effective, struct err *err);
/* Only what is left of the declared, without making the profile: as cheap as reading it. */
void profile_left(const struct profile *profile, const struct permissions *declared, const struct profile *tier, bool tier_write,
		  struct permissions *ret);
/* Who took that permission from a narrowed profile, as "tool: not declared" or "tier draft"; NULL: it was never there, or still is. */
const char *profile_taken(const struct profile *profile, enum permission which);

/* The profile that it was narrowed from, or it itself; borrowed. */
const struct profile *profile_wide(const struct profile *profile);

/* The profile that this version of a tool runs under, now: its own, narrowed to what it declared and to the tier of its state.
 * Kept between calls, so that a filter is compiled once. *ret is the caller's reference. */
int narrow_tool(struct core *core, const struct tool *tool, struct profile **ret, struct permissions *ret_effective, struct err *err);
/* What that leaves it, without making the profile. */
int narrow_tool_left(struct core *core, const struct tool *tool, struct permissions *ret, struct err *err);

#endif
