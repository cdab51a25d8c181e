/* What pool.c (jails), pool_refill.c, pool_generation.c (zygotes) and pool_stats.c share; nobody else includes this. */
#ifndef BRIG_SUPERVISOR_POOL_IMPL_H
#define BRIG_SUPERVISOR_POOL_IMPL_H

#include "supervisor/pool.h"
#include "supervisor/pool_plan.h"

/* Enough for a 99th percentile that means something. */
#define POOL_REFILLS 128

struct pool {
	LIST_ENTRY(pool) link;
	struct core *core;
	struct profile *profile;   /* a reference */
	unsigned options;          /* enum zygote_option */
	bool prewarm;              /* filled although nobody called yet */
	struct pool_plan plan;
	uint64_t hold_until_ns;    /* nothing is made before: what was made died */
	uint32_t hold_ms;
	uint64_t standby_after_ns; /* no younger generation is tried before */
	uint64_t taken, cold, died_parked, failed, retired;
	uint32_t refill_us[POOL_REFILLS]; /* a ring */
	uint64_t refills;
};

struct pools {
	struct core *core;
	LIST_HEAD(, pool) list;
	struct event *pump;
	uint64_t due_ns; /* when it is set to; 0: not */
};

/* pool.c */
struct pool *pool_find(const struct core *core, const struct profile *profile, unsigned options);
/* `keep` of its parked jails stay. */
void pool_shed(struct zygote *z, unsigned keep);
/* Nothing is made for a while, ever longer: what was made died or could not be. */
void pool_hold(struct pool *p);
/* Somebody may call soon: it is worth to have something ready. */
bool pool_wanted(const struct pool *p, uint64_t now_ns);

/* pool_refill.c: makes what is missing, within its bounds. */
void pool_refill(struct core *core, uint64_t now_ns);

/* pool_generation.c: starts a zygote where one is wanted and missing, replaces one that is old. */
void pool_generation(struct pool *p, uint64_t now_ns);
/* When it has to be looked at again, at the latest. */
uint64_t pool_generation_due(const struct pool *p);

#endif
