/* One JSON-RPC message of an MCP client, told apart before anything is done with it. All texts are slices of the message: ids and
 * arguments travel on as the bytes that came. */
#ifndef BRIG_AGENT_MCP_MESSAGE_H
#define BRIG_AGENT_MCP_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

struct slice {
	const char *at; /* NULL: there is none */
	size_t len;
};

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE, MCP_BATCH, MCP_BROKEN };

struct mcp_message {
	enum mcp_kind kind;
	struct slice id;             /* raw: "7", "\"a\"" */
	struct slice params;         /* raw object */
	char method[64];             /* decoded; longer ones are unknown methods anyway: "" */
	bool modern;                 /* params._meta names a protocol version: each request of revision 2026-07-28 does */
	char version[32];            /* that version */
	struct slice capabilities;   /* of _meta, raw object */
	struct slice progress_token; /* of _meta, raw string or number */
	int code;                    /* MCP_BROKEN: the JSON-RPC error */
	char why[160];               /* MCP_BROKEN: what is wrong */
};

/* text: NUL-terminated besides. Never fails: what is no message is MCP_BROKEN. A batch is told apart and not looked into. */
void mcp_message_read(const char *text, size_t len, struct mcp_message *ret);

#endif
