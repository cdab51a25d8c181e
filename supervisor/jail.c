#include "supervisor/jail_impl.h"

#include "jail/base/fd.h"
#include "supervisor/metrics.h"
#include "supervisor/keeper_client.h"
#include "supervisor/pool.h"
#include "supervisor/sched.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/vfs.h>

/* A jail parks within tens of milliseconds; under emulation and load within a few seconds. */
#define SETUP_MAX_S 30
/* A killed PID namespace is gone in milliseconds. After this long something is stuck in the kernel: its owner waits no longer, its slot does. */
#define DEATH_MAX_S 10
/* A group empties a moment after its last process was reaped; one that does not is asked for ever more seldom. */
#define BURY_FIRST_MS 2u
#define BURY_LAST_MS 1000u

const char *jail_state_name(enum jail_state state)
{
	static const char *const names[] = { "waiting", "spawning", "entering", "locked", "parking", "parked", "running", "dying", "gone" };

	return names[state];
}

void jail_tell(struct jail *j, enum jail_news news)
{
	if (j->pooled)
		pool_jail_news(j, news);
	else if (j->fn)
		j->fn(j, news, j->arg);
}

void jail_event_close(struct event **ev, int *fd)
{
	if (*ev)
		event_free(take_ptr(*ev));
	*fd = fd_close(*fd);
}

void jail_watch(struct jail *j, int fd, struct event **ev, event_callback_fn fn)
{
	*ev = event_new(j->core->base, fd, EV_READ | EV_PERSIST, fn, j);
	if (*ev)
		event_add(*ev, NULL);
}

static void timer_set(struct jail *j, unsigned ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	if (j->timer)
		evtimer_add(j->timer, &tv);
}

static void jail_close(struct jail *j)
{
	jail_event_close(&j->status_ev, &j->status_fd);
	jail_event_close(&j->listener_ev, &j->listener_fd);
	j->pidfd = fd_close(j->pidfd);
	j->tmp_fd = fd_close(j->tmp_fd);
	cgroup_view_close(take_ptr(j->view));
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
	/* One that found no slot leaves no room behind: who waits would look at once, in vain, and without end. */
	if (j->has_slot) {
		j->core->slots_used &= ~(UINT64_C(1) << j->slot);
		sched_room(j->core);
		pool_soon(j->core);
	}
	free(j);
}

static bool overdue(const struct jail *j)
{
	return core_now_ns() - j->dying_ns >= DEATH_MAX_S * UINT64_C(1000000000);
}

static void dying(struct jail *j)
{
	if (j->state >= JAIL_DYING)
		return;
	j->state = JAIL_DYING;
	j->dying_ns = core_now_ns();
}

static void tell_gone(struct jail *j)
{
	if (j->told)
		return;
	j->told = true;
	jail_tell(j, JAIL_NEWS_GONE);
	j->fn = NULL;
}

/* The keeper removes its group. False: something in it still dies. */
static bool group_removed(struct jail *j)
{
	struct keeper_reply reply;
	int r = keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_DEL, j->slot, -1, &reply, NULL);

	/* An earlier question may have removed a part of it already, and what it said then is the truth. */
	if ((r == 0 || r == -EBUSY) && (!j->usage_known || reply.usage.cpu_us != CGROUP_UNKNOWN)) {
		j->usage = reply.usage;
		j->usage_known = true;
	}
	if (r == -EBUSY)
		return false;
	if (r < 0)
		j->has_slot = false; /* the keeper's books are not ours: nobody else gets this slot's id and group */
	j->has_cgroup = false;
	return true;
}

/* What still lives after so long is stuck in the kernel. A supervisor that leaves waits no longer for it, nor does its owner. */
static bool give_up(struct jail *j)
{
	if (!overdue(j))
		return false;
	tell_gone(j);
	if (!j->core->leaving)
		return false;
	j->has_slot = false;
	return true;
}

static void bury(struct jail *j)
{
	struct core *core = j->core;

	if (j->has_cgroup && !group_removed(j) && !give_up(j)) {
		j->bury_ms = j->bury_ms ? j->bury_ms * 2 : BURY_FIRST_MS;
		if (j->bury_ms > BURY_LAST_MS)
			j->bury_ms = BURY_LAST_MS;
		timer_set(j, j->bury_ms);
		return;
	}
	j->state = JAIL_GONE;
	tell_gone(j);
	jail_free(j);
	core_leave_if_idle(core);
}

void jail_ended(struct jail *j, bool exited, int wait_status)
{
	if (j->ended)
		return;
	if (!j->tool_ended) {
		j->exited = exited;
		j->wait_status = wait_status;
	}
	dying(j);
	j->ended = true;
	if (!j->told)
		jail_tell(j, JAIL_NEWS_ENDED);
	bury(j);
}

/* Its zygote does not report its end, and is alive: a process of it is stuck in the kernel. */
static void stuck(struct jail *j)
{
	struct core *core = j->core;

	if (!j->told)
		jail_tell(j, JAIL_NEWS_ENDED);
	tell_gone(j);
	if (!core->leaving) {
		timer_set(j, DEATH_MAX_S * 1000); /* its end may still be told meanwhile */
		return;
	}
	j->has_slot = false;
	jail_free(j);
	core_leave_if_idle(core);
}

void jail_kill(struct jail *j)
{
	struct keeper_reply reply;

	if (j->state >= JAIL_DYING)
		return;
	bool spawned = j->state > JAIL_WAITING;
	dying(j);
	j->killed = true;
	/* A child that has not joined its group yet waits for GO on this socket and leaves when it closes. */
	jail_event_close(&j->status_ev, &j->status_fd);
	timer_set(j, DEATH_MAX_S * 1000);
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

void jail_fail(struct jail *j, enum layer layer, const struct err *why)
{
	if (j->state >= JAIL_DYING)
		return;
	j->failed = true;
	j->failed_layer = layer;
	j->why = *why;
	jail_kill(j);
	jail_tell(j, JAIL_NEWS_FAILED);
}

void jail_fail_text(struct jail *j, enum layer layer, int code, const char *what)
{
	struct err e;

	err_set(&e, ERR_HOST, code, layer_name(layer), "%s%s%s", what, code ? ": " : "", code ? strerror(code) : "");
	jail_fail(j, layer, &e);
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct jail *j = arg;

	if (j->ended) {
		bury(j);
	} else if (j->state >= JAIL_DYING && j->pidfd >= 0 && j->zygote->state != ZYGOTE_DEAD) {
		stuck(j);
	} else if (j->state >= JAIL_DYING) {
		jail_ended(j, false, 0);
	} else if (j->state < JAIL_PARKED) {
		jail_fail_text(j, LAYER_PID, ETIMEDOUT, "the jail was not ready in time");
	}
}

/* ---- cgroup ---- */

static int make_cgroup(struct jail *j, struct err *err)
{
	const struct spec_limits *l = &j->zygote->spec->limits;
	struct core_boot *boot = j->core->boot;
	struct keeper_msg msg = { .kind = KP_CGROUP_NEW,
				  .slot = j->slot,
				  .gen = j->zygote->gen,
				  .limits = { l->memory_bytes, l->pids, l->cpu_quota_pct } };
	struct keeper_reply reply;
	int r = keeper_ask(boot->keeper_fd, &msg, -1, &reply, NULL, 0, err);

	if (r < 0) {
		snprintf(err->where, sizeof(err->where), "%s", layer_name(LAYER_CGROUP));
		return r;
	}
	j->has_cgroup = true;
	j->groups = reply.groups;
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

unsigned jail_slots_free(const struct core *core)
{
	return LIMIT_SLOTS - (unsigned)__builtin_popcountll(core->slots_used);
}

bool jail_zygote_in_use(const struct zygote *z)
{
	const struct jail *j;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z && j->fn)
			return true;
	return false;
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
	pool_evict(j->core); /* it has gone by the time the caller asks again */
	err_set(err, ERR_HOST, EBUSY, JAIL_NO_ROOM, "all %d jails that may stand at once do", LIMIT_SLOTS);
	err_hint(err, "try again when a call has ended");
	return -EBUSY;
}

static struct jail *jail_new(struct zygote *z)
{
	struct jail *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	*j = (struct jail){ .core = z->core, .zygote = z, .seq = z->core->next_seq++, .pidfd = -1, .status_fd = -1,
			    .listener_fd = -1, .tmp_fd = -1, .stdout_fd = -1, .stderr_fd = -1, .request_fd = -1,
			    .result_fd = -1 };
	for (int i = 0; i < ZSPAWN_FDS; i++)
		j->child_fds[i] = -1;
	j->receipt.filter_digest = profile_filter_digest(z->profile);
	j->timer = evtimer_new(z->core->base, on_timer, j);
	LIST_INSERT_HEAD(&z->core->jails, j, link);
	return j;
}

int jail_spawn(struct zygote *z, jail_fn fn, void *arg, struct jail **ret, struct err *err)
{
	struct jail *j = jail_new(z);
	int r;

	if (!j || !j->timer) {
		if (j)
			jail_free(j);
		return err_set(err, ERR_HOST, ENOMEM, "jail", "no memory");
	}
	r = take_slot(j, err);
	if (r == 0 && (r = make_channels(j)) < 0)
		err_set(err, ERR_HOST, -r, "jail", "pipes for a jail: %s", strerror(-r));
	if (r < 0) {
		jail_free(j);
		return r;
	}
	jail_watch(j, j->status_fd, &j->status_ev, jail_on_status);
	j->spawn_ns = core_now_ns();
	timer_set(j, SETUP_MAX_S * 1000);
	*ret = j;
	r = make_cgroup(j, err);
	if (r < 0) {
		*ret = NULL;
		jail_abandon(j);
		return r;
	}
	if (z->state == ZYGOTE_READY)
		jail_zygote_changed(z);
	/* Not before: a zygote that died unnoticed ends it above, and its owner, who may free himself at that, waits for our answer. */
	jail_own(j, fn, arg);
	return 0;
}

struct jail *jail_take_parked(struct zygote *z, jail_fn fn, void *arg)
{
	struct jail *j;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z && j->state == JAIL_PARKED && j->pooled) {
			j->pooled = false;
			j->fn = fn;
			j->arg = arg;
			j->receipt.warm = true;
			metrics_pool_taken(z->core);
			return j;
		}
	return NULL;
}

int jail_count_from_here(struct jail *j, struct err *err)
{
	struct keeper_msg msg = { .kind = KP_CGROUP_BEGIN, .slot = j->slot };
	struct keeper_reply reply;
	int fds[CGROUP_VIEW_FDS];
	int r = keeper_ask(j->core->boot->keeper_fd, &msg, -1, &reply, fds, ARRAY_LEN(fds), err);

	if (r == 0) {
		cgroup_view_close(take_ptr(j->view));
		j->view = cgroup_view_open(&reply.view, fds, (unsigned)__builtin_popcount(reply.view.present));
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = fd_close(fds[i]);
	return r;
}

void jail_own(struct jail *j, jail_fn fn, void *arg)
{
	j->fn = fn;
	j->arg = arg;
}

void jail_begin(struct jail *j)
{
	j->state = JAIL_RUNNING;
}

void jail_usage(struct jail *j)
{
	struct keeper_reply reply;

	if (j->view) {
		cgroup_view_read(j->view, &j->usage);
		j->usage_known = true;
		if (j->usage.cpu_us != CGROUP_UNKNOWN)
			return;
		/* Not readable for us, whatever the reason: limits are judged by this, so the keeper reads. */
		cgroup_view_close(take_ptr(j->view));
	}
	if (j->has_cgroup && keeper_ask_slot(j->core->boot->keeper_fd, KP_CGROUP_READ, j->slot, -1, &reply, NULL) == 0) {
		j->usage = reply.usage;
		j->usage_known = true;
	}
}

bool jail_tmp_full(const struct jail *j)
{
	struct statfs st;

	return j->tmp_fd >= 0 && fstatfs(j->tmp_fd, &st) == 0 && ((st.f_blocks > 0 && st.f_bavail == 0) || (st.f_files > 0 && st.f_ffree == 0));
}
