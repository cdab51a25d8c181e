/* Layer fds: a jail holds exactly the six descriptors it was given.
 *
 * Threat:      an inherited descriptor (a host directory, the zygote's control socket, another call's pipe) is authority that
 *              no later layer takes back: a directory outside the root undoes pivot_root, /proc/self/fd reopens files.
 * Mechanism:   dup3() to the declared numbers (enum jail_fd), then close_range() above them; close_range(2). On v1 hosts up to four
 *              files of the call's control groups sit above them until the join step closes them (enter.c).
 * Order:       first, so that nothing below can be reached by number, and so that what later layers open is known to be theirs;
 *              the mount layer works by path in the zygote's tree for that reason.
 * If missing:  close_range is in 5.9, which is below the floor of every other layer: the call is refused.
 * Verified by: verify.c (the numbers above the declared ones are free); from outside /proc/PID/fd.
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <fcntl.h>
#include <sys/syscall.h>

static void fd_place(int from, int to, int flags)
{
	if (dup3(from, to, flags) < 0)
		die_at(LAYER_FDS, "dup3", errno);
}

void layer_fds_apply(struct layer_state *st)
{
	const int *given = st->boot->fds;
	const int count = JAIL_FDS + (int)st->boot->group_count;
	int from[JAIL_FDS + ZYGOTE_GROUP_FDS] = {
		[JAIL_FD_STDIN] = st->boot->null_fd,
		[JAIL_FD_STDOUT] = given[ZSPAWN_STDOUT],
		[JAIL_FD_STDERR] = given[ZSPAWN_STDERR],
		[JAIL_FD_REQUEST] = given[ZSPAWN_REQUEST],
		[JAIL_FD_RESULT] = given[ZSPAWN_RESULT],
		[JAIL_FD_STATUS] = given[ZSPAWN_STATUS],
	};

	for (int i = JAIL_FDS; i < count; i++)
		from[i] = st->boot->groups[i - JAIL_FDS];
	/* A source that sits on one of the target numbers would be overwritten before its turn. */
	for (int i = 0; i < count; i++) {
		if (from[i] >= count)
			continue;
		from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, count);
		if (from[i] < 0)
			die_at(LAYER_FDS, "fcntl F_DUPFD_CLOEXEC", errno);
	}
	status_move(from[JAIL_FD_STATUS]);
	/* What a program started by the tool shall have is 0 to 2 only. */
	for (int i = 0; i < count; i++)
		fd_place(from[i], i, i > JAIL_FD_STDERR ? O_CLOEXEC : 0);
	status_move(JAIL_FD_STATUS);
	if (close_range((unsigned)count, ~0u, 0) < 0)
		die_at(LAYER_FDS, "close_range", errno);
}
