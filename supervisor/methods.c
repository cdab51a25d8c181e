#include "supervisor/methods.h"

#include "supervisor/request.h"

#include <string.h>

/* The arguments may nest LIMIT_JSON_DEPTH deep inside the request and its params. */
#define REQUEST_DEPTH (LIMIT_JSON_DEPTH + 2)

static const struct param *param_find(const struct param *params, const char *key, size_t len)
{
	for (; params->name; params++)
		if (strlen(params->name) == len && memcmp(params->name, key, len) == 0)
			return params;
	return NULL;
}

/* A parameter that is misspelt or of the wrong type would be as good as absent: the call would run, under
 * another profile than the caller meant. */
static bool params_fit(const struct request *rq, const struct param *params)
{
	struct json_member m;
	struct err err;
	size_t at, len;

	if (!json_find(rq->line, rq->len, "params", &at, &len, NULL))
		return true;
	if (rq->line[at] != '{') {
		request_refuse_params(rq, "params is not an object");
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
		request_refuse(rq, RPC_PARAMS, &err);
		return false;
	}
	return true;
}

static const struct method *const tables[] = { methods_call, methods_profile, methods_session, methods_status, methods_admin };

static const struct method *method_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct method *m = tables[i]; m->name; m++)
			if (strlen(m->name) == len && memcmp(m->name, name, len) == 0)
				return m;
	return NULL;
}

static void method_call(const struct request *rq, const char *name, size_t len)
{
	const struct method *m = method_find(name, len);
	struct err err;

	if (!m) {
		client_answer_error(rq->client, rq->id, rq->id_len, RPC_METHOD, "no such method", NULL, NULL);
	} else if (m->admin && client_authority(rq->client) != AUTHORITY_ADMIN) {
		err_set(&err, ERR_CALLER, EPERM, "authority", "%s is not for %s", m->name, client_socket_name(rq->client));
		err_hint(&err, "ask the operator, who has admin.sock");
		request_refuse(rq, RPC_AUTHORITY, &err);
	} else if (params_fit(rq, m->params)) {
		m->fn(rq);
	}
}

static bool take_request(struct client *client, const char *line, size_t len, struct request *rq)
{
	struct json_error je;
	struct err err;
	size_t start;

	*rq = (struct request){ .client = client, .core = client_core(client), .line = line, .len = len, .id = "null", .id_len = 4 };
	if (json_check(line, len, JSON_OBJECT, REQUEST_DEPTH, &je) < 0) {
		err_set(&err, ERR_CALLER, EINVAL, "request", "column %u: %s", je.column, je.what);
		request_refuse(rq, RPC_PARSE, &err);
		return false;
	}
	if (json_find(line, len, "id", &start, &rq->id_len, NULL) && strchr("\"-0123456789", line[start])) {
		rq->id = line + start;
		return true;
	}
	rq->id_len = 4;
	client_answer_error(client, "null", 4, RPC_REQUEST, "a request needs an id (a string or a number)", NULL, NULL);
	return false;
}

void methods_dispatch(struct client *client, const char *line, size_t len)
{
	struct request rq;
	size_t version_len = 0, name_len = 0;

	if (!take_request(client, line, len, &rq))
		return;
	_cleanup_free_ char *version = request_string(&rq, "jsonrpc", &version_len);
	_cleanup_free_ char *name = request_string(&rq, "method", &name_len);
	if (!version || version_len != 3 || memcmp(version, "2.0", 3) != 0 || !name) {
		client_answer_error(client, rq.id, rq.id_len, RPC_REQUEST, "not a JSON-RPC 2.0 request", NULL, NULL);
		return;
	}
	method_call(&rq, name, name_len);
}
