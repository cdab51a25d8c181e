#include "supervisor/zygote.h"

#include "jail/base/fd.h"
#include "supervisor/call.h"
#include "supervisor/jail.h"
#include "supervisor/keeper_client.h"
#include "supervisor/log.h"
#include "supervisor/metrics.h"
#include "supervisor/pool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What a caller's --best-effort may weaken: protections whose loss leaves a jail
 * that is still one. Without the others Brig does not run anything. */
#define BEST_EFFORT_LAYERS                                                                           \
	(LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_GROUPS) | LAYER_BIT(LAYER_TIME) | LAYER_BIT(LAYER_MDWE) | \
	 LAYER_BIT(LAYER_SPECULATION) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_PROC))

/* Preloaded modules may be large and the machine slow; a jail that waits for it gives up as late as this (jail.c). */
#define START_MAX_MS 30000u
/* How often the keeper is asked whether a zygote that was killed has made room: dying takes it milliseconds. */
#define ROOM_RETRY_MS 5u

static void zygote_die(struct zygote *z)
{
	struct keeper_msg msg = { .kind = KP_ZYGOTE_STOP, .gen = z->gen };
	struct keeper_reply reply;

	if (z->state == ZYGOTE_DEAD)
		return;
	z->start_failed = z->state == ZYGOTE_STARTING;
	z->state = ZYGOTE_DEAD;
	if (z->readable)
		event_free(take_ptr(z->readable));
	if (z->timer)
		event_free(take_ptr(z->timer));
	if (z->control >= 0)
		(void)keeper_ask(z->core->boot->keeper_fd, &msg, -1, &reply, NULL, 0, NULL);
	z->control = fd_close(z->control);
	pool_zygote_changed(z);
	jail_zygote_changed(z);
}

static void timer_set(struct zygote *z, unsigned ms)
{
	const struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	evtimer_add(z->timer, &tv);
}

/* Each call of a profile whose zygote cannot start brings one of these. */
static void zygote_lost_log(const struct zygote *z, bool served)
{
	static struct log_gate lost, unstarted;
	unsigned held;

	if (log_gate_pass(served ? &lost : &unstarted, (int64_t)(core_now_ns() / 1000000), &held))
		log_err(LOG_ERR, served ? "zygote_lost" : "zygote_start_failed",
			LOG_FIELDS(LOG_STR("profile", metrics_profile(z->core, profile_name(z->profile))), LOG_NUM("generation", z->gen),
				   LOG_NUM("pid", z->pid), LOG_NUM("held_back", held)),
			&z->why);
}

/* Nobody asked for its end: the next call starts another one. */
static void zygote_lost(struct zygote *z)
{
	bool served = z->state == ZYGOTE_READY;

	if (!z->core->leaving && z->state != ZYGOTE_DEAD)
		zygote_lost_log(z, served);
	if (!z->core->leaving && served)
		metrics_restart(z->core, "zygote");
	zygote_die(z);
}

static void start_failed(struct zygote *z, const struct zygote_msg *msg)
{
	char op[sizeof(msg->op)], detail[sizeof(msg->detail)];

	memcpy(op, msg->op, sizeof(op));
	op[sizeof(op) - 1] = '\0';
	memcpy(detail, msg->detail, sizeof(detail));
	detail[sizeof(detail) - 1] = '\0';
	z->failed_layer = msg->stage < LAYER_COUNT ? (enum layer)msg->stage : LAYER_MOUNT;
	err_set(&z->why, ERR_HOST, msg->err, layer_name(z->failed_layer), "%s%s%s%s%s", op, detail[0] ? " " : "", detail,
		msg->err ? ": " : "", msg->err ? strerror(msg->err) : "");
	zygote_lost(z);
}

/* Up to a tenth less than configured, so that generations of several profiles do not end together. */
static uint64_t with_jitter(uint64_t n)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		return n;
	return n - random % (n / 10 + 1);
}

static void ready(struct zygote *z)
{
	const struct config *c = &z->core->boot->config;

	z->state = ZYGOTE_READY;
	event_del(z->timer);
	z->ready_ns = core_now_ns();
	z->calls_max = with_jitter(c->generation_calls);
	z->retire_ns = z->ready_ns + with_jitter(c->generation_ms * UINT64_C(1000000));
	jail_zygote_changed(z);
	pool_zygote_changed(z);
}

/* Returns false when the zygote is dead now. */
static bool take_msg(struct zygote *z)
{
	struct zygote_msg msg;
	int fds[2];
	unsigned nfds = 0;
	int r = fd_recv(z->control, &msg, sizeof(msg), fds, ARRAY_LEN(fds), &nfds, MSG_DONTWAIT);

	if (r == -EAGAIN)
		return false;
	if (r <= 0 || msg.magic != ZYGOTE_MAGIC) {
		if (!z->why.class)
			err_set(&z->why, ERR_HOST, r < 0 ? -r : 0, "zygote", "the zygote ended unexpectedly");
		zygote_lost(z);
		return false;
	}
	if (msg.kind == ZY_READY && z->state == ZYGOTE_STARTING) {
		ready(z);
	} else if (msg.kind == ZY_START_FAILED && z->state == ZYGOTE_STARTING) {
		start_failed(z, &msg);
	} else {
		jail_zygote_msg(z, &msg, fds, nfds);
	}
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fds[i] = fd_close(fds[i]);
	return z->state != ZYGOTE_DEAD;
}

static void on_readable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct zygote *z = arg;

	while (take_msg(z))
		;
}

void zygote_send(struct zygote *z, struct zygote_msg *msg, const int *fds, unsigned nfds)
{
	msg->magic = ZYGOTE_MAGIC;
	int r = z->state == ZYGOTE_DEAD ? -EPIPE : fd_send(z->control, msg, sizeof(*msg), fds, nfds);

	if (r < 0) {
		err_set(&z->why, ERR_HOST, -r, "zygote", "the zygote takes no messages: %s", strerror(-r));
		zygote_lost(z);
	}
}

/* READY comes over the control socket, or what stopped it. */
static int zygote_start(struct zygote *z, struct err *err)
{
	struct core *core = z->core;
	struct keeper_msg msg = { .kind = KP_ZYGOTE_START, .gen = z->gen = core->next_gen++ };
	struct keeper_reply reply;
	_cleanup_close_ int spec_fd = fd_sealed("brig-spec", z->spec, sizeof(*z->spec));

	if (spec_fd < 0)
		return err_set(err, ERR_HOST, -spec_fd, "zygote", "memfd for the spec: %s", strerror(-spec_fd));
	int r = keeper_ask(core->boot->keeper_fd, &msg, spec_fd, &reply, &z->control, 1, err);
	if (r < 0)
		return r;
	z->pid = reply.pid;
	z->first_host_uid = reply.first_host_uid;
	fd_nonblock(z->control);
	z->readable = event_new(core->base, z->control, EV_READ | EV_PERSIST, on_readable, z);
	if (!z->readable || event_add(z->readable, NULL) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "zygote", "no event for the control socket");
	timer_set(z, START_MAX_MS);
	return 0;
}

static void start_late(struct zygote *z, int code, const char *what)
{
	z->failed_layer = LAYER_PID;
	err_set(&z->why, ERR_HOST, code, "zygote", "%s", what);
	err_hint(&z->why, "preload less, or see whether the machine is overloaded");
	zygote_lost(z);
}

/* STARTING: the keeper had no room, or READY is overdue. */
static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct zygote *z = arg;
	int r;

	if (z->control >= 0) {
		start_late(z, ETIMEDOUT, "the zygote was not ready in time");
		return;
	}
	r = zygote_start(z, &z->why);
	if (r == -EUSERS && core_now_ns() < z->give_up_ns)
		timer_set(z, ROOM_RETRY_MS);
	else if (r == -EUSERS)
		start_late(z, ETIMEDOUT, "zygotes that were killed do not die");
	else if (r < 0)
		zygote_die(z);
}

static struct zygote *find(const struct core *core, const struct profile *profile, unsigned options, bool standby)
{
	struct zygote *z;

	LIST_FOREACH(z, &core->zygotes, link)
		if (z->state != ZYGOTE_DEAD && !z->retired && z->standby == standby && z->options == options &&
		    strcmp(profile_digest(z->profile), profile_digest(profile)) == 0)
			return z;
	return NULL;
}

struct zygote *zygote_find(const struct core *core, const struct profile *profile, unsigned options)
{
	return find(core, profile, options, false);
}

struct zygote *zygote_standby_of(const struct zygote *z)
{
	return find(z->core, z->profile, z->options, true);
}

static struct zygote *zygote_new(struct core *core, struct profile *profile, unsigned options)
{
	struct zygote *z = calloc(1, sizeof(*z));

	if (!z)
		return NULL;
	*z = (struct zygote){ .core = core, .control = -1, .options = options };
	z->give_up_ns = core_now_ns() + START_MAX_MS * UINT64_C(1000000);
	z->profile = profile_ref(profile);
	LIST_INSERT_HEAD(&core->zygotes, z, link);
	z->timer = evtimer_new(core->base, on_timer, z);
	z->spec = malloc(sizeof(*z->spec));
	if (!z->spec || !z->timer) {
		zygote_free(z);
		return NULL;
	}
	*z->spec = *profile_spec(profile);
	if (options & ZYGOTE_BEST_EFFORT)
		z->spec->best_effort |= BEST_EFFORT_LAYERS;
	if (options & ZYGOTE_SESSION)
		z->spec->flags |= SPEC_SESSION;
	return z;
}

/* A call reads its zygote until it is answered, a jail until it is gone. */
static bool is_referred(const struct zygote *z)
{
	const struct jail *j;
	const struct call *c;

	LIST_FOREACH(j, &z->core->jails, link)
		if (j->zygote == z)
			return true;
	LIST_FOREACH(c, &z->core->calls, link)
		if (c->zygote == z)
			return true;
	return false;
}

static void retire_now(struct zygote *z, const char *why)
{
	z->retired = true;
	err_set(&z->why, ERR_HOST, 0, "zygote", "%s", why);
	zygote_die(z);
}

void zygote_sweep(struct core *core)
{
	struct zygote *z, *next;

	for (z = LIST_FIRST(&core->zygotes); z; z = next) {
		next = LIST_NEXT(z, link);
		bool referred = is_referred(z);
		if (z->retired && !referred && z->state != ZYGOTE_DEAD)
			retire_now(z, "replaced by a younger generation");
		if (z->state == ZYGOTE_DEAD && !referred)
			zygote_free(z);
	}
}

/* Ends the zygote that was not used for longest among those that nobody needs now. */
static bool retire_idle(struct core *core)
{
	struct zygote *z, *idle = NULL;

	LIST_FOREACH(z, &core->zygotes, link)
		if (z->state == ZYGOTE_READY && !jail_zygote_in_use(z) && (!idle || z->used_ns < idle->used_ns))
			idle = z;
	if (!idle)
		return false;
	retire_now(idle, "retired to make room for another profile");
	return true;
}

unsigned zygote_count(const struct core *core)
{
	const struct zygote *z;
	unsigned n = 0;

	LIST_FOREACH(z, &core->zygotes, link)
		n += z->state != ZYGOTE_DEAD;
	return n;
}

/* Profiles are many, zygotes few (the keeper's bound): an idle one makes room, as soon as it is dead. */
static int start_with_room(struct zygote *z, struct err *err)
{
	int r = zygote_start(z, err);

	if (r == -EUSERS && (zygote_count(z->core) <= KEEPER_ZYGOTES || retire_idle(z->core))) {
		timer_set(z, ROOM_RETRY_MS);
		return 0;
	}
	if (r == -EUSERS) {
		err_set(err, ERR_HOST, EBUSY, JAIL_NO_ROOM, "calls of as many different profiles as may be in use at once are running");
		err_hint(err, "try again when a call has ended");
		r = -EBUSY;
	}
	return r;
}

int zygote_get(struct core *core, struct profile *profile, unsigned options, struct zygote **ret, struct err *err)
{
	struct zygote *z = zygote_find(core, profile, options);
	int r;

	if (!z) {
		zygote_sweep(core);
		z = zygote_new(core, profile, options);
		if (!z)
			return err_set(err, ERR_HOST, ENOMEM, "zygote", "no memory");
		r = start_with_room(z, err);
		if (r < 0) {
			zygote_free(z);
			return r;
		}
	}
	z->used_ns = core_now_ns();
	*ret = z;
	return 0;
}

int zygote_standby(struct zygote *old, struct zygote **ret, struct err *err)
{
	struct zygote *z = zygote_standby_of(old);
	int r;

	if (!z) {
		z = zygote_new(old->core, old->profile, old->options);
		if (!z)
			return err_set(err, ERR_HOST, ENOMEM, "zygote", "no memory");
		z->standby = true;
		z->used_ns = old->used_ns;
		r = zygote_start(z, err);
		if (r < 0) {
			zygote_free(z);
			return r;
		}
	}
	*ret = z;
	return 0;
}

void zygote_free(struct zygote *z)
{
	LIST_REMOVE(z, link);
	if (z->readable)
		event_free(z->readable);
	if (z->timer)
		event_free(z->timer);
	fd_close(z->control);
	profile_free(z->profile);
	free(z->spec);
	free(z);
}
