#include "supervisor/methods.h"

#include "supervisor/request.h"

#include <stdio.h>
#include <string.h>

/* The arguments may nest LIMIT_JSON_DEPTH deep inside the request and its params. */
#define REQUEST_DEPTH (LIMIT_JSON_DEPTH + 2)
/* It is kept until the answer: room for a UUID or a URL, none for a store of bytes that no limit counts. */
#define REQUEST_ID_MAX 256

static const struct method *const tables[] = { methods_call,   methods_profile, methods_session, methods_status,
					       methods_admin,  methods_approval, methods_audit,   methods_tool,
					       methods_policy, methods_tool_state, methods_why };

static const struct method *method_find(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		for (const struct method *m = tables[i]; m->name; m++)
			if (strlen(m->name) == len && memcmp(m->name, name, len) == 0)
				return m;
	return NULL;
}

static void method_call(struct request *rq, const char *name, size_t len)
{
	const struct method *m = method_find(name, len);
	struct err err;

	if (!m) {
		err_set(&err, ERR_CALLER, ENOSYS, "method", "no such method: %.*s", len < 64 ? (int)len : 64, name);
		err_hint(&err, "brig(7) lists the methods");
		request_refuse(rq, RPC_METHOD, &err);
	} else if (m->admin && client_authority(rq->client) != AUTHORITY_ADMIN) {
		err_set(&err, ERR_CALLER, EPERM, "authority", "%s is not for %s", m->name, client_socket_name(rq->client));
		err_hint(&err, "ask the operator, who has admin.sock");
		request_refuse(rq, RPC_AUTHORITY, &err);
	} else if (request_index_params(rq, m->params, &err) < 0) {
		request_refuse(rq, RPC_PARAMS, &err);
	} else {
		m->fn(rq);
	}
}

static bool request_wrong(const struct request *rq, const char *what, const char *hint)
{
	struct err err;

	err_set(&err, ERR_CALLER, EINVAL, "request", "%s", what);
	err_hint(&err, "%s", hint);
	request_refuse(rq, RPC_REQUEST, &err);
	return false;
}

/* What it is answered by. Until it is known, errors carry the id null. */
static bool take_id(struct request *rq)
{
	static const char hint[] = "a string or a number of at most 256 bytes, another for each request that is in flight";
	const char *id = rq->line + rq->rpc_id.at;
	size_t len = rq->rpc_id.len;

	if (len == 0 || !strchr("\"-0123456789", *id))
		return request_wrong(rq, "a request needs an id (a string or a number): nothing is done unanswered", hint);
	if (len > REQUEST_ID_MAX)
		return request_wrong(rq, "the id is too long", hint);
	if (pending_find(rq->client, id, len))
		return request_wrong(rq, "a request with this id is in flight on this connection: that one goes on, this one is refused", hint);
	rq->id = id;
	rq->id_len = len;
	return true;
}

static bool take_request(struct client *client, const char *line, size_t len, struct request *rq)
{
	struct json_error je;
	struct slice unknown;
	struct err err;
	char what[100];

	*rq = (struct request){ .client = client, .core = client_core(client), .line = line, .len = len, .id = "null", .id_len = 4 };
	if (json_check(line, len, 0, REQUEST_DEPTH, &je) < 0) {
		err_set(&err, ERR_CALLER, EINVAL, "request", "column %u: %s", je.column, je.what);
		err_hint(&err, "one JSON object a line, in UTF-8, each key once: brig(7)");
		request_refuse(rq, RPC_PARSE, &err);
		return false;
	}
	len = strspn(line, " \t\r");
	if (line[len] == '[')
		return request_wrong(rq, "batches are not served", "send each request as a line of its own; their answers come as they are ready");
	if (line[len] != '{')
		return request_wrong(rq, "a request is a JSON object", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}");
	request_index(rq, &unknown);
	if (!take_id(rq))
		return false;
	if (unknown.len == 0)
		return true;
	snprintf(what, sizeof(what), "a request has no member %.*s", unknown.len < 64 ? (int)unknown.len : 64, line + unknown.at);
	return request_wrong(rq, what, "its members are jsonrpc, id, method and params; what a method takes stands in params");
}

void methods_dispatch(struct client *client, const char *line, size_t len)
{
	struct request rq;
	size_t version_len = 0, name_len = 0;

	if (!take_request(client, line, len, &rq))
		return;
	_cleanup_free_ char *version = json_string_dup(line + rq.version.at, rq.version.len, &version_len);
	_cleanup_free_ char *name = json_string_dup(line + rq.method.at, rq.method.len, &name_len);
	if (!version || version_len != 3 || memcmp(version, "2.0", 3) != 0)
		(void)request_wrong(&rq, "not a JSON-RPC 2.0 request: jsonrpc is not \"2.0\"", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}");
	else if (!name)
		(void)request_wrong(&rq, "not a JSON-RPC 2.0 request: it names no method (a string)", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"status\"}");
	else
		method_call(&rq, name, name_len);
}
