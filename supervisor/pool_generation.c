/* Zygotes by generation. All jails of one zygote share what its start made at random (addresses, the string-hash
 * secret), so it is replaced after so many calls or so long: a younger one is started beside it and filled, and only
 * then the older gets no more calls. It ends when its last jail is gone. */
#include "supervisor/keeper_proto.h"
#include "supervisor/pool_impl.h"

/* A younger generation that is not filled by then serves all the same. */
#define FILL_MAX_NS (2000 * UINT64_C(1000000))
/* The keeper had no room for one, or it could not be started: as long as the old one works, there is time. */
#define AGAIN_NS (2000 * UINT64_C(1000000))
/* Zygotes that calls of other profiles may need at once. */
#define ZYGOTES_RESERVED 2u

static bool is_old(const struct zygote *z, uint64_t now_ns)
{
	return z->state == ZYGOTE_READY && (z->calls >= z->calls_max || now_ns >= z->retire_ns);
}

static bool keeper_has_room(const struct core *core)
{
	return zygote_count(core) + ZYGOTES_RESERVED < KEEPER_ZYGOTES;
}

static void retire(struct pool *p, struct zygote *z)
{
	p->retired++;
	z->retired = true;
	pool_shed(z, 0);
}

static void replace(struct pool *p, struct zygote *old, struct zygote *young, uint64_t now_ns)
{
	unsigned parked;

	if (young->state != ZYGOTE_READY)
		return;
	pool_count(young, &parked);
	if (parked < p->plan.target && now_ns - young->ready_ns < FILL_MAX_NS)
		return;
	young->standby = false;
	retire(p, old);
}

static void grow_old(struct pool *p, struct zygote *z, uint64_t now_ns)
{
	struct zygote *young;
	struct err err;

	if (!is_old(z, now_ns))
		return;
	if (!pool_wanted(p, now_ns)) {
		retire(p, z); /* the next call, if one ever comes, starts another */
		return;
	}
	if (now_ns < p->standby_after_ns)
		return;
	if (keeper_has_room(p->core) && zygote_standby(z, &young, &err) == 0)
		young->pool = p;
	else
		p->standby_after_ns = now_ns + AGAIN_NS;
}

void pool_generation(struct pool *p, uint64_t now_ns)
{
	struct zygote *z = zygote_find(p->core, p->profile, p->options);
	struct zygote *young = z ? zygote_standby_of(z) : NULL;
	struct err err;

	if (!z) {
		if (p->plan.target > 0 && pool_wanted(p, now_ns) && now_ns >= p->hold_until_ns && keeper_has_room(p->core) &&
		    zygote_get(p->core, p->profile, p->options, &z, &err) == 0)
			z->pool = p;
		return;
	}
	z->pool = p;
	pool_shed(z, p->plan.target);
	if (young)
		replace(p, z, young, now_ns);
	else
		grow_old(p, z, now_ns);
}

uint64_t pool_generation_due(const struct pool *p)
{
	const struct zygote *z = zygote_find(p->core, p->profile, p->options);
	const struct zygote *young = z ? zygote_standby_of(z) : NULL;
	uint64_t due = z && z->state == ZYGOTE_READY ? z->retire_ns : UINT64_MAX;

	if (young) /* READY comes by itself */
		return young->state == ZYGOTE_READY ? young->ready_ns + FILL_MAX_NS : UINT64_MAX;
	return due < p->standby_after_ns ? p->standby_after_ns : due;
}
