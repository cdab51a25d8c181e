/* brigd: core, the unprivileged role: takes requests, decides, spawns through
 * zygote and keeper, collects, judges, answers. Runs under an id of its own
 * when brigd was started as root. */
#ifndef BRIG_SUPERVISOR_CORE_H
#define BRIG_SUPERVISOR_CORE_H

#include "supervisor/cgroup.h"
#include "supervisor/config.h"
#include "supervisor/profile.h"

#include <signal.h>
#include <stdint.h>

/* What core gets from the keeper when it is forked; all descriptors are core's own from then on. */
struct core_boot {
	int client_fd;  /* private supervisor: the one client's SOCK_STREAM connection; else -1 */
	int agent_fd, admin_fd; /* daemon: listening; else -1 */
	int keeper_fd;  /* SOCK_SEQPACKET, supervisor/keeper_proto.h */
	struct profile_store *profiles, *policy; /* raw texts, read before the drop, parsed after */
	struct config config;
	int as_root;    /* host ids per slot are in force */
	uint32_t uid;   /* to become, with gid = uid, when as_root */
	uint32_t restarts; /* cores before this one */
	bool checked;   /* the profiles were found good by a core before this one */
	uint32_t next_gen; /* of zygotes: the keeper takes only generations that it has not seen */
	enum cgroup_kind cgroup; /* what calls get on this host */
	char cgroup_why[200], cgroup_fix[200]; /* struct cgroup_host, for doctor and refusals */
};

/* What the keeper tells a daemon's core, which ignores the signals that tell the keeper to end; SIGHUP: reload. */
#define CORE_SIGNAL_DRAIN SIGUSR1 /* no new calls; ends with the last one, or after drain_ms */
#define CORE_SIGNAL_LEAVE SIGUSR2 /* ends now, with an answer to every call */

/* Core's life from fork to exit: drops, verifies the drop, loops. Returns the exit status. */
int core_main(struct core_boot *boot);

#endif
