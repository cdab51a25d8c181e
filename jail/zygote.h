/* The zygote's own state, shared by its four files. It is PID 1 of the
 * supervisor's jails: its death, by whatever cause, is theirs. */
#ifndef BRIG_JAIL_ZYGOTE_H
#define BRIG_JAIL_ZYGOTE_H

#include "jail/base/compiler.h"
#include "jail/base/limits.h"
#include "jail/spec.h"
#include "jail/zygote_proto.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct zygote_child {
	uint64_t seq;
	pid_t pid;
	int pidfd; /* -1: no jail in this slot */
	uint64_t net; /* inode number of the network namespace made for it */
};

struct zygote {
	const struct jail_spec *spec;
	int null_fd;    /* /dev/null, O_RDWR */
	int proc_fd;    /* procfs of this PID namespace */
	int fds_fd;     /* /proc/self/fd, read again before each fork */
	int root_fd;    /* "/" of the zygote: proc and newroot */
	int newroot_fd; /* base root of the jails */
	bool ranged;    /* one id for each slot; else (rootless) all share ours */
	bool net_ready; /* own_ns[NS_NET] is new, checked, and waits for the next jail */
	uint64_t own_ns[NS_COUNT]; /* inode numbers */
	struct zygote_child children[LIMIT_SLOTS];
};

/* Sends START_FAILED and ends. detail: a path, or another program's own words; may be NULL. */
void zygote_fail(enum layer layer, const char *op, int err, const char *detail) NORETURN;

/* zygote_root.c: makes "/" and "/newroot", leaves the host's tree. Sets proc_fd, fds_fd, root_fd, newroot_fd. */
void zygote_root_build(struct zygote *zy);

/* zygote_fork.c */
/* Enters a new network namespace for the next jail. NULL, or what failed (errno). */
const char *zygote_net_ahead(struct zygote *zy);
void zygote_spawn(struct zygote *zy, const struct zygote_msg *msg, int fds[ZSPAWN_FDS]);
void zygote_inspect(struct zygote *zy, const struct zygote_msg *msg);
/* Inode number of a namespace of a process ("self" or a number), 0 if it cannot be read. */
uint64_t zygote_ns_id(const struct zygote *zy, const char *pid, unsigned ns);
/* NULL, or what is wrong: a descriptor that nobody declared. extra: received with the message at hand. */
const char *zygote_fds_check(const struct zygote *zy, const int *extra, unsigned extra_count);

/* zygote_loop.c */
void zygote_loop(struct zygote *zy) NORETURN;
/* One message to core; ends the zygote (and its jails) when core is gone. */
void zygote_send(const struct zygote_msg *msg, const int *fds, unsigned nfds);

#endif
