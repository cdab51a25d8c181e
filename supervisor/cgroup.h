/* Limits and accounting of one call by the kernel's control groups.
 *
 * One interface, two back-ends, chosen once at start (struct cgroup_host):
 * cgroup2 where memory, pids and cpu can be had there (cgroup_v2.c), else the
 * v1 hierarchies of a hybrid host (cgroup_v1.c, killing by the
 * jail's PID 1). Only the keeper
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
#include <sys/types.h>

enum cgroup_kind { CGROUP_NONE, CGROUP_V1, CGROUP_V2 };
#define CGROUP_KIND_COUNT 3
const char *cgroup_kind_name(enum cgroup_kind kind); /* "none", "v1", "v2" */
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

/* Index of the hierarchies that a group has a directory in. Under CGROUP_V2 only
 * the first is used, under CGROUP_V1 the others. */
enum cgroup_dir { CGROUP_DIR_V2, CGROUP_DIR_MEMORY, CGROUP_DIR_PIDS, CGROUP_DIR_CPU, CGROUP_DIR_CPUACCT, CGROUP_DIRS };

/* What the supervisor may use here, found once at start. */
struct cgroup_host {
	enum cgroup_kind kind;
	unsigned controllers;   /* CGROUP_* that can be enforced */
	char why[200];          /* when kind is NONE or controllers are missing: what stands in the way */
	char fix[200];          /* the command or setting that would change it */
	int base[CGROUP_DIRS];  /* O_DIRECTORY descriptors of the brig directories, or -1; ours */
	char lane[32];
	uint64_t serial;        /* next group's; starts at the boot clock, so that no name is ever used twice */
	unsigned enabled;       /* cgroup2: CGROUP_* that we enabled above the base, and disable again when the base goes */
	char hold[64];          /* an empty group that keeps a leaving supervisor from removing the shared base */
};

struct cgroup; /* one call's group */

/* Finds or makes the base directories. Always returns 0; kind says what was got.
 * Where controllers have to be enabled in our own group first, this process and
 * client (the brig that started us, or 0) move to a leaf beside the base; nobody
 * else is ever moved. An ordinary user outside a delegated subtree asks the
 * user's systemd for a scope (bounded wait). */
int cgroup_host_open(struct cgroup_host *host, const char *lane, pid_t client);
/* Removes the bases where nobody uses them any more; closes. */
void cgroup_host_close(struct cgroup_host *host);
/* Removes groups that dead supervisors left; lane_alive tells whether the owner of
 * a lane still runs (a lane string is "<instance>-<number>"; other instances'
 * groups are left alone). Call it before the first cgroup_new: whatever carries
 * our own lane is then a predecessor's. Returns how many went. */
int cgroup_sweep(struct cgroup_host *host, bool (*lane_alive)(const char *lane, void *arg), void *arg);

/* Makes the group and sets its limits, each read back; a controller that is there
 * but refuses is an error (fail closed). Under CGROUP_NONE the group is a shell:
 * joining does nothing, all usage is CGROUP_UNKNOWN, killing answers -ENOTSUP. */
int cgroup_new(struct cgroup_host *host, unsigned slot, const struct cgroup_limits *limits, struct cgroup **ret,
	       struct err *err);
/* Moves the process; pidfd proves that pid still is who it was. */
int cgroup_join(struct cgroup *cg, int pidfd, pid_t pid, struct err *err);
/* v1: opens the files by which a process enters by itself, "0" written by its only thread: much cheaper than being moved. Returns
 * how many, all that it has to use; 0 where it cannot be done so. */
unsigned cgroup_enter_open(const struct cgroup *cg, int *fds, unsigned max);
/* That the process did, by the kernel's word. Where it is PID 1 of a namespace, killing it is the way to kill all. */
int cgroup_prove(struct cgroup *cg, int pidfd, pid_t pid, struct err *err);
int cgroup_begin(struct cgroup *cg, struct err *err);
int cgroup_read(struct cgroup *cg, struct cgroup_usage *usage);
/* SIGKILL to all members; frozen, stopped and double-forked ones too. */
int cgroup_kill(struct cgroup *cg);
/* Kills, waits at most wait_ms until empty, removes, frees. -EBUSY if something still lives (then *cg stays). */
int cgroup_free(struct cgroup **cg, unsigned wait_ms, struct cgroup_usage *ret_usage);

/* What core gets of a group so that it can read its usage without a round trip: the group's directories, whose files it
 * may read and, being another user, not write. Filled by the keeper, which sends the descriptors along. */
struct cgroup_view {
	uint32_t kind;       /* enum cgroup_kind */
	uint32_t present;    /* bit i: descriptor of enum cgroup_dir i; bit CGROUP_DIRS: of memory.peak, whose reset only it sees */
	uint32_t peak_reset;
	uint64_t cpu_base_us;
};
#define CGROUP_VIEW_FDS (CGROUP_DIRS + 1)

/* Keeper, after cgroup_begin(): fds[] are lent. Returns how many. */
unsigned cgroup_view_fill(const struct cgroup *cg, struct cgroup_view *view, int fds[CGROUP_VIEW_FDS]);
/* Core: takes the descriptors. NULL where they are not what the view says, or no memory. */
struct cgroup *cgroup_view_open(const struct cgroup_view *view, int *fds, unsigned count);
void cgroup_view_read(struct cgroup *view, struct cgroup_usage *usage); /* all but `processes` */
void cgroup_view_close(struct cgroup *view);

#endif
