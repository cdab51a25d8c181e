#include "supervisor/courier_client.h"

#include "jail/base/fd.h"
#include "supervisor/core_state.h"
#include "supervisor/keeper_client.h"
#include "supervisor/log.h"

#include <errno.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Beyond the courier's own clock. */
#define LATE_MS 2000

struct wait {
	LIST_ENTRY(wait) link;
	struct courier_client *client;
	struct event *late;
	uint32_t id;
	courier_done done;
	void *arg;
};

struct courier_client {
	struct core *core;
	int fd;
	struct event *read_ev;
	uint32_t last_id;
	LIST_HEAD(, wait) waits;
	char in[sizeof(struct courier_answer) + COURIER_BODY_MAX + 1];
};

bool courier_is_configured(const struct config *config)
{
	return config->decision_url[0];
}

static void wait_free(struct wait *w)
{
	LIST_REMOVE(w, link);
	if (w->late)
		event_free(w->late);
	free(w);
}

static void finish(struct wait *w, const struct courier_word *word)
{
	courier_done done = w->done;
	void *arg = w->arg;

	wait_free(w);
	done(word, arg);
}

static void finish_without(struct wait *w, int err, const char *why)
{
	finish(w, &(struct courier_word){ .err = err, .why = why, .body = "" });
}

static void on_late(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	finish_without(arg, ETIMEDOUT, "the courier did not answer in time");
}

static void disconnect(struct courier_client *cc, const char *why)
{
	struct wait *w;

	if (cc->read_ev)
		event_free(take_ptr(cc->read_ev));
	cc->fd = fd_close(cc->fd);
	/* done may send again, on a new connection: only what waits now is over. */
	uint32_t last = cc->last_id;
	for (bool found = true; found;) {
		found = false;
		LIST_FOREACH(w, &cc->waits, link)
			if (w->id <= last) {
				found = true;
				finish_without(w, EPIPE, why);
				break;
			}
	}
}

static struct wait *wait_find(const struct courier_client *cc, uint32_t id)
{
	struct wait *w;

	LIST_FOREACH(w, &cc->waits, link)
		if (w->id == id)
			return w;
	return NULL;
}

/* It reads what strangers send: it is believed nothing but this form. */
static bool answer_is_sound(const struct courier_answer *a, size_t came)
{
	return a->magic == COURIER_MAGIC && a->body_len <= COURIER_BODY_MAX && came == sizeof(*a) + a->body_len && a->err >= 0 && a->err < 4096 &&
	       (a->err || (a->status >= 100 && a->status <= 599));
}

static void on_answer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct courier_client *cc = arg;
	struct courier_answer a;
	ssize_t n = recv(cc->fd, cc->in, sizeof(cc->in), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n >= (ssize_t)sizeof(a))
		memcpy(&a, cc->in, sizeof(a));
	if (n < (ssize_t)sizeof(a) || !answer_is_sound(&a, (size_t)n)) {
		if (n > 0)
			log_event(LOG_ERR, "courier_broke_protocol", LOG_NONE, "the courier says what it may not; it is not listened to any more");
		disconnect(cc, "the courier is gone");
		return;
	}
	struct wait *w = wait_find(cc, a.id);
	a.why[sizeof(a.why) - 1] = '\0';
	for (char *c = a.why; *c; c++)
		*c = *c < ' ' || *c > '~' ? '?' : *c;
	if (w) /* else nobody waits any more */
		finish(w, &(struct courier_word){ a.err, a.status, a.why, cc->in + sizeof(a), a.body_len });
}

static int connect_courier(struct courier_client *cc, struct err *err)
{
	struct keeper_msg msg = { .kind = KP_COURIER };
	struct keeper_reply reply;
	int r = keeper_ask(cc->core->boot->keeper_fd, &msg, -1, &reply, &cc->fd, 1, err);

	if (r < 0)
		return r;
	cc->read_ev = event_new(cc->core->base, cc->fd, EV_READ | EV_PERSIST, on_answer, cc);
	if (cc->read_ev && event_add(cc->read_ev, NULL) == 0)
		return 0;
	disconnect(cc, "no memory");
	return err_set(err, ERR_HOST, ENOMEM, "courier", "no memory");
}

static int client_of(struct core *core, struct courier_client **ret, struct err *err)
{
	if (!courier_is_configured(&core->boot->config))
		return err_set(err, ERR_BUG, ENOENT, "courier", "nobody is configured that it could reach");
	if (!core->courier) {
		core->courier = calloc(1, sizeof(*core->courier));
		if (!core->courier)
			return err_set(err, ERR_HOST, ENOMEM, "courier", "no memory");
		core->courier->core = core;
		core->courier->fd = -1;
	}
	*ret = core->courier;
	return (*ret)->fd >= 0 ? 0 : connect_courier(*ret, err);
}

static struct wait *wait_new(struct courier_client *cc, uint32_t timeout_ms, courier_done done, void *arg)
{
	const uint32_t ms = timeout_ms + LATE_MS;
	const struct timeval late = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	struct wait *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	*w = (struct wait){ .client = cc, .id = ++cc->last_id, .done = done, .arg = arg };
	LIST_INSERT_HEAD(&cc->waits, w, link);
	w->late = evtimer_new(cc->core->base, on_late, w);
	if (w->late && evtimer_add(w->late, &late) == 0)
		return w;
	wait_free(w);
	return NULL;
}

int courier_send(struct core *core, enum courier_endpoint to, const char *body, size_t len, uint32_t timeout_ms, courier_done done,
		 void *arg, struct err *err)
{
	struct courier_ask ask = { .magic = COURIER_MAGIC, .endpoint = to, .timeout_ms = timeout_ms, .body_len = (uint32_t)len };
	struct iovec iov[] = { { &ask, sizeof(ask) }, { (void *)(uintptr_t)body, len } };
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	struct courier_client *cc = NULL;

	if (len > COURIER_BODY_MAX)
		return err_set(err, ERR_BUG, EMSGSIZE, "courier", "%zu bytes are more than one message", len);
	int r = client_of(core, &cc, err);
	if (r < 0)
		return r;
	struct wait *w = wait_new(cc, timeout_ms, done, arg);
	if (!w)
		return err_set(err, ERR_HOST, ENOMEM, "courier", "no memory");
	ask.id = w->id;
	if (sendmsg(cc->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	int e = errno;
	wait_free(w);
	if (e != EAGAIN) /* what it said last is still in the socket, before the end that on_answer() finds */
		(void)shutdown(cc->fd, SHUT_RDWR);
	return err_set(err, ERR_HOST, e, "courier", "the courier takes nothing: %s", strerror(e));
}

void courier_cancel(struct core *core, const void *arg)
{
	struct wait *w, *next;

	for (w = core->courier ? LIST_FIRST(&core->courier->waits) : NULL; w; w = next) {
		next = LIST_NEXT(w, link);
		if (w->arg == arg)
			wait_free(w);
	}
}

void courier_close(struct core *core)
{
	struct courier_client *cc = take_ptr(core->courier);

	if (!cc)
		return;
	while (!LIST_EMPTY(&cc->waits))
		wait_free(LIST_FIRST(&cc->waits));
	disconnect(cc, "");
	free(cc);
}
