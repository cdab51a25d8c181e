/* What streaming makes of bytes: whole characters, however they come, within the bound, and a client that does not read. */
#include "supervisor/stream.h"
#include "supervisor/wire/json.h"
#include "tests/unit/unit.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 4096

static char *g_events[EVENTS_MAX];
static unsigned g_count;
static bool g_deaf; /* the client has no room */

/* In the place of client.c's. */
bool client_notify(struct client *client UNUSED, const char *method, const char *params, size_t len)
{
	struct json_error je;
	size_t start, n;

	assert_int_equal(json_check(params, len, JSON_OBJECT, 8, &je), 0);
	assert_null(memchr(params, '\n', len));
	if (g_deaf)
		return false;
	if (strcmp(method, "started") != 0) {
		assert_true(g_count < EVENTS_MAX);
		assert_int_equal(json_find(params, len, "text", &start, &n, NULL), strcmp(method, "output") == 0);
		g_events[g_count++] = strndup(params, len);
	}
	return true;
}

static void forget(void)
{
	while (g_count > 0)
		free(g_events[--g_count]);
	g_deaf = false;
}

static char *text_of(const char *event, const char *key, size_t *ret_len)
{
	size_t start, n;

	assert_true(json_find(event, strlen(event), key, &start, &n, NULL));
	return json_string_dup(event + start, n, ret_len);
}

static bool has(const char *event, const char *part)
{
	return strstr(event, part) != NULL;
}

/* All texts of a channel, one after the other. */
static void joined(const char *channel, char *out, size_t cap, size_t *ret_len)
{
	*ret_len = 0;
	for (unsigned i = 0; i < g_count; i++) {
		size_t n;
		char *name = text_of(g_events[i], "stream", &n), *text = text_of(g_events[i], "text", &n);

		if (strcmp(name, channel) == 0) {
			assert_true(*ret_len + n < cap);
			memcpy(out + *ret_len, text, n);
			*ret_len += n;
		}
		free(name);
		free(text);
	}
}

static struct event_base *g_base;
static char g_id[] = "7";
static struct pending g_pending = { .rpc_id = g_id };

static struct stream *stream_of(unsigned cap)
{
	const struct spec_limits limits = { .stdout_bytes = cap, .stderr_bytes = cap };
	struct stream *s = stream_new(g_base, &g_pending, "0123456789abcdef0123456789abcdef", &limits);

	assert_non_null(s);
	return s;
}

static void test_whole(void **state UNUSED)
{
	static const struct {
		const char *bytes;
		size_t len, whole;
	} cases[] = {
		{ "", 0, 0 },           { "a", 1, 1 },          { "\xc3", 1, 0 },        { "a\xc3", 2, 1 },     { "\xc3\xa9", 2, 2 },
		{ "\xe2\x82", 2, 0 },   { "\xe2\x82\xac", 3, 3 }, { "\xf0\x9f\x98", 3, 0 }, { "x\xf0", 2, 1 },    { "\xf0\x9f\x98\x80", 4, 4 },
		{ "\x80\x80\x80", 3, 3 }, /* no lead: bad, and will stay so */
		{ "\xe0\x80", 2, 2 },     /* overlong: bad already */
		{ "\xed\xa0", 2, 2 },     /* a surrogate */
		{ "\xf5", 1, 1 },       { "\xff", 1, 1 },       { "\xc1", 1, 1 },        { "\xf4\x90", 2, 2 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(stream_whole(cases[i].bytes, cases[i].len), cases[i].whole);
}

/* Whatever the pieces, the texts together are what the result would say of the whole. */
static void test_pieces(void **state UNUSED)
{
	static const char hard[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc3(\xe2\x82(\xf0\x9f\x98(\xed\xa0\x80\x80\xe0\x80\xf4\x90\x80\x80 \x1b[31m\"\\\n\xf0\x9f";
	size_t len = sizeof(hard) - 1, want_len, got_len;
	char *want, got[1024];
	struct jbuf b;

	jbuf_init(&b, 4096);
	jbuf_string(&b, hard, len);
	want = json_string_dup(b.data, b.len, &want_len);
	jbuf_done(&b);
	for (size_t piece = 1; piece <= len; piece++) {
		struct stream *s = stream_of(1000);

		for (size_t at = 0; at < len; at += piece) {
			stream_add(s, STREAM_STDOUT, hard + at, len - at < piece ? len - at : piece);
			event_base_loop(g_base, EVLOOP_ONCE); /* until the timer has sent it */
		}
		stream_end(s);
		stream_free(s);
		joined("stdout", got, sizeof(got), &got_len);
		assert_int_equal(got_len, want_len);
		assert_memory_equal(got, want, want_len);
		forget();
	}
	free(want);
}

static void test_coalesced(void **state UNUSED)
{
	struct stream *s = stream_of(1u << 20);

	for (int i = 0; i < 1000; i++)
		stream_add(s, i % 2 ? STREAM_STDOUT : STREAM_STDERR, "word ", 5);
	assert_int_equal(g_count, 0);
	event_base_loop(g_base, EVLOOP_ONCE);
	assert_int_equal(g_count, 2);
	stream_end(s);
	assert_int_equal(g_count, 2);
	stream_free(s);
	forget();
}

static void test_sizes_and_offsets(void **state UNUSED)
{
	size_t len = 3 * STREAM_EVENT_BYTES + 5, got_len;
	char *bytes = malloc(len), *got = malloc(2 * len), offset[64];
	struct stream *s = stream_of(1u << 20);

	memset(bytes, 'x', len);
	stream_add(s, STREAM_STDOUT, bytes, len);
	assert_int_equal(g_count, 3); /* full ones do not wait */
	stream_end(s);
	assert_int_equal(g_count, 4);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(offset, sizeof(offset), "\"offset\":%u,", i * STREAM_EVENT_BYTES);
		assert_true(has(g_events[i], offset));
		assert_true(has(g_events[i], "\"id\":7,\"call_id\":\"0123456789abcdef0123456789abcdef\""));
		assert_false(has(g_events[i], "truncated") || has(g_events[i], "dropped"));
	}
	joined("stdout", got, 2 * len, &got_len);
	assert_int_equal(got_len, len);
	stream_free(s);
	free(bytes);
	free(got);
	forget();
}

static void test_bounded(void **state UNUSED)
{
	struct stream *s = stream_of(10);
	char got[64];
	size_t n;

	stream_add(s, STREAM_STDOUT, "0123456789", 10);
	event_base_loop(g_base, EVLOOP_ONCE);
	assert_int_equal(g_count, 1);
	assert_false(has(g_events[0], "truncated")); /* all of it fits */
	stream_add(s, STREAM_STDOUT, "more", 4);
	assert_int_equal(g_count, 2);
	assert_true(has(g_events[1], "\"text\":\"\",\"truncated\":true"));
	stream_add(s, STREAM_STDOUT, "and more", 8);
	stream_add(s, STREAM_STDERR, "12345678\xe2\x82\xac", 11); /* the bound cuts a character: left out */
	stream_end(s);
	assert_int_equal(g_count, 3);
	assert_true(has(g_events[2], "\"truncated\":true"));
	joined("stderr", got, sizeof(got), &n);
	assert_int_equal(n, 8);
	stream_free(s);
	forget();
}

static void test_deaf_client(void **state UNUSED)
{
	struct stream *s = stream_of(1000);

	g_deaf = true;
	stream_add(s, STREAM_STDOUT, "lost", 4);
	event_base_loop(g_base, EVLOOP_ONCE);
	g_deaf = false;
	stream_add(s, STREAM_STDOUT, "heard", 5);
	event_base_loop(g_base, EVLOOP_ONCE);
	assert_int_equal(g_count, 1);
	assert_true(has(g_events[0], "\"offset\":4,\"text\":\"heard\",\"dropped\":4"));
	g_deaf = true;
	stream_add(s, STREAM_STDOUT, "lost again", 10);
	event_base_loop(g_base, EVLOOP_ONCE);
	g_deaf = false;
	stream_end(s); /* says so, though nothing is left to say it with */
	assert_int_equal(g_count, 2);
	assert_true(has(g_events[1], "\"text\":\"\",\"dropped\":14"));
	stream_free(s);
	forget();
}

/* The members of the event between those that say whose it is. */
static void test_event(void **state UNUSED)
{
	static const char *const events[] = { "{\"progress\":1}", "{ \"log\" : {\"level\":\"info\",\"data\":{}} }" };
	struct stream *s = stream_of(1000);

	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		stream_event(s, events[i], strlen(events[i]));
	g_deaf = true;
	stream_event(s, events[0], strlen(events[0])); /* dropped: no harm */
	g_deaf = false;
	assert_int_equal(g_count, 2);
	assert_string_equal(g_events[0], "{\"id\":7,\"call_id\":\"0123456789abcdef0123456789abcdef\",\"progress\":1}");
	assert_true(has(g_events[1], "\"call_id\":\"0123456789abcdef0123456789abcdef\", \"log\" : {\"level\":\"info\",\"data\":{}} }"));
	stream_end(s);
	assert_int_equal(g_count, 2);
	stream_free(s);
	forget();
}

static int base_open(void **state UNUSED)
{
	g_base = event_base_new();
	return g_base ? 0 : -1;
}

static int base_close(void **state UNUSED)
{
	event_base_free(g_base);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),  cmocka_unit_test(test_pieces),  cmocka_unit_test(test_coalesced),
		cmocka_unit_test(test_sizes_and_offsets), cmocka_unit_test(test_bounded), cmocka_unit_test(test_deaf_client),
		cmocka_unit_test(test_event),
	};

	return cmocka_run_group_tests(tests, base_open, base_close);
}
