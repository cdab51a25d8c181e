/* The sockets that core listens on: who may connect, and how many. Core only.
 * The keeper binds them (listener.h) and core inherits them, so that a
 * connection waits while core is replaced instead of being refused. */
#ifndef BRIG_SUPERVISOR_SERVER_H
#define BRIG_SUPERVISOR_SERVER_H

#include "supervisor/core_state.h"

/* Serves core->boot's descriptors: the one client, or both sockets. 0 or -errno with *err. */
int server_open(struct core *core, struct err *err);
/* Closes every connection, and stops listening. */
void server_close(struct core *core);

#endif
