/* What comes out of a jail, byte by byte hostile: two output streams and the
 * frames of the result pipe (jail/frame.h), each within its bound. */
#include "supervisor/call_event.h"
#include "supervisor/call_impl.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After the end, what is still in a pipe: its capacity is 64 KiB, 1 MiB where the tool enlarged it. */
#define DRAIN_MAX (2u << 20)

/* One thread reads here, one piece at a time; on the stack it would be cleared for each. */
static char g_chunk[READ_CHUNK];

bool call_read_stream(struct call *c, enum stream_channel channel, size_t max)
{
	int fd = channel == STREAM_STDOUT ? c->jail->stdout_fd : c->jail->stderr_fd;
	for (size_t got = 0; got < max;) {
		ssize_t n = read(fd, g_chunk, sizeof(g_chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
		capture_add(channel == STREAM_STDOUT ? &c->out : &c->err, g_chunk, (size_t)n);
		if (c->stream)
			stream_add(c->stream, channel, g_chunk, (size_t)n);
		got += (size_t)n;
	}
	return true;
}

/* Integers that CPython's own reader takes; jail/prelude.py tells a tool so. A tool that writes a frame itself may not make the
 * whole answer, receipt and all, unreadable to its reader either. */
#define NUMBER_DIGITS_MAX 4300

/* No number of a checked text is longer than that, or too large for a double where it has a point or an exponent. */
static bool numbers_fit(const char *text, size_t len)
{
	for (size_t at = 0; at < len; at++) {
		size_t begin = at;

		if (text[at] == '"') {
			for (at++; at < len && text[at] != '"'; at++)
				at += text[at] == '\\';
			continue;
		}
		while (at < len && memchr("+-.0123456789eE", text[at], 15))
			at++;
		begin += begin < at && text[begin] == '-';
		size_t n = at - begin;
		if (n == 0 || text[begin] == 'e') /* the e of true and false */
			continue;
		if (n > NUMBER_DIGITS_MAX)
			return false;
		char copy[NUMBER_DIGITS_MAX + 1];
		memcpy(copy, text + begin, n);
		copy[n] = '\0';
		if (strpbrk(copy, ".eE") && !isfinite(strtod(copy, NULL)))
			return false;
		at--;
	}
	return true;
}

/* The payload of a complete frame is hostile text: it counts only if it is what it must be. */
static bool frame_valid(const struct call *c)
{
	struct json_error je;
	unsigned flags = c->head.kind == RESULT_OK ? 0 : JSON_OBJECT;

	return json_check(c->result, c->result_len, flags, LIMIT_JSON_DEPTH + 1, &je) == 0 && numbers_fit(c->result, c->result_len);
}

/* The largest payload of a kind; 0: it is none. */
static size_t frame_cap(const struct call *c)
{
	switch (c->head.kind) {
	case RESULT_OK:
		return c->limits.result_bytes;
	case RESULT_ERROR:
		return LIMIT_ERROR_BYTES;
	case RESULT_EVENT:
		return EVENT_PAYLOAD_MAX;
	default:
		return 0;
	}
}

static void frame_payload_done(struct call *c);

static void frame_head_done(struct call *c)
{
	c->result_cap = frame_cap(c);
	if (c->head.magic != RESULT_MAGIC || !c->result_cap || memcmp(c->head.nonce, c->nonce, sizeof(c->nonce)) != 0 ||
	    (c->head.kind == RESULT_EVENT && c->head.len > EVENT_PAYLOAD_MAX)) {
		c->frame_bad = true;
		return;
	}
	c->result = malloc(c->result_cap + 1);
	c->frame_bad = !c->result;
	if (c->result && c->head.len == 0)
		frame_payload_done(c);
}

/* It was told, or dropped: what follows is another frame. */
static void event_done(struct call *c)
{
	free(take_ptr(c->result));
	c->result_len = 0;
	c->head_len = 0;
}

static void frame_payload_done(struct call *c)
{
	bool event = c->head.kind == RESULT_EVENT;

	/* Beyond what a call may say it is not even looked at: who floods is not worth the work. */
	if (event && !call_event_room(c, c->result_len)) {
		event_done(c);
		return;
	}
	if (!frame_valid(c) || (event && !call_event_check(c->result, c->result_len))) {
		c->frame_bad = true;
		return;
	}
	json_one_line(c->result, c->result_len); /* answers and events are one line each */
	if (event) {
		if (c->stream)
			stream_event(c->stream, c->result, c->result_len);
		event_done(c);
		return;
	}
	c->ev.frame_complete = true;
	c->ev.frame_ok = c->head.kind == RESULT_OK;
}

static size_t head_add(struct call *c, const char *bytes, size_t len)
{
	size_t n = sizeof(c->head) - c->head_len;

	n = n < len ? n : len;
	memcpy((char *)&c->head + c->head_len, bytes, n);
	c->head_len += n;
	if (c->head_len == sizeof(c->head))
		frame_head_done(c);
	return n;
}

static size_t payload_add(struct call *c, const char *bytes, size_t len)
{
	uint64_t want = c->head.len - c->result_len;
	size_t room = c->result_cap + 1 - c->result_len;
	size_t n = len < want ? len : (size_t)want;

	n = n < room ? n : room;
	memcpy(c->result + c->result_len, bytes, n);
	c->result_len += n;
	/* Bytes that came are counted, not the length that the frame claims. */
	if (c->result_len > c->result_cap)
		c->ev.result_over = c->head.kind == RESULT_OK, c->frame_bad = !c->ev.result_over;
	else if (c->result_len == c->head.len)
		frame_payload_done(c);
	return n;
}

/* Takes bytes of the result pipe: events, then a result; then nothing more counts. */
static void frame_add(struct call *c, const char *bytes, size_t len)
{
	while (len > 0 && !c->frame_bad && !c->ev.frame_complete && !c->ev.result_over) {
		size_t n = c->head_len < sizeof(c->head) ? head_add(c, bytes, len) : payload_add(c, bytes, len);

		bytes += n;
		len -= n;
	}
}

bool call_read_result(struct call *c, size_t max)
{
	for (size_t got = 0; got < max && !c->ev.frame_complete && !c->ev.result_over;) {
		ssize_t n = read(c->jail->result_fd, g_chunk, sizeof(g_chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		frame_add(c, g_chunk, (size_t)n);
		got += (size_t)n;
	}
	return !c->ev.frame_complete && !c->ev.result_over;
}

void call_read_result_rest(struct call *c)
{
	(void)call_read_result(c, DRAIN_MAX);
}

void call_read_rest(struct call *c)
{
	if (!c->jail)
		return;
	if (c->jail->stdout_fd >= 0)
		call_read_stream(c, STREAM_STDOUT, DRAIN_MAX);
	if (c->jail->stderr_fd >= 0)
		call_read_stream(c, STREAM_STDERR, DRAIN_MAX);
}
