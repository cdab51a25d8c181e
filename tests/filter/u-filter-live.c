/* The same tables against the kernel: a child installs the filter and makes the
 * call with bad pointers. A refused call must answer the filter's errno, an
 * allowed one anything else. With no listener a notified call answers ENOSYS. */
#include "tests/filter/table.h"

#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

struct answer {
	int32_t error; /* 0: the call succeeded */
};

static void install(const struct jail_spec *spec)
{
	struct sock_fprog prog = { .len = (unsigned short)spec->filter_len, .filter = (struct sock_filter *)spec->filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		_exit(99);
}

/* Straight from the instruction: the C library's fallbacks would hide the filter's answer. */
static int32_t call(const struct seccomp_data *d)
{
	const __u64 *a = d->args;
	long r = syscall((long)d->nr, a[0], a[1], a[2], a[3], a[4], a[5]);

	return r == -1 ? errno : 0;
}

/* The wait status of a child that installs the filter, makes the call and reports through fd. */
static int run_child(const struct jail_spec *spec, const struct seccomp_data *data, struct answer *ret)
{
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		/* Group and session of its own: a signal to "0" stays here. */
		struct answer answer;

		(void)setsid();
		(void)signal(SIGSEGV, SIG_DFL);
		(void)alarm(5);
		install(spec);
		answer.error = call(data);
		_exit(write(fds[1], &answer, sizeof(answer)) == sizeof(answer) ? 0 : 98);
	}
	close(fds[1]);
	ret->error = -1;
	(void)!read(fds[0], ret, sizeof(*ret));
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static int errno_of(const char *verdict)
{
	if (strcmp(verdict, "idle") == 0) /* on descriptors that are not there: made, it would be EBADF */
		return 0;
	return strcmp(verdict, "EPERM") == 0 ? EPERM : ENOSYS;
}

static void check_case(const struct table_case *c)
{
	const struct jail_spec *spec = profile_spec(table_profile(c->profile));
	struct answer answer;
	int status, want;

	if (!c->live || c->data.arch != AUDIT_ARCH_X86_64)
		return;
	status = run_child(spec, &c->data, &answer);
	if (strcmp(c->verdict, "kill") == 0) {
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%s:%u: %s\n  status %#x, errno %d", c->file, c->line, c->text, status, answer.error);
		return;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s:%u: %s\n  the child ended with %#x", c->file, c->line, c->text, status);
	want = errno_of(c->verdict);
	if (strcmp(c->verdict, "allow") == 0 ? answer.error == EPERM || answer.error == ENOSYS : answer.error != want)
		fail_msg("%s:%u: %s\n  the kernel answers %d (%s)", c->file, c->line, c->text, answer.error,
			 strerror(answer.error));
}

static void table_holds_live(void **state)
{
	(void)state;
	table_each(check_case);
}

/* Every number that the simulator says is refused is refused by the kernel with that very errno. */
static void every_refusal_holds_live(void **state)
{
	static const char *const profiles[] = { "pure", "stdlib", "python", "loopback" };

	(void)state;
	for (size_t p = 0; p < ARRAY_LEN(profiles); p++) {
		const struct jail_spec *spec = profile_spec(table_profile(profiles[p]));
		int status;
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0) {
			install(spec);
			for (int nr = 0; nr < 1100; nr++) {
				/* uretprobe and uprobe: the kernel itself decides (SIGILL), before and past any filter. */
				if (nr == 335 || nr == 336)
					continue;
				struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };
				const char *want = table_verdict(sim_run(spec->filter, spec->filter_len, &data, NULL));

				if (strcmp(want, "allow") == 0)
					continue;
				if (call(&data) == errno_of(want))
					continue;
				fprintf(stderr, "%s: number %d is not %s\n", profiles[p], nr, want);
				_exit(1);
			}
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (status != 0)
			fail_msg("%s: status %#x", profiles[p], status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_holds_live),
		cmocka_unit_test(every_refusal_holds_live),
	};

#if !defined(__x86_64__)
	return 0;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
