/* The fork of a zygote. The child runs in a copy of the keeper until execveat:
 * no malloc, no stdio, and everything it must not keep is closed by then. */
#include "supervisor/zygote_start.h"

#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "jail/zygote_proto.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The kernel reaps every jail of the PID namespace before its PID 1 counts as dead. */
#define STOP_WAIT_MS 5000

struct child_args {
	int image_fd, spec_fd, control_fd, groups_fd, sync_fd; /* sync: one byte comes once the maps are written */
	const int *lifeline;
	char title[32];
};

/* Core hears it where it waits for READY: the keeper has gone on to other things. */
static void NORETURN child_die(int control_fd, const char *op)
{
	struct zygote_msg msg = { .magic = ZYGOTE_MAGIC, .kind = ZY_START_FAILED, .err = errno, .stage = LAYER_USER };
	size_t len = strlen(op);

	memcpy(msg.op, op, len < sizeof(msg.op) ? len : sizeof(msg.op) - 1);
	(void)send(control_fd, &msg, sizeof(msg), MSG_NOSIGNAL);
	_exit(1);
}

/* A hung-up lifeline means that the keeper died before PDEATHSIG was set. */
static void child_check_lifeline(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	if (poll(&p, 1, 0) != 0)
		_exit(1);
}

/* Descriptors to their numbers without one overwriting another: first all above the targets, then down. */
static void child_place_fds(struct child_args *a)
{
	enum { HIGH = 32 };
	int *const from[] = { &a->control_fd, &a->spec_fd, &a->image_fd, &a->groups_fd };
	int lifeline = fcntl(a->lifeline[0], F_DUPFD_CLOEXEC, HIGH);

	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		int fd = fcntl(*from[i], F_DUPFD_CLOEXEC, HIGH);
		if (fd < 0)
			child_die(a->control_fd, "fcntl F_DUPFD_CLOEXEC");
		*from[i] = fd;
	}
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		child_die(a->control_fd, "open /dev/null");
	/* Standard error stays the keeper's: a zygote that cannot even start Python has no other voice. Jails get
	 * their own. */
	if (dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(a->control_fd, ZYGOTE_FD_CONTROL) < 0 ||
	    dup2(a->spec_fd, ZYGOTE_FD_SPEC) < 0 || dup2(lifeline, ZYGOTE_FD_LIFELINE) < 0 || dup2(a->groups_fd, ZYGOTE_FD_GROUPS) < 0)
		child_die(a->control_fd, "dup2");
	/* Everything else is the keeper's: locks, cgroups, other zygotes. The image stays until exec closes it. */
	if (close_range(ZYGOTE_FD_GROUPS + 1, (unsigned)a->image_fd - 1, 0) < 0 || close_range((unsigned)a->image_fd + 1, ~0u, 0) < 0)
		child_die(ZYGOTE_FD_CONTROL, "close_range");
}

static void child_reset_signals(void)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)sigaction(sig, &dfl, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void NORETURN child_run(struct child_args *a, bool ranged)
{
	static char *const env[] = { "PATH=/usr/bin:/bin", "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "HOME=/", NULL };
	char *argv[] = { a->title, NULL };
	char go;

	(void)close(a->lifeline[1]); /* or the pipe would have a writer left when the keeper dies */
	/* End of file: the keeper died or gave up. */
	if (recv(a->sync_fd, &go, 1, 0) != 1)
		_exit(1);
	child_reset_signals();
	/* PRIV: all capabilities of the new user namespace; its own 0, which is this lane's first id. Where setgroups is denied
	 * (one's own id only) the groups of the caller stay: the jail reports that. */
	if (ranged && setgroups(0, NULL) < 0)
		child_die(a->control_fd, "setgroups");
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		child_die(a->control_fd, "setresuid");
	/* Only now: a change of credentials clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		child_die(a->control_fd, "prctl PR_SET_PDEATHSIG");
	if (setsid() < 0)
		child_die(a->control_fd, "setsid");
	child_place_fds(a);
	child_check_lifeline(ZYGOTE_FD_LIFELINE);
	/* PRIV: the sealed copy of our own zygote, with a fixed environment: it starts with all of those capabilities. */
	(void)syscall(SYS_execveat, a->image_fd, "", argv, env, AT_EMPTY_PATH);
	child_die(ZYGOTE_FD_CONTROL, "execveat");
}

static int proc_write(pid_t pid, const char *file, const char *text, struct err *err)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int r = fd_write_file_at(AT_FDCWD, path, text);
	return r < 0 ? err_set(err, ERR_HOST, -r, "zygote", "cannot write its %s: %s", file, strerror(-r)) : 0;
}

/* inside 0: the zygote. inside 1+k: slot k, where we have ids to give. */
static int maps_write(pid_t pid, const struct lane *lane, struct err *err)
{
	char uids[96], gids[96];
	int r = 0;

	if (lane->ranged) {
		snprintf(uids, sizeof(uids), "0 %u 1\n1 %u %u\n", lane->first_id + LANE_ZYGOTE, lane->first_id + LANE_SLOTS,
			 (unsigned)LIMIT_SLOTS);
		snprintf(gids, sizeof(gids), "%s", uids);
	} else {
		snprintf(uids, sizeof(uids), "0 %u 1\n", lane->uid);
		snprintf(gids, sizeof(gids), "0 %u 1\n", lane->gid);
		r = proc_write(pid, "setgroups", "deny", err); /* the kernel's condition for an unprivileged gid map */
	}
	/* PRIV: CAP_SETUID and CAP_SETGID; the ids are this lane's own, checked unused, never 0 (lane.h). */
	if (r == 0)
		r = proc_write(pid, "gid_map", gids, err);
	return r == 0 ? proc_write(pid, "uid_map", uids, err) : r;
}

static pid_t zygote_clone(int *ret_pidfd)
{
	struct clone_args args = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
			 CLONE_NEWCGROUP | CLONE_PIDFD,
		.pidfd = (uintptr_t)ret_pidfd,
		.exit_signal = SIGCHLD,
	};

	/* PRIV: the namespaces belong to the new user namespace, which no capability of ours is needed for. */
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static void clone_hint(struct err *err, int code)
{
	if (code == EPERM || code == EACCES)
		err_hint(err, "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
			      "kernel.apparmor_restrict_unprivileged_userns=0, or a seccomp profile of the container that "
			      "permits clone3 and unshare");
	else if (code == ENOSPC || code == EUSERS)
		err_hint(err, "raise user.max_user_namespaces (and the other user.max_*_namespaces)");
}

int zygote_start(struct zygote *ret, const struct lane *lane, int image_fd, int spec_fd, int control_fd,
		 const int lifeline[2], int mounts_fd, uint32_t gen, struct err *err)
{
	int sync[2] = { -1, -1 }, groups[2] = { -1, -1 }, pidfd = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sync) < 0)
		return err_set(err, ERR_HOST, errno, "zygote", "socketpair: %s", strerror(errno));
	_cleanup_close_ int ours = sync[0];
	_cleanup_close_ int theirs = sync[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, groups) < 0)
		return err_set(err, ERR_HOST, errno, "zygote", "socketpair: %s", strerror(errno));
	_cleanup_close_ int our_groups = groups[0];
	_cleanup_close_ int their_groups = groups[1];
	(void)fd_nonblock(our_groups); /* one that takes nothing must not hold the keeper */
	struct child_args args = { image_fd, spec_fd, control_fd, their_groups, theirs, lifeline, "" };
	snprintf(args.title, sizeof(args.title), "zygote: gen %u", gen);

	/* The child of another mount namespace finds there its own copy of the directory; by descriptor it would be ours. */
	_cleanup_close_ int here = mounts_fd >= 0 ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (mounts_fd >= 0 && (here < 0 || fchdir(mounts_fd) < 0))
		return err_set(err, ERR_HOST, errno, "zygote", "go to the mounts of the workspace: %s", strerror(errno));
	pid_t pid = zygote_clone(&pidfd);
	int e = errno;
	/* A reload reads again what brigd was told by relative paths; where it may not go back it says that they are not there. */
	int back = pid != 0 && here >= 0 ? fchdir(here) : 0;
	(void)back;
	if (pid < 0) {
		err_set(err, ERR_HOST, e, "zygote", "clone3 with new namespaces: %s", strerror(e));
		clone_hint(err, e);
		return -e;
	}
	if (pid == 0) {
		(void)close(ours);
		child_run(&args, lane->ranged);
	}
	theirs = fd_close(theirs);
	*ret = (struct zygote){ gen, pid, pidfd, fd_take(&our_groups) };
	int r = proc_write(pid, "oom_score_adj", ZYGOTE_OOM_SCORE_ADJ, err);
	if (r == 0)
		r = maps_write(pid, lane, err);
	if (r == 0 && send(ours, "g", 1, MSG_NOSIGNAL) != 1)
		r = err_set(err, ERR_HOST, errno, "zygote", "it died before it started");
	if (r < 0)
		zygote_kill(ret);
	return r;
}

bool zygote_reap(struct zygote *zygote)
{
	siginfo_t info = { 0 };

	if (zygote->pidfd < 0)
		return true;
	if (waitid(P_PIDFD, (id_t)zygote->pidfd, &info, WEXITED | WNOHANG) == 0 && info.si_pid == 0)
		return false;
	*zygote = (struct zygote){ zygote->gen, 0, fd_close(zygote->pidfd), fd_close(zygote->groups) };
	return true;
}

void zygote_kill(const struct zygote *zygote)
{
	/* PRIV: SIGKILL to a child of ours, by pidfd. */
	if (zygote->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, zygote->pidfd, SIGKILL, NULL, 0);
}

int zygote_stop(struct zygote *zygote)
{
	struct pollfd p = { zygote->pidfd, POLLIN, 0 };
	int n;

	if (zygote->pidfd < 0)
		return 0;
	zygote_kill(zygote);
	do
		n = poll(&p, 1, STOP_WAIT_MS);
	while (n < 0 && errno == EINTR);
	return zygote_reap(zygote) ? 0 : -EBUSY;
}
