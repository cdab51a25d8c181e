#include "agent/follow.h"

#include "agent/text.h"
#include "jail/base/compiler.h"
#include "supervisor/wire/json.h"

#include <stdlib.h>
#include <string.h>

/* An event is at most 4 KiB of JSON, and escapes are longer than what they stand for. */
#define SAID_MAX (64u << 10)

static const char *const channels[2] = { "stdout", "stderr" };

static void line_end(struct follow *f)
{
	if (f->open)
		fputc('\n', f->out);
	f->open = NULL;
}

/* Bytes without a new line. */
static void part_show(struct follow *f, const char *channel, const char *bytes, size_t len)
{
	struct jbuf b;

	if (f->open != channel) {
		line_end(f);
		fprintf(f->out, "%s| ", channel);
		f->open = channel;
	}
	jbuf_init(&b, 10 * len + 64);
	text_escape(&b, bytes, len, TEXT_BLOCK);
	if (b.len)
		fwrite(b.data, 1, b.len, f->out);
	jbuf_done(&b);
}

static void text_show(struct follow *f, const char *channel, const char *text, size_t len)
{
	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		part_show(f, channel, text, n);
		if (end)
			line_end(f);
		n += end ? 1 : 0;
		text += n;
		len -= n;
	}
	fflush(f->out);
}

static void dropped_note(struct follow *f, size_t channel, const char *line, size_t len)
{
	size_t start, n;

	if (json_find(line, len, "params.dropped", &start, &n, NULL) && n < sizeof(f->dropped[0]) && strspn(line + start, "0123456789") >= n)
		snprintf(f->dropped[channel], sizeof(f->dropped[0]), "%.*s", (int)n, line + start);
}

static void output_show(struct follow *f, const char *line, size_t len)
{
	size_t n = 0;
	_cleanup_free_ char *stream = text_find(line, len, "params.stream", NULL);
	_cleanup_free_ char *text = text_find(line, len, "params.text", &n);

	for (size_t i = 0; stream && text && i < ARRAY_LEN(channels); i++)
		if (strcmp(stream, channels[i]) == 0) {
			dropped_note(f, i, line, len);
			text_show(f, channels[i], text, n);
		}
}

/* Adds what stands at path, a string without its quotes; false: nothing does. */
static bool said_add(struct jbuf *b, const char *before, const char *line, size_t len, const char *path)
{
	size_t start, raw, n = 0;

	if (!json_find(line, len, path, &start, &raw, NULL))
		return false;
	_cleanup_free_ char *text = json_string_dup(line + start, raw, &n);
	jbuf_text(b, before);
	text_escape(b, text ? text : line + start, text ? n : raw, TEXT_LINE);
	return true;
}

/* What a tool says of itself is one line, whatever is in it. */
static void said_show(struct follow *f, const char *line, size_t len)
{
	struct jbuf b;

	jbuf_init(&b, SAID_MAX);
	if (said_add(&b, "progress| ", line, len, "params.progress")) {
		said_add(&b, " of ", line, len, "params.total");
		said_add(&b, ": ", line, len, "params.message");
	} else if (said_add(&b, "log| ", line, len, "params.log.level")) {
		said_add(&b, " ", line, len, "params.log.logger");
		said_add(&b, ": ", line, len, "params.log.data");
	}
	if (b.len) {
		line_end(f);
		fprintf(f->out, "%.*s\n", (int)b.len, b.data);
		fflush(f->out);
	}
	jbuf_done(&b);
}

void follow_event(void *arg, const char *line, size_t len)
{
	struct follow *f = arg;
	_cleanup_free_ char *method = text_find(line, len, "method", NULL);

	if (!method)
		return;
	f->started |= strcmp(method, "started") == 0;
	if (strcmp(method, "output") == 0)
		output_show(f, line, len);
	else if (strcmp(method, "event") == 0)
		said_show(f, line, len);
}

void follow_end(struct follow *f)
{
	line_end(f);
	for (size_t i = 0; i < ARRAY_LEN(channels); i++)
		if (f->dropped[i][0])
			fprintf(f->out, "brig: %s bytes of the tool's %s came faster than they could be shown\n", f->dropped[i], channels[i]);
}
