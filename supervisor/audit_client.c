#include "supervisor/audit_client.h"

#include "jail/base/fd.h"
#include "supervisor/keeper_client.h"
#include "supervisor/log.h"
#include "supervisor/metrics.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* A call that waits for the log so long is refused: longer than the keeper ever pauses before it starts another audit process. */
#define WORD_MAX_MS 10000
/* How often the keeper is asked for a new audit process, and how often the wait above is looked at. */
#define AGAIN_MS 100
/* Records that are no calls' and wait; calls are bounded by the queue. */
#define NOTES_MAX 256
/* An end should be in the socket before its answer goes out; a log that does not read holds us so long, once. */
#define END_WAIT_MS 50
/* At the end of core, for all that is queued. */
#define LAST_WAIT_MS 2000

struct audit_entry {
	TAILQ_ENTRY(audit_entry) link;
	struct audit_record rec;
	struct call *call;  /* a begin that the call waits for */
	struct audit_entry *then; /* its end, should the call end first: sent once the begin is written */
	uint64_t since_ns;
};

struct audit_client {
	struct core *core;
	int fd; /* -1: no audit process that we know of */
	pid_t pid;
	struct event *read_ev, *write_ev, *again_ev;
	TAILQ_HEAD(, audit_entry) entries; /* not acknowledged, in the order of their numbers */
	struct audit_entry *unsent;        /* the first that is not in the socket; NULL: all are */
	uint64_t last_number;
	uint64_t lost_ns;            /* since when fd is -1 */
	unsigned waiting, notes;
	bool slow;                   /* it did not read for END_WAIT_MS */
	int err;
	uint64_t written, refused;
};

static bool is_note(const struct audit_entry *e)
{
	return e->rec.kind != AUDIT_BEGIN && e->rec.kind != AUDIT_END;
}

static void disconnect(struct audit_client *ac)
{
	if (ac->fd < 0)
		return;
	if (ac->read_ev)
		event_free(take_ptr(ac->read_ev));
	if (ac->write_ev)
		event_free(take_ptr(ac->write_ev));
	ac->fd = fd_close(ac->fd);
	ac->unsent = TAILQ_FIRST(&ac->entries);
	ac->lost_ns = core_now_ns();
	ac->slow = false;
	log_event(LOG_WARNING, "audit_lost", LOG_FIELDS(LOG_NUM("waiting", ac->waiting)), "the audit process is gone; calls wait for the next one");
	metrics_restart(ac->core, "audit");
	event_active(ac->again_ev, EV_TIMEOUT, 0);
}

/* What is unsent, as far as the socket takes it. */
static void push(struct audit_client *ac)
{
	while (ac->unsent && ac->fd >= 0) {
		ssize_t n = send(ac->fd, &ac->unsent->rec, sizeof(ac->unsent->rec), MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			(void)event_add(ac->write_ev, NULL);
			return;
		}
		if (n < 0) {
			/* What it said last is still in the socket, before the end that on_readable() then finds. */
			(void)shutdown(ac->fd, SHUT_RDWR);
			return;
		}
		ac->slow = false;
		ac->unsent = TAILQ_NEXT(ac->unsent, link);
	}
}

static void push_wait(struct audit_client *ac, int ms)
{
	struct pollfd p = { ac->fd, POLLOUT, 0 };

	push(ac);
	if (!ac->unsent || ac->fd < 0 || ac->slow)
		return;
	ac->slow = poll(&p, 1, ms) != 1;
	push(ac);
}

static void append(struct audit_client *ac, struct audit_entry *e)
{
	e->rec.number = ++ac->last_number;
	e->since_ns = core_now_ns();
	TAILQ_INSERT_TAIL(&ac->entries, e, link);
	if (!ac->unsent)
		ac->unsent = e;
	ac->waiting++;
	ac->notes += is_note(e);
}

static void settle(struct audit_client *ac, struct audit_entry *e)
{
	TAILQ_REMOVE(&ac->entries, e, link);
	ac->waiting--;
	ac->notes -= is_note(e);
	if (e->call)
		e->call->audit = NULL;
}

static void refused_err(int code, struct err *err)
{
	err_set(err, ERR_HOST, code, "audit", "the audit log cannot take the call: %s", strerror(code));
	err_hint(err, code == ENOSPC || code == EDQUOT ? "make room where the log lies (state_dir of brigd.conf); calls run again then by themselves" :
							 "look at the disk that holds the log (state_dir of brigd.conf) and at brigd's own messages");
}

static void on_refused(struct audit_client *ac, struct audit_entry *e, int code)
{
	struct call *c = e->call;
	struct err err;

	settle(ac, e);
	ac->err = code;
	ac->refused++;
	if (is_note(e))
		log_event(LOG_ERR, "audit_refused", LOG_FIELDS(LOG_NUM("errno", code)), "the audit log did not take a note: %s", strerror(code));
	free(e->then);
	free(e);
	if (!c)
		return;
	c->audited = false;
	refused_err(code, &err);
	call_unrecorded(c, &err);
}

static void on_written(struct audit_client *ac, struct audit_entry *e)
{
	struct call *c = e->call;

	settle(ac, e);
	ac->err = 0;
	ac->written++;
	if (e->then) {
		append(ac, e->then);
		push(ac);
	}
	free(e);
	if (c)
		call_recorded(c);
}

/* Words about what was never sent, or never was, come from no audit process of ours. */
static bool is_sent(const struct audit_client *ac, uint64_t number)
{
	return number > 0 && number <= ac->last_number && (!ac->unsent || number < ac->unsent->rec.number);
}

static void on_ack(struct audit_client *ac, const struct audit_ack *ack)
{
	struct audit_entry *e = TAILQ_FIRST(&ac->entries);

	if (ack->err) {
		while (e && e->rec.number < ack->number)
			e = TAILQ_NEXT(e, link);
		if (e && e->rec.number == ack->number)
			on_refused(ac, e, ack->err);
		return;
	}
	while ((e = TAILQ_FIRST(&ac->entries)) && e->rec.number <= ack->number)
		on_written(ac, e);
}

static void on_readable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct audit_client *ac = arg;
	struct audit_ack ack;

	for (;;) {
		int r = ac->fd < 0 ? -EAGAIN : fd_recv(ac->fd, &ack, sizeof(ack), NULL, 0, NULL, MSG_DONTWAIT);

		if (r == -EAGAIN)
			return;
		/* It died with records unread. The kernel tells that once, and first; its last words come after. */
		if (r == -ECONNRESET)
			continue;
		if (r <= 0 || ack.magic != AUDIT_MAGIC || !is_sent(ac, ack.number)) {
			disconnect(ac);
			return;
		}
		on_ack(ac, &ack);
	}
}

static void on_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	push(arg);
}

static void connect_again(struct audit_client *ac)
{
	struct keeper_msg msg = { .kind = KP_AUDIT };
	struct keeper_reply reply;
	struct core *core = ac->core;
	int fd = -1;

	if (keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, &fd, 1, NULL) < 0 || fd < 0)
		return;
	ac->fd = fd;
	ac->pid = reply.pid;
	ac->read_ev = event_new(core->base, fd, EV_READ | EV_PERSIST, on_readable, ac);
	ac->write_ev = event_new(core->base, fd, EV_WRITE, on_writable, ac);
	if (!ac->read_ev || !ac->write_ev || event_add(ac->read_ev, NULL) < 0) {
		disconnect(ac);
		return;
	}
	ac->unsent = TAILQ_FIRST(&ac->entries);
	push(ac);
}

/* Calls that have waited too long for the log's word end. Their begin may still be written; then their end is, too. */
static void give_up_waiting(struct audit_client *ac)
{
	uint64_t now = core_now_ns();
	struct audit_entry *e;
	struct err err;

	TAILQ_FOREACH(e, &ac->entries, link) {
		if (now - e->since_ns < WORD_MAX_MS * 1000000ull)
			return;
		if (!e->call)
			continue;
		ac->err = ETIMEDOUT;
		err_set(&err, ERR_HOST, ETIMEDOUT, "audit", "the audit log did not take the call within %d s", WORD_MAX_MS / 1000);
		err_hint(&err, "look at brigd's own messages; without its audit log it runs no calls");
		call_unrecorded(e->call, &err);
	}
}

static void on_again(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct audit_client *ac = arg;

	if (ac->fd < 0)
		connect_again(ac);
	give_up_waiting(ac);
}

int audit_client_open(struct core *core, struct err *err)
{
	const struct timeval again = { .tv_usec = AGAIN_MS * 1000 };
	struct audit_client *ac;

	if (core->boot->client_fd >= 0 || !core->boot->config.audit)
		return 0;
	ac = calloc(1, sizeof(*ac));
	if (!ac || !(ac->again_ev = event_new(core->base, -1, EV_PERSIST, on_again, ac)) || event_add(ac->again_ev, &again) < 0) {
		free(ac);
		return err_set(err, ERR_HOST, ENOMEM, "audit", "no memory for the audit log's socket");
	}
	ac->core = core;
	ac->fd = -1;
	ac->lost_ns = core_now_ns();
	TAILQ_INIT(&ac->entries);
	core->audit = ac;
	connect_again(ac);
	return 0;
}

void audit_client_close(struct core *core)
{
	struct audit_client *ac = take_ptr(core->audit);
	struct audit_entry *e;

	if (!ac)
		return;
	ac->slow = false;
	push_wait(ac, LAST_WAIT_MS);
	if (ac->read_ev)
		event_free(ac->read_ev);
	if (ac->write_ev)
		event_free(ac->write_ev);
	event_free(ac->again_ev);
	fd_close(ac->fd);
	while ((e = TAILQ_FIRST(&ac->entries))) {
		TAILQ_REMOVE(&ac->entries, e, link);
		free(e->then);
		free(e);
	}
	free(ac);
}

/* Connected and silent: stopped, or held by its disk. What it does not take, we would have to keep. */
static bool is_silent(const struct audit_client *ac)
{
	const struct audit_entry *oldest = TAILQ_FIRST(&ac->entries);

	return oldest && core_now_ns() - oldest->since_ns > WORD_MAX_MS * 1000000ull;
}

/* A new record. NULL: the log is away or silent for too long, or no memory; *err says so. */
static struct audit_entry *entry_new(const struct audit_client *ac, struct err *err)
{
	struct audit_entry *e;

	if (ac->fd < 0 && core_now_ns() - ac->lost_ns > WORD_MAX_MS * 1000000ull) {
		err_set(err, ERR_HOST, ECONNREFUSED, "audit", "the audit process does not run, so nothing may");
		err_hint(err, "look at brigd's own messages; it tries to start it again");
		return NULL;
	}
	if (is_silent(ac) && ac->err && ac->err != ETIMEDOUT) {
		refused_err(ac->err, err); /* since then it took nothing: that is still why */
		return NULL;
	}
	if (is_silent(ac)) {
		err_set(err, ERR_HOST, ETIMEDOUT, "audit", "the audit log took nothing for more than %d s", WORD_MAX_MS / 1000);
		err_hint(err, "look at the disk that holds it (state_dir of brigd.conf) and at brigd's own messages");
		return NULL;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		err_set(err, ERR_HOST, ENOMEM, "audit", "no memory for the call's record");
	return e;
}

int audit_begin(struct call *c, struct err *err)
{
	struct audit_client *ac = c->core->audit;
	struct audit_entry *e;

	if (!ac) {
		call_recorded(c);
		return 0;
	}
	e = entry_new(ac, err);
	if (!e)
		return -err->code;
	audit_fill_begin(c, &e->rec);
	e->call = c;
	c->audit = e;
	c->audited = true;
	append(ac, e);
	push(ac);
	return 0;
}

void audit_end(struct call *c)
{
	struct audit_client *ac = c->core->audit;
	struct audit_entry *begin = c->audit, *e;

	if (!ac || !c->audited)
		return;
	c->audited = false;
	c->audit = NULL;
	if (begin)
		begin->call = NULL;
	e = calloc(1, sizeof(*e));
	if (!e) { /* audit writes one of its own when we end */
		log_event(LOG_ERR, "audit_end_lost", LOG_NONE, "no memory for the record of a call's end");
		return;
	}
	audit_fill_end(c, &e->rec);
	if (begin) {
		begin->then = e;
		return;
	}
	append(ac, e);
	push_wait(ac, END_WAIT_MS);
}

int audit_note_about(struct core *core, enum audit_kind kind, uid_t uid, pid_t pid, const struct audit_about *about)
{
	struct audit_client *ac = core->audit;
	struct err err;
	struct audit_entry *e;

	if (!ac)
		return 0;
	if (ac->notes >= NOTES_MAX)
		return -EAGAIN;
	e = entry_new(ac, &err);
	if (!e)
		return -err.code;
	e->rec = (struct audit_record){ .magic = AUDIT_MAGIC, .kind = kind, .uid = uid, .pid = (uint32_t)pid };
	audit_fill_about(about, &e->rec);
	append(ac, e);
	push(ac);
	return 0;
}

int audit_note(struct core *core, enum audit_kind kind, uid_t uid, pid_t pid, const char *session, const char *call_id, const char *text)
{
	return audit_note_about(core, kind, uid, pid, &(struct audit_about){ .session = session, .call_id = call_id, .text = text });
}

void audit_client_health(const struct core *core, struct audit_health *ret)
{
	const struct audit_client *ac = core->audit;

	*ret = (struct audit_health){ .kept = ac != NULL };
	if (!ac)
		return;
	ret->connected = ac->fd >= 0;
	ret->pid = ac->fd >= 0 ? ac->pid : 0;
	ret->err = ac->err;
	ret->waiting = ac->waiting;
	ret->written = ac->written;
	ret->refused = ac->refused;
}
