/* Jails that wait, ready made, for a call. One pool for each effective profile: it
 * keeps as many parked as pool_plan.h says, makes them off the path of calls, and
 * replaces its zygote by a younger generation. Core only.
 *
 * A jail is taken once and never comes back. What waits for a call goes first: the
 * pool makes nothing while a call waits for room, leaves slots free, and gives up
 * what was not used for longest when they run out. A private supervisor keeps as many
 * of each profile as --warm said. */
#ifndef BRIG_SUPERVISOR_POOL_H
#define BRIG_SUPERVISOR_POOL_H

#include "supervisor/jail.h"
#include "supervisor/wire/json.h"

/* Core's start (fills what the configuration wants filled) and end. -errno: no memory. */
int pool_open(struct core *core);
void pool_close(struct core *core);

/* A jail for a call: one that waited (its receipt then says warm) or one that is being made. *ret_zygote is set also on
 * failure, where there is one. An error whose `where` is JAIL_NO_ROOM: ask again when a jail is gone. */
int pool_take(struct core *core, struct profile *profile, unsigned options, jail_fn fn, void *arg, struct zygote **ret_zygote,
	      struct jail **ret, struct err *err);
/* A call has ended, a jail is gone, a zygote is there: soon, when the answer is out, what is missing is made. */
void pool_soon(struct core *core);
/* Slots have run out: one that was not needed for longest goes, unless another is going already. */
void pool_evict(struct core *core);
/* After a reload: what waits for a profile that is not as it was goes, its calls end as they began; sizes are taken over. */
void pool_profiles_changed(struct core *core);

/* From jail.c: news of a jail that waits for nobody yet. */
void pool_jail_news(struct jail *jail, enum jail_news news);
/* Jails of this zygote that wait, or will: parked and starting ones. ret_parked may be NULL. */
unsigned pool_count(const struct zygote *z, unsigned *ret_parked);
/* From zygote.c: it became READY or died. */
void pool_zygote_changed(struct zygote *zygote);

/* One pool as it is now; counters live as long as the pool. */
struct pool_stats {
	const char *profile; /* borrowed */
	bool best_effort;
	unsigned warm, max, target;
	unsigned parked, starting, running;
	uint64_t taken, cold, died_parked, failed; /* failed: jails for the pool that never parked */
	uint32_t refill_p50_us, refill_p99_us;     /* of the last ones; 0: none yet */
	uint32_t generation;                       /* of the zygote that serves; 0: none */
	unsigned retiring;                         /* older zygotes whose calls still run */
	uint64_t retired;                          /* generations that were replaced */
};
/* The i-th pool; false past the end. */
bool pool_stats_get(const struct core *core, unsigned i, struct pool_stats *ret);
/* {"forks_max":..,"slots":..,"slots_free":..,"pools":[{..},..]} */
void pool_print(struct core *core, struct jbuf *out);

#endif
