#include "supervisor/stream.h"

#include "supervisor/wire/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A control character becomes six bytes of JSON; ids and names are below a kilobyte beside that. */
#define NOTIFY_MAX (6 * STREAM_EVENT_BYTES + (1u << 10))
#define CALL_ID_MAX 33

struct channel {
	char text[STREAM_EVENT_BYTES];
	size_t len;                     /* that waits */
	uint64_t offset;                /* of it in what the tool wrote */
	uint64_t cap;
	uint64_t dropped, told_dropped; /* bytes that the client had no room for */
	bool truncated, told_truncated; /* the tool wrote more than cap */
};

struct stream {
	const struct pending *pending;
	char call_id[CALL_ID_MAX];
	struct event *timer;
	struct channel channels[STREAM_CHANNELS];
};

size_t stream_whole(const char *bytes, size_t len)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		const unsigned char *lead = p + len - back;

		if ((*lead & 0xc0) == 0x80)
			continue;
		/* Bad all the way to the end, and begun well: only the end is missing. */
		return *lead >= 0xc2 && *lead <= 0xf4 && utf8_step(lead, back) == -(int)back ? len - back : len;
	}
	return len;
}

static void begin(const struct stream *s, struct jbuf *b)
{
	jbuf_init(b, NOTIFY_MAX);
	jbuf_text(b, "{\"id\":");
	jbuf_text(b, s->pending->rpc_id);
	jbuf_printf(b, ",\"call_id\":\"%s\"", s->call_id);
}

static bool notify(const struct stream *s, const char *method, struct jbuf *b)
{
	jbuf_text(b, "}");
	bool sent = !b->failed && client_notify(s->pending->client, method, b->data, b->len);

	jbuf_done(b);
	return sent;
}

/* The first n bytes that wait become an event. */
static void output(struct stream *s, struct channel *c, size_t n)
{
	struct jbuf b;

	begin(s, &b);
	jbuf_printf(&b, ",\"stream\":\"%s\",\"offset\":%llu,\"text\":", c == &s->channels[STREAM_STDOUT] ? "stdout" : "stderr",
		    (unsigned long long)c->offset);
	jbuf_string(&b, c->text, n);
	if (c->dropped > 0)
		jbuf_printf(&b, ",\"dropped\":%llu", (unsigned long long)c->dropped);
	if (c->truncated)
		jbuf_text(&b, ",\"truncated\":true");
	if (notify(s, "output", &b)) {
		c->told_dropped = c->dropped;
		c->told_truncated = c->truncated;
	} else {
		c->dropped += n;
	}
	c->offset += n;
	c->len -= n;
	memmove(c->text, c->text + n, c->len);
}

static void flush(struct stream *s, struct channel *c)
{
	size_t n = stream_whole(c->text, c->len);

	if (n > 0)
		output(s, c, n);
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct stream *s = arg;

	for (size_t i = 0; i < STREAM_CHANNELS; i++)
		flush(s, &s->channels[i]);
}

struct stream *stream_new(struct event_base *base, const struct pending *pending, const char *call_id, const struct spec_limits *limits)
{
	struct stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pending = pending;
	snprintf(s->call_id, sizeof(s->call_id), "%s", call_id);
	s->channels[STREAM_STDOUT].cap = limits->stdout_bytes;
	s->channels[STREAM_STDERR].cap = limits->stderr_bytes;
	s->timer = evtimer_new(base, on_timer, s);
	if (!s->timer) {
		free(s);
		return NULL;
	}
	return s;
}

void stream_started(const struct stream *s)
{
	struct jbuf b;

	begin(s, &b);
	(void)notify(s, "started", &b);
}

void stream_event(const struct stream *s, const char *event, size_t len)
{
	struct jbuf b;

	begin(s, &b);
	jbuf_text(&b, ",");
	jbuf_raw(&b, event + 1, len - 2); /* its members, without the braces */
	(void)notify(s, "event", &b);
}

void stream_add(struct stream *s, enum stream_channel channel, const char *bytes, size_t len)
{
	const struct timeval soon = { .tv_usec = STREAM_WAIT_MS * 1000 };
	struct channel *c = &s->channels[channel];

	while (len > 0 && !c->truncated) {
		uint64_t left = c->cap - c->offset - c->len;
		size_t n = sizeof(c->text) - c->len;

		n = n < len ? n : len;
		n = n < left ? n : (size_t)left;
		memcpy(c->text + c->len, bytes, n);
		c->len += n;
		bytes += n;
		len -= n;
		/* One event says so, with the last of the text; a character that the cap cuts is left out. */
		c->truncated = len > 0 && n == left;
		if (c->truncated)
			output(s, c, stream_whole(c->text, c->len));
		else if (c->len == sizeof(c->text))
			flush(s, c);
	}
	if (c->truncated)
		c->len = 0;
	else if (c->len > 0 && !evtimer_pending(s->timer, NULL))
		evtimer_add(s->timer, &soon);
}

void stream_end(struct stream *s)
{
	for (size_t i = 0; i < STREAM_CHANNELS; i++) {
		struct channel *c = &s->channels[i];

		if (c->len > 0)
			output(s, c, c->len);
		if (c->told_dropped != c->dropped || c->told_truncated != c->truncated)
			output(s, c, 0);
	}
	evtimer_del(s->timer);
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	event_free(s->timer);
	free(s);
}
