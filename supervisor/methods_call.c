/* Methods that start, show and end calls. */
#include "supervisor/audit_record.h"
#include "supervisor/call.h"
#include "supervisor/call_log.h"
#include "supervisor/context.h"
#include "supervisor/gate.h"
#include "supervisor/metrics.h"
#include "supervisor/request.h"
#include "supervisor/sched.h"
#include "supervisor/session.h"

#include <string.h>

/* A store that somebody else holds just now. */
#define UNDECIDED_RETRY_MS 200

/* The answer to a call that did not begin. */
static void answer_not_begun(const struct request *rq, enum outcome outcome, const char *profile, const struct err *why, uint32_t retry_after_ms)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	metrics_refused(rq->core, profile, outcome);
	answer_refused(outcome, "", profile, why, retry_after_ms, &b);
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* The caller's own bytes of the arguments, an object within bounds; that they are JSON, and how deep, was proven with the whole line. */
static int take_args(const struct request *rq, struct call_request *cr, struct err *err)
{
	struct slice v;

	if (!request_find(rq, "args", &v)) {
		cr->args = "{}";
		cr->args_len = 2;
		return 0;
	}
	size_t len = v.len;
	cr->args = rq->line + v.at;
	cr->args_len = len;
	if (len > LIMIT_ARGS_BYTES)
		return err_set(err, ERR_CALLER, E2BIG, "args", "the arguments are %zu bytes, more than the %u that a call may carry", len,
			       LIMIT_ARGS_BYTES);
	if (cr->args[0] != '{')
		return err_set(err, ERR_CALLER, EINVAL, "args", "the arguments are not a JSON object");
	return 0;
}

/* What the caller can do, and what a person answered it: the tool reads it, and nothing is allowed by it. */
static int take_context(const struct request *rq, struct call_request *cr, struct err *err)
{
	struct slice v;

	if (!request_find(rq, "context", &v))
		return 0;
	cr->context = rq->line + v.at;
	cr->context_len = v.len;
	return context_check(cr->context, cr->context_len, err);
}

static bool has(const struct request *rq, const char *name)
{
	struct slice v;

	return request_find(rq, name, &v);
}

/* A session brings its profile; another one may be named only where no jail was built for the first. */
static int take_session_profile(const struct request *rq, const struct call_request *cr, struct profile **ret, struct err *err)
{
	const struct session *s = cr->session;
	int r = has(rq, "profile") || has(rq, "profile_text") ? request_profile(rq, ret, err) : 0;

	if (r < 0)
		return r;
	if (!*ret) {
		r = request_check_agent(rq, profile_name(s->profile), err);
		if (r < 0)
			return r;
		*ret = profile_ref(s->profile);
	}
	if (!s->keeps_state || (strcmp(profile_digest(*ret), profile_digest(s->profile)) == 0 && !cr->best_effort))
		return 0;
	profile_free(take_ptr(*ret));
	err_set(err, ERR_CALLER, EINVAL, "session", "session %s runs with profile %s, and no best effort", s->id, profile_name(s->profile));
	err_hint(err, "leave profile and best_effort out, or open a session with that profile");
	return -EINVAL;
}

bool request_admit(const struct request *rq, size_t bytes, const char *profile)
{
	const char *limit = client_call_room(rq->client, bytes);
	struct sched_stats st;
	struct err why;

	if (!limit)
		return true;
	sched_stats_get(rq->core, &st);
	err_set(&why, ERR_CALLER, EBUSY, limit, "uid %u has as many %s as it may (%s)", client_uid(rq->client),
		strcmp(limit, "calls_per_uid") == 0 ? "calls in flight" : "bytes of requests waiting", limit);
	err_hint(&why, "nothing of it ran: send it again when one of the others has been answered");
	metrics_busy(rq->core, limit);
	call_log_busy(limit, client_uid(rq->client));
	answer_not_begun(rq, OUTCOME_BUSY, profile, &why, sched_retry_ms(st.waiting + 1, rq->core->boot->config.running_max, st.service_us));
	return false;
}

static struct gate_ask ask_of(const struct request *rq, const struct call_request *cr)
{
	return (struct gate_ask){ .core = rq->core, .authority = client_authority(rq->client), .uid = client_uid(rq->client),
				  .pid = client_pid(rq->client), .session = cr->session, .call_id = "", .args = cr->args, .args_len = cr->args_len,
				  .context = cr->context, .context_len = cr->context_len };
}

/* No decision could be made: that is no permission. */
static void answer_undecided(const struct request *rq, const char *profile, const struct err *err)
{
	bool soon = err->code == EBUSY || err->code == EAGAIN;

	answer_not_begun(rq, soon ? OUTCOME_BUSY : OUTCOME_INTERNAL_ERROR, profile, err, soon ? UNDECIDED_RETRY_MS : 0);
}

/* An agent's body passes the gate as any tool does. False: answered already. */
static bool gate_of_run(const struct request *rq, struct call_request *cr, struct profile *profile)
{
	struct gate_ask ask = ask_of(rq, cr);
	struct err err;

	if (ask.authority != AUTHORITY_AGENT || rq->core->draining)
		return true;
	ask.body = cr->body;
	ask.body_len = cr->body_len;
	ask.profile = profile;
	if (gate_run(&ask, &cr->gate, &err) == 0)
		return true;
	answer_undecided(rq, profile_name(profile), &err);
	return false;
}

static void method_run(const struct request *rq)
{
	struct call_request cr = { .best_effort = request_true(rq, "best_effort"),
				   .want_stages = request_true(rq, "stages"),
				   .stream = request_true(rq, "stream") };
	_cleanup_free_ char *body = request_string(rq, "body", &cr.body_len);
	struct profile *profile = NULL;
	struct err err;

	if (!body) {
		request_refuse_params(rq, "run needs a body (a string)");
		return;
	}
	if (cr.body_len > LIMIT_BODY_BYTES) {
		request_refuse_params(rq, "the body is larger than 1 MiB");
		return;
	}
	cr.body = body;
	if (has(rq, "session") && !(cr.session = request_session(rq)))
		return;
	if ((cr.session ? take_session_profile(rq, &cr, &profile, &err) : request_profile(rq, &profile, &err)) < 0) {
		request_refuse_profile(rq, &err);
		return;
	}
	if (take_args(rq, &cr, &err) < 0 || take_context(rq, &cr, &err) < 0)
		answer_not_begun(rq, OUTCOME_INVALID_ARGUMENTS, profile_name(profile), &err, 0);
	else if (request_admit(rq, cr.body_len + cr.args_len + cr.context_len, profile_name(profile)) && gate_of_run(rq, &cr, profile))
		call_start(rq->client, profile, &cr, rq->id, rq->id_len);
	profile_free(profile);
}

/* ---- a tool by its name ---- */

static bool take_wait(const struct request *rq, bool *ret)
{
	size_t len = 0;
	_cleanup_free_ char *word = request_string(rq, "approval", &len);

	*ret = word && strcmp(word, "wait") == 0 && len == 4;
	if (!word || *ret || (strcmp(word, "return") == 0 && len == 6))
		return true;
	request_refuse_params(rq, "approval is \"return\" or \"wait\"");
	return false;
}

/* A tool runs under its own narrowed profile, and never in a jail that others have used. */
static bool session_fits(const struct request *rq, const struct session *s)
{
	struct err err;

	if (!s->keeps_state)
		return true;
	err_set(&err, ERR_CALLER, EINVAL, "session", "session %s keeps state in a jail of its own; a tool runs in a fresh one", s->id);
	err_hint(&err, "name a session that was opened without state, or none");
	request_refuse(rq, RPC_PARAMS, &err);
	return false;
}

static void start_tool(const struct request *rq, struct call_request *cr, const char *name, size_t name_len)
{
	struct gate_ask ask = ask_of(rq, cr);
	struct gate *g = NULL;
	struct err err;

	ask.name = name;
	ask.name_len = name_len;
	if (!rq->core->draining && gate_call(&ask, &g, &err) < 0) {
		answer_undecided(rq, "", &err);
		return;
	}
	cr->gate = g;
	cr->body = g && g->tool ? g->tool->body : "";
	cr->body_len = strlen(cr->body);
	call_start(rq->client, g ? g->profile : NULL, cr, rq->id, rq->id_len);
}

static void method_call_tool(const struct request *rq)
{
	struct call_request cr = { .best_effort = request_true(rq, "best_effort"),
				   .want_stages = request_true(rq, "stages"),
				   .stream = request_true(rq, "stream") };
	size_t len = 0;
	_cleanup_free_ char *name = request_string(rq, "name", &len);
	struct err err;

	if (!name) {
		request_refuse_params(rq, "call needs the name of a tool (a string)");
		return;
	}
	if (!take_wait(rq, &cr.wait) || (has(rq, "session") && (!(cr.session = request_session(rq)) || !session_fits(rq, cr.session))))
		return;
	if (request_check_effort(rq, &err) < 0)
		request_refuse(rq, RPC_AUTHORITY, &err);
	else if (take_args(rq, &cr, &err) < 0 || take_context(rq, &cr, &err) < 0)
		answer_not_begun(rq, OUTCOME_INVALID_ARGUMENTS, "", &err, 0);
	else if (request_admit(rq, cr.body_len + cr.args_len + cr.context_len, ""))
		start_tool(rq, &cr, name, len);
}

/* ---- what runs ---- */

static const char *call_state_name(const struct call *c)
{
	static const char *const names[] = {
		[CALL_QUEUED] = "queued",
		[CALL_JAIL] = "starting",
		[CALL_RUN] = "running",
		[CALL_KILLED] = "ending",
	};

	return c->waits ? "approval" : c->asks ? "decision" : names[c->state];
}

/* An agent sees and ends the calls of its own uid, whatever connection they came by; an operator all. */
static bool call_is_theirs(const struct request *rq, const struct call *c)
{
	return client_authority(rq->client) != AUTHORITY_AGENT || c->uid == client_uid(rq->client);
}

static void method_list(const struct request *rq)
{
	uint64_t now = core_now_ns();
	const char *sep = "";
	struct call *c;
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"calls\":[");
	LIST_FOREACH(c, &rq->core->calls, link) {
		if (!call_is_theirs(rq, c))
			continue;
		jbuf_printf(&b, "%s{\"call_id\":\"%s\",\"profile\":", sep, c->id);
		jbuf_cstring(&b, c->profile);
		jbuf_text(&b, ",\"tool\":");
		if (c->gate && c->gate->tool)
			jbuf_cstring(&b, c->gate->name);
		else
			jbuf_text(&b, "null");
		jbuf_printf(&b, ",\"state\":\"%s\",\"uid\":%u,\"pid\":%d,\"age_ms\":%.1f,\"session\":", call_state_name(c), c->uid, c->pid,
			    (double)(now - c->received_ns) / 1e6);
		if (c->session)
			jbuf_cstring(&b, c->session->id);
		else
			jbuf_text(&b, "null");
		jbuf_text(&b, "}");
		sep = ",";
	}
	jbuf_text(&b, "]}");
	request_answer(rq, &b);
	jbuf_done(&b);
}

static struct call *call_find(const struct request *rq, const char *id)
{
	struct call *c;

	LIST_FOREACH(c, &rq->core->calls, link)
		if (strcmp(c->id, id) == 0 && call_is_theirs(rq, c))
			return c;
	return NULL;
}

static void method_cancel(const struct request *rq)
{
	size_t len = 0;
	_cleanup_free_ char *id = request_string(rq, "call_id", &len);
	struct call *c = id && strlen(id) == len ? call_find(rq, id) : NULL;
	struct err err;
	struct jbuf b;

	if (!c) { /* another uid's call is as unknown as none: ids are no secret that cancel tells */
		err_set(&err, ERR_CALLER, ENOENT, "call_id", id ? "no call of that id is queued or running" : "cancel needs a call_id (a string)");
		err_hint(&err, "it may have ended; list shows the calls that may be cancelled");
		request_refuse(rq, RPC_PARAMS, &err);
		return;
	}
	if (!request_recorded(rq, AUDIT_CANCEL, c->id, client_socket_name(rq->client)))
		return;
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_printf(&b, "{\"call_id\":\"%s\",\"was\":\"%s\"}", c->id, call_state_name(c));
	request_answer(rq, &b);
	jbuf_done(&b);
	err_set(&err, ERR_CALLER, ECANCELED, "cancel", "the call was cancelled by uid %u over %s", client_uid(rq->client),
		client_socket_name(rq->client));
	call_cancel_why(c, &err);
}

static const struct param params_run[] = { { "body", STRING_FIRST, "a string" },
					   { "args", NULL, NULL },
					   { "context", OBJECT_FIRST, "an object" },
					   PARAMS_PROFILE,
					   { "best_effort", BOOL_FIRST, "true or false" },
					   { "stages", BOOL_FIRST, "true or false" },
					   { "stream", BOOL_FIRST, "true or false" },
					   { "session", STRING_FIRST, "a string" },
					   { 0 } };

static const struct param params_call[] = { { "name", STRING_FIRST, "a string" },
					    { "args", NULL, NULL },
					    { "context", OBJECT_FIRST, "an object" },
					    { "best_effort", BOOL_FIRST, "true or false" },
					    { "stages", BOOL_FIRST, "true or false" },
					    { "stream", BOOL_FIRST, "true or false" },
					    { "session", STRING_FIRST, "a string" },
					    { "approval", STRING_FIRST, "\"return\" or \"wait\"" },
					    { 0 } };

static const struct param params_cancel[] = { { "call_id", STRING_FIRST, "a string" }, { 0 } };
static const struct param params_none[] = { { 0 } };

const struct method methods_call[] = {
	{ "run", method_run, params_run, false },
	{ "call", method_call_tool, params_call, false },
	{ "list", method_list, params_none, false },
	{ "cancel", method_cancel, params_cancel, false },
	{ 0 },
};
