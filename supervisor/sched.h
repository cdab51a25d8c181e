/* The queue: which call gets a jail next, and when a call is told to come again.
 * A call waits until sched begins it, then counts as running until it is answered.
 * Core only.
 *
 * Turns go by user, then by session or connection (fair.h). At most running_max run;
 * at most queue_max wait, none longer than queue_wait_ms. A private supervisor has
 * one client, who waits for nobody but himself: there nothing is queued. */
#ifndef BRIG_SUPERVISOR_SCHED_H
#define BRIG_SUPERVISOR_SCHED_H

#include "supervisor/core_state.h"
#include "supervisor/fair.h"

struct call;

enum sched_place { SCHED_NOWHERE, SCHED_WAITS, SCHED_RUNS };

/* A call's part in it. */
struct sched_entry {
	struct fair_item item;
	TAILQ_ENTRY(sched_entry) arrival;
	enum sched_place place;
	uint64_t give_up_ns;  /* waits no longer than until then */
	uint64_t begun_ns;    /* when its turn came */
	uint64_t tried;       /* the round in which there was no room for it */
};

/* Core's start and end. -errno: no memory. */
int sched_open(struct core *core);
void sched_close(struct core *core);

/* Begins it (call_begin), queues it, or has it answered as busy (call_refuse_busy); it may be freed on return. */
void sched_submit(struct call *call);
/* call_begin() found no room: it waits for some, first of its flow. False: here nobody waits for room. */
bool sched_put_back(struct call *call);
/* It leaves the queue, or its place among the running; every call once, before it is freed. One that never came here: nothing happens. */
void sched_done(struct call *call);
/* There may be room now, or a call may go that had to wait: a jail or a zygote is gone, a session is free. Looks soon, not now. */
void sched_room(struct core *core);

/* Somebody's turn has come and there is no room for him: what can wait must. */
bool sched_wants_room(const struct core *core);

struct sched_stats {
	unsigned waiting, running;
	uint64_t refused_full, refused_waited; /* busy: queue_max, queue_wait_ms */
	uint64_t no_room;                      /* put back for lack of a slot or a zygote */
	uint32_t service_us;                   /* what a call takes from its turn to its answer, smoothed */
};
void sched_stats_get(const struct core *core, struct sched_stats *ret);
/* When it is worth to ask again, with so many calls ahead, of which `width` run at a time, `service_us` each. */
uint32_t sched_retry_ms(unsigned ahead, unsigned width, uint32_t service_us);

#endif
