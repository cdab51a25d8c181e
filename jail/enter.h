/* From the first instruction after clone to the parked jail: all layers, in the
 * one order that works. Runs in the child of the zygote; never returns. */
#ifndef BRIG_JAIL_ENTER_H
#define BRIG_JAIL_ENTER_H

#include "jail/base/compiler.h"
#include "jail/spec.h"
#include "jail/zygote_proto.h"

/* Where the zygote keeps the base root of all jails, in its own root; the child finds its copy of it there. */
#define JAIL_BASE_ROOT "/newroot"
#define JAIL_HOSTNAME "brig"
/* The one user id and group id that a jail's map holds. */
#define JAIL_ID 1000

/* Filled by the zygote before it clones; the child has its own copy. */
/* In the zygote's root: a directory with one mount of the workspace for each slot, by number (rootless: one for all). */
#define JAIL_WORKSPACES "/ws"

struct jail_boot {
	const struct jail_spec *spec; /* a mapping of its own, which the child unmaps before it parks */
	int fds[ZSPAWN_FDS]; /* as received with SPAWN */
	int null_fd;         /* /dev/null, stands in for stdin until there is a root to open one from */
	int groups[ZYGOTE_GROUP_FDS]; /* where it enters its control groups */
	unsigned group_count; /* 0: the keeper moves it */
	uint32_t workspace;  /* which of the zygote's JAIL_WORKSPACES is this jail's */
	bool core_piped;     /* the host hands core dumps to a program or a socket, not to a file */
};

void jail_enter(const struct jail_boot *boot) NORETURN;

#endif
