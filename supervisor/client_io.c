#include "supervisor/client_impl.h"

#include "supervisor/log.h"
#include "supervisor/metrics.h"
#include "supervisor/methods.h"
#include "supervisor/request.h"
#include "supervisor/sched.h"

#include <event2/buffer.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Read at once. */
#define CHUNK (64u << 10)
/* So much of a buffer costs its client nothing of queued_bytes_per_uid; connections are counted themselves. */
#define IN_FREE (CHUNK + 1)
/* A line at its limit, and what came with its end. Costs just the limit, which a uid's bytes always allow. */
#define IN_MAX (LIMIT_FRAME_BYTES + IN_FREE)
/* A buffer that is empty and larger is freed: silent clients cost nothing. */
#define IN_KEEP (4u << 10)
/* Lines served before others get their turn. */
#define TURN_LINES 16
/* A turn that took longer is paid for: its uid waits as long, so that it has at most half of core however many
 * connections it opens. Below this the turns of others alone are fair enough. */
#define TURN_FREE_NS 1000000u
/* No single line, however costly, keeps a client longer from its next. */
#define TURN_WAIT_MAX_NS 250000000u
/* How often a client that ended its requests is looked at while its answers are awaited: only poll() tells that it is gone. */
#define HALF_CLOSED_MS 250
/* Refused for its bytes: a call of the same uid has probably ended by then. */
#define BYTES_RETRY_MS 500

static bool out_full(const struct client *cl)
{
	return evbuffer_get_length(cl->out) > CLIENT_UNREAD_MAX;
}

/* What lies unread is on the account of its uid, which bounds it: no call begins while there is too much (peer_may_run). */
static void out_charge(struct client *cl)
{
	size_t have = cl->out ? evbuffer_get_length(cl->out) : 0;

	if (have == cl->out_charged)
		return;
	bool less = have < cl->out_charged;
	peer_unread_set(cl->peer, cl->out_charged, have);
	cl->out_charged = have;
	if (less)
		sched_room(cl->core);
}

static bool turn_waits(const struct client *cl)
{
	return evtimer_pending(cl->turn_ev, NULL);
}

static void watch(struct client *cl)
{
	if (cl->ended || cl->paused || turn_waits(cl))
		event_del(cl->read_ev);
	else
		event_add(cl->read_ev, NULL);
}

static void turn_later(struct client *cl, uint64_t ns)
{
	const struct timeval tv = { .tv_sec = (time_t)(ns / 1000000000u), .tv_usec = (suseconds_t)(ns % 1000000000u / 1000) };

	evtimer_add(cl->turn_ev, &tv);
	event_del(cl->read_ev);
}

void client_turn_soon(struct client *cl)
{
	turn_later(cl, 0);
}

/* ---- lines come in ---- */

static void in_free(struct client *cl)
{
	free(take_ptr(cl->in));
	peer_bytes_give(cl->peer, cl->charged);
	cl->in_cap = cl->charged = 0;
}

/* A short line behind a long one does not keep what the long one had on the account. */
static void in_shrink(struct client *cl)
{
	char *in = cl->charged > 0 && cl->in_len < CHUNK ? realloc(cl->in, IN_FREE) : NULL;

	if (!in)
		return;
	cl->in = in;
	cl->in_cap = IN_FREE;
	peer_bytes_give(cl->peer, cl->charged);
	cl->charged = 0;
}

/* Nothing before in_at is needed any more. */
static void in_compact(struct client *cl)
{
	if (cl->in_len == 0 && cl->in_cap > IN_KEEP)
		in_free(cl);
	else if (cl->in_at > 0)
		memmove(cl->in, cl->in + cl->in_at, cl->in_len);
	cl->in_at = 0;
	in_shrink(cl);
}

/* Room for more bytes and a NUL. -ENOBUFS: the account has none. */
static int in_reserve(struct client *cl, size_t more)
{
	size_t need = cl->in_len + more + 1, cap = 2 * cl->in_cap < IN_MAX ? 2 * cl->in_cap : IN_MAX;
	char *in;

	if (need <= cl->in_cap)
		return 0;
	cap = cap < need ? need : cap;
	size_t charge = cap > IN_FREE ? cap - IN_FREE : 0;
	if (!peer_bytes_take(cl->peer, charge - cl->charged))
		return -ENOBUFS;
	in = realloc(cl->in, cap);
	if (!in) {
		peer_bytes_give(cl->peer, charge - cl->charged);
		return -ENOMEM;
	}
	cl->in = in;
	cl->in_cap = cap;
	cl->charged = charge;
	return 0;
}

/* What came of the line so far is thrown away, and so is the rest as it comes. Reading goes on: it is also how the client's end is noticed. */
static void line_skip(struct client *cl)
{
	cl->skipping = true;
	cl->in_len = cl->scanned = 0;
	in_compact(cl);
}

static void line_too_long(struct client *cl)
{
	struct err err;

	err_set(&err, ERR_CALLER, EMSGSIZE, "request", "a request line is too long: at most %u bytes are taken", LIMIT_FRAME_BYTES);
	err_hint(&err, "split the work, or pass less data");
	client_answer_err(cl, "null", 4, RPC_REQUEST, &err, 0);
}

static void in_refused(struct client *cl, int r)
{
	struct err err;

	if (r == -ENOBUFS) {
		err_set(&err, ERR_HOST, ENOBUFS, "queued_bytes_per_uid", "too many bytes of requests of uid %u are waiting already", cl->cred.uid);
		metrics_busy(cl->core, "queued_bytes_per_uid");
	} else {
		err_set(&err, ERR_HOST, ENOMEM, "core", "no memory for the request");
	}
	err_hint(&err, "send the request again a little later, or less at once");
	client_answer_err(cl, "null", 4, RPC_BUSY, &err, BYTES_RETRY_MS);
	line_skip(cl);
}

/* Past the rest of a line that was refused, if it ends in there. */
static void skip_to_line(struct client *cl, const char **bytes, size_t *len)
{
	const char *end = cl->skipping ? memchr(*bytes, '\n', *len) : NULL;

	if (!end)
		return;
	cl->skipping = false;
	*len -= (size_t)(end + 1 - *bytes);
	*bytes = end + 1;
}

static void in_add(struct client *cl, const char *bytes, size_t len)
{
	int r;

	skip_to_line(cl, &bytes, &len);
	if (cl->skipping)
		return;
	r = in_reserve(cl, len);
	if (r < 0) {
		in_refused(cl, r);
		/* What follows the refused line in this very chunk is not lost. Once: where that is refused, too, no memory is left at all. */
		skip_to_line(cl, &bytes, &len);
		if (cl->skipping)
			return;
		if (in_reserve(cl, len) < 0) {
			line_skip(cl);
			return;
		}
	}
	memcpy(cl->in + cl->in_len, bytes, len);
	cl->in_len += len;
}

/* The end of the first whole line; NULL: there is none yet. Each byte is looked at once, however slowly a long line comes.
 * Without a line end, what a client said last is a line all the same. */
static char *line_end(struct client *cl)
{
	char *at, *end;

	if (cl->in_len == 0) /* and there may be no buffer */
		return NULL;
	at = cl->in + cl->in_at;
	end = memchr(at + cl->scanned, '\n', cl->in_len - cl->scanned);
	if (end || cl->ended)
		return end ? end : at + cl->in_len;
	cl->scanned = cl->in_len;
	return NULL;
}

static void line_serve(struct client *cl, char *end)
{
	char *line = cl->in + cl->in_at;
	size_t len = (size_t)(end - line), taken = len < cl->in_len ? len + 1 : len;

	*end = '\0';
	if (len > LIMIT_FRAME_BYTES)
		line_too_long(cl);
	else
		methods_dispatch(cl, line, len);
	cl->in_at += taken;
	cl->in_len -= taken;
	cl->scanned = 0;
}

/* ---- turns ---- */

/* A client that ended its requests: gone, served, or waiting for answers? */
static void half_closed(struct client *cl)
{
	struct pollfd p = { .fd = cl->fd };

	(void)poll(&p, 1, 0);
	if (p.revents & (POLLHUP | POLLERR) || (LIST_EMPTY(&cl->pending) && evbuffer_get_length(cl->out) == 0))
		client_left(cl);
	else
		turn_later(cl, HALF_CLOSED_MS * 1000000ull);
}

static enum peer_socket peer_socket_of(const struct client *cl)
{
	return cl->authority == AUTHORITY_ADMIN ? PEER_ADMIN : PEER_AGENT;
}

/* Serves some of what was read. The client may be freed on return. */
static void take_turn(struct client *cl)
{
	uint64_t begun = core_now_ns(), spent;
	char *end = NULL;
	for (int n = 0; n < TURN_LINES && !out_full(cl) && (end = line_end(cl)); n++)
		line_serve(cl, end);
	in_compact(cl);
	spent = (core_now_ns() - begun) * peer_connections(cl->peer, peer_socket_of(cl));
	spent = spent < TURN_FREE_NS ? 0 : spent > TURN_WAIT_MAX_NS ? TURN_WAIT_MAX_NS : spent;
	cl->paused = out_full(cl); /* on_writable() goes on with what was read already; until then it tells of the client's end */
	if (cl->paused)
		watch(cl);
	else if (line_end(cl) || spent)
		turn_later(cl, spent);
	else if (cl->ended)
		half_closed(cl);
	else
		watch(cl);
}

static void on_turn(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	take_turn(arg);
}

static void descriptors_refused(struct client *cl)
{
	struct err err;

	err_set(&err, ERR_CALLER, EINVAL, "request", "descriptors came with a request: none are taken, and they were closed");
	err_hint(&err, "send lines of JSON and nothing else");
	client_answer_err(cl, "null", 4, RPC_REQUEST, &err, 0);
}

static void on_readable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	static char chunk[CHUNK]; /* core has one thread */
	struct client *cl = arg;
	struct iovec iov = { chunk, sizeof(chunk) };
	/* No room for control messages: descriptors are closed by the kernel, and the flag tells that there were some. */
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n = recvmsg(fd, &mh, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		client_left(cl);
		return;
	}
	if (mh.msg_flags & MSG_CTRUNC)
		descriptors_refused(cl);
	cl->ended = n == 0;
	if (n > 0)
		in_add(cl, chunk, (size_t)n);
	if (cl->in_len > LIMIT_FRAME_BYTES && !line_end(cl)) {
		line_too_long(cl);
		line_skip(cl);
	}
	take_turn(cl);
}

/* ---- answers go out ---- */

static void out_watch(struct client *cl)
{
	uint32_t ms = cl->core->boot->config.unread_ms;
	const struct timeval most = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };

	/* The private client is the one for whom all this is: it may be stopped for as long as its user likes. */
	event_add(cl->write_ev, cl->authority == AUTHORITY_PRIVATE ? NULL : &most);
}

static void unread_too_long(struct client *cl)
{
	log_event(LOG_NOTICE, "client_dropped",
		  LOG_FIELDS(LOG_NUM("uid", cl->cred.uid), LOG_NUM("pid", cl->cred.pid), LOG_NUM("bytes", evbuffer_get_length(cl->out))),
		  "a client of %s did not read its answers for %u ms and was dropped", client_socket_name(cl), cl->core->boot->config.unread_ms);
	client_left(cl);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
	struct client *cl = arg;

	if (what & EV_TIMEOUT) {
		unread_too_long(cl);
		return;
	}
	if (evbuffer_write(cl->out, fd) < 0 && errno != EAGAIN && errno != EINTR) {
		client_left(cl);
		return;
	}
	out_charge(cl);
	if (evbuffer_get_length(cl->out) == 0)
		event_del(cl->write_ev);
	if (!out_full(cl) && (cl->paused || (cl->ended && evbuffer_get_length(cl->out) == 0))) {
		cl->paused = false;
		client_turn_soon(cl);
	}
}

void client_send(struct client *cl, struct iovec *iov, int count)
{
	bool waits = evbuffer_get_length(cl->out) > 0;
	ssize_t sent = 0;

	if (!waits) {
		struct msghdr mh = { .msg_iov = iov, .msg_iovlen = (size_t)count };
		sent = sendmsg(cl->fd, &mh, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			sent = 0; /* full, or gone: the event loop finds out */
	}
	for (int i = 0; i < count; i++) {
		size_t skip = (size_t)sent < iov[i].iov_len ? (size_t)sent : iov[i].iov_len;

		/* Without memory the rest of a line would be missing: no client may take two halves for one. */
		if (evbuffer_add(cl->out, (char *)iov[i].iov_base + skip, iov[i].iov_len - skip) < 0)
			(void)shutdown(cl->fd, SHUT_RDWR);
		sent -= (ssize_t)skip;
	}
	if (!waits && evbuffer_get_length(cl->out) > 0)
		out_watch(cl);
	out_charge(cl);
}

void client_flush(struct client *cl, uint64_t until_ns)
{
	while (evbuffer_get_length(cl->out) > 0) {
		struct pollfd p = { .fd = cl->fd, .events = POLLOUT };
		uint64_t now = core_now_ns();

		if (now >= until_ns || poll(&p, 1, (int)((until_ns - now) / 1000000) + 1) <= 0 || evbuffer_write(cl->out, cl->fd) < 0)
			return;
	}
}

int client_io_open(struct client *cl)
{
	cl->out = evbuffer_new();
	cl->read_ev = event_new(cl->core->base, cl->fd, EV_READ | EV_PERSIST, on_readable, cl);
	cl->write_ev = event_new(cl->core->base, cl->fd, EV_WRITE | EV_PERSIST, on_writable, cl);
	cl->turn_ev = evtimer_new(cl->core->base, on_turn, cl);
	if (!cl->out || !cl->read_ev || !cl->write_ev || !cl->turn_ev || event_add(cl->read_ev, NULL) < 0)
		return -ENOMEM;
	return 0;
}

void client_io_close(struct client *cl)
{
	struct event *evs[] = { cl->read_ev, cl->write_ev, cl->turn_ev };

	for (size_t i = 0; i < ARRAY_LEN(evs); i++)
		if (evs[i])
			event_free(evs[i]);
	if (cl->out)
		evbuffer_free(take_ptr(cl->out));
	out_charge(cl);
	in_free(cl);
	cl->fd = fd_close(cl->fd);
}
