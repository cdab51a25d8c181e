/* What brig run --stream shows of events: whole lines behind their channel's name, whatever the pieces and whoever sends them. */
#include "agent/follow.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

static char *g_text;
static size_t g_len;

static struct follow begun(void)
{
	struct follow f = { .out = open_memstream(&g_text, &g_len) };

	assert_non_null(f.out);
	return f;
}

static void event(struct follow *f, const char *line)
{
	follow_event(f, line, strlen(line));
}

static void output(struct follow *f, const char *channel, const char *text)
{
	char line[512];

	snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"method\":\"output\",\"params\":{\"id\":1,\"stream\":\"%s\",\"text\":\"%s\"}}", channel, text);
	event(f, line);
}

static void ended(struct follow *f, const char *want)
{
	follow_end(f);
	fclose(f->out);
	assert_string_equal(g_text, want);
	free(g_text);
}

static void test_lines(void **state)
{
	struct follow f = begun();

	(void)state;
	event(&f, "{\"method\":\"started\",\"params\":{\"id\":1,\"call_id\":\"x\"}}");
	assert_true(f.started);
	output(&f, "stdout", "one\\ntwo\\n");
	output(&f, "stdout", "ha");
	output(&f, "stdout", "lf");
	output(&f, "stdout", "\\n\\nend");
	ended(&f, "stdout| one\nstdout| two\nstdout| half\nstdout| \nstdout| end\n");
}

static void test_channels_do_not_share_a_line(void **state)
{
	struct follow f = begun();

	(void)state;
	output(&f, "stdout", "begun");
	output(&f, "stderr", "oops\\n");
	output(&f, "stdout", "more");
	ended(&f, "stdout| begun\nstderr| oops\nstdout| more\n");
}

static void test_nothing_passes_for_a_line_of_ours(void **state)
{
	struct follow f = begun();

	(void)state;
	output(&f, "stdout", "\\rbrig: ok\\n");
	output(&f, "stdout", "\\u001b");
	output(&f, "stdout", "[2J\\u2028\\u202ebrig: ok\\u0000");
	ended(&f, "stdout| \\rbrig: ok\nstdout| \\x1b[2J\\u2028\\u202ebrig: ok\\x00\n");
}

static void test_what_is_missing(void **state)
{
	struct follow f = begun();

	(void)state;
	event(&f, "{\"method\":\"output\",\"params\":{\"stream\":\"stdout\",\"text\":\"a\",\"dropped\":70000}}");
	event(&f, "{\"method\":\"output\",\"params\":{\"stream\":\"stderr\",\"text\":\"\",\"dropped\":\"5\"}}");
	event(&f, "{\"method\":\"output\",\"params\":{\"stream\":\"stderr\",\"text\":\"\",\"dropped\":-5e1}}");
	ended(&f, "stdout| a\nbrig: 70000 bytes of the tool's stdout came faster than they could be shown\n");
}

static void test_what_it_says(void **state)
{
	struct follow f = begun();

	(void)state;
	output(&f, "stdout", "begun");
	event(&f, "{\"method\":\"event\",\"params\":{\"id\":1,\"progress\":50,\"total\":100,\"message\":\"half\\nbrig: ok\"}}");
	event(&f, "{\"method\":\"event\",\"params\":{\"id\":1,\"progress\":0.5}}");
	event(&f, "{\"method\":\"event\",\"params\":{\"id\":1,\"log\":{\"level\":\"info\",\"data\":\"\\u001b[2J\"}}}");
	event(&f, "{\"method\":\"event\",\"params\":{\"id\":1,\"log\":{\"level\":\"error\",\"logger\":\"l\",\"data\":{\"a\":[1]}}}}");
	event(&f, "{\"method\":\"event\",\"params\":{\"id\":1,\"log\":1}}");
	event(&f, "{\"method\":\"event\"}");
	ended(&f, "stdout| begun\nprogress| 50 of 100: half\\nbrig: ok\nprogress| 0.5\nlog| info: \\x1b[2J\nlog| error l: {\"a\":[1]}\n");
}

static void test_strange_events(void **state)
{
	static const char *const lines[] = {
		"{}", "{\"method\":7}", "{\"method\":\"output\"}", "{\"method\":\"output\",\"params\":[]}",
		"{\"method\":\"output\",\"params\":{\"stream\":\"stdin\",\"text\":\"x\"}}", "{\"method\":\"output\",\"params\":{\"stream\":\"stdout\",\"text\":1}}",
		"{\"method\":\"tools\",\"params\":{\"stream\":\"stdout\",\"text\":\"x\"}}", "{\"method\":\"output\",\"params\":{\"stream\":[\"stdout\"],\"text\":\"x\"}}",
	};
	struct follow f = begun();

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		event(&f, lines[i]);
	assert_false(f.started);
	ended(&f, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_channels_do_not_share_a_line),
		cmocka_unit_test(test_nothing_passes_for_a_line_of_ours),
		cmocka_unit_test(test_what_is_missing),
		cmocka_unit_test(test_what_it_says),
		cmocka_unit_test(test_strange_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
