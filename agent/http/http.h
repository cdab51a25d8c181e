/* A small strict HTTP/1.1 server on libevent's loop, for brig-mcp, brig-console and brig-relay: POST, GET, DELETE; bodies by
 * Content-Length or chunked; answers whole or as a stream of server-sent events.
 *
 * Ours because of what must be refused or noticed: ARCHITECTURE.md, "HTTP"; tests/unit/u-evhttp.c proves the reasons.
 * Every byte of a head is looked at once, by http_head.c, and what is in doubt is refused: two or differing
 * Content-Lengths, Content-Length with Transfer-Encoding, a transfer coding other than chunked, no or two Hosts, NUL and
 * other controls, obs-fold, blanks before a colon, bare CR or LF, a target that is not an absolute path. A client that
 * leaves is noticed at once (on_gone), whatever the server is doing.
 *
 * Only the unprivileged side links it. One thread. */
#ifndef BRIG_AGENT_HTTP_H
#define BRIG_AGENT_HTTP_H

#include "jail/base/err.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct http_limits { /* 0: the default named in http_server.c */
	size_t head_bytes;	/* request line and headers together */
	size_t body_bytes;	/* 413 above it */
	unsigned connections;	/* one more is answered 503 and closed */
	unsigned head_ms;	/* from the first byte of a request to the end of its head: 408 */
	unsigned body_ms;	/* from there to the end of its body */
	unsigned idle_ms;	/* a connection without a request */
	unsigned unread_ms;	/* an answer that is not read */
	size_t unread_bytes;	/* of a stream: above it the client is thrown out */
};

struct http_exchange; /* one request and its answer; ends with the answer, or when its client has gone */

/* The request is whole. The handler answers now or later, exactly once: http_reply(), or http_stream_begin() ... http_stream_end(). */
typedef void http_request_fn(void *arg, struct http_exchange *x);
/* The client left, or was thrown out, before the answer was complete: the exchange is gone after this. */
typedef void http_gone_fn(void *arg, struct http_exchange *x);

struct http_server;

/* listen: HOST:PORT with a numeric host ("127.0.0.1:0", "[::1]:80"), or the path of a Unix socket (mode 0600, an old one of ours is replaced). */
int http_server_open(struct event_base *base, const char *listen, const struct http_limits *limits, http_request_fn *on_request, void *arg,
	struct http_server **ret, struct err *err);
/* "127.0.0.1:41231" or the path. */
const char *http_server_address(const struct http_server *s);
/* The address is of this host alone: 127/8, ::1 or a Unix socket. Before anything is opened. -EINVAL with *err: no address. */
int http_listen_is_local(const char *listen, bool *ret_local, struct err *err);
/* Ends everything; gone is called for what was not answered. */
void http_server_close(struct http_server *s);

/* Of the request. Borrowed until the answer is complete. */
const char *http_method(const struct http_exchange *x);	      /* "GET", "POST", "DELETE", or another token */
const char *http_path(const struct http_exchange *x);	      /* without the query; not decoded */
const char *http_query(const struct http_exchange *x);	      /* after the '?', or NULL */
/* Of the one header of that name (any case), trimmed; NULL: none. Two of a name are joined only by *count: the first is returned. */
const char *http_header(const struct http_exchange *x, const char *name, unsigned *ret_count);
const char *http_body(const struct http_exchange *x, size_t *ret_len); /* NUL-terminated besides */
/* Of a Unix socket: the peer's uid (SO_PEERCRED). (uid_t)-1 over TCP. */
uid_t http_peer_uid(const struct http_exchange *x);

/* A place for the handler's own. */
void http_set_data(struct http_exchange *x, void *data, http_gone_fn *on_gone);
void *http_data(const struct http_exchange *x);

/* headers: "Name: value\r\n" lines of ours, or NULL. type: NULL for an empty body. */
void http_reply(struct http_exchange *x, int status, const char *type, const char *body, size_t len, const char *headers);
/* 200 text/event-stream, Cache-Control: no-store, X-Accel-Buffering: no. */
void http_stream_begin(struct http_exchange *x, const char *headers);
/* One event: "event: message" (event NULL: none), data without line feeds. No ids: nothing can be resumed. */
void http_stream_send(struct http_exchange *x, const char *event, const char *data, size_t len);
/* A comment line, so that what stands between keeps the connection open. */
void http_stream_ping(struct http_exchange *x);
void http_stream_end(struct http_exchange *x);

/* http_guard.c: what each request has to pass before it is looked at; NULL or the answer's status and why.
 * Host must be of `hosts` (localhost, 127.0.0.1, [::1] with the port, and what was configured), Origin, where there is one, of these too or of
 * `origins`; token: NULL or the bearer token, compared in constant time (401 with WWW-Authenticate: Bearer). */
struct http_guard {
	char **hosts, **origins; /* besides the local ones; NULL-terminated or NULL */
	const char *token;
	size_t token_len;
	bool local_hosts; /* localhost and the loopback addresses are good Hosts */
};
/* True: it may go on. False: it was answered. */
bool http_guard_pass(const struct http_guard *g, struct http_exchange *x, bool need_token);
/* A token file: of ours, mode 0600, 16 to 4096 bytes, a final line feed is an editor's. relay's key_read() moved here. */
struct bytes;
int http_token_read(const char *path, struct bytes *ret, struct err *err);

#endif
