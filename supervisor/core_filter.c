#include "supervisor/core_filter.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

/* With any argument. */
static const int allowed[] = {
	/* What is open: clients, jails' pipes, the keeper and audit, pseudo-files. */
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(lseek),
	SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fstatfs), SCMP_SYS(getdents64),
	/* The registry's files, which the keeper opened (store_files.h). */
	SCMP_SYS(pwrite64), SCMP_SYS(ftruncate), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
	/* Looks at paths, which Landlock and the ordinary permissions bound. */
	SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(statx),
	/* The event loop. */
	SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2),
	SCMP_SYS(poll), SCMP_SYS(ppoll),
	/* Connections; the listening sockets came from the keeper. */
	SCMP_SYS(accept4), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(shutdown),
	SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
	/* A jail's channels; a zygote's spec, sealed. */
	SCMP_SYS(pipe2), SCMP_SYS(memfd_create), SCMP_SYS(fchmod),
	/* Memory, times, chance, who we are. */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(futex), SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday), SCMP_SYS(time), SCMP_SYS(clock_nanosleep), SCMP_SYS(getrandom), SCMP_SYS(sysinfo),
	SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	/* Signals that come, and the end. */
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(restart_syscall), SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Where nothing but the proof below would make the call: refused, not fatal. */
static const int refused[] = { SCMP_SYS(unshare) };

static const int fatal[] = {
	/* Another program, another process. */
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(clone), SCMP_SYS(clone3),
	SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise), SCMP_SYS(kcmp), SCMP_SYS(pidfd_open),
	SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	/* A way outward. */
	SCMP_SYS(socket), SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen),
	/* Another id, another view. */
	SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid), SCMP_SYS(setresgid),
	SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(setgroups), SCMP_SYS(capset), SCMP_SYS(setns), SCMP_SYS(chroot),
	SCMP_SYS(pivot_root), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(open_tree), SCMP_SYS(move_mount), SCMP_SYS(fsopen),
	SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr), SCMP_SYS(open_by_handle_at),
	/* Large and seldom used parts of the kernel. */
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter),
	SCMP_SYS(io_uring_register), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(init_module),
	SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(personality),
	SCMP_SYS(memfd_secret), SCMP_SYS(modify_ldt), SCMP_SYS(iopl), SCMP_SYS(ioperm),
};

/* By one argument: (value & mask) == want is allowed. What else the call could mean gets the other answer. */
struct by_argument {
	int nr;
	unsigned arg;
	uint64_t mask, want;
	uint32_t otherwise; /* 0: the default; else an action, for every other value of a call with one row */
};

#define WHOLE 0xffffffffu
#define NOT_EXEC(call) { SCMP_SYS(call), 2, PROT_EXEC, 0, SCMP_ACT_KILL_PROCESS }
#define FCNTL(command) { SCMP_SYS(fcntl), 1, WHOLE, (command), 0 }

static const struct by_argument by_argument[] = {
	NOT_EXEC(mmap),
	NOT_EXEC(mprotect),
	/* To read, and what is there. */
	{ SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY, 0 },
	{ SCMP_SYS(socketpair), 0, WHOLE, AF_UNIX, SCMP_ACT_KILL_PROCESS },
	FCNTL(F_GETFD),
	FCNTL(F_SETFD),
	FCNTL(F_GETFL),
	FCNTL(F_SETFL),
	FCNTL(F_DUPFD_CLOEXEC),
	FCNTL(F_ADD_SEALS),
	FCNTL(F_SETLK),
	FCNTL(F_GETLK),
	FCNTL(F_GET_SEALS),
	/* How much a client sent; what a jail's filter caught. */
	{ SCMP_SYS(ioctl), 1, WHOLE, FIONREAD, 0 },
	{ SCMP_SYS(ioctl), 1, WHOLE, SECCOMP_IOCTL_NOTIF_RECV, 0 },
	/* The limits of this process, to look at: no new ones. */
	{ SCMP_SYS(prlimit64), 2, UINT64_MAX, 0, 0 },
	/* The kernel's Landlock version, no rule set. */
	{ SCMP_SYS(landlock_create_ruleset), 2, WHOLE, LANDLOCK_CREATE_RULESET_VERSION, 0 },
	/* What the kernel says of this process. */
	{ SCMP_SYS(prctl), 0, WHOLE, PR_GET_NO_NEW_PRIVS, 0 },
	{ SCMP_SYS(prctl), 0, WHOLE, PR_GET_SECCOMP, 0 },
};

static int add_all(scmp_filter_ctx ctx, uint32_t action, const int *calls, size_t count)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++)
		r = seccomp_rule_add(ctx, action, calls[i], 0);
	return r;
}

static int add_by_argument(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(by_argument); i++) {
		const struct by_argument *a = &by_argument[i];

		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, a->nr, 1, SCMP_CMP(a->arg, SCMP_CMP_MASKED_EQ, a->mask, a->want));
		if (r == 0 && a->otherwise && a->want == 0)
			r = seccomp_rule_add(ctx, a->otherwise, a->nr, 1, SCMP_CMP(a->arg, SCMP_CMP_MASKED_EQ, a->mask, a->mask));
		else if (r == 0 && a->otherwise)
			r = seccomp_rule_add(ctx, a->otherwise, a->nr, 1, SCMP_CMP(a->arg, SCMP_CMP_NE, a->want, 0));
	}
	/* abort() signals itself; the pid is ours from here on. */
	return r < 0 ? r : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_CMP(0, SCMP_CMP_EQ, (uint64_t)getpid(), 0));
}

static int add_rules(scmp_filter_ctx ctx)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree: core makes many calls for one of a client */

	if (r == 0)
		r = add_all(ctx, SCMP_ACT_ALLOW, allowed, ARRAY_LEN(allowed));
	if (r == 0)
		r = add_all(ctx, SCMP_ACT_ERRNO(EPERM), refused, ARRAY_LEN(refused));
	if (r == 0)
		r = add_all(ctx, SCMP_ACT_KILL_PROCESS, fatal, ARRAY_LEN(fatal));
	return r < 0 ? r : add_by_argument(ctx);
}

bool core_filter_holds(void)
{
	/* Without a filter this changes nothing and succeeds. */
	return unshare(0) < 0 && errno == EPERM;
}

#ifdef SANITIZED
/* A sanitizer's runtime makes calls of its own at any time: it maps, forks to look for leaks, symbolizes by another program. */
int core_filter(struct err *err UNUSED)
{
	(void)add_rules;
	return 0;
}
#else
int core_filter(struct err *err)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r = ctx ? add_rules(ctx) : -ENOMEM;

	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "core", "cannot install its system call filter: %s", strerror(-r));
	return core_filter_holds() ? 0 : err_set(err, ERR_HOST, EPROTO, "core", "its system call filter does not hold");
}
#endif
