/* The list: the server's own tools first, then those of the registry as the supervisor prints them, in its order. */
#include "agent/mcp/mcp.h"

#include <string.h>

#define ANY_JSON ",\"inputSchema\":{\"type\":\"object\",\"properties\":{"

/* Fixed from the start, since many clients read the list once: what comes later is reached by call_tool. */
static const char own_tools[] =
	"{\"name\":\"create_tool\",\"description\":\"Writes a new tool, or with replace another version of one's own. It can be called at once by its "
	"name, or with call_tool.\"" ANY_JSON
	"\"name\":{\"type\":\"string\",\"description\":\"letters, digits and _\"},"
	"\"description\":{\"type\":\"string\",\"description\":\"what it does and when to use it\"},"
	"\"parameters\":{\"type\":\"object\",\"description\":\"JSON Schema of the arguments of run\"},"
	"\"body\":{\"type\":\"string\",\"description\":\"Python that defines run(**kwargs) and returns a string or another JSON value\"},"
	"\"permissions\":{\"type\":\"object\",\"description\":\"filesystem, network, subprocess, write (booleans), scope; left out: what the body shows\"},"
	"\"replace\":{\"type\":\"boolean\"}},\"required\":[\"name\",\"description\",\"parameters\",\"body\"]},"
	"\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":false,\"idempotentHint\":false,\"openWorldHint\":false}},"
	"{\"name\":\"remove_tool\",\"description\":\"Removes a tool of one's own.\"" ANY_JSON
	"\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]},"
	"\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}},"
	"{\"name\":\"list_my_tools\",\"description\":\"Lists the tools that agents wrote, with what each takes.\"" ANY_JSON "}},"
	"\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false}},"
	"{\"name\":\"call_tool\",\"description\":\"Calls any tool of list_my_tools by its name, also one that is newer than the list of tools.\"" ANY_JSON
	"\"name\":{\"type\":\"string\"},\"arguments\":{\"type\":\"object\"}},\"required\":[\"name\"]},"
	"\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,\"openWorldHint\":true}}";

static void on_list(struct mcp_request *r, const char *result, size_t len)
{
	size_t at, n;
	struct jbuf b;

	mcp_result_begin(r, &b);
	jbuf_printf(&b, "\"tools\":[%s", own_tools);
	if (json_find(result, len, "tools", &at, &n, NULL) && n > 2) {
		jbuf_text(&b, ",");
		jbuf_raw(&b, result + at + 1, n - 2);
	}
	jbuf_text(&b, r->modern ? "],\"ttlMs\":0,\"cacheScope\":\"private\"" : "]");
	mcp_result_end(r, &b);
}

void mcp_tools_list(struct mcp_request *r, const struct mcp_message *msg)
{
	static const char asked[] = "{\"format\":\"mcp\"}";
	size_t at, n;
	struct jbuf params;

	/* The list is one page, so no cursor was ever given out. */
	if (msg->params.at && json_find(msg->params.at, msg->params.len, "cursor", &at, &n, NULL)) {
		mcp_error(r->mcp, r->id, strlen(r->id), RPC_INVALID_PARAMS, "no such cursor", NULL);
		mcp_request_free(r);
		return;
	}
	jbuf_init(&params, sizeof(asked));
	jbuf_text(&params, asked);
	mcp_ask(r, "tool.list", &params, on_list);
	jbuf_done(&params);
}
