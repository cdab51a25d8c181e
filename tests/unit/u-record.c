/* Which records a filter takes. */
#include "supervisor/wire/record.h"
#include "jail/base/compiler.h"
#include "tests/unit/unit.h"

#include <string.h>

static const char line[] = "{\"seq\":42,\"time\":\"2026-01-02T03:04:05.000000006Z\",\"kind\":\"begin\",\"core\":\"1\",\"n\":3,\"call_id\":\"00\","
			   "\"who\":{\"uid\":1000,\"pid\":77,\"session\":\"s\\\"x\"},\"tool\":\"sum\",\"decision\":\"deny\",\"rule\":null}\n";

#define TAKES(...) assert_true(record_matches(&(struct record_filter){ __VA_ARGS__ }, line, sizeof(line) - 1))
#define LEAVES(...) assert_false(record_matches(&(struct record_filter){ __VA_ARGS__ }, line, sizeof(line) - 1))

static void members_are_compared_whole(void **state UNUSED)
{
	TAKES(.kind = NULL);
	TAKES(.kind = "begin", .tool = "sum", .uid = "1000", .decision = "deny", .call_id = "00");
	LEAVES(.kind = "begi");
	LEAVES(.kind = "begin", .tool = "su");
	LEAVES(.uid = "100");
	LEAVES(.uid = "77");
	LEAVES(.outcome = "ok"); /* a begin has none */
	TAKES(.session = "s\"x");
	LEAVES(.session = "s\\\"x");
	LEAVES(.tool = "");
}

static void times_are_beginnings(void **state UNUSED)
{
	TAKES(.since = "2026-01-02");
	TAKES(.since = "2026-01-02T03:04:05Z");
	TAKES(.since = "2026-01-02T03:04:05.000000006Z");
	LEAVES(.since = "2026-01-02T03:04:06");
	LEAVES(.until = "2026-01-02");
	LEAVES(.until = "2026-01-02T03:04:05Z");
	TAKES(.until = "2026-01-02T03:04:06");
	TAKES(.since = "2026", .until = "2027");
}

static void a_wrong_time_is_refused(void **state UNUSED)
{
	assert_null(record_time_check("2026"));
	assert_null(record_time_check("2026-01-02"));
	assert_null(record_time_check("2026-01-02T03:04:05.000000006Z"));
	assert_non_null(record_time_check(""));
	assert_non_null(record_time_check("20"));
	assert_non_null(record_time_check("2026/01/02"));
	assert_non_null(record_time_check("2026-01-02 03:04"));
	assert_non_null(record_time_check("yesterday"));
	assert_non_null(record_time_check("2026-01-02T03:04:05.000000006ZZ"));
}

static void numbers_count_from_the_next(void **state UNUSED)
{
	TAKES(.after_seq = 41);
	LEAVES(.after_seq = 42);
	assert_int_equal(record_seq(line, sizeof(line) - 1), 42);
	assert_int_equal(record_seq("{\"seq\":", 7), 0);
	assert_int_equal(record_seq("torn", 4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_compared_whole),
		cmocka_unit_test(times_are_beginnings),
		cmocka_unit_test(a_wrong_time_is_refused),
		cmocka_unit_test(numbers_count_from_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
