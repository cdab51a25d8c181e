#include "supervisor/client.h"

#include "supervisor/call.h"
#include "supervisor/methods.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* An answer holds two output texts whose bad bytes may grow threefold and a result; profiles cap them far below this. */
#define ANSWER_MAX LIMIT_ANSWER_BYTES
/* Answers that wait for a client which does not read them. Above this no further request of its is taken. */
#define UNREAD_MAX (1u << 20)

struct client {
	LIST_ENTRY(client) link;
	struct core *core;
	enum authority authority;
	struct ucred peer;
	LIST_HEAD(, pending) pending;
	struct bufferevent *be;
	size_t scanned; /* bytes at the front of the input that hold no line end */
	bool skipping;  /* inside a line that was refused for its length */
	bool paused;    /* too many answers unread */
};

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
	return cl->peer.uid;
}

pid_t client_pid(const struct client *cl)
{
	return cl->peer.pid;
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
	bufferevent_free(cl->be);
	free(cl);
}

/* Nothing may outlive its client: its calls are cancelled, queued or running. */
static void client_left(struct client *cl)
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

static void on_event(struct bufferevent *be UNUSED, short what, void *arg)
{
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		client_left(arg);
}

/* The next whole line, without its end; NULL: none yet. Each byte is looked at once, however slowly a long line comes. */
static char *take_line(struct client *cl, struct evbuffer *in, size_t *ret_len)
{
	size_t have = evbuffer_get_length(in);
	struct evbuffer_ptr from, end;
	char *line;

	if (cl->scanned >= have || evbuffer_ptr_set(in, &from, cl->scanned, EVBUFFER_PTR_SET) < 0)
		return NULL;
	end = evbuffer_search_eol(in, &from, NULL, EVBUFFER_EOL_LF);
	if (end.pos < 0) {
		cl->scanned = have;
		return NULL;
	}
	cl->scanned = 0;
	line = malloc((size_t)end.pos + 1);
	if (line) {
		evbuffer_remove(in, line, (size_t)end.pos);
		line[end.pos] = '\0';
		*ret_len = (size_t)end.pos;
	}
	evbuffer_drain(in, line ? 1 : (size_t)end.pos + 1);
	return line;
}

/* A line over the limit is thrown away as it comes. Reading goes on: it is also how the client's end is noticed. */
static void bound_line(struct client *cl, struct evbuffer *in)
{
	if (!cl->skipping && evbuffer_get_length(in) <= LIMIT_FRAME_BYTES)
		return;
	if (!cl->skipping)
		client_answer_error(cl, "null", 4, -32600, "a request line is too long", NULL, "split the work, or pass less data");
	cl->skipping = true;
	cl->scanned = 0;
	evbuffer_drain(in, evbuffer_get_length(in));
}

/* True once too many answers are unread; on_written() goes on with what was read already. The end of
 * a client is noticed meanwhile by the write that waits. */
static bool pause_reading(struct client *cl)
{
	if (evbuffer_get_length(bufferevent_get_output(cl->be)) <= UNREAD_MAX)
		return false;
	cl->paused = true;
	bufferevent_disable(cl->be, EV_READ);
	return true;
}

static void on_read(struct bufferevent *be, void *arg)
{
	struct client *cl = arg;
	struct evbuffer *in = bufferevent_get_input(be);
	size_t len;
	char *line;

	while (!pause_reading(cl) && (line = take_line(cl, in, &len))) {
		if (!cl->skipping)
			methods_dispatch(cl, line, len);
		cl->skipping = false;
		free(line);
	}
	if (!cl->paused)
		bound_line(cl, in);
}

static void on_written(struct bufferevent *be, void *arg)
{
	struct client *cl = arg;

	if (!cl->paused)
		return;
	cl->paused = false;
	bufferevent_enable(be, EV_READ);
	on_read(be, cl);
}

int client_open(struct core *core, int fd, enum authority authority, const struct ucred *peer, struct client **ret, struct err *err)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl || evutil_make_socket_nonblocking(fd) < 0 ||
	    !(cl->be = bufferevent_socket_new(core->base, fd, BEV_OPT_CLOSE_ON_FREE))) {
		free(cl);
		close(fd);
		return err_set(err, ERR_HOST, ENOMEM, "core", "cannot watch the client's socket");
	}
	cl->core = core;
	cl->authority = authority;
	cl->peer = *peer;
	LIST_INSERT_HEAD(&core->clients, cl, link);
	bufferevent_setcb(cl->be, on_read, on_written, on_event, cl);
	bufferevent_enable(cl->be, EV_READ | EV_WRITE);
	*ret = cl;
	return 0;
}

/* At once when nothing waits before it: the answer is on its way before core cleans up behind the call. */
static void client_send(struct client *cl, struct iovec *iov, int count)
{
	struct evbuffer *out = bufferevent_get_output(cl->be);
	ssize_t sent = 0;

	if (evbuffer_get_length(out) == 0) {
		struct msghdr mh = { .msg_iov = iov, .msg_iovlen = (size_t)count };
		sent = sendmsg(bufferevent_getfd(cl->be), &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			sent = 0; /* full, or gone: the event loop finds out */
	}
	for (int i = 0; i < count; i++) {
		size_t skip = (size_t)sent < iov[i].iov_len ? (size_t)sent : iov[i].iov_len;

		evbuffer_add(out, (char *)iov[i].iov_base + skip, iov[i].iov_len - skip);
		sent -= (ssize_t)skip;
	}
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

	if (!cl || evbuffer_get_length(bufferevent_get_output(cl->be)) > UNREAD_MAX)
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
	if (p->client)
		LIST_REMOVE(p, link);
	free(p->rpc_id);
	free(p);
}

void client_answer_error(struct client *cl, const char *rpc_id, size_t rpc_id_len, int code, const char *message,
			 const char *where, const char *hint)
{
	struct jbuf b;

	if (!cl)
		return;
	jbuf_init(&b, ANSWER_MAX);
	jbuf_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
	jbuf_raw(&b, rpc_id, rpc_id_len);
	jbuf_printf(&b, ",\"error\":{\"code\":%d,\"message\":", code);
	jbuf_cstring(&b, message);
	jbuf_text(&b, ",\"data\":{\"where\":");
	jbuf_cstring(&b, where ? where : "");
	jbuf_text(&b, ",\"hint\":");
	jbuf_cstring(&b, hint ? hint : "");
	jbuf_text(&b, "}}}\n");
	if (!b.failed)
		client_send(cl, &(struct iovec){ b.data, b.len }, 1);
	jbuf_done(&b);
}
