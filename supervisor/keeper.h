/* brigd: keeper, the privileged role. It starts core and the zygotes, owns the
 * control groups, and answers fixed messages (keeper_proto.h). It parses nothing
 * that a client wrote: its input is the command line, the kernel's pseudo-files,
 * the account files (lane.h) and slot numbers. */
#ifndef BRIG_SUPERVISOR_KEEPER_H
#define BRIG_SUPERVISOR_KEEPER_H

#include "jail/base/err.h"
#include "supervisor/cgroup.h"
#include "supervisor/config.h"
#include "supervisor/keeper_proto.h"
#include "supervisor/lane.h"
#include "supervisor/listener.h"
#include "supervisor/profile.h"
#include "supervisor/zygote_start.h"

#include <stdbool.h>
#include <sys/types.h>

struct keeper_boot {
	int client_fd;                  /* the client's connection; becomes core's; -1: serve sockets */
	pid_t client_pid;               /* the brig that made it, if it is our parent, else 0 */
	struct profile_store *profiles; /* becomes core's */
	struct config config;
	const char *zygote_path; /* NULL: beside our own binary */
};

/* Takes a lane, opens the control groups, forks core, drops privilege and serves
 * until core is gone. Leaves nothing behind. Returns core's exit status (128+N
 * for signal N), or one of the exit statuses of the contract, reason on stderr. */
int keeper_main(struct keeper_boot *boot);

struct keeper {
	struct lane lane;
	struct cgroup_host host;
	struct cgroup *slots[LIMIT_SLOTS];
	struct zygote zygotes[KEEPER_ZYGOTES]; /* pidfd -1: free */
	uint32_t last_gen;
	int lifeline[2]; /* nobody ever writes; the kernel closes [1] with us */
	int image_fd, signal_fd;
	struct listener listener;
	int core_sock, core_pidfd;
	pid_t core_pid;
	bool core_gone;
	int status; /* core's, once gone; or what we end with */
};

/* One message: receive, check, handle, answer. 0; 1 at end of file; -errno when
 * core broke the protocol, which ends the keeper. */
int keeper_serve(struct keeper *k);

/* Gives up every capability that the loop does not need and proves it. may_map: ids are ours to give (root). */
int keeper_caps_drop(bool may_map, struct err *err);

#endif
