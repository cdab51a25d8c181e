#include "agent/mcp/mcp.h"

#include "agent/text.h"
#include "jail/base/compiler.h"
#include "jail/base/limits.h"
#include "jail/base/version.h"

#include <stdlib.h>
#include <string.h>

#define SERVER_INFO "{\"name\":\"brig\",\"version\":\"" BRIG_VERSION "\"}"
#define INSTRUCTIONS                                                                                                               \
	"Tools here are Python that was written by agents; each call runs in a fresh jail. Write one with create_tool, then call it " \
	"by its name, or with call_tool where your list of tools does not change."
#define CAPABILITIES "{\"tools\":{\"listChanged\":true}}"
#define ERROR_MAX    4096u

static void send_done(struct mcp *m, struct jbuf *b)
{
	if (!b->failed)
		m->send(m->send_arg, b->data, b->len);
	jbuf_done(b);
}

void mcp_error(struct mcp *m, const char *id, size_t id_len, int code, const char *message, const char *data)
{
	struct jbuf b;

	jbuf_init(&b, ERROR_MAX);
	jbuf_text(&b, "{\"jsonrpc\":\"2.0\",\"id\":");
	jbuf_raw(&b, id ?: "null", id ? id_len : 4);
	jbuf_printf(&b, ",\"error\":{\"code\":%d,\"message\":", code);
	jbuf_cstring(&b, message);
	if (data)
		jbuf_printf(&b, ",\"data\":%s", data);
	jbuf_text(&b, "}}");
	send_done(m, &b);
}

void mcp_result_begin(struct mcp_request *r, struct jbuf *b)
{
	jbuf_init(b, LIMIT_ANSWER_BYTES);
	jbuf_printf(b, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{", r->id);
	if (r->modern)
		jbuf_text(b, "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO "},");
}

void mcp_result_end(struct mcp_request *r, struct jbuf *b)
{
	jbuf_text(b, "}}");
	send_done(r->mcp, b);
	mcp_request_free(r);
}

void mcp_request_free(struct mcp_request *r)
{
	LIST_REMOVE(r, link);
	r->mcp->count--;
	free(r->id);
	free(r->token);
	free(r);
}

static void request_error(struct mcp_request *r, int code, const char *message, const char *data)
{
	mcp_error(r->mcp, r->id, strlen(r->id), code, message, data);
	mcp_request_free(r);
}

static void on_answer(void *arg, const struct link_answer *answer)
{
	struct mcp_request *r = arg;

	r->handle = 0;
	if (answer->end == LINK_RESULT) {
		r->finish(r, answer->json, answer->len);
		return;
	}
	_cleanup_free_ char *message = answer->end == LINK_ERROR ? text_find(answer->json, answer->len, "message", NULL) : NULL;

	request_error(r, answer->end == LINK_ERROR ? RPC_INVALID_PARAMS : RPC_INTERNAL, message ?: answer->err ? answer->err->detail : "the supervisor refused",
		      NULL);
}

/* What the tool itself says of how far it is. */
static void on_event(void *arg, const char *method, const char *params, size_t len)
{
	struct mcp_request *r = arg;
	size_t at, n;
	struct jbuf b;

	if (!r->token || strcmp(method, "event") != 0 || !json_find(params, len, "progress", &at, &n, NULL))
		return;
	jbuf_init(&b, 2 * ERROR_MAX);
	jbuf_printf(&b, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":", r->token);
	jbuf_raw(&b, params + at, n);
	for (size_t i = 0; i < 2; i++) {
		static const char *const keys[] = { "total", "message" };

		if (!json_find(params, len, keys[i], &at, &n, NULL))
			continue;
		jbuf_printf(&b, ",\"%s\":", keys[i]);
		jbuf_raw(&b, params + at, n);
	}
	jbuf_text(&b, "}}");
	send_done(r->mcp, &b);
}

void mcp_ask(struct mcp_request *r, const char *method, const struct jbuf *params, void (*finish)(struct mcp_request *, const char *, size_t))
{
	r->finish = finish;
	if (!params->failed)
		r->handle = link_ask(r->mcp->link, method, params->data, params->len, on_event, on_answer, r);
	if (!r->handle)
		request_error(r, RPC_INTERNAL, "no memory", NULL);
}

/* ---- methods ------------------------------------------------------------------------ */

static void discover(struct mcp_request *r, const struct mcp_message *msg UNUSED)
{
	struct jbuf b;

	mcp_result_begin(r, &b);
	jbuf_text(&b, "\"supportedVersions\":[\"" MCP_MODERN "\"],\"capabilities\":" CAPABILITIES ",\"instructions\":\"" INSTRUCTIONS
		      "\",\"ttlMs\":0,\"cacheScope\":\"private\"");
	mcp_result_end(r, &b);
}

static void initialize(struct mcp_request *r, const struct mcp_message *msg)
{
	static const char *const known[] = { "2024-11-05", "2025-03-26", "2025-06-18", MCP_LEGACY };
	const char *agreed = MCP_LEGACY;
	_cleanup_free_ char *asked = msg->params.at ? text_find(msg->params.at, msg->params.len, "protocolVersion", NULL) : NULL;
	struct jbuf b;

	if (!asked) {
		request_error(r, RPC_INVALID_PARAMS, "initialize: protocolVersion is missing, or no string", NULL);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i], asked) == 0)
			agreed = known[i];
	r->mcp->initialized = true;
	r->mcp->no_structure = strcmp(agreed, "2025-06-18") < 0;
	mcp_result_begin(r, &b);
	jbuf_printf(&b, "\"protocolVersion\":\"%s\",\"capabilities\":" CAPABILITIES ",\"serverInfo\":" SERVER_INFO ",\"instructions\":\"%s\"", agreed,
		    INSTRUCTIONS);
	mcp_result_end(r, &b);
}

static void ping(struct mcp_request *r, const struct mcp_message *msg UNUSED)
{
	struct jbuf b;

	mcp_result_begin(r, &b);
	mcp_result_end(r, &b);
}

/* Stays until the client cancels it. */
static void listen_start(struct mcp_request *r, const struct mcp_message *msg)
{
	size_t at, n;
	struct jbuf b;

	r->listens = msg->params.at && json_find(msg->params.at, msg->params.len, "notifications.toolsListChanged", &at, &n, NULL) &&
		     msg->params.at[at] == 't';
	jbuf_init(&b, ERROR_MAX);
	jbuf_printf(&b,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{%s},"
		    "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%s}}}",
		    r->listens ? "\"toolsListChanged\":true" : "", r->id);
	send_done(r->mcp, &b);
}

enum era { LEGACY = 1, MODERN = 2 };

static const struct method {
	const char *name;
	unsigned eras;
	void (*run)(struct mcp_request *r, const struct mcp_message *msg); /* ends r, or keeps it */
} methods[] = {
	{ "server/discover", MODERN, discover },   { "subscriptions/listen", MODERN, listen_start },
	{ "initialize", LEGACY, initialize },	   { "ping", LEGACY, ping },
	{ "tools/list", LEGACY | MODERN, mcp_tools_list }, { "tools/call", LEGACY | MODERN, mcp_tools_call },
};

static struct mcp_request *request_new(struct mcp *m, const struct mcp_message *msg)
{
	struct mcp_request *r = m->count < MCP_REQUESTS_MAX ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	r->mcp = m;
	r->modern = msg->modern;
	r->id = strndup(msg->id.at, msg->id.len);
	r->token = msg->progress_token.at ? strndup(msg->progress_token.at, msg->progress_token.len) : NULL;
	LIST_INSERT_HEAD(&m->requests, r, link);
	m->count++;
	if (r->id)
		return r;
	mcp_request_free(r);
	return NULL;
}

static struct mcp_request *request_find(struct mcp *m, const char *id, size_t len)
{
	struct mcp_request *r;

	LIST_FOREACH(r, &m->requests, link)
		if (strlen(r->id) == len && memcmp(r->id, id, len) == 0)
			return r;
	return NULL;
}

/* NULL, or what a request of revision 2026-07-28 lacks. */
static const char *envelope_lacks(const struct mcp_message *msg)
{
	return msg->version[0] && !msg->capabilities.at ? "params._meta lacks io.modelcontextprotocol/clientCapabilities" : NULL;
}

static void on_request(struct mcp *m, const struct mcp_message *msg)
{
	struct mcp_request *r;
	const char *lacks = msg->modern ? envelope_lacks(msg) : NULL;

	if (msg->modern && strcmp(msg->version, MCP_MODERN) != 0) {
		mcp_error(m, msg->id.at, msg->id.len, RPC_UNSUPPORTED, "this protocol version is not supported", "{\"supported\":[\"" MCP_MODERN "\"]}");
		return;
	}
	if (lacks) {
		mcp_error(m, msg->id.at, msg->id.len, RPC_INVALID_PARAMS, lacks, NULL);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].name, msg->method) != 0 || !(methods[i].eras & (msg->modern ? MODERN : LEGACY)))
			continue;
		if (request_find(m, msg->id.at, msg->id.len)) {
			mcp_error(m, msg->id.at, msg->id.len, -32600, "a request with this id is in flight", NULL);
		} else if (!(r = request_new(m, msg))) {
			mcp_error(m, msg->id.at, msg->id.len, RPC_INTERNAL, "too many requests are in flight", NULL);
		} else {
			methods[i].run(r, msg);
		}
		return;
	}
	mcp_error(m, msg->id.at, msg->id.len, RPC_METHOD_NOT_FOUND, "no such method", NULL);
}

static void on_cancelled(struct mcp *m, const struct mcp_message *msg)
{
	size_t at, n;
	struct mcp_request *r = msg->params.at && json_find(msg->params.at, msg->params.len, "requestId", &at, &n, NULL) ?
					request_find(m, msg->params.at + at, n) :
					NULL;

	if (!r)
		return;
	link_forget(m->link, r->handle);
	mcp_request_free(r);
}

void mcp_receive(struct mcp *m, const struct mcp_message *msg)
{
	switch (msg->kind) {
	case MCP_REQUEST:
		on_request(m, msg);
		break;
	case MCP_NOTIFICATION:
		if (strcmp(msg->method, "notifications/cancelled") == 0)
			on_cancelled(m, msg);
		break;
	case MCP_RESPONSE: /* nothing was asked */
		break;
	case MCP_BATCH:
		mcp_error(m, NULL, 0, -32600, "batches are not taken: one message a line", NULL);
		break;
	case MCP_BROKEN:
		mcp_error(m, msg->id.at, msg->id.len, msg->code, msg->why, NULL);
		break;
	}
}

void mcp_tools_changed(struct mcp *m)
{
	static const char legacy[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}";
	struct mcp_request *r;
	struct jbuf b;

	if (m->initialized)
		m->send(m->send_arg, legacy, sizeof(legacy) - 1);
	LIST_FOREACH(r, &m->requests, link) {
		if (!r->listens)
			continue;
		jbuf_init(&b, ERROR_MAX);
		jbuf_printf(&b,
			    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":"
			    "{\"io.modelcontextprotocol/subscriptionId\":%s}}}",
			    r->id);
		send_done(m, &b);
	}
}

void mcp_done(struct mcp *m)
{
	while (!LIST_EMPTY(&m->requests))
		mcp_request_free(LIST_FIRST(&m->requests));
}
