/* The keeper's life: start-up in the one order that is safe, the loop, the end. */
#include "supervisor/keeper.h"

#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "supervisor/core.h"
#include "supervisor/log.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Time for core to answer its client after a signal or when it has hung up. */
#define CORE_LEAVE_MS 2000
/* A core that does not read its answers is broken; the keeper must stay able to end it. */
#define CORE_SEND_S 5
/* Members get SIGKILL; what is left after this is stuck in the kernel, and swept by the next start. */
#define END_WAIT_MS 2000u

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int failed(const struct err *err)
{
	log_err(LOG_ERR, "start_failed", LOG_NONE, err);
	return outcome_exit_status(err->code == EBUSY ? OUTCOME_BUSY : OUTCOME_SETUP_FAILED);
}

static void keeper_init(struct keeper *k)
{
	memset(k, 0, sizeof(*k));
	k->lane.lock_fd = k->lane.dir_fd = -1;
	k->listener = (struct listener){ -1, -1, -1, -1 };
	k->lifeline[0] = k->lifeline[1] = k->image_fd = k->signal_fd = k->core_sock = k->core_pidfd = -1;
	for (int i = 0; i < CGROUP_DIRS; i++)
		k->host.base[i] = -1;
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		k->zygotes[i].pidfd = -1;
}

/* In the child: everything but its own descriptors and the standard ones goes. */
static void core_close_others(const int *keep, size_t count)
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

static void NORETURN core_run(struct keeper *k, const struct keeper_boot *boot, int keeper_fd, const sigset_t *mask)
{
	struct core_boot core = {
		.client_fd = boot->client_fd,
		.agent_fd = k->listener.agent_fd,
		.admin_fd = k->listener.admin_fd,
		.keeper_fd = keeper_fd,
		.profiles = boot->profiles,
		.config = boot->config,
		.as_root = k->lane.ranged,
		.uid = k->lane.ranged ? k->lane.first_id + LANE_CORE : k->lane.uid,
	};
	struct pollfd keeper = { keeper_fd, 0, 0 };

	snprintf(core.cgroup_why, sizeof(core.cgroup_why), "%s", k->host.why);
	snprintf(core.cgroup_fix, sizeof(core.cgroup_fix), "%s", k->host.fix);
	core_close_others((int[]){ core.client_fd, keeper_fd, core.agent_fd, core.admin_fd, log_fd() }, 5);
	(void)sigprocmask(SIG_SETMASK, mask, NULL);
	/* Holds until core changes its credentials; core sets it again then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (poll(&keeper, 1, 0) != 0) /* hung up: the keeper died before that */
		_exit(1);
	exit(core_main(&core));
}

static int core_start(struct keeper *k, struct keeper_boot *boot, const sigset_t *mask, struct err *err)
{
	const struct timeval patience = { .tv_sec = CORE_SEND_S };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "socketpair: %s", strerror(errno));
	k->core_sock = pair[0];
	_cleanup_close_ int theirs = pair[1];
	(void)setsockopt(k->core_sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	fflush(NULL);
	k->core_pid = fork();
	if (k->core_pid < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "fork: %s", strerror(errno));
	if (k->core_pid == 0)
		core_run(k, boot, theirs, mask);
	k->core_pidfd = (int)syscall(SYS_pidfd_open, k->core_pid, 0);
	if (k->core_pidfd < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "pidfd_open: %s", strerror(errno));
	/* The client is core's alone: when core dies, the client must see the connection close. */
	boot->client_fd = fd_close(boot->client_fd);
	return 0;
}

static int host_open(struct keeper *k, const struct keeper_boot *boot, struct err *err)
{
	int r = lane_take(&k->lane, err);

	if (r < 0)
		return r;
	/* PRIV: root's supplementary groups would follow into every process that we make. */
	if (k->lane.ranged && setgroups(0, NULL) < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "cannot drop supplementary groups: %s", strerror(errno));
	cgroup_host_open(&k->host, k->lane.name, boot->client_pid);
	cgroup_sweep(&k->host, lane_is_alive, &k->lane);
	k->image_fd = zygote_image_open(boot->zygote_path, err);
	return k->image_fd < 0 ? k->image_fd : 0;
}

static int signals_open(struct keeper *k, sigset_t *ret_old, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE); /* never read: only kept from killing us */
	(void)sigprocmask(SIG_BLOCK, &set, ret_old);
	sigdelset(&set, SIGPIPE);
	k->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signal_fd < 0 ? err_set(err, ERR_HOST, errno, "keeper", "signalfd: %s", strerror(errno)) : 0;
}

static int start(struct keeper *k, struct keeper_boot *boot, struct err *err)
{
	sigset_t mask;
	int r = signals_open(k, &mask, err);

	/* Dead zygotes are ours to reap even where whoever started us ignores the signal (ignored means reaped unseen). */
	(void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	if (r == 0)
		r = host_open(k, boot, err);
	if (r == 0 && boot->client_fd < 0)
		r = listener_open(&k->listener, &boot->config, err);
	if (r == 0)
		r = core_start(k, boot, &mask, err);
	/* After the fork of core, which must not hold the end whose closing tells zygotes that we died. */
	if (r == 0 && pipe2(k->lifeline, O_CLOEXEC) < 0)
		r = err_set(err, ERR_HOST, errno, "keeper", "pipe: %s", strerror(errno));
	return r == 0 ? keeper_caps_drop(k->lane.ranged, err) : r;
}

static void core_signal(const struct keeper *k, int sig)
{
	/* PRIV: CAP_KILL; our own child, by pidfd. */
	if (k->core_pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, k->core_pidfd, sig, NULL, 0);
}

static void core_reap(struct keeper *k)
{
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t)k->core_pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
		return;
	k->core_gone = true;
	if (k->status == 0)
		k->status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

enum { AT_CORE_SOCK, AT_SIGNAL, AT_CORE, AT_ZYGOTES };

static void zygotes_reap(struct keeper *k)
{
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		if (k->zygotes[i].pidfd >= 0)
			(void)zygote_reap(&k->zygotes[i]);
}

/* Until core is gone. `deadline` is when it has to be, once something said so. */
static void loop(struct keeper *k)
{
	struct pollfd fds[AT_ZYGOTES + KEEPER_ZYGOTES];
	struct signalfd_siginfo sig;
	int64_t deadline = 0;

	while (!k->core_gone) {
		int64_t now = now_ms();
		if (deadline && now >= deadline)
			core_signal(k, SIGKILL);
		fds[AT_CORE_SOCK] = (struct pollfd){ k->core_sock, POLLIN, 0 };
		fds[AT_SIGNAL] = (struct pollfd){ k->signal_fd, POLLIN, 0 };
		fds[AT_CORE] = (struct pollfd){ k->core_pidfd, POLLIN, 0 };
		for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
			fds[AT_ZYGOTES + i] = (struct pollfd){ k->zygotes[i].pidfd, POLLIN, 0 };
		int wait = !deadline ? -1 : now >= deadline ? 100 : (int)(deadline - now);
		if (poll(fds, ARRAY_LEN(fds), wait) < 0) {
			if (errno == EINTR)
				continue;
			log_event(LOG_CRIT, "keeper_failed", LOG_NONE, "poll: %m; ending");
			k->status = outcome_exit_status(OUTCOME_INTERNAL_ERROR);
			return; /* finish() ends core, too */
		}
		if (fds[AT_SIGNAL].revents && read(k->signal_fd, &sig, sizeof(sig)) == sizeof(sig)) {
			core_signal(k, deadline ? SIGKILL : SIGTERM);
			deadline = deadline ? deadline : now + CORE_LEAVE_MS;
		}
		if (fds[AT_CORE_SOCK].revents) {
			int r = keeper_serve(k);
			if (r < 0) {
				log_event(LOG_CRIT, "core_broke_protocol", LOG_NONE, "core broke the protocol (%s); ending", strerror(-r));
				k->status = outcome_exit_status(OUTCOME_INTERNAL_ERROR);
				core_signal(k, SIGKILL);
			}
			if (r != 0) {
				k->core_sock = fd_close(k->core_sock);
				deadline = deadline ? deadline : now + CORE_LEAVE_MS;
			}
		}
		if (fds[AT_CORE].revents)
			core_reap(k);
		zygotes_reap(k);
	}
}

static void finish(struct keeper *k)
{
	if (k->core_pid > 0 && !k->core_gone) { /* start-up failed after the fork */
		(void)kill(k->core_pid, SIGKILL);
		(void)waitpid(k->core_pid, NULL, 0);
	}
	k->core_sock = fd_close(k->core_sock);
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++) /* all at once first, then one wait after the other */
		if (k->zygotes[i].pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, k->zygotes[i].pidfd, SIGKILL, NULL, 0);
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		(void)zygote_stop(&k->zygotes[i]);
	for (unsigned i = 0; i < LIMIT_SLOTS; i++)
		(void)cgroup_free(&k->slots[i], END_WAIT_MS, NULL);
	cgroup_host_close(&k->host);
	for (int i = 0; i < 2; i++)
		k->lifeline[i] = fd_close(k->lifeline[i]);
	k->image_fd = fd_close(k->image_fd);
	k->signal_fd = fd_close(k->signal_fd);
	k->core_pidfd = fd_close(k->core_pidfd);
	lane_release(&k->lane); /* last: whoever takes the lane next finds nothing of ours */
}

int keeper_main(struct keeper_boot *boot)
{
	struct keeper k;
	struct err err = { 0 };

	keeper_init(&k);
	(void)prctl(PR_SET_NAME, "brigd: keeper", 0, 0, 0);
	/* A private supervisor speaks to a user at his terminal: only of what went wrong. */
	log_open(boot->config.log_format, boot->client_fd < 0 ? (int)boot->config.log_level : LOG_ERR, NULL);
	log_process("keeper");
	if (start(&k, boot, &err) < 0) {
		finish(&k);
		listener_close(&k.listener, &boot->config);
		return failed(&err);
	}
	log_event(LOG_INFO, "started", LOG_FIELDS(LOG_STR("run_dir", boot->config.run_dir), LOG_STR("state_dir", boot->config.state_dir)),
		  "brigd is up");
	loop(&k);
	finish(&k);
	log_event(LOG_INFO, "stopped", LOG_FIELDS(LOG_NUM("status", k.status)), "brigd has ended");
	listener_close(&k.listener, &boot->config);
	return k.status;
}
