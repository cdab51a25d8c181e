/* What the gate remembers: bounded, apart for each user and session. */
#include "supervisor/gate_memory.h"
#include "supervisor/session.h"
#include "tests/unit/unit.h"

static struct core g_core;

static int teardown(void **state UNUSED)
{
	gate_memory_free_all(&g_core);
	return 0;
}

static void test_the_second_denial_is_known(void **state UNUSED)
{
	struct gate_memory *m = gate_memory_of(&g_core, NULL, 1000);

	assert_false(gate_memory_denied(m, 7));
	assert_true(gate_memory_denied(m, 7));
	assert_false(gate_memory_denied(m, 8));
	assert_ptr_equal(gate_memory_of(&g_core, NULL, 1000), m);
	assert_false(gate_memory_denied(gate_memory_of(&g_core, NULL, 1001), 7));
}

static void test_old_denials_are_forgotten(void **state UNUSED)
{
	struct gate_memory *m = gate_memory_of(&g_core, NULL, 1000);

	assert_false(gate_memory_denied(m, 1));
	for (uint64_t k = 2; k <= 17; k++)
		assert_false(gate_memory_denied(m, k));
	assert_true(gate_memory_denied(m, 17));
	assert_false(gate_memory_denied(m, 1));
}

static void test_sessions_are_apart(void **state UNUSED)
{
	struct session a = { 0 }, b = { 0 };

	assert_false(gate_memory_denied(gate_memory_of(&g_core, &a, 1000), 7));
	assert_false(gate_memory_denied(gate_memory_of(&g_core, &b, 1000), 7));
	assert_false(gate_memory_denied(gate_memory_of(&g_core, NULL, 1000), 7));
	assert_true(gate_memory_denied(gate_memory_of(&g_core, &a, 1000), 7));
	gate_memory_free(a.gate_memory);
	gate_memory_free(b.gate_memory);
}

static void test_rates_count_one_tool_in_one_window(void **state UNUSED)
{
	struct gate_memory *m = gate_memory_of(&g_core, NULL, 1000);

	for (uint64_t at = 1000; at < 1010; at++)
		gate_memory_called(m, "a", at);
	gate_memory_called(m, "b", 1005);
	assert_int_equal(gate_memory_rate(m, "a", 1010, 60000), 10);
	assert_int_equal(gate_memory_rate(m, "b", 1010, 60000), 1);
	assert_int_equal(gate_memory_rate(m, "c", 1010, 60000), 0);
	assert_int_equal(gate_memory_rate(m, "a", 1010, 5), 4);
	assert_int_equal(gate_memory_rate(m, "a", 99999, 1000), 0);
	for (uint64_t k = 0; k < 3 * GATE_RATE_MAX; k++)
		gate_memory_called(m, "a", 2000);
	assert_int_equal(gate_memory_rate(m, "a", 2000, 1000), GATE_RATE_MAX);
}

/* As many users as there may be, and more: the one that was silent for longest goes, no other. */
static void test_users_are_bounded(void **state UNUSED)
{
	struct gate_memory *m;
	unsigned n = 0;

	for (uid_t uid = 1; uid <= 300; uid++)
		assert_false(gate_memory_denied(gate_memory_of(&g_core, NULL, uid), 7));
	while ((m = LIST_FIRST(&g_core.gate_memories)) && n < 1000) {
		assert_true(gate_memory_denied(gate_memory_of(&g_core, NULL, 300 - (n % 256)), 7));
		if (++n == 256)
			break;
	}
	assert_int_equal(n, 256);
	assert_false(gate_memory_denied(gate_memory_of(&g_core, NULL, 1), 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_the_second_denial_is_known, teardown),
		cmocka_unit_test_teardown(test_old_denials_are_forgotten, teardown),
		cmocka_unit_test_teardown(test_sessions_are_apart, teardown),
		cmocka_unit_test_teardown(test_rates_count_one_tool_in_one_window, teardown),
		cmocka_unit_test_teardown(test_users_are_bounded, teardown),
	};

	LIST_INIT(&g_core.gate_memories);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
