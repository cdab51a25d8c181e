#include "supervisor/pool_impl.h"

#include "supervisor/log.h"
#include "supervisor/metrics.h"
#include "supervisor/profile_cache.h"
#include "supervisor/sched.h"
#include "supervisor/session.h"

#include <stdlib.h>
#include <string.h>

/* The answer is out and its reader awake by then; a refill costs a few milliseconds of one core. */
#define SOON_NS (1 * UINT64_C(1000000))
/* After a call has taken one: most are over by then, and what follows one that is not can wait no longer. */
#define TAKEN_NS (10 * UINT64_C(1000000))
/* While a target may sink. */
#define TICK_NS (1000 * UINT64_C(1000000))
/* At rest somebody looks all the same: the list of what wakes us need not be perfect. */
#define REST_NS (60000 * UINT64_C(1000000))
/* Below that what waits makes room before a call has to ask for it. */
#define SLOTS_LOW 3u
/* A jail that dies as soon as it is parked is replaced ever more slowly. */
#define HOLD_FIRST_MS 100u
#define HOLD_LAST_MS 30000u
/* One that lived longer did not die of how it was made. */
#define LIVED_NS (10000 * UINT64_C(1000000))
/* Profiles that were used and have no zygote any more keep their history up to this many pools. */
#define POOLS_MAX 64u

static bool is_private(const struct core *core)
{
	return core->boot->client_fd >= 0;
}

static void arm(struct core *core, uint64_t delay_ns)
{
	struct pools *ps = core->pools;
	uint64_t due = core_now_ns() + delay_ns;
	const struct timeval tv = { .tv_sec = (time_t)(delay_ns / 1000000000u), .tv_usec = (suseconds_t)(delay_ns % 1000000000u / 1000u) };

	if (!ps || (ps->due_ns && ps->due_ns <= due))
		return;
	ps->due_ns = due;
	evtimer_add(ps->pump, &tv);
}

void pool_soon(struct core *core)
{
	arm(core, SOON_NS);
}

/* ---- pools ---- */

struct pool *pool_find(const struct core *core, const struct profile *profile, unsigned options)
{
	struct pool *p;

	LIST_FOREACH(p, &core->pools->list, link)
		if (p->options == options && strcmp(profile_digest(p->profile), profile_digest(profile)) == 0)
			return p;
	return NULL;
}

static void pool_free(struct pool *p)
{
	struct zygote *z;

	LIST_FOREACH(z, &p->core->zygotes, link)
		if (z->pool == p)
			z->pool = NULL;
	LIST_REMOVE(p, link);
	profile_free(p->profile);
	free(p);
}

static bool has_zygote(const struct pool *p)
{
	const struct zygote *z;

	LIST_FOREACH(z, &p->core->zygotes, link)
		if (z->pool == p && z->state != ZYGOTE_DEAD)
			return true;
	return false;
}

/* The one without a zygote that was not called for longest, once there are too many. */
static void drop_oldest(struct core *core)
{
	struct pool *p, *oldest = NULL;
	unsigned n = 0;

	LIST_FOREACH(p, &core->pools->list, link) {
		n++;
		if (!has_zygote(p) && !p->prewarm && (!oldest || p->plan.arrival_ns < oldest->plan.arrival_ns))
			oldest = p;
	}
	if (n >= POOLS_MAX && oldest)
		pool_free(oldest);
}

static void sizes_set(struct pool *p)
{
	unsigned warm = p->core->boot->config.warm;
	struct pool_plan fresh;

	if (is_private(p->core) || (p->options & ZYGOTE_SESSION))
		pool_plan_init(&fresh, warm, warm);
	else
		pool_plan_init(&fresh, profile_warm(p->profile), profile_max(p->profile));
	p->plan.warm = fresh.warm;
	p->plan.max = fresh.max;
	p->plan.boost = 0;
	p->plan.target = fresh.target;
}

static struct pool *pool_get(struct core *core, struct profile *profile, unsigned options)
{
	struct pool *p = pool_find(core, profile, options);

	if (p)
		return p;
	drop_oldest(core);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->core = core;
	p->profile = profile_ref(profile);
	p->options = options;
	pool_plan_init(&p->plan, 0, 0);
	sizes_set(p);
	LIST_INSERT_HEAD(&core->pools->list, p, link);
	return p;
}

bool pool_wanted(const struct pool *p, uint64_t now_ns)
{
	return p->prewarm || (p->plan.arrival_ns && now_ns - p->plan.arrival_ns < p->core->boot->config.pool_idle_ms * UINT64_C(1000000));
}

void pool_hold(struct pool *p)
{
	p->hold_ms = p->hold_ms ? p->hold_ms * 2 : HOLD_FIRST_MS;
	if (p->hold_ms > HOLD_LAST_MS)
		p->hold_ms = HOLD_LAST_MS;
	p->hold_until_ns = core_now_ns() + p->hold_ms * UINT64_C(1000000);
}

/* ---- calls take ---- */

int pool_take(struct core *core, struct profile *profile, unsigned options, jail_fn fn, void *arg, struct zygote **ret_zygote,
	      struct jail **ret, struct err *err)
{
	struct pool *p = pool_get(core, profile, options);
	bool first = p && !p->plan.arrival_ns;
	int r = p ? zygote_get(core, p->profile, options, ret_zygote, err) : err_set(err, ERR_HOST, ENOMEM, "core", "no memory for the pool");

	if (r < 0)
		return r;
	(*ret_zygote)->pool = p;
	*ret = jail_take_parked(*ret_zygote, fn, arg);
	if (*ret) {
		p->taken++;
		p->hold_ms = 0;
	} else {
		r = jail_spawn(*ret_zygote, fn, arg, ret, err);
		if (r < 0)
			return r;
		p->cold++;
	}
	(*ret_zygote)->calls++;
	pool_plan_arrival(&p->plan, core_now_ns(), !(*ret)->receipt.warm && !first);
	arm(core, TAKEN_NS);
	return 0;
}

/* ---- jails that wait ---- */

unsigned pool_count(const struct zygote *z, unsigned *ret_parked)
{
	const struct jail *j;
	unsigned parked = 0, starting = 0;

	LIST_FOREACH(j, &z->core->jails, link) {
		if (j->zygote != z || !j->pooled)
			continue;
		parked += j->state == JAIL_PARKED;
		starting += j->state < JAIL_PARKED;
	}
	if (ret_parked)
		*ret_parked = parked;
	return parked + starting;
}

void pool_shed(struct zygote *z, unsigned keep)
{
	struct jail *j, *next;

	for (j = LIST_FIRST(&z->core->jails); j; j = next) {
		next = LIST_NEXT(j, link);
		if (j->zygote != z || !j->pooled || j->state != JAIL_PARKED)
			continue;
		if (keep > 0)
			keep--;
		else
			jail_abandon(j);
	}
}

/* Of the pool that was not called for longest the one that waited longest. */
static struct jail *least_needed(struct core *core)
{
	struct jail *j, *least = NULL;

	LIST_FOREACH(j, &core->jails, link) {
		if (!j->pooled || j->state != JAIL_PARKED)
			continue;
		uint64_t used = j->zygote->pool ? j->zygote->pool->plan.arrival_ns : 0;
		uint64_t least_used = least && least->zygote->pool ? least->zygote->pool->plan.arrival_ns : 0;
		if (!least || used < least_used || (used == least_used && j->parked_ns < least->parked_ns))
			least = j;
	}
	return least;
}

static unsigned going(const struct core *core)
{
	const struct jail *j;
	unsigned n = 0;

	LIST_FOREACH(j, &core->jails, link)
		n += j->state == JAIL_DYING && !j->told;
	return n;
}

void pool_evict(struct core *core)
{
	struct jail *j = going(core) ? NULL : least_needed(core);

	if (j)
		jail_abandon(j);
}

static void note_refill(struct pool *p, uint64_t took_ns)
{
	uint64_t us = took_ns / 1000;

	p->refill_us[p->refills++ % POOL_REFILLS] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
	pool_plan_refilled(&p->plan, took_ns);
}

static void died_parked(struct pool *p, const struct jail *j)
{
	p->died_parked++;
	metrics_pool_died(p->core);
	if (core_now_ns() - j->parked_ns < LIVED_NS)
		pool_hold(p);
}

void pool_jail_news(struct jail *j, enum jail_news news)
{
	struct pool *p = j->zygote->pool;

	if (news == JAIL_NEWS_PARKED) {
		metrics_pool_parked(j->core, j->spawn_ns);
		sched_room(j->core); /* a call that found no slot may find this one */
	}
	if (p && news == JAIL_NEWS_PARKED) {
		note_refill(p, j->spawn_ns);
	} else if (p && news == JAIL_NEWS_FAILED) {
		p->failed++;
		pool_hold(p);
	} else if (p && news == JAIL_NEWS_ENDED && j->parked_ns && !j->killed) {
		died_parked(p, j);
	}
	pool_soon(j->core);
}

void pool_zygote_changed(struct zygote *z)
{
	struct zygote *young = z->state == ZYGOTE_DEAD && !z->standby ? zygote_standby_of(z) : NULL;
	struct pool *p = z->pool;

	if (young)
		young->standby = false;
	if (p && z->state == ZYGOTE_DEAD && !z->retired) {
		pool_hold(p);
		p->standby_after_ns = p->hold_until_ns; /* it may have been a younger one that could not start */
	}
	sched_room(z->core);
	pool_soon(z->core);
}

/* ---- the pump ---- */

/* Calls are about to find no slot: what waits for others makes room ahead of them. */
static void keep_slots(struct core *core)
{
	struct jail *j;

	if (is_private(core))
		return;
	while (jail_slots_free(core) + going(core) < SLOTS_LOW && (j = least_needed(core)))
		jail_abandon(j);
}

/* One that has no pool (of sessions, of doctor) is not replaced ahead: its jails stay, the next one gets another zygote. What
 * was being made when its zygote was retired parks after that, and goes. */
static void see_to_zygotes(struct core *core, uint64_t now_ns)
{
	struct zygote *z;

	LIST_FOREACH(z, &core->zygotes, link) {
		if (!z->pool && z->state == ZYGOTE_READY && now_ns >= z->retire_ns)
			z->retired = true;
		if (z->retired && z->state != ZYGOTE_DEAD)
			pool_shed(z, 0);
	}
	zygote_sweep(core);
}

static void on_pump(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct pools *ps = arg;
	struct core *core = ps->core;
	uint64_t now = core_now_ns(), next = now + REST_NS;
	struct pool *p;

	ps->due_ns = 0;
	see_to_zygotes(core, now);
	if (core->draining)
		return;
	LIST_FOREACH(p, &ps->list, link) {
		pool_plan_target(&p->plan, now, core->boot->config.pool_idle_ms);
		pool_generation(p, now);
		uint64_t due = pool_generation_due(p);
		if (!pool_plan_at_rest(&p->plan) && now + TICK_NS < due)
			due = now + TICK_NS;
		if (p->hold_until_ns > now && p->hold_until_ns < due)
			due = p->hold_until_ns;
		next = due < next ? due : next;
	}
	keep_slots(core);
	pool_refill(core, now);
	arm(core, next > now ? next - now : SOON_NS);
}

/* ---- configuration ---- */

static void prewarm(struct core *core)
{
	const struct config_names *names = &core->boot->config.prewarm;
	struct profile *profile;
	struct pool *p;
	struct err err;

	LIST_FOREACH(p, &core->pools->list, link)
		p->prewarm = false;
	for (uint32_t i = 0; i < names->count && !is_private(core); i++) {
		if (profile_cache_get(core->profiles, names->name[i], NULL, NULL, 0, &profile, &err) < 0) {
			log_err(LOG_WARNING, "prewarm_failed", LOG_NONE, &err);
			continue;
		}
		p = pool_get(core, profile, 0);
		if (p)
			p->prewarm = true;
		profile_free(profile);
	}
	pool_soon(core);
}

/* What the store says of that name now, if it is the same jail; else NULL. */
static struct profile *same_still(struct core *core, const struct profile *old)
{
	struct profile *now;
	struct err err;

	if (profile_cache_get(core->profiles, profile_name(old), NULL, NULL, 0, &now, &err) < 0)
		return NULL;
	if (strcmp(profile_digest(now), profile_digest(old)) == 0)
		return now;
	profile_free(now);
	return NULL;
}

void pool_profiles_changed(struct core *core)
{
	struct zygote *z;
	struct pool *p, *next;
	struct profile *now;

	session_profiles_changed(core);
	LIST_FOREACH(z, &core->zygotes, link) {
		if (z->state == ZYGOTE_DEAD || (z->options & ZYGOTE_SESSION))
			continue;
		now = same_still(core, z->profile);
		if (!now) {
			z->retired = true;
			pool_shed(z, 0);
		}
		profile_free(now);
	}
	for (p = LIST_FIRST(&core->pools->list); p; p = next) {
		next = LIST_NEXT(p, link);
		now = same_still(core, p->profile);
		if (!now) {
			pool_free(p);
			continue;
		}
		profile_free(p->profile);
		p->profile = now;
		sizes_set(p);
	}
	prewarm(core);
}

int pool_open(struct core *core)
{
	struct pools *ps = calloc(1, sizeof(*ps));

	if (!ps)
		return -ENOMEM;
	ps->core = core;
	LIST_INIT(&ps->list);
	core->pools = ps;
	ps->pump = evtimer_new(core->base, on_pump, ps);
	if (!ps->pump)
		return -ENOMEM;
	prewarm(core);
	return 0;
}

void pool_close(struct core *core)
{
	struct pools *ps = core->pools;

	if (!ps)
		return;
	while (!LIST_EMPTY(&ps->list))
		pool_free(LIST_FIRST(&ps->list));
	if (ps->pump)
		event_free(ps->pump);
	free(ps);
	core->pools = NULL;
}
