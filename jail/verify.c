/* Attempts that must fail, after the layers went on. All but seccomp's own run
 * before the filter does, so that each refusal is the work of the layer it is
 * counted for, not of the filter above it. What can be read from outside
 * (/proc/PID/status, mountinfo, ns) is read there: a jail is not believed.
 * Nothing here leaves anything behind when it is refused as it must be. */
#include "jail/layer.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

static void proven(struct layer_state *st, enum layer layer)
{
	st->proven |= LAYER_BIT(layer);
}

static bool layer_on(const struct layer_state *st, enum layer layer)
{
	return !(st->degraded & LAYER_BIT(layer));
}

/* The call must have failed, and with one of these two errnos: another failure proves nothing about the layer. */
static void refused(enum layer layer, const char *op, long result, int want, int or_want)
{
	if (result >= 0)
		die_at(layer, op, 0);
	if (errno != want && errno != or_want)
		die_at(layer, op, errno);
}

static void holds(enum layer layer, const char *op, bool so)
{
	if (!so)
		die_at(layer, op, 0);
}

static void verify_fds(struct layer_state *st)
{
	for (int fd = JAIL_FDS; fd <= JAIL_FDS + ZYGOTE_GROUP_FDS; fd++)
		refused(LAYER_FDS, "verify: descriptor above the declared", fcntl(fd, F_GETFD), EBADF, EBADF);
	proven(st, LAYER_FDS);
}

static void verify_session(struct layer_state *st)
{
	holds(LAYER_SESSION, "verify: not the leader of a session", getsid(0) == getpid());
	refused(LAYER_SESSION, "verify: open /dev/tty", open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY), ENOENT, ENXIO);
	proven(st, LAYER_SESSION);
	holds(LAYER_PID, "verify: not PID 1 of a namespace", getpid() == 1 && getppid() == 0);
	proven(st, LAYER_PID);
}

static void verify_user(struct layer_state *st)
{
	uid_t ru, eu, su;
	gid_t rg, eg, sg;
	gid_t root = 0;

	holds(LAYER_USER, "verify: user ids", getresuid(&ru, &eu, &su) == 0 && ru == JAIL_ID && eu == JAIL_ID && su == JAIL_ID);
	holds(LAYER_USER, "verify: group ids", getresgid(&rg, &eg, &sg) == 0 && rg == JAIL_ID && eg == JAIL_ID && sg == JAIL_ID);
	refused(LAYER_USER, "verify: setresuid 0", syscall(SYS_setresuid, 0, 0, 0), EPERM, EINVAL);
	refused(LAYER_USER, "verify: setresgid 0", syscall(SYS_setresgid, 0, 0, 0), EPERM, EINVAL);
	proven(st, LAYER_USER);
	refused(LAYER_GROUPS, "verify: setgroups", syscall(SYS_setgroups, 1, &root), EPERM, EPERM);
	if (layer_on(st, LAYER_GROUPS))
		proven(st, LAYER_GROUPS);
}

static void verify_names(struct layer_state *st)
{
	struct utsname names;

	holds(LAYER_UTS, "verify: host name", uname(&names) == 0 && strcmp(names.nodename, JAIL_HOSTNAME) == 0);
	proven(st, LAYER_UTS);
}

static void verify_net(struct layer_state *st)
{
	/* TEST-NET-1, RFC 5737: nobody's address. connect() on UDP only asks for a route. */
	const struct sockaddr_in away = { .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(0xc0000201) };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (sock < 0 && errno != EAFNOSUPPORT)
		die_at(LAYER_NET, "verify: socket", errno);
	if (sock >= 0)
		refused(LAYER_NET, "verify: route to outside", connect(sock, (const struct sockaddr *)&away, sizeof(away)),
			ENETUNREACH, ENETUNREACH);
	fd_close(sock);
	proven(st, LAYER_NET);
}

static bool same_file(int fd_a, const char *path_a, int fd_b, const char *path_b)
{
	struct statx a, b;

	return statx(fd_a, path_a, AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &a) == 0 &&
	       statx(fd_b, path_b, AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &b) == 0 && a.stx_ino == b.stx_ino &&
	       a.stx_mnt_id == b.stx_mnt_id;
}

static void verify_mount(struct layer_state *st)
{
	/* By mount, not by device: the host's own /dev/null is the same device. */
	holds(LAYER_MOUNT, "verify: stdin is not the jail's own", same_file(JAIL_FD_STDIN, "", AT_FDCWD, "/dev/null"));
	refused(LAYER_MOUNT, "verify: touch stdin", futimens(JAIL_FD_STDIN, NULL), EROFS, EACCES);
	refused(LAYER_MOUNT, "verify: mkdir in /", mkdir("/verify", 0700), EROFS, EACCES);
	refused(LAYER_MOUNT, "verify: open the zygote's base root", open(JAIL_BASE_ROOT, O_PATH | O_CLOEXEC), ENOENT, ENOENT);
	proven(st, LAYER_MOUNT);
	if (!(st->spec->flags & SPEC_PROC) || !layer_on(st, LAYER_PROC)) {
		refused(LAYER_PROC, "verify: open /proc/self", open("/proc/self", O_PATH | O_CLOEXEC), ENOENT, ENOENT);
		proven(st, LAYER_PROC);
		return;
	}
	/* subset=pid: no file of /proc that is not a process. */
	refused(LAYER_PROC, "verify: open /proc/sys", open("/proc/sys", O_PATH | O_CLOEXEC), ENOENT, ENOENT);
	proven(st, LAYER_PROC);
}

static void verify_rlimit(struct layer_state *st)
{
	struct rlimit more;

	if (getrlimit(RLIMIT_NOFILE, &more) < 0)
		die_at(LAYER_RLIMIT, "verify: getrlimit", errno);
	more.rlim_max++;
	refused(LAYER_RLIMIT, "verify: raise nofile", setrlimit(RLIMIT_NOFILE, &more), EPERM, EPERM);
	proven(st, LAYER_RLIMIT);
}

static void verify_privs(struct layer_state *st)
{
	holds(LAYER_PRIVS, "verify: no_new_privs is off", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	refused(LAYER_PRIVS, "verify: clear no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0), EINVAL, EINVAL);
	holds(LAYER_PRIVS, "verify: dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0);
	proven(st, LAYER_PRIVS);
	if ((st->spec->flags & SPEC_MDWE) && !(st->spec->off & LAYER_BIT(LAYER_MDWE)) && layer_on(st, LAYER_MDWE)) {
		void *p = mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		refused(LAYER_MDWE, "verify: map writable and executable", p == MAP_FAILED ? -1 : 0, EACCES, EACCES);
		proven(st, LAYER_MDWE);
	}
	/* Where the switch is per task: once force-disabled it cannot be enabled again. -1 has every bit set. */
	int ctrl = prctl(PR_GET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, 0, 0, 0);
	if (ctrl >= 0 && (ctrl & PR_SPEC_FORCE_DISABLE)) {
		refused(LAYER_SPECULATION, "verify: enable store bypass",
			prctl(PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_ENABLE, 0, 0), EPERM, EPERM);
		proven(st, LAYER_SPECULATION);
	}
}

static void verify_caps(struct layer_state *st)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct want[2] = { { .permitted = 1u << CAP_CHOWN, .effective = 1u << CAP_CHOWN } };

	refused(LAYER_CAPS, "verify: capset", syscall(SYS_capset, &head, want), EPERM, EPERM);
	refused(LAYER_CAPS, "verify: ambient raise", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0), EPERM, EPERM);
	/* Without CAP_SETPCAP every change is refused: only what they read as shows whether they are locked. */
	holds(LAYER_CAPS, "verify: securebits", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == JAIL_SECUREBITS);
	refused(LAYER_CAPS, "verify: set securebits", prctl(PR_SET_SECUREBITS, 0, 0, 0, 0), EPERM, EPERM);
	holds(LAYER_CAPS, "verify: bounding set", cap_get_bound(CAP_SYS_ADMIN) == 0 && cap_get_bound(CAP_SETPCAP) == 0);
	refused(LAYER_CAPS, "verify: sethostname", sethostname("x", 1), EPERM, EPERM);
	refused(LAYER_CAPS, "verify: chroot", chroot("/"), EPERM, EPERM);
	proven(st, LAYER_CAPS);
}

static void verify_landlock(struct layer_state *st)
{
	if (!layer_on(st, LAYER_LANDLOCK))
		return;
	/* Landlock is asked before capabilities are (do_mknodat()), and says EACCES where they say EPERM. Not a whiteout (0:0),
	 * which needs no capability: stable kernels of 2026 count it as a regular file, which /tmp may hold. */
	if (st->spec->limits.tmp_bytes > 0) {
		refused(LAYER_LANDLOCK, "verify: device in /tmp", mknod("/tmp/verify", S_IFCHR | 0600, makedev(1, 3)), EACCES,
			EACCES);
		proven(st, LAYER_LANDLOCK);
	}
	if (st->landlock_abi < 4 || (st->spec->flags & SPEC_LO_UP))
		return;
	const struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(1024) };
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (sock < 0 && errno != EAFNOSUPPORT)
		die_at(LAYER_LANDLOCK, "verify: socket", errno);
	if (sock >= 0) {
		refused(LAYER_LANDLOCK, "verify: TCP bind", bind(sock, (const struct sockaddr *)&any, sizeof(any)), EACCES, EACCES);
		proven(st, LAYER_LANDLOCK);
	}
	fd_close(sock);
}

void verify_inside(struct layer_state *st)
{
	verify_fds(st);
	verify_session(st);
	verify_user(st);
	verify_names(st);
	verify_net(st);
	verify_mount(st);
	verify_rlimit(st);
	verify_privs(st);
	verify_caps(st);
	verify_landlock(st);
}

void verify_seccomp(struct layer_state *st)
{
	int mode = prctl(PR_GET_SECCOMP, 0, 0, 0, 0);

	/* A filter that refuses the question is there; without one the answer is 0. */
	if (mode < 0 && errno != EPERM && errno != ENOSYS)
		die_at(LAYER_SECCOMP, "verify: prctl PR_GET_SECCOMP", errno);
	holds(LAYER_SECCOMP, "verify: no filter is on", mode < 0 || mode == SECCOMP_MODE_FILTER);
	proven(st, LAYER_SECCOMP);
}
