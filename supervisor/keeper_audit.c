/* The audit process and its files: the keeper opens, names and hands out; what is in them is audit's. */
#include "supervisor/audit.h"
#include "jail/base/fd.h"
#include "supervisor/audit_proto.h"
#include "supervisor/dirs.h"
#include "supervisor/keeper.h"
#include "supervisor/keeper_proto.h"
#include "supervisor/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* It reads the end of its log at start, however slow the disk. */
#define READY_WAIT_MS 30000
/* At our end: what core sent last is written, and synced. */
#define LEAVE_WAIT_MS 10000
/* While a rotation makes it; never more than that. */
#define AUDIT_NEW_NAME "audit.new"
#define MODE_LOG 0600

static int dir_refused(const char *path, int e, struct err *err)
{
	if (e == EPERM || e == ELOOP || e == ENOTDIR)
		err_set(err, ERR_HOST, e, "state_dir", "%.200s must be a directory that is ours and nobody else's to write (%s)", path, strerror(e));
	else
		err_set(err, ERR_HOST, e, "state_dir", "cannot make or open %.200s: %s", path, strerror(e));
	err_hint(err, "chown and chmod it, make room, or choose another state_dir");
	return -e;
}

int keeper_audit_open(struct keeper *k, struct err *err)
{
	const char *path = k->boot->config.state_dir;
	char audit[PATH_MAX + sizeof("/audit")];

	dirs_make_parents(path);
	_cleanup_close_ int state = dirs_open_own(AT_FDCWD, path, 0755);
	if (state < 0)
		return dir_refused(path, -state, err);
	snprintf(audit, sizeof(audit), "%s/audit", path);
	k->audit_dir = dirs_open_own(state, "audit", 0700);
	return k->audit_dir < 0 ? dir_refused(audit, -k->audit_dir, err) : 0;
}

/* The youngest of the old files; their names sort as their records do. */
static int before_open(int dir)
{
	_cleanup_close_ int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char best[40] = "", name[40];
	unsigned long long number;
	DIR *d = copy >= 0 ? fdopendir(copy) : NULL;

	if (!d)
		return -1;
	(void)fd_take(&copy);
	for (struct dirent *e; (e = readdir(d));) {
		if (sscanf(e->d_name, "audit-%20llu.log", &number) != 1)
			continue;
		snprintf(name, sizeof(name), AUDIT_OLD_NAME, number);
		if (strcmp(name, e->d_name) == 0 && strcmp(name, best) > 0)
			memcpy(best, name, sizeof(best));
	}
	closedir(d);
	return best[0] ? openat(dir, best, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
}

static int files_open(const struct keeper *k, struct audit_boot *boot, struct err *err)
{
	struct stat st;

	boot->log_fd = openat(k->audit_dir, AUDIT_LOG_NAME, O_APPEND | O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, MODE_LOG);
	boot->look_fd = openat(k->audit_dir, AUDIT_LOG_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (boot->log_fd < 0 || boot->look_fd < 0 || fstat(boot->log_fd, &st) < 0) {
		err_set(err, ERR_HOST, errno, "audit", "cannot open %.200s/audit/" AUDIT_LOG_NAME " to append: %s", k->boot->config.state_dir,
			strerror(errno));
		err_hint(err, "without an audit log no call is taken: make room, make it writable, or choose another state_dir");
		return -err->code;
	}
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
		return err_set(err, ERR_HOST, EPERM, "audit", "%.200s/audit/" AUDIT_LOG_NAME " is not a file of ours alone", k->boot->config.state_dir);
	boot->before_fd = before_open(k->audit_dir);
	return 0;
}

static void NORETURN audit_run(struct keeper *k, struct audit_boot *boot)
{
	/* Signals to the whole group stay blocked: its end is that of its sockets, whatever a terminal says. */
	keeper_close_others((int[]){ boot->log_fd, boot->look_fd, boot->before_fd, boot->keeper_fd, log_fd() }, 5);
	boot->config = &k->boot->config;
	boot->as_root = k->lane.ranged;
	boot->uid = k->lane.ranged ? k->lane.first_id + LANE_AUDIT : k->lane.uid;
	exit(audit_main(boot));
}

int keeper_audit_start(struct keeper *k, struct err *err)
{
	struct audit_boot boot = { -1, -1, -1, -1, NULL, false, 0, "" };
	_cleanup_close_ int theirs = -1;
	int r = files_open(k, &boot, err);

	if (r == 0)
		r = keeper_child_pair(&k->audit, &theirs, err);
	if (r == 0) {
		boot.keeper_fd = theirs;
		snprintf(boot.why, sizeof(boot.why), "%s", k->audit.end);
		/* PRIV: as for core (keeper_core.c). */
		pid_t pid = fork();
		if (pid == 0)
			audit_run(k, &boot);
		r = keeper_child_forked(&k->audit, pid, "audit", err);
	}
	fd_close(boot.log_fd);
	fd_close(boot.look_fd);
	fd_close(boot.before_fd);
	return r;
}

int keeper_audit_wait(struct keeper *k, struct err *err)
{
	struct pollfd p = { k->audit.sock, POLLIN, 0 };
	struct audit_ctl ctl;
	int n;

	do
		n = poll(&p, 1, READY_WAIT_MS);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return err_set(err, ERR_HOST, ETIMEDOUT, "audit", "it is not ready after %d ms", READY_WAIT_MS);
	if (fd_recv(k->audit.sock, &ctl, sizeof(ctl), NULL, 0, NULL, 0) != 1 || ctl.magic != AUDIT_CTL_MAGIC || ctl.kind != AUDIT_READY)
		return err_set(err, ERR_HOST, EPIPE, "audit", "it ended while it started");
	ctl.text[sizeof(ctl.text) - 1] = '\0';
	if (ctl.err) {
		err_set(err, ERR_HOST, ctl.err, "audit", "%s", ctl.text);
		err_hint(err, "without an audit log no call is taken; `brig audit verify` tells more of a log that is broken");
		return -EIO;
	}
	return 0;
}

static void tell(struct keeper *k, enum audit_ctl_kind kind, uint64_t number, int e, const char *text, int fd)
{
	struct audit_ctl ctl = { .magic = AUDIT_CTL_MAGIC, .kind = kind, .err = e, .number = number };

	snprintf(ctl.text, sizeof(ctl.text), "%s", text);
	/* One that is gone hears nothing: the next is told what it has to know. */
	if (k->audit.sock >= 0)
		(void)fd_send(k->audit.sock, &ctl, sizeof(ctl), &fd, fd >= 0);
}

/* A new file under another name first: whatever fails, audit.log is there or the next start makes one. */
static int rotate(struct keeper *k, uint64_t number, int *ret_fd)
{
	char old[40];
	struct stat st;

	if (fstatat(k->audit_dir, AUDIT_LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* Audit is hostile: it may not make a file for each record. */
	if (st.st_size < (off_t)(k->boot->config.audit_rotate_bytes / 2))
		return -EPERM;
	(void)unlinkat(k->audit_dir, AUDIT_NEW_NAME, 0); /* of a rotation that was cut off: nothing was written to it */
	_cleanup_close_ int fd = openat(k->audit_dir, AUDIT_NEW_NAME, O_APPEND | O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE_LOG);
	if (fd < 0)
		return -errno;
	snprintf(old, sizeof(old), AUDIT_OLD_NAME, (unsigned long long)number);
	if (renameat2(k->audit_dir, AUDIT_LOG_NAME, k->audit_dir, old, RENAME_NOREPLACE) < 0) {
		int r = -errno;
		(void)unlinkat(k->audit_dir, AUDIT_NEW_NAME, 0);
		return r;
	}
	if (renameat2(k->audit_dir, AUDIT_NEW_NAME, k->audit_dir, AUDIT_LOG_NAME, RENAME_NOREPLACE) < 0) {
		int r = -errno;
		(void)renameat2(k->audit_dir, old, k->audit_dir, AUDIT_LOG_NAME, RENAME_NOREPLACE);
		return r;
	}
	(void)fsync(k->audit_dir);
	*ret_fd = fd_take(&fd);
	return 0;
}

static void audit_break(struct keeper *k, const char *what)
{
	log_event(LOG_CRIT, "audit_broke_protocol", LOG_NONE, "audit broke the protocol (%s); ending it", what);
	keeper_child_signal(&k->audit, SIGKILL);
	k->audit.sock = fd_close(k->audit.sock);
}

void keeper_audit_msg(struct keeper *k)
{
	_cleanup_close_ int fd = -1;
	struct audit_ctl ctl;
	int r = fd_recv(k->audit.sock, &ctl, sizeof(ctl), NULL, 0, NULL, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return;
	if (r == 0 || r == -ECONNRESET) { /* its end comes by its pidfd */
		k->audit.sock = fd_close(k->audit.sock);
		return;
	}
	ctl.text[sizeof(ctl.text) - 1] = '\0';
	if (r < 0) {
		audit_break(k, strerror(-r));
	} else if (ctl.magic != AUDIT_CTL_MAGIC || (ctl.kind != AUDIT_READY && ctl.kind != AUDIT_ROTATE)) {
		audit_break(k, "a message that is none of its");
	} else if (ctl.kind == AUDIT_READY) {
		if (ctl.err) /* no byte of what it says: it may be hostile, and it logs by itself */
			log_event(LOG_ERR, "audit_not_ready", LOG_FIELDS(LOG_NUM("errno", ctl.err)), "audit cannot go on: %s", strerror(ctl.err));
	} else if (ctl.number > AUDIT_NUMBER_MAX || ctl.number < k->audit_rotated) {
		audit_break(k, "a number that went back");
	} else {
		k->audit_rotated = ctl.number;
		r = rotate(k, ctl.number, &fd);
		tell(k, AUDIT_FILE, ctl.number, r < 0 ? -r : 0, "", fd);
	}
}

int keeper_audit_core(struct keeper *k, int *ret_fd)
{
	int pair[2];

	if (k->audit.sock < 0)
		return -EAGAIN;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	_cleanup_close_ int theirs = pair[1];
	/* One that has just died is not reaped yet: the message is lost with it, and core sees the end of its socket. */
	tell(k, AUDIT_CORE, k->core_instance, 0, k->core.end[0] ? k->core.end : "start", theirs);
	*ret_fd = pair[0];
	return 0;
}

void keeper_audit_ended(struct keeper *k)
{
	siginfo_t info;

	if (!keeper_child_reap(&k->audit, &info))
		return;
	keeper_child_again(&k->audit);
	log_event(LOG_ERR, "audit_ended", LOG_FIELDS(LOG_STR("end", k->audit.end), LOG_NUM("failures", k->audit.failures)),
		  "audit ended by itself (%s); another one is started", k->audit.end);
}

void keeper_audit_again(struct keeper *k)
{
	struct err err = { 0 };

	if (keeper_audit_start(k, &err) == 0)
		return;
	log_err(LOG_ERR, "audit_start_failed", LOG_NONE, &err);
	k->audit.started_ms = keeper_now_ms();
	keeper_child_again(&k->audit);
}

void keeper_audit_stop(struct keeper *k, const char *why)
{
	struct pollfd p = { k->audit.pidfd, POLLIN, 0 };
	siginfo_t info;
	int n;

	if (k->audit.pidfd < 0)
		return;
	tell(k, AUDIT_STOP, 0, 0, why, -1);
	(void)shutdown(k->audit.sock, SHUT_WR);
	do
		n = poll(&p, 1, LEAVE_WAIT_MS);
	while (n < 0 && errno == EINTR);
	if (n != 1) {
		log_event(LOG_CRIT, "audit_hung", LOG_NONE, "audit has not ended after %d ms; ending it", LEAVE_WAIT_MS);
		keeper_child_signal(&k->audit, SIGKILL);
		(void)poll(&p, 1, LEAVE_WAIT_MS);
	}
	(void)keeper_child_reap(&k->audit, &info);
	k->audit.sock = fd_close(k->audit.sock);
}
