/* What core counts, and how Prometheus reads it. Counters live as long as core does: a core that was replaced begins at 0, and
 * process_start_time_seconds says when. Labels hold names of the store's profiles and fixed words, nothing of a client's.
 * Core only. */
#ifndef BRIG_SUPERVISOR_METRICS_H
#define BRIG_SUPERVISOR_METRICS_H

#include "supervisor/call.h"
#include "supervisor/prom.h"

struct metrics;

/* core_restarts: cores before this one. NULL: no memory. */
struct metrics *metrics_new(unsigned core_restarts);
void metrics_free(struct metrics *metrics);

/* A call was answered; its outcome, limits and times are final. */
void metrics_call(const struct call *call);
/* One that was refused before it became a call (invalid_arguments). */
void metrics_refused(struct core *core, const char *profile, enum outcome outcome);
/* What the policy said to a call; what became of a question: "pending" when it was asked, else a state of it. */
void metrics_decision(struct core *core, unsigned decision);
void metrics_approval(struct core *core, const char *state);
/* A connection or a request was turned away for this limit; calls that end as busy count by themselves. */
void metrics_busy(struct core *core, const char *limit);
/* A jail parked for the pool, so long after it was begun; one was taken from there; one died there. */
void metrics_pool_parked(struct core *core, uint64_t took_ns);
void metrics_pool_taken(struct core *core);
void metrics_pool_died(struct core *core);
/* A process ended that should not have, and is or will be replaced: "zygote", "audit". */
void metrics_restart(struct core *core, const char *process);

/* The name that stands in labels and in the log for this one: its own, or "custom" where a caller brought it. Borrowed. */
const char *metrics_profile(struct core *core, const char *name);
/* The whole exposition. */
void metrics_print(struct core *core, struct jbuf *out);

#endif
