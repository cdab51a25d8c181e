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
	struct core *core;
	struct bufferevent *be;
	size_t scanned; /* bytes at the front of the input that hold no line end */
	bool skipping;  /* inside a line that was refused for its length */
	bool paused;    /* too many answers unread */
};

void client_close(struct client *cl)
{
	if (!cl)
		return;
	cl->core->client = NULL;
	bufferevent_free(cl->be);
	free(cl);
}

/* Nothing may outlive its client: running calls are cancelled, parked jails killed. */
static void client_left(struct client *cl)
{
	struct core *core = cl->core;
	struct call *c, *next_call;
	struct jail *j, *next_jail;

	client_close(cl);
	core->leaving = true;
	for (c = LIST_FIRST(&core->calls); c; c = next_call) {
		next_call = LIST_NEXT(c, link);
		call_cancel(c);
	}
	for (j = LIST_FIRST(&core->jails); j; j = next_jail) {
		next_jail = LIST_NEXT(j, link);
		jail_kill(j);
	}
	core_leave_if_idle(core);
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
			methods_dispatch(cl->core, line, len);
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

int client_open(struct core *core, int fd, struct err *err)
{
	struct client *cl = calloc(1, sizeof(*cl));

	if (!cl || evutil_make_socket_nonblocking(fd) < 0 ||
	    !(cl->be = bufferevent_socket_new(core->base, fd, BEV_OPT_CLOSE_ON_FREE))) {
		free(cl);
		return err_set(err, ERR_HOST, ENOMEM, "core", "cannot watch the client's socket");
	}
	cl->core = core;
	core->client = cl;
	bufferevent_setcb(cl->be, on_read, on_written, on_event, cl);
	bufferevent_enable(cl->be, EV_READ | EV_WRITE);
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

void client_answer_call(struct client *cl, const struct call *call)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_MAX);
	answer_print(call, &b);
	if (b.failed)
		client_answer_error(cl, call->rpc_id, strlen(call->rpc_id), -32603, "no memory for the answer", NULL, NULL);
	else
		client_answer(cl, call->rpc_id, strlen(call->rpc_id), b.data, b.len);
	jbuf_done(&b);
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
