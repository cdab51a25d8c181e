/* Effective profiles by what was asked for, so that a filter is compiled once and
 * not for every call. Core only; the store never changes, a reload makes another cache. */
#ifndef BRIG_SUPERVISOR_PROFILE_CACHE_H
#define BRIG_SUPERVISOR_PROFILE_CACHE_H

#include "supervisor/narrow.h"

struct profile_cache;

struct profile_cache *profile_cache_new(const struct profile_store *store);
void profile_cache_free(struct profile_cache *cache);

/* profile_load(), or profile_load_text() where text is not NULL; *ret is the caller's reference. */
int profile_cache_get(struct profile_cache *cache, const char *name, const char *path, const char *text, size_t len,
		      struct profile **ret, struct err *err);
/* profile_load_tier(), kept likewise. */
int profile_cache_tier(struct profile_cache *cache, const char *name, struct profile **ret, struct err *err);
/* profile_narrow(), kept likewise; ret and ret_effective as there. tier may be NULL. */
int profile_cache_narrow(struct profile_cache *cache, struct profile *profile, const struct permissions *declared, struct profile *tier,
			 bool tier_write, struct profile **ret, struct permissions *ret_effective, struct err *err);
struct reviewed;
/* The tools of its store, parsed when first asked for; borrowed, they live as long as the cache. NULL with *err. */
const struct reviewed *profile_cache_reviewed(struct profile_cache *cache, struct err *err);
/* Every profile and tier of the store, so that one that is wrong is found now; *err says where. */
int profile_cache_fill(struct profile_cache *cache, struct err *err);

#endif
