/* Which pool gets the next jail, and how many are made at once: never in the way of a call. */
#include "supervisor/pool_impl.h"

#include "supervisor/sched.h"

/* Slots that a pool leaves alone, so that cold calls of other profiles begin at once. */
#define SLOTS_RESERVED 8u

static bool cold_call_first(const struct zygote *z)
{
	const struct jail *j;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z && !j->pooled && j->state <= JAIL_SPAWNING)
			return true;
	return false;
}

/* How many are missing behind this zygote. The older of two generations only serves until the younger is filled. */
static unsigned missing(const struct zygote *z)
{
	const struct zygote *young = z->standby ? NULL : zygote_standby_of(z);
	unsigned have = pool_count(z, NULL), want = z->pool->plan.target;

	if (young && young->state == ZYGOTE_READY && want > 1)
		want = 1;
	return have < want ? want - have : 0;
}

static struct zygote *neediest(struct core *core, uint64_t now_ns)
{
	struct zygote *z, *best = NULL;
	unsigned most = 0;

	LIST_FOREACH(z, &core->zygotes, link) {
		if (z->state != ZYGOTE_READY || z->retired || !z->pool || now_ns < z->pool->hold_until_ns || cold_call_first(z))
			continue;
		unsigned n = missing(z);
		if (n > most) {
			most = n;
			best = z;
		}
	}
	return best;
}

static unsigned being_made(const struct core *core)
{
	const struct jail *j;
	unsigned n = 0;

	LIST_FOREACH(j, &core->jails, link)
		n += j->pooled && j->state < JAIL_PARKED;
	return n;
}

void pool_refill(struct core *core, uint64_t now_ns)
{
	unsigned reserved = core->boot->client_fd >= 0 ? 0 : SLOTS_RESERVED;
	struct zygote *z;
	struct jail *j;
	struct err err;

	while (being_made(core) < core->boot->config.forks_max && jail_slots_free(core) > reserved && !sched_wants_room(core) &&
	       (z = neediest(core, now_ns))) {
		if (jail_spawn(z, NULL, NULL, &j, &err) < 0) {
			z->pool->failed++;
			pool_hold(z->pool);
			continue;
		}
		j->pooled = true;
	}
}
