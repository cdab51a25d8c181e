#include "agent/link.h"

#include "jail/base/fd.h"
#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/util.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* Between two tries to have a supervisor again: a restart of brigd takes less than the first, and the last costs nothing. */
#define RETRY_FIRST_MS 1000u
#define RETRY_LAST_MS  30000u
#define CALL_ID_SIZE   33
#define END_WAIT_MS    5000

struct ask {
	TAILQ_ENTRY(ask) link;
	uint64_t id;
	link_event_fn *event;
	link_done_fn *done; /* NULL: forgotten, or nobody's */
	void *arg;
	bool forgotten;
	char call_id[CALL_ID_SIZE]; /* once it is known */
};
TAILQ_HEAD(asks, ask);

struct link {
	struct event_base *base;
	enum connect_want want;
	const struct options *opt;
	int stop_fd;
	struct link_hooks hooks;
	struct connection conn;
	struct bufferevent *bev; /* NULL: down */
	struct asks asks;        /* in flight */
	struct asks lost;        /* could not be sent: told by `later` */
	struct event *later, *retry;
	unsigned retry_ms, load;
	uint64_t next;
	struct err err;
	enum outcome outcome; /* of err */
};

static void tell(struct link *l, struct ask *a, const struct link_answer *answer)
{
	l->load--;
	if (a->done)
		a->done(a->arg, answer);
	free(a);
}

/* All of a list; what is asked meanwhile goes into the link's own. */
static void tell_lost(struct link *l, struct asks *asks)
{
	const struct err err = l->err;
	const struct link_answer answer = { .end = LINK_LOST, .err = &err, .outcome = l->outcome };
	struct asks mine = TAILQ_HEAD_INITIALIZER(mine);

	TAILQ_CONCAT(&mine, asks, link);
	for (struct ask *a; (a = TAILQ_FIRST(&mine));) {
		TAILQ_REMOVE(&mine, a, link);
		tell(l, a, &answer);
	}
}

static void retry_later(struct link *l)
{
	const struct timeval tv = { .tv_sec = l->retry_ms / 1000, .tv_usec = (l->retry_ms % 1000) * 1000 };

	event_add(l->retry, &tv);
	l->retry_ms = l->retry_ms * 2 < RETRY_LAST_MS ? l->retry_ms * 2 : RETRY_LAST_MS;
}

static void disconnect(struct link *l)
{
	if (l->bev)
		bufferevent_free(l->bev);
	l->bev = NULL;
	l->conn.sock = fd_close(l->conn.sock);
	private_end(&l->conn.private, END_WAIT_MS, l->stop_fd);
	connection_done(&l->conn);
	l->conn = (struct connection)CONNECTION_NONE;
}

static void went_down(struct link *l, const char *why)
{
	disconnect(l);
	l->outcome = OUTCOME_INTERNAL_ERROR;
	err_set(&l->err, ERR_HOST, EPIPE, "supervisor", "%s", why);
	err_hint(&l->err, "it was stopped, or died and is being replaced: try again; 'brig status' tells");
	if (l->hooks.down)
		l->hooks.down(l->hooks.arg, &l->err);
	retry_later(l);
	tell_lost(l, &l->asks);
}

static struct ask *ask_find(struct link *l, const char *raw, size_t len)
{
	char digits[24];
	struct ask *a;

	if (len == 0 || len >= sizeof(digits))
		return NULL;
	memcpy(digits, raw, len);
	digits[len] = '\0';
	uint64_t id = strtoull(digits, NULL, 10);

	TAILQ_FOREACH(a, &l->asks, link)
		if (a->id == id)
			return a;
	return NULL;
}

static void send_line(struct link *l, uint64_t id, const char *method, const char *params, size_t len)
{
	struct evbuffer *out = bufferevent_get_output(l->bev), *piece = evbuffer_new();
	char *text;

	if (!piece)
		return;
	evbuffer_add_printf(piece, "{\"jsonrpc\":\"2.0\",\"id\":%" PRIu64 ",\"method\":\"%s\",\"params\":", id, method);
	evbuffer_add(piece, params, len);
	evbuffer_add(piece, "}", 1);
	text = (char *)evbuffer_pullup(piece, -1);
	if (text)
		json_one_line(text, evbuffer_get_length(piece));
	evbuffer_add(piece, "\n", 1);
	evbuffer_add_buffer(out, piece);
	evbuffer_free(piece);
}

static void cancel(struct link *l, struct ask *a)
{
	char params[64];
	int n = snprintf(params, sizeof(params), "{\"call_id\":\"%s\"}", a->call_id);

	if (l->bev && a->call_id[0])
		send_line(l, l->next++, "cancel", params, (size_t)n);
}

static void on_notification(struct link *l, const char *line, size_t len, const char *method)
{
	size_t at, n, id_at, id_len;
	struct ask *a = NULL;

	if (!json_find(line, len, "params", &at, &n, NULL))
		return;
	if (json_find(line + at, n, "id", &id_at, &id_len, NULL))
		a = ask_find(l, line + at + id_at, id_len);
	if (!a) {
		if (l->hooks.event)
			l->hooks.event(l->hooks.arg, method, line + at, n);
		return;
	}
	if (!a->call_id[0] && json_find(line + at, n, "call_id", &id_at, &id_len, NULL) && id_len == CALL_ID_SIZE + 1) {
		memcpy(a->call_id, line + at + id_at + 1, CALL_ID_SIZE - 1);
		if (a->forgotten)
			cancel(l, a);
	}
	if (a->event && !a->forgotten)
		a->event(a->arg, method, line + at, n);
}

static void on_answer(struct link *l, const char *line, size_t len, const char *raw_id, size_t id_len)
{
	struct link_answer answer = { .end = LINK_RESULT };
	size_t at, n;
	struct ask *a = ask_find(l, raw_id, id_len);

	if (!a)
		return;
	if (!json_find(line, len, "result", &at, &n, NULL)) {
		answer.end = LINK_ERROR;
		if (!json_find(line, len, "error", &at, &n, NULL))
			return;
	}
	_cleanup_free_ char *copy = strndup(line + at, n);

	answer.json = copy;
	answer.len = n;
	TAILQ_REMOVE(&l->asks, a, link);
	if (!copy) {
		answer = (struct link_answer){ .end = LINK_LOST, .err = &l->err, .outcome = OUTCOME_INTERNAL_ERROR };
		err_set(&l->err, ERR_HOST, ENOMEM, "client", "no memory for an answer");
	}
	tell(l, a, &answer);
}

/* False: it is no line of the protocol. */
static bool on_line(struct link *l, const char *line, size_t len)
{
	struct json_error je;
	size_t at, n;

	if (json_check(line, len, JSON_OBJECT, LIMIT_JSON_DEPTH + 8, &je) < 0)
		return false;
	if (json_find(line, len, "method", &at, &n, NULL)) {
		size_t method_len;
		_cleanup_free_ char *method = json_string_dup(line + at, n, &method_len);

		if (method)
			on_notification(l, line, len, method);
	} else if (json_find(line, len, "id", &at, &n, NULL) && !(n == 4 && memcmp(line + at, "null", 4) == 0)) {
		on_answer(l, line, len, line + at, n);
	} else {
		return false; /* we are not admitted, or what we sent was no request */
	}
	return true;
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct link *l = arg;
	size_t len;

	for (;;) {
		_cleanup_free_ char *line = evbuffer_readln(bufferevent_get_input(bev), &len, EVBUFFER_EOL_LF);

		if (!line)
			break;
		if (!on_line(l, line, len)) {
			went_down(l, "the supervisor refused the connection, or does not speak this protocol");
			return;
		}
		if (l->bev != bev) /* a handler ended it */
			return;
	}
	if (evbuffer_get_length(bufferevent_get_input(bev)) > LIMIT_ANSWER_BYTES)
		went_down(l, "the supervisor sent a line that is too long");
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		went_down(arg, "the supervisor closed the connection");
}

int link_open(struct link *l, struct err *err)
{
	int r, fd;

	if (l->bev)
		return 0;
	r = connection_open(&l->conn, l->want, l->opt, l->stop_fd, &l->err);
	if (r == 0) {
		fd = connection_sock(&l->conn);
		evutil_make_socket_nonblocking(fd);
		l->bev = bufferevent_socket_new(l->base, fd, 0);
		if (!l->bev)
			r = err_set(&l->err, ERR_HOST, ENOMEM, "client", "no memory");
	}
	if (r < 0) {
		l->outcome = l->conn.outcome;
		*err = l->err;
		disconnect(l);
		if (!evtimer_pending(l->retry, NULL))
			retry_later(l);
		return r;
	}
	event_del(l->retry);
	l->retry_ms = RETRY_FIRST_MS;
	bufferevent_setcb(l->bev, on_read, NULL, on_event, l);
	bufferevent_enable(l->bev, EV_READ | EV_WRITE);
	if (l->hooks.up)
		l->hooks.up(l->hooks.arg);
	return 0;
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
	struct err err = { 0 };

	(void)fd, (void)what;
	(void)link_open(arg, &err);
}

static void on_later(evutil_socket_t fd, short what, void *arg)
{
	struct link *l = arg;

	(void)fd, (void)what;
	tell_lost(l, &l->lost);
}

struct link *link_new(struct event_base *base, enum connect_want want, const struct options *opt, int stop_fd, const struct link_hooks *hooks)
{
	struct link *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	*l = (struct link){ .base = base, .want = want, .opt = opt, .stop_fd = stop_fd, .conn = CONNECTION_NONE, .retry_ms = RETRY_FIRST_MS, .next = 1 };
	if (hooks)
		l->hooks = *hooks;
	TAILQ_INIT(&l->asks);
	TAILQ_INIT(&l->lost);
	l->later = evtimer_new(base, on_later, l);
	l->retry = evtimer_new(base, on_retry, l);
	if (l->later && l->retry)
		return l;
	link_free(l);
	return NULL;
}

bool link_is_up(const struct link *l)
{
	return l->bev != NULL;
}

bool link_is_private(const struct link *l)
{
	return l->bev && l->conn.path[0] == '\0';
}

unsigned link_load(const struct link *l)
{
	return l->load;
}

uint64_t link_ask(struct link *l, const char *method, const char *params, size_t len, link_event_fn *event, link_done_fn *done, void *arg)
{
	const struct timeval now = { 0 };
	struct ask *a = calloc(1, sizeof(*a));
	struct err err = { 0 };

	if (!a)
		return 0;
	*a = (struct ask){ .id = l->next++, .event = event, .done = done, .arg = arg };
	l->load++;
	if (link_open(l, &err) < 0) {
		TAILQ_INSERT_TAIL(&l->lost, a, link);
		event_add(l->later, &now);
		return a->id;
	}
	TAILQ_INSERT_TAIL(&l->asks, a, link);
	send_line(l, a->id, method, params, len);
	return a->id;
}

void link_forget(struct link *l, uint64_t handle)
{
	struct ask *a;

	TAILQ_FOREACH(a, &l->lost, link)
		if (a->id == handle)
			a->done = NULL;
	TAILQ_FOREACH(a, &l->asks, link) {
		if (a->id != handle || a->forgotten)
			continue;
		a->done = NULL;
		a->forgotten = true;
		cancel(l, a);
	}
}

static void drop(struct asks *asks)
{
	for (struct ask *a; (a = TAILQ_FIRST(asks));) {
		TAILQ_REMOVE(asks, a, link);
		free(a);
	}
}

void link_free(struct link *l)
{
	if (!l)
		return;
	if (l->later)
		event_free(l->later);
	if (l->retry)
		event_free(l->retry);
	drop(&l->asks);
	drop(&l->lost);
	disconnect(l);
	free(l);
}
