#include "agent/rpc.h"

#include "jail/base/fd.h"
#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define RPC_CHUNK (64u << 10)
/* How often the clock is looked at, where it matters. */
#define RPC_LOOK_MS 250
/* The result's own nesting is bounded where it is made; the answer wraps it. */
#define RPC_DEPTH (2 * LIMIT_JSON_DEPTH)

struct rpc {
	int sock;
	const char *out;
	size_t out_len;
	char *in;
	size_t in_len, in_cap, scanned;
	size_t looked; /* no line end before this; each byte is looked at once, or a long answer takes minutes */
};

static void rpc_done(struct rpc *r)
{
	free(r->in);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int rpc_write(struct rpc *r)
{
	ssize_t n = send(r->sock, r->out, r->out_len, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	r->out += n;
	r->out_len -= (size_t)n;
	return 0;
}

/* 1: got bytes; 0: none yet; -EPIPE: end. */
static int rpc_read(struct rpc *r)
{
	ssize_t n;

	if (r->in_cap - r->in_len < RPC_CHUNK) {
		size_t cap = r->in_cap ? 2 * r->in_cap : 2 * RPC_CHUNK;
		char *more = realloc(r->in, cap);

		if (!more)
			return -ENOMEM;
		r->in = more;
		r->in_cap = cap;
	}
	n = recv(r->sock, r->in + r->in_len, RPC_CHUNK, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -EPIPE;
	if (n == 0)
		return -EPIPE;
	r->in_len += (size_t)n;
	return r->in_len - r->scanned > LIMIT_ANSWER_BYTES ? -EPROTO : 1;
}

static bool line_is_answer(const char *line, size_t len)
{
	size_t start, n;

	if (!json_find(line, len, "id", &start, &n, NULL))
		return false;
	return (n == 1 && line[start] == '1') || (n == 4 && line[start] == 'n' && json_find(line, len, "error", &start, &n, NULL));
}

/* Looks through the complete lines. 1: *ret_line is the answer; 0: not yet. */
static int rpc_scan(struct rpc *r, const struct rpc_wait *wait, char **ret_line, size_t *ret_len, struct err *err)
{
	struct json_error je;
	size_t start, n;
	char *end;

	while ((end = memchr(r->in + r->looked, '\n', r->in_len - r->looked))) {
		char *line = r->in + r->scanned;
		size_t len = (size_t)(end - line);

		if (json_check(line, len, JSON_OBJECT, RPC_DEPTH, &je) < 0)
			return err_set(err, ERR_BUG, EPROTO, "supervisor", "its answer is not JSON: column %u: %s",
				je.column, je.what);
		r->scanned += len + 1;
		r->looked = r->scanned;
		if (!line_is_answer(line, len)) {
			if (wait->event && !json_find(line, len, "id", &start, &n, NULL))
				wait->event(wait->event_arg, line, len);
			continue;
		}
		*end = '\0';
		memmove(r->in, line, len + 1);
		*ret_line = take_ptr(r->in);
		*ret_len = len;
		return 1;
	}
	/* Passed-over lines are dropped, or a flood of them would grow the buffer. */
	memmove(r->in, r->in + r->scanned, r->in_len - r->scanned);
	r->in_len -= r->scanned;
	r->scanned = 0;
	r->looked = r->in_len;
	return 0;
}

static int rpc_ended(int r, struct err *err)
{
	if (r == -EPROTO)
		return err_set(err, ERR_BUG, EPROTO, "supervisor", "its answer is longer than %zu bytes",
			(size_t)LIMIT_ANSWER_BYTES);
	if (r == -ENOMEM)
		return err_set(err, ERR_HOST, ENOMEM, "client", "no memory for the answer");
	return err_set(err, ERR_BUG, EPIPE, "supervisor", "it ended before it answered");
}

/* One turn: waits for something to happen and does it. 1: answered. */
static int rpc_turn(struct rpc *r, const struct rpc_wait *wait, char **ret_line, size_t *ret_len, struct err *err)
{
	struct pollfd p[2] = {
		{ .fd = r->sock, .events = (short)(POLLIN | (r->out_len ? POLLOUT : 0)) },
		{ .fd = wait->stop_fd, .events = POLLIN },
	};
	int n = poll(p, 2, wait->tick || wait->answer_ms ? RPC_LOOK_MS : -1);

	if (n < 0 && errno != EINTR)
		return err_set(err, ERR_HOST, errno, "client", "poll: %s", strerror(errno));
	if (n <= 0)
		return 0;
	if (p[1].revents)
		return err_set(err, ERR_CALLER, ECANCELED, "client", "interrupted");
	if (p[0].revents & (POLLIN | POLLHUP | POLLERR)) {
		n = rpc_read(r);
		if (n < 0)
			return rpc_ended(n, err);
		if (n > 0)
			return rpc_scan(r, wait, ret_line, ret_len, err);
	}
	/* A refused write is no news by itself: what the other side said before it closed is read first. */
	if (p[0].revents & POLLOUT && r->out_len && rpc_write(r) < 0)
		r->out_len = 0;
	return 0;
}

int rpc_call(int sock, const char *request, size_t len, const struct rpc_wait *wait, char **ret_line, size_t *ret_len,
	struct err *err)
{
	_cleanup_(rpc_done) struct rpc r = { .sock = sock, .out = request, .out_len = len };
	int64_t start = now_ms();
	unsigned told = 0;
	int n;

	while ((n = rpc_turn(&r, wait, ret_line, ret_len, err)) == 0) {
		int64_t waited = now_ms() - start;
		unsigned seconds = (unsigned)(waited / 1000);

		if (wait->answer_ms && waited > wait->answer_ms)
			return err_set(err, ERR_HOST, ETIMEDOUT, "supervisor", "it did not answer within %u s", wait->answer_ms / 1000);
		if (wait->tick && seconds > told)
			wait->tick(told = seconds);
	}
	return n < 0 ? n : 0;
}
