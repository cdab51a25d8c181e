#include "supervisor/session_impl.h"

#include "supervisor/audit_client.h"
#include "supervisor/gate_memory.h"
#include "supervisor/log.h"
#include "supervisor/profile_cache.h"
#include "supervisor/request.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How often limits are looked at while no call runs; idle and total life end with that grain. */
#define WATCH_S 1
/* Sessions last; who asks for one more may as well wait. */
#define RETRY_MS 1000
/* Jails that sessions may hold: the rest of the slots is for calls. */
#define SESSION_JAILS_MAX (LIMIT_SLOTS / 2)
/* Ended ones that are remembered for each uid; the oldest is forgotten first. */
#define ENDED_PER_UID 16

static uint64_t ms_since(uint64_t ns)
{
	return (core_now_ns() - ns) / 1000000;
}

/* ---- the list ---- */

static void session_free(struct session *s)
{
	LIST_REMOVE(s, link);
	if (s->watch)
		event_free(s->watch);
	pending_free(s->opening);
	profile_free(s->profile);
	free(s->task);
	free(s->user_id);
	free(s->labels);
	gate_memory_free(s->gate_memory);
	free(s);
}

/* Ended ones that nobody refers to, once they are old or too many. */
static void forget(struct core *core, uid_t uid)
{
	struct session *s, *next;
	unsigned kept = 0;

	for (s = LIST_FIRST(&core->sessions); s; s = next) { /* latest first */
		next = LIST_NEXT(s, link);
		if (s->state != SESSION_ENDED || s->calls > 0)
			continue;
		kept += s->uid == uid;
		if ((s->uid == uid && kept > ENDED_PER_UID) || ms_since(s->ended_ns) > core->boot->config.session_life_ms)
			session_free(s);
	}
}

struct session *session_find(struct core *core, uid_t uid, const char *id)
{
	struct session *s;

	LIST_FOREACH(s, &core->sessions, link)
		if (s->uid == uid && s->state != SESSION_OPENING && strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

/* ---- the end ---- */

/* answered: the call that is being answered just now, and takes care of itself. */
static void cancel_calls(struct session *s, const struct call *answered)
{
	struct call *c, *next;
	struct err why;

	err_set(&why, ERR_CALLER, ECANCELED, "session", "its session ended: %s", s->why);
	err_hint(&why, "open a new session; the state of this one is gone");
	for (c = LIST_FIRST(&s->core->calls); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->session != s || c == answered)
			continue;
		if (s->core->leaving && s->core->stopping) /* nobody asked for their end: as for calls without a session */
			call_stop(c);
		else
			call_cancel_why(c, &why);
	}
}

void session_end_because(struct session *s, const struct call *answered, const char *why)
{
	if (s->state == SESSION_ENDED)
		return;
	s->state = SESSION_ENDED;
	s->ended_ns = core_now_ns();
	snprintf(s->why, sizeof(s->why), "%s", why);
	event_free(take_ptr(s->watch));
	(void)audit_note(s->core, AUDIT_SESSION_END, s->uid, s->pid, s->id, NULL, s->why);
	log_event(LOG_INFO, "session_ended", LOG_FIELDS(LOG_STR("session", s->id), LOG_NUM("uid", s->uid), LOG_NUM("calls", s->calls_made)),
		  "session ended: %s", s->why);
	cancel_calls(s, answered);
	if (s->jail && !s->call)
		jail_abandon(take_ptr(s->jail));
}

void session_end(struct session *s, const char *fmt, ...)
{
	char why[sizeof(s->why)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	session_end_because(s, NULL, why);
}

/* What runs and waits comes to its end; nothing new begins. */
static void finish(struct session *s, const char *why)
{
	if (s->calls == 0) {
		session_end_because(s, NULL, why);
	} else if (!s->over) {
		s->over = true;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
}

uint64_t session_idle_cpu_ms(const struct session *s)
{
	return (s->idle_cpu_us + s->idle_now_us) / 1000;
}

bool session_limits_hold(struct session *s)
{
	uint64_t cpu_ms;

	jail_usage(s->jail);
	const struct cgroup_usage *u = &s->jail->usage;
	if (u->oom_kills != CGROUP_UNKNOWN && u->oom_kills > 0) {
		session_end(s, "out_of_memory between two calls");
		return false;
	}
	s->idle_now_us = u->cpu_us > s->cpu_us ? u->cpu_us - s->cpu_us : 0;
	cpu_ms = session_idle_cpu_ms(s);
	if (cpu_ms < profile_spec(s->profile)->limits.cpu_ms)
		return true;
	session_end(s, "cpu_limit: what earlier calls left running used %llu ms of processor time between calls", (unsigned long long)cpu_ms);
	return false;
}

static void on_watch(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct session *s = arg;
	const struct config *config = &s->core->boot->config;
	char why[sizeof(s->why)];

	snprintf(why, sizeof(why), "it was open for %u ms, as long as one may be (session_life)", config->session_life_ms);
	if (s->over)
		memcpy(why, s->why, sizeof(why));
	if (s->over || ms_since(s->opened_ns) >= config->session_life_ms)
		finish(s, why);
	else if (s->calls > 0)
		return;
	else if (ms_since(s->used_ns) >= config->session_idle_ms)
		session_end(s, "it was idle for %u ms, as long as one may be (session_idle)", config->session_idle_ms);
	else if (s->jail)
		(void)session_limits_hold(s);
}

/* ---- opening ---- */

static void answer_opened(struct session *s)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_printf(&b, "{\"session\":\"%s\",\"jail\":\"%s\",\"profile\":", s->id, s->keeps_state ? "session" : "single");
	jbuf_cstring(&b, profile_name(s->profile));
	jbuf_printf(&b, ",\"idle_ms\":%u,\"life_ms\":%u}", s->core->boot->config.session_idle_ms, s->core->boot->config.session_life_ms);
	pending_answer(take_ptr(s->opening), &b);
	jbuf_done(&b);
}

/* Who may not be told of in the audit log may not begin. */
static bool recorded(struct session *s, struct err *err)
{
	int r = audit_note(s->core, AUDIT_SESSION_OPEN, s->uid, s->pid, s->id, NULL, s->task);

	if (r == 0)
		return true;
	err_set(err, ERR_HOST, -r, "audit", "the audit log cannot take that the session opens: %s", strerror(-r));
	err_hint(err, "'brig status' tells how the log is");
	return false;
}

/* The session never was. */
static void refuse(struct session *s, const struct err *err)
{
	struct pending *p = take_ptr(s->opening);
	bool busy = err->code == EAGAIN || err->code == EBUSY;

	client_answer_err(p->client, p->rpc_id, strlen(p->rpc_id), busy ? RPC_BUSY : RPC_SETUP, err, busy ? RETRY_MS : 0);
	pending_free(p);
	if (s->jail)
		jail_abandon(take_ptr(s->jail));
	session_free(s);
}

static void opened(struct session *s)
{
	const struct timeval often = { .tv_sec = WATCH_S };
	struct err err;

	if (!recorded(s, &err)) {
		refuse(s, &err);
		return;
	}
	s->state = SESSION_OPEN;
	s->opened_ns = s->used_ns = core_now_ns();
	event_add(s->watch, &often);
	log_event(LOG_INFO, "session_opened", LOG_FIELDS(LOG_STR("session", s->id), LOG_NUM("uid", s->uid), LOG_STR("profile", profile_name(s->profile))),
		  "session opened");
	if (s->opening->client)
		answer_opened(s);
	else /* nobody will ever name it */
		session_end(s, "its client left before it was open");
}

/* RLIMIT_CPU counts a process's whole life, and would end a long session; what one call used only a control group tells. */
static void opened_if_counted(struct session *s)
{
	struct err err;

	jail_usage(s->jail);
	if (s->jail->usage_known && s->jail->usage.cpu_us != CGROUP_UNKNOWN) {
		s->cpu_us = s->jail->usage.cpu_us; /* what making it took is nobody's idling */
		opened(s);
		return;
	}
	err_set(&err, ERR_HOST, EOPNOTSUPP, layer_name(LAYER_CGROUP), "a session needs a control group that counts its processor time, and here is none: %s",
		s->core->boot->cgroup_why);
	err_hint(&err, "%s; calls without a session work with --best-effort", s->core->boot->cgroup_fix);
	refuse(s, &err);
}

/* Its jail went before it was ready without a fault of its own: core leaves. */
static void refuse_leaving(struct session *s)
{
	struct err err;

	err_set(&err, ERR_HOST, ESHUTDOWN, "core", "brigd ended before the session was open");
	err_hint(&err, "open it again with the next one");
	refuse(s, &err);
}

static void end_by_jail(struct session *s, const struct jail *j)
{
	s->jail = NULL;
	if (j->internal)
		session_end(s, "the supervisor failed: %s", j->why.detail);
	else if (j->exited && WIFSIGNALED(j->wait_status))
		session_end(s, "its process was killed by signal %d (SIG%s) between two calls", WTERMSIG(j->wait_status),
			    sigabbrev_np(WTERMSIG(j->wait_status)) ?: "?");
	else
		session_end(s, "its process ended between two calls");
}

void session_on_jail(struct jail *j, enum jail_news news, void *arg)
{
	struct session *s = arg;

	switch (news) {
	case JAIL_NEWS_PARKED:
		j->receipt.session = true;
		opened_if_counted(s);
		break;
	case JAIL_NEWS_DENIED:
		if (s->state == SESSION_OPEN)
			session_end(s, "syscall_denied between two calls");
		break;
	case JAIL_NEWS_FAILED:
		refuse(s, &j->why);
		break;
	case JAIL_NEWS_ENDED:
		if (s->state == SESSION_OPENING && j->why.class == ERR_NONE)
			refuse_leaving(s);
		else if (s->state == SESSION_OPENING)
			refuse(s, &j->why);
		else
			end_by_jail(s, j);
		jail_own(j, NULL, NULL);
		break;
	case JAIL_NEWS_GONE:
		break;
	}
}

static int jail_make(struct session *s, struct err *err)
{
	const struct session *other;
	struct zygote *z;
	unsigned jails = 0;
	int r;

	LIST_FOREACH(other, &s->core->sessions, link)
		jails += other->keeps_state && other->state != SESSION_ENDED;
	if (jails > SESSION_JAILS_MAX) {
		err_set(err, ERR_HOST, EAGAIN, "session", "%u sessions with a jail of their own are open, as many as may be", SESSION_JAILS_MAX);
		err_hint(err, "try again when one has ended; a session without state needs no jail");
		return -EAGAIN;
	}
	r = zygote_get(s->core, s->profile, ZYGOTE_SESSION, &z, err);
	return r < 0 ? r : jail_spawn(z, session_on_jail, s, &s->jail, err);
}

static int may_open(struct core *core, uid_t uid, struct err *err)
{
	const struct session *s;
	unsigned open = 0;

	if (core->draining || core->leaving) {
		err_set(err, ERR_HOST, EAGAIN, "drain", "draining: this brigd takes nothing new");
		err_hint(err, "open a session later, or with another brigd");
		return -EAGAIN;
	}
	LIST_FOREACH(s, &core->sessions, link)
		open += s->uid == uid && s->state != SESSION_ENDED;
	if (open < core->boot->config.sessions_per_uid)
		return 0;
	err_set(err, ERR_CALLER, EAGAIN, "session", "user %u has %u sessions open, as many as may be (sessions_per_uid)", uid, open);
	err_hint(err, "close one with session.close ('brig session close')");
	return -EAGAIN;
}

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static struct session *session_new(struct client *client, const struct session_request *req, struct profile *profile)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->core = client_core(client);
	s->uid = client_uid(client);
	s->pid = client_pid(client);
	s->keeps_state = req->keeps_state;
	s->profile = profile_ref(profile);
	s->task = copy(req->task);
	s->user_id = copy(req->user_id);
	s->labels = copy(req->labels);
	s->watch = event_new(s->core->base, -1, EV_PERSIST, on_watch, s);
	LIST_INSERT_HEAD(&s->core->sessions, s, link);
	if (s->watch && (s->task || !req->task) && (s->user_id || !req->user_id) && (s->labels || !req->labels) && call_random_id(s->id) == 0)
		return s;
	session_free(s);
	return NULL;
}

void session_open(struct client *client, const struct session_request *req, struct profile *profile, const char *rpc_id, size_t rpc_id_len)
{
	struct core *core = client_core(client);
	struct session *s;
	struct err err;

	forget(core, client_uid(client));
	if (may_open(core, client_uid(client), &err) < 0) {
		client_answer_err(client, rpc_id, rpc_id_len, RPC_BUSY, &err, RETRY_MS);
		return;
	}
	s = session_new(client, req, profile);
	if (!s) {
		client_answer_error(client, rpc_id, rpc_id_len, RPC_INTERNAL, "no memory", NULL, NULL);
		return;
	}
	s->opening = pending_new(client, rpc_id, rpc_id_len);
	if (!s->opening)
		session_free(s);
	else if (!s->keeps_state)
		opened(s);
	else if (jail_make(s, &err) < 0)
		refuse(s, &err);
}

/* ---- changes from outside ---- */

void session_profiles_changed(struct core *core)
{
	struct session *s;
	struct profile *now;
	char why[sizeof(s->why)];
	struct err err;

	LIST_FOREACH(s, &core->sessions, link) {
		if (s->state != SESSION_OPEN)
			continue;
		int r = profile_cache_get(core->profiles, profile_name(s->profile), NULL, NULL, 0, &now, &err);
		bool same = r == 0 && strcmp(profile_digest(now), profile_digest(s->profile)) == 0;

		if (r == 0)
			profile_free(now);
		if (same)
			continue;
		snprintf(why, sizeof(why), "its profile %s was %s at a reload", profile_name(s->profile), r == 0 ? "changed" : "removed");
		finish(s, why);
	}
}

void session_end_all(struct core *core, const char *why)
{
	struct session *s;

	LIST_FOREACH(s, &core->sessions, link)
		if (s->state == SESSION_OPEN)
			session_end(s, "%s", why);
}

void session_free_all(struct core *core)
{
	struct session *s;

	while ((s = LIST_FIRST(&core->sessions)))
		session_free(s);
}
