/* What client.c (who a client is, and what is said to it) and client_io.c (its bytes) share; nobody else includes this. */
#ifndef BRIG_SUPERVISOR_CLIENT_IMPL_H
#define BRIG_SUPERVISOR_CLIENT_IMPL_H

#include "supervisor/client.h"
#include "supervisor/peers.h"

#include <sys/uio.h>

struct evbuffer;

struct client {
	LIST_ENTRY(client) link;
	struct core *core;
	enum authority authority;
	struct ucred cred;
	struct peer *peer; /* NULL: the private client */
	LIST_HEAD(, pending) pending;
	int fd;
	struct event *read_ev, *write_ev, *turn_ev;
	struct evbuffer *out; /* what the socket did not take yet */
	char *in;             /* what was read and not served yet: in_len bytes from in_at on */
	size_t in_at, in_len, in_cap;
	size_t scanned;       /* of them, at their front, hold no line end */
	size_t charged;       /* of in_cap, on the account */
	size_t out_charged;   /* of `out`, likewise */
	bool skipping;        /* inside a line that was refused while it came */
	bool paused;          /* too many answers unread */
	unsigned events;      /* enum event_bit: what it asked to be told */
	bool ended;           /* it has said all; answers may still go out */
};

/* 0, or -ENOMEM with nothing left to undo but client_io_close(). */
int client_io_open(struct client *client);
void client_io_close(struct client *client);
/* At once when nothing waits before it: the answer is on its way before core cleans up behind the call. */
void client_send(struct client *client, struct iovec *iov, int count);
/* Soon, from the event loop: what is to be done with what was read. */
void client_turn_soon(struct client *client);

/* It is gone, or can be: its calls are cancelled. Frees it. */
void client_left(struct client *client);

#endif
