/* What core sends becomes lines, or is refused; what became of them goes back. */
#include "supervisor/audit_impl.h"

#include "jail/base/fd.h"
#include "supervisor/log.h"

#include <string.h>
#include <sys/socket.h>

/* Lines of our own and of what is no call, for which room is kept beside the ends of the open calls. */
#define SPARE (64u * AUDIT_LINE_MAX)
/* What is read before it is written and acknowledged: more than the kernel queues on such a socket by default. */
#define BATCH 64
/* No socket of ours holds so many. */
#define BATCHES 64

static struct timespec now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return ts;
}

/* Room for the ends of all open calls, and of one that begins. */
static int room_for_begin(struct audit *a)
{
	return audit_log_reserve(&a->log, (a->open->count + 1ull) * AUDIT_LINE_MAX + AUDIT_BEGIN_MAX + SPARE);
}

static int room_for_note(struct audit *a)
{
	return audit_log_reserve(&a->log, (a->open->count + 1ull) * AUDIT_LINE_MAX);
}

void audit_own_line(struct audit *a, enum audit_kind kind, const char *text)
{
	const struct timespec at = now();
	size_t start = a->log.out.len;

	(void)room_for_note(a); /* else it waits for room in memory */
	audit_line_open(&a->chain, kind, &at, &a->log.out);
	if (kind == AUDIT_CORE_START || kind == AUDIT_CORE_END || kind == AUDIT_BAD)
		audit_line_core(a->core, a->core_n, &a->log.out);
	audit_line_text("text", text, &a->log.out);
	chain_close(&a->chain, &a->log.out, start);
}

void audit_core_ended(struct audit *a, const char *cause)
{
	const struct timespec at = now();

	for (unsigned i = 0; i < a->open->count; i++)
		audit_line_lost(&a->chain, a->open->id[i], cause, &at, &a->log.out);
	a->open->count = 0;
	audit_own_line(a, AUDIT_CORE_END, cause);
	a->core_lives = false;
}

/* Core waits for answers alone, and reads them; the keeper ends one that does not. So this may block. */
static void tell(struct audit *a, uint64_t number, int err)
{
	const struct audit_ack ack = { .magic = AUDIT_MAGIC, .err = err, .number = number };

	(void)fd_send(a->core_fd, &ack, sizeof(ack), NULL, 0); /* a core that is gone shows at the next recv() */
}

/* No honest core sends it. Written down as far as there is room; never answered. */
static void take_bad(struct audit *a, const char *why)
{
	if (room_for_note(a) == 0)
		audit_own_line(a, AUDIT_BAD, why);
}

/* 0, an errno that refuses it, or -1: it was no possible record. */
static int admit(struct audit *a, const struct audit_record *r)
{
	bool open = r->kind != AUDIT_BEGIN && r->kind != AUDIT_END ? false : open_calls_has(a->open, r->call_id);

	if (r->kind == AUDIT_END && !open) {
		take_bad(a, "an end of a call that is not open");
		return -1;
	}
	if (r->kind == AUDIT_END) {
		(void)open_calls_remove(a->open, r->call_id);
		return 0;
	}
	if (open) {
		take_bad(a, "a begin of a call that is open");
		return -1;
	}
	if (a->log.err || a->log.sync_err)
		return a->log.err ? a->log.err : a->log.sync_err;
	if (r->kind != AUDIT_BEGIN)
		return -room_for_note(a);
	int err = -room_for_begin(a);
	return err == 0 && !open_calls_add(a->open, r->call_id) ? EUSERS : err;
}

static void take(struct audit *a, const struct audit_record *r, size_t len)
{
	const char *wrong = audit_record_check(r, len);
	const struct timespec at = now();

	if (wrong) {
		take_bad(a, wrong);
		return;
	}
	if (r->number <= a->core_n) /* written by the audit process before us, which died before it could say so */
		return;
	int err = admit(a, r);
	a->core_n = r->number;
	if (err > 0)
		tell(a, r->number, err);
	else if (err == 0)
		audit_line_record(&a->chain, r, a->core, &at, &a->log.out);
}

/* Returns false at the end of the socket. */
static bool take_batch(struct audit *a, bool *ret_more)
{
	struct audit_record r;

	*ret_more = true;
	for (unsigned i = 0; i < BATCH; i++) {
		ssize_t n = recv(a->core_fd, &r, sizeof(r), MSG_DONTWAIT | MSG_TRUNC);
		/* A core that died with answers unread: the kernel tells that once, and first; its last records come after. */
		if (n < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (n <= 0) {
			*ret_more = false;
			return n < 0 && errno == EAGAIN;
		}
		take(a, &r, (size_t)n);
	}
	return true;
}

static void complain(struct audit *a, int err)
{
	if (err && !a->complained)
		log_event(LOG_ERR, "audit_blocked", LOG_FIELDS(LOG_NUM("errno", err)),
			  "the audit log cannot be written: %s; new calls are refused until it can", strerror(err));
	else if (!err && a->complained)
		log_event(LOG_NOTICE, "audit_unblocked", LOG_NONE, "the audit log can be written again");
	a->complained = err != 0;
}

void audit_settle(struct audit *a)
{
	int r = audit_log_write(&a->log);

	if (r == 0 && a->boot->config->audit_sync_ms == 0)
		r = audit_log_sync(&a->log);
	complain(a, r ? -r : a->log.sync_err);
	if (r == 0 && a->core_fd >= 0 && a->acked_n < a->core_n) {
		tell(a, a->core_n, 0);
		a->acked_n = a->core_n;
	}
}

bool audit_take_all(struct audit *a, bool until_empty)
{
	bool open = true, more = true;

	for (unsigned i = 0; i < BATCHES && open && more && (until_empty || a->log.out.len < AUDIT_OUT_ENOUGH); i++) {
		open = take_batch(a, &more);
		audit_settle(a);
	}
	return open;
}
