/* The words of the contract: found, unique, with the documented exit statuses. */
#include "jail/base/names.h"
#include "tests/unit/unit.h"

#include <string.h>

static void every_layer_is_found_by_its_name(void **state)
{
	(void)state;
	for (int i = 0; i < LAYER_COUNT; i++)
		assert_int_equal(layer_find(layer_name((enum layer)i)), i);
	assert_int_equal(layer_find("landlok"), -1);
	assert_int_equal(layer_find(""), -1);
	assert_string_equal(layer_name((enum layer)LAYER_COUNT), "unknown");
	assert_true(LAYER_COUNT <= 32); /* LAYER_BIT() is one word */
}

static void every_outcome_is_found_by_its_name(void **state)
{
	(void)state;
	for (int i = 0; i < OUTCOME_COUNT; i++)
		assert_int_equal(outcome_find(outcome_name((enum outcome)i)), i);
	assert_int_equal(outcome_find("OK"), -1);
	assert_string_equal(outcome_name((enum outcome)OUTCOME_COUNT), "internal_error");
	assert_int_equal(outcome_exit_status((enum outcome)OUTCOME_COUNT), 70);
}

/* Written out once more: scripts depend on these numbers. */
static void exit_statuses_are_the_documented_ones(void **state)
{
	static const struct {
		const char *name;
		int status;
	} documented[] = {
		{ "ok", 0 }, { "tool_error", 1 }, { "invalid_arguments", 3 }, { "denied", 4 },
		{ "approval_pending", 4 }, { "syscall_denied", 4 }, { "timeout", 5 }, { "cpu_limit", 5 },
		{ "out_of_memory", 5 }, { "result_too_large", 5 }, { "setup_failed", 6 }, { "killed", 7 },
		{ "internal_error", 70 }, { "busy", 75 }, { "cancelled", 130 },
	};

	(void)state;
	assert_int_equal(sizeof(documented) / sizeof(documented[0]), OUTCOME_COUNT);
	for (size_t i = 0; i < OUTCOME_COUNT; i++) {
		int o = outcome_find(documented[i].name);
		assert_true(o >= 0);
		assert_int_equal(outcome_exit_status((enum outcome)o), documented[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_layer_is_found_by_its_name),
		cmocka_unit_test(every_outcome_is_found_by_its_name),
		cmocka_unit_test(exit_statuses_are_the_documented_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
