/* What people see: the result alone on one side, Brig's lines and a tool's text told apart on the other. */
#include "agent/show.h"
#include "agent/text.h"
#include "tests/unit/unit.h"

#include <string.h>

struct screen {
	char *out, *err;
	size_t out_len, err_len;
	int status;
};

static void screen_done(struct screen *s)
{
	free(s->out);
	free(s->err);
}

enum mode { PIPE, TTY, JSON };

static void show(struct screen *screen, enum mode mode, const char *json)
{
	struct show s = { .out_tty = mode == TTY, .json = mode == JSON };

	memset(screen, 0, sizeof(*screen));
	s.out = open_memstream(&screen->out, &screen->out_len);
	s.err = open_memstream(&screen->err, &screen->err_len);
	screen->status = show_end(&s, show_result(&s, json, strlen(json)));
	fclose(s.out);
	fclose(s.err);
}

static void expect(enum mode mode, const char *json, int status, const char *out, const char *err)
{
	_cleanup_(screen_done) struct screen s;

	show(&s, mode, json);
	assert_string_equal(s.out, out);
	assert_string_equal(s.err, err);
	assert_int_equal(s.status, status);
}

static void a_string_is_printed_as_it_is_and_other_values_as_json(void **state)
{
	(void)state;
	expect(PIPE, "{\"outcome\":\"ok\",\"result\":\"a\\nb\"}", 0, "a\nb\n", "");
	expect(PIPE, "{\"outcome\":\"ok\",\"result\":\"a\\n\"}", 0, "a\n", "");
	expect(PIPE, "{\"outcome\":\"ok\",\"result\":\"\"}", 0, "\n", "");
	expect(PIPE, "{\"outcome\":\"ok\",\"result\":9007199254740993}", 0, "9007199254740993\n", "");
	expect(PIPE, "{\"outcome\":\"ok\",\"result\":{\"a\": [1.10]}}", 0, "{\"a\": [1.10]}\n", "");
	expect(PIPE, "{\"outcome\":\"ok\",\"result\":null}", 0, "null\n", "");
	expect(PIPE, "{\"outcome\":\"ok\"}", 0, "", "");
}

static void a_terminal_gets_no_control_character_of_a_tool(void **state)
{
	const char *json = "{\"outcome\":\"ok\",\"result\":\"\\u001b[2J\\ta\\u202eb\\u009bc\\r\\n\"}";

	(void)state;
	expect(TTY, json, 0, "\\x1b[2J\ta\\u202eb\\u009bc\\r\n", "");
	expect(PIPE, json, 0,
		"\033[2J\ta\u202eb\xc2\x9b"
		"c\r\n",
		"");
}

static void a_nul_in_a_result_cuts_nothing(void **state)
{
	_cleanup_(screen_done) struct screen s;

	(void)state;
	show(&s, PIPE, "{\"outcome\":\"ok\",\"result\":\"a\\u0000b\"}");
	assert_int_equal(s.out_len, 4);
	assert_memory_equal(s.out, "a\0b\n", 4);
}

static void a_cause_is_one_line(void **state)
{
	(void)state;
	expect(PIPE,
		"{\"outcome\":\"tool_error\",\"error\":{\"type\":\"ValueError\",\"message\":\"no\\n\\u001b[31mbrig: "
		"ok\",\"line\":3},"
		"\"cause\":{\"what\":\"raised\",\"hint\":\"\"}}",
		1, "", "brig: tool_error: ValueError: no\\n\\x1b[31mbrig: ok (line 3)\n");
	expect(PIPE,
		"{\"outcome\":\"timeout\",\"cause\":{\"what\":\"ran longer than "
		"5s\",\"rule\":\"pure.json:41\",\"hint\":\"raise "
		"limits.wall\"}}",
		5, "", "brig: timeout: ran longer than 5s (pure.json:41); raise limits.wall\n");
	expect(PIPE, "{\"outcome\":\"killed\"}", 7, "", "brig: killed\n");
}

static void a_long_cause_is_cut_at_a_character(void **state)
{
	_cleanup_(screen_done) struct screen s;
	struct jbuf json;

	(void)state;
	jbuf_init(&json, 1u << 20);
	jbuf_text(&json, "{\"outcome\":\"tool_error\",\"error\":{\"type\":\"E\",\"message\":\"x");
	for (int i = 0; i < 5000; i++)
		jbuf_text(&json, "\u00e9");
	jbuf_text(&json, "\"}}");
	jbuf_raw(&json, "", 1);
	show(&s, PIPE, json.data);
	jbuf_done(&json);
	assert_true(s.err_len < 1200);
	assert_non_null(strstr(s.err, "\u00e9...\n"));
}

static void a_tool_cannot_print_a_line_of_brigs(void **state)
{
	(void)state;
	expect(PIPE,
		"{\"outcome\":\"ok\",\"result\":\"6\",\"stdout\":{\"text\":\"one\\nbrig: "
		"denied\\n\",\"bytes\":900,\"truncated\":true},"
		"\"stderr\":{\"text\":\"\\rx\",\"truncated\":false},\"limits_hit\":[\"stdout\",\"pids\"],"
		"\"receipt\":{\"degraded\":[\"cgroup\",{\"layer\":\"landlock\"}]}}",
		0, "6\n",
		"stdout| one\nstdout| brig: denied\nbrig: the tool's stdout was cut: it wrote 900 bytes\nstderr| \\rx\n"
		"brig: limits touched: stdout, pids\nbrig: ran without: cgroup, landlock\n");
}

static void json_mode_hands_the_object_on_unchanged(void **state)
{
	const char *json =
		"{\"outcome\":\"cpu_limit\", \"n\":1e999, \"stdout\":{\"text\":\"x\"},\"cause\":{\"what\":\"w\"}}";
	_cleanup_(screen_done) struct screen s;

	(void)state;
	show(&s, JSON, json);
	assert_int_equal(s.status, 5);
	assert_int_equal(s.out_len, strlen(json) + 1);
	assert_memory_equal(s.out, json, strlen(json));
	assert_string_equal(s.err, "brig: cpu_limit: w\n");
}

static void an_unknown_outcome_is_an_internal_error(void **state)
{
	_cleanup_(screen_done) struct screen s;
	struct json_error je;

	(void)state;
	show(&s, JSON, "{\"outcome\":\"splendid\"}");
	assert_int_equal(s.status, 70);
	assert_int_equal(json_check(s.out, s.out_len, JSON_OBJECT, 8, &je), 0);
	assert_non_null(strstr(s.out, "\"internal_error\""));
}

static void a_failure_tells_where_what_and_what_to_do(void **state)
{
	struct screen screen = { 0 };
	struct show s = { .json = true };
	struct err err;

	(void)state;
	s.out = open_memstream(&screen.out, &screen.out_len);
	s.err = open_memstream(&screen.err, &screen.err_len);
	err_set(&err, ERR_CALLER, EINVAL, "x.json:4:7", "unknown key \"memroy\"");
	err_hint(&err, "did you mean 'memory'?");
	assert_int_equal(show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err), EXIT_USAGE);
	fclose(s.out);
	fclose(s.err);
	assert_string_equal(screen.err, "brig: x.json:4:7: unknown key \"memroy\"; did you mean 'memory'?\n");
	assert_non_null(strstr(screen.out, "\"where\":\"x.json:4:7\""));
	assert_non_null(strstr(screen.out, "\\\"memroy\\\""));
	screen_done(&screen);
}

static void bytes_that_are_no_utf8_are_shown_as_bytes(void **state)
{
	static const char bytes[] = "\xff\xc3(\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe2\x82";
	struct jbuf b;

	(void)state;
	jbuf_init(&b, 1000);
	text_escape(&b, bytes, sizeof(bytes) - 1, TEXT_LINE);
	jbuf_raw(&b, "", 1);
	assert_string_equal(b.data, "\\xff\\xc3(\\xed\\xa0\\x80\\xf4\\x90\\x80\\x80\\xc0\\xaf\\xe2\\x82");
	jbuf_done(&b);
}

static void invisible_characters_are_shown(void **state)
{
	static const char text[] = "a\u00adb\u180ec\u3164d\U000e0041e\u00e9\U0001f600";
	struct jbuf b;

	(void)state;
	jbuf_init(&b, 1000);
	text_escape(&b, text, sizeof(text) - 1, TEXT_BLOCK);
	jbuf_raw(&b, "", 1);
	assert_string_equal(b.data, "a\\u00adb\\u180ec\\u3164d\\U000e0041e\u00e9\U0001f600");
	jbuf_done(&b);
}

static void a_quoted_word_fits_its_buffer(void **state)
{
	char buf[16];

	(void)state;
	text_quote(buf, sizeof(buf), "short");
	assert_string_equal(buf, "'short'");
	text_quote(buf, sizeof(buf), "much longer than the buffer");
	assert_string_equal(buf, "'much longe...'");
	text_quote(buf, sizeof(buf), "123456789\u00e9\u00e9");
	assert_string_equal(buf, "'123456789...'");
	text_quote(buf, sizeof(buf), "");
	assert_string_equal(buf, "''");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_string_is_printed_as_it_is_and_other_values_as_json),
		cmocka_unit_test(a_terminal_gets_no_control_character_of_a_tool),
		cmocka_unit_test(a_nul_in_a_result_cuts_nothing),
		cmocka_unit_test(a_cause_is_one_line),
		cmocka_unit_test(a_long_cause_is_cut_at_a_character),
		cmocka_unit_test(a_tool_cannot_print_a_line_of_brigs),
		cmocka_unit_test(json_mode_hands_the_object_on_unchanged),
		cmocka_unit_test(an_unknown_outcome_is_an_internal_error),
		cmocka_unit_test(a_failure_tells_where_what_and_what_to_do),
		cmocka_unit_test(bytes_that_are_no_utf8_are_shown_as_bytes),
		cmocka_unit_test(invisible_characters_are_shown),
		cmocka_unit_test(a_quoted_word_fits_its_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
