/* The hand-shake of a starting jail, core's half: zygote, cgroup, layers, the look
 * from outside, parking; and the filter's notifications afterwards. The jail's
 * half is jail/enter.c, the order of records stands in jail/status.h. */
#include "supervisor/jail_impl.h"

#include "jail/base/fd.h"
#include "supervisor/keeper_client.h"
#include "supervisor/pidfd.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static void jail_drain_status(struct jail *j);

static void on_spawned(struct jail *j, const struct zygote_msg *msg, int *pidfd)
{
	struct keeper_reply reply;
	struct status_rec go = { .magic = STATUS_MAGIC, .kind = STATUS_GO, .degraded = j->receipt.degraded | (j->fn ? STATUS_HURRY : 0) };
	struct status_rec joined = { .magic = STATUS_MAGIC, .kind = STATUS_JOINED };
	struct err err;

	if (msg->err) {
		/* One that ended before its map was written has said in which layer. */
		jail_drain_status(j);
		jail_fail_text(j, LAYER_USER, msg->err, "new namespaces for a jail");
		/* There is no process whose end would be told. */
		event_active(j->timer, EV_TIMEOUT, 0);
		return;
	}
	j->fork_ns = msg->fork_ns;
	j->pidfd = fd_take(pidfd);
	j->pid = pidfd_pid(j->pidfd);
	if (j->pid <= 0) {
		jail_fail_text(j, LAYER_PID, ESRCH, "the jail's process");
		return;
	}
	if (j->state != JAIL_SPAWNING) /* given up meanwhile: its status socket is closed, so it leaves instead of entering */
		return;
	j->state = JAIL_ENTERING;
	/* It enters its layers while the keeper moves it; JOINED lets it go past the one that must come after. */
	if (fd_send(j->status_fd, &go, sizeof(go), NULL, 0) < 0) {
		jail_fail_text(j, LAYER_PID, EPIPE, "the jail left before it entered its layers");
	} else if (j->groups) {
		return;
	} else if (keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_JOIN, j->slot, j->pidfd, &reply, &err) < 0) {
		jail_drain_status(j); /* gone already? Then it said why */
		jail_fail(j, LAYER_CGROUP, &err);
	} else {
		(void)fd_send(j->status_fd, &joined, sizeof(joined), NULL, 0); /* if it left, its end is on the way */
	}
}

/* RECV cannot block here: poll says that a request waits, and one whose sender
 * has died since is answered with ENOENT (seccomp_notify_recv in kernel/seccomp.c). */
static void note_denied(struct jail *j, const struct seccomp_notif *notif)
{
	if (j->denied)
		return;
	j->denied = true;
	j->denied_arch = notif->data.arch;
	j->denied_nr = notif->data.nr;
	j->denied_pid = (pid_t)notif->pid;
	jail_tell(j, JAIL_NEWS_DENIED);
}

/* The caller gave up waiting (a signal), or died, before we could look. A call that only an attack makes was made all the
 * same; which one is not known then. */
static void note_denied_unseen(struct jail *j)
{
	const struct seccomp_notif unseen = { .data.nr = -1 };

	note_denied(j, &unseen);
}

static void take_notification(struct jail *j)
{
	struct seccomp_notif notif = { 0 };

	if (ioctl(j->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notif) == 0)
		note_denied(j, &notif);
	else if (errno == ENOENT)
		note_denied_unseen(j);
	else if (errno != EINTR && errno != EAGAIN)
		jail_event_close(&j->listener_ev, &j->listener_fd);
}

/* The event says that one waited a moment ago. */
static void on_notification(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct jail *j = arg;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (poll(&p, 1, 0) == 0)
		note_denied_unseen(j);
	else
		jail_check_denied(j);
}

void jail_check_denied(struct jail *j)
{
	struct pollfd p = { .fd = j->listener_fd, .events = POLLIN };

	if (j->listener_fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	if (p.revents & POLLIN)
		take_notification(j);
	else /* hang-up: nobody runs under the filter any more */
		jail_event_close(&j->listener_ev, &j->listener_fd);
}

/* What the kernel says of the jail, against what the profile asks for. */
static bool receipt_holds(struct jail *j, uint32_t namespaces)
{
	const struct jail_spec *spec = j->zygote->spec;
	uint32_t slot_uid = j->core->boot->as_root ? j->zygote->first_host_uid + j->slot : 0;
	enum layer layer;
	struct err err;

	if (receipt_take_namespaces(namespaces, spec, &j->receipt, &layer, &err) == 0 &&
	    receipt_read(j->pid, spec, slot_uid, &j->receipt, &layer, &err) == 0)
		return true;
	jail_fail(j, layer, &err);
	return false;
}

static void on_inspected(struct jail *j, const struct zygote_msg *msg, int *fds, unsigned nfds)
{
	struct status_rec park = { .magic = STATUS_MAGIC, .kind = STATUS_PARK };

	if (msg->err || nfds < 2) {
		jail_fail_text(j, LAYER_SECCOMP, msg->err ? msg->err : EPROTO, "the notification listener");
		return;
	}
	j->listener_fd = fd_take(&fds[0]);
	j->tmp_fd = fd_take(&fds[1]);
	jail_watch(j, j->listener_fd, &j->listener_ev, on_notification);
	if (!receipt_holds(j, msg->namespaces))
		return;
	j->state = JAIL_PARKING;
	if (fd_send(j->status_fd, &park, sizeof(park), NULL, 0) < 0)
		jail_fail_text(j, LAYER_PID, EPIPE, "the jail left before it parked");
}

void jail_zygote_msg(struct zygote *z, const struct zygote_msg *msg, int *fds, unsigned nfds)
{
	struct jail *j;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z && j->seq == msg->seq)
			break;
	if (!j)
		return;
	if (msg->kind == ZY_SPAWNED && j->pidfd < 0 && j->state != JAIL_WAITING) {
		on_spawned(j, msg, &fds[0]);
	} else if (msg->kind == ZY_INSPECTED && j->state == JAIL_LOCKED) {
		on_inspected(j, msg, fds, nfds);
	} else if (msg->kind == ZY_EXITED && !j->ended) {
		jail_drain_status(j); /* FAILED and ENDED were sent before the end that we hear of */
		if (j->state < JAIL_PARKED)
			jail_fail_text(j, LAYER_PID, 0, "the jail died while it was being set up");
		j->cpu_us = msg->cpu_us;
		jail_ended(j, true, msg->wait_status);
	}
}

static struct jail *oldest_waiting(const struct zygote *z)
{
	struct jail *j, *oldest = NULL;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z && j->state == JAIL_WAITING && (!oldest || j->seq < oldest->seq))
			oldest = j;
	return oldest;
}

/* In the order in which the keeper made their groups, which is the order in which the zygote gets them. */
static void spawn_waiting(struct zygote *z)
{
	struct jail *j;

	while (z->state == ZYGOTE_READY && (j = oldest_waiting(z))) {
		struct zygote_msg msg = { .kind = ZY_SPAWN, .seq = j->seq, .slot = j->slot, .groups = j->groups };
		int fds[ZSPAWN_FDS];

		memcpy(fds, j->child_fds, sizeof(fds));
		j->state = JAIL_SPAWNING;
		zygote_send(z, &msg, fds, ZSPAWN_FDS);
		for (int i = 0; i < ZSPAWN_FDS; i++)
			j->child_fds[i] = fd_close(j->child_fds[i]);
	}
}

void jail_zygote_changed(struct zygote *z)
{
	struct jail *j, *next;

	spawn_waiting(z);
	for (j = LIST_FIRST(&z->core->jails); j; j = next) {
		next = LIST_NEXT(j, link);
		if (j->zygote != z)
			continue;
		if (z->state == ZYGOTE_DEAD && j->state != JAIL_GONE) {
			/* Its PID namespace died with it: no process of this jail is left. */
			if (j->state < JAIL_DYING) /* else its end was decided before, and stays what it was */
				j->internal = !z->start_failed;
			if (j->state < JAIL_PARKED)
				jail_fail(j, z->failed_layer, &z->why);
			if (j->internal)
				j->why = z->why;
			jail_kill(j);
			/* Last: jail_kill() sets this timer, and there is nothing to wait for. */
			event_active(j->timer, EV_TIMEOUT, 0);
		}
	}
}

/* ---- from the jail ---- */

static void on_locked(struct jail *j, const struct status_rec *rec)
{
	struct zygote_msg msg = { .kind = ZY_INSPECT, .seq = j->seq, .listener_fd = rec->listener_fd };
	struct keeper_reply reply;
	struct err err;

	if (rec->degraded & ~j->zygote->spec->best_effort) {
		jail_fail_text(j, LAYER_USER, EPROTO, "a layer is missing that the profile requires");
		return;
	}
	j->receipt.degraded |= rec->degraded;
	j->receipt.landlock_abi = rec->landlock_abi;
	j->state = JAIL_LOCKED;
	zygote_send(j->zygote, &msg, NULL, 0);
	/* The jail says that it entered its groups; the keeper sees. */
	if (j->groups && j->state == JAIL_LOCKED &&
	    keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_PROVE, j->slot, j->pidfd, &reply, &err) < 0)
		jail_fail(j, LAYER_CGROUP, &err);
}

static void on_parked(struct jail *j, const struct status_rec *rec)
{
	struct err err;

	memcpy(j->stage_ns, rec->stage_ns, sizeof(j->stage_ns));
	j->spawn_ns = core_now_ns() - j->spawn_ns;
	if (jail_count_from_here(j, &err) < 0) {
		jail_fail(j, LAYER_CGROUP, &err);
		return;
	}
	j->state = JAIL_PARKED;
	j->parked_ns = core_now_ns();
	event_del(j->timer);
	/* An init above the tool still has its end of the socket: it tells how the tool ended. */
	if (!(j->zygote->spec->flags & SPEC_INIT))
		jail_event_close(&j->status_ev, &j->status_fd);
	jail_tell(j, JAIL_NEWS_PARKED);
}

static void on_failed(struct jail *j, struct status_rec *rec)
{
	struct err e;
	enum layer layer = rec->layer >= 0 && rec->layer < LAYER_COUNT ? (enum layer)rec->layer : LAYER_USER;

	rec->op[STATUS_OP_MAX - 1] = '\0';
	err_set(&e, ERR_HOST, rec->err, layer_name(layer), "%s: %s (%s)", rec->op, rec->err ? strerror(rec->err) : "it must not be so",
		stage_name((enum stage)(rec->stage < STAGE_COUNT ? rec->stage : STAGE_START)));
	jail_fail(j, layer, &e);
}

/* Returns false when there is nothing more to read. */
static bool take_status(struct jail *j)
{
	struct status_rec rec;
	int r = j->status_fd < 0 ? 0 : fd_recv(j->status_fd, &rec, sizeof(rec), NULL, 0, NULL, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return false;
	if (r == -ECONNRESET) /* it died with a record of ours unread; why comes after that */
		return true;
	if (r <= 0 || rec.magic != STATUS_MAGIC) {
		/* The end itself is told by the zygote, with the wait status. */
		if (j->status_ev)
			event_free(take_ptr(j->status_ev));
		return false;
	}
	if (rec.kind == STATUS_LOCKED && j->state == JAIL_ENTERING)
		on_locked(j, &rec);
	else if (rec.kind == STATUS_PARKED && j->state == JAIL_PARKING)
		on_parked(j, &rec);
	else if (rec.kind == STATUS_FAILED && j->state < JAIL_PARKED)
		on_failed(j, &rec);
	else if (rec.kind == STATUS_ENDED && j->state >= JAIL_PARKED && !j->tool_ended) {
		j->tool_ended = j->exited = true;
		j->wait_status = rec.err;
	} else if (j->state < JAIL_PARKED) {
		jail_fail_text(j, LAYER_PID, EPROTO, "the jail sent a record out of turn");
	}
	return true;
}

static void jail_drain_status(struct jail *j)
{
	while (take_status(j))
		;
}

void jail_on_status(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	jail_drain_status(arg);
}
