#include "supervisor/wire/json.h"
#include "tests/unit/unit.h"

#include "jail/base/compiler.h"

#include <stdlib.h>
#include <string.h>

static void assert_string_is(const char *bytes, size_t len, const char *want)
{
	struct jbuf b;

	jbuf_init(&b, 4096);
	jbuf_string(&b, bytes, len);
	assert_false(b.failed);
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, strlen(want));
	jbuf_done(&b);
}

static void strings_are_escaped(void **state)
{
	(void)state;
	assert_string_is("", 0, "\"\"");
	assert_string_is("plain", 5, "\"plain\"");
	assert_string_is("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
	assert_string_is("\b\f\n\r\t\0\x1f\x7f", 8, "\"\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"");
	assert_string_is("\xe2\x82\xac", 3, "\"\xe2\x82\xac\"");
}

#define R "\xef\xbf\xbd"

/* One replacement for each maximal bad part (Unicode 15, section 3.9). */
static void bad_utf8_is_replaced(void **state)
{
	(void)state;
	assert_string_is("\xff", 1, "\"" R "\"");
	assert_string_is("a\x80z", 3, "\"a" R "z\"");
	assert_string_is("\xe2\x82", 2, "\"" R "\"");
	assert_string_is("\xe2\x82x", 3, "\"" R "x\"");
	assert_string_is("\xed\xa0\x80", 3, "\"" R R R "\"");
	assert_string_is("\xf0\x9f\x98\"", 4, "\"" R "\\\"\"");
	assert_string_is("\xc0\xaf", 2, "\"" R R "\"");
	assert_string_is("\xf4\x90\x80\x80", 4, "\"" R R R R "\"");
}

static void everything_written_is_json(void **state)
{
	unsigned char bytes[64];
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct jbuf b;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1103515245u + 12345u;
			bytes[i] = (unsigned char)(seed >> 16 & 1 ? 0x80 | (seed >> 17) : seed >> 17);
		}
		jbuf_init(&b, 4096);
		jbuf_string(&b, (const char *)bytes, sizeof(bytes));
		assert_int_equal(json_check(b.data, b.len, 0, 1, NULL), 0);
		jbuf_done(&b);
	}
}

static void parts_add_up(void **state)
{
	struct jbuf b;

	(void)state;
	jbuf_init(&b, 1000);
	jbuf_text(&b, "{");
	jbuf_cstring(&b, "n");
	jbuf_printf(&b, ":%d,", 7);
	jbuf_cstring(&b, "raw");
	jbuf_text(&b, ":");
	jbuf_raw(&b, "[1]}trailing", 4);
	assert_string_equal(b.data, "{\"n\":7,\"raw\":[1]}");
	jbuf_printf(&b, "%0600d", 1);
	assert_int_equal(b.len, 17 + 600);
	jbuf_done(&b);
	jbuf_done(&b);
}

static void the_maximum_holds(void **state)
{
	struct jbuf b;

	(void)state;
	jbuf_init(&b, 5);
	jbuf_text(&b, "12345");
	assert_false(b.failed);
	jbuf_text(&b, "");
	assert_false(b.failed);
	jbuf_text(&b, "6");
	assert_true(b.failed);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	jbuf_text(&b, "1");
	jbuf_cstring(&b, "1");
	jbuf_printf(&b, "%d", 1);
	assert_true(b.failed);
	assert_null(b.data);
	jbuf_done(&b);
	jbuf_init(&b, 2);
	jbuf_cstring(&b, "");
	assert_string_equal(b.data, "\"\"");
	jbuf_done(&b);
	jbuf_init(&b, SIZE_MAX);
	jbuf_text(&b, "x");
	jbuf_raw(&b, "", SIZE_MAX);
	assert_true(b.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_escaped),	      cmocka_unit_test(bad_utf8_is_replaced),
		cmocka_unit_test(everything_written_is_json), cmocka_unit_test(parts_add_up),
		cmocka_unit_test(the_maximum_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
