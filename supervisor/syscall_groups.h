/* Which system calls a profile can grant, in named groups, each with its reason.
 * The one place to look for "why may a jail call that?"; `brig profile surface`
 * prints it. Numbers come from libseccomp, kinds of argument checks from
 * supervisor/syscall_args.c. Constant data; used by core and by the tests. */
#ifndef BRIG_SUPERVISOR_SYSCALL_GROUPS_H
#define BRIG_SUPERVISOR_SYSCALL_GROUPS_H

#include <stddef.h>

/* How the arguments of an allowed call are narrowed; what does not fit gets EPERM. */
enum syscall_check {
	CHECK_NONE,
	CHECK_OPEN,         /* open: no creation with set-id bits */
	CHECK_OPENAT,       /* openat: the same, one argument on */
	CHECK_MODE1,        /* creat, chmod, fchmod, mkdir: mode in argument 1 has no set-id bits */
	CHECK_MODE2,        /* fchmodat: mode in argument 2 */
	CHECK_MKNOD,        /* FIFO or regular file only, no set-id bits */
	CHECK_MKNODAT,
	CHECK_FCNTL,        /* by command */
	CHECK_IOCTL,        /* by the low 32 bits of the request, as the kernel reads it */
	CHECK_MADVISE,      /* by advice */
	CHECK_MMAP,         /* not writable and executable at once, no huge pages of the machine's pool */
	CHECK_MMAP_EXEC,    /* no huge pages of the machine's pool */
	CHECK_MPROTECT,     /* never to executable */
	CHECK_PRCTL,        /* by option */
	CHECK_ARCH_PRCTL,   /* thread pointer only */
	CHECK_PERSONALITY,  /* query only */
	CHECK_SIGNAL1,      /* any signal but SIGSYS and SIGXFSZ in argument 1 */
	CHECK_SIGNAL2,      /* in argument 2 */
	CHECK_SETRLIMIT,    /* by resource */
	CHECK_PRLIMIT,      /* the caller itself; setting by resource, asking any */
	CHECK_RWF,          /* preadv2, pwritev2: by flag */
	CHECK_FADVISE,      /* by advice */
	CHECK_MEMBARRIER,   /* by command */
	CHECK_PIPE2,        /* by flag */
	CHECK_RENAME,       /* not RENAME_WHITEOUT, which leaves a device node behind */
	CHECK_IDLE,         /* answers 0 and does nothing */
	CHECK_CLONE_THREAD, /* clone of a thread, no new namespace */
	CHECK_CLONE_CHILD,  /* clone of a process, no new namespace, SIGCHLD or none at its end */
	CHECK_SOCKETPAIR,   /* AF_UNIX, connected kinds only */
	CHECK_SOCKOPT,      /* by level and option */
	CHECK_SOCKET_IP,    /* TCP and UDP over IPv4 and IPv6 */
	CHECK_SOCKET_UNIX,  /* AF_UNIX */
};
_Static_assert(CHECK_SOCKET_UNIX < 32, "struct seccomp_grants holds a bit for each in 32");

struct syscall_entry {
	const char *name;
	enum syscall_check check;
	const char *why;
};

struct syscall_group {
	const char *name; /* "@base" */
	const char *why;
	const struct syscall_entry *entries;
	size_t count;
};

/* i-th group, or NULL past the end. */
const struct syscall_group *syscall_group_at(size_t i);
const struct syscall_group *syscall_group_find(const char *name);

/* What happens to a call that no profile can grant. */
enum syscall_fate {
	FATE_ATTACK, /* reported to the supervisor, which ends the call by name */
	FATE_ENOSYS, /* its callers fall back, but only on ENOSYS */
	FATE_NEVER,  /* EPERM, whatever a profile says */
};

struct syscall_fixed {
	const char *name;
	enum syscall_fate fate;
	const char *why;
};

const struct syscall_fixed *syscall_fixed_at(size_t i);
const struct syscall_fixed *syscall_fixed_find(const char *name);

/* The check that a call carries in whatever group it stands first, or CHECK_NONE. */
enum syscall_check syscall_check_of(const char *name);

#endif
