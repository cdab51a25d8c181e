#include "supervisor/core.h"

#include "supervisor/call.h"
#include "supervisor/core_seal.h"
#include "supervisor/drain.h"
#include "supervisor/jail.h"
#include "supervisor/keeper_client.h"
#include "supervisor/profile_cache.h"
#include "supervisor/server.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/capability.h>
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
		drain_idle(core);
	if (core->leaving && LIST_EMPTY(&core->jails) && LIST_EMPTY(&core->calls))
		event_base_loopbreak(core->base);
}

void core_leave(struct core *core)
{
	struct call *c, *next_call;
	struct jail *j, *next_jail;

	core->leaving = true;
	for (c = LIST_FIRST(&core->calls); c; c = next_call) {
		next_call = LIST_NEXT(c, link);
		call_cancel(c, NULL);
	}
	for (j = LIST_FIRST(&core->jails); j; j = next_jail) {
		next_jail = LIST_NEXT(j, link);
		jail_kill(j);
	}
	core_leave_if_idle(core);
}

static int die(const char *what)
{
	fprintf(stderr, "brigd: core: %s: %m\n", what);
	return 70;
}

/* Becomes an id of its own without any capability, and proves that there is no way back. */
static int drop_privilege(const struct core_boot *boot)
{
	cap_t none;
	int r;

	if (boot->as_root) {
		/* PRIV: root's groups and ids go for good; boot->uid is this lane's and nobody else's. */
		if (setgroups(0, NULL) < 0 || setresgid(boot->uid, boot->uid, boot->uid) < 0 || setresuid(boot->uid, boot->uid, boot->uid) < 0)
			return die("give up root");
		if (setuid(0) == 0 || setgid(0) == 0) {
			errno = EPERM;
			return die("root could be had again");
		}
	}
	none = cap_init();
	if (!none || cap_set_proc(none) < 0)
		return die("give up capabilities");
	cap_free(none);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return die("no_new_privs");
	/* The change of credentials cleared what the keeper had set; a keeper that died since shows as a closed keeper_fd. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return die("PDEATHSIG");
	r = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	return r == 1 ? 0 : die("no_new_privs does not hold");
}

static void free_all(struct core *core)
{
	struct zygote *z;

	while ((z = LIST_FIRST(&core->zygotes)))
		zygote_free(z);
	server_close(core);
	drain_done(core);
	profile_cache_free(core->profiles);
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

int core_main(struct core_boot *boot)
{
	struct core core = { .boot = boot, .next_seq = 1, .next_gen = 1 };
	struct event *keeper;
	struct err err;
	int r;

	prctl(PR_SET_NAME, "brigd: core", 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	r = drop_privilege(boot);
	if (r)
		return r;
	errno = -core_seal();
	if (errno)
		return die("landlock");
	if (keeper_client_open(boot->keeper_fd) < 0)
		return die("keeper socket");
	core.base = event_base_new();
	core.profiles = profile_cache_new(boot->profiles);
	keeper = core.base ? event_new(core.base, boot->keeper_fd, EV_READ | EV_PERSIST, on_keeper, &core) : NULL;
	if (!core.profiles || !keeper || event_add(keeper, NULL) < 0 || server_open(&core, &err) < 0)
		return die("event loop");
	event_base_dispatch(core.base);
	event_free(keeper);
	free_all(&core);
	profile_store_free(boot->profiles);
	return 0;
}
