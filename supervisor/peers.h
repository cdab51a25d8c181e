/* What each uid holds of core: connections, calls, bytes of requests and of unread answers. Pure bookkeeping:
 * knows nothing of sockets. Core only. An account exists while something is on it. */
#ifndef BRIG_SUPERVISOR_PEERS_H
#define BRIG_SUPERVISOR_PEERS_H

#include "supervisor/config.h"

#include <stddef.h>
#include <sys/queue.h>

/* Each socket has its own count, so that an operator's uid that floods agent.sock still reaches admin.sock. */
enum peer_socket { PEER_AGENT, PEER_ADMIN, PEER_SOCKETS };

struct peer; /* the account of one uid; NULL wherever one is asked for: no limit holds, nothing is counted */

struct peers {
	LIST_HEAD(, peer) list;
	const struct config *config; /* borrowed; may change under us */
	uint32_t connections_max;    /* config's, or what there are descriptors for */
	unsigned connections[PEER_SOCKETS];
};

/* Of connections_max so many are for admin.sock alone: whoever fills agent.sock does not lock the operator out. */
#define PEERS_ADMIN_RESERVE 8

void peers_init(struct peers *peers, const struct config *config, uint32_t connections_max);

/* One more connection. NULL: *ret_limit is the configuration's key that forbids it, NULL: no memory. */
struct peer *peer_connect(struct peers *peers, uid_t uid, enum peer_socket socket, const char **ret_limit);
void peer_disconnect(struct peer *peer, enum peer_socket socket);
unsigned peer_connections(const struct peer *peer, enum peer_socket socket);

/* NULL: there is room for one more call with so many bytes; else the configuration's key that forbids it. `beside`: bytes on the
 * account that are the same request, as it came. */
const char *peer_call_room(const struct peer *peer, size_t bytes, size_t beside);
void peer_call_begin(struct peer *peer);
void peer_call_end(struct peer *peer);

/* One of its calls got a place among the running, or left it. False: it has running_per_uid of them already,
 * or its clients let more than queued_bytes_per_uid of answers lie: what runs by then is the bound of what can still be added. */
bool peer_may_run(const struct peer *peer);
void peer_run_begin(struct peer *peer);
void peer_run_end(struct peer *peer);

/* Bytes of requests, whole or still coming. False: over queued_bytes_per_uid, and nothing is taken. */
bool peer_bytes_take(struct peer *peer, size_t bytes);
/* Of what peer_call_room() found room for. */
void peer_bytes_add(struct peer *peer, size_t bytes);
void peer_bytes_give(struct peer *peer, size_t bytes);

/* Bytes of answers that one of its clients has not read: what they were, what they are. */
void peer_unread_set(struct peer *peer, size_t was, size_t now);

#endif
