/* The sockets that core listens on: who may connect, and how many. Core only.
 * The keeper binds them (listener.h) and core inherits them, so that a
 * connection waits while core is replaced instead of being refused. */
#ifndef BRIG_SUPERVISOR_SERVER_H
#define BRIG_SUPERVISOR_SERVER_H

#include "supervisor/core_state.h"

/* Before core seals itself, after which it may not: asks for the descriptors that so many connections need. */
void server_files_raise(const struct config *config);
/* Serves core->boot's descriptors: the one client, or both sockets. 0 or -errno with *err. */
int server_open(struct core *core, struct err *err);
/* Gives every client what it was told, as far as it reads, closes every connection, and stops listening. */
void server_close(struct core *core);
/* core->boot->config was replaced: limits hold from now on, and whoever may not be here any more is shut out. */
void server_config_changed(struct core *core);
/* What holds of connections_max: no more than there are descriptors for. 0 in a private supervisor. */
uint32_t server_connections_max(const struct core *core);

#endif
