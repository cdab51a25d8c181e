/* Core under its own filter: each class of what an attack would do ends it or is refused, and what core does all day works.
 * Every case runs in a child of its own; each fatal call is made once without the filter, too, and must not end that child. */
#include "supervisor/core_filter.h"
#include "jail/base/fd.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Arguments that do no harm where the kernel takes the call. */
#define BAD (-1L)

struct attempt {
	const char *what;
	long nr, arg[6];
};

static const struct attempt fatal[] = {
	{ "execve", SYS_execve, { 0 } },
	{ "execveat", SYS_execveat, { BAD } },
	{ "clone", SYS_clone, { CLONE_SIGHAND } }, /* without CLONE_VM: EINVAL */
	{ "clone3", SYS_clone3, { 0, 0 } },
	{ "ptrace", SYS_ptrace, { BAD } },
	{ "process_vm_readv", SYS_process_vm_readv, { BAD } },
	{ "process_vm_writev", SYS_process_vm_writev, { BAD } },
	{ "pidfd_open", SYS_pidfd_open, { BAD } },
	{ "pidfd_getfd", SYS_pidfd_getfd, { BAD } },
	{ "pidfd_send_signal", SYS_pidfd_send_signal, { BAD } },
	{ "kill", SYS_kill, { 0x7fffffff, 0 } },
	{ "tkill", SYS_tkill, { BAD } },
	{ "rt_sigqueueinfo", SYS_rt_sigqueueinfo, { BAD } },
	{ "socket of the internet", SYS_socket, { AF_INET, SOCK_STREAM, 0 } },
	{ "socket of netlink", SYS_socket, { AF_NETLINK, SOCK_RAW, 0 } },
	{ "socket of this host", SYS_socket, { AF_UNIX, SOCK_STREAM, 0 } },
	{ "socketpair of another family", SYS_socketpair, { AF_INET, SOCK_STREAM, 0, 0 } },
	{ "connect", SYS_connect, { BAD } },
	{ "bind", SYS_bind, { BAD } },
	{ "listen", SYS_listen, { BAD } },
	{ "setuid", SYS_setuid, { BAD } },
	{ "setgid", SYS_setgid, { BAD } },
	{ "setresuid", SYS_setresuid, { BAD, BAD, BAD } },
	{ "setgroups", SYS_setgroups, { BAD } },
	{ "capset", SYS_capset, { 0 } },
	{ "setns", SYS_setns, { BAD } },
	{ "chroot", SYS_chroot, { 0 } },
	{ "pivot_root", SYS_pivot_root, { 0 } },
	{ "mount", SYS_mount, { 0 } },
	{ "umount2", SYS_umount2, { 0 } },
	{ "open_tree", SYS_open_tree, { BAD, 0 } },
	{ "move_mount", SYS_move_mount, { BAD, 0, BAD, 0 } },
	{ "fsopen", SYS_fsopen, { 0 } },
	{ "mount_setattr", SYS_mount_setattr, { BAD } },
	{ "open_by_handle_at", SYS_open_by_handle_at, { BAD } },
	{ "bpf", SYS_bpf, { BAD } },
	{ "perf_event_open", SYS_perf_event_open, { 0 } },
	{ "userfaultfd", SYS_userfaultfd, { BAD } },
	{ "io_uring_setup", SYS_io_uring_setup, { 0 } },
	{ "io_uring_enter", SYS_io_uring_enter, { BAD } },
	{ "keyctl", SYS_keyctl, { BAD } },
	{ "add_key", SYS_add_key, { 0 } },
	{ "init_module", SYS_init_module, { 0 } },
	{ "finit_module", SYS_finit_module, { BAD } },
	{ "kexec_load", SYS_kexec_load, { BAD } },
	{ "personality", SYS_personality, { 0xffffffff } },
	{ "executable memory", SYS_mmap, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, BAD, 0 } },
	{ "writable and executable memory", SYS_mmap, { 0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, BAD, 0 } },
	{ "memory made executable", SYS_mprotect, { 0, 0, PROT_READ | PROT_EXEC } },
};

/* The default, and what is allowed with other arguments only: answered, with this errno. */
static const struct {
	struct attempt a;
	int err;
} answered[] = {
	{ { "unshare", SYS_unshare, { 0 } }, EPERM },
	{ { "open to write", SYS_openat, { AT_FDCWD, (long)"/proc/self/oom_score_adj", O_WRONLY } }, ENOSYS },
	{ { "open to read and write", SYS_openat, { AT_FDCWD, (long)"/dev/null", O_RDWR } }, ENOSYS },
	{ { "open to make", SYS_openat, { AT_FDCWD, (long)"/tmp/brig-u-core_filter", O_RDONLY | O_CREAT, 0600 } }, ENOSYS },
	{ { "unlink", SYS_unlinkat, { BAD, 0 } }, ENOSYS },
	{ { "rename", SYS_renameat2, { BAD, 0, BAD, 0 } }, ENOSYS },
	{ { "chmod by path", SYS_fchmodat, { BAD, 0 } }, ENOSYS },
	{ { "truncate by path", SYS_truncate, { 0, 0 } }, ENOSYS },
	/* SQLite's, on files that the keeper opened. */
	{ { "truncate", SYS_ftruncate, { BAD } }, EBADF },
	{ { "write at an offset", SYS_pwrite64, { BAD } }, EBADF },
	{ { "fsync", SYS_fsync, { BAD } }, EBADF },
	{ { "fdatasync", SYS_fdatasync, { BAD } }, EBADF },
	{ { "a lock of a range", SYS_fcntl, { BAD, F_SETLK, 0 } }, EBADF },
	{ { "a lock that waits", SYS_fcntl, { 0, F_SETLKW, 0 } }, ENOSYS },
	{ { "room for a file", SYS_fallocate, { 0, 0, 0, 1 } }, ENOSYS },
	{ { "terminal ioctl", SYS_ioctl, { 0, 0x5412 /* TIOCSTI */, 0 } }, ENOSYS },
	{ { "answer to a notification", SYS_ioctl, { 0, (long)SECCOMP_IOCTL_NOTIF_SEND, 0 } }, ENOSYS },
	{ { "fcntl F_SETOWN", SYS_fcntl, { 0, F_SETOWN, 1 } }, ENOSYS },
	{ { "new limits", SYS_prlimit64, { 0, 7, 1, 0 } }, ENOSYS },
	{ { "prctl of dumpable", SYS_prctl, { PR_SET_DUMPABLE, 1, 0, 0, 0 } }, ENOSYS },
	{ { "prctl of a name", SYS_prctl, { PR_SET_NAME, 0, 0, 0, 0 } }, ENOSYS },
	{ { "a rule set of Landlock", SYS_landlock_create_ruleset, { 0, 0, 0 } }, ENOSYS },
	{ { "a signal to another thread", SYS_tgkill, { 1, 1, 0 } }, ENOSYS },
	{ { "a number that no kernel has", 1 << 20, { 0 } }, ENOSYS },
};

static void filter_or_die(void)
{
	struct err err;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || core_filter(&err) < 0)
		_exit(99);
}

/* Wait status of a child that makes the call; exit status: 0 it succeeded, else errno (at most 98). */
static int make(const struct attempt *a, bool filtered)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no core file for a test's death */
		if (filtered)
			filter_or_die();
		long r = syscall(a->nr, a->arg[0], a->arg[1], a->arg[2], a->arg[3], a->arg[4], a->arg[5]);
		_exit(r < 0 ? errno : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void what_an_attack_needs_ends_core(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fatal); i++) {
		int bare = make(&fatal[i], false), status = make(&fatal[i], true);

		if (!WIFEXITED(bare) || !WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			print_error("%s: without %#x, with %#x\n", fatal[i].what, bare, status);
		assert_true(WIFEXITED(bare));
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
}

/* No bad argument makes these harmless, so there is no control. */
static void no_child_can_be_made(void **state)
{
	const struct attempt calls[] = { { "fork", SYS_fork, { 0 } }, { "clone of a process", SYS_clone, { SIGCHLD } } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		int status = make(&calls[i], true);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	}
}

static void the_rest_is_answered(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(answered); i++) {
		int status = make(&answered[i].a, true);

		if (!WIFEXITED(status) || WEXITSTATUS(status) != answered[i].err)
			print_error("%s: %#x\n", answered[i].a.what, status);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == answered[i].err);
	}
}

#define MUST(n, what) \
	do {          \
		if (!(what)) \
			return (n); \
	} while (0)

/* The number of the first thing that does not work; 0: all does. */
static int days_work(void)
{
	char buf[64];
	int sv[2], p[2], count = 0;
	struct epoll_event ev = { .events = EPOLLIN };

	MUST(1, fd_read_file_at(AT_FDCWD, "/proc/self/status", buf, sizeof(buf)) > 0);
	MUST(2, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) == 0);
	MUST(3, fd_send(sv[0], "x", 1, &sv[0], 1) == 0);
	MUST(4, fd_recv(sv[1], buf, 1, p, 1, NULL, 0) == 1 && fcntl(p[0], F_GETFD) == FD_CLOEXEC);
	MUST(5, pipe2(p, O_CLOEXEC) == 0 && fd_nonblock(p[0]) == 0);
	int ep = epoll_create1(EPOLL_CLOEXEC);
	MUST(6, ep >= 0 && epoll_ctl(ep, EPOLL_CTL_ADD, p[0], &ev) == 0 && epoll_wait(ep, &ev, 1, 0) == 0);
	MUST(7, fd_sealed("x", "abc", 3) >= 0);
	char *big = malloc(1u << 20);
	big = realloc(big, 64u << 20);
	MUST(8, big && (big[(64u << 20) - 1] = 1));
	free(big);
	FILE *f = fopen("/proc/self/mountinfo", "re");
	MUST(9, f && fgets(buf, sizeof(buf), f) && fclose(f) == 0);
	MUST(10, write(p[1], "abc", 3) == 3 && ioctl(p[0], FIONREAD, &count) == 0 && count == 3);
	MUST(11, signal(SIGUSR1, SIG_IGN) != SIG_ERR);
	MUST(12, core_filter_holds());
	MUST(13, snprintf(buf, sizeof(buf), "%s %.3f", strerror(ENOENT), 1.5) > 0);
	return 0;
}

static void what_core_does_all_day_works(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		filter_or_die();
		_exit(days_work());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_false(core_filter_holds()); /* here, where there is none */
}

/* A failed assertion or a smashed stack must show as what it is. */
static void abort_is_an_abort(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
		filter_or_die();
		abort();
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_attack_needs_ends_core),
		cmocka_unit_test(no_child_can_be_made),
		cmocka_unit_test(the_rest_is_answered),
		cmocka_unit_test(what_core_does_all_day_works),
		cmocka_unit_test(abort_is_an_abort),
	};
#ifdef SANITIZED
	printf("1..0 # SKIP needs unsanitized: a sanitizer makes calls that the filter refuses\n");
	return sizeof(tests) == 0;
#else
	return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
