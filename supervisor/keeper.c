/* The keeper's start, in the one order that is safe, and its end. */
#include "supervisor/keeper.h"

#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "supervisor/log.h"
#include "supervisor/notify.h"

#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* Members get SIGKILL; what is left after this is stuck in the kernel, and swept by the next start. */
#define END_WAIT_MS 2000u

int64_t keeper_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int failed(const struct err *err)
{
	log_err(LOG_CRIT, "start_failed", LOG_NONE, err);
	return outcome_exit_status(err->code == EBUSY ? OUTCOME_BUSY : OUTCOME_SETUP_FAILED);
}

static void keeper_init(struct keeper *k, struct keeper_boot *boot)
{
	memset(k, 0, sizeof(*k));
	k->boot = boot;
	k->daemon = boot->client_fd < 0;
	k->lane.lock_fd = k->lane.dir_fd = -1;
	k->listener = (struct listener){ -1, -1, -1, -1 };
	k->core = k->audit = k->courier = (struct keeper_child){ .pidfd = -1, .sock = -1 };
	k->audit_dir = k->mounts_fd = k->courier_image = -1;
	for (int i = 0; i < STORE_FILES; i++)
		k->store_fd[i] = -1;
	k->lifeline[0] = k->lifeline[1] = k->image_fd = k->signal_fd = -1;
	for (int i = 0; i < CGROUP_DIRS; i++)
		k->host.base[i] = -1;
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		k->zygotes[i].pidfd = -1;
}

static int host_open(struct keeper *k, struct err *err)
{
	int r = lane_take(&k->lane, err);

	if (r < 0)
		return r;
	/* PRIV: root's supplementary groups would follow into every process that we make. */
	if (k->lane.ranged && setgroups(0, NULL) < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "cannot drop supplementary groups: %s", strerror(errno));
	cgroup_host_open(&k->host, k->lane.name, k->boot->client_pid);
	cgroup_sweep(&k->host, lane_is_alive, &k->lane);
	k->image_fd = zygote_image_open(k->boot->zygote_path, err);
	return k->image_fd < 0 ? k->image_fd : 0;
}

static int signals_open(struct keeper *k, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGPIPE); /* never read: only kept from killing us */
	(void)sigprocmask(SIG_BLOCK, &set, &k->mask);
	sigdelset(&set, SIGPIPE);
	k->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return k->signal_fd < 0 ? err_set(err, ERR_HOST, errno, "keeper", "signalfd: %s", strerror(errno)) : 0;
}

static int start(struct keeper *k, struct err *err)
{
	int r = signals_open(k, err);

	log_process("keeper");
	/* A private supervisor has a user at its standard error, whom the answers tell the rest. */
	log_open(k->daemon ? k->boot->config.log_format : LOG_TEXT, k->daemon ? (int)k->boot->config.log_level : LOG_CRIT, NULL);
	/* Dead children are ours to reap even where whoever started us ignores the signal (ignored means reaped unseen). */
	(void)sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	if (r == 0 && k->daemon && notify_open() < 0)
		r = err_set(err, ERR_CALLER, EINVAL, "notify", "NOTIFY_SOCKET is no address of a socket");
	/* Before the lane: a second daemon in this run directory is to be told that, and nothing else. */
	if (r == 0 && k->daemon)
		r = listener_open(&k->listener, &k->boot->config, err);
	if (r == 0)
		r = host_open(k, err);
	if (r == 0 && pipe2(k->lifeline, O_CLOEXEC) < 0)
		r = err_set(err, ERR_HOST, errno, "keeper", "pipe: %s", strerror(errno));
	if (r == 0 && k->daemon && k->boot->config.audit)
		r = keeper_audit_open(k, err);
	if (r == 0 && k->audit_dir >= 0)
		r = keeper_audit_start(k, err);
	if (r == 0 && k->daemon)
		r = keeper_courier_open(k, err);
	if (r == 0)
		r = keeper_mounts_open(k, err);
	if (r == 0)
		r = keeper_core_start(k, err);
	return r == 0 ? keeper_caps_drop(k->lane.ranged, err) : r;
}

void keeper_jails_end(struct keeper *k)
{
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++) /* all at once first, then one wait after the other */
		if (k->zygotes[i].pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, k->zygotes[i].pidfd, SIGKILL, NULL, 0);
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		(void)zygote_stop(&k->zygotes[i]);
	for (unsigned i = 0; i < LIMIT_SLOTS; i++)
		(void)cgroup_free(&k->slots[i], END_WAIT_MS, NULL);
}

static void finish(struct keeper *k)
{
	if (k->core.pid > 0) { /* start-up failed after the fork, or the loop did */
		(void)kill(k->core.pid, SIGKILL);
		(void)waitpid(k->core.pid, NULL, 0);
	}
	k->core.sock = fd_close(k->core.sock);
	k->core.pidfd = fd_close(k->core.pidfd);
	keeper_jails_end(k);
	keeper_courier_finish(k);
	keeper_audit_finish(k, k->signals > 0 ? "a signal told it to" : k->status ? "core could not go on" : "core ended");
	keeper_reload_drop(k);
	keeper_store_close(k);
	cgroup_host_close(&k->host);
	for (int i = 0; i < 2; i++)
		k->lifeline[i] = fd_close(k->lifeline[i]);
	k->image_fd = fd_close(k->image_fd);
	k->mounts_fd = fd_close(k->mounts_fd);
	k->signal_fd = fd_close(k->signal_fd);
	listener_close(&k->listener, &k->boot->config);
	lane_release(&k->lane); /* last: whoever takes the lane next finds nothing of ours */
}

int keeper_main(struct keeper_boot *boot)
{
	struct keeper k;
	struct err err = { 0 };

	keeper_init(&k, boot);
	(void)prctl(PR_SET_NAME, "brigd: keeper", 0, 0, 0);
	if (start(&k, &err) < 0) {
		finish(&k);
		return failed(&err);
	}
	keeper_loop(&k);
	finish(&k);
	log_event(LOG_INFO, "stopped", LOG_FIELDS(LOG_NUM("status", k.status)), "brigd has ended, and left nothing behind");
	return k.status;
}
