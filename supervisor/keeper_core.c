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
#include <sys/random.h>

static void NORETURN core_run(const struct keeper *k, int keeper_fd)
{
	struct core_boot core = {
		.client_fd = k->boot->client_fd,
		.agent_fd = k->listener.agent_fd,
		.admin_fd = k->listener.admin_fd,
		.keeper_fd = keeper_fd,
		.profiles = k->boot->profiles,
		.policy = k->boot->policy,
		.config = k->boot->config,
		.cgroup = k->host.kind,
		.as_root = k->lane.ranged,
		.uid = k->lane.ranged ? k->lane.first_id + LANE_CORE : k->lane.uid,
		.next_gen = k->last_gen + 1,
		.checked = k->served,
		.restarts = k->core_starts - 1,
	};
	struct pollfd keeper = { keeper_fd, 0, 0 };

	snprintf(core.cgroup_why, sizeof(core.cgroup_why), "%s", k->host.why);
	snprintf(core.cgroup_fix, sizeof(core.cgroup_fix), "%s", k->host.fix);
	keeper_close_others((int[]){ core.client_fd, keeper_fd, core.agent_fd, core.admin_fd, log_fd() }, 5);
	(void)sigprocmask(SIG_SETMASK, &k->mask, NULL);
	/* Holds until core changes its credentials; core sets it again then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (poll(&keeper, 1, 0) != 0) /* hung up: the keeper died before that */
		_exit(1);
	exit(core_main(&core));
}

int keeper_core_start(struct keeper *k, struct err *err)
{
	_cleanup_close_ int theirs = -1;

	/* What audit knows this core by, among all that ever were. */
	if (getrandom(&k->core_instance, sizeof(k->core_instance), 0) != sizeof(k->core_instance))
		return err_set(err, ERR_HOST, EIO, "keeper", "no random number");
	int r = keeper_child_pair(&k->core, &theirs, err);
	if (r < 0)
		return r;
	k->core_instance |= 1; /* never 0 */
	k->core_starts++;
	/* PRIV: the child becomes an id of its own by CAP_SETUID and CAP_SETGID, which we keep for that and for the zygotes' maps. */
	pid_t pid = fork();
	if (pid == 0)
		core_run(k, theirs);
	r = keeper_child_forked(&k->core, pid, "core", err);
	if (r < 0)
		return r;
	k->alive_ms = k->core.started_ms;
	k->core_ready = false;
	/* The client is core's alone: when core dies, the client must see the connection close. */
	k->boot->client_fd = fd_close(k->boot->client_fd);
	return 0;
}

static void core_end_private(struct keeper *k, const siginfo_t *info)
{
	if (info->si_code != CLD_EXITED && info->si_status == SIGSYS)
		log_event(LOG_CRIT, "core_ended", LOG_FIELDS(LOG_STR("end", k->core.end)), "core was ended (%s)", k->core.end);
	k->over = true;
	if (k->status == 0)
		k->status = info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
}

static void core_end_daemon(struct keeper *k, const siginfo_t *info)
{
	bool exited = info->si_code == CLD_EXITED, well = exited && info->si_status == 0;

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
	keeper_child_again(&k->core);
	log_event(LOG_ERR, "core_ended", LOG_FIELDS(LOG_STR("end", k->core.end), LOG_NUM("failures", k->core.failures)),
		  "core ended by itself (%s); another one is started", k->core.end);
}

void keeper_core_ended(struct keeper *k)
{
	siginfo_t info;

	if (!keeper_child_reap(&k->core, &info))
		return;
	k->leave_ms = k->signals ? k->leave_ms : 0;
	keeper_reload_drop(k);
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
	keeper_child_again(&k->core);
}
