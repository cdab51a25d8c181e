/* why: what would become of a call, a path, a host, a system call, without doing it. Whoever asks learns what the thing itself would
 * tell, no more: the gate is asked as that client, and a profile must be one that the client may use. */
#include "supervisor/gate.h"
#include "supervisor/narrow.h"
#include "supervisor/registry.h"
#include "supervisor/request.h"
#include "supervisor/session.h"
#include "supervisor/why.h"

#include "jail/base/names.h"

#include <string.h>

static void member(struct jbuf *b, const char *key, const char *text)
{
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	if (text && *text)
		jbuf_cstring(b, text);
	else
		jbuf_text(b, "null");
}

static void answer(const struct request *rq, struct jbuf *b)
{
	jbuf_text(b, "}");
	request_answer(rq, b);
	jbuf_done(b);
}

static bool has(const struct request *rq, const char *name)
{
	struct slice v;

	return request_find(rq, name, &v);
}

/* ---- a tool ---- */

static const char *word_of(const struct gate *g)
{
	switch (g->outcome) {
	case OUTCOME_OK: return "allow";
	case OUTCOME_DENIED: return "deny";
	case OUTCOME_APPROVAL_PENDING: return "escalate";
	default: return outcome_name(g->outcome);
	}
}

static void answer_gate(const struct request *rq, const struct gate *g)
{
	bool policy = g->decided && (g->outcome == OUTCOME_OK || strcmp(g->why.where, "policy") == 0 || g->outcome == OUTCOME_APPROVAL_PENDING);
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{");
	member(&b, "about", "tool");
	member(&b, "verdict", word_of(g));
	member(&b, "layer", policy ? "policy" : g->why.where);
	member(&b, "rule", g->decided ? g->verdict.rule : NULL);
	member(&b, "reason", policy ? g->verdict.reason : g->why.detail);
	member(&b, "hint", policy ? g->verdict.hint : g->why.hint);
	member(&b, "tool", g->name);
	member(&b, "hash", g->tool ? g->tool->hash : NULL);
	member(&b, "state", g->tool ? tool_state_name(g->tool->state) : NULL);
	member(&b, "profile", g->profile ? profile_name(g->profile) : NULL);
	member(&b, "approval", g->approval);
	jbuf_text(&b, ",\"permissions\":");
	if (g->profile)
		permissions_print(&g->effective, &b);
	else
		jbuf_text(&b, "null");
	answer(rq, &b);
}

/* The gate is asked without leaving a trace. */
static void why_tool(const struct request *rq, const char *name, size_t name_len)
{
	struct gate_ask ask = { .core = rq->core, .authority = client_authority(rq->client), .uid = client_uid(rq->client),
				.pid = client_pid(rq->client), .call_id = "", .name = name, .name_len = name_len, .args = "{}", .args_len = 2, .dry = true };
	bool run = name_len == 3 && memcmp(name, "run", 3) == 0;
	struct gate *g = NULL;
	struct slice v;
	struct err err;
	int r = 0;

	if (request_find(rq, "args", &v)) {
		ask.args = rq->line + v.at;
		ask.args_len = v.len;
	}
	if (has(rq, "session") && !(ask.session = request_session(rq)))
		return;
	if (run) {
		ask.name = NULL;
		ask.body = "";
		r = request_profile(rq, &ask.profile, &err);
	}
	if (r < 0) {
		request_refuse_profile(rq, &err);
		return;
	}
	r = run ? gate_run(&ask, &g, &err) : gate_call(&ask, &g, &err);
	profile_free(ask.profile);
	if (r < 0) {
		request_refuse(rq, RPC_INTERNAL, &err);
		return;
	}
	answer_gate(rq, g);
	gate_free(g);
}

/* ---- what a profile says ---- */

/* That of a tool as it would run now, else the one that is named. NULL: refused already. */
static struct profile *profile_take(const struct request *rq, const char *tool, size_t tool_len)
{
	struct permissions effective;
	struct profile *p = NULL;
	struct tool *t = NULL;
	struct err err;

	if (!tool) {
		if (request_profile(rq, &p, &err) == 0)
			return p;
		request_refuse_profile(rq, &err);
		return NULL;
	}
	int r = registry_get(rq->core, tool, tool_len, &t, &err);
	if (r == 0)
		r = narrow_tool(rq->core, t, &p, &effective, &err);
	tool_free(t);
	if (r < 0)
		request_refuse(rq, RPC_PARAMS, &err);
	return r < 0 ? NULL : p;
}

static void answer_profile(const struct request *rq, const char *about, const char *what, const struct profile *p, const struct why *w)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{");
	member(&b, "about", about);
	member(&b, about, what);
	member(&b, "verdict", w->verdict);
	member(&b, "layer", w->layer);
	member(&b, "rule", w->rule);
	member(&b, "reason", w->text);
	member(&b, "hint", w->hint);
	member(&b, "profile", profile_name(p));
	answer(rq, &b);
}

static void why_profile(const struct request *rq, const char *about, const char *what, const char *tool, size_t tool_len)
{
	struct profile *p = profile_take(rq, tool, tool_len);
	struct why w;
	struct err err;
	int r = 0;

	if (!p)
		return;
	if (strcmp(about, "path") == 0)
		r = why_path(p, what, &w, &err);
	else if (strcmp(about, "syscall") == 0)
		r = why_syscall(p, what, &w, &err);
	else
		why_host(p, what, &w);
	if (r < 0)
		request_refuse(rq, RPC_PARAMS, &err);
	else
		answer_profile(rq, about, what, p, &w);
	profile_free(p);
}

static void method_why(const struct request *rq)
{
	static const char *const abouts[] = { "path", "host", "syscall" };
	size_t tool_len = 0, len = 0, count = 0;
	const char *about = NULL;

	for (size_t i = 0; i < ARRAY_LEN(abouts); i++)
		if (has(rq, abouts[i])) {
			about = abouts[i];
			count++;
		}
	_cleanup_free_ char *tool = request_string(rq, "tool", &tool_len);
	_cleanup_free_ char *what = about ? request_string(rq, about, &len) : NULL;
	if (count > 1 || (!tool && !about) || (about && !what) || (what && strlen(what) != len))
		request_refuse_params(rq, "why is asked about a tool, or one path, host or syscall (of a tool, or of a profile)");
	else if (tool && (has(rq, "profile") || has(rq, "profile_text")) && (about || strcmp(tool, "run") != 0))
		request_refuse_params(rq, "a tool has its profile");
	else if (about)
		why_profile(rq, about, what, tool, tool_len);
	else
		why_tool(rq, tool, tool_len);
}

static const struct param params_why[] = {
	{ "tool", STRING_FIRST, "a string" },
	{ "args", OBJECT_FIRST, "an object" },
	{ "session", STRING_FIRST, "a string" },
	{ "path", STRING_FIRST, "a string" },
	{ "host", STRING_FIRST, "a string" },
	{ "syscall", STRING_FIRST, "a string" },
	PARAMS_PROFILE,
	{ 0 },
};

const struct method methods_why[] = {
	{ "why", method_why, params_why, false },
	{ 0 },
};
