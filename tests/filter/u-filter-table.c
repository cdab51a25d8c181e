/* Every line of the verdict tables, in the simulator; and what must hold of every number there is. */
#include "supervisor/syscall_groups.h"
#include "tests/filter/table.h"

#include <signal.h>

static uint32_t verdict_of(const char *profile, const struct seccomp_data *data, unsigned *ret_steps)
{
	const struct jail_spec *spec = profile_spec(table_profile(profile));

	return sim_run(spec->filter, spec->filter_len, data, ret_steps);
}

static void check_case(const struct table_case *c)
{
	const char *got = table_verdict(verdict_of(c->profile, &c->data, NULL));

	if (strcmp(got, c->verdict) != 0)
		fail_msg("%s:%u: %s\n  the filter says %s", c->file, c->line, c->text, got);
}

static void table_holds(void **state)
{
	(void)state;
	assert_true(table_each(check_case) > 200);
}

static const char *const profiles[] = { "base", "pure", "stdlib", "data", "python", "loopback", "unix" };

/* No number of any other architecture, and no x32 number, ever gets anything but death. */
static void foreign_numbers_die(void **state)
{
	static const uint32_t archs[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0, UINT32_MAX };

	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(profiles); p++) {
		for (int nr = -2; nr < 1100; nr++) {
			struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };

			for (size_t a = 0; a < ARRAY_LEN(archs); a++) {
				data.arch = archs[a];
				assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)), "kill");
			}
			data.arch = AUDIT_ARCH_X86_64;
			data.nr = nr | TABLE_X32_BIT;
			if (nr >= 0)
				assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)), "kill");
		}
	}
}

/* Above the last known number everything is unknown, and nothing unknown is ever EPERM or more. */
static void unknown_numbers_are_enosys(void **state)
{
	static const int numbers[] = { 335, 340, 387, 423, 470, 511, 512, 547, 600, 999, 1023, 1024, 1025, 65536, 0x3fffffff };

	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(profiles); p++)
		for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
			struct seccomp_data data = { .nr = numbers[i], .arch = AUDIT_ARCH_X86_64 };
			assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)), "ENOSYS");
		}
}

/* No program that reaches a deny rule for one value lets a neighbour slip: every signal, every profile. */
static void only_the_kernels_own_signals_are_refused(void **state)
{
	static const struct {
		int nr, arg;
	} calls[] = { { SYS_kill, 1 }, { SYS_tkill, 1 }, { SYS_tgkill, 2 } };

	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(profiles); p++)
		for (size_t i = 0; i < ARRAY_LEN(calls); i++)
			for (uint64_t sig = 0; sig < 70; sig++)
				for (uint64_t high = 0; high < 3; high++) {
					struct seccomp_data data = { .nr = calls[i].nr, .arch = AUDIT_ARCH_X86_64 };

					data.args[calls[i].arg] = sig | high << 32;
					assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)),
							    sig == SIGSYS || sig == SIGXFSZ || sig > 64 ? "EPERM" : "allow");
				}
}

static void no_family_but_the_granted(void **state)
{
	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(profiles); p++)
		for (uint64_t family = 0; family < 64; family++)
			for (uint64_t kind = 0; kind < 16; kind++) {
				struct seccomp_data data = { .nr = SYS_socket, .arch = AUDIT_ARCH_X86_64,
							     .args = { family, kind, 0 } };
				bool ip = (family == 2 || family == 10) && (kind == 1 || kind == 2);
				bool want = strcmp(profiles[p], "loopback") == 0 ? ip :
					    strcmp(profiles[p], "unix") == 0	 ? family == 1 :
										   false;

				assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)),
						    want ? "allow" : "EPERM");
				data.nr = SYS_socketpair;
				assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)),
						    family == 1 && (kind == 1 || kind == 5) ? "allow" : "EPERM");
			}
}

/* What no profile can grant is granted by none, whatever the arguments. */
static void fixed_verdicts_hold(void **state)
{
	const struct syscall_fixed *f;

	(void)state;
	for (size_t i = 0; (f = syscall_fixed_at(i)); i++)
		for (size_t n = 0; n < ARRAY_LEN(table_numbers); n++) {
			struct seccomp_data data = { .nr = table_numbers[n].nr, .arch = AUDIT_ARCH_X86_64 };

			if (strcmp(table_numbers[n].name, f->name) != 0)
				continue;
			for (size_t p = 0; p < ARRAY_LEN(profiles); p++)
				assert_string_equal(table_verdict(verdict_of(profiles[p], &data, NULL)),
						    f->fate == FATE_ATTACK ? "notify" :
						    f->fate == FATE_ENOSYS ? "ENOSYS" :
									     "EPERM");
		}
}

/* The tree keeps every decision short; a chain would need hundreds of steps for the last call. */
static void decisions_are_short(void **state)
{
	unsigned worst = 0;

	(void)state;
	for (int nr = 0; nr < 470; nr++) {
		struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };
		unsigned steps;

		(void)verdict_of("python", &data, &steps);
		worst = steps > worst ? steps : worst;
	}
	assert_true(worst < 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_holds),
		cmocka_unit_test(foreign_numbers_die),
		cmocka_unit_test(unknown_numbers_are_enosys),
		cmocka_unit_test(only_the_kernels_own_signals_are_refused),
		cmocka_unit_test(no_family_but_the_granted),
		cmocka_unit_test(fixed_verdicts_hold),
		cmocka_unit_test(decisions_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
