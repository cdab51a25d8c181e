/* The walls of the audit process.
 *
 * A descriptor that was opened O_APPEND|O_WRONLY is not enough: its holder can clear the flag (fcntl), cut the file
 * (ftruncate), punch holes into it (fallocate) or write in its middle (pwritev2 with RWF_NOAPPEND). The filter takes these
 * away; Landlock and an id of its own take every other way to the file. What is left is write(2), at the end. */
#include "supervisor/audit_impl.h"

#include "supervisor/core_seal.h"
#include "supervisor/drop.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#define NO_FD (-1)

static int failed(struct err *err, int code, const char *what)
{
	return err_set(err, ERR_HOST, code, "audit", "%s: %s", what, strerror(code));
}

static int filter_install(struct err *err)
{
	static const int allowed[] = {
		SCMP_SYS(write), SCMP_SYS(fdatasync), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(close), /* the file */
		SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(poll), SCMP_SYS(ppoll), /* the sockets */
		SCMP_SYS(clock_gettime), SCMP_SYS(getpid), SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigreturn), SCMP_SYS(exit_group),
		SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(futex), /* malloc */
		SCMP_SYS(sigaltstack), /* AddressSanitizer's runtime, before _exit(); it touches nothing but our own signals */
	};
	/* Answered, not killed: the attempts below show that they are refused. All that stands in no list kills. */
	static const int refused[] = { SCMP_SYS(openat), SCMP_SYS(ftruncate), SCMP_SYS(fcntl), SCMP_SYS(pwrite64), SCMP_SYS(pwritev2),
				       SCMP_SYS(socket), SCMP_SYS(execve), SCMP_SYS(kill) };
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(allowed); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(refused); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fallocate), 1, SCMP_A1(SCMP_CMP_EQ, FALLOC_FL_KEEP_SIZE, 0));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fallocate), 1, SCMP_A1(SCMP_CMP_NE, FALLOC_FL_KEEP_SIZE, 0));
	if (r == 0) /* memory, never a file's and never code */
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
				     SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r < 0 ? failed(err, -r, "cannot install its system call filter") : 0;
}

/* On no descriptor, so that even a missing filter harms nothing: then the kernel says EBADF or EFAULT. */
static int attempts(struct err *err)
{
	const struct {
		const char *what;
		long nr, arg[4];
	} tries[] = {
		{ "open a file", SYS_openat, { NO_FD, 0, O_RDONLY } },
		{ "cut a file", SYS_ftruncate, { NO_FD } },
		{ "clear O_APPEND", SYS_fcntl, { NO_FD, F_SETFL } },
		{ "punch a hole", SYS_fallocate, { NO_FD, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 0, 1 } },
		{ "write in the middle", SYS_pwritev2, { NO_FD } },
		{ "make a socket", SYS_socket, { NO_FD, NO_FD, NO_FD } },
		{ "run a program", SYS_execve, { 0 } },
		{ "signal a process", SYS_kill, { getpid(), 0 } },
	};

	for (size_t i = 0; i < ARRAY_LEN(tries); i++)
		if (syscall(tries[i].nr, tries[i].arg[0], tries[i].arg[1], tries[i].arg[2], tries[i].arg[3]) != -1 || errno != EPERM)
			return err_set(err, ERR_HOST, EPROTO, "audit", "the filter does not hold: it could try to %s", tries[i].what);
	return 0;
}

static int landlock_proven(struct err *err)
{
	int fd;

	if (syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		return 0;
	fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return 0;
	fd_close(fd);
	return err_set(err, ERR_HOST, EPROTO, "audit", "Landlock does not hold: a file could be opened");
}

int audit_seal(bool as_root, uid_t uid, struct err *err)
{
	time_t zero = 0;
	struct tm tm;
	int r = drop_privilege(as_root, uid, err);

	(void)gmtime_r(&zero, &tm); /* the C library reads the time zone's file at the first use */
	if (r < 0)
		return r;
	r = seal_files(NULL, 0);
	if (r < 0)
		return failed(err, -r, "landlock");
	r = landlock_proven(err);
	if (r == 0)
		r = filter_install(err);
	return r == 0 ? attempts(err) : r;
}
