/* How many jails should wait: up with the rate of calls, down slowly, to the profile's word when nobody calls. */
#include "jail/base/compiler.h"
#include "supervisor/pool_plan.h"

#include "tests/unit/unit.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define IDLE_MS 60000u

static struct pool_plan plan;
static uint64_t now;

static int setup(void **state UNUSED)
{
	pool_plan_init(&plan, 2, 20);
	now = 1000 * SECOND;
	return 0;
}

/* So many calls each second for so long, none of which had to wait; the target at the end. */
static unsigned traffic(unsigned per_second, unsigned seconds)
{
	unsigned target = 0;

	for (unsigned i = 0; i < per_second * seconds; i++) {
		now += SECOND / per_second;
		pool_plan_arrival(&plan, now, false);
		target = pool_plan_target(&plan, now, IDLE_MS);
	}
	return target;
}

/* The target after so long without a call, looked at each second. */
static unsigned silence(unsigned seconds)
{
	unsigned target = pool_plan_target(&plan, now, IDLE_MS);

	for (unsigned i = 0; i < seconds; i++) {
		now += SECOND;
		target = pool_plan_target(&plan, now, IDLE_MS);
	}
	return target;
}

static void refills_take(uint64_t ns)
{
	for (int i = 0; i < 100; i++)
		pool_plan_refilled(&plan, ns);
}

static void at_first_what_the_profile_says(void **state UNUSED)
{
	assert_int_equal(pool_plan_target(&plan, now, IDLE_MS), 2);
	assert_true(pool_plan_at_rest(&plan));
}

static void a_few_calls_need_no_more(void **state UNUSED)
{
	refills_take(10 * MS);
	assert_int_equal(traffic(5, 20), 2);
}

static void as_many_more_as_come_while_one_is_made(void **state UNUSED)
{
	refills_take(20 * MS);
	assert_in_range(traffic(100, 10), 3, 4); /* 100/s times 20 ms */
	refills_take(100 * MS);
	assert_in_range(traffic(100, 10), 11, 12);
}

static void never_more_than_the_profile_allows(void **state UNUSED)
{
	refills_take(SECOND);
	assert_int_equal(traffic(1000, 5), 20);
}

static void calls_that_found_none_raise_it(void **state UNUSED)
{
	for (int i = 0; i < 6; i++)
		pool_plan_arrival(&plan, now, true);
	assert_in_range(pool_plan_target(&plan, now, IDLE_MS), 8, 9);
	for (int i = 0; i < 100; i++)
		pool_plan_arrival(&plan, now, true);
	assert_int_equal(pool_plan_target(&plan, now, IDLE_MS), 20);
}

static void it_holds_and_then_sinks_step_by_step(void **state UNUSED)
{
	unsigned before, after;

	refills_take(100 * MS);
	before = traffic(100, 10);
	assert_int_equal(silence(4), before); /* a moment of silence changes nothing */
	after = silence(4);
	assert_true(after < before && after > 2);
	assert_int_equal(silence(40), 2);
}

static void new_calls_end_the_sinking(void **state UNUSED)
{
	refills_take(100 * MS);
	unsigned high = traffic(100, 10);
	unsigned low = silence(7);
	assert_true(low < high);
	assert_in_range(traffic(100, 10), high - 1, high + 1);
}

static void without_a_call_for_long_it_is_as_at_first(void **state UNUSED)
{
	refills_take(100 * MS);
	assert_true(traffic(100, 10) > 2);
	now += IDLE_MS * MS;
	assert_int_equal(pool_plan_target(&plan, now, IDLE_MS), 2);
	assert_true(pool_plan_at_rest(&plan));
}

static void who_wants_none_gets_none(void **state UNUSED)
{
	pool_plan_init(&plan, 0, 20);
	for (int i = 0; i < 100; i++)
		pool_plan_arrival(&plan, now, true);
	refills_take(SECOND);
	assert_int_equal(traffic(1000, 2), 0);
}

static void a_maximum_below_warm_is_warm(void **state UNUSED)
{
	pool_plan_init(&plan, 4, 1);
	refills_take(SECOND);
	assert_int_equal(traffic(100, 2), 4);
}

static void clocks_that_stand_still_do_no_harm(void **state UNUSED)
{
	for (int i = 0; i < 50; i++)
		pool_plan_arrival(&plan, now, false);
	assert_in_range(pool_plan_target(&plan, now, IDLE_MS), 2, 20);
	pool_plan_arrival(&plan, now - SECOND, false);
	assert_in_range(pool_plan_target(&plan, now, IDLE_MS), 2, 20);
}

#define TEST(fn) cmocka_unit_test_setup(fn, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(at_first_what_the_profile_says),
		TEST(a_few_calls_need_no_more),
		TEST(as_many_more_as_come_while_one_is_made),
		TEST(never_more_than_the_profile_allows),
		TEST(calls_that_found_none_raise_it),
		TEST(it_holds_and_then_sinks_step_by_step),
		TEST(new_calls_end_the_sinking),
		TEST(without_a_call_for_long_it_is_as_at_first),
		TEST(who_wants_none_gets_none),
		TEST(a_maximum_below_warm_is_warm),
		TEST(clocks_that_stand_still_do_no_harm),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
