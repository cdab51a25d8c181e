/* The courier's walls: Landlock, and a filter of system calls. Both hold before it speaks with anybody. */
#include "supervisor/core_seal.h"
#include "supervisor/courier_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DNS_PORT 53

/* Names of hosts, and whom TLS trusts; what the C library's resolver loads. */
static const char *const readable[] = {
	"/etc/resolv.conf", "/run/systemd/resolve", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/services",
	"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/usr/lib", "/lib",
	"/dev/urandom",
};

static uint16_t port_of(const char *url)
{
	const char *host = strstr(url, "://");
	size_t n = host ? strcspn(host + 3, "/?") : 0;
	const char *colon = NULL;

	for (size_t i = 0; i < n; i++) /* the last one: an address of IPv6 has some of its own, in brackets */
		colon = host[3 + i] == ':' ? host + 3 + i : host[3 + i] == ']' ? NULL : colon;
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
	return port > 0 && port < 65536 ? (uint16_t)port : strncmp(url, "https", 5) == 0 ? 443 : 80;
}

static int landlock(const struct courier_boot *boot)
{
	uint16_t ports[COURIER_ENDPOINTS + 1] = { DNS_PORT };
	size_t count = 1;

	for (unsigned i = 0; i < COURIER_ENDPOINTS; i++)
		if (boot->url[i][0])
			ports[count++] = port_of(boot->url[i]);
	return seal(readable, ARRAY_LEN(readable), ports, count);
}

/* ---- the filter: what stands nowhere is answered with ENOSYS, so that libraries fall back ---- */

static const int allowed[] = {
	SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(lseek), SCMP_SYS(fstat),
	SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(stat), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(readlink), SCMP_SYS(getdents64),
	SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_create1), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_wait),
	SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(sendto), SCMP_SYS(sendmsg), SCMP_SYS(sendmmsg), SCMP_SYS(recvfrom), SCMP_SYS(recvmsg),
	SCMP_SYS(shutdown), SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
	SCMP_SYS(pipe2), SCMP_SYS(eventfd2),
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mlock), SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
	SCMP_SYS(set_tid_address), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(membarrier),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(time),
	SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid),
	SCMP_SYS(getegid), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(restart_syscall),
	SCMP_SYS(exit), SCMP_SYS(exit_group),
};

static const int fatal[] = {
	SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork), SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal), SCMP_SYS(kill), SCMP_SYS(tkill),
	SCMP_SYS(rt_sigqueueinfo), SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4),
	SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid), SCMP_SYS(setregid), SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setgroups),
	SCMP_SYS(capset), SCMP_SYS(setns), SCMP_SYS(chroot), SCMP_SYS(pivot_root), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(open_tree),
	SCMP_SYS(move_mount), SCMP_SYS(fsopen), SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(io_uring_setup),
	SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key), SCMP_SYS(personality), SCMP_SYS(memfd_create), SCMP_SYS(open_by_handle_at),
};

static const struct {
	int nr;
	unsigned arg;
	uint64_t mask, want;
} by_argument[] = {
	/* A thread looks hosts up; another process is none. */
	{ SCMP_SYS(clone), 0, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM },
	{ SCMP_SYS(mmap), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(mprotect), 2, PROT_EXEC, 0 },
	{ SCMP_SYS(openat), 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
	{ SCMP_SYS(socket), 0, 0xffffffffu, AF_INET },
	{ SCMP_SYS(socket), 0, 0xffffffffu, AF_INET6 },
	{ SCMP_SYS(socket), 0, 0xffffffffu, AF_NETLINK }, /* which families this host has */
	{ SCMP_SYS(socketpair), 0, 0xffffffffu, AF_UNIX },
	{ SCMP_SYS(fcntl), 1, 0xffffffffu, F_GETFD },
	{ SCMP_SYS(fcntl), 1, 0xffffffffu, F_SETFD },
	{ SCMP_SYS(fcntl), 1, 0xffffffffu, F_GETFL },
	{ SCMP_SYS(fcntl), 1, 0xffffffffu, F_SETFL },
	{ SCMP_SYS(ioctl), 1, 0xffffffffu, FIONREAD },
	{ SCMP_SYS(ioctl), 1, 0xffffffffu, FIONBIO },
	{ SCMP_SYS(prlimit64), 2, UINT64_MAX, 0 },
};

static int rules_add(scmp_filter_ctx ctx)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(allowed); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fatal); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_KILL_PROCESS, fatal[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(by_argument); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, by_argument[i].nr, 1,
				     SCMP_CMP(by_argument[i].arg, SCMP_CMP_MASKED_EQ, by_argument[i].mask, by_argument[i].want));
	/* abort() signals itself. */
	return r < 0 ? r : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_CMP(0, SCMP_CMP_EQ, (uint64_t)getpid(), 0));
}

static int filter_install(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r = ctx ? rules_add(ctx) : -ENOMEM;

	if (r == 0)
		r = seccomp_load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return r;
}

/* Nothing can be made, and what an operator keeps from others cannot be read. On a kernel without Landlock the id alone stands. */
static int landlock_proven(void)
{
	if (seal_abi() < 1)
		return 0;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES)
		return 0;
	if (fd >= 0)
		close(fd);
	return -EPROTO;
}

static int filter_proven(void)
{
	return syscall(SYS_unshare, 0) < 0 && errno == ENOSYS && socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == ENOSYS ? 0 : -EPROTO;
}

int courier_seal(const struct courier_boot *boot, const char **ret_what)
{
	int r;

	*ret_what = "landlock";
	r = landlock(boot);
	if (r == 0)
		r = landlock_proven();
	if (r < 0)
		return r;
	*ret_what = "its system call filter";
	r = filter_install();
	return r < 0 ? r : filter_proven();
}
