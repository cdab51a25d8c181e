/* The zygote, from exec to loop, top to bottom. It starts as PID 1 of fresh
 * user, PID, mount, net, IPC and UTS namespaces, 0:0 inside, with four
 * descriptors (enum zygote_fd) and nothing else. No byte of a client ever enters it. */
#include "jail/base/fd.h"
#include "jail/python.h"
#include "jail/zygote.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

static struct zygote g_zygote = { .null_fd = -1, .proc_fd = -1, .fds_fd = -1, .root_fd = -1, .newroot_fd = -1 };

void zygote_fail(enum layer layer, const char *op, int err, const char *detail)
{
	struct zygote_msg msg = { .magic = ZYGOTE_MAGIC, .kind = ZY_START_FAILED, .err = err, .stage = layer };

	snprintf(msg.op, sizeof(msg.op), "%s", op);
	snprintf(msg.detail, sizeof(msg.detail), "%s", detail ? detail : "");
	(void)fd_send(ZYGOTE_FD_CONTROL, &msg, sizeof(msg), NULL, 0);
	_exit(1);
}

/* 0, 1 and 2 become /dev/null, and nothing else is open besides what we were given. */
static void fds_settle(struct zygote *zy)
{
	struct stat st;

	for (int fd = ZYGOTE_FD_CONTROL; fd <= ZYGOTE_FD_GROUPS; fd++)
		if (fstat(fd, &st) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			zygote_fail(LAYER_FDS, "inherited descriptor", errno, NULL);
	if (close_range(ZYGOTE_FD_GROUPS + 1, ~0u, 0) < 0)
		zygote_fail(LAYER_FDS, "close_range", errno, NULL);
	for (int fd = 0; fd <= 2; fd++)
		(void)close(fd);
	for (int fd = 0; fd <= 2; fd++)
		if (open("/dev/null", O_RDWR | O_NOCTTY) != fd)
			zygote_fail(LAYER_FDS, "open /dev/null", errno, "/dev/null");
	zy->null_fd = 0;
}

static const struct jail_spec *spec_map(void)
{
	const struct jail_spec *spec;
	struct stat st;
	int seals = fcntl(ZYGOTE_FD_SPEC, F_GET_SEALS);
	const char *wrong;

	if (seals < 0 || (seals & (F_SEAL_WRITE | F_SEAL_SHRINK)) != (F_SEAL_WRITE | F_SEAL_SHRINK))
		zygote_fail(LAYER_FDS, "spec: not a sealed memfd", seals < 0 ? errno : EPERM, NULL);
	if (fstat(ZYGOTE_FD_SPEC, &st) < 0 || st.st_size != (off_t)sizeof(*spec))
		zygote_fail(LAYER_FDS, "spec: wrong size", EPROTO, NULL);
	spec = mmap(NULL, sizeof(*spec), PROT_READ, MAP_SHARED, ZYGOTE_FD_SPEC, 0);
	if (spec == MAP_FAILED)
		zygote_fail(LAYER_FDS, "map spec", errno, NULL);
	wrong = spec_check(spec);
	if (wrong)
		zygote_fail(LAYER_FDS, "spec_check", EINVAL, wrong);
	(void)close(ZYGOTE_FD_SPEC);
	return spec;
}

/* A fixed environment of our own making: variables of the host do not exist in a jail. */
static void environment_set(void)
{
	static const char *const vars[][2] = {
		{ "HOME", "/tmp" }, { "TMPDIR", "/tmp" }, { "PATH", "/usr/bin:/bin" }, { "LANG", "C.UTF-8" },
		{ "USER", "tool" }, { "LOGNAME", "tool" }, { "TZ", "UTC0" },
		/* Thread pools of numeric libraries start at import, and a zygote has one thread. */
		{ "OPENBLAS_NUM_THREADS", "1" }, { "OMP_NUM_THREADS", "1" }, { "MKL_NUM_THREADS", "1" },
	};

	clearenv();
	for (size_t i = 0; i < ARRAY_LEN(vars); i++)
		setenv(vars[i][0], vars[i][1], 1);
}

/* Layers that the profile may do without: the jails then inherit the host's. */
static void time_missing(const struct zygote *zy, const char *op, int err)
{
	if (!(zy->spec->best_effort & LAYER_BIT(LAYER_TIME)))
		zygote_fail(LAYER_TIME, op, err, NULL);
}

/* Children are born into it; both clocks start near zero, so that uptime of the host is no fingerprint. */
static void time_namespace(struct zygote *zy)
{
	struct timespec mono, boot;
	char text[128];
	int r;

	/* PRIV: CAP_SYS_ADMIN in our own user namespace; affects only processes made after it. */
	if (unshare(CLONE_NEWTIME) < 0) {
		time_missing(zy, "unshare(CLONE_NEWTIME)", errno);
		return;
	}
	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	snprintf(text, sizeof(text), "monotonic -%lld 0\nboottime -%lld 0\n", (long long)mono.tv_sec, (long long)boot.tv_sec);
	r = fd_write_file_at(zy->proc_fd, "self/timens_offsets", text);
	if (r < 0)
		time_missing(zy, "write timens_offsets", -r);
}

/* Ids: the keeper mapped either one for us and one for each slot, or (rootless) only ours. */
static void ids_look(struct zygote *zy)
{
	char text[256];
	unsigned inside, outside, count, sum = 0;
	int used;
	ssize_t n = fd_read_file_at(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text));

	if (n < 0)
		zygote_fail(LAYER_USER, "read own uid_map", (int)-n, NULL);
	for (const char *p = text; sscanf(p, "%u %u %u %n", &inside, &outside, &count, &used) == 3; p += used)
		sum += count;
	if (geteuid() != 0 || getegid() != 0)
		zygote_fail(LAYER_USER, "zygote is not 0:0 in its namespace", EPERM, NULL);
	zy->ranged = sum > LIMIT_SLOTS;
	if (!zy->ranged && sum != 1)
		zygote_fail(LAYER_USER, "own uid_map: neither one id nor one a slot", EINVAL, NULL);
}

/* Python learns its paths inside the root that the jails will have. A chrooted
 * process may make no user namespace: hence back out again. */
static void interpreter_start(struct zygote *zy)
{
	char why[sizeof(((struct zygote_msg *)0)->detail)] = "";
	int pipe_fds[2];

	/* Streams notice at start what they write to: in a jail that is a pipe. */
	if (pipe2(pipe_fds, O_CLOEXEC) < 0 || dup2(pipe_fds[1], 1) < 0 || dup2(pipe_fds[1], 2) < 0)
		zygote_fail(LAYER_FDS, "pipe for the standard streams", errno, NULL);
	/* PRIV: CAP_SYS_CHROOT in our namespace; into and out of directories of our own making. */
	if (fchdir(zy->newroot_fd) < 0 || chroot(".") < 0)
		zygote_fail(LAYER_MOUNT, "chroot into the base root", errno, NULL);
	if (python_start(zy->spec, why, sizeof(why)) < 0)
		zygote_fail(LAYER_FDS, "start python", ENOEXEC, why);
	if (fchdir(zy->root_fd) < 0 || chroot(".") < 0)
		zygote_fail(LAYER_MOUNT, "chroot back", errno, NULL);
	if (dup2(zy->null_fd, 1) < 0 || dup2(zy->null_fd, 2) < 0)
		zygote_fail(LAYER_FDS, "dup2", errno, NULL);
	(void)close(pipe_fds[0]);
	(void)close(pipe_fds[1]);
}

/* A fork copies one thread and any lock that another held. */
static void one_thread_check(struct zygote *zy)
{
	struct stat st;

	if (fstatat(zy->proc_fd, "self/task", &st, 0) < 0)
		zygote_fail(LAYER_PROC, "stat self/task", errno, NULL);
	if (st.st_nlink != 3)
		zygote_fail(LAYER_PID, "a preloaded module started threads", EBUSY, NULL);
}

static void title_set(const struct jail_spec *spec)
{
	char title[16];

	snprintf(title, sizeof(title), "zygote: %.7s", spec->profile);
	prctl(PR_SET_NAME, title);
}

int main(void)
{
	struct zygote *zy = &g_zygote;
	struct zygote_msg ready = { .magic = ZYGOTE_MAGIC, .kind = ZY_READY };
	const char *wrong;

	for (unsigned i = 0; i < LIMIT_SLOTS; i++)
		zy->children[i].pidfd = -1;
	umask(022);
	fds_settle(zy);
	zy->spec = spec_map();
	title_set(zy->spec);
	environment_set();
	ids_look(zy);
	zygote_root_build(zy);
	interpreter_start(zy);
	one_thread_check(zy);
	time_namespace(zy);
	for (unsigned ns = 0; ns < NS_COUNT; ns++)
		zy->own_ns[ns] = zygote_ns_id(zy, "self", ns);
	wrong = zygote_net_ahead(zy);
	if (wrong)
		zygote_fail(LAYER_NET, wrong, errno, NULL);
	wrong = zygote_fds_check(zy, NULL, 0);
	if (wrong)
		zygote_fail(LAYER_FDS, "descriptor table", EBADF, wrong);
	zygote_send(&ready, NULL, 0);
	zygote_loop(zy);
}
