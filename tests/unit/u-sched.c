/* Turns in the queue: by user, then by flow, then by arrival; and when to ask again. */
#include "supervisor/fair.h"
#include "supervisor/sched.h"

#include "tests/unit/unit.h"

#include <stdlib.h>

/* What waits in these tests: `name` tells the flow by its letter. */
struct thing {
	struct fair_item item;
	char name;
	unsigned number;
};

static struct fair fair;
static struct thing things[2048];
static unsigned count;
static const char flows[128];

static int setup(void **state UNUSED)
{
	fair_init(&fair);
	count = 0;
	return 0;
}

static int teardown(void **state UNUSED)
{
	for (unsigned i = 0; i < count; i++)
		fair_remove(&fair, &things[i].item);
	return fair.count == 0 && TAILQ_EMPTY(&fair.users) ? 0 : 1;
}

static struct thing *add(uint32_t uid, char flow)
{
	struct thing *t = &things[count];

	*t = (struct thing){ .name = flow, .number = count };
	assert_int_equal(fair_add(&fair, &t->item, uid, &flows[(int)flow]), 0);
	count++;
	return t;
}

static struct thing *next(fair_may_fn may, void *arg)
{
	return (struct thing *)fair_next(&fair, may, arg);
}

/* The flows of the next n, in order. */
static void takes(const char *want)
{
	char got[64] = "";

	for (size_t i = 0; want[i]; i++) {
		struct thing *t = next(NULL, NULL);
		got[i] = t ? t->name : '-';
	}
	assert_string_equal(got, want);
}

static void nothing_waits_in_an_empty_queue(void **state UNUSED)
{
	takes("-");
}

static void one_flow_is_first_come_first_served(void **state UNUSED)
{
	for (int i = 0; i < 5; i++)
		add(1, 'a');
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(next(NULL, NULL)->number, i);
	takes("-");
}

static void flows_of_one_user_take_turns(void **state UNUSED)
{
	for (int i = 0; i < 4; i++)
		add(1, 'a');
	add(1, 'b');
	add(1, 'b');
	add(1, 'c');
	takes("abcabaa-");
}

static void many_connections_buy_nothing(void **state UNUSED)
{
	for (char flow = 'a'; flow <= 'j'; flow++)
		for (int i = 0; i < 3; i++)
			add(1, flow);
	for (int i = 0; i < 5; i++)
		add(2, 'X');
	takes("aXbXcXdXeXfg");
}

static void a_flood_delays_another_by_one_turn(void **state UNUSED)
{
	for (int i = 0; i < 1000; i++)
		add(1, 'a');
	takes("aaaaa");
	add(1, 'b');
	takes("ab");
	add(2, 'X');
	takes("aX");
	/* Again and again: who comes with one at a time never waits longer. */
	for (int i = 0; i < 100; i++) {
		add(2, 'X');
		struct thing *first = next(NULL, NULL), *second = next(NULL, NULL);
		assert_true(first->name == 'X' || second->name == 'X');
	}
}

static void who_leaves_and_comes_again_gains_nothing(void **state UNUSED)
{
	for (int i = 0; i < 10; i++)
		add(2, 'X');
	add(1, 'a');
	takes("Xa");
	for (int i = 0; i < 3; i++) { /* its flow ends each time, and begins behind the others */
		add(1, 'a');
		takes("Xa");
	}
}

static void what_is_put_back_is_the_next(void **state UNUSED)
{
	struct thing *a = add(1, 'a');

	add(1, 'a');
	add(2, 'X');
	assert_ptr_equal(next(NULL, NULL), a);
	assert_int_equal(fair_put_back(&fair, &a->item, 1, &flows['a']), 0);
	assert_int_equal(fair.count, 3);
	assert_ptr_equal(next(NULL, NULL), a);
	takes("Xa-");
	/* Also when its flow has ended meanwhile. */
	a = add(1, 'a');
	add(2, 'X');
	assert_ptr_equal(next(NULL, NULL), a);
	assert_int_equal(fair_put_back(&fair, &a->item, 1, &flows['a']), 0);
	takes("aX-");
}

static bool not_flow(const struct fair_item *item, void *arg)
{
	return ((const struct thing *)item)->name != *(const char *)arg;
}

static void a_flow_that_may_not_go_is_passed_over(void **state UNUSED)
{
	char held = 'a';

	add(1, 'a');
	add(1, 'a');
	add(1, 'b');
	add(2, 'X');
	add(2, 'X');
	assert_int_equal(next(not_flow, &held)->name, 'b');
	assert_int_equal(next(not_flow, &held)->name, 'X');
	assert_int_equal(next(not_flow, &held)->name, 'X');
	assert_null(next(not_flow, &held));
	assert_int_equal(fair.count, 2);
	takes("aa-");
}

static void what_is_removed_never_comes(void **state UNUSED)
{
	struct thing *a = add(1, 'a'), *b = add(1, 'a');
	struct thing *x = add(2, 'X');

	fair_remove(&fair, &a->item);
	fair_remove(&fair, &a->item); /* twice is nothing */
	fair_remove(&fair, &x->item);
	assert_int_equal(fair.count, 1);
	assert_ptr_equal(next(NULL, NULL), b);
	takes("-");
}

static void asking_again_is_bounded_and_grows(void **state UNUSED)
{
	assert_int_equal(sched_retry_ms(0, 32, 0), 10);
	assert_int_equal(sched_retry_ms(0, 0, 5000), 10);
	assert_int_equal(sched_retry_ms(99, 10, 20000), 200);
	assert_int_equal(sched_retry_ms(199, 10, 20000), 400);
	assert_int_equal(sched_retry_ms(1u << 31, 1, UINT32_MAX), 60000);
	assert_int_equal(sched_retry_ms(UINT32_MAX, 1, UINT32_MAX), 60000);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_waits_in_an_empty_queue),
		TEST(one_flow_is_first_come_first_served),
		TEST(flows_of_one_user_take_turns),
		TEST(many_connections_buy_nothing),
		TEST(a_flood_delays_another_by_one_turn),
		TEST(who_leaves_and_comes_again_gains_nothing),
		TEST(what_is_put_back_is_the_next),
		TEST(a_flow_that_may_not_go_is_passed_over),
		TEST(what_is_removed_never_comes),
		TEST(asking_again_is_bounded_and_grows),
	};

	return cmocka_run_group_tests_name("sched", tests, NULL, NULL);
}
