#include "supervisor/wire/json.h"

#include "supervisor/wire/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JBUF_FIRST 256 /* one short object without a second allocation */

void jbuf_init(struct jbuf *b, size_t max)
{
	*b = (struct jbuf){ .max = max };
}

void jbuf_done(struct jbuf *b)
{
	free(b->data);
	*b = (struct jbuf){ .max = b->max };
}

static void jbuf_fail(struct jbuf *b)
{
	jbuf_done(b);
	b->failed = true;
}

/* Room for `more` bytes and a terminator, which is not counted against the maximum. */
static bool jbuf_reserve(struct jbuf *b, size_t more)
{
	size_t need, cap;
	char *data;

	if (b->failed)
		return false;
	if (more > b->max || b->len > b->max - more) {
		jbuf_fail(b);
		return false;
	}
	need = b->len + more + 1;
	if (need <= b->cap)
		return true;
	cap = b->cap ? b->cap : JBUF_FIRST;
	while (cap < need)
		cap *= 2;
	data = realloc(b->data, cap);
	if (!data) {
		jbuf_fail(b);
		return false;
	}
	b->data = data;
	b->cap = cap;
	return true;
}

void jbuf_raw(struct jbuf *b, const char *bytes, size_t len)
{
	if (!jbuf_reserve(b, len))
		return;
	if (len)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
}

void jbuf_text(struct jbuf *b, const char *text)
{
	jbuf_raw(b, text, strlen(text));
}

void jbuf_printf(struct jbuf *b, const char *fmt, ...)
{
	char small[256];
	char *big = small;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap);
	va_end(ap);
	if (n >= (int)sizeof(small)) {
		va_start(ap, fmt);
		n = vasprintf(&big, fmt, ap);
		va_end(ap);
	}
	if (n < 0) {
		jbuf_fail(b);
		return;
	}
	jbuf_raw(b, big, (size_t)n);
	if (big != small)
		free(big);
}

/* The escape of a byte that may not stand in a JSON string as it is, or NULL. */
static const char *escape_of(unsigned char c, char room[8])
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		if (c >= 0x20)
			return NULL;
		memcpy(room, "\\u00", 4); /* not printf: a tool may fill megabytes with these */
		room[4] = c & 0x10 ? '1' : '0';
		room[5] = "0123456789abcdef"[c & 15];
		room[6] = '\0';
		return room;
	}
}

void jbuf_string(struct jbuf *b, const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)(bytes = len ? bytes : ""); /* NULL is as good as empty */
	size_t clean = 0; /* start of the run that is copied as it is */
	size_t at = 0;
	char room[8];

	jbuf_raw(b, "\"", 1);
	while (at < len) {
		int step = p[at] < 0x80 ? 1 : utf8_step(p + at, len - at);
		const char *instead = step < 0 ? "\xef\xbf\xbd" : step == 1 ? escape_of(p[at], room) : NULL;

		if (instead) {
			jbuf_raw(b, bytes + clean, at - clean);
			jbuf_text(b, instead);
			clean = at + (size_t)abs(step);
		}
		at += (size_t)abs(step);
	}
	jbuf_raw(b, bytes + clean, at - clean);
	jbuf_raw(b, "\"", 1);
}

void jbuf_cstring(struct jbuf *b, const char *text)
{
	jbuf_string(b, text, strlen(text));
}

void jbuf_member(struct jbuf *b, const char *key, const char *text)
{
	jbuf_printf(b, ",\"%s\":", key);
	if (text && text[0])
		jbuf_cstring(b, text);
	else
		jbuf_text(b, "null");
}
