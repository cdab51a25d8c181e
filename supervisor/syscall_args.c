/* The kernel reads int arguments from the low half of a register, so a compare of
 * the whole register either lets a wide value past (when it denies) or refuses a
 * call whose upper half is left over (when it allows). Every int is therefore
 * compared under LOW; a masked compare is the only kind of condition used here. */
#include "supervisor/syscall_args.h"

#include "jail/base/compiler.h"

#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <termios.h>

#define LOW 0xffffffffu
#define SET_ID (S_ISUID | S_ISGID)

/* Values that younger headers have. */
#define BRIG_PR_GET_MDWE 66
#define BRIG_ARCH_SET_FS 0x1002
#define BRIG_ARCH_GET_FS 0x1003
#define BRIG_TMPFILE 020000000 /* O_TMPFILE without O_DIRECTORY: it creates a file too */
#define BRIG_F_OFD_GETLK 36
#define BRIG_F_OFD_SETLKW 38

/* Hugetlb pages come from a pool of the whole machine that no memory limit counts. */
#define NO_HUGETLB SCMP_CMP(3, SCMP_CMP_MASKED_EQ, MAP_HUGETLB, 0)
/* Knowingly absent: RWF_NOWAIT (is this page in the machine's cache?), RWF_DONTCACHE (throw it out). */
#define RWF_HARMLESS (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND)

static int allow1(scmp_filter_ctx ctx, int nr, unsigned arg, uint64_t mask, uint64_t value)
{
	struct scmp_arg_cmp cmp = SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, mask, value);

	return seccomp_rule_add_exact_array(ctx, SCMP_ACT_ALLOW, nr, 1, &cmp);
}

static int allow2(scmp_filter_ctx ctx, int nr, struct scmp_arg_cmp a, struct scmp_arg_cmp b)
{
	struct scmp_arg_cmp cmp[] = { a, b };

	return seccomp_rule_add_exact_array(ctx, SCMP_ACT_ALLOW, nr, 2, cmp);
}

static struct scmp_arg_cmp low_is(unsigned arg, uint64_t value)
{
	return SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, LOW, value);
}

static int allow_values(scmp_filter_ctx ctx, int nr, unsigned arg, const uint32_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int r = allow1(ctx, nr, arg, LOW, values[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Set-id files would outlive the jail in a writable mount and wait for a victim there. */
static int allow_open(scmp_filter_ctx ctx, int nr, unsigned flags_arg)
{
	int r = allow1(ctx, nr, flags_arg, O_CREAT | BRIG_TMPFILE, 0);

	return r < 0 ? r : allow1(ctx, nr, flags_arg + 1, SET_ID, 0);
}

static int allow_mknod(scmp_filter_ctx ctx, int nr, unsigned mode_arg)
{
	int r = allow1(ctx, nr, mode_arg, S_IFMT | SET_ID, S_IFIFO);

	if (r == 0)
		r = allow1(ctx, nr, mode_arg, S_IFMT | SET_ID, S_IFREG);
	return r < 0 ? r : allow1(ctx, nr, mode_arg, S_IFMT | SET_ID, 0);
}

/* Knowingly absent: F_SETOWN, F_SETSIG (any signal, SIGSYS too), F_NOTIFY, leases, F_SETPIPE_SZ. */
static int allow_fcntl(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t commands[] = {
		F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, BRIG_F_OFD_GETLK, F_DUPFD_CLOEXEC, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS,
	};

	/* Record locks answer 0 and are not made: the kernel counts their memory for nobody, and on a file that others see too
	 * (a device node, a library) they would lock out the host. What asks for them alone in its jail finds them granted. */
	static const uint32_t locks[] = { F_SETLK, F_SETLKW, BRIG_F_OFD_GETLK + 1, BRIG_F_OFD_SETLKW };
	int r = allow_values(ctx, nr, 1, commands, ARRAY_LEN(commands));

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(locks); i++) {
		struct scmp_arg_cmp cmp = low_is(1, locks[i]);
		r = seccomp_rule_add_exact_array(ctx, SCMP_ACT_ERRNO(0), nr, 1, &cmp);
	}
	return r;
}

/* No terminal ever enters a jail; these only have to answer ENOTTY, as isatty() expects. */
static int allow_ioctl(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t requests[] = { TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX };

	return allow_values(ctx, nr, 1, requests, ARRAY_LEN(requests));
}

/* Knowingly absent: MADV_MERGEABLE (shares pages with other jails), MADV_HWPOISON, MADV_SOFT_OFFLINE. */
static int allow_madvise(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t advices[] = {
		MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE, MADV_REMOVE,
		MADV_DONTFORK, MADV_DOFORK, MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_DONTDUMP, MADV_DODUMP,
		MADV_WIPEONFORK, MADV_KEEPONFORK, MADV_COLD, MADV_PAGEOUT, MADV_POPULATE_READ, MADV_POPULATE_WRITE,
	};

	return allow_values(ctx, nr, 2, advices, ARRAY_LEN(advices));
}

static int allow_mmap(scmp_filter_ctx ctx, int nr)
{
	int r = allow2(ctx, nr, SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_WRITE, 0), NO_HUGETLB);

	return r < 0 ? r : allow2(ctx, nr, SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0), NO_HUGETLB);
}

static int allow_fadvise(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t advices[] = {
		POSIX_FADV_NORMAL, POSIX_FADV_RANDOM, POSIX_FADV_SEQUENTIAL, POSIX_FADV_WILLNEED, POSIX_FADV_NOREUSE,
	};

	return allow_values(ctx, nr, 3, advices, ARRAY_LEN(advices));
}

/* Knowingly absent: the global commands, which interrupt other processes' processors. */
static int allow_membarrier(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t commands[] = {
		MEMBARRIER_CMD_QUERY, MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
		MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
	};

	return allow_values(ctx, nr, 0, commands, ARRAY_LEN(commands));
}

/* Knowingly absent: RLIMIT_CORE and RLIMIT_FSIZE, whose values core and the rlimit layer rely on. */
static const uint32_t settable_limits[] = {
	RLIMIT_CPU, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS,
	RLIMIT_LOCKS, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME,
};

static int allow_prlimit(scmp_filter_ctx ctx, int nr)
{
	int r = allow2(ctx, nr, low_is(0, 0), SCMP_CMP(2, SCMP_CMP_MASKED_EQ, UINT64_MAX, 0)); /* no new value */

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(settable_limits); i++)
		r = allow2(ctx, nr, low_is(0, 0), low_is(1, settable_limits[i]));
	return r;
}

/* Knowingly absent: everything that sets, but for the name; PDEATHSIG, DUMPABLE, MM, SECCOMP, SPECULATION, VMA. */
static int allow_prctl(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t options[] = {
		PR_SET_NAME, PR_GET_NAME, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_GET_KEEPCAPS, PR_GET_SECCOMP,
		PR_CAPBSET_READ, PR_GET_SECUREBITS, PR_GET_TIMERSLACK, PR_GET_CHILD_SUBREAPER, PR_GET_NO_NEW_PRIVS,
		PR_GET_TID_ADDRESS, PR_GET_THP_DISABLE, PR_GET_SPECULATION_CTRL, BRIG_PR_GET_MDWE,
	};
	int r = allow_values(ctx, nr, 0, options, ARRAY_LEN(options));

	return r < 0 ? r : allow2(ctx, nr, low_is(0, PR_CAP_AMBIENT), low_is(1, PR_CAP_AMBIENT_IS_SET));
}

/* Every number but SIGSYS (31), which is the filter's own word, and SIGXFSZ (25), by which the kernel tells that the
 * file size limit was touched: 0..31 with one of the three bits clear that both have, or with exactly one of the other
 * two; 32..63; and 64. */
static int allow_signal(scmp_filter_ctx ctx, int nr, unsigned arg)
{
	static const struct {
		uint32_t mask, value;
	} fine[] = { { 1, 0 }, { 8, 0 }, { 16, 0 }, { 2 | 4, 2 }, { 2 | 4, 4 } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(fine); i++)
		r = allow1(ctx, nr, arg, (LOW & ~31u) | fine[i].mask, fine[i].value);
	if (r == 0)
		r = allow1(ctx, nr, arg, LOW & ~31u, 32);
	return r < 0 ? r : allow1(ctx, nr, arg, LOW, 64);
}

#define NEW_NAMESPACES                                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |      \
	 CLONE_NEWNET)
/* CSIGNAL: a child may be born with any signal for its parent at its end, SIGSYS too. */
#define CLONE_LOOKED_AT (NEW_NAMESPACES | CLONE_PARENT | CLONE_PTRACE | CLONE_THREAD | CSIGNAL)

static int allow_clone_child(scmp_filter_ctx ctx, int nr)
{
	int r = allow1(ctx, nr, 0, CLONE_LOOKED_AT, SIGCHLD);

	return r < 0 ? r : allow1(ctx, nr, 0, CLONE_LOOKED_AT, 0);
}

/* A datagram or raw pair can still be sent to a named socket; a connected one cannot. */
static int allow_socketpair(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t kinds[] = { SOCK_STREAM, SOCK_SEQPACKET };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(kinds); i++)
		r = allow2(ctx, nr, low_is(0, AF_UNIX), SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xf, kinds[i]));
	return r;
}

static int allow_socket_ip(scmp_filter_ctx ctx, int nr)
{
	static const struct {
		unsigned kind, protocol;
	} kinds[] = { { SOCK_STREAM, 0 }, { SOCK_STREAM, IPPROTO_TCP }, { SOCK_DGRAM, 0 }, { SOCK_DGRAM, IPPROTO_UDP } };
	static const unsigned families[] = { AF_INET, AF_INET6 };
	int r = 0;

	for (size_t f = 0; f < ARRAY_LEN(families); f++) {
		for (size_t k = 0; r == 0 && k < ARRAY_LEN(kinds); k++) {
			struct scmp_arg_cmp cmp[] = {
				low_is(0, families[f]),
				SCMP_CMP(1, SCMP_CMP_MASKED_EQ, 0xf, kinds[k].kind),
				low_is(2, kinds[k].protocol),
			};
			r = seccomp_rule_add_exact_array(ctx, SCMP_ACT_ALLOW, nr, ARRAY_LEN(cmp), cmp);
		}
	}
	return r;
}

/* Knowingly absent: SO_ATTACH_FILTER and its kin (code in the kernel), SO_MARK, IP options. */
static int allow_sockopt(scmp_filter_ctx ctx, int nr)
{
	static const struct {
		unsigned level, name;
	} options[] = {
		{ SOL_SOCKET, SO_REUSEADDR }, { SOL_SOCKET, SO_BROADCAST }, { SOL_SOCKET, SO_SNDBUF },
		{ SOL_SOCKET, SO_RCVBUF }, { SOL_SOCKET, SO_KEEPALIVE }, { SOL_SOCKET, SO_LINGER },
		{ SOL_SOCKET, SO_REUSEPORT }, { SOL_SOCKET, SO_PASSCRED }, { SOL_SOCKET, SO_RCVTIMEO },
		{ SOL_SOCKET, SO_SNDTIMEO }, { IPPROTO_TCP, TCP_NODELAY }, { IPPROTO_TCP, TCP_KEEPIDLE },
		{ IPPROTO_TCP, TCP_KEEPINTVL }, { IPPROTO_TCP, TCP_KEEPCNT }, { IPPROTO_TCP, TCP_USER_TIMEOUT },
		{ IPPROTO_IPV6, IPV6_V6ONLY },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(options); i++)
		r = allow2(ctx, nr, low_is(1, options[i].level), low_is(2, options[i].name));
	return r;
}

static int allow_arch_prctl(scmp_filter_ctx ctx, int nr)
{
	static const uint32_t options[] = { BRIG_ARCH_SET_FS, BRIG_ARCH_GET_FS };

	return allow_values(ctx, nr, 0, options, ARRAY_LEN(options));
}

int syscall_args_allow(scmp_filter_ctx ctx, int nr, enum syscall_check check)
{
	switch (check) {
	case CHECK_NONE:
		return seccomp_rule_add_exact_array(ctx, SCMP_ACT_ALLOW, nr, 0, NULL);
	case CHECK_OPEN:
		return allow_open(ctx, nr, 1);
	case CHECK_OPENAT:
		return allow_open(ctx, nr, 2);
	case CHECK_MODE1:
		return allow1(ctx, nr, 1, SET_ID, 0);
	case CHECK_MODE2:
		return allow1(ctx, nr, 2, SET_ID, 0);
	case CHECK_MKNOD:
		return allow_mknod(ctx, nr, 1);
	case CHECK_MKNODAT:
		return allow_mknod(ctx, nr, 2);
	case CHECK_FCNTL:
		return allow_fcntl(ctx, nr);
	case CHECK_IOCTL:
		return allow_ioctl(ctx, nr);
	case CHECK_MADVISE:
		return allow_madvise(ctx, nr);
	case CHECK_MMAP:
		return allow_mmap(ctx, nr);
	case CHECK_MMAP_EXEC:
		return allow1(ctx, nr, 3, MAP_HUGETLB, 0);
	case CHECK_MPROTECT:
		return allow1(ctx, nr, 2, PROT_EXEC, 0);
	case CHECK_PRCTL:
		return allow_prctl(ctx, nr);
	case CHECK_ARCH_PRCTL:
		return allow_arch_prctl(ctx, nr);
	case CHECK_PERSONALITY:
		return allow1(ctx, nr, 0, LOW, LOW);
	case CHECK_SIGNAL1:
		return allow_signal(ctx, nr, 1);
	case CHECK_SIGNAL2:
		return allow_signal(ctx, nr, 2);
	case CHECK_SETRLIMIT:
		return allow_values(ctx, nr, 0, settable_limits, ARRAY_LEN(settable_limits));
	case CHECK_PRLIMIT:
		return allow_prlimit(ctx, nr);
	case CHECK_RWF:
		return allow1(ctx, nr, 5, LOW & ~(uint32_t)RWF_HARMLESS, 0);
	case CHECK_FADVISE:
		return allow_fadvise(ctx, nr);
	case CHECK_MEMBARRIER:
		return allow_membarrier(ctx, nr);
	case CHECK_PIPE2:
		return allow1(ctx, nr, 1, LOW & ~(uint32_t)(O_CLOEXEC | O_NONBLOCK | O_DIRECT), 0);
	case CHECK_RENAME:
		return allow1(ctx, nr, 4, RENAME_WHITEOUT, 0);
	case CHECK_IDLE:
		return seccomp_rule_add_exact_array(ctx, SCMP_ACT_ERRNO(0), nr, 0, NULL);
	case CHECK_CLONE_THREAD:
		return allow1(ctx, nr, 0, CLONE_LOOKED_AT, CLONE_THREAD);
	case CHECK_CLONE_CHILD:
		return allow_clone_child(ctx, nr);
	case CHECK_SOCKETPAIR:
		return allow_socketpair(ctx, nr);
	case CHECK_SOCKOPT:
		return allow_sockopt(ctx, nr);
	case CHECK_SOCKET_IP:
		return allow_socket_ip(ctx, nr);
	case CHECK_SOCKET_UNIX:
		return allow1(ctx, nr, 0, LOW, AF_UNIX);
	default:
		return -EINVAL;
	}
}
