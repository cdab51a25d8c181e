/* Tables: widths hold whatever the cells say, numbers are whole or not shown, times read like times. */
#include "agent/table.h"
#include "jail/base/compiler.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct table_column columns[] = {
	{ "NAME", "name", 6, TABLE_TEXT },
	{ "N", "n", 4, TABLE_NUMBER },
	{ "AGE", "age_ms", 6, TABLE_TIME },
	{ 0 },
};

static char *table(const char *json, unsigned *ret_rows)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	*ret_rows = table_show(out, json, strlen(json), "list", columns);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void a_row(const char *object, const char *want)
{
	char json[512], all[512];
	unsigned rows;
	char *got;

	snprintf(json, sizeof(json), "{\"list\":[%s]}", object);
	snprintf(all, sizeof(all), "NAME       N     AGE\n%s\n", want);
	got = table(json, &rows);
	assert_int_equal(rows, 1);
	assert_string_equal(got, all);
	free(got);
}

static void cells_keep_their_width(void **state)
{
	(void)state;
	a_row("{\"name\":\"pure\",\"n\":17,\"age_ms\":450}", "pure      17   450ms");
	a_row("{\"name\":\"sixsix\",\"n\":1234,\"age_ms\":1.25}", "sixsix  1234   1.2ms");
	a_row("{\"name\":\"sevenxx\"}", "seven~     -       -");
	a_row("{\"name\":null,\"n\":null,\"age_ms\":null}", "-          -       -");
	a_row("{\"name\":\"\xc3\xa4\xc3\xb6\xc3\xbc\",\"n\":0,\"age_ms\":0}", "\xc3\xa4\xc3\xb6\xc3\xbc        0     0ms");
	a_row("{\"name\":\"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\",\"n\":1,\"age_ms\":1}",
		"\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6~     1   1.0ms");
}

static void what_is_no_number_is_not_shown_as_one(void **state)
{
	(void)state;
	a_row("{\"name\":3,\"n\":12345,\"age_ms\":1e300}", "3       ####  ######");
	a_row("{\"name\":[1],\"n\":\"no\",\"age_ms\":true}", "[1]        ?       ?");
	a_row("{\"name\":\"x\",\"n\":{\"a\":1},\"age_ms\":\"5\"}", "x          ?       ?");
	a_row("{\"name\":\"x\",\"n\":-5,\"age_ms\":-5}", "x         -5     0ms");
}

static void control_characters_are_shown(void **state)
{
	(void)state;
	a_row("{\"name\":\"\\u001b\\n\"}", "\\x1b\\n     -       -");
	a_row("{\"name\":\"\\u202e\"}", "\\u202e     -       -");
	a_row("{\"name\":\"a\\u202e\"}", "a\\u20~     -       -");
	a_row("{\"name\":\"\\u0000\"}", "\\x00       -       -");
}

static void an_empty_list_prints_nothing(void **state)
{
	unsigned rows;
	char *got;

	(void)state;
	got = table("{\"list\":[]}", &rows);
	assert_int_equal(rows, 0);
	assert_string_equal(got, "");
	free(got);
	got = table("{\"other\":[{}]}", &rows);
	assert_int_equal(rows, 0);
	free(got);
}

static void times_have_two_parts(void **state)
{
	static const struct {
		double ms;
		const char *want;
	} cases[] = {
		{ 0, "0ms" }, { 0.04, "0.0ms" }, { 9.96, "10.0ms" }, { 10, "10ms" }, { 999, "999ms" }, { 1000, "1.0s" },
		{ 59940, "59.9s" }, { 60000, "1m0s" }, { 200999, "3m20s" }, { 3600000, "1h0m" }, { 18600000, "5h10m" },
		{ 86400000, "1d0h" }, { 187200000, "2d4h" }, { -1, "0ms" },
	};
	char got[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		time_print(got, sizeof(got), cases[i].ms);
		assert_string_equal(got, cases[i].want);
	}
	time_print(got, sizeof(got), __builtin_nan(""));
	assert_string_equal(got, "0ms");
	time_print(got, sizeof(got), __builtin_inf());
	assert_string_equal(got, "11574074d1h");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_keep_their_width),
		cmocka_unit_test(what_is_no_number_is_not_shown_as_one),
		cmocka_unit_test(control_characters_are_shown),
		cmocka_unit_test(an_empty_list_prints_nothing),
		cmocka_unit_test(times_have_two_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
