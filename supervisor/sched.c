#include "supervisor/sched.h"

#include "supervisor/call.h"
#include "supervisor/client.h"
#include "supervisor/peers.h"
#include "supervisor/session.h"

#include <stdlib.h>

/* Sooner there is hardly ever room; later nobody should believe what was measured now. */
#define RETRY_MIN_MS 10u
#define RETRY_MAX_MS 60000u
/* Before the first call has ended: a cold one. */
#define SERVICE_FIRST_US 20000u
/* The last eight calls or so. */
#define SERVICE_WEIGHT 8
/* Nobody tells when the keeper has room for a zygote again, so what was put back for that is tried so often. */
#define ROOM_RETRY_MS 50u

struct sched {
	struct core *core;
	struct fair fair;
	TAILQ_HEAD(sched_arrivals, sched_entry) arrivals; /* of those that wait, first to give up first */
	struct event *look;                 /* begins what may go */
	struct event *late;                 /* the first of `arrivals` has waited too long */
	uint64_t round;
	struct sched_stats stats;
};

uint32_t sched_retry_ms(unsigned ahead, unsigned width, uint32_t service_us)
{
	uint64_t ms = ((uint64_t)ahead + 1) * service_us / (width ? width : 1) / 1000;

	return ms < RETRY_MIN_MS ? RETRY_MIN_MS : ms > RETRY_MAX_MS ? RETRY_MAX_MS : (uint32_t)ms;
}

static struct call *call_of(const struct fair_item *item)
{
	return (struct call *)((char *)item - offsetof(struct call, sched) - offsetof(struct sched_entry, item));
}

static struct call *call_of_entry(struct sched_entry *e)
{
	return call_of(&e->item);
}

static bool is_private(const struct core *core)
{
	return core->boot->client_fd >= 0;
}

static unsigned running_max(const struct core *core)
{
	unsigned n = core->boot->config.running_max;

	return is_private(core) || n > LIMIT_SLOTS ? LIMIT_SLOTS : n;
}

static void after(struct event *ev, uint64_t ns)
{
	const struct timeval tv = { .tv_sec = (time_t)(ns / 1000000000u), .tv_usec = (suseconds_t)(ns % 1000000000u / 1000u) };

	evtimer_add(ev, &tv);
}

/* ---- those that wait ---- */

static void late_set(struct sched *s)
{
	struct sched_entry *first = TAILQ_FIRST(&s->arrivals);
	uint64_t now = core_now_ns();

	if (!first)
		event_del(s->late);
	else
		after(s->late, first->give_up_ns > now ? first->give_up_ns - now : 0);
}

/* Sorted by when they give up: nearly always the end of the list. */
static void arrivals_insert(struct sched *s, struct sched_entry *e)
{
	struct sched_entry *before = TAILQ_LAST(&s->arrivals, sched_arrivals);

	while (before && before->give_up_ns > e->give_up_ns)
		before = TAILQ_PREV(before, sched_arrivals, arrival);
	if (before)
		TAILQ_INSERT_AFTER(&s->arrivals, before, e, arrival);
	else
		TAILQ_INSERT_HEAD(&s->arrivals, e, arrival);
	if (e == TAILQ_FIRST(&s->arrivals))
		late_set(s);
}

static int wait_add(struct sched *s, struct call *c, bool first)
{
	struct sched_entry *e = &c->sched;
	int r = first ? fair_put_back(&s->fair, &e->item, c->uid, c->flow) : fair_add(&s->fair, &e->item, c->uid, c->flow);

	if (r < 0)
		return r;
	e->place = SCHED_WAITS;
	arrivals_insert(s, e);
	return 0;
}

static void wait_end(struct sched *s, struct sched_entry *e)
{
	bool was_first = e == TAILQ_FIRST(&s->arrivals);

	fair_remove(&s->fair, &e->item);
	TAILQ_REMOVE(&s->arrivals, e, arrival);
	e->place = SCHED_NOWHERE;
	if (was_first)
		late_set(s);
}

static uint32_t retry_ms(const struct sched *s)
{
	return sched_retry_ms(s->fair.count, running_max(s->core), s->stats.service_us);
}

static void on_late(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct sched *s = arg;
	struct sched_entry *e;
	struct err why;

	while ((e = TAILQ_FIRST(&s->arrivals)) && e->give_up_ns <= core_now_ns()) {
		err_set(&why, ERR_HOST, EAGAIN, "queue_wait", "the call waited %u ms for its turn, as long as it may",
			s->core->boot->config.queue_wait_ms);
		err_hint(&why, "try again; if this is common, send fewer calls at once, or raise running_max or queue_wait");
		s->stats.refused_waited++;
		call_refuse_busy(call_of_entry(e), &why, retry_ms(s)); /* sched_done() takes it out */
	}
	late_set(s);
}

bool sched_wants_room(const struct core *core)
{
	const struct sched *s = core->sched;

	return s->fair.count > 0 && s->stats.running < running_max(core);
}

/* ---- whose turn it is ---- */

/* One for which there was no room in this round stands back until the next. */
static bool may_go(const struct fair_item *item, void *arg)
{
	const struct sched *s = arg;

	return call_of(item)->sched.tried != s->round && !session_busy(call_of(item)->session) && peer_may_run(call_of(item)->peer);
}

static void begin(struct sched *s, struct call *c)
{
	c->sched.place = SCHED_RUNS;
	c->sched.begun_ns = core_now_ns();
	s->stats.running++;
	peer_run_begin(c->peer);
	call_begin(c);
}

/* From the event loop only, so that an answer that is being made is sent before another call begins. */
static void on_look(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct sched *s = arg;
	struct fair_item *item;

	s->round++;
	while (s->stats.running < running_max(s->core) && (item = fair_next(&s->fair, may_go, s))) {
		struct call *c = call_of(item);

		TAILQ_REMOVE(&s->arrivals, &c->sched, arrival);
		begin(s, c);
	}
	late_set(s);
}

void sched_room(struct core *core)
{
	if (core->sched && core->sched->fair.count > 0)
		after(core->sched->look, 0); /* not event_active(): libevent would run it again and again before it looks at a socket */
}

static void refuse_full(struct sched *s, struct call *c)
{
	struct err why;

	err_set(&why, ERR_HOST, EAGAIN, "queue_max", "%u calls wait already, and there is room for no more", s->fair.count);
	err_hint(&why, "try again after retry_after_ms; if this is common, send fewer calls at once, or raise queue_max");
	s->stats.refused_full++;
	call_refuse_busy(c, &why, retry_ms(s));
}

void sched_submit(struct call *c)
{
	struct core *core = c->core;
	struct sched *s = core->sched;

	/* From now: what it waited for before, a person or a decision point, was no turn. */
	c->sched.give_up_ns = core_now_ns() + core->boot->config.queue_wait_ms * UINT64_C(1000000);
	/* Nobody is passed over: with an empty queue it is this one's turn. A private supervisor refuses what it has no room for. */
	if (!session_busy(c->session) && peer_may_run(c->peer) && (is_private(core) || (s->fair.count == 0 && s->stats.running < running_max(core))))
		begin(s, c);
	else if (s->fair.count >= core->boot->config.queue_max)
		refuse_full(s, c);
	else if (wait_add(s, c, false) < 0)
		refuse_full(s, c);
	else
		sched_room(core);
}

bool sched_put_back(struct call *c)
{
	struct sched *s = c->core->sched;

	if (is_private(c->core) || c->sched.place != SCHED_RUNS || wait_add(s, c, true) < 0)
		return false;
	s->stats.running--;
	peer_run_end(c->peer);
	s->stats.no_room++;
	c->sched.tried = s->round;
	if (!event_pending(s->look, EV_TIMEOUT, NULL))
		after(s->look, ROOM_RETRY_MS * UINT64_C(1000000));
	return true;
}

void sched_done(struct call *c)
{
	struct sched *s = c->core->sched;
	struct sched_entry *e = &c->sched;

	if (e->place == SCHED_WAITS) {
		wait_end(s, e);
	} else if (e->place == SCHED_RUNS) {
		uint64_t us = (core_now_ns() - e->begun_ns) / 1000;
		int64_t step = ((int64_t)(us < UINT32_MAX ? us : UINT32_MAX) - (int64_t)s->stats.service_us) / SERVICE_WEIGHT;

		s->stats.running--;
		peer_run_end(c->peer);
		s->stats.service_us = (uint32_t)((int64_t)s->stats.service_us + step);
		e->place = SCHED_NOWHERE;
		sched_room(c->core);
	}
}

void sched_stats_get(const struct core *core, struct sched_stats *ret)
{
	*ret = core->sched->stats;
	ret->waiting = core->sched->fair.count;
}

int sched_open(struct core *core)
{
	struct sched *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->core = core;
	s->stats.service_us = SERVICE_FIRST_US;
	fair_init(&s->fair);
	TAILQ_INIT(&s->arrivals);
	s->look = evtimer_new(core->base, on_look, s);
	s->late = evtimer_new(core->base, on_late, s);
	core->sched = s;
	return s->look && s->late ? 0 : -ENOMEM;
}

void sched_close(struct core *core)
{
	struct sched *s = core->sched;

	if (!s)
		return;
	if (s->look)
		event_free(s->look);
	if (s->late)
		event_free(s->late);
	free(s);
	core->sched = NULL;
}
