/* Inside of the cgroup module: what cgroup.c, the host discovery, the two
 * back-ends and core's view share. Keeper, but for the view; nobody outside supervisor/cgroup*.c includes it. */
#ifndef BRIG_SUPERVISOR_CGROUP_IMPL_H
#define BRIG_SUPERVISOR_CGROUP_IMPL_H

#include "supervisor/cgroup.h"

#include <stddef.h>

#define CGROUP_BASE "brig"
/* Where the supervisor itself sits when its own group had to be emptied. */
#define CGROUP_LEAF "brig-sup"
/* CPU bandwidth is given per this period; the kernel's default, long enough not to slice short calls. */
#define CGROUP_CPU_PERIOD_US 100000u

struct cgroup_ops {
	int (*limit)(struct cgroup *cg, const struct cgroup_limits *limits, struct err *err);
	int (*begin)(struct cgroup *cg, struct err *err);
	void (*read)(struct cgroup *cg, struct cgroup_usage *usage);
};

/* Files that usage is read from. A view keeps them open: a call's answer waits for what they say. */
enum cgroup_file { CGROUP_FILE_CPU_STAT, CGROUP_FILE_CPUACCT, CGROUP_FILE_PEAK, CGROUP_FILE_OOM, CGROUP_FILE_PIDS_PEAK, CGROUP_FILE_PIDS_EVENTS, CGROUP_FILES };

struct cgroup {
	struct cgroup_host *host;
	const struct cgroup_ops *ops; /* NULL under CGROUP_NONE */
	char name[64];
	int dir[CGROUP_DIRS];
	bool is_view;
	int file[CGROUP_FILES]; /* of a view; else -1 */
	int peak_fd; /* v2: the open memory.peak whose reset only this descriptor sees */
	bool peak_reset;
	uint64_t cpu_base_us;
};

/* One without directories yet; cgroup_close lets go of it and leaves the directories. */
struct cgroup *cgroup_alloc(struct cgroup_host *host);
void cgroup_close(struct cgroup *cg);

/* Every number CGROUP_UNKNOWN. */
void cgroup_usage_unknown(struct cgroup_usage *usage);

extern const struct cgroup_ops cgroup_v1_ops, cgroup_v2_ops;

/* The number behind "key " at the start of a line; -ENOENT where there is no such line or file. */
int cgroup_key_read(int dir, const char *file, const char *key, uint64_t *ret);
/* The same of a usage file below cg->dir[in]; of a view by the descriptor that it keeps. */
int cgroup_file_number(struct cgroup *cg, enum cgroup_file which, enum cgroup_dir in, const char *name, uint64_t *ret);
int cgroup_file_key(struct cgroup *cg, enum cgroup_file which, enum cgroup_dir in, const char *name, const char *key, uint64_t *ret);
/* Writes the text and reads it back: -EIO where the kernel keeps another value. */
int cgroup_text_set(int dir, const char *file, const char *text, struct err *err);
int cgroup_number_set(int dir, const char *file, uint64_t value, struct err *err);
/* Number of pids listed in cgroup.procs, at most what fits in a page or so; -errno. */
int cgroup_procs_count(int dir);
/* Whether a blank- or comma-separated list holds the word. */
bool cgroup_list_has(const char *list, const char *word);

/* Mounted hierarchies. v2: controller NULL. The directory of the mount point and
 * of our own group below it; own is "" where our group lies outside the mount. */
struct cgroup_mount {
	char point[256];
	char own[512];
	bool whole; /* the mount shows the hierarchy from its (or our cgroup namespace's) root */
};
bool cgroup_mount_find(const char *controller, struct cgroup_mount *ret);

/* Each fills base[], controllers, why and fix; returns whether the back-end is of use. */
bool cgroup_v2_open(struct cgroup_host *host, pid_t client);
bool cgroup_v1_open(struct cgroup_host *host);
/* Switches these CGROUP_* on ('+') or off ('-') for the children of a cgroup2 group; best effort. */
void cgroup_subtree_switch(int dir, unsigned bits, char sign);
/* Makes or opens `path`/brig; fd or -errno. */
int cgroup_base_open(const char *path);
void cgroup_why(struct cgroup_host *host, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Asks the user's systemd for a delegated scope around this process. 0, or -errno within a few seconds. */
int cgroup_scope_enter(void);

#endif
