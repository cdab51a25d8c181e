#include "supervisor/audit_look.h"

#include "jail/base/fd.h"
#include "supervisor/keeper_client.h"
#include "supervisor/wire/chain.h"

#include <string.h>
#include <sys/stat.h>

/* What one request looks through: some ten milliseconds, in which core serves nobody else. */
#define SCAN_MAX (4u << 20)
/* Of an answer; one record may go over it. */
#define OUT_ENOUGH (1u << 20)
#define NEAR (64u << 10)

/* Of the file: which records are in it (chain.h), 0: it is the one that grows. */
static int file_ask(struct core *core, enum keeper_kind kind, uint64_t number, int *ret_fd, uint64_t *ret_number, struct err *err)
{
	struct keeper_msg msg = { .kind = kind, .number = number };
	struct keeper_reply reply;
	int r = keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, ret_fd, 1, err);

	if (r == 0)
		*ret_number = reply.number;
	return r;
}

/* The first record that begins at `at` or after it; 0: none within the longest line. */
static uint64_t seq_from(int fd, char *buf, off_t at, off_t *ret_at)
{
	ssize_t n = pread(fd, buf, CHAIN_LINE_MAX, at);
	const char *p = buf, *end = n > 0 ? buf + n : buf;

	/* In the middle of a line unless it is the file's first. */
	if (at > 0)
		p = (p = memchr(buf, '\n', (size_t)(end - buf))) ? p + 1 : end;
	while (p < end) {
		uint64_t seq = record_seq(p, (size_t)(end - p));

		*ret_at = at + (p - buf);
		if (seq)
			return seq;
		p = (p = memchr(p, '\n', (size_t)(end - p))) ? p + 1 : end;
	}
	return 0;
}

/* The beginning of a line that is not after record `want`. Records grow with the file; what is torn between them is no record. */
static off_t find(int fd, char *buf, uint64_t want)
{
	struct stat st;
	off_t low = 0, high = fstat(fd, &st) == 0 ? st.st_size : 0;

	while (high - low > NEAR) {
		off_t mid = low + (high - low) / 2, at = mid;
		uint64_t seq = seq_from(fd, buf, mid, &at);

		if (seq && seq <= want && at < high)
			low = at;
		else
			high = mid;
	}
	return low;
}

static uint64_t last_seq(int fd, char *buf)
{
	struct stat st;
	off_t at = fstat(fd, &st) == 0 && st.st_size > CHAIN_LINE_MAX ? st.st_size - CHAIN_LINE_MAX : 0;
	ssize_t n = pread(fd, buf, CHAIN_LINE_MAX, at);
	uint64_t seq = 0;

	for (const char *p = buf, *end = n > 0 ? buf + n : buf; p < end;) {
		uint64_t s = record_seq(p, (size_t)(end - p));

		seq = s > seq ? s : seq;
		p = (p = memchr(p, '\n', (size_t)(end - p))) ? p + 1 : end;
	}
	return seq;
}

#define STOP 1

static int on_line(const char *line, size_t len, void *arg)
{
	struct audit_look *l = arg;
	uint64_t seq = record_seq(line, len);
	struct json_error je;

	/* Not finished, or torn. */
	if (line[len - 1] != '\n' || seq <= l->next)
		return 0;
	if (l->count == l->limit || l->out.len >= OUT_ENOUGH || l->scanned >= SCAN_MAX) {
		l->more = true;
		return STOP;
	}
	l->scanned += len;
	l->next = seq;
	if (json_check(line, len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0 || !record_matches(&l->filter, line, len))
		return 0;
	jbuf_text(&l->out, l->count++ ? "," : "");
	jbuf_raw(&l->out, line, len - 1);
	return 0;
}

static int file_read(int fd, char *buf, struct audit_look *l)
{
	if (lseek(fd, find(fd, buf, l->next + 1), SEEK_SET) < 0)
		return -errno;
	return chain_lines(fd, on_line, l);
}

/* From the file that should hold the next record on. A file that grew on while it was put away holds more than its name says. */
static int look_from(struct core *core, char *buf, struct audit_look *l, struct err *err)
{
	uint64_t number = 0, before = 0;
	off_t at;
	int r = 0;

	for (bool first = true; r == 0; first = false) {
		_cleanup_close_ int fd = -1;
		_cleanup_close_ int before_fd = -1;
		uint64_t want = number > l->next ? number + 1 : l->next + 1;

		r = file_ask(core, KP_AUDIT_LOOK, want, &fd, &number, err);
		if (r < 0)
			return r;
		uint64_t seq = seq_from(fd, buf, 0, &at);
		if (first && (seq == 0 || seq > want) && file_ask(core, KP_AUDIT_BEFORE, want, &before_fd, &before, err) == 0)
			r = file_read(before_fd, buf, l);
		if (r == 0)
			r = file_read(fd, buf, l);
		if (number == 0)
			break;
	}
	return r < 0 ? err_set(err, ERR_HOST, -r, "audit", "the audit log cannot be read: %s", strerror(-r)) : 0;
}

int audit_look(struct core *core, struct audit_look *l, struct err *err)
{
	_cleanup_free_ char *buf = malloc(CHAIN_LINE_MAX);
	_cleanup_close_ int fd = -1;
	uint64_t number;

	if (!buf)
		return err_set(err, ERR_HOST, ENOMEM, "audit", "no memory to read the audit log");
	l->next = l->filter.after_seq;
	int r = file_ask(core, KP_AUDIT_LOOK, UINT64_MAX, &fd, &number, err);
	if (r == 0)
		l->last = last_seq(fd, buf);
	/* Put away a moment ago, and nothing came since. */
	if (r == 0 && l->last == 0) {
		_cleanup_close_ int before_fd = -1;

		if (file_ask(core, KP_AUDIT_BEFORE, UINT64_MAX, &before_fd, &number, err) == 0)
			l->last = last_seq(before_fd, buf);
	}
	if (r == 0 && l->limit > 0)
		r = look_from(core, buf, l, err);
	if (l->last < l->next)
		l->last = l->next;
	return r;
}
