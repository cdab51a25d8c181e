#include "agent/follow.h"

#include "agent/text.h"
#include "jail/base/compiler.h"

#include <stdlib.h>
#include <string.h>

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

void follow_event(void *arg, const char *line, size_t len)
{
	struct follow *f = arg;
	size_t n = 0;
	_cleanup_free_ char *method = text_find(line, len, "method", NULL);
	_cleanup_free_ char *stream = text_find(line, len, "params.stream", NULL);
	_cleanup_free_ char *text = text_find(line, len, "params.text", &n);

	f->started |= method && strcmp(method, "started") == 0;
	if (!method || strcmp(method, "output") != 0 || !stream || !text)
		return;
	for (size_t i = 0; i < ARRAY_LEN(channels); i++)
		if (strcmp(stream, channels[i]) == 0) {
			dropped_note(f, i, line, len);
			text_show(f, channels[i], text, n);
		}
}

void follow_end(struct follow *f)
{
	line_end(f);
	for (size_t i = 0; i < ARRAY_LEN(channels); i++)
		if (f->dropped[i][0])
			fprintf(f->out, "brig: %s bytes of the tool's %s came faster than they could be shown\n", f->dropped[i], channels[i]);
}
