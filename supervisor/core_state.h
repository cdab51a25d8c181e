/* What core's modules share: one instance, made in core_main(). */
#ifndef BRIG_SUPERVISOR_CORE_STATE_H
#define BRIG_SUPERVISOR_CORE_STATE_H

#include "supervisor/core.h"

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

struct evconnlistener;
struct zygote;
struct jail;
struct call;
struct client;
struct drain_waiter;

struct core {
	struct core_boot *boot;
	struct event_base *base;
	struct profile_cache *profiles;
	struct evconnlistener *listeners[2]; /* agent, admin; NULL in a private supervisor */
	LIST_HEAD(, client) clients;
	LIST_HEAD(, zygote) zygotes;
	LIST_HEAD(, jail) jails;
	LIST_HEAD(, call) calls;
	uint64_t slots_used;             /* bit k: slot k has a cgroup or a process */
	uint64_t next_seq;               /* of jails; never 0 */
	uint32_t next_gen;               /* of zygotes; never 0 */
	bool leaving;                    /* end when the last jail is */
	bool draining;                   /* no call is taken (drain.h) */
	struct event *drain_ev;          /* set once core is to end when it is idle */
	uint64_t drain_due_ns;
	LIST_HEAD(, drain_waiter) drain_waiters;
};

/* Nothing new begins, what runs is cancelled, parked jails go; then core ends. */
void core_leave(struct core *core);
/* Ends the loop as soon as nothing runs any more; called whenever something ended. */
void core_leave_if_idle(struct core *core);

uint64_t core_now_ns(void); /* CLOCK_MONOTONIC */

#endif
