/* Core's handle of one zygote: started by the keeper, spoken to by core alone.
 * One for each distinct spec (profile, the caller's best-effort word, single calls or sessions). */
#ifndef BRIG_SUPERVISOR_ZYGOTE_H
#define BRIG_SUPERVISOR_ZYGOTE_H

#include "jail/zygote_proto.h"
#include "supervisor/core_state.h"

/* What a spec has beyond its profile's. */
enum zygote_option {
	ZYGOTE_BEST_EFFORT = 1u << 0, /* the caller's word */
	ZYGOTE_SESSION = 1u << 1,     /* its jails take many calls; never pooled */
};

enum zygote_state { ZYGOTE_STARTING, ZYGOTE_READY, ZYGOTE_DEAD };

struct zygote {
	LIST_ENTRY(zygote) link;
	struct core *core;
	enum zygote_state state;
	uint32_t gen;
	pid_t pid;                 /* for people to look at; 0 until the keeper started it */
	int control;               /* SEQPACKET; -1 while the keeper has no room for it yet */
	struct event *readable;
	struct event *timer;       /* STARTING: asks the keeper again, or gives up */
	uint64_t give_up_ns;
	struct profile *profile;   /* a reference of ours */
	unsigned options;          /* enum zygote_option */
	struct jail_spec *spec;    /* owned copy: the profile's, with the options added */
	uint32_t first_host_uid;
	enum layer failed_layer;   /* DEAD: what stopped it */
	bool start_failed;         /* DEAD before READY */
	struct err why;
	struct pool *pool;         /* whose jails it makes, or NULL */
	bool standby;              /* a younger generation, until it is filled: nobody is given a jail of it */
	bool retired;              /* gets no more calls; ends with its last jail */
	uint64_t ready_ns, used_ns;
	uint64_t calls, calls_max; /* a generation lasts so many calls, */
	uint64_t retire_ns;        /* or until then */
};

/* The zygote for this profile and these options, started if there is none yet; takes a reference of its own. */
int zygote_get(struct core *core, struct profile *profile, unsigned options, struct zygote **ret, struct err *err);
/* That one if it is there already, else NULL. */
struct zygote *zygote_find(const struct core *core, const struct profile *profile, unsigned options);
/* A younger generation of this one is started, or was: not given to anybody while `standby` is set. */
int zygote_standby(struct zygote *z, struct zygote **ret, struct err *err);
struct zygote *zygote_standby_of(const struct zygote *z);
/* How many the keeper has, or will have soon. */
unsigned zygote_count(const struct core *core);
/* Ends the retired ones whose last jail is gone, frees the dead ones that nobody reads any more. */
void zygote_sweep(struct core *core);
/* Sends one message; a failure kills the zygote (its jails then end as internal_error). */
void zygote_send(struct zygote *z, struct zygote_msg *msg, const int *fds, unsigned nfds);
void zygote_free(struct zygote *z);

#endif
