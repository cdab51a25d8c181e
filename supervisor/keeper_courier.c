/* The keeper's side of the courier: it starts the program without any privilege, and makes the pairs over which core
 * speaks with it. */
#include "supervisor/courier_proto.h"
#include "supervisor/drop.h"
#include "supervisor/keeper.h"
#include "supervisor/log.h"

#include "jail/base/fd.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* libcurl and its certificates are loaded within a tenth of that. */
#define READY_MS 10000

static void NORETURN child_die(int sock, int code, const char *what)
{
	struct courier_ctl say = { .magic = COURIER_MAGIC, .kind = COURIER_READY, .err = code ?: EIO };

	snprintf(say.why, sizeof(say.why), "%s", what);
	(void)fd_send(sock, &say, sizeof(say), NULL, 0);
	_exit(1);
}

static void NORETURN child_run(const struct keeper *k, int sock)
{
	static char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=/", NULL };
	char *const argv[] = { "brigd: courier", NULL };
	struct pollfd keeper = { sock, 0, 0 };
	struct err err = { 0 };
	int ours = fcntl(sock, F_DUPFD_CLOEXEC, 10), image = fcntl(k->courier_image, F_DUPFD_CLOEXEC, 10);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (ours < 0 || image < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(ours, COURIER_FD) < 0)
		child_die(sock, errno, "its descriptors");
	keeper_close_others((int[]){ COURIER_FD, image }, 2);
	(void)sigprocmask(SIG_SETMASK, &k->mask, NULL);
	if (drop_privilege(k->lane.ranged, k->lane.ranged ? k->lane.first_id + LANE_COURIER : k->lane.uid, &err) < 0)
		child_die(COURIER_FD, err.code, err.detail);
	/* After the change of ids, which clears it; a keeper that died before shows as the end of the socket. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || chdir("/") < 0)
		child_die(COURIER_FD, errno, "PDEATHSIG");
	keeper.fd = COURIER_FD;
	if (poll(&keeper, 1, 0) != 0 && (keeper.revents & POLLHUP))
		_exit(1);
	(void)syscall(SYS_execveat, image, "", argv, env, AT_EMPTY_PATH);
	child_die(COURIER_FD, errno, "execveat");
}

static int boot_send(const struct keeper *k, struct err *err)
{
	struct courier_boot boot = { .magic = COURIER_MAGIC };

	snprintf(boot.url[COURIER_DECISION], CONFIG_URL_MAX, "%s", k->boot->config.decision_url);
	int r = fd_send(k->courier.sock, &boot, sizeof(boot), NULL, 0);
	return r < 0 ? err_set(err, ERR_HOST, -r, "courier", "cannot tell it whom it may reach: %s", strerror(-r)) : 0;
}

static int courier_start(struct keeper *k, struct err *err)
{
	_cleanup_close_ int theirs = -1;
	int r = keeper_child_pair(&k->courier, &theirs, err);

	if (r < 0)
		return r;
	k->courier_ready = false;
	/* PRIV: the child becomes an id of its own by CAP_SETUID and CAP_SETGID, then runs a program of ours with a fixed environment. */
	pid_t pid = fork();
	if (pid == 0)
		child_run(k, theirs);
	r = keeper_child_forked(&k->courier, pid, "courier", err);
	return r < 0 ? r : boot_send(k, err);
}

void keeper_courier_msg(struct keeper *k)
{
	struct courier_ctl msg;
	int r = fd_recv(k->courier.sock, &msg, sizeof(msg), NULL, 0, NULL, MSG_DONTWAIT);

	if (r == -EAGAIN || r == -ECONNRESET)
		return;
	if (r == 1 && msg.magic == COURIER_MAGIC && msg.kind == COURIER_READY) {
		msg.why[sizeof(msg.why) - 1] = '\0';
		k->courier_ready = msg.err == 0;
		if (msg.err)
			log_event(LOG_ERR, "courier_failed", LOG_FIELDS(LOG_NUM("errno", msg.err)), "the courier does not start: %s: %s", msg.why,
				  strerror(msg.err));
		return;
	}
	if (r != 0) {
		log_event(LOG_CRIT, "courier_broke_protocol", LOG_NONE, "the courier broke the protocol; ending it");
		keeper_child_signal(&k->courier, SIGKILL);
	}
	k->courier.sock = fd_close(k->courier.sock);
	k->courier_ready = false;
}

static int ready_wait(struct keeper *k, struct err *err)
{
	int64_t until = keeper_now_ms() + READY_MS;

	while (!k->courier_ready && k->courier.sock >= 0) {
		struct pollfd p = { k->courier.sock, POLLIN, 0 };
		int64_t left = until - keeper_now_ms();

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return err_set(err, ERR_HOST, ETIMEDOUT, "courier", "it did not get ready within %d s", READY_MS / 1000);
		keeper_courier_msg(k);
	}
	return k->courier_ready ? 0 : err_set(err, ERR_HOST, EIO, "courier", "it died at its start");
}

int keeper_courier_open(struct keeper *k, struct err *err)
{
	if (!k->boot->config.decision_url[0])
		return 0;
	k->courier_image = courier_image_open(err);
	if (k->courier_image < 0)
		return k->courier_image;
	int r = courier_start(k, err);
	return r < 0 ? r : ready_wait(k, err);
}

void keeper_courier_ended(struct keeper *k)
{
	siginfo_t info;

	if (!keeper_child_reap(&k->courier, &info))
		return;
	k->courier_ready = false;
	keeper_child_again(&k->courier);
	log_event(LOG_ERR, "courier_ended", LOG_FIELDS(LOG_STR("end", k->courier.end), LOG_NUM("failures", k->courier.failures)),
		  "the courier ended by itself (%s); another one is started", k->courier.end);
}

void keeper_courier_again(struct keeper *k)
{
	struct err err = { 0 };

	k->courier.again_ms = 0;
	if (courier_start(k, &err) == 0)
		return;
	log_err(LOG_ERR, "courier_not_started", LOG_NONE, &err);
	if (k->courier.pidfd >= 0) { /* its end comes, and with it the next try */
		keeper_child_signal(&k->courier, SIGKILL);
		return;
	}
	k->courier.started_ms = keeper_now_ms();
	keeper_child_again(&k->courier);
}

int keeper_courier_pair(struct keeper *k, int *ret_fd, struct err *err)
{
	const struct courier_ctl say = { .magic = COURIER_MAGIC, .kind = COURIER_CORE };
	int pair[2];

	if (!k->courier_ready)
		return err_set(err, ERR_HOST, EAGAIN, "courier", "the courier is being started");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_HOST, errno, "courier", "socketpair: %s", strerror(errno));
	_cleanup_close_ int ours = pair[0];
	_cleanup_close_ int theirs = pair[1];
	if (fd_send(k->courier.sock, &say, sizeof(say), &theirs, 1) < 0)
		return err_set(err, ERR_HOST, EAGAIN, "courier", "the courier does not listen");
	*ret_fd = fd_take(&ours);
	return 0;
}

void keeper_courier_finish(struct keeper *k)
{
	k->courier.sock = fd_close(k->courier.sock);
	keeper_child_signal(&k->courier, SIGKILL);
	if (k->courier.pidfd >= 0)
		(void)waitid(P_PIDFD, (id_t)k->courier.pidfd, &(siginfo_t){ 0 }, WEXITED);
	k->courier.pidfd = fd_close(k->courier.pidfd);
	k->courier_image = fd_close(k->courier_image);
}
