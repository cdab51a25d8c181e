#include "supervisor/wire/json.h"
#include "tests/unit/unit.h"

#include "jail/base/compiler.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A copy without a terminator, so that a sanitizer sees the first byte past the end. */
static int check(const char *text, size_t len, unsigned flags, unsigned depth, struct json_error *err)
{
	char *copy = malloc(len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, text, len);
	r = json_check(copy, len, flags, depth, err);
	free(copy);
	return r;
}

static void good_texts_pass(void **state)
{
	static const char *const texts[] = {
		"0", "-0", "1", "-12.5e+3", "1E9", "0.1", "9007199254740993", "true", "false", "null", "\"\"", "{}", "[]",
		" [ ] ", "{\"a\":1,\"b\":[1,{\"a\":2}],\"\":null}", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
		"\"\\ud83d\\ude00\"", "\"\xe2\x82\xac\"", "[[],[[]]]", "\t\r\n1\n", "\"\\u0000\"", "\"\x7f\"",
		"{\"a\":{\"b\":1},\"b\":{\"a\":1}}", "1e999",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (check(texts[i], strlen(texts[i]), 0, 8, NULL) != 0)
			fail_msg("refused: %s", texts[i]);
}

static const struct bad {
	const char *text;
	unsigned flags, line, column;
	const char *what;
} bads[] = {
	{ "", 0, 1, 1, "expected a value, found the end of the text" },
	{ "  ", 0, 1, 3, "expected a value, found the end of the text" },
	{ "nul", 0, 1, 1, "expected a value, found \"n\"" },
	{ "NaN", 0, 1, 1, "expected a value, found \"N\"" },
	{ "+1", 0, 1, 1, "expected a value, found \"+\"" },
	{ "-", 0, 1, 2, "expected a digit, found the end of the text" },
	{ "-x", 0, 1, 2, "expected a digit, found \"x\"" },
	{ "01", 0, 1, 1, "a number may not begin with 0" },
	{ "-01", 0, 1, 2, "a number may not begin with 0" },
	{ "1.", 0, 1, 3, "expected a digit after the point, found the end of the text" },
	{ ".5", 0, 1, 1, "expected a value, found \".\"" },
	{ "1e", 0, 1, 3, "expected a digit of the exponent, found the end of the text" },
	{ "1e+", 0, 1, 4, "expected a digit of the exponent, found the end of the text" },
	{ "1 2", 0, 1, 3, "expected the end of the text, found \"2\"" },
	{ "truex", 0, 1, 5, "expected the end of the text, found \"x\"" },
	{ "[1,]", 0, 1, 4, "expected a value, found \"]\"" },
	{ "[,1]", 0, 1, 2, "expected a value, found \",\"" },
	{ "[1 2]", 0, 1, 4, "expected \",\" or \"]\", found \"2\"" },
	{ "[1}", 0, 1, 3, "expected \",\" or \"]\", found \"}\"" },
	{ "[1", 0, 1, 3, "expected \",\" or \"]\", found the end of the text" },
	{ "{\"a\":1,}", 0, 1, 8, "expected a key, found \"}\"" },
	{ "{,}", 0, 1, 2, "expected a key or \"}\", found \",\"" },
	{ "{a:1}", 0, 1, 2, "expected a key or \"}\", found \"a\"" },
	{ "{\"a\" 1}", 0, 1, 6, "expected \":\", found \"1\"" },
	{ "{\"a\":}", 0, 1, 6, "expected a value, found \"}\"" },
	{ "{\"a\":1 \"b\":2}", 0, 1, 8, "expected \",\" or \"}\", found \"\"\"" },
	{ "{\n \"a\": 1,\n  x\n}", 0, 3, 3, "expected a key, found \"x\"" },
	{ "]", 0, 1, 1, "expected a value, found \"]\"" },
	{ "\"abc", 0, 1, 1, "this string never ends" },
	{ "\"a\nb\"", 0, 1, 3, "control character 0x0a in a string, it must be escaped" },
	{ "\"\\x\"", 0, 1, 2, "unknown escape in a string" },
	{ "\"\\", 0, 1, 2, "unknown escape in a string" },
	{ "\"\\u12g4\"", 0, 1, 2, "\"\\u\" needs four hexadecimal digits" },
	{ "\"\\u12", 0, 1, 2, "\"\\u\" needs four hexadecimal digits" },
	{ "\"\\ud800\"", 0, 1, 2, "lone high surrogate in a string" },
	{ "\"\\ud800\\u0041\"", 0, 1, 2, "lone high surrogate in a string" },
	{ "\"\\udc00\"", 0, 1, 2, "lone low surrogate in a string" },
	{ "\"\xff\"", 0, 1, 2, "not UTF-8: byte 0xff" },
	{ "[\"\xe2\x82\xac\",\n\"\xe2\x82\xac\xed\xa0\x80\"]", 0, 2, 3, "not UTF-8: byte 0xed" },
	{ "\xef\xbb\xbf{}", 0, 1, 1, "byte order mark, save the text without one" },
	{ "{\"a\":1,\"a\":2}", 0, 1, 8, "duplicate key \"a\"" },
	{ "{\"a\":1,\n\"\\u0061\":2}", 0, 2, 1, "duplicate key \"\\u0061\"" },
	{ "{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}", 0, 1, 19, "duplicate key \"\xf0\x9f\x98\x80\"" },
	{ "[{\"x\":{\"k\":1,\"j\":2,\"k\":3}}]", 0, 1, 20, "duplicate key \"k\"" },
	{ "{\"c\":1,\"b\":2,\"b\":3,\"c\":4}", 0, 1, 14, "duplicate key \"b\"" },
	{ "// c\n{}", 0, 1, 1, "comments are not allowed here" },
	{ "{} /", JSON_COMMENTS, 1, 4, "expected a comment after \"/\"" },
	{ "{\n/* x", JSON_COMMENTS, 2, 1, "this comment never ends" },
	{ "{/*/ }", JSON_COMMENTS, 1, 2, "this comment never ends" },
	{ "1", JSON_OBJECT, 1, 1, "expected \"{\", found \"1\"" },
	{ "[[[[[[[[[1]]]]]]]]]", 0, 1, 9, "nested deeper than 8 levels" },
	{ "\"a\x7f\" \x7f", 0, 1, 6, "expected the end of the text, found control character 0x7f" },
	{ "\xe2\x82\xac", 0, 1, 1, "expected a value, found \"\xe2\x82\xac\"" },
};

static void bad_texts_are_refused_at_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bads); i++) {
		const struct bad *b = &bads[i];
		struct json_error err = { 0 };

		if (check(b->text, strlen(b->text), b->flags, 8, &err) != -EINVAL)
			fail_msg("passed: %s", b->text);
		if (err.line != b->line || err.column != b->column || strcmp(err.what, b->what) != 0)
			fail_msg("%s\n  %u:%u: %s", b->text, err.line, err.column, err.what);
	}
}

static void only_an_object_where_asked(void **state)
{
	struct json_error err;

	(void)state;
	assert_int_equal(check("[]", 2, JSON_OBJECT, 8, &err), -EINVAL);
	assert_string_equal(err.what, "expected \"{\", found \"[\"");
	assert_int_equal(check("{\"a\":[1]}", 9, JSON_OBJECT, 8, &err), 0);
}

static void nul_is_refused_everywhere(void **state)
{
	static const char a[] = "{}\0", b[] = "\"a\0b\"", c[] = "// \0\n1";
	struct json_error err;

	(void)state;
	assert_int_equal(check(a, 3, 0, 8, &err), -EINVAL);
	assert_int_equal(err.offset, 2);
	assert_int_equal(check(b, 5, 0, 8, &err), -EINVAL);
	assert_string_equal(err.what, "NUL byte");
	assert_int_equal(check(c, 6, JSON_COMMENTS, 8, &err), -EINVAL);
	assert_int_equal(err.offset, 3);
}

static void depth_zero_takes_scalars_only(void **state)
{
	struct json_error err;

	(void)state;
	assert_int_equal(check("1", 1, 0, 0, &err), 0);
	assert_int_equal(check("[]", 2, 0, 0, &err), -EINVAL);
}

static const char commented[] = "// head, with \"quotes\" and \xe2\x82\xac\n"
				"{ /* a */ \"name\" : \"x // no comment\", // tail\n"
				"  \"limits\" /**/ : { \"wall\": \"5s\", \"cpu\" :[1, {\"deep\": true}] },\n"
				"  \"esc\\u0061ped\": -1.5e3 } // end";

static void comments_are_blanked_in_place(void **state)
{
	char text[sizeof(commented)];

	(void)state;
	assert_int_equal(check(commented, strlen(commented), JSON_COMMENTS | JSON_OBJECT, 8, NULL), 0);
	memcpy(text, commented, sizeof(text));
	json_blank_comments(text, strlen(text));
	assert_int_equal(strlen(text), strlen(commented));
	assert_int_equal(check(text, strlen(text), 0, 8, NULL), 0);
	assert_non_null(strstr(text, "x // no comment"));
	assert_null(strstr(text, "tail"));
	assert_int_equal(strstr(text, "\"esc") - text, strstr(commented, "\"esc") - commented);
}

static void assert_found(const char *path, const char *want)
{
	size_t start, len, key;

	if (!want) {
		assert_false(json_find(commented, strlen(commented), path, &start, &len, &key));
		return;
	}
	if (!json_find(commented, strlen(commented), path, &start, &len, &key))
		fail_msg("not found: %s", path);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(commented + start, want, len);
}

static void values_are_found_raw(void **state)
{
	size_t start, len, key;
	unsigned line, column;

	(void)state;
	assert_found("name", "\"x // no comment\"");
	assert_found("limits.wall", "\"5s\"");
	assert_found("limits.cpu", "[1, {\"deep\": true}]");
	assert_found("limits.cpu.0", "1");
	assert_found("limits.cpu.1.deep", "true");
	assert_found("escaped", "-1.5e3");
	assert_found("limits.cpu.2", NULL);
	assert_found("limits.cpu.x", NULL);
	assert_found("limits.cpu.-1", NULL);
	assert_found("limits.wall.x", NULL);
	assert_found("nothing", NULL);
	assert_found("limits.", "{ \"wall\": \"5s\", \"cpu\" :[1, {\"deep\": true}] }");
	assert_true(json_find(commented, strlen(commented), "limits.cpu", &start, &len, &key));
	json_position(commented, strlen(commented), key, &line, &column);
	assert_int_equal(line, 3);
	assert_int_equal(column, 35);
	json_position("\xe2\x82\xac" "a", 4, 3, &line, &column);
	assert_int_equal(column, 2);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A million keys in an order that defeats a naive quicksort, the last one a repetition. */
static void a_million_keys_cost_little(void **state)
{
	const unsigned n = 1000000;
	char *text = malloc((size_t)n * 16 + 64), *p = text;
	struct json_error err;
	double start;

	(void)state;
	assert_non_null(text);
	*p++ = '{';
	for (unsigned i = 0; i < n; i++)
		p += snprintf(p, 16, "\"%x\":0,", i % 2 ? i : n - i);
	memcpy(p, "\"1\":0}", 7);
	start = seconds();
	assert_int_equal(json_check(text, strlen(text), 0, 8, &err), -EINVAL);
	assert_string_equal(err.what, "duplicate key \"1\"");
	assert_int_equal(err.offset, p - text);
	/* Bounds the shape, not the speed: squared it would be hours. */
	assert_true(seconds() - start < 20);
	free(text);
}

/* Depth costs no stack: the bound is the caller's, whatever it is. */
static void a_million_levels_cost_no_stack(void **state)
{
	const size_t n = 1000000;
	char *text = malloc(2 * n);
	struct json_error err;
	size_t start, len;

	(void)state;
	assert_non_null(text);
	memset(text, '[', n);
	memset(text + n, ']', n);
	assert_int_equal(json_check(text, 2 * n, 0, (unsigned)n, &err), 0);
	assert_int_equal(json_check(text, 2 * n, 0, 128, &err), -EINVAL);
	assert_int_equal(err.offset, 128);
	assert_true(json_find(text, 2 * n, "0", &start, &len, NULL));
	assert_int_equal(len, 2 * n - 2);
	free(text);
}

static void members_are_walked_in_order(void **state)
{
	static const char text[] = " { \"a\" : 1,\"b\\u0000\": {\"x\": [1, 2]} , \"\": \"}\" } ";
	static const char *const want[][2] = { { "a", "1" }, { "b\\u0000", "{\"x\": [1, 2]}" }, { "", "\"}\"" } };
	struct json_member m;
	size_t at = 1;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_true(json_member_next(text, sizeof(text) - 1, &at, &m));
		assert_int_equal(m.key_len, strlen(want[i][0]));
		assert_memory_equal(text + m.key, want[i][0], m.key_len);
		assert_int_equal(m.value_len, strlen(want[i][1]));
		assert_memory_equal(text + m.value, want[i][1], m.value_len);
	}
	assert_false(json_member_next(text, sizeof(text) - 1, &at, &m));
	at = 0;
	assert_false(json_member_next("{ }", 3, &at, &m));
	assert_false(json_member_next("[1]", 3, &at, &m));
	assert_false(json_member_next("", 0, &at, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_texts_pass),
		cmocka_unit_test(bad_texts_are_refused_at_their_place),
		cmocka_unit_test(only_an_object_where_asked),
		cmocka_unit_test(nul_is_refused_everywhere),
		cmocka_unit_test(depth_zero_takes_scalars_only),
		cmocka_unit_test(comments_are_blanked_in_place),
		cmocka_unit_test(values_are_found_raw),
		cmocka_unit_test(members_are_walked_in_order),
		cmocka_unit_test(a_million_keys_cost_little),
		cmocka_unit_test(a_million_levels_cost_no_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
