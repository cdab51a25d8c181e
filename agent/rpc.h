/* JSON-RPC 2.0 over a stream: one request line out, one answer line in. */
#ifndef BRIG_AGENT_RPC_H
#define BRIG_AGENT_RPC_H

#include "jail/base/err.h"

#include <stddef.h>

struct rpc_wait {
	int stop_fd;			/* readable: give up */
	void (*tick)(unsigned seconds); /* called once a second while waiting; may be NULL */
	unsigned answer_ms;		/* how long to wait for the answer; 0: without end */
	void (*event)(void *arg, const char *line, size_t len); /* each notification, proven JSON; NULL: passed over */
	void *event_arg;
};

/* Sends len bytes (the new line included) and returns the first line that carries the id 1, without its new line,
 * malloc'd; an error with the id null is ours too, for nothing else was asked. Lines without an id are notifications.
 * Both directions at once, so that a large request and an early answer cannot wait for each other.
 * -ECANCELED: stop_fd; -ETIMEDOUT: answer_ms; -EPIPE: the other side ended; -EPROTO: no answer of the protocol, or
 * longer than LIMIT_ANSWER_BYTES. */
int rpc_call(int sock, const char *request, size_t len, const struct rpc_wait *wait, char **ret_line, size_t *ret_len,
	struct err *err);

#endif
