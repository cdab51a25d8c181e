#include "supervisor/capture.h"

#include "jail/base/compiler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for the note between head and tail, so that a cut text still keeps the profile's bound. */
#define NOTE_BYTES 64

int capture_init(struct capture *c, size_t cap)
{
	size_t room = cap > 2 * NOTE_BYTES ? cap - NOTE_BYTES : cap;

	memset(c, 0, sizeof(*c));
	c->cap = cap;
	c->head_cap = cap;
	c->tail_cap = room / 2;
	c->head = malloc(cap + 1);
	c->tail = malloc(c->tail_cap + 1);
	SHA256Init(&c->sha);
	return c->head && c->tail ? 0 : -ENOMEM;
}

void capture_done(struct capture *c)
{
	free(c->head);
	free(c->tail);
	c->head = c->tail = NULL;
}

static void tail_add(struct capture *c, const char *bytes, size_t len)
{
	if (len > c->tail_cap) {
		bytes += len - c->tail_cap;
		len = c->tail_cap;
	}
	while (len > 0) {
		size_t run = c->tail_cap - c->tail_pos;
		if (run > len)
			run = len;
		memcpy(c->tail + c->tail_pos, bytes, run);
		c->tail_pos = (c->tail_pos + run) % c->tail_cap;
		bytes += run;
		len -= run;
	}
}

void capture_add(struct capture *c, const char *bytes, size_t len)
{
	size_t room = c->head_cap - c->head_len;
	size_t to_head = len < room ? len : room;

	SHA256Update(&c->sha, (const uint8_t *)bytes, len);
	c->bytes += len;
	memcpy(c->head + c->head_len, bytes, to_head);
	c->head_len += to_head;
	/* The tail must hold the last bytes even when they still fitted into the head. */
	if (c->tail_cap > 0)
		tail_add(c, bytes, len);
}

bool capture_truncated(const struct capture *c)
{
	return c->bytes > c->cap;
}

/* Bytes at the end that begin a UTF-8 sequence without ending it. */
static size_t partial_suffix(const char *s, size_t len)
{
	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char b = (unsigned char)s[len - back];
		if ((b & 0xc0) == 0x80)
			continue;
		size_t need = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : b >= 0xc0 ? 2 : 1;
		return need > back ? back : 0;
	}
	return 0;
}

/* Continuation bytes at the start, of a sequence that was cut. */
static size_t partial_prefix(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && n < 3 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n++;
	return n;
}

static void print_cut(const struct capture *c, struct jbuf *out)
{
	_cleanup_free_ char *text = malloc(c->cap + NOTE_BYTES + 1);
	size_t head = c->tail_cap, tail = c->tail_cap, note;
	char *rest;

	if (!text) {
		out->failed = true;
		return;
	}
	if (head > c->head_len)
		head = c->head_len;
	head -= partial_suffix(c->head, head);
	memcpy(text, c->head, head);

	/* Unroll the ring behind the head, then drop a cut character. */
	rest = text + head + NOTE_BYTES;
	memcpy(rest, c->tail + c->tail_pos, c->tail_cap - c->tail_pos);
	memcpy(rest + (c->tail_cap - c->tail_pos), c->tail, c->tail_pos);
	size_t skip = partial_prefix(rest, tail);
	tail -= skip;

	note = (size_t)snprintf(text + head, NOTE_BYTES, "\n[... %llu bytes left out ...]\n",
				(unsigned long long)(c->bytes - head - tail));
	memmove(text + head + note, rest + skip, tail);
	jbuf_string(out, text, head + note + tail);
}

void capture_print(const struct capture *c, struct jbuf *out)
{
	char hex[SHA256_DIGEST_STRING_LENGTH];
	SHA2_CTX copy = c->sha;

	if (!c->head) /* nothing ever ran */
		SHA256Init(&copy);
	jbuf_text(out, "{\"text\":");
	if (capture_truncated(c))
		print_cut(c, out);
	else
		jbuf_string(out, c->head, c->head_len);
	SHA256End(&copy, hex);
	jbuf_printf(out, ",\"bytes\":%llu,\"truncated\":%s,\"sha256\":\"%s\"}", (unsigned long long)c->bytes,
		    capture_truncated(c) ? "true" : "false", hex);
}
