/* Starting, killing and reaping zygotes. Keeper only.
 *
 * A zygote is PID 1 of its own PID namespace: when it dies, for whatever reason, the
 * kernel kills all its jails. It is tied to the keeper twice: by PDEATHSIG, and by
 * the read end of a pipe whose only writer is the keeper. */
#ifndef BRIG_SUPERVISOR_ZYGOTE_START_H
#define BRIG_SUPERVISOR_ZYGOTE_START_H

#include "jail/base/err.h"
#include "supervisor/lane.h"

#include <stdint.h>
#include <sys/types.h>

/* The kernel takes what runs tools before anything else on the host; raising needs no privilege. */
#define ZYGOTE_OOM_SCORE_ADJ "900"

struct zygote {
	uint32_t gen;
	pid_t pid; /* in our PID namespace; valid while pidfd is held and not reaped */
	int pidfd;
	int groups; /* our end of ZYGOTE_FD_GROUPS */
};

/* A sealed copy of the zygote program in a memfd: nobody can write it, and a
 * jail's /proc/self/exe names no path of the host. path NULL: brig-zygote beside
 * our own binary. fd or -errno. */
int zygote_image_open(const char *path, struct err *err);
/* The same of brig-courier. */
int courier_image_open(struct err *err);

/* Starts one. spec_fd and control_fd stay the caller's (the child has copies);
 * lifeline[2] is the keeper's pipe; mounts_fd the directory that it starts in (keeper_mounts.c), -1: ours. Returns while the child is on its way to exec: what stops it there, and READY, come
 * over the control socket. After a failure the child is dying: reap it like any other. */
int zygote_start(struct zygote *ret, const struct lane *lane, int image_fd, int spec_fd, int control_fd,
		 const int lifeline[2], int mounts_fd, uint32_t gen, struct err *err);
/* SIGKILL; zygote_reap() later. */
void zygote_kill(const struct zygote *zygote);
/* SIGKILL, waits (bounded), reaps, closes. -EBUSY: still dying; call again. */
int zygote_stop(struct zygote *zygote);
/* Reaps one that ended by itself; false while it runs. */
bool zygote_reap(struct zygote *zygote);

#endif
