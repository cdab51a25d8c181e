#include "supervisor/drain.h"

#include "supervisor/call.h"
#include "supervisor/pool.h"

#include <stdlib.h>

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

void drain_answer(struct core *core)
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

bool drain_end(struct core *core)
{
	if (core->stopping || core->leaving)
		return false;
	core->draining = false;
	pool_soon(core); /* it made nothing meanwhile */
	drain_answer(core); /* they would wait for an end that may never come */
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
		drain_answer(core);
	return 0;
}
