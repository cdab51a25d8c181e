/* Core's starts and ends. A daemon's core that ends by itself is replaced: its jails and their groups go first, then
 * another one gets the same listening sockets, configuration and profile texts, which the keeper holds as raw bytes. */
#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "supervisor/core.h"
#include "supervisor/keeper.h"
#include "supervisor/log.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

/* A core that does not read its answers is broken; the keeper must stay able to end it. */
#define CORE_SEND_S 5
/* The first end is answered at once, later ones ever slower: what dies at its start must not eat the host. */
#define AGAIN_FIRST_MS 100
#define AGAIN_MAX_MS   5000
/* One that lived so long did not die of its start. */
#define LIVED_MS 60000

/* In the child: everything but its own descriptors and the standard ones goes. */
static void close_others(const int *keep, size_t count)
{
	for (int from = 3;;) {
		int next = -1;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= from && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0) {
			(void)close_range((unsigned)from, ~0u, 0);
			return;
		}
		if (next > from)
			(void)close_range((unsigned)from, (unsigned)next - 1, 0);
		from = next + 1;
	}
}

static void NORETURN core_run(const struct keeper *k, int keeper_fd)
{
	struct core_boot core = {
		.client_fd = k->boot->client_fd,
		.agent_fd = k->listener.agent_fd,
		.admin_fd = k->listener.admin_fd,
		.keeper_fd = keeper_fd,
		.profiles = k->boot->profiles,
		.config = k->boot->config,
		.as_root = k->lane.ranged,
		.uid = k->lane.ranged ? k->lane.first_id + LANE_CORE : k->lane.uid,
		.next_gen = k->last_gen + 1,
		.restarts = k->core_starts,
		.cgroup = k->host.kind,
	};
	struct pollfd keeper = { keeper_fd, 0, 0 };

	snprintf(core.cgroup_why, sizeof(core.cgroup_why), "%s", k->host.why);
	snprintf(core.cgroup_fix, sizeof(core.cgroup_fix), "%s", k->host.fix);
	close_others((int[]){ core.client_fd, keeper_fd, core.agent_fd, core.admin_fd, log_fd() }, 5);
	(void)sigprocmask(SIG_SETMASK, &k->mask, NULL);
	/* Holds until core changes its credentials; core sets it again then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (poll(&keeper, 1, 0) != 0) /* hung up: the keeper died before that */
		_exit(1);
	exit(core_main(&core));
}

int keeper_core_start(struct keeper *k, struct err *err)
{
	const struct timeval patience = { .tv_sec = CORE_SEND_S };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "socketpair: %s", strerror(errno));
	k->core.sock = pair[0];
	_cleanup_close_ int theirs = pair[1];
	(void)setsockopt(k->core.sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	fflush(NULL);
	/* PRIV: the child becomes an id of its own by CAP_SETUID and CAP_SETGID, which we keep for that and for the zygotes' maps. */
	pid_t pid = fork();
	if (pid == 0)
		core_run(k, theirs);
	int r = pid < 0 ? -errno : 0;
	if (r == 0)
		k->core.pid = pid;
	if (r == 0 && (k->core.pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) < 0)
		r = -errno;
	if (r < 0) {
		k->core.sock = fd_close(k->core.sock);
		return err_set(err, ERR_HOST, -r, "keeper", "cannot start core: %s", strerror(-r));
	}
	k->core.started_ms = k->alive_ms = keeper_now_ms();
	k->core.again_ms = 0;
	k->core_ready = false;
	k->core_starts++;
	/* The client is core's alone: when core dies, the client must see the connection close. */
	k->boot->client_fd = fd_close(k->boot->client_fd);
	return 0;
}

void keeper_core_signal(const struct keeper *k, int sig)
{
	/* PRIV: CAP_KILL; our own child, by pidfd. */
	if (k->core.pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, k->core.pidfd, sig, NULL, 0);
}

static void again_set(struct keeper_child *c)
{
	int64_t now = keeper_now_ms(), pause = 0;

	if (now - c->started_ms >= LIVED_MS)
		c->failures = 0;
	if (c->failures > 0)
		pause = AGAIN_FIRST_MS << (c->failures < 7 ? c->failures - 1 : 6);
	c->failures++;
	c->again_ms = now + (pause < AGAIN_MAX_MS ? pause : AGAIN_MAX_MS);
}

/* "exit status 70", "signal 9"; SIGSYS is what a filter of our own (core_filter.h, audit_seal.c) sends. */
#define END_TEXT_MAX 100
static void end_print(const siginfo_t *info, char *ret, size_t cap)
{
	bool exited = info->si_code == CLD_EXITED;

	snprintf(ret, cap, "%s %d%s", exited ? "exit status" : "signal", info->si_status,
		 !exited && info->si_status == SIGSYS ? ", SIGSYS: it made a system call that its own filter refuses" : "");
}

static void core_end_private(struct keeper *k, const siginfo_t *info)
{
	char how[END_TEXT_MAX];

	if (info->si_code != CLD_EXITED && info->si_status == SIGSYS) {
		end_print(info, how, sizeof(how));
		log_event(LOG_CRIT, "core_ended", LOG_FIELDS(LOG_STR("end", how)), "core was ended (%s)", how);
	}
	k->over = true;
	if (k->status == 0)
		k->status = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
}

static void core_end_daemon(struct keeper *k, const siginfo_t *info)
{
	bool exited = info->si_code == CLD_EXITED, well = exited && info->si_status == 0;
	char how[END_TEXT_MAX];

	if (k->signals > 0) { /* one that was killed before it served anybody ended as it should */
		k->over = true;
		k->status = well || !k->core_ready ? 0 : outcome_exit_status(OUTCOME_INTERNAL_ERROR);
		return;
	}
	if (!k->served) {
		k->over = true;
		k->status = exited && !well ? info->si_status : outcome_exit_status(OUTCOME_INTERNAL_ERROR);
		return;
	}
	end_print(info, how, sizeof(how));
	again_set(&k->core);
	log_event(LOG_ERR, "core_ended", LOG_FIELDS(LOG_STR("end", how), LOG_NUM("failures", k->core.failures)),
		  "core ended by itself (%s); another one is started", how);
}

void keeper_core_ended(struct keeper *k)
{
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t)k->core.pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
		return;
	k->core.pid = 0;
	k->core.pidfd = fd_close(k->core.pidfd);
	k->core.sock = fd_close(k->core.sock);
	if (!k->daemon) {
		core_end_private(k, &info);
		return;
	}
	core_end_daemon(k, &info);
	if (!k->over)
		keeper_jails_end(k);
}

void keeper_core_again(struct keeper *k)
{
	struct err err = { 0 };

	if (keeper_core_start(k, &err) == 0)
		return;
	log_err(LOG_ERR, "core_start_failed", LOG_NONE, &err);
	k->core.started_ms = keeper_now_ms();
	again_set(&k->core);
}
