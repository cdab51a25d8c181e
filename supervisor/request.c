#include "supervisor/request.h"

#include "supervisor/audit_client.h"
#include "supervisor/profile_cache.h"

#include <stdlib.h>
#include <string.h>

/* What the others extend: it grants and limits nothing that was thought through for a tool. */
#define ABSTRACT_PROFILE "base"
/* Where an error stands that says: not on this socket. */
#define AUTHORITY "authority"

void request_refuse(const struct request *rq, int code, const struct err *err)
{
	client_answer_error(rq->client, rq->id, rq->id_len, code, err->detail, err->where, err->hint);
}

void request_refuse_params(const struct request *rq, const char *what)
{
	client_answer_error(rq->client, rq->id, rq->id_len, RPC_PARAMS, what, "params", "brig(7) lists the parameters of each method");
}

bool request_recorded(const struct request *rq, unsigned kind, const char *call_id, const char *text)
{
	return request_recorded_about(rq, kind, &(struct audit_about){ .call_id = call_id, .text = text });
}

bool request_recorded_about(const struct request *rq, unsigned kind, const struct audit_about *about)
{
	int r = audit_note_about(rq->core, (enum audit_kind)kind, client_uid(rq->client), client_pid(rq->client), about);
	struct err err;

	if (r == 0)
		return true;
	err_set(&err, ERR_HOST, -r, "audit", "the audit log cannot take who asks for this, so it is not done: %s", strerror(-r));
	err_hint(&err, "'brig status' tells how the log is");
	request_refuse(rq, RPC_INTERNAL, &err);
	return false;
}

void request_answer(const struct request *rq, const struct jbuf *b)
{
	if (b->failed)
		client_answer_error(rq->client, rq->id, rq->id_len, RPC_INTERNAL, "no memory for the answer", NULL, NULL);
	else
		client_answer(rq->client, rq->id, rq->id_len, b->data, b->len);
}

static bool key_is(const struct request *rq, const struct json_member *m, const char *name)
{
	return strlen(name) == m->key_len && memcmp(rq->line + m->key, name, m->key_len) == 0;
}

void request_index(struct request *rq, struct slice *ret_unknown)
{
	const struct {
		const char *name;
		struct slice *slice;
	} known[] = { { "jsonrpc", &rq->version }, { "id", &rq->rpc_id }, { "method", &rq->method }, { "params", &rq->params_at } };
	size_t at = strspn(rq->line, " \t\r");
	struct json_member m;

	*ret_unknown = (struct slice){ 0 };
	while (json_member_next(rq->line, rq->len, &at, &m)) {
		size_t i = 0;

		while (i < ARRAY_LEN(known) && !key_is(rq, &m, known[i].name))
			i++;
		if (i < ARRAY_LEN(known))
			*known[i].slice = (struct slice){ m.value, m.value_len };
		else if (ret_unknown->len == 0)
			*ret_unknown = (struct slice){ m.key - 1, m.key_len + 2 }; /* with its quotes: it may be empty */
	}
}

/* A parameter that is misspelt or of the wrong type would be as good as absent: the call would run, under
 * another profile than the caller meant. */
int request_index_params(struct request *rq, const struct param *params, struct err *err)
{
	size_t at = rq->params_at.at;
	struct json_member m;
	int r = 0;

	rq->params = params;
	if (rq->params_at.len == 0)
		return 0;
	if (rq->line[at] != '{')
		r = err_set(err, ERR_CALLER, EINVAL, "params", "params is not an object");
	while (r == 0 && json_member_next(rq->line, rq->len, &at, &m)) {
		size_t i = 0;

		while (params[i].name && !key_is(rq, &m, params[i].name))
			i++;
		if (!params[i].name)
			r = err_set(err, ERR_CALLER, EINVAL, "params", "no such parameter: %.*s", m.key_len < 64 ? (int)m.key_len : 64, rq->line + m.key);
		else if (params[i].first && !strchr(params[i].first, rq->line[m.value]))
			r = err_set(err, ERR_CALLER, EINVAL, "params", "%s is not %s", params[i].name, params[i].type);
		else
			rq->values[i] = (struct slice){ m.value, m.value_len };
	}
	if (r < 0)
		err_hint(err, "brig(7) lists the parameters of each method");
	return r;
}

bool request_find(const struct request *rq, const char *name, struct slice *ret)
{
	for (size_t i = 0; rq->params[i].name; i++)
		if (strcmp(rq->params[i].name, name) == 0) {
			*ret = rq->values[i];
			return ret->len > 0;
		}
	return false;
}

char *request_string(const struct request *rq, const char *name, size_t *ret_len)
{
	struct slice v;

	return request_find(rq, name, &v) ? json_string_dup(rq->line + v.at, v.len, ret_len) : NULL;
}

static bool value_is(const struct request *rq, const char *name, const char *word)
{
	struct slice v;

	return request_find(rq, name, &v) && v.len == strlen(word) && memcmp(rq->line + v.at, word, v.len) == 0;
}

bool request_true(const struct request *rq, const char *name)
{
	return value_is(rq, name, "true");
}

bool request_false(const struct request *rq, const char *name)
{
	return value_is(rq, name, "false");
}

bool core_agent_may_use(const struct core *core, const char *profile)
{
	const struct config_names *allowed = &core->boot->config.profiles;

	if (strcmp(profile, ABSTRACT_PROFILE) == 0)
		return false;
	for (uint32_t i = 0; i < allowed->count; i++)
		if (strcmp(allowed->name[i], profile) == 0)
			return true;
	return allowed->any;
}

bool request_may_use(const struct request *rq, const char *profile)
{
	return client_authority(rq->client) != AUTHORITY_AGENT || core_agent_may_use(rq->core, profile);
}

int request_check_effort(const struct request *rq, struct err *err)
{
	if (client_authority(rq->client) != AUTHORITY_AGENT || !request_true(rq, "best_effort") || rq->core->boot->config.allow_best_effort)
		return 0;
	err_set(err, ERR_CALLER, EPERM, AUTHORITY, "best_effort: an agent may not weaken its jail");
	err_hint(err, "the operator may permit it: allow_best_effort in brigd.conf(5)");
	return -EPERM;
}

/* Who asks may not approve: on agent.sock the limits are the operator's words, never the caller's. */
int request_check_agent(const struct request *rq, const char *profile, struct err *err)
{
	if (request_check_effort(rq, err) < 0)
		return -EPERM;
	if (request_may_use(rq, profile))
		return 0;
	err_set(err, ERR_CALLER, EPERM, AUTHORITY, "profile %.60s is not for agent.sock", profile);
	err_hint(err, "profile.list shows those that are; the operator's list is \"profiles\" in brigd.conf(5)");
	return -EPERM;
}

int request_profile(const struct request *rq, struct profile **ret, struct err *err)
{
	size_t name_len = 0, text_len = 0, path_len = 0;
	_cleanup_free_ char *name = request_string(rq, "profile", &name_len);
	_cleanup_free_ char *text = request_string(rq, "profile_text", &text_len);
	_cleanup_free_ char *path = request_string(rq, "profile_path", &path_len);

	if (name && strlen(name) != name_len)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "a profile name holds a NUL");
	if (path && strlen(path) != path_len)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "a profile's path holds a NUL");
	if (name && text)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "profile and profile_text exclude each other");
	if (path && !text)
		return err_set(err, ERR_CALLER, EINVAL, "profile", "profile_path only names where profile_text is from");
	if (text && client_authority(rq->client) == AUTHORITY_AGENT) {
		err_set(err, ERR_CALLER, EPERM, AUTHORITY, "profile_text: an agent brings no profile of its own");
		err_hint(err, "name one of the operator's (profile.list), or use a private supervisor: brig run --private --profile FILE");
		return -EPERM;
	}
	const char *wanted = name ? name : rq->core->boot->config.default_profile;
	int r = text ? 0 : request_check_agent(rq, wanted, err);
	if (r < 0)
		return r;
	return profile_cache_get(rq->core->profiles, wanted, path ? path : "profile", text, text_len, ret, err);
}

void request_refuse_profile(const struct request *rq, const struct err *err)
{
	request_refuse(rq, strcmp(err->where, AUTHORITY) == 0 ? RPC_AUTHORITY : RPC_PARAMS, err);
}
