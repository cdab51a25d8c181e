/* The MCP server of `brig mcp`: a thin bridge between one client's pipe and the supervisor's agent.sock, in both eras of the protocol.
 * It decides nothing; registry, gate and jails are the supervisor's. */
#ifndef BRIG_AGENT_MCP_H
#define BRIG_AGENT_MCP_H

#include "agent/link.h"
#include "agent/mcp/mcp_message.h"
#include "supervisor/wire/json.h"

#include <sys/queue.h>

#define MCP_MODERN "2026-07-28" /* stateless: each request tells its version */
#define MCP_LEGACY "2025-11-25" /* the newest that begins with initialize */

#define RPC_INVALID_PARAMS     (-32602)
#define RPC_METHOD_NOT_FOUND   (-32601)
#define RPC_INTERNAL           (-32603)
#define RPC_UNSUPPORTED        (-32022)

/* Hosts of models refuse results that are longer than some 25,000 tokens, and SDKs lines over 10 MiB. */
#define MCP_TEXT_MAX (256u << 10)
/* Requests in flight, subscriptions among them. */
#define MCP_REQUESTS_MAX 1024u

struct mcp;

/* A request that waits for the supervisor, or a subscription. */
struct mcp_request {
	LIST_ENTRY(mcp_request) link;
	struct mcp *mcp;
	char *id, *token; /* raw JSON; token: of progress, or NULL */
	bool modern, listens;
	uint64_t handle;  /* of link_ask() */
	void (*finish)(struct mcp_request *r, const char *result, size_t len); /* makes the answer of the supervisor's result */
};

struct mcp {
	struct link *link;
	LIST_HEAD(, mcp_request) requests;
	unsigned count;
	bool initialized;  /* by a client of the legacy era */
	bool no_structure; /* in a revision before 2025-06-18, which knows no structuredContent */
	void (*send)(void *arg, const char *json, size_t len); /* one message to the client */
	void *send_arg;
};

/* One message of the client. */
void mcp_receive(struct mcp *m, const struct mcp_message *msg);
/* The supervisor says that the list of tools is another one. */
void mcp_tools_changed(struct mcp *m);
void mcp_done(struct mcp *m);

/* For the files of this directory. A result begins with what the era wants in each: {"jsonrpc":...,"result":{ and members with a comma. */
void mcp_result_begin(struct mcp_request *r, struct jbuf *b);
/* Closes it, sends it, and frees the request. */
void mcp_result_end(struct mcp_request *r, struct jbuf *b);
void mcp_error(struct mcp *m, const char *id, size_t id_len, int code, const char *message, const char *data);
void mcp_request_free(struct mcp_request *r);
void mcp_ask(struct mcp_request *r, const char *method, const struct jbuf *params, void (*finish)(struct mcp_request *, const char *, size_t));

/* mcp_tools.c */
void mcp_tools_list(struct mcp_request *r, const struct mcp_message *msg);
/* mcp_call.c */
void mcp_tools_call(struct mcp_request *r, const struct mcp_message *msg);

#endif
