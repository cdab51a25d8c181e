#include "supervisor/jail.h"

#include "jail/base/fd.h"
#include "supervisor/keeper_client.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>

/* A jail parks within tens of milliseconds; under emulation and load within a few seconds. */
#define SETUP_MAX_S 30
/* A killed PID namespace is gone in milliseconds. After this long something is stuck in the kernel, and the slot stays taken. */
#define DEATH_MAX_S 10

static void jail_fail(struct jail *j, enum layer layer, const struct err *why);

const char *jail_state_name(enum jail_state state)
{
	static const char *const names[] = { "waiting", "spawning", "entering", "locked", "parking", "parked", "running", "dying", "gone" };

	return names[state];
}

static void tell(struct jail *j, enum jail_news news)
{
	if (j->fn)
		j->fn(j, news, j->arg);
}

static void close_event(struct event **ev, int *fd)
{
	if (*ev)
		event_free(take_ptr(*ev));
	*fd = fd_close(*fd);
}

static void watch(struct jail *j, int fd, struct event **ev, event_callback_fn fn)
{
	*ev = event_new(j->core->base, fd, EV_READ | EV_PERSIST, fn, j);
	if (*ev)
		event_add(*ev, NULL);
}

static void timer_set(struct jail *j, unsigned seconds)
{
	struct timeval tv = { .tv_sec = seconds };

	if (j->timer)
		evtimer_add(j->timer, &tv);
}

static void jail_close(struct jail *j)
{
	close_event(&j->status_ev, &j->status_fd);
	close_event(&j->listener_ev, &j->listener_fd);
	j->pidfd = fd_close(j->pidfd);
	j->tmp_fd = fd_close(j->tmp_fd);
	j->stdout_fd = fd_close(j->stdout_fd);
	j->stderr_fd = fd_close(j->stderr_fd);
	j->request_fd = fd_close(j->request_fd);
	j->result_fd = fd_close(j->result_fd);
	for (int i = 0; i < ZSPAWN_FDS; i++)
		j->child_fds[i] = fd_close(j->child_fds[i]);
}

static void jail_free(struct jail *j)
{
	LIST_REMOVE(j, link);
	jail_close(j);
	if (j->timer)
		event_free(j->timer);
	if (j->has_slot)
		j->core->slots_used &= ~(UINT64_C(1) << j->slot);
	free(j);
}

/* No longer on the way to PARKED, or not parked any more. */
static void uncount(struct jail *j)
{
	if (j->counted && j->state == JAIL_PARKED)
		j->zygote->parked--;
	else if (j->counted)
		j->zygote->starting--;
	j->counted = false;
}

static void jail_gone(struct jail *j)
{
	struct core *core = j->core;
	struct keeper_reply reply;

	if (j->has_cgroup && keeper_ask_slot(core->boot->keeper_fd, KP_CGROUP_DEL, j->slot, -1, &reply, NULL) == 0) {
		j->usage = reply.usage;
		j->usage_known = true;
	}
	j->has_cgroup = false;
	j->state = JAIL_GONE;
	tell(j, JAIL_NEWS_GONE);
	jail_free(j);
	core_leave_if_idle(core);
}

static void jail_ended(struct jail *j, bool exited, int wait_status)
{
	if (!j->tool_ended) {
		j->exited = exited;
		j->wait_status = wait_status;
	}
	uncount(j);
	j->state = JAIL_DYING;
	tell(j, JAIL_NEWS_ENDED);
	jail_gone(j);
}

void jail_kill(struct jail *j)
{
	struct keeper_reply reply;

	if (j->state >= JAIL_DYING)
		return;
	bool spawned = j->state > JAIL_WAITING;
	uncount(j);
	j->state = JAIL_DYING;
	j->killed = true;
	/* A child that has not joined its group yet waits for GO on this socket and leaves when it closes. */
	close_event(&j->status_ev, &j->status_fd);
	timer_set(j, DEATH_MAX_S);
	if (j->has_cgroup)
		(void)keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_KILL, j->slot, -1, &reply, NULL);
	if (!spawned) /* nothing to wait for; not from inside the owner's call */
		event_active(j->timer, EV_TIMEOUT, 0);
}

void jail_abandon(struct jail *j)
{
	j->fn = NULL;
	j->arg = NULL;
	jail_kill(j);
}

static void jail_fail(struct jail *j, enum layer layer, const struct err *why)
{
	if (j->state >= JAIL_DYING)
		return;
	j->failed = true;
	j->failed_layer = layer;
	j->why = *why;
	jail_kill(j);
	tell(j, JAIL_NEWS_FAILED);
}

static void fail_text(struct jail *j, enum layer layer, int code, const char *what)
{
	struct err e;

	err_set(&e, ERR_HOST, code, layer_name(layer), "%s%s%s", what, code ? ": " : "", code ? strerror(code) : "");
	jail_fail(j, layer, &e);
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct jail *j = arg;

	if (j->state >= JAIL_DYING)
		jail_ended(j, false, 0);
	else if (j->state < JAIL_PARKED)
		fail_text(j, LAYER_PID, ETIMEDOUT, "the jail was not ready in time");
}

/* ---- cgroup ---- */

static int make_cgroup(struct jail *j, struct err *err)
{
	const struct spec_limits *l = &j->zygote->spec->limits;
	struct core_boot *boot = j->core->boot;
	struct keeper_msg msg = { .kind = KP_CGROUP_NEW,
				  .slot = j->slot,
				  .limits = { l->memory_bytes, l->pids, l->cpu_quota_pct } };
	struct keeper_reply reply;
	int r = keeper_ask(boot->keeper_fd, &msg, -1, &reply, NULL, err);

	if (r < 0) {
		snprintf(err->where, sizeof(err->where), "%s", layer_name(LAYER_CGROUP));
		return r;
	}
	j->has_cgroup = true;
	j->receipt.cgroup = (enum cgroup_kind)(reply.cgroup_kind <= CGROUP_V2 ? reply.cgroup_kind : CGROUP_NONE);
	if ((reply.controllers & CGROUP_ALL) == CGROUP_ALL)
		return 0;
	if (j->zygote->spec->best_effort & LAYER_BIT(LAYER_CGROUP)) {
		j->receipt.degraded |= LAYER_BIT(LAYER_CGROUP);
		return 0;
	}
	err_set(err, ERR_HOST, EOPNOTSUPP, layer_name(LAYER_CGROUP), "memory, process and cpu limits cannot be enforced here: %s",
		boot->cgroup_why);
	err_hint(err, "%s; or --best-effort to run with what there is", boot->cgroup_fix);
	return -EOPNOTSUPP;
}

/* ---- from the zygote ---- */

static pid_t pidfd_pid(int pidfd)
{
	char path[48], text[512];
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -1;
	at = strstr(text, "Pid:");
	return at ? (pid_t)strtol(at + 4, NULL, 10) : -1;
}

static void on_spawned(struct jail *j, const struct zygote_msg *msg, int *pidfd)
{
	struct keeper_reply reply;
	struct status_rec go = { .magic = STATUS_MAGIC, .kind = STATUS_GO, .degraded = j->receipt.degraded };
	struct err err;

	if (msg->err) {
		fail_text(j, LAYER_USER, msg->err, "new namespaces for a jail");
		/* There is no process whose end would be told. */
		event_active(j->timer, EV_TIMEOUT, 0);
		return;
	}
	j->fork_ns = msg->fork_ns;
	j->pidfd = fd_take(pidfd);
	j->pid = pidfd_pid(j->pidfd);
	if (j->pid <= 0) {
		fail_text(j, LAYER_PID, ESRCH, "the jail's process");
		return;
	}
	if (keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_JOIN, j->slot, j->pidfd, &reply, &err) < 0) {
		jail_fail(j, LAYER_CGROUP, &err);
		return;
	}
	if (j->state != JAIL_SPAWNING) { /* given up meanwhile */
		(void)keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_KILL, j->slot, -1, &reply, NULL);
		return;
	}
	j->state = JAIL_ENTERING;
	if (fd_send(j->status_fd, &go, sizeof(go), NULL, 0) < 0)
		fail_text(j, LAYER_PID, EPIPE, "the jail left before it entered its layers");
}

/* RECV cannot block here: poll says that a request waits, and one whose sender
 * has died since is answered with ENOENT (seccomp_notify_recv in kernel/seccomp.c). */
static void take_notification(struct jail *j)
{
	struct seccomp_notif notif = { 0 };

	if (ioctl(j->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0) {
		if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			close_event(&j->listener_ev, &j->listener_fd);
		return;
	}
	if (j->denied)
		return;
	j->denied = true;
	j->denied_arch = notif.data.arch;
	j->denied_nr = notif.data.nr;
	j->denied_pid = (pid_t)notif.pid;
	tell(j, JAIL_NEWS_DENIED);
}

static void on_notification(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	jail_check_denied(arg);
}

void jail_check_denied(struct jail *j)
{
	struct pollfd p = { .fd = j->listener_fd, .events = POLLIN };

	if (j->listener_fd < 0 || poll(&p, 1, 0) <= 0)
		return;
	if (p.revents & POLLIN)
		take_notification(j);
	else /* hang-up: nobody runs under the filter any more */
		close_event(&j->listener_ev, &j->listener_fd);
}

/* Every namespace must differ from the zygote's, or be missing by leave of the profile. */
static bool namespaces_hold(struct jail *j)
{
	static const enum layer layers[NS_COUNT] = { LAYER_USER, LAYER_MOUNT, LAYER_NET, LAYER_PID,
						     LAYER_IPC, LAYER_UTS, LAYER_CGROUP_NS, LAYER_TIME };

	for (int i = 0; i < NS_COUNT; i++) {
		if (j->receipt.namespaces & (1u << i))
			continue;
		if (!(j->zygote->spec->best_effort & LAYER_BIT(layers[i]))) {
			fail_text(j, layers[i], 0, "the jail shares this namespace with its zygote");
			return false;
		}
		j->receipt.degraded |= LAYER_BIT(layers[i]);
	}
	return true;
}

static bool receipt_holds(struct jail *j)
{
	enum layer layer;
	struct err err;

	if (receipt_read(j->pid, j->zygote->spec, j->core->boot->as_root, &j->receipt, &layer, &err) < 0) {
		jail_fail(j, layer, &err);
		return false;
	}
	if (j->core->boot->as_root && j->receipt.host_uid != j->zygote->first_host_uid + j->slot) {
		fail_text(j, LAYER_USER, 0, "the jail runs under another slot's id");
		return false;
	}
	return true;
}

static void on_inspected(struct jail *j, const struct zygote_msg *msg, int *fds, unsigned nfds)
{
	struct status_rec park = { .magic = STATUS_MAGIC, .kind = STATUS_PARK };

	if (msg->err || nfds < 2) {
		fail_text(j, LAYER_SECCOMP, msg->err ? msg->err : EPROTO, "the notification listener");
		return;
	}
	j->listener_fd = fd_take(&fds[0]);
	j->tmp_fd = fd_take(&fds[1]);
	watch(j, j->listener_fd, &j->listener_ev, on_notification);
	j->receipt.namespaces = msg->namespaces;
	if (!namespaces_hold(j) || !receipt_holds(j))
		return;
	j->state = JAIL_PARKING;
	if (fd_send(j->status_fd, &park, sizeof(park), NULL, 0) < 0)
		fail_text(j, LAYER_PID, EPIPE, "the jail left before it parked");
}

static void drain_status(struct jail *j);

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
	} else if (msg->kind == ZY_EXITED) {
		drain_status(j); /* FAILED and ENDED were sent before the end that we hear of */
		if (j->state < JAIL_PARKED)
			fail_text(j, LAYER_PID, 0, "the jail died while it was being set up");
		jail_ended(j, true, msg->wait_status);
	}
}

void jail_zygote_changed(struct zygote *z)
{
	struct jail *j, *next;

	for (j = LIST_FIRST(&z->core->jails); j; j = next) {
		next = LIST_NEXT(j, link);
		if (j->zygote != z)
			continue;
		if (z->state == ZYGOTE_READY && j->state == JAIL_WAITING) {
			struct zygote_msg msg = { .kind = ZY_SPAWN, .seq = j->seq, .slot = j->slot };
			int fds[ZSPAWN_FDS];

			memcpy(fds, j->child_fds, sizeof(fds));
			j->state = JAIL_SPAWNING;
			zygote_send(z, &msg, fds, ZSPAWN_FDS);
			for (int i = 0; i < ZSPAWN_FDS; i++)
				j->child_fds[i] = fd_close(j->child_fds[i]);
		} else if (z->state == ZYGOTE_DEAD && j->state != JAIL_GONE) {
			/* Its PID namespace died with it: no process of this jail is left. */
			j->internal = !z->start_failed;
			if (j->state < JAIL_PARKED)
				jail_fail(j, z->failed_layer, &z->why);
			j->why = z->why;
			if (j->timer)
				event_active(j->timer, EV_TIMEOUT, 0);
			if (j->state < JAIL_DYING)
				jail_kill(j);
		}
	}
}

/* ---- from the jail ---- */

static void on_locked(struct jail *j, const struct status_rec *rec)
{
	struct zygote_msg msg = { .kind = ZY_INSPECT, .seq = j->seq, .listener_fd = rec->listener_fd };

	if (rec->degraded & ~j->zygote->spec->best_effort) {
		fail_text(j, LAYER_USER, EPROTO, "a layer is missing that the profile requires");
		return;
	}
	j->receipt.degraded |= rec->degraded;
	j->receipt.landlock_abi = rec->landlock_abi;
	j->state = JAIL_LOCKED;
	zygote_send(j->zygote, &msg, NULL, 0);
}

static void on_parked(struct jail *j, const struct status_rec *rec)
{
	memcpy(j->stage_ns, rec->stage_ns, sizeof(j->stage_ns));
	j->spawn_ns = core_now_ns() - j->spawn_ns;
	if (j->counted) {
		j->zygote->starting--;
		j->zygote->parked++;
	}
	j->state = JAIL_PARKED;
	event_del(j->timer);
	/* An init above the tool still has its end of the socket: it tells how the tool ended. */
	if (!(j->zygote->spec->flags & SPEC_INIT))
		close_event(&j->status_ev, &j->status_fd);
	tell(j, JAIL_NEWS_PARKED);
}

static void on_failed(struct jail *j, struct status_rec *rec)
{
	struct err e;
	enum layer layer = rec->layer >= 0 && rec->layer < LAYER_COUNT ? (enum layer)rec->layer : LAYER_USER;

	rec->op[STATUS_OP_MAX - 1] = '\0';
	err_set(&e, ERR_HOST, rec->err, layer_name(layer), "%s: %s (%s)", rec->op, rec->err ? strerror(rec->err) : "refused",
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
	}
	return true;
}

static void drain_status(struct jail *j)
{
	while (take_status(j))
		;
}

static void on_status(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	drain_status(arg);
}

/* ---- making one ---- */

static int one_pipe(int *ours, int *theirs, bool we_read)
{
	int p[2];

	if (pipe2(p, O_CLOEXEC) < 0)
		return -errno;
	*ours = p[we_read ? 0 : 1];
	*theirs = p[we_read ? 1 : 0];
	return fd_nonblock(*ours);
}

static int make_channels(struct jail *j)
{
	int sv[2], r;

	if ((r = one_pipe(&j->stdout_fd, &j->child_fds[ZSPAWN_STDOUT], true)) < 0 ||
	    (r = one_pipe(&j->stderr_fd, &j->child_fds[ZSPAWN_STDERR], true)) < 0 ||
	    (r = one_pipe(&j->result_fd, &j->child_fds[ZSPAWN_RESULT], true)) < 0 ||
	    (r = one_pipe(&j->request_fd, &j->child_fds[ZSPAWN_REQUEST], false)) < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	j->status_fd = sv[0];
	j->child_fds[ZSPAWN_STATUS] = sv[1];
	return 0;
}

static int take_slot(struct jail *j, struct err *err)
{
	for (unsigned k = 0; k < LIMIT_SLOTS; k++)
		if (!(j->core->slots_used & (UINT64_C(1) << k))) {
			j->core->slots_used |= UINT64_C(1) << k;
			j->slot = k;
			j->has_slot = true;
			return 0;
		}
	return err_set(err, ERR_HOST, EBUSY, "jail", "all %d slots are taken", LIMIT_SLOTS);
}

static struct jail *jail_new(struct zygote *z, jail_fn fn, void *arg)
{
	struct jail *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	*j = (struct jail){ .core = z->core, .zygote = z, .seq = z->core->next_seq++, .pidfd = -1, .status_fd = -1,
			    .listener_fd = -1, .tmp_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .request_fd = -1,
			    .result_fd = -1, .fn = fn, .arg = arg };
	for (int i = 0; i < ZSPAWN_FDS; i++)
		j->child_fds[i] = -1;
	j->receipt.filter_digest = profile_filter_digest(z->profile);
	j->timer = evtimer_new(z->core->base, on_timer, j);
	LIST_INSERT_HEAD(&z->core->jails, j, link);
	return j;
}

int jail_spawn(struct zygote *z, jail_fn fn, void *arg, struct jail **ret, struct err *err)
{
	struct jail *j = jail_new(z, fn, arg);
	struct keeper_reply reply;
	int r;

	if (!j || !j->timer) {
		if (j)
			jail_free(j);
		return err_set(err, ERR_HOST, ENOMEM, "jail", "no memory");
	}
	r = take_slot(j, err);
	if (r == 0 && (r = make_channels(j)) < 0)
		err_set(err, ERR_HOST, -r, "jail", "pipes for a jail: %s", strerror(-r));
	if (r == 0)
		r = make_cgroup(j, err);
	if (r < 0) {
		if (j->has_cgroup)
			(void)keeper_ask_slot(z->core->boot->keeper_fd, KP_CGROUP_DEL, j->slot, -1, &reply, NULL);
		jail_free(j);
		return r;
	}
	watch(j, j->status_fd, &j->status_ev, on_status);
	j->spawn_ns = core_now_ns();
	timer_set(j, SETUP_MAX_S);
	j->counted = true;
	z->starting++;
	*ret = j;
	if (z->state == ZYGOTE_READY)
		jail_zygote_changed(z);
	return 0;
}

struct jail *jail_take_parked(struct zygote *z, jail_fn fn, void *arg)
{
	struct jail *j;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z && j->state == JAIL_PARKED && !j->fn) {
			j->fn = fn;
			j->arg = arg;
			j->receipt.warm = true;
			return j;
		}
	return NULL;
}

void jail_refill(struct zygote *z, unsigned want)
{
	struct jail *j;
	struct err err;

	while (z->state == ZYGOTE_READY && z->parked + z->starting < want)
		if (jail_spawn(z, NULL, NULL, &j, &err) < 0)
			return;
}

int jail_begin(struct jail *j, struct err *err)
{
	struct keeper_reply reply;
	int r = keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_BEGIN, j->slot, -1, &reply, err);

	if (r < 0)
		return r;
	uncount(j);
	j->state = JAIL_RUNNING;
	return 0;
}

void jail_usage(struct jail *j)
{
	struct keeper_reply reply;

	if (!j->has_cgroup || keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_READ, j->slot, -1, &reply, NULL) < 0)
		return;
	j->usage = reply.usage;
	j->usage_known = true;
}

bool jail_tmp_full(const struct jail *j)
{
	struct statfs st;

	return j->tmp_fd >= 0 && fstatfs(j->tmp_fd, &st) == 0 && ((st.f_blocks > 0 && st.f_bavail == 0) || (st.f_files > 0 && st.f_ffree == 0));
}
