/* How many jails of one profile should wait for a call: pure arithmetic over arrivals and the time it takes to make one. Core only. */
#ifndef BRIG_SUPERVISOR_POOL_PLAN_H
#define BRIG_SUPERVISOR_POOL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

struct pool_plan {
	unsigned warm, max;     /* the profile's; warm 0: none waits, ever */
	unsigned target;
	unsigned boost;         /* more than the rate asks for: calls came together and found none */
	double rate;            /* calls each second, smoothed, as of arrival_ns */
	double refill_s;        /* from a jail's start until it is parked, smoothed */
	uint64_t arrival_ns;    /* of the last call; 0: none yet */
	uint64_t missed_ns;     /* when the boost last grew, or shrank */
	uint64_t needed_ns;     /* when the target was last needed, or shrank */
};

void pool_plan_init(struct pool_plan *plan, unsigned warm, unsigned max);
/* A call came; missed: no jail waited for it. */
void pool_plan_arrival(struct pool_plan *plan, uint64_t now_ns, bool missed);
/* A jail for the pool took so long to be made. */
void pool_plan_refilled(struct pool_plan *plan, uint64_t took_ns);
/* The target as of now: up at once, down after a while and step by step, and to `warm` when nothing came for idle_ms. */
unsigned pool_plan_target(struct pool_plan *plan, uint64_t now_ns, uint32_t idle_ms);
/* Nothing will change by itself until a call comes. */
bool pool_plan_at_rest(const struct pool_plan *plan);

#endif
