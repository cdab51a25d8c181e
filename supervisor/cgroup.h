/* Limits and accounting of one call by the kernel's control groups.
 *
 * One interface, two back-ends, chosen once at start (struct cgroup_host):
 * cgroup2 where memory, pids and cpu can be had there (cgroup_v2.c), else the
 * v1 hierarchies of a hybrid host (cgroup_v1.c, killing by the v2 leaf's
 * cgroup.kill where there is one, else by the jail's PID 1). Only the keeper
 * calls this. Sources: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/.
 *
 * A cgroup directory lives for exactly one call. It is named
 * brig/<lane>.<slot>.<serial>, so that what a killed supervisor left can be told by
 * its lane lock and swept (cgroup_sweep). */
#ifndef BRIG_SUPERVISOR_CGROUP_H
#define BRIG_SUPERVISOR_CGROUP_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
enum cgroup_controller { CGROUP_MEMORY = 1u << 0, CGROUP_PIDS = 1u << 1, CGROUP_CPU = 1u << 2, CGROUP_ALL = 7 };

struct cgroup_limits {
	uint64_t memory_bytes;
	uint32_t pids;
	uint32_t cpu_quota_pct; /* 100: one core */
};

#define CGROUP_UNKNOWN UINT64_MAX /* the kernel cannot tell; never a made-up number */

struct cgroup_usage {
	uint64_t cpu_us;            /* since CGROUP_BEGIN */
	uint64_t memory_peak_bytes; /* since CGROUP_BEGIN, or CGROUP_UNKNOWN */
	uint64_t processes_peak;    /* tasks, or CGROUP_UNKNOWN */
	uint64_t oom_kills;         /* processes that the OOM killer took in this group */
	uint64_t pids_refused;      /* forks refused by pids.max */
	uint64_t processes;         /* alive now */
};

/* What the supervisor may use here, found at start without changing anything. */
struct cgroup_host {
	enum cgroup_kind kind;
	unsigned controllers;   /* CGROUP_* that can be enforced */
	char why[200];          /* when kind is NONE or controllers are missing: what stands in the way */
	char fix[200];          /* the command or setting that would change it */
	int base[4];            /* O_DIRECTORY descriptors of the brig directories: v2 (or the v2 leaf of a hybrid host), memory, pids, cpu; -1 */
	char lane[32];
};

struct cgroup; /* one call's group */

/* Finds or makes the base directories. Always returns 0; kind says what was got. */
int cgroup_host_open(struct cgroup_host *host, const char *lane);
void cgroup_host_close(struct cgroup_host *host);
/* Removes groups that dead supervisors left; lane_alive tells whether the owner of a lane still runs. Returns how many went. */
int cgroup_sweep(struct cgroup_host *host, bool (*lane_alive)(const char *lane, void *arg), void *arg);

/* Makes the group and sets its limits; a controller that is there but refuses is an error (fail closed). */
int cgroup_new(struct cgroup_host *host, unsigned slot, const struct cgroup_limits *limits, struct cgroup **ret, struct err *err);
int cgroup_join(struct cgroup *cg, int pidfd, pid_t pid, struct err *err);
int cgroup_begin(struct cgroup *cg, struct err *err);
int cgroup_read(struct cgroup *cg, struct cgroup_usage *usage);
/* SIGKILL to all members; frozen, stopped and double-forked ones too. */
int cgroup_kill(struct cgroup *cg);
/* Kills, waits at most wait_ms until empty, removes, frees. -EBUSY if something still lives (then *cg stays). */
int cgroup_free(struct cgroup **cg, unsigned wait_ms, struct cgroup_usage *ret_usage);

#endif
