#include "supervisor/methods.h"

#include "supervisor/call.h"
#include "supervisor/client.h"
#include "supervisor/profile_cache.h"
#include "supervisor/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The arguments may nest LIMIT_JSON_DEPTH deep inside the request and its params. */
#define REQUEST_DEPTH (LIMIT_JSON_DEPTH + 2)
#define DEFAULT_PROFILE "pure"
#define SHOW_MAX (4u << 20)

/* A request that json_check() accepted; slices point into the line. */
struct request {
	const char *line;
	size_t len;
	const char *id;
	size_t id_len;
};

typedef void (*method_fn)(struct core *core, const struct request *rq);

/* What a method takes. The first character of a value tells its type; 0: run judges it itself. */
struct param {
	const char *name;
	const char *first;
	const char *type;
};
#define STRING_FIRST "\""
#define BOOL_FIRST   "tf"
#define PARAMS_PROFILE                                                                                              \
	{ "profile", STRING_FIRST, "a string" }, { "profile_path", STRING_FIRST, "a string" },                      \
	{                                                                                                           \
		"profile_text", STRING_FIRST, "a string"                                                            \
	}
static const struct param params_none[] = { { 0 } };
static const struct param params_run[] = { { "body", STRING_FIRST, "a string" },
					   { "args", NULL, NULL },
					   PARAMS_PROFILE,
					   { "best_effort", BOOL_FIRST, "true or false" },
					   { "stages", BOOL_FIRST, "true or false" },
					   { 0 } };
static const struct param params_show[] = { PARAMS_PROFILE, { "effective", BOOL_FIRST, "true or false" }, { 0 } };

static void refuse(struct core *core, const struct request *rq, int code, const struct err *err)
{
	client_answer_error(core->client, rq->id, rq->id_len, code, err->detail, err->where, err->hint);
}

static void refuse_params(struct core *core, const struct request *rq, const char *what)
{
	client_answer_error(core->client, rq->id, rq->id_len, -32602, what, NULL, NULL);
}

/* Never half an object: what did not fit into memory is an error. */
static void answer_buf(struct core *core, const struct request *rq, const struct jbuf *b)
{
	if (b->failed)
		client_answer_error(core->client, rq->id, rq->id_len, -32603, "no memory for the answer", NULL, NULL);
	else
		client_answer(core->client, rq->id, rq->id_len, b->data, b->len);
}

/* params.KEY as a string, NULL when absent or of another type. *ret_len may count NULs. */
static char *param_string(const struct request *rq, const char *path, size_t *ret_len)
{
	size_t start, len;

	if (!json_find(rq->line, rq->len, path, &start, &len, NULL))
		return NULL;
	return json_string_dup(rq->line + start, len, ret_len);
}

static bool param_true(const struct request *rq, const char *path)
{
	size_t start, len;

	return json_find(rq->line, rq->len, path, &start, &len, NULL) && len == 4 && memcmp(rq->line + start, "true", 4) == 0;
}

/* The profile that the parameters name, or carry as text. */
static int param_profile(struct core *core, const struct request *rq, struct profile **ret, struct err *err)
{
	size_t name_len = 0, text_len = 0, path_len = 0;
	_cleanup_free_ char *name = param_string(rq, "params.profile", &name_len);
	_cleanup_free_ char *text = param_string(rq, "params.profile_text", &text_len);
	_cleanup_free_ char *path = param_string(rq, "params.profile_path", &path_len);

	if (name && strlen(name) != name_len)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "a profile name holds a NUL");
	if (path && strlen(path) != path_len)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "a profile's path holds a NUL");
	if (name && text)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "profile and profile_text exclude each other");
	if (path && !text)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "profile_path only names where profile_text is from");
	return profile_cache_get(core->profiles, name ? name : DEFAULT_PROFILE, path ? path : "profile", text, text_len, ret, err);
}

/* ---- run ---- */

static void answer_invalid(struct core *core, const struct request *rq, const char *profile, const struct err *why)
{
	struct jbuf b;

	jbuf_init(&b, SHOW_MAX);
	answer_refused(OUTCOME_INVALID_ARGUMENTS, profile, why, &b);
	answer_buf(core, rq, &b);
	jbuf_done(&b);
}

/* The caller's own bytes of the arguments, proven to be an object within bounds. */
static int take_args(const struct request *rq, struct call_request *cr, struct err *err)
{
	size_t start, len;
	struct json_error je;

	if (!json_find(rq->line, rq->len, "params.args", &start, &len, NULL)) {
		cr->args = "{}";
		cr->args_len = 2;
		return 0;
	}
	cr->args = rq->line + start;
	cr->args_len = len;
	if (len > LIMIT_ARGS_BYTES)
		return err_set(err, ERR_CALLER, E2BIG, "args", "the arguments are %zu bytes, more than the %u that a call may carry", len,
			       LIMIT_ARGS_BYTES);
	if (cr->args[0] != '{')
		return err_set(err, ERR_CALLER, EINVAL, "args", "the arguments are not a JSON object");
	if (json_check(cr->args, len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0)
		return err_set(err, ERR_CALLER, EINVAL, "args", "arguments, line %u column %u: %s", je.line, je.column, je.what);
	return 0;
}

static void method_run(struct core *core, const struct request *rq)
{
	struct call_request cr = { .best_effort = param_true(rq, "params.best_effort"), .want_stages = param_true(rq, "params.stages") };
	_cleanup_free_ char *body = param_string(rq, "params.body", &cr.body_len);
	struct profile *profile;
	struct err err;

	if (!body) {
		refuse_params(core, rq, "run needs a body (a string)");
		return;
	}
	if (cr.body_len > LIMIT_BODY_BYTES) {
		refuse_params(core, rq, "the body is larger than 1 MiB");
		return;
	}
	cr.body = body;
	if (param_profile(core, rq, &profile, &err) < 0) {
		refuse(core, rq, -32602, &err);
		return;
	}
	if (take_args(rq, &cr, &err) < 0) {
		answer_invalid(core, rq, profile_name(profile), &err);
		profile_free(profile);
		return;
	}
	call_start(core, profile, &cr, rq->id, rq->id_len);
	profile_free(profile);
}

/* ---- profiles ---- */

static void method_profile_list(struct core *core, const struct request *rq)
{
	struct jbuf b;
	const char *name;

	jbuf_init(&b, SHOW_MAX);
	jbuf_text(&b, "[");
	for (size_t i = 0; (name = profile_store_name(core->boot->profiles, i)); i++) {
		struct profile *p;
		struct err err;
		int r = profile_load(core->boot->profiles, name, &p, &err);

		jbuf_printf(&b, "%s{\"name\":", i ? "," : "");
		jbuf_cstring(&b, name);
		jbuf_text(&b, r < 0 ? ",\"error\":" : ",\"digest\":");
		jbuf_cstring(&b, r < 0 ? err.detail : profile_digest(p));
		jbuf_text(&b, ",\"why\":");
		jbuf_cstring(&b, r < 0 ? "" : profile_why(p));
		jbuf_text(&b, "}");
		if (r == 0)
			profile_free(p);
	}
	jbuf_text(&b, "]");
	answer_buf(core, rq, &b);
	jbuf_done(&b);
}

/* As somebody wrote it: the caller's own, or the file of that name. */
static char *own_text(struct core *core, const struct request *rq, const char *name)
{
	size_t len = 0;
	char *sent = param_string(rq, "params.profile_text", &len);
	const char *stored = sent ? NULL : profile_store_text(core->boot->profiles, name, &len);

	return stored ? strndup(stored, len) : sent;
}

static void method_profile_show(struct core *core, const struct request *rq)
{
	struct profile *p;
	struct err err;
	struct jbuf b;

	if (param_profile(core, rq, &p, &err) < 0) {
		refuse(core, rq, -32602, &err);
		return;
	}
	_cleanup_free_ char *text = param_true(rq, "params.effective") ? profile_print(p) : own_text(core, rq, profile_name(p));
	jbuf_init(&b, SHOW_MAX);
	jbuf_text(&b, "{\"name\":");
	jbuf_cstring(&b, profile_name(p));
	jbuf_text(&b, ",\"digest\":");
	jbuf_cstring(&b, profile_digest(p));
	jbuf_text(&b, ",\"filter\":");
	jbuf_cstring(&b, profile_filter_digest(p));
	jbuf_text(&b, ",\"text\":");
	jbuf_cstring(&b, text ? text : "");
	jbuf_text(&b, "}");
	answer_buf(core, rq, &b);
	jbuf_done(&b);
	profile_free(p);
}

/* ---- status ---- */

static void method_status(struct core *core, const struct request *rq)
{
	struct jbuf b;
	struct jail *j;
	unsigned parked = 0, alive = 0;
	const char *sep = "";

	LIST_FOREACH(j, &core->jails, link) {
		parked += j->state == JAIL_PARKED && !j->fn;
		alive++;
	}
	jbuf_init(&b, SHOW_MAX);
	jbuf_printf(&b, "{\"parked\":%u,\"alive\":%u,\"jails\":[", parked, alive);
	LIST_FOREACH(j, &core->jails, link) {
		if (j->pid > 0)
			jbuf_printf(&b, "%s{\"pid\":%d,\"state\":\"%s\"}", sep, j->pid, jail_state_name(j->state));
		sep = j->pid > 0 ? "," : sep;
	}
	jbuf_text(&b, "]}");
	answer_buf(core, rq, &b);
	jbuf_done(&b);
}

static void method_doctor(struct core *core, const struct request *rq)
{
	trial_start(core, rq->id, rq->id_len);
}

static const struct {
	const char *name;
	method_fn fn;
	const struct param *params;
} methods[] = {
	{ "run", method_run, params_run },
	{ "status", method_status, params_none },
	{ "doctor", method_doctor, params_none },
	{ "profile.list", method_profile_list, params_none },
	{ "profile.show", method_profile_show, params_show },
};

static const struct param *param_find(const struct param *params, const char *key, size_t len)
{
	for (; params->name; params++)
		if (strlen(params->name) == len && memcmp(params->name, key, len) == 0)
			return params;
	return NULL;
}

/* A parameter that is misspelt or of the wrong type would be as good as absent: the call would run, under
 * another profile than the caller meant. */
static bool params_fit(struct core *core, const struct request *rq, const struct param *params)
{
	struct json_member m;
	struct err err;
	size_t at, len;

	if (!json_find(rq->line, rq->len, "params", &at, &len, NULL))
		return true;
	if (rq->line[at] != '{') {
		refuse_params(core, rq, "params is not an object");
		return false;
	}
	while (json_member_next(rq->line, rq->len, &at, &m)) {
		const struct param *p = param_find(params, rq->line + m.key, m.key_len);

		if (p && (!p->first || strchr(p->first, rq->line[m.value])))
			continue;
		if (p)
			err_set(&err, ERR_CALLER, EINVAL, "params", "%s is not %s", p->name, p->type);
		else
			err_set(&err, ERR_CALLER, EINVAL, "params", "no such parameter: %.*s", m.key_len < 64 ? (int)m.key_len : 64,
				rq->line + m.key);
		refuse(core, rq, -32602, &err);
		return false;
	}
	return true;
}

static void method_call(struct core *core, const struct request *rq, const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (strlen(methods[i].name) == len && memcmp(methods[i].name, name, len) == 0) {
			if (params_fit(core, rq, methods[i].params))
				methods[i].fn(core, rq);
			return;
		}
	client_answer_error(core->client, rq->id, rq->id_len, -32601, "no such method", NULL, NULL);
}

static bool take_request(struct core *core, const char *line, size_t len, struct request *rq)
{
	struct json_error je;
	struct err err;
	size_t start;

	*rq = (struct request){ .line = line, .len = len, .id = "null", .id_len = 4 };
	if (json_check(line, len, JSON_OBJECT, REQUEST_DEPTH, &je) < 0) {
		err_set(&err, ERR_CALLER, EINVAL, "request", "column %u: %s", je.column, je.what);
		refuse(core, rq, -32700, &err);
		return false;
	}
	if (json_find(line, len, "id", &start, &rq->id_len, NULL) && strchr("\"-0123456789", line[start])) {
		rq->id = line + start;
		return true;
	}
	rq->id_len = 4;
	client_answer_error(core->client, "null", 4, -32600, "a request needs an id (a string or a number)", NULL, NULL);
	return false;
}

void methods_dispatch(struct core *core, const char *line, size_t len)
{
	struct request rq;
	size_t version_len = 0, name_len = 0;

	if (!take_request(core, line, len, &rq))
		return;
	_cleanup_free_ char *version = param_string(&rq, "jsonrpc", &version_len);
	_cleanup_free_ char *name = param_string(&rq, "method", &name_len);
	if (!version || version_len != 3 || memcmp(version, "2.0", 3) != 0 || !name) {
		client_answer_error(core->client, rq.id, rq.id_len, -32600, "not a JSON-RPC 2.0 request", NULL, NULL);
		return;
	}
	method_call(core, &rq, name, name_len);
}
