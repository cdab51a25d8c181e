/* Layer landlock: the file tree again, by a second, independent wall.
 *
 * Threat:      a mistake in the mount layer (a bind that came out writable, a descriptor that leaked), a kernel bug reached through
 *              mounts; TCP, abstract sockets and signals across jails should the namespaces fail.
 * Mechanism:   one ruleset, landlock(7): read and execute below /; write below /tmp, /dev/shm and the read-write mounts; write to
 *              the devices in /dev; no device made, no device ioctl; no TCP; no abstract socket and no signal out of the domain.
 * Order:       after mount (rules name the files of the final root; a landlocked process cannot mount), after no_new_privs
 *              (required), before seccomp (no profile allows landlock_*).
 * If missing:  refused unless best_effort. An older ABI loses what the table below says; the receipt tells the ABI.
 * Verified by: verify.c (a device in /tmp is EACCES, where capabilities alone say EPERM; TCP bind from ABI 4 on).
 * Tests:       tests/integration/u-layers.c
 *
 * ABI  kernel  adds                            without it
 *   1  5.13    file access                     no second wall at all: layer missing
 *   2  5.19    REFER                           stricter: no rename or link from one directory to another, even in /tmp
 *   3  6.2     TRUNCATE                        a file may be cut to nothing where it may not be written (the mounts are read-only)
 *   4  6.7     TCP bind, connect               the empty net namespace and seccomp alone hold TCP
 *   5  6.10    IOCTL_DEV                       ioctl on the five device nodes (they have none that matter)
 *   6  6.12    scopes: abstract unix, signal   the net and PID namespaces alone hold these
 *   7  6.15    logging flags only              nothing */
#include "jail/layer.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* linux/landlock.h of the oldest supported distribution stops at ABI 2; values from that of 6.15. */
#define FS_TRUNCATE (1ull << 14)
#define FS_IOCTL_DEV (1ull << 15)
#define NET_BIND_TCP (1ull << 0)
#define NET_CONNECT_TCP (1ull << 1)
#define SCOPE_ABSTRACT_UNIX (1ull << 0)
#define SCOPE_SIGNAL (1ull << 1)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

#define ABI_KNOWN 6 /* the last one that adds rights; higher ones are used as this */
#define FS_ABI1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static const struct ruleset_attr handled_at[ABI_KNOWN + 1] = {
	[1] = { .fs = FS_ABI1 },
	[2] = { .fs = FS_ABI1 | LANDLOCK_ACCESS_FS_REFER },
	[3] = { .fs = FS_ABI1 | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE },
	[4] = { .fs = FS_ABI1 | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE, .net = NET_BIND_TCP | NET_CONNECT_TCP },
	[5] = { .fs = FS_ABI1 | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV,
		.net = NET_BIND_TCP | NET_CONNECT_TCP },
	[6] = { .fs = FS_ABI1 | LANDLOCK_ACCESS_FS_REFER | FS_TRUNCATE | FS_IOCTL_DEV,
		.net = NET_BIND_TCP | NET_CONNECT_TCP,
		.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL },
};

/* landlock_create_ruleset() takes only the size that the kernel knows (E2BIG for non-zero bytes behind it). */
static const size_t attr_size_at[ABI_KNOWN + 1] = { [1] = 8, [2] = 8, [3] = 8, [4] = 16, [5] = 16, [6] = 24 };

#define RIGHTS_READ (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_FILE (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE)
/* Knowingly not allowed: MAKE_CHAR, MAKE_BLOCK, IOCTL_DEV. */
#define RIGHTS_WRITE                                                                                                        \
	(RIGHTS_READ | RIGHTS_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |                       \
	 LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                         \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER)
#define RIGHTS_DEVICES LANDLOCK_ACCESS_FS_WRITE_FILE

static void rule_add(int ruleset, uint64_t handled, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = rights & handled };
	struct stat sb;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		die_at(LAYER_LANDLOCK, "open place of a rule", errno);
	if (fstat(rule.parent_fd, &sb) < 0)
		die_at(LAYER_LANDLOCK, "stat place of a rule", errno);
	if (!S_ISDIR(sb.st_mode)) /* rights of a directory on a file are EINVAL */
		rule.allowed_access &= RIGHTS_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		die_at(LAYER_LANDLOCK, "landlock_add_rule", errno);
	fd_close(rule.parent_fd);
}

static void rules_add(const struct jail_spec *spec, int ruleset, uint64_t handled)
{
	rule_add(ruleset, handled, "/", RIGHTS_READ);
	rule_add(ruleset, handled, "/dev", RIGHTS_DEVICES);
	if (spec->limits.tmp_bytes > 0)
		rule_add(ruleset, handled, "/tmp", RIGHTS_WRITE);
	if (spec->flags & SPEC_SHM)
		rule_add(ruleset, handled, "/dev/shm", RIGHTS_WRITE);
	for (uint32_t i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].flags & SPEC_MOUNT_RW)
			rule_add(ruleset, handled, spec->mounts[i].to, RIGHTS_WRITE);
}

void layer_landlock_apply(struct layer_state *st)
{
	struct ruleset_attr attr;
	int abi, known, ruleset;

	abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	if (abi < 0 && errno != ENOSYS && errno != EOPNOTSUPP)
		die_at(LAYER_LANDLOCK, "landlock_create_ruleset version", errno);
	if (abi < 1) {
		layer_missing(st, LAYER_LANDLOCK, "landlock_create_ruleset version", abi < 0 ? errno : EOPNOTSUPP);
		return;
	}
	known = abi < ABI_KNOWN ? abi : ABI_KNOWN;
	attr = handled_at[known];
	if (st->spec->flags & SPEC_LO_UP) /* the profile grants TCP to itself */
		attr.net = 0;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, attr_size_at[known], 0);
	if (ruleset < 0)
		die_at(LAYER_LANDLOCK, "landlock_create_ruleset", errno);
	rules_add(st->spec, ruleset, attr.fs);
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		die_at(LAYER_LANDLOCK, "landlock_restrict_self", errno);
	fd_close(ruleset);
	st->landlock_abi = abi;
}
