/* How a daemon's core hears of its end from the keeper and shows that it lives. */
#include "supervisor/approvals.h"
#include "supervisor/core_state.h"

#include "supervisor/keeper_client.h"

#include <stdio.h>
#include <sys/time.h>

enum { EV_DRAIN, EV_LEAVE, EV_HUP, EV_ALIVE, EV_DEADLINE };

static struct timeval ms_timeval(uint32_t ms)
{
	return (struct timeval){ .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
}

void core_drain(struct core *core)
{
	core->draining = true;
	approvals_release(core);
}

void core_stop(struct core *core)
{
	struct timeval most = ms_timeval(core->boot->config.drain_ms);

	core_drain(core);
	core->stopping = true;
	if (evtimer_add(core->life_evs[EV_DEADLINE], &most) < 0)
		core_leave(core);
	core_leave_if_idle(core);
}

static void on_drain(evutil_socket_t sig UNUSED, short what UNUSED, void *arg)
{
	core_stop(arg);
}

static void on_leave(evutil_socket_t sig UNUSED, short what UNUSED, void *arg)
{
	struct core *core = arg;

	core->stopping = true;
	core_leave(core);
}

static void on_reload(evutil_socket_t sig UNUSED, short what UNUSED, void *arg)
{
	struct err err;

	(void)core_reload(arg, &err); /* it logs */
}

static void on_alive(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct core *core = arg;
	struct keeper_msg msg = { .kind = KP_ALIVE };
	struct keeper_reply reply;

	(void)keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, NULL, 0, NULL);
}

int core_life_open(struct core *core, struct err *err)
{
	const struct timeval alive = ms_timeval(CORE_ALIVE_MS);
	struct keeper_msg msg = { .kind = KP_READY };
	struct keeper_reply reply;
	struct event **ev = core->life_evs;

	/* A terminal or a service manager may send these to every process of ours: the keeper alone decides. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	ev[EV_DRAIN] = evsignal_new(core->base, CORE_SIGNAL_DRAIN, on_drain, core);
	ev[EV_LEAVE] = evsignal_new(core->base, CORE_SIGNAL_LEAVE, on_leave, core);
	ev[EV_HUP] = evsignal_new(core->base, SIGHUP, on_reload, core);
	ev[EV_ALIVE] = event_new(core->base, -1, EV_PERSIST, on_alive, core);
	ev[EV_DEADLINE] = evtimer_new(core->base, on_leave, core);
	if (!ev[EV_DRAIN] || !ev[EV_LEAVE] || !ev[EV_HUP] || !ev[EV_ALIVE] || !ev[EV_DEADLINE] || event_add(ev[EV_DRAIN], NULL) < 0 ||
	    event_add(ev[EV_LEAVE], NULL) < 0 || event_add(ev[EV_HUP], NULL) < 0 || event_add(ev[EV_ALIVE], &alive) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "core", "cannot watch for signals");
	return keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, NULL, 0, err);
}

void core_life_close(struct core *core)
{
	for (size_t i = 0; i < ARRAY_LEN(core->life_evs); i++)
		if (core->life_evs[i])
			event_free(core->life_evs[i]);
}
