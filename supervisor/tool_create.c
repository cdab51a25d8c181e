#include "supervisor/tool_create.h"

#include "supervisor/audit_client.h"
#include "supervisor/call.h"
#include "supervisor/narrow.h"
#include "supervisor/registry.h"
#include "supervisor/schema.h"
#include "supervisor/session.h"
#include "supervisor/tool_answer.h"
#include "supervisor/tool_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Between the request and the jail's answer. */
struct creation {
	struct core *core;
	struct registry_who who;
	pid_t pid;
	struct tool *tool;
	struct schema *schema;
	bool replace;
};

const struct param params_tool_create[] = { { "name", STRING_FIRST, "a string" },
					    { "description", STRING_FIRST, "a string" },
					    { "parameters", NULL, NULL },
					    { "body", STRING_FIRST, "a string" },
					    { "permissions", NULL, NULL },
					    PARAMS_PROFILE,
					    { "replace", BOOL_FIRST, "true or false" },
					    { "session", STRING_FIRST, "a string" },
					    { "best_effort", BOOL_FIRST, "true or false" },
					    { 0 } };

static void creation_free(struct creation *cr)
{
	if (!cr)
		return;
	tool_free(cr->tool);
	schema_free(cr->schema);
	free(cr);
}

/* ---- before the jail ---- */

/* Who was refused, by which guardrail, for the audit log: the words may quote the tool, so only their hash goes there. Where the log
 * cannot take it nothing is lost but the note: nothing was done. */
static void note_refused(struct core *core, const struct registry_who *who, pid_t pid, const char *name, const char *profile, const struct err *err)
{
	(void)audit_note_about(core, AUDIT_TOOL_CREATE, who->uid, pid,
			       &(struct audit_about){ .tool = name, .profile = profile, .text = err->where, .reason = err->detail, .decided = true,
						      .decision = AUDIT_DENY });
}

static void refuse(const struct request *rq, const struct registry_who *who, const char *name, enum outcome outcome, const struct err *err)
{
	struct jbuf b;

	/* A name that breaks the rule is not one for the log's column of names. */
	struct err ignored;
	bool is_name = tool_name_check(name, strlen(name), &ignored) == 0;
	note_refused(rq->core, who, client_pid(rq->client), is_name ? name : NULL, NULL, err);
	jbuf_init(&b, ANSWER_TEXT_MAX);
	tool_answer_refused(&(struct refusal){ .outcome = outcome, .tool = name, .err = err }, &b);
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* Outside of strings JSON has white space only between tokens: one line, so that answers stay lines. */
static char *one_line(const char *raw, size_t len)
{
	char *text = strndup(raw, len);

	for (char *p = text; p && *p; p++)
		if (*p == '\r' || *p == '\n')
			*p = ' ';
	return text;
}

/* Nobody declared them: the look at the body is made with all that a draft could get, and what it finds is taken. */
static int take_permissions(const struct request *rq, struct tool *t, struct err *err)
{
	struct slice v;

	t->inferred = !request_find(rq, "permissions", &v);
	if (t->inferred) {
		t->declared = (struct permissions){ .filesystem = true, .subprocess = true };
		return 0;
	}
	if (rq->line[v.at] == '{')
		return permissions_parse(rq->line + v.at, v.len, &t->declared, err);
	err_set(err, ERR_CALLER, EINVAL, "permissions", "permissions is no object");
	err_hint(err, "such as {\"filesystem\":true,\"scope\":\"read-only\"}; without any, what the body seems to need is taken");
	return -EINVAL;
}

static bool take_session(const struct request *rq, struct tool *t)
{
	struct session *session;
	struct slice v;

	if (!request_find(rq, "session", &v))
		return true;
	session = request_session(rq);
	if (!session)
		return false;
	snprintf(t->session, sizeof(t->session), "%s", session->id);
	snprintf(t->user_id, sizeof(t->user_id), "%s", session->user_id ? session->user_id : "");
	return true;
}

/* name, description, parameters and body as they were sent. False: one is missing, and it was refused. */
static bool take_texts(const struct request *rq, struct tool *t, char **ret_name, struct registry_texts *ret)
{
	struct slice v = { 0 };

	*ret_name = request_string(rq, "name", &ret->name_len);
	t->description = request_string(rq, "description", &ret->description_len);
	t->body = request_string(rq, "body", &ret->body_len);
	if (!*ret_name || !t->description || !t->body || !request_find(rq, "parameters", &v)) {
		request_refuse_params(rq, "tool.create needs name, description and body (strings) and parameters (a JSON Schema object)");
		return false;
	}
	t->parameters = one_line(rq->line + v.at, v.len);
	ret->name = *ret_name;
	ret->description = t->description;
	ret->body = t->body;
	ret->parameters = rq->line + v.at;
	ret->parameters_len = v.len;
	return t->parameters != NULL;
}

static void on_looked_at(struct call *c, struct pending *pending, void *arg);

/* All words are good: the body goes into a jail of the tightest kind that the tool would run in. Takes cr. */
static void look_begin(const struct request *rq, struct creation *cr, size_t body_len)
{
	struct call_request req = { .body = cr->tool->body, .body_len = body_len, .args = "{}", .args_len = 2,
				    .best_effort = request_true(rq, "best_effort"), .flags = REQUEST_CHECK, .done = on_looked_at, .done_arg = cr };
	struct permissions effective;
	struct profile *profile;
	struct err err;

	if (narrow_tool(rq->core, cr->tool, &profile, &effective, &err) < 0) {
		request_refuse_profile(rq, &err);
		creation_free(cr);
		return;
	}
	if (request_admit(rq, body_len + 2, profile_name(profile)))
		call_start(rq->client, profile, &req, rq->id, rq->id_len);
	else
		creation_free(cr);
	profile_free(profile);
}

static int take_profile(const struct request *rq, struct tool *t, struct err *err)
{
	size_t len = 0;
	struct profile *profile = NULL;
	int r = request_profile(rq, &profile, err);

	if (r < 0)
		return r;
	snprintf(t->profile, sizeof(t->profile), "%s", profile_name(profile));
	profile_free(profile);
	t->profile_text = request_string(rq, "profile_text", &len);
	return 0;
}

void method_tool_create(const struct request *rq)
{
	struct creation *cr = calloc(1, sizeof(*cr));
	_cleanup_free_ char *name = NULL;
	struct registry_texts texts = { 0 };
	enum outcome outcome = OUTCOME_INVALID_ARGUMENTS;
	struct err err;

	if (!cr || !(cr->tool = calloc(1, sizeof(*cr->tool)))) {
		client_answer_error(rq->client, rq->id, rq->id_len, RPC_INTERNAL, "no memory", NULL, NULL);
		free(cr);
		return;
	}
	cr->core = rq->core;
	cr->who = (struct registry_who){ client_authority(rq->client), client_uid(rq->client) };
	cr->pid = client_pid(rq->client);
	cr->replace = request_true(rq, "replace");
	cr->tool->uid = cr->who.uid;
	if (!take_texts(rq, cr->tool, &name, &texts) || !take_session(rq, cr->tool)) {
		creation_free(cr);
		return;
	}
	if (registry_check_texts(&texts, &cr->schema, &err) < 0 || take_permissions(rq, cr->tool, &err) < 0 ||
	    registry_room(rq->core, &cr->who, name, cr->replace, &outcome, &err) < 0) {
		refuse(rq, &cr->who, name, outcome, &err);
		creation_free(cr);
		return;
	}
	snprintf(cr->tool->name, sizeof(cr->tool->name), "%s", name);
	if (take_profile(rq, cr->tool, &err) < 0) {
		request_refuse_profile(rq, &err);
		creation_free(cr);
		return;
	}
	look_begin(rq, cr, texts.body_len);
}

/* ---- after it ---- */

/* What the author should hear: needs that are not declared, declared ones that the profile or the tier does not give. */
static void warnings_print(const struct creation *cr, const struct look *look, const struct permissions *effective, struct jbuf *b)
{
	const struct permissions *declared = &cr->tool->declared;
	const char *sep = "";
	char text[400];

	for (enum permission i = 0; i < PERMISSION_COUNT; i++) {
		const char *name = permission_name(i);

		if (look->needs_known && permission_of(&look->needs, i) && !permission_of(declared, i))
			snprintf(text, sizeof(text), "the body seems to need %s (%s), which %s: a call that tries it is denied", name,
				 look->reasons[i], cr->tool->inferred ? "its profile does not give" : "is not declared");
		else if (permission_of(declared, i) && !permission_of(effective, i))
			snprintf(text, sizeof(text), "profile %s gives a %s no %s", cr->tool->profile, tool_state_name(cr->tool->state), name);
		else
			continue;
		jbuf_text(b, sep);
		jbuf_cstring(b, text);
		sep = ",";
	}
	if (!look->needs_known && cr->tool->inferred) {
		jbuf_text(b, sep);
		jbuf_cstring(b, "the body is too large to be looked through: declare its permissions, it has none");
		sep = ",";
	}
	if (schema_is_open(cr->schema) && !look->variable) {
		jbuf_text(b, sep);
		jbuf_cstring(b, "parameters allows further properties, and run takes none: say \"additionalProperties\": false");
	}
}

static void created_print(const struct creation *cr, const struct look *look, const struct permissions *effective, struct jbuf *b)
{
	const struct tool *t = cr->tool;

	jbuf_printf(b, "{\"outcome\":\"ok\",\"name\":\"%s\",\"hash\":\"%s\",\"version\":%u,\"state\":\"%s\",\"profile\":", t->name, t->hash, t->version,
		    tool_state_name(t->state));
	jbuf_cstring(b, t->profile);
	jbuf_text(b, ",\"permissions\":");
	permissions_print(&t->declared, b);
	jbuf_printf(b, ",\"inferred\":%s,\"effective\":", t->inferred ? "true" : "false");
	permissions_print(effective, b);
	jbuf_text(b, ",\"suggested\":");
	if (look->needs_known)
		permissions_print(&look->needs, b);
	else
		jbuf_text(b, "null");
	jbuf_printf(b, ",\"async\":%s,\"warnings\":[", look->is_async ? "true" : "false");
	warnings_print(cr, look, effective, b);
	jbuf_text(b, "]}");
}

static void answer_refusal(struct creation *cr, struct pending *pending, enum outcome outcome, const struct err *err, const struct call *c)
{
	bool python = c && c->outcome == OUTCOME_TOOL_ERROR && c->ev.frame_complete;
	struct jbuf b;

	note_refused(cr->core, &cr->who, cr->pid, cr->tool->name, cr->tool->profile, err);
	jbuf_init(&b, ANSWER_TEXT_MAX);
	tool_answer_refused(&(struct refusal){ .outcome = outcome,
					       .tool = cr->tool->name,
					       .profile = cr->tool->profile,
					       .err = err,
					       .error = python ? c->result : NULL,
					       .error_len = python ? c->result_len : 0 },
			    &b);
	pending_answer(pending, &b);
	jbuf_done(&b);
}

/* The name of what the body's error is goes into the log; its message is the author's text, and stays out. */
static void words_of_call(const struct call *c, struct err *err)
{
	if (c->outcome == OUTCOME_TOOL_ERROR && c->ev.frame_complete) {
		err_set(err, ERR_TOOL, EINVAL, "body", "the body raised an error when it was looked at");
		err_hint(err, "the body must compile, run to its end when it is loaded, and define run");
		return;
	}
	if (c->outcome == OUTCOME_TOOL_ERROR)
		err_set(err, ERR_TOOL, EINVAL, "body", "the body ended its process when it was looked at, before run was called");
	else
		err_set(err, ERR_TOOL, EINVAL, "body", "the body ended with %s when it was looked at, before run was called", outcome_name(c->outcome));
	err_hint(err, "do the work inside run: what stands beside it is executed when the tool is loaded, at each call");
}

/* Recorded, then done, then told. */
static int take_in(struct creation *cr, enum outcome *ret_outcome, struct err *err)
{
	struct tool *t = cr->tool;
	int r;

	tool_hash(t, t->hash);
	r = audit_note_about(cr->core, AUDIT_TOOL_CREATE, cr->who.uid, cr->pid,
			     &(struct audit_about){ .session = t->session[0] ? t->session : NULL, .tool = t->name, .hash = t->hash, .profile = t->profile,
						    .text = cr->replace ? "another version" : "a new tool", .decided = true, .decision = AUDIT_ALLOW });
	if (r == 0)
		return registry_add(cr->core, &cr->who, t, cr->replace, ret_outcome, err);
	*ret_outcome = OUTCOME_INTERNAL_ERROR;
	err_set(err, ERR_HOST, -r, "audit", "the audit log cannot take who creates this, so it is not done: %s", strerror(-r));
	err_hint(err, "'brig status' tells how the log is");
	return r;
}

static int effective_of(struct creation *cr, struct permissions *ret, struct err *err)
{
	struct profile *profile;
	int r = narrow_tool(cr->core, cr->tool, &profile, ret, err);

	if (r == 0)
		profile_free(profile);
	return r;
}

/* What the body seems to need, as far as its profile could ever give it: what nobody can have is not worth a question. */
static int infer(struct creation *cr, const struct look *look, struct err *err)
{
	struct permissions effective;
	struct tool *t = cr->tool;
	int r;

	t->declared = look->needs_known ? look->needs : (struct permissions){ 0 };
	t->state = TOOL_APPROVED; /* no tier */
	r = effective_of(cr, &effective, err);
	t->state = TOOL_DRAFT;
	if (r < 0)
		return r;
	t->declared = effective;
	if (!t->declared.write)
		t->declared.scope = SCOPE_READ_ONLY;
	return 0;
}

static void finish(struct creation *cr, struct call *c, struct pending *pending)
{
	struct look look = { 0 };
	struct permissions effective;
	enum outcome outcome = OUTCOME_INVALID_ARGUMENTS;
	struct err err;
	struct jbuf b;
	int r = look_parse(c->result, c->result_len, &look, &err);

	if (r == 0)
		r = look_fits(&look, cr->schema, &err);
	if (r == 0 && cr->tool->inferred)
		r = infer(cr, &look, &err);
	if (r == 0 && (r = effective_of(cr, &effective, &err)) < 0)
		outcome = OUTCOME_INTERNAL_ERROR;
	if (r == 0)
		r = take_in(cr, &outcome, &err);
	if (r < 0) {
		answer_refusal(cr, pending, outcome, &err, NULL);
	} else {
		jbuf_init(&b, ANSWER_TEXT_MAX);
		created_print(cr, &look, &effective, &b);
		pending_answer(pending, &b);
		jbuf_done(&b);
	}
	look_done(&look);
}

/* The jail has spoken, or ended otherwise. */
static void on_looked_at(struct call *c, struct pending *pending, void *arg)
{
	struct creation *cr = arg;
	struct err err;
	struct jbuf b;

	if (!c) { /* it never began, and the client knows */
		creation_free(cr);
		return;
	}
	switch (c->outcome) {
	case OUTCOME_OK:
		if (pending->client)
			finish(cr, c, pending);
		else /* who wanted it is gone: a tool that nobody was told of is not kept */
			pending_free(pending);
		break;
	case OUTCOME_BUSY:
	case OUTCOME_CANCELLED:
	case OUTCOME_SETUP_FAILED:
	case OUTCOME_INTERNAL_ERROR:
		jbuf_init(&b, LIMIT_ANSWER_BYTES);
		answer_print(c, &b);
		pending_answer(pending, &b);
		jbuf_done(&b);
		break;
	default:
		words_of_call(c, &err);
		answer_refusal(cr, pending, OUTCOME_INVALID_ARGUMENTS, &err, c);
	}
	creation_free(cr);
}
