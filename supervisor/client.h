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

/* Answers that wait for a client which does not read them. Above this no further request of its is taken, and no notification sent. */
#define CLIENT_UNREAD_MAX (1u << 20)

struct peer;

/* Starts reading; the core owns the client. Takes fd (non-blocking) and the connection on peer's account (NULL: none), also on failure. */
int client_open(struct core *core, int fd, enum authority authority, const struct ucred *cred, struct peer *peer, struct err *err);
void client_close(struct client *client);
struct client *client_next(const struct client *client); /* in core->clients */
/* Its connection ends, and then its calls, from the event loop. */
void client_drop(struct client *client);
/* What it was told goes out, until then at the latest (core_now_ns()). Blocks: for core's end. */
void client_flush(struct client *client, uint64_t until_ns);

struct core *client_core(const struct client *client);
enum authority client_authority(const struct client *client);
const char *client_socket_name(const struct client *client); /* "agent.sock" */
uid_t client_uid(const struct client *client); /* of SO_PEERCRED, when it connected */
pid_t client_pid(const struct client *client);
struct peer *client_peer(const struct client *client);
/* What it asked to be told (events.h). */
unsigned client_events(const struct client *client);
void client_events_set(struct client *client, unsigned bits);
/* peer_call_room() for a call with so many bytes, which it is sending now. */
const char *client_call_room(const struct client *client, size_t bytes);
/* How many of that authority are connected. */
unsigned client_count(const struct core *core, enum authority authority);

/* One answer to a request that is answered at once. All of them do nothing when the client has left (NULL). */
void client_answer(struct client *client, const char *rpc_id, size_t rpc_id_len, const char *result, size_t len);
void client_answer_error(struct client *client, const char *rpc_id, size_t rpc_id_len, int code, const char *message,
			 const char *where, const char *hint);
/* The same of an err; retry_after_ms 0: there is no use in asking again. */
void client_answer_err(struct client *client, const char *rpc_id, size_t rpc_id_len, int code, const struct err *err, uint32_t retry_after_ms);
/* The line itself, for one who never becomes a client. */
void client_print_err(struct jbuf *b, const char *rpc_id, size_t rpc_id_len, int code, const struct err *err, uint32_t retry_after_ms);
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
