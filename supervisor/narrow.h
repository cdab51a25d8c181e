/* An effective profile made tighter: what a tool did not declare, or its tier does not give, is taken away. Core only. */
#ifndef BRIG_SUPERVISOR_NARROW_H
#define BRIG_SUPERVISOR_NARROW_H

#include "supervisor/profile.h"
#include "supervisor/tool.h"

/* What the profile could give at most. */
void profile_grants(const struct profile *profile, struct permissions *ret);
/* profile ∩ declared ∩ tier (an effective profile whose limits, network and processes are ceilings; NULL: none). *ret is
 * another profile with a digest of its own, equal for equal results; *ret_effective what is left of the declared. The
 * scope stays what was declared. tier_write: the tier lets it write. */
int profile_narrow(struct profile *profile, const struct permissions *declared, const struct profile *tier, bool tier_write,
		   struct profile **ret, struct permissions *ret_effective, struct err *err);

#endif
