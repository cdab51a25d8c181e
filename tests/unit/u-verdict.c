/* Every pair of facts, and which of the two names the end. */
#include "supervisor/verdict.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* In the order of precedence among the ends without a frame. */
enum fact { F_BUSY, F_SETUP, F_CANCEL, F_SYSCALL, F_OOM, F_RESULT, F_CPU, F_WALL, F_KILLED, F_NOTHING, F_COUNT };

static const enum outcome expected[F_COUNT] = {
	OUTCOME_BUSY,         OUTCOME_SETUP_FAILED, OUTCOME_CANCELLED, OUTCOME_SYSCALL_DENIED, OUTCOME_OUT_OF_MEMORY, OUTCOME_RESULT_TOO_LARGE,
	OUTCOME_CPU_LIMIT,    OUTCOME_TIMEOUT,   OUTCOME_KILLED,         OUTCOME_TOOL_ERROR,
};

static void state_fact(struct evidence *ev, enum fact f)
{
	switch (f) {
	case F_BUSY: ev->busy = true; break;
	case F_SETUP: ev->setup_failed = true; break;
	case F_CANCEL: ev->cancelled = true; break;
	case F_SYSCALL: ev->syscall = true; break;
	case F_OOM: ev->oom_kills = 1; break;
	case F_RESULT: ev->result_over = true; break;
	case F_CPU: ev->cpu_over = true; break;
	case F_WALL: ev->wall_over = true; break;
	case F_KILLED: ev->exited = true; ev->wait_status = SIGSEGV; break;
	default: ev->exited = true; break;
	}
}

static void the_earlier_fact_wins(void **state)
{
	(void)state;
	for (int a = 0; a < F_COUNT; a++)
		for (int b = a; b < F_COUNT; b++) {
			struct evidence ev = { 0 };
			state_fact(&ev, (enum fact)b);
			state_fact(&ev, (enum fact)a);
			assert_int_equal(verdict_of(&ev), expected[a]);
		}
}

static void a_complete_frame_ends_the_call(void **state)
{
	(void)state;
	for (int f = 0; f < F_COUNT; f++) {
		struct evidence ev = { .frame_complete = true, .frame_ok = true };
		state_fact(&ev, (enum fact)f);
		if (f == F_SYSCALL || f == F_OOM) /* the kernel killed before the frame came */
			assert_int_equal(verdict_of(&ev), expected[f]);
		else
			assert_int_equal(verdict_of(&ev), OUTCOME_OK);
		ev.frame_ok = false;
		if (f != F_SYSCALL && f != F_OOM)
			assert_int_equal(verdict_of(&ev), OUTCOME_TOOL_ERROR);
	}
}

static void an_internal_failure_is_never_the_tools(void **state)
{
	(void)state;
	for (int f = 0; f < F_COUNT; f++) {
		struct evidence ev = { .internal = true, .frame_complete = f % 2, .frame_ok = true };
		state_fact(&ev, (enum fact)f);
		assert_int_equal(verdict_of(&ev), OUTCOME_INTERNAL_ERROR);
	}
}

static void our_own_kill_is_not_the_tools_end(void **state)
{
	(void)state;
	struct evidence ev = { .exited = true, .wait_status = SIGKILL, .we_killed = true, .wall_over = true };
	assert_int_equal(verdict_of(&ev), OUTCOME_TIMEOUT);
	struct evidence foreign = { .exited = true, .wait_status = SIGKILL };
	assert_int_equal(verdict_of(&foreign), OUTCOME_KILLED);
}

static void sigsys_is_the_filters_word(void **state)
{
	(void)state;
	struct evidence ev = { .exited = true, .wait_status = SIGSYS };
	assert_int_equal(verdict_of(&ev), OUTCOME_SYSCALL_DENIED);
}

static void an_exit_without_a_frame_is_a_tool_error(void **state)
{
	(void)state;
	for (int code = 0; code < 256; code++) {
		struct evidence ev = { .exited = true, .wait_status = code << 8 };
		assert_int_equal(verdict_of(&ev), OUTCOME_TOOL_ERROR);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_earlier_fact_wins),
		cmocka_unit_test(a_complete_frame_ends_the_call),
		cmocka_unit_test(an_internal_failure_is_never_the_tools),
		cmocka_unit_test(our_own_kill_is_not_the_tools_end),
		cmocka_unit_test(sigsys_is_the_filters_word),
		cmocka_unit_test(an_exit_without_a_frame_is_a_tool_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
