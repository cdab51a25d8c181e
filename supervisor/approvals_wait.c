/* Calls that wait for a person, and questions that nobody answered in time. */
#include "supervisor/approvals.h"

#include "supervisor/audit_client.h"
#include "supervisor/call_impl.h"
#include "supervisor/decision_point.h"
#include "supervisor/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Another supervisor of the same store tells nobody here what was decided there. */
#define LOOK_S 1
/* Of questions past their time, told in one go. */
#define SWEEP_MAX 64

/* ---- questions past their time ---- */

struct late {
	struct core *core;
	int64_t now_ms;
	unsigned pending, told;
};

static int tell_late(const struct approval *a, void *arg)
{
	struct late *late = arg;

	if (a->expires_ms > late->now_ms) {
		late->pending++;
		return 0;
	}
	approvals_tell(late->core, a->id, a->tool, a->uid, "expired");
	(void)audit_note_about(late->core, AUDIT_APPROVAL_DECIDE, getuid(), getpid(),
			       &(struct audit_about){ .session = a->session, .tool = a->tool, .hash = a->tool_hash, .approval = a->id, .rule = a->rule,
						      .decided = true, .decision = AUDIT_DENY, .text = "expired: nobody decided" });
	return ++late->told == SWEEP_MAX;
}

static unsigned sweep(struct core *core, struct store *store)
{
	struct late late = { .core = core, .now_ms = wall_now_ms() };
	struct err ignored;

	(void)store_approval_each(store, APPROVAL_PENDING, tell_late, &late, &ignored);
	if (late.told > 0)
		(void)store_approval_expire(store, late.now_ms, &ignored);
	return late.pending;
}

void approvals_sweep(struct core *core, struct store *store)
{
	(void)sweep(core, store);
}

/* ---- calls that wait ---- */

static void end_denied(struct call *c, const char *hint, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void end_denied(struct call *c, const char *hint, const char *fmt, ...)
{
	struct gate *g = c->gate;
	va_list args;

	va_start(args, fmt);
	vsnprintf(g->why.detail, sizeof(g->why.detail), fmt, args);
	va_end(args);
	snprintf(g->why.hint, sizeof(g->why.hint), "%s", hint);
	snprintf(g->evidence, sizeof(g->evidence), "{\"approval_id\":\"%s\"}", g->approval);
	g->outcome = OUTCOME_DENIED;
	g->verdict.decision = DECISION_DENY;
	call_go(c);
}

static void ask_again(const struct call *c, struct gate_ask *ask)
{
	struct request_head head;

	memcpy(&head, c->request, sizeof(head));
	*ask = (struct gate_ask){ .core = c->core, .authority = c->authority, .uid = c->uid, .pid = c->pid, .session = c->session, .call_id = c->id,
				  .name = c->gate->name, .name_len = strlen(c->gate->name), .args = c->request + sizeof(head) + head.body_len,
				  .args_len = head.args_len };
	if (head.context_len) {
		ask->context = ask->args + ask->args_len;
		ask->context_len = head.context_len;
	}
}

static bool is_same(const struct gate *was, const struct gate *now)
{
	return now->tool && now->profile && strcmp(was->tool->hash, now->tool->hash) == 0 &&
	       strcmp(profile_digest(was->profile), profile_digest(now->profile)) == 0 && memcmp(&was->effective, &now->effective, sizeof(was->effective)) == 0;
}

static void swap_gate(struct call *c, struct gate *g)
{
	gate_free(c->gate);
	c->gate = g;
	profile_free(c->effective);
	c->effective = profile_ref(g->profile);
}

/* Everything is looked at anew at the moment of use. */
static void go_on(struct call *c)
{
	struct gate_ask ask;
	struct gate *now;
	struct err err;
	int r;

	ask_again(c, &ask);
	ask.dry = true;
	r = gate_call(&ask, &now, &err);
	if (r == 0 && !is_same(c->gate, now)) {
		gate_free(now);
		end_denied(c, "send the call again: it is asked anew", "what was asked for has changed meanwhile (the tool, its profile or its permissions)");
		return;
	}
	ask.dry = false;
	if (r == 0) {
		gate_free(now);
		r = gate_call(&ask, &now, &err);
	}
	if (r < 0) {
		c->waits = false;
		call_unrecorded(c, &err);
		return;
	}
	swap_gate(c, now);
	if (now->outcome != OUTCOME_APPROVAL_PENDING) { /* else another call took that use, and the question is open again */
		c->waits = false;
		decision_point_ask(c);
	}
}

static void look(struct call *c, struct store *store)
{
	struct approval *a;
	struct err err;
	int r = store_approval_get(store, c->gate->approval, &a, &err);

	if (r < 0 && r != -ENOENT)
		return; /* a store that is locked now is not later */
	enum approval_state state = r < 0 ? APPROVAL_VOID : a->state;
	if (state == APPROVAL_PENDING && a->expires_ms <= wall_now_ms())
		state = APPROVAL_EXPIRED;
	switch (state) {
	case APPROVAL_PENDING:
		break;
	case APPROVAL_APPROVED:
	case APPROVAL_USED:
		go_on(c);
		break;
	case APPROVAL_DENIED:
		c->gate->final = true;
		end_denied(c, "do not send the same again; do what was asked for in another way, or tell the user", "a person denied it%s%.250s",
			   a->reason && a->reason[0] ? ": " : "", a->reason ?: "");
		break;
	case APPROVAL_EXPIRED:
		end_denied(c, "nothing of it ran; the same call asks again", "nobody decided within %u s, which is a denial",
			   c->core->boot->config.approval_ms / 1000);
		break;
	default:
		end_denied(c, "send the call again: it is asked anew", "what was asked for has changed meanwhile");
	}
	if (r == 0)
		approval_free(a);
}

/* How many still wait. */
static unsigned look_at_all(struct core *core, struct store *store)
{
	struct call *c, *next;
	unsigned waiting = 0;

	for (c = LIST_FIRST(&core->calls); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->waits)
			look(c, store);
	}
	LIST_FOREACH(c, &core->calls, link)
		waiting += c->waits;
	return waiting;
}

void approvals_kick(struct core *core)
{
	struct store *store;
	struct err ignored;

	if (store_of(core, &store, &ignored) == 0)
		(void)look_at_all(core, store);
}

static void on_look(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct core *core = arg;
	struct store *store;
	struct err ignored;

	if (store_of(core, &store, &ignored) < 0)
		return;
	unsigned pending = sweep(core, store);
	if (look_at_all(core, store) + pending == 0)
		event_del(core->approvals_ev);
}

void approvals_watch(struct core *core)
{
	const struct timeval often = { .tv_sec = LOOK_S };

	if (!core->approvals_ev)
		core->approvals_ev = event_new(core->base, -1, EV_PERSIST, on_look, core);
	if (core->approvals_ev && !event_pending(core->approvals_ev, EV_TIMEOUT, NULL))
		event_add(core->approvals_ev, &often);
}

void approvals_wait(struct call *c)
{
	struct jbuf b;

	c->waits = true;
	approvals_watch(c->core);
	jbuf_init(&b, LIMIT_ERROR_BYTES);
	jbuf_printf(&b, "{\"call_id\":\"%s\",\"approval_id\":\"%s\",\"expires_ms\":%lld,\"rule\":", c->id, c->gate->approval, (long long)c->gate->expires_ms);
	jbuf_cstring(&b, c->gate->verdict.rule);
	jbuf_text(&b, "}");
	if (!b.failed)
		(void)client_notify(c->pending->client, "approval", b.data, b.len);
	jbuf_done(&b);
}

void approvals_release(struct core *core)
{
	struct call *c, *next;

	for (c = LIST_FIRST(&core->calls); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->waits)
			call_go(c);
	}
}

void approvals_close(struct core *core)
{
	if (core->approvals_ev)
		event_free(take_ptr(core->approvals_ev));
}
