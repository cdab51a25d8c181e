/* One connection: JSON-RPC 2.0 lines on a stream socket, and what its peer may ask. Core only. */
#ifndef BRIG_SUPERVISOR_CLIENT_H
#define BRIG_SUPERVISOR_CLIENT_H

#include "supervisor/core_state.h"
#include "supervisor/wire/json.h"

#include <sys/socket.h>

/* What a peer may do: decided by the socket that accepted it, never by what it says. */
enum authority {
	AUTHORITY_PRIVATE, /* the one client that started this supervisor: runs, with any profile */
	AUTHORITY_AGENT,   /* agent.sock: calls, lists, proposes */
	AUTHORITY_ADMIN,   /* admin.sock: that, and decides */
};

/* Starts reading; the core owns the client. Takes fd, also on failure. */
int client_open(struct core *core, int fd, enum authority authority, const struct ucred *peer, struct client **ret, struct err *err);
void client_close(struct client *client);

struct core *client_core(const struct client *client);
enum authority client_authority(const struct client *client);
const char *client_socket_name(const struct client *client); /* "agent.sock" */
uid_t client_uid(const struct client *client); /* of SO_PEERCRED, when it connected */
pid_t client_pid(const struct client *client);
/* How many of that authority are connected. */
unsigned client_count(const struct core *core, enum authority authority);

/* One answer to a request that is answered at once. All of them do nothing when the client has left (NULL). */
void client_answer(struct client *client, const char *rpc_id, size_t rpc_id_len, const char *result, size_t len);
void client_answer_error(struct client *client, const char *rpc_id, size_t rpc_id_len, int code, const char *message,
			 const char *where, const char *hint);
/* A notification: {"jsonrpc":"2.0","method":METHOD,"params":PARAMS}. False: the client does not read fast enough, nothing was sent. */
bool client_notify(struct client *client, const char *method, const char *params, size_t len);

/* A request that is answered later; it knows its client for as long as that is there. */
struct pending {
	LIST_ENTRY(pending) link;
	struct client *client; /* NULL once it left */
	char *rpc_id;          /* raw JSON */
};
/* NULL: no memory, and the client was told. */
struct pending *pending_new(struct client *client, const char *rpc_id, size_t rpc_id_len);
/* An unanswered request of this client with that id, or NULL. */
struct pending *pending_find(struct client *client, const char *rpc_id, size_t rpc_id_len);
/* Answers (an empty failed buffer as an error) and frees. */
void pending_answer(struct pending *pending, const struct jbuf *result);
void pending_free(struct pending *pending);

#endif
