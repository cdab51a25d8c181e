/* The tables of system calls and the compiler; what filters decide is tests/filter's. */
#include "supervisor/profile.h"
#include "supervisor/profile_seccomp.h"
#include "tests/unit/unit.h"

#include <linux/audit.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

/* libseccomp knows the name (a negative number: of another architecture), or it is younger than libseccomp. */
static bool name_exists(const char *name)
{
	static const char *const younger[] = { "fchmodat2", "pkey_mprotect" };

	for (size_t i = 0; i < ARRAY_LEN(younger); i++)
		if (strcmp(younger[i], name) == 0)
			return true;
	return seccomp_syscall_resolve_name(name) != __NR_SCMP_ERROR;
}

static void every_name_exists_and_has_a_reason(void **state)
{
	const struct syscall_group *group;
	const struct syscall_fixed *fixed;

	(void)state;
	for (size_t g = 0; (group = syscall_group_at(g)); g++) {
		assert_true(group->name[0] == '@' && group->why[0] && group->count > 0);
		for (size_t i = 0; i < group->count; i++) {
			const struct syscall_entry *e = &group->entries[i];

			if (!name_exists(e->name) || !e->why[0])
				fail_msg("%s: %s", group->name, e->name);
			if (syscall_fixed_find(e->name))
				fail_msg("%s grants %s, which no profile can grant", group->name, e->name);
			for (size_t j = 0; j < i; j++)
				if (strcmp(group->entries[j].name, e->name) == 0)
					fail_msg("%s: %s twice", group->name, e->name);
		}
	}
	for (size_t i = 0; (fixed = syscall_fixed_at(i)); i++) {
		if (!name_exists(fixed->name) || !fixed->why[0])
			fail_msg("%s", fixed->name);
		assert_ptr_equal(syscall_fixed_find(fixed->name), fixed);
	}
	assert_null(syscall_group_find("@nothing"));
	assert_null(syscall_group_find("base"));
}

static struct sock_filter g_insns[4096];

static uint32_t compile(const struct seccomp_grants *grants)
{
	struct err err = { 0 };
	uint32_t len = 0;

	if (seccomp_compile(grants, g_insns, ARRAY_LEN(g_insns), &len, &err) < 0)
		fail_msg("%s", err.detail);
	return len;
}

/* Everything at once is the widest that a profile can ask for. */
static void the_widest_profile_fits(void **state)
{
	static struct seccomp_grants all;
	const struct syscall_group *group;
	uint32_t len;

	(void)state;
	for (size_t g = 0; (group = syscall_group_at(g)); g++)
		seccomp_grant_group(&all, group);
	for (int nr = 0; nr < 500; nr++) {
		char *name = profile_syscall_name(AUDIT_ARCH_X86_64, nr);
		if (name && !syscall_fixed_find(name))
			(void)seccomp_grant_name(&all, name);
		free(name);
	}
	len = compile(&all);
	assert_true(len < ARRAY_LEN(g_insns) / 2);
}

static void the_same_grants_give_the_same_program(void **state)
{
	static struct seccomp_grants grants;
	static struct sock_filter before[ARRAY_LEN(g_insns)];
	uint32_t len;

	(void)state;
	seccomp_grant_group(&grants, syscall_group_find("@base"));
	len = compile(&grants);
	memcpy(before, g_insns, len * sizeof(before[0]));
	assert_int_equal(compile(&grants), len);
	assert_memory_equal(before, g_insns, len * sizeof(before[0]));
	assert_int_equal(BPF_CLASS(g_insns[len - 1].code), BPF_RET);
}

static void a_program_that_does_not_fit_is_refused(void **state)
{
	static struct seccomp_grants grants;
	struct err err = { 0 };
	uint32_t len;

	(void)state;
	seccomp_grant_group(&grants, syscall_group_find("@base"));
	len = compile(&grants);
	assert_int_equal(seccomp_compile(&grants, g_insns, len, &len, &err), 0);
	for (uint32_t max = 0; max < len; max += max < 40 ? 1 : 37) {
		uint32_t ignored;

		assert_int_equal(seccomp_compile(&grants, g_insns, max, &ignored, &err), -E2BIG);
		assert_non_null(strstr(err.detail, "the filter needs more than"));
	}
}

static void calls_have_names(void **state)
{
	static const struct {
		uint32_t arch;
		int nr;
		const char *name;
	} cases[] = {
		{ AUDIT_ARCH_X86_64, 101, "ptrace" },	     { AUDIT_ARCH_X86_64, 0x40000027, "getpid" },
		{ AUDIT_ARCH_I386, 11, "execve" },	     { AUDIT_ARCH_AARCH64, 172, "getpid" },
		{ AUDIT_ARCH_X86_64, 100000, NULL },	     { 0, 1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *name = profile_syscall_name(cases[i].arch, cases[i].nr);

		if (!cases[i].name)
			assert_null(name);
		else
			assert_string_equal(name, cases[i].name);
		free(name);
	}
}

static void single_names_keep_their_conditions(void **state)
{
	static struct seccomp_grants grants;

	(void)state;
	assert_true(seccomp_grant_name(&grants, "ioctl"));
	assert_int_equal(grants.checks[seccomp_syscall_resolve_name("ioctl")], 1u << CHECK_IOCTL);
	assert_true(seccomp_grant_name(&grants, "inotify_init1"));
	assert_int_equal(grants.checks[seccomp_syscall_resolve_name("inotify_init1")], 1u << CHECK_NONE);
	assert_false(seccomp_grant_name(&grants, "no_such_call"));
	assert_false(seccomp_grant_name(&grants, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_name_exists_and_has_a_reason),
		cmocka_unit_test(the_widest_profile_fits),
		cmocka_unit_test(the_same_grants_give_the_same_program),
		cmocka_unit_test(a_program_that_does_not_fit_is_refused),
		cmocka_unit_test(calls_have_names),
		cmocka_unit_test(single_names_keep_their_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
