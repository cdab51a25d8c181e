/* Core's side of the keeper's socket: one request, one answer, in order.
 * The keeper answers at once (its longest wait is CGROUP_DEL's few milliseconds), so
 * these calls block. A channel that fails, or an answer that does not come in time, ends core. */
#ifndef BRIG_SUPERVISOR_KEEPER_CLIENT_H
#define BRIG_SUPERVISOR_KEEPER_CLIENT_H

#include "jail/base/err.h"
#include "supervisor/keeper_proto.h"

/* Once, at core's start: bounds how long an answer may take. 0 or -errno. */
int keeper_client_open(int sock);

/* Asks; fd (-1: none) travels along. ret_fds[max_fds] gets what came back, the rest is -1; more is a failure of the channel.
 * Returns 0, or a negative errno with *err naming the keeper's operation. */
int keeper_ask(int sock, struct keeper_msg *msg, int fd, struct keeper_reply *reply, int *ret_fds, unsigned max_fds, struct err *err);

/* The common shape: a kind and a slot. */
int keeper_ask_slot(int sock, enum keeper_kind kind, unsigned slot, int fd, struct keeper_reply *reply, struct err *err);

#endif
