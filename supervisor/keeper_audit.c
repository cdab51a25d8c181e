/* The keeper's side of the audit log: it opens, names and locks the files, starts the audit process, again when that ends, and
 * makes the pairs over which core speaks with it. Of what stands in the log it reads nothing. */
#include "supervisor/audit.h"
#include "supervisor/audit_proto.h"
#include "supervisor/dirs.h"
#include "supervisor/keeper.h"
#include "supervisor/log.h"
#include "supervisor/wire/chain.h"

#include "jail/base/fd.h"
#include "jail/base/names.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* A look through the largest file that rotation leaves takes a second; a slow disk takes longer. */
#define READY_MS 60000
/* An audit process of a keeper that was killed still writes what it was sent. */
#define LOCK_MS 10000
/* It waits so long for a full disk (audit.c), then a little for ourselves. */
#define END_MS 7000
/* While a rotation makes it; never more than that. */
#define AUDIT_NEW_NAME "audit.new"

static int failed(struct err *err, int code, const char *path, const char *what)
{
	err_set(err, ERR_HOST, code, "audit", "cannot %s %.150s: %s", what, path, strerror(code));
	err_hint(err, "brigd runs nothing without its audit log; make the directory writable for it, or set state_dir to another");
	return -code;
}

static int dir_refused(const char *path, int e, struct err *err)
{
	if (e == EPERM || e == ELOOP || e == ENOTDIR)
		return failed(err, e, path, "trust the directory (it must be ours, and nobody else's to write)");
	return failed(err, e, path, "make or open the directory");
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

/* The youngest file that was put away, or -1 with errno ENOENT. */
static int before_open(int dir_fd)
{
	int own = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	char last[NAME_MAX + 1] = "";
	struct dirent *d;

	if (!dir) {
		fd_close(own);
		return -1;
	}
	while ((d = readdir(dir)))
		if (chain_is_old_name(d->d_name) && strcmp(d->d_name, last) > 0)
			snprintf(last, sizeof(last), "%s", d->d_name);
	(void)closedir(dir);
	errno = ENOENT;
	return last[0] ? openat(dir_fd, last, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
}

int keeper_audit_look(struct keeper *k, uint64_t number, bool before, uint64_t *ret_number)
{
	int own = openat(k->audit_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own >= 0 ? fdopendir(own) : NULL;
	uint64_t best = 0;
	char name[64] = CHAIN_LOG_NAME;
	struct dirent *d;
	struct stat st;

	if (!dir) {
		fd_close(own);
		return -errno;
	}
	while ((d = readdir(dir))) {
		uint64_t n = chain_is_old_name(d->d_name) ? strtoull(d->d_name + sizeof("audit-") - 1, NULL, 10) : 0;

		if (n > 0 && (before ? n < number && n > best : n >= number && (best == 0 || n < best)))
			best = n;
	}
	(void)closedir(dir);
	if (before && best == 0)
		return -ENOENT;
	if (best > 0)
		snprintf(name, sizeof(name), CHAIN_OLD_NAME, (unsigned long long)best);
	*ret_number = best;
	_cleanup_close_ int fd = openat(k->audit_dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? fd_take(&fd) : -EINVAL;
}

/* A log, for one writer. -EAGAIN: another has it. */
static int log_open_locked(const struct keeper *k, const char *name, bool fresh)
{
	_cleanup_close_ int fd = openat(k->audit_dir, name,
					O_APPEND | O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (fresh ? O_EXCL : 0), 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return fd_take(&fd);
}

static int files_open(const struct keeper *k, struct audit_boot *boot, int64_t lock_until, struct err *err)
{
	while ((boot->log_fd = log_open_locked(k, CHAIN_LOG_NAME, false)) == -EAGAIN && keeper_now_ms() < lock_until)
		(void)poll(NULL, 0, 50);
	if (boot->log_fd == -EAGAIN)
		return err_set(err, ERR_HOST, EAGAIN, "audit", "another audit process still writes %.150s/audit/audit.log",
			       k->boot->config.state_dir);
	if (boot->log_fd < 0)
		return failed(err, -boot->log_fd, k->boot->config.state_dir, "write audit/audit.log in");
	boot->look_fd = openat(k->audit_dir, CHAIN_LOG_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	boot->before_fd = before_open(k->audit_dir);
	if (boot->look_fd < 0 || (boot->before_fd < 0 && errno != ENOENT))
		return failed(err, errno, k->boot->config.state_dir, "read the audit log in");
	return 0;
}

static void files_close(struct audit_boot *boot)
{
	boot->log_fd = fd_close(boot->log_fd);
	boot->look_fd = fd_close(boot->look_fd);
	boot->before_fd = fd_close(boot->before_fd);
}

static void NORETURN audit_run(const struct keeper *k, struct audit_boot *boot)
{
	keeper_close_others((int[]){ boot->log_fd, boot->look_fd, boot->before_fd, boot->keeper_fd, log_fd() }, 5);
	(void)sigprocmask(SIG_SETMASK, &k->mask, NULL);
	_exit(audit_main(boot));
}

static int child_start(struct keeper *k, struct audit_boot *boot, struct err *err)
{
	_cleanup_close_ int theirs = -1;
	int r = keeper_child_pair(&k->audit, &theirs, err);

	if (r < 0)
		return r;
	boot->keeper_fd = theirs;
	/* PRIV: the child becomes an id of its own by CAP_SETUID and CAP_SETGID. */
	pid_t pid = fork();
	if (pid == 0)
		audit_run(k, boot);
	return keeper_child_forked(&k->audit, pid, "audit", err);
}

static int audit_start(struct keeper *k, int64_t lock_until, struct err *err)
{
	struct audit_boot boot = {
		.log_fd = -1, .look_fd = -1, .before_fd = -1,
		.config = &k->boot->config,
		.as_root = k->lane.ranged,
		.uid = k->lane.ranged ? k->lane.first_id + LANE_AUDIT : k->lane.uid,
	};
	int r = files_open(k, &boot, lock_until, err);

	memcpy(boot.why, k->audit_why, sizeof(boot.why));
	k->audit_err = 0;
	k->audit_ready = false;
	if (r == 0)
		r = child_start(k, &boot, err);
	files_close(&boot); /* the lock goes with the last copy, which is the child's */
	return r;
}

/* A new file under another name first: whatever fails, audit.log is there, or the next start makes one. */
static int rotate(struct keeper *k, uint64_t number)
{
	char old[64];
	struct stat st;
	int r = 0;

	if (fstatat(k->audit_dir, CHAIN_LOG_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	/* Audit is hostile: it may not make a file for each record. */
	if (st.st_size < (off_t)(k->boot->config.audit_rotate_bytes / 2))
		return -EPERM;
	(void)unlinkat(k->audit_dir, AUDIT_NEW_NAME, 0); /* of a rotation that was cut off: nothing was written to it */
	_cleanup_close_ int fd = log_open_locked(k, AUDIT_NEW_NAME, true);
	if (fd < 0)
		return fd;
	snprintf(old, sizeof(old), CHAIN_OLD_NAME, (unsigned long long)number);
	if (renameat2(k->audit_dir, CHAIN_LOG_NAME, k->audit_dir, old, RENAME_NOREPLACE) < 0)
		r = -errno;
	if (r == 0 && renameat2(k->audit_dir, AUDIT_NEW_NAME, k->audit_dir, CHAIN_LOG_NAME, RENAME_NOREPLACE) < 0) {
		r = -errno;
		(void)renameat2(k->audit_dir, old, k->audit_dir, CHAIN_LOG_NAME, RENAME_NOREPLACE);
	}
	if (r < 0) {
		(void)unlinkat(k->audit_dir, AUDIT_NEW_NAME, 0);
		return r;
	}
	(void)fsync(k->audit_dir);
	return fd_take(&fd);
}

static void on_rotate(struct keeper *k, uint64_t number)
{
	struct audit_ctl say = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_FILE, .number = number };
	_cleanup_close_ int fd = -EINVAL;

	if (number > 0 && number <= AUDIT_NUMBER_MAX)
		fd = rotate(k, number);
	if (fd < 0)
		say.err = -fd;
	(void)fd_send(k->audit.sock, &say, sizeof(say), &fd, fd >= 0 ? 1 : 0);
}

void keeper_audit_msg(struct keeper *k)
{
	struct audit_ctl msg;
	int r = fd_recv(k->audit.sock, &msg, sizeof(msg), NULL, 0, NULL, MSG_DONTWAIT);

	if (r == -EAGAIN || r == -ECONNRESET) /* reset: it died with a message of ours unread; what it said last comes after that */
		return;
	if (r == 1 && msg.magic == AUDIT_CTL_MAGIC && msg.kind == AUDIT_READY) {
		k->audit_ready = msg.err == 0;
		msg.text[sizeof(msg.text) - 1] = '\0';
		k->audit_err = msg.err;
		memcpy(k->audit_why, msg.text, sizeof(k->audit_why));
		return;
	}
	if (r == 1 && msg.magic == AUDIT_CTL_MAGIC && msg.kind == AUDIT_ROTATE) {
		on_rotate(k, msg.number);
		return;
	}
	if (r != 0) {
		log_event(LOG_CRIT, "audit_broke_protocol", LOG_NONE, "the audit process broke the protocol; ending it");
		keeper_child_signal(&k->audit, SIGKILL);
	}
	k->audit.sock = fd_close(k->audit.sock);
	k->audit_ready = false;
}

int keeper_audit_start(struct keeper *k, struct err *err)
{
	int64_t until = keeper_now_ms() + READY_MS;
	int r = audit_start(k, keeper_now_ms() + LOCK_MS, err);

	while (r == 0 && !k->audit_ready && k->audit.sock >= 0 && k->audit_err == 0) {
		struct pollfd p = { k->audit.sock, POLLIN, 0 };
		int64_t left = until - keeper_now_ms();

		if (poll(&p, 1, left > 0 ? (int)left : 0) == 0)
			return err_set(err, ERR_HOST, ETIMEDOUT, "audit", "the audit process did not get ready within %d s", READY_MS / 1000);
		keeper_audit_msg(k);
	}
	if (r == 0 && !k->audit_ready) {
		r = err_set(err, ERR_HOST, k->audit_err ?: EIO, "audit", "%s", k->audit_err ? k->audit_why : "the audit process died at its start");
		err_hint(err, "make room or make it writable, or set state_dir to another place; without its audit log brigd runs nothing");
	}
	return r;
}

void keeper_audit_ended(struct keeper *k)
{
	siginfo_t info;

	if (!keeper_child_reap(&k->audit, &info))
		return;
	k->audit_ready = false;
	snprintf(k->audit_why, sizeof(k->audit_why), "%s", k->audit.end);
	keeper_child_again(&k->audit);
	log_event(LOG_ERR, "audit_ended", LOG_FIELDS(LOG_STR("end", k->audit.end), LOG_NUM("failures", k->audit.failures)),
		  "the audit process ended by itself (%s); another one is started", k->audit.end);
}

void keeper_audit_again(struct keeper *k)
{
	struct err err = { 0 };

	k->audit.again_ms = 0;
	if (audit_start(k, 0, &err) == 0)
		return;
	log_err(LOG_ERR, "audit_not_started", LOG_NONE, &err);
	k->audit.started_ms = keeper_now_ms();
	keeper_child_again(&k->audit);
}

int keeper_audit_pair(struct keeper *k, int *ret_fd, struct err *err)
{
	struct audit_ctl say = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_CORE, .number = k->core_instance };
	int pair[2];

	if (!k->audit_ready)
		return err_set(err, ERR_HOST, EAGAIN, "audit", "the audit process is being started");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_HOST, errno, "audit", "socketpair: %s", strerror(errno));
	_cleanup_close_ int ours = pair[0];
	_cleanup_close_ int theirs = pair[1];
	snprintf(say.text, sizeof(say.text), "%s", k->core.end[0] ? k->core.end : "start");
	if (fd_send(k->audit.sock, &say, sizeof(say), &theirs, 1) < 0)
		return err_set(err, ERR_HOST, EAGAIN, "audit", "the audit process does not listen");
	*ret_fd = fd_take(&ours);
	return 0;
}

void keeper_audit_finish(struct keeper *k, const char *why)
{
	struct audit_ctl say = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_STOP };
	struct pollfd p = { k->audit.pidfd, POLLIN, 0 };

	snprintf(say.text, sizeof(say.text), "%s", why);
	if (k->audit.sock >= 0)
		(void)fd_send(k->audit.sock, &say, sizeof(say), NULL, 0);
	k->audit.sock = fd_close(k->audit.sock);
	/* Its last lines. It ends by itself, and is not killed: what it still holds would be lost. */
	if (k->audit.pidfd >= 0 && poll(&p, 1, END_MS) == 1)
		(void)waitid(P_PIDFD, (id_t)k->audit.pidfd, &(siginfo_t){ 0 }, WEXITED);
	k->audit.pidfd = fd_close(k->audit.pidfd);
	k->audit_dir = fd_close(k->audit_dir);
}
