#include "supervisor/core.h"

#include "supervisor/approvals.h"
#include "supervisor/audit_client.h"
#include "supervisor/call.h"
#include "supervisor/core_filter.h"
#include "supervisor/courier_client.h"
#include "supervisor/core_seal.h"
#include "supervisor/doctor.h"
#include "supervisor/drain.h"
#include "supervisor/drop.h"
#include "supervisor/gate_memory.h"
#include "supervisor/jail.h"
#include "supervisor/keeper_client.h"
#include "supervisor/lane.h"
#include "supervisor/load.h"
#include "supervisor/log.h"
#include "supervisor/metrics.h"
#include "supervisor/policy.h"
#include "supervisor/pool.h"
#include "supervisor/profile_cache.h"
#include "supervisor/sched.h"
#include "supervisor/server.h"
#include "supervisor/tool_watch.h"
#include "supervisor/session.h"
#include "supervisor/store.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

uint64_t core_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void core_leave_if_idle(struct core *core)
{
	if (core->draining && LIST_EMPTY(&core->calls))
		drain_answer(core);
	if (core->stopping && !core->leaving && LIST_EMPTY(&core->calls))
		core_leave(core);
	else if (core->leaving && LIST_EMPTY(&core->jails) && LIST_EMPTY(&core->calls))
		event_base_loopbreak(core->base);
}

void core_leave(struct core *core)
{
	struct call *c, *next_call;
	struct jail *j, *next_jail;

	if (core->leaving)
		return;
	core->leaving = core->draining = true;
	session_end_all(core, "brigd ended");
	for (c = LIST_FIRST(&core->calls); c; c = next_call) {
		next_call = LIST_NEXT(c, link);
		if (core->stopping)
			call_stop(c);
		else
			call_cancel(c);
	}
	for (j = LIST_FIRST(&core->jails); j; j = next_jail) {
		next_jail = LIST_NEXT(j, link);
		jail_kill(j);
	}
	core_leave_if_idle(core);
}

static int die(const char *what)
{
	log_event(LOG_CRIT, "core_failed", LOG_NONE, "%s: %m", what);
	return 70;
}

static int become_core(const struct core_boot *boot)
{
	struct err err;

	if (drop_privilege(boot->as_root, boot->uid, &err) < 0) {
		log_err(LOG_CRIT, "core_failed", LOG_NONE, &err);
		return 70;
	}
	/* The change of credentials cleared what the keeper had set; a keeper that died since shows as a closed keeper_fd. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return die("PDEATHSIG");
	doctor_probe(); /* sees more of the host than we shall from here on */
	errno = -core_seal();
	if (errno)
		return die("landlock");
	if (core_filter(&err) == 0)
		return 0;
	log_err(LOG_CRIT, "core_failed", LOG_NONE, &err);
	return 70;
}

static void free_all(struct core *core)
{
	struct zygote *z;

	pool_close(core);
	while ((z = LIST_FIRST(&core->zygotes)))
		zygote_free(z);
	core_life_close(core);
	approvals_close(core);
	gate_memory_free_all(core);
	drain_answer(core);
	session_free_all(core);
	server_close(core);
	sched_close(core);
	courier_close(core);
	audit_client_close(core);
	store_close(core->store);
	profile_cache_free(core->profiles);
	policy_free(core->policy);
	metrics_free(core->metrics);
	tool_watch_free(core->watch);
	event_base_free(core->base);
}

/* The keeper leaving means that nothing can be limited or killed any more: its end kills zygotes and jails. */
static void on_keeper(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct core *core = arg;
	char byte;

	/* EAGAIN: an answer that was taken before we came here. A message that nobody asked for is as bad as none. */
	if (recv(core->boot->keeper_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN)
		event_base_loopexit(core->base, NULL);
}

/* libevent counts a timer from the time at which its loop last woke up; limits count from now. */
static struct event_base *base_new(void)
{
	struct event_config *cfg = event_config_new();
	struct event_base *base = NULL;

	if (cfg && event_config_set_flag(cfg, EVENT_BASE_FLAG_NO_CACHE_TIME) == 0)
		base = event_base_new_with_config(cfg);
	if (cfg)
		event_config_free(cfg);
	return base;
}

int core_main(struct core_boot *boot)
{
	struct core core = { .boot = boot, .next_seq = 1, .next_gen = boot->next_gen, .started_ns = core_now_ns() };
	struct event *keeper;
	struct err err;
	int r;

	prctl(PR_SET_NAME, "brigd: core", 0, 0, 0);
	log_process("core");
	signal(SIGPIPE, SIG_IGN);
	if (boot->client_fd < 0)
		server_files_raise(&boot->config);
	r = become_core(boot);
	if (r)
		return r;
	if (courier_is_configured(&boot->config))
		core.slots_used = UINT64_C(1) << LANE_COURIER_SLOT; /* its id is the courier's */
	if (keeper_client_open(boot->keeper_fd) < 0)
		return die("keeper socket");
	core.base = base_new();
	core.profiles = profile_cache_new(boot->profiles);
	core.metrics = metrics_new(boot->restarts);
	if (core.profiles && boot->client_fd < 0 && !boot->checked && profile_cache_fill(core.profiles, &err) < 0) {
		log_err(LOG_CRIT, "profile_refused", LOG_NONE, &err);
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	if (load_policy_parse(boot->policy, &core.policy, &err) < 0) {
		log_err(LOG_CRIT, "policy_refused", LOG_NONE, &err);
		return outcome_exit_status(OUTCOME_SETUP_FAILED);
	}
	keeper = core.base ? event_new(core.base, boot->keeper_fd, EV_READ | EV_PERSIST, on_keeper, &core) : NULL;
	if (!core.profiles || !core.metrics || !keeper || event_add(keeper, NULL) < 0 || sched_open(&core) < 0 || pool_open(&core) < 0 ||
	    server_open(&core, &err) < 0)
		return die("event loop");
	if (audit_client_open(&core, &err) < 0 || (boot->client_fd < 0 && core_life_open(&core, &err) < 0)) {
		log_err(LOG_CRIT, "core_failed", LOG_NONE, &err);
		return 70;
	}
	core_note_policy(&core);
	event_base_dispatch(core.base);
	event_free(keeper);
	free_all(&core);
	profile_store_free(boot->profiles);
	profile_store_free(boot->policy);
	return 0;
}
