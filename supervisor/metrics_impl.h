/* What metrics.c (counting) and metrics_print.c (telling) share; nobody else includes this. */
#ifndef BRIG_SUPERVISOR_METRICS_IMPL_H
#define BRIG_SUPERVISOR_METRICS_IMPL_H

#include "supervisor/metrics.h"

/* Profiles with a row of their own; the store of one host has a dozen. Later ones share METRICS_OTHER. */
#define METRICS_PROFILES 64
/* Profiles that a caller brought. */
#define METRICS_CUSTOM "custom"
#define METRICS_OTHER "other"
/* The gate let it come to none. */
#define METRICS_NONE "none"

enum metrics_jail { METRICS_WARM, METRICS_COLD, METRICS_SESSION, METRICS_JAILS };
#define METRICS_JAIL_NAMES { "warm", "cold", "session" }

/* The limits that busy names: struct config's keys, and what is no choice of an operator's. "other" is last. */
#define BUSY_LIMITS \
	{ \
		"room", "queue_max", "queue_wait", "calls_per_uid", "queued_bytes_per_uid", "connections_max", \
			"connections_per_uid", "sessions_per_uid", "draining", "other" \
	}
#define BUSY_LIMIT_COUNT 10

#define RESTART_NAMES { "core", "audit", "zygote" }
enum metrics_process { RESTART_CORE, RESTART_AUDIT, RESTART_ZYGOTE, RESTART_COUNT };

/* In the order of enum decision; and what becomes of questions. */
#define DECISION_NAMES { "allow", "deny", "escalate" }
#define METRICS_DECISIONS 3
#define APPROVAL_NAMES { "pending", "approved", "denied", "expired", "used", "void" }
#define METRICS_APPROVALS 6

#define TOUCHED_NAMES { "pids", "stdout", "stderr", "file_size", "tmpfs", "events" } /* in the order of enum limit_bit */
#define TOUCHED_COUNT 6

struct metrics_row {
	char profile[SPEC_NAME_MAX];
	uint64_t outcomes[OUTCOME_COUNT];
};

struct metrics {
	struct metrics_row rows[METRICS_PROFILES];
	unsigned row_count;
	struct histogram call[METRICS_JAILS], queue, refill;
	uint64_t taken, died, oom;
	uint64_t denied[LAYER_COUNT];
	uint64_t busy[BUSY_LIMIT_COUNT];
	uint64_t touched[TOUCHED_COUNT];
	uint64_t restarts[RESTART_COUNT];
	uint64_t decisions[METRICS_DECISIONS], approvals[METRICS_APPROVALS];
	double start_time; /* of core, since 1970 */
};

#endif
