#include "supervisor/wire/json.h"
#include "supervisor/wire/utf8.h"
#include "tests/unit/unit.h"

#include "jail/base/compiler.h"

#include <string.h>

/* Every scalar value is well formed as utf8_put() writes it; every surrogate is not. */
static void every_character_is_known(void **state)
{
	(void)state;
	for (unsigned code = 0; code < 0x110000; code++) {
		char bytes[4];
		size_t n = utf8_put(code, bytes);
		bool good = code < 0xd800 || code > 0xdfff;

		if (good != (utf8_step((const unsigned char *)bytes, n) == (int)n))
			fail_msg("U+%04X", code);
		/* Cut short it is one bad part, up to its end. */
		if (good && n > 1 && utf8_step((const unsigned char *)bytes, n - 1) != -(int)(n - 1))
			fail_msg("U+%04X cut", code);
	}
}

/* Every sequence of two and three bytes: accepted exactly where table 3-7 says so. */
static void every_short_sequence_is_judged(void **state)
{
	(void)state;
	for (unsigned a = 0x80; a < 0x100; a++)
		for (unsigned b = 0; b < 0x100; b++) {
			const unsigned char two[] = { (unsigned char)a, (unsigned char)b, 'x' };
			bool cont = (b & 0xc0) == 0x80;
			bool start3 = (a == 0xe0 && b >= 0xa0 && cont) || (a >= 0xe1 && a <= 0xef && a != 0xed && cont) ||
				      (a == 0xed && b < 0xa0 && cont);
			bool start4 = (a == 0xf0 && b >= 0x90 && cont) || (a >= 0xf1 && a <= 0xf3 && cont) ||
				      (a == 0xf4 && b < 0x90 && cont);
			int want = a >= 0xc2 && a <= 0xdf && cont ? 2 : start3 || start4 ? -2 : -1;

			assert_int_equal(utf8_step(two, sizeof(two)), want);
		}
}

static void first_bad_byte_is_told(void **state)
{
	static const struct {
		const char *text;
		size_t len, bad;
	} cases[] = {
		{ "\xff", 1, 0 },	      { "a\x80", 2, 1 },	   { "\xc0\x80", 2, 0 },
		{ "ab\xed\xa0\x80", 5, 2 },   { "\xf4\x90\x80\x80", 4, 0 }, { "\xe2\x82", 2, 0 },
		{ "\xe2\x82\xac\xe2", 4, 3 }, { "\xf5\x80\x80\x80", 4, 0 }, { "x\0\xfe", 3, 2 },
	};
	size_t bad;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_false(utf8_check(cases[i].text, cases[i].len, &bad));
		assert_int_equal(bad, cases[i].bad);
	}
	assert_true(utf8_check("", 0, NULL));
	assert_true(utf8_check("\xe2\x82\xac\xf0\x9f\x98\x80\0z", 9, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_character_is_known),
		cmocka_unit_test(every_short_sequence_is_judged),
		cmocka_unit_test(first_bad_byte_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
