/* The run directory and the two sockets in it. Keeper only, before it gives up its rights. */
#ifndef BRIG_SUPERVISOR_LISTENER_H
#define BRIG_SUPERVISOR_LISTENER_H

#include "supervisor/config.h"

struct listener {
	int dir_fd, lock_fd; /* the run directory; the lock that makes us the only one in it */
	int agent_fd, admin_fd;
};

/* Makes the run directory, locks it (-EBUSY: another brigd is alive there), removes stale sockets, binds both. */
int listener_open(struct listener *ret, const struct config *config, struct err *err);
/* Removes the sockets and closes all. */
void listener_close(struct listener *listener, const struct config *config);

#endif
