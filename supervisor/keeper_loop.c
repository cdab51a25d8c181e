/* The keeper's loop: messages, signals, ends of children, and what is due by the clock. */
#include "supervisor/keeper.h"

#include "jail/base/fd.h"
#include "jail/base/names.h"
#include "supervisor/core.h"
#include "supervisor/keeper_proto.h"
#include "supervisor/log.h"
#include "supervisor/notify.h"

#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>

/* Time for core to answer its clients once it has to go. */
#define CORE_LEAVE_MS 2000
/* After SIGKILL: how often we look whether core is gone. */
#define KILL_AGAIN_MS 100

enum { AT_CORE_SOCK, AT_SIGNAL, AT_CORE, AT_AUDIT_SOCK, AT_AUDIT, AT_COURIER_SOCK, AT_COURIER, AT_ZYGOTES, AT_END = AT_ZYGOTES + KEEPER_ZYGOTES };

static void leave_within(struct keeper *k, int64_t ms)
{
	k->leave_ms = keeper_now_ms() + ms;
	if (k->core.pidfd < 0)
		k->over = true;
}

/* A private supervisor has one call at most and a client that waits: there is nothing to drain. */
static void leave_private(struct keeper *k)
{
	keeper_child_signal(&k->core, k->leave_ms ? SIGKILL : SIGTERM);
	if (!k->leave_ms)
		leave_within(k, CORE_LEAVE_MS);
}

/* First: what runs may end. Second: it is ended and answered. Third: no more of this. */
static void leave_daemon(struct keeper *k)
{
	static const int says[] = { CORE_SIGNAL_DRAIN, CORE_SIGNAL_LEAVE, SIGKILL };
	unsigned i = k->signals < ARRAY_LEN(says) ? k->signals : ARRAY_LEN(says) - 1;

	if (i == 0) {
		notify_send("STOPPING=1\nSTATUS=Draining: running calls may end within %u ms", k->boot->config.drain_ms);
		log_event(LOG_NOTICE, "draining", LOG_NONE, "draining, for at most %u ms", k->boot->config.drain_ms);
	}
	k->signals++;
	keeper_child_signal(&k->core, k->core_ready ? says[i] : SIGKILL);
	leave_within(k, i == 0 ? (int64_t)k->boot->config.drain_ms + CORE_LEAVE_MS : CORE_LEAVE_MS);
}

/* Core asks us to read again; one that is not ready yet would die of the signal. */
static void reload(struct keeper *k)
{
	k->reload_due = !k->core_ready;
	if (k->core_ready)
		keeper_child_signal(&k->core, SIGHUP);
}

static void on_signal(struct keeper *k)
{
	struct signalfd_siginfo sig;

	if (read(k->signal_fd, &sig, sizeof(sig)) != sizeof(sig))
		return;
	if (!k->daemon)
		leave_private(k);
	else if (sig.ssi_signo == SIGHUP)
		reload(k);
	else
		leave_daemon(k);
}

static void on_core_msg(struct keeper *k)
{
	int r = keeper_serve(k);

	if (r == 0)
		return;
	if (r < 0) {
		log_event(LOG_CRIT, "core_broke_protocol", LOG_NONE, "core broke the protocol (%s); ending %s", strerror(-r),
			  k->daemon ? "it" : "all");
		if (!k->daemon)
			k->status = outcome_exit_status(OUTCOME_INTERNAL_ERROR);
		keeper_child_signal(&k->core, SIGKILL);
	}
	k->core.sock = fd_close(k->core.sock);
	if (!k->leave_ms)
		k->leave_ms = keeper_now_ms() + CORE_LEAVE_MS;
}

/* Whatever held us up (a stopped machine, a suspended guest) held core up, too. */
static void core_check_alive(struct keeper *k, int64_t now, int64_t waited)
{
	if (waited > 2 * CORE_ALIVE_MS)
		k->alive_ms = now;
	if (!k->daemon || k->core.pidfd < 0 || now - k->alive_ms < CORE_HUNG_MS)
		return;
	log_event(LOG_CRIT, "core_hung", LOG_NONE, "core has said nothing for %lld s; ending it", (long long)(now - k->alive_ms) / 1000);
	k->alive_ms = now;
	keeper_child_signal(&k->core, SIGKILL);
}

static void do_what_is_due(struct keeper *k, int64_t now, int64_t waited)
{
	core_check_alive(k, now, waited);
	if (k->leave_ms && now >= k->leave_ms)
		keeper_child_signal(&k->core, SIGKILL);
	if (k->core.again_ms && now >= k->core.again_ms)
		keeper_core_again(k);
	if (k->audit.again_ms && now >= k->audit.again_ms)
		keeper_audit_again(k);
	if (k->courier.again_ms && now >= k->courier.again_ms)
		keeper_courier_again(k);
	if (k->reload_due && k->core_ready)
		reload(k);
}

/* Until when poll() may sleep; -1: for ever. */
static int wait_ms(const struct keeper *k, int64_t now)
{
	int64_t wait = k->daemon ? CORE_ALIVE_MS : INT64_MAX;

	if (k->leave_ms && k->leave_ms - now < wait)
		wait = k->leave_ms > now ? k->leave_ms - now : KILL_AGAIN_MS;
	const int64_t starts[] = { k->core.again_ms, k->audit.again_ms, k->courier.again_ms };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (starts[i] && starts[i] - now < wait)
			wait = starts[i] > now ? starts[i] - now : 0;
	return wait == INT64_MAX ? -1 : (int)wait;
}

static void fds_fill(const struct keeper *k, struct pollfd fds[AT_END])
{
	fds[AT_CORE_SOCK] = (struct pollfd){ k->core.sock, POLLIN, 0 };
	fds[AT_SIGNAL] = (struct pollfd){ k->signal_fd, POLLIN, 0 };
	fds[AT_CORE] = (struct pollfd){ k->core.pidfd, POLLIN, 0 };
	fds[AT_AUDIT_SOCK] = (struct pollfd){ k->audit.sock, POLLIN, 0 };
	fds[AT_AUDIT] = (struct pollfd){ k->audit.pidfd, POLLIN, 0 };
	fds[AT_COURIER_SOCK] = (struct pollfd){ k->courier.sock, POLLIN, 0 };
	fds[AT_COURIER] = (struct pollfd){ k->courier.pidfd, POLLIN, 0 };
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		fds[AT_ZYGOTES + i] = (struct pollfd){ k->zygotes[i].pidfd, POLLIN, 0 };
}

static void zygotes_reap(struct keeper *k)
{
	for (unsigned i = 0; i < KEEPER_ZYGOTES; i++)
		if (k->zygotes[i].pidfd >= 0)
			(void)zygote_reap(&k->zygotes[i]);
}

void keeper_loop(struct keeper *k)
{
	struct pollfd fds[AT_END];
	int64_t before = keeper_now_ms();

	while (!k->over) {
		fds_fill(k, fds);
		int n = poll(fds, ARRAY_LEN(fds), wait_ms(k, before));
		int64_t now = keeper_now_ms();
		if (n < 0 && errno != EINTR) {
			log_event(LOG_CRIT, "keeper_failed", LOG_NONE, "poll: %m; ending");
			k->status = outcome_exit_status(OUTCOME_INTERNAL_ERROR);
			return; /* whoever called us ends core, too */
		}
		if (n > 0 && fds[AT_SIGNAL].revents)
			on_signal(k);
		if (n > 0 && fds[AT_CORE_SOCK].revents)
			on_core_msg(k);
		if (n > 0 && fds[AT_CORE].revents)
			keeper_core_ended(k);
		if (n > 0 && fds[AT_AUDIT_SOCK].revents)
			keeper_audit_msg(k);
		if (n > 0 && fds[AT_AUDIT].revents)
			keeper_audit_ended(k);
		if (n > 0 && fds[AT_COURIER_SOCK].revents)
			keeper_courier_msg(k);
		if (n > 0 && fds[AT_COURIER].revents)
			keeper_courier_ended(k);
		zygotes_reap(k);
		do_what_is_due(k, now, now - before);
		before = keeper_now_ms();
	}
}
