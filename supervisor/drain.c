#include "supervisor/drain.h"

#include "supervisor/call.h"

#include <stdlib.h>

/* Whoever is told to come back should find the next brigd: a restart takes about so long. */
#define RETRY_MS 2000

struct drain_waiter {
	LIST_ENTRY(drain_waiter) link;
	struct pending *pending;
};

void drain_print(const struct core *core, struct jbuf *b)
{
	struct call *c;
	unsigned calls = 0;

	LIST_FOREACH(c, &core->calls, link)
		calls++;
	jbuf_printf(b, "{\"draining\":%s,\"calls\":%u}", core->draining ? "true" : "false", calls);
}

static void waiters_answer(struct core *core)
{
	struct drain_waiter *w;

	while ((w = LIST_FIRST(&core->drain_waiters))) {
		struct jbuf b;

		LIST_REMOVE(w, link);
		jbuf_init(&b, LIMIT_ERROR_BYTES);
		drain_print(core, &b);
		pending_answer(w->pending, &b);
		jbuf_done(&b);
		free(w);
	}
}

void drain_begin(struct core *core)
{
	core->draining = true;
}

bool drain_end(struct core *core)
{
	if (core->drain_ev || core->leaving)
		return false;
	core->draining = false;
	waiters_answer(core); /* they would wait for an end that may never come */
	return true;
}

int drain_wait(struct core *core, struct pending *pending)
{
	struct drain_waiter *w = calloc(1, sizeof(*w));

	if (!w) {
		pending_free(pending);
		return -ENOMEM;
	}
	w->pending = pending;
	LIST_INSERT_HEAD(&core->drain_waiters, w, link);
	if (LIST_EMPTY(&core->calls))
		waiters_answer(core);
	return 0;
}

void drain_idle(struct core *core)
{
	waiters_answer(core);
	if (core->drain_ev && !core->leaving)
		core_leave(core);
}

static void call_end(struct call *c)
{
	struct err why;

	if (c->state == CALL_QUEUED) {
		err_set(&why, ERR_HOST, EAGAIN, "drain", "brigd is being stopped, and the call was still in its queue");
		err_hint(&why, "nothing of it ran: send it again once brigd is back");
		call_refuse_busy(c, &why, RETRY_MS);
	} else {
		err_set(&why, ERR_HOST, ECANCELED, "drain", "brigd was stopped while the call ran");
		call_fail(c, &why);
	}
}

static void on_deadline(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct core *core = arg;
	struct call *c, *next;

	for (c = LIST_FIRST(&core->calls); c; c = next) {
		next = LIST_NEXT(c, link);
		call_end(c);
	}
	if (!core->leaving)
		core_leave(core);
}

void drain_and_leave(struct core *core, uint32_t ms)
{
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };
	uint64_t due = core_now_ns() + (uint64_t)ms * 1000000;

	core->draining = true;
	if (!core->drain_ev)
		core->drain_ev = evtimer_new(core->base, on_deadline, core);
	if (!core->drain_ev) {
		on_deadline(-1, 0, core); /* no memory for patience */
		return;
	}
	if (!core->drain_due_ns || due < core->drain_due_ns) {
		core->drain_due_ns = due;
		evtimer_add(core->drain_ev, &tv);
	}
	if (LIST_EMPTY(&core->calls))
		drain_idle(core);
}

void drain_done(struct core *core)
{
	struct drain_waiter *w;

	while ((w = LIST_FIRST(&core->drain_waiters))) {
		LIST_REMOVE(w, link);
		pending_free(w->pending);
		free(w);
	}
	if (core->drain_ev)
		event_free(core->drain_ev);
}
