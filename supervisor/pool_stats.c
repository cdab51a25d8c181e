/* Pools as an operator sees them. */
#include "supervisor/pool_impl.h"

#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void refills_get(const struct pool *p, struct pool_stats *ret)
{
	uint32_t sorted[POOL_REFILLS];
	size_t n = p->refills < POOL_REFILLS ? (size_t)p->refills : POOL_REFILLS;

	if (n == 0)
		return;
	memcpy(sorted, p->refill_us, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_size);
	ret->refill_p50_us = sorted[n / 2];
	ret->refill_p99_us = sorted[n * 99 / 100];
}

static void zygotes_get(const struct pool *p, struct pool_stats *ret)
{
	const struct zygote *z;
	const struct jail *j;

	LIST_FOREACH(z, &p->core->zygotes, link) {
		unsigned parked;

		if (z->pool != p || z->state == ZYGOTE_DEAD)
			continue;
		if (z->retired)
			ret->retiring++;
		else if (!z->standby)
			ret->generation = z->gen;
		ret->starting += pool_count(z, &parked) - parked;
		ret->parked += parked;
		LIST_FOREACH(j, &p->core->jails, link)
			ret->running += j->zygote == z && !j->pooled && j->fn && j->state <= JAIL_RUNNING;
	}
}

static void stats_of(const struct pool *p, struct pool_stats *ret)
{
	*ret = (struct pool_stats){
		.profile = profile_name(p->profile),
		.best_effort = p->options & ZYGOTE_BEST_EFFORT,
		.warm = p->plan.warm,
		.max = p->plan.max,
		.target = p->plan.target,
		.taken = p->taken,
		.cold = p->cold,
		.died_parked = p->died_parked,
		.failed = p->failed,
		.retired = p->retired,
	};
	refills_get(p, ret);
	zygotes_get(p, ret);
}

bool pool_stats_get(const struct core *core, unsigned i, struct pool_stats *ret)
{
	const struct pool *p;

	LIST_FOREACH(p, &core->pools->list, link)
		if (i-- == 0) {
			stats_of(p, ret);
			return true;
		}
	return false;
}

static void print_one(const struct pool_stats *s, struct jbuf *out)
{
	jbuf_text(out, "{\"profile\":");
	jbuf_cstring(out, s->profile);
	jbuf_printf(out, ",\"best_effort\":%s,\"warm\":%u,\"max\":%u,\"target\":%u,\"parked\":%u,\"starting\":%u,\"running\":%u",
		    s->best_effort ? "true" : "false", s->warm, s->max, s->target, s->parked, s->starting, s->running);
	jbuf_printf(out, ",\"taken\":%llu,\"cold\":%llu,\"died_parked\":%llu,\"failed\":%llu", (unsigned long long)s->taken,
		    (unsigned long long)s->cold, (unsigned long long)s->died_parked, (unsigned long long)s->failed);
	jbuf_printf(out, ",\"refill_p50_ms\":%.3f,\"refill_p99_ms\":%.3f", s->refill_p50_us / 1e3, s->refill_p99_us / 1e3);
	jbuf_printf(out, ",\"generation\":%u,\"retiring\":%u,\"retired\":%llu}", s->generation, s->retiring, (unsigned long long)s->retired);
}

void pool_print(struct core *core, struct jbuf *out)
{
	struct pool_stats s;

	jbuf_printf(out, "{\"forks_max\":%u,\"slots\":%d,\"slots_free\":%u,\"pools\":[", core->boot->config.forks_max, LIMIT_SLOTS,
		    jail_slots_free(core));
	for (unsigned i = 0; pool_stats_get(core, i, &s); i++) {
		jbuf_text(out, i ? "," : "");
		print_one(&s, out);
	}
	jbuf_text(out, "]}");
}
