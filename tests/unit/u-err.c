/* The error type: set once, hinted, wrapped, never overrun. */
#include "jail/base/err.h"
#include "tests/unit/unit.h"

#include <string.h>

static void set_fills_everything_and_returns_minus_code(void **state)
{
	struct err e;

	(void)state;
	memset(&e, 'x', sizeof(e));
	assert_int_equal(err_set(&e, ERR_HOST, ENOENT, "cgroup", "cannot open \"%s\"", "x"), -ENOENT);
	assert_int_equal(e.class, ERR_HOST);
	assert_int_equal(e.code, ENOENT);
	assert_string_equal(e.where, "cgroup");
	assert_string_equal(e.detail, "cannot open \"x\"");
	assert_string_equal(e.hint, "");
}

static void without_a_code_it_is_einval(void **state)
{
	struct err e;

	(void)state;
	assert_int_equal(err_set(&e, ERR_CALLER, 0, "args", "no"), -EINVAL);
	assert_int_equal(e.code, 0);
	assert_int_equal(err_wrap(&e, "args"), -EINVAL);
	assert_int_equal(err_set(NULL, ERR_CALLER, EIO, "args", "no"), -EIO);
	assert_int_equal(err_wrap(NULL, "x"), -EINVAL);
	err_hint(NULL, "x");
}

static void wrap_puts_context_before_and_keeps_the_rest(void **state)
{
	struct err e;

	(void)state;
	err_set(&e, ERR_POLICY, EPERM, "pure.json:4:7", "unknown key");
	err_hint(&e, "write %d", 5);
	assert_int_equal(err_wrap(&e, "profile \"%s\"", "pure"), -EPERM);
	assert_string_equal(e.detail, "profile \"pure\": unknown key");
	assert_string_equal(e.where, "pure.json:4:7");
	assert_string_equal(e.hint, "write 5");
}

static void long_texts_are_cut_and_terminated(void **state)
{
	struct err e;
	char big[2000];

	(void)state;
	memset(big, 'a', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	err_set(&e, ERR_HOST, EIO, big, "%s", big);
	err_hint(&e, "%s", big);
	assert_int_equal(strlen(e.where), sizeof(e.where) - 1);
	assert_int_equal(strlen(e.detail), sizeof(e.detail) - 1);
	assert_int_equal(strlen(e.hint), sizeof(e.hint) - 1);
	assert_int_equal(err_wrap(&e, "%s", big), -EIO);
	assert_int_equal(strlen(e.detail), sizeof(e.detail) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_fills_everything_and_returns_minus_code),
		cmocka_unit_test(without_a_code_it_is_einval),
		cmocka_unit_test(wrap_puts_context_before_and_keeps_the_rest),
		cmocka_unit_test(long_texts_are_cut_and_terminated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
