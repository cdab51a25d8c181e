#include "supervisor/client_impl.h"

#include "supervisor/call.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Names, a message and a hint. */
#define ERROR_LINE_MAX (64u << 10)

struct core *client_core(const struct client *cl)
{
	return cl->core;
}

enum authority client_authority(const struct client *cl)
{
	return cl->authority;
}

const char *client_socket_name(const struct client *cl)
{
	return cl->authority == AUTHORITY_ADMIN ? "admin.sock" : cl->authority == AUTHORITY_AGENT ? "agent.sock" : "the private socket";
}

uid_t client_uid(const struct client *cl)
{
	return cl->cred.uid;
}

pid_t client_pid(const struct client *cl)
{
	return cl->cred.pid;
}

struct peer *client_peer(const struct client *cl)
{
	return cl->peer;
}

unsigned client_events(const struct client *cl)
{
	return cl->events;
}

void client_events_set(struct client *cl, unsigned bits)
{
	cl->events = bits;
}

const char *client_call_room(const struct client *cl, size_t bytes)
{
	return peer_call_room(cl->peer, bytes, cl->charged);
}

unsigned client_count(const struct core *core, enum authority authority)
{
	const struct client *cl;
	unsigned n = 0;

	LIST_FOREACH(cl, &core->clients, link)
		n += cl->authority == authority;
	return n;
}

void client_close(struct client *cl)
{
	struct pending *p;

	if (!cl)
		return;
	while ((p = LIST_FIRST(&cl->pending))) {
		LIST_REMOVE(p, link);
		p->client = NULL;
	}
	LIST_REMOVE(cl, link);
	client_io_close(cl);
	peer_disconnect(cl->peer, cl->authority == AUTHORITY_ADMIN ? PEER_ADMIN : PEER_AGENT);
	free(cl);
}

/* Nothing may outlive its client: its calls are cancelled, queued or running. */
void client_left(struct client *cl)
{
	struct core *core = cl->core;
	bool last = cl->authority == AUTHORITY_PRIVATE;
	struct call *c, *next;

	for (c = LIST_FIRST(&core->calls); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->pending->client == cl)
			call_cancel(c);
	}
	client_close(cl);
	if (last)
		core_leave(core);
}

struct client *client_next(const struct client *cl)
{
	return LIST_NEXT(cl, link);
}

void client_drop(struct client *cl)
{
	(void)shutdown(cl->fd, SHUT_RDWR);
}

int client_open(struct core *core, int fd, enum authority authority, const struct ucred *cred, struct peer *peer, struct err *err)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl) {
		close(fd);
		peer_disconnect(peer, authority == AUTHORITY_ADMIN ? PEER_ADMIN : PEER_AGENT);
		return err_set(err, ERR_HOST, ENOMEM, "core", "no memory for a client");
	}
	cl->core = core;
	cl->fd = fd;
	cl->authority = authority;
	cl->cred = *cred;
	cl->peer = peer;
	LIST_INSERT_HEAD(&core->clients, cl, link);
	if (client_io_open(cl) == 0)
		return 0;
	client_close(cl);
	return err_set(err, ERR_HOST, ENOMEM, "core", "cannot watch a client's socket");
}

void client_answer(struct client *cl, const char *rpc_id, size_t rpc_id_len, const char *result, size_t len)
{
	static char head[] = "{\"jsonrpc\":\"2.0\",\"id\":", mid[] = ",\"result\":", tail[] = "}\n";
	struct iovec iov[] = { { head, sizeof(head) - 1 }, { (char *)rpc_id, rpc_id_len }, { mid, sizeof(mid) - 1 },
			       { (char *)result, len }, { tail, sizeof(tail) - 1 } };

	if (cl)
		client_send(cl, iov, ARRAY_LEN(iov));
}

bool client_notify(struct client *cl, const char *method, const char *params, size_t len)
{
	static char head[] = "{\"jsonrpc\":\"2.0\",\"method\":\"", mid[] = "\",\"params\":", tail[] = "}\n";
	struct iovec iov[] = { { head, sizeof(head) - 1 }, { (char *)method, strlen(method) }, { mid, sizeof(mid) - 1 },
			       { (char *)params, len }, { tail, sizeof(tail) - 1 } };

	if (!cl || evbuffer_get_length(cl->out) > CLIENT_UNREAD_MAX)
		return false;
	client_send(cl, iov, ARRAY_LEN(iov));
	return true;
}

struct pending *pending_new(struct client *cl, const char *rpc_id, size_t rpc_id_len)
{
	struct pending *p = calloc(1, sizeof(*p));

	if (!p || !(p->rpc_id = strndup(rpc_id, rpc_id_len))) {
		free(p);
		client_answer_error(cl, rpc_id, rpc_id_len, -32603, "no memory", NULL, NULL);
		return NULL;
	}
	p->client = cl;
	LIST_INSERT_HEAD(&cl->pending, p, link);
	return p;
}

struct pending *pending_find(struct client *cl, const char *rpc_id, size_t rpc_id_len)
{
	struct pending *p;

	LIST_FOREACH(p, &cl->pending, link)
		if (strlen(p->rpc_id) == rpc_id_len && memcmp(p->rpc_id, rpc_id, rpc_id_len) == 0)
			return p;
	return NULL;
}

void pending_answer(struct pending *p, const struct jbuf *b)
{
	if (b->failed)
		client_answer_error(p->client, p->rpc_id, strlen(p->rpc_id), -32603, "no memory for the answer", NULL, NULL);
	else
		client_answer(p->client, p->rpc_id, strlen(p->rpc_id), b->data, b->len);
	pending_free(p);
}

void pending_free(struct pending *p)
{
	if (!p)
		return;
	if (p->client) {
		LIST_REMOVE(p, link);
		if (p->client->ended && LIST_EMPTY(&p->client->pending))
			client_turn_soon(p->client); /* that was its last answer */
	}
	free(p->rpc_id);
	free(p);
}

void client_print_err(struct jbuf *b, const char *rpc_id, size_t rpc_id_len, int code, const struct err *err, uint32_t retry_after_ms)
{
	jbuf_text(b, "{\"jsonrpc\":\"2.0\",\"id\":");
	jbuf_raw(b, rpc_id, rpc_id_len);
	jbuf_printf(b, ",\"error\":{\"code\":%d,\"message\":", code);
	jbuf_cstring(b, err->detail);
	jbuf_text(b, ",\"data\":{\"where\":");
	jbuf_cstring(b, err->where);
	jbuf_text(b, ",\"hint\":");
	jbuf_cstring(b, err->hint);
	if (retry_after_ms)
		jbuf_printf(b, ",\"retry_after_ms\":%u", retry_after_ms);
	jbuf_text(b, "}}}\n");
}

void client_answer_err(struct client *cl, const char *rpc_id, size_t rpc_id_len, int code, const struct err *err, uint32_t retry_after_ms)
{
	struct jbuf b;

	if (!cl)
		return;
	jbuf_init(&b, ERROR_LINE_MAX);
	client_print_err(&b, rpc_id, rpc_id_len, code, err, retry_after_ms);
	if (!b.failed)
		client_send(cl, &(struct iovec){ b.data, b.len }, 1);
	jbuf_done(&b);
}

void client_answer_error(struct client *cl, const char *rpc_id, size_t rpc_id_len, int code, const char *message,
			 const char *where, const char *hint)
{
	struct err err;

	err_set(&err, ERR_CALLER, 0, where ? where : "", "%s", message);
	err_hint(&err, "%s", hint ? hint : "");
	client_answer_err(cl, rpc_id, rpc_id_len, code, &err, 0);
}
