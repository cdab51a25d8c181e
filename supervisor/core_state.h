/* What core's modules share: one instance, made in core_main(). */
#ifndef BRIG_SUPERVISOR_CORE_STATE_H
#define BRIG_SUPERVISOR_CORE_STATE_H

#include "supervisor/core.h"

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

struct audit_client;
struct courier_client;
struct server;
struct metrics;
struct policy;
struct pools;
struct zygote;
struct jail;
struct call;
struct client;
struct drain_waiter;
struct gate_memory;
struct sched;
struct session;
struct store;
struct tool_watch;
struct trial;

struct core {
	struct core_boot *boot;
	struct event_base *base;
	struct profile_cache *profiles;
	struct policy *policy;
	struct metrics *metrics;
	struct tool_watch *watch;   /* NULL until a tool is called */
	struct server *server;           /* NULL in a private supervisor */
	struct store *store;        /* NULL until somebody asks: store_of() */
	bool store_files;           /* its files are here */
	struct courier_client *courier; /* NULL until something is sent */
	struct audit_client *audit; /* NULL: no log, in a private supervisor */
	LIST_HEAD(, client) clients;
	LIST_HEAD(, zygote) zygotes;
	LIST_HEAD(, jail) jails;
	LIST_HEAD(, call) calls;
	LIST_HEAD(, session) sessions;
	LIST_HEAD(, gate_memory) gate_memories; /* of uids; a session has its own */
	struct event *approvals_ev;       /* approvals_wait.c */
	LIST_HEAD(, trial) trials;        /* doctor's jails: trial.c */
	struct sched *sched;
	struct pools *pools;
	uint64_t slots_used;             /* bit k: slot k has a cgroup or a process */
	uint64_t started_ns;
	uint64_t next_seq;               /* of jails; never 0 */
	uint32_t next_gen;               /* of zygotes; never 0 */
	uint32_t rebuilds;               /* changes of the set of tools by agents: max_rebuilds */
	bool draining;                   /* no new calls */
	bool stopping;                   /* and when there is none left, leave */
	bool leaving;                    /* end when the last jail is */
	struct event *life_evs[5];       /* core_life.c */
	LIST_HEAD(, drain_waiter) drain_waiters;
};

/* New calls are busy from now on; what was accepted goes on. */
void core_drain(struct core *core);
/* That, and core leaves when nothing runs any more, or after drain_ms. */
void core_stop(struct core *core);
/* Reads configuration and profiles again (through the keeper), checks all, then works with them; or says why not, and
 * nothing has changed. Blocks meanwhile. What runs ends on what it began with. */
int core_reload(struct core *core, struct err *err);
/* Into the audit log: which rules hold from now on. */
void core_note_policy(struct core *core);
/* A daemon's signals and signs of life; says READY. And their end. */
int core_life_open(struct core *core, struct err *err);
void core_life_close(struct core *core);

/* Nothing new begins, what runs is cancelled, parked jails go; then core ends. */
void core_leave(struct core *core);
/* Ends the loop as soon as nothing runs any more; called whenever something ended. */
void core_leave_if_idle(struct core *core);

uint64_t core_now_ns(void); /* CLOCK_MONOTONIC */

#endif
