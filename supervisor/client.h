/* The private supervisor's one client: JSON-RPC 2.0 lines on a stream socket. Core only. */
#ifndef BRIG_SUPERVISOR_CLIENT_H
#define BRIG_SUPERVISOR_CLIENT_H

#include "supervisor/core_state.h"
#include "supervisor/wire/json.h"

/* Starts reading; the core owns the client. */
int client_open(struct core *core, int fd, struct err *err);
void client_close(struct client *client);

/* One answer. All of them do nothing when the client has left (NULL). */
void client_answer_call(struct client *client, const struct call *call);
void client_answer(struct client *client, const char *rpc_id, size_t rpc_id_len, const char *result, size_t len);
void client_answer_error(struct client *client, const char *rpc_id, size_t rpc_id_len, int code, const char *message,
			 const char *where, const char *hint);

#endif
