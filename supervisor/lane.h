/* Lanes: which supervisor this is among those of the same user on this host, and
 * which host ids are its own.
 *
 * A lane is a locked file N (0..63). The lock is the supervisor's life: the kernel
 * drops it however the supervisor ends, so a free lock proves that what
 * carries the lane's name is a dead supervisor's. Only the keeper calls this, once,
 * before it forks anything; children must close lock_fd and dir_fd.
 *
 * As root, lane N owns LANE_IDS host ids from first_id on, uid and gid alike,
 * given out by enum lane_id. An ordinary user has only his own id for all of
 * them. Id 0 of the host is never used. */
#ifndef BRIG_SUPERVISOR_LANE_H
#define BRIG_SUPERVISOR_LANE_H

#include "jail/base/err.h"
#include "jail/base/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define LANE_COUNT 64u

/* first_id + this. */
enum lane_id { LANE_ZYGOTE, LANE_CORE, LANE_AUDIT, LANE_SLOTS /* + k: the jail in slot k */ };
#define LANE_IDS ((uint32_t)LANE_SLOTS + LIMIT_SLOTS)
/* A daemon that has a courier has no jail in its last slot: the lane keeps its size, so that lanes of different versions never overlap. */
#define LANE_COURIER_SLOT (LIMIT_SLOTS - 1)
#define LANE_COURIER ((uint32_t)LANE_SLOTS + LANE_COURIER_SLOT)

/* A block of ids that nobody else uses: lanes * LANE_IDS of them. */
struct lane_ids {
	uint32_t base;
	uint32_t lanes;
};

/* Files to look into; tests point it at their own. */
struct lane_ids_from {
	const char *uid_map, *gid_map;         /* /proc/self/ */
	const char *passwd, *group;            /* ids that have names */
	const char *subuid, *subgid;           /* ranges of ordinary users' containers */
};
extern const struct lane_ids_from lane_ids_host;

/* The first candidate block that our user namespace maps and nobody has claimed,
 * else the highest such block inside the mapping, with fewer lanes if need be. */
int lane_ids_find(const struct lane_ids_from *from, struct lane_ids *ret, struct err *err);

struct lane {
	unsigned number;
	int lock_fd, dir_fd;
	char name[32];     /* "<instance>-<number>": what its control groups are called */
	bool ranged;       /* ids of its own (root); else the caller's own uid and gid */
	uint32_t first_id; /* ranged only */
	uint32_t uid, gid; /* of the caller */
};

/* Locks a free lane. An error of -EBUSY means that all are taken. */
int lane_take(struct lane *ret, struct err *err);
/* Same, in this directory (made if missing) and without ids: for tests. */
int lane_take_in(const char *dir, unsigned lanes, struct lane *ret, struct err *err);
void lane_release(struct lane *lane);
/* Whether the lane of that name is locked; false for our own. Fits cgroup_sweep; arg is our struct lane. */
bool lane_is_alive(const char *name, void *arg);

#endif
