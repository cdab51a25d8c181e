/* The life of the audit process: a look at what is there, the loop, the end. */
#include "supervisor/audit_impl.h"

#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "supervisor/log.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* How soon what could not be written is tried again. */
#define RETRY_MS 500
/* After keeper and core are gone: how long a disk that is full may hold the last lines. */
#define LAST_TRIES (5000 / RETRY_MS)

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

static void keeper_tell(struct audit *a, enum audit_ctl_kind kind, int err, uint64_t number, const char *text)
{
	struct audit_ctl msg = { .magic = AUDIT_CTL_MAGIC, .kind = kind, .err = err, .number = number };

	snprintf(msg.text, sizeof(msg.text), "%.*s", (int)sizeof(msg.text) - 1, text);
	(void)fd_send(a->keeper_fd, &msg, sizeof(msg), NULL, 0); /* a keeper that is gone shows at the next recv() */
}

/* ---- the start ---- */

/* A writer before us was killed in the middle of a line. It stays; what it is stands in the next. */
static void note_torn(struct audit *a, struct audit_scan *s)
{
	struct chain_walk *w = &s->walk;
	struct jbuf *out = &a->log.out;
	struct timespec at;
	char hash[CHAIN_HEX + 1];

	if (!w->unsound)
		return;
	if (s->cut) {
		jbuf_text(out, "\n");
		chain_walk_unsound(w, "\n", 1);
	}
	clock_gettime(CLOCK_REALTIME, &at);
	size_t start = out->len;
	chain_walk_hash(w, hash);
	audit_line_open(&a->chain, AUDIT_TORN, &at, out);
	jbuf_printf(out, ",\"bytes\":%llu,\"sha256\":\"%s\"", (unsigned long long)w->bad_bytes, hash);
	chain_close(&a->chain, out, start);
	log_event(LOG_WARNING, "audit_torn", LOG_FIELDS(LOG_NUM("bytes", w->bad_bytes)), "the audit log ended within a line; noted in it");
}

/* First record of a file that goes on with the chain of another. `into` is where it goes. */
static void note_file(struct audit *a, uint64_t before, struct jbuf *into)
{
	struct timespec at;
	char name[64] = "";
	size_t start = into->len;

	clock_gettime(CLOCK_REALTIME, &at);
	if (before)
		snprintf(name, sizeof(name), CHAIN_OLD_NAME, (unsigned long long)before);
	audit_line_open(&a->chain, AUDIT_FILE_NEW, &at, into);
	audit_line_core(a->core, a->core_n, into);
	audit_line_text("before", name, into);
	jbuf_text(into, ",\"open\":[");
	for (unsigned i = 0; i < a->open->count; i++)
		jbuf_printf(into, "%s\"%s\"", i ? "," : "", a->open->id[i]);
	jbuf_text(into, "]");
	chain_close(&a->chain, into, start);
}

static int look(struct audit *a, struct audit_scan *s, struct err *err)
{
	struct audit_boot *boot = a->boot;
	int r = audit_scan(boot->look_fd, boot->before_fd, a->open, s);

	boot->look_fd = fd_close(boot->look_fd);
	boot->before_fd = fd_close(boot->before_fd);
	if (r == 0)
		r = audit_log_open(&a->log, boot->log_fd);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "audit", "the audit log cannot be read: %s", strerror(-r));
	a->chain = s->walk.last;
	a->core = s->core;
	a->core_n = s->core_n;
	a->core_lives = s->core_lives;
	a->rotate_size = boot->config->audit_rotate_bytes;
	return 0;
}

/* The first lines of this process. */
static void begin(struct audit *a, struct audit_scan *s)
{
	bool restart = a->boot->why[0];
	char text[96] = "";

	note_torn(a, s);
	if (!s->in_log && a->chain.seq > (s->walk.unsound ? 1 : 0))
		note_file(a, 0, &a->log.out);
	if (s->breaks) {
		snprintf(text, sizeof(text), "%llu records do not follow the one before; see brig audit verify", (unsigned long long)s->breaks);
		log_event(LOG_ERR, "audit_broken", LOG_NONE, "the audit log was changed: %s", text);
	}
	audit_own_line(a, restart ? AUDIT_RESTART : AUDIT_SUPERVISOR_START, restart ? a->boot->why : text);
	if (!restart && (a->core_lives || a->open->count > 0)) /* everything was killed at once */
		audit_core_ended(a, "supervisor_killed");
	audit_settle(a);
}

static int start(struct audit *a, struct err *err)
{
	struct audit_scan s;
	int r = look(a, &s, err);

	if (r == 0)
		r = audit_seal(a->boot->as_root, a->boot->uid, err);
	if (r < 0)
		return r;
	begin(a, &s);
	/* One that comes after another must go on, whatever the disk says: core has ends for it. */
	if (a->log.err && !a->boot->why[0]) {
		err_set(err, ERR_HOST, a->log.err, "audit", "the audit log cannot be written: %s", strerror(a->log.err));
		err_hint(err, "make room or name another place for the state (state_dir); without its log brigd runs no calls");
		return -a->log.err;
	}
	return 0;
}

/* ---- the loop ---- */

static void core_left(struct audit *a)
{
	a->core_fd = fd_close(a->core_fd);
	if (a->core_lives)
		audit_core_ended(a, "core_ended");
	audit_settle(a);
}

static void on_core_new(struct audit *a, const struct audit_ctl *msg, int fd)
{
	/* What the one before sent is in the socket; it sends nothing more. Its other end may be anywhere, so we do not wait for it. */
	if (a->core_fd >= 0)
		(void)audit_take_all(a, true);
	a->core_fd = fd_close(a->core_fd);
	if (msg->number != a->core) {
		if (a->core_lives)
			audit_core_ended(a, "core_ended");
		a->core = msg->number;
		a->core_n = 0;
		audit_own_line(a, AUDIT_CORE_START, msg->text);
	}
	a->core_lives = true;
	a->acked_n = 0;
	a->core_fd = fd;
	audit_settle(a);
}

static void on_file(struct audit *a, const struct audit_ctl *msg, int fd)
{
	a->rotating = false;
	if (msg->err || fd < 0) {
		/* The old one simply grows on. */
		a->rotate_size = a->log.size + a->boot->config->audit_rotate_bytes / 8;
		log_event(LOG_ERR, "audit_rotate_failed", LOG_FIELDS(LOG_NUM("errno", msg->err)), "the audit log goes on in the same file: %s",
			  strerror(msg->err));
		return;
	}
	a->log.next_fd = fd;
	a->before_number = msg->number;
}

static void on_keeper(struct audit *a)
{
	struct audit_ctl msg;
	_cleanup_close_ int fd = -1;
	int r = fd_recv(a->keeper_fd, &msg, sizeof(msg), &fd, 1, NULL, MSG_DONTWAIT);

	if (r == -EAGAIN || r == -ECONNRESET) /* reset: it ended with a message of ours unread; its last one comes after that */
		return;
	if (r <= 0 || msg.magic != AUDIT_CTL_MAGIC) {
		a->keeper_fd = fd_close(a->keeper_fd);
		return;
	}
	msg.text[sizeof(msg.text) - 1] = '\0';
	if (msg.kind == AUDIT_CORE && fd >= 0)
		on_core_new(a, &msg, fd_take(&fd));
	else if (msg.kind == AUDIT_FILE)
		on_file(a, &msg, fd_take(&fd));
	else if (msg.kind == AUDIT_STOP)
		memcpy(a->stop_why, msg.text, sizeof(a->stop_why));
}

/* Goes over to the file that the keeper opened, once the old one holds all its lines and the new one room for what must
 * come: until then the old one, which has that room, is written. */
static void file_switch(struct audit *a)
{
	struct audit_log next;

	if (a->log.next_fd < 0 || a->log.out.len > 0 || audit_log_open(&next, a->log.next_fd) < 0)
		return;
	if (audit_log_reserve(&next, CHAIN_LINE_MAX + (a->open->count + 1ull) * AUDIT_LINE_MAX) < 0) {
		jbuf_done(&next.out);
		return;
	}
	(void)audit_log_sync(&a->log);
	note_file(a, a->before_number, &next.out);
	(void)fd_close(a->log.fd);
	jbuf_done(&a->log.out);
	a->log = next;
	a->rotate_size = a->boot->config->audit_rotate_bytes;
	audit_settle(a);
}

static void upkeep(struct audit *a)
{
	uint32_t sync_ms = a->boot->config->audit_sync_ms;

	if (a->log.out.len > 0 || (a->log.sync_err && sync_ms == 0))
		audit_settle(a);
	if (sync_ms > 0 && a->log.dirty && now_ms() - a->synced_ms >= sync_ms) {
		(void)audit_log_sync(&a->log);
		a->synced_ms = now_ms();
	}
	if (a->rotate_size && a->log.size >= a->rotate_size && !a->rotating && a->log.next_fd < 0 && a->keeper_fd >= 0) {
		a->rotating = true;
		keeper_tell(a, AUDIT_ROTATE, 0, a->chain.seq, "");
	}
	file_switch(a);
}

/* Until something has to be done that no message asks for. -1: nothing has. */
static int wait_ms(const struct audit *a)
{
	uint32_t sync_ms = a->boot->config->audit_sync_ms;
	uint64_t since = now_ms() - a->synced_ms;

	if (a->log.out.len > 0 || a->log.sync_err || a->log.next_fd >= 0)
		return RETRY_MS;
	if (sync_ms > 0 && a->log.dirty)
		return since < sync_ms ? (int)(sync_ms - since) : 0;
	return -1;
}

static void loop(struct audit *a)
{
	while (a->keeper_fd >= 0 || a->core_fd >= 0) {
		struct pollfd fds[] = { { a->keeper_fd, POLLIN, 0 }, { a->log.out.len < AUDIT_OUT_ENOUGH ? a->core_fd : -1, POLLIN, 0 } };

		if (poll(fds, ARRAY_LEN(fds), wait_ms(a)) < 0 && errno != EINTR)
			return;
		if (fds[1].revents && !audit_take_all(a, false))
			core_left(a);
		if (fds[0].revents)
			on_keeper(a);
		upkeep(a);
	}
}

static int finish(struct audit *a)
{
	if (a->core_lives)
		audit_core_ended(a, "core_ended");
	audit_own_line(a, AUDIT_SUPERVISOR_STOP, a->stop_why[0] ? a->stop_why : "killed");
	audit_settle(a);
	for (int i = 0; a->log.out.len > 0 && i < LAST_TRIES; i++) {
		(void)poll(NULL, 0, RETRY_MS);
		audit_settle(a);
	}
	(void)audit_log_sync(&a->log);
	return a->log.out.len > 0 ? outcome_exit_status(OUTCOME_INTERNAL_ERROR) : 0;
}

int audit_main(struct audit_boot *boot)
{
	static struct open_calls open;
	struct audit a = { .boot = boot, .core_fd = -1, .keeper_fd = boot->keeper_fd, .open = &open };
	struct err err = { 0 };

	(void)prctl(PR_SET_NAME, "brigd: audit", 0, 0, 0);
	log_process("audit");
	/* Told by the sockets when to end, never by a terminal's or a service manager's signal to all of us. */
	for (const int *sig = (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ, 0 }; *sig; sig++)
		(void)signal(*sig, SIG_IGN);
	if (start(&a, &err) < 0) {
		log_err(LOG_ERR, "audit_failed", LOG_NONE, &err);
		keeper_tell(&a, AUDIT_READY, err.code ? err.code : EINVAL, 0, err.detail);
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	keeper_tell(&a, AUDIT_READY, 0, 0, "");
	loop(&a);
	return finish(&a);
}
