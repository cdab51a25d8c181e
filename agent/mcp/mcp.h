/* The MCP server without its transports: both eras of the protocol, the tools, the calls.
 *
 *   mcp          one for the process: link to the supervisor, list of the tools, limits, key of requestStates
 *   mcp_client   what has state of its own: the pipe of `brig mcp`, a session (legacy) over HTTP; modern HTTP requests have
 *                one for each, thrown away after the answer
 *   mcp_channel  where the messages that belong to one request go: the pipe, or that request's answer over HTTP
 *
 * A transport reads a message (mcp_message.h), finds or makes the client, and hands both over with a channel. */
#ifndef BRIG_AGENT_MCP_H
#define BRIG_AGENT_MCP_H

#include "agent/mcp/mcp_message.h"
#include "agent/options.h"
#include "jail/base/err.h"

#include <event2/event.h>

#define MCP_MODERN "2026-07-28"
#define MCP_LEGACY "2025-11-25" /* the newest that begins with initialize */

struct mcp;
struct mcp_client;
struct mcp_request;

/* Filled by the transport, which owns it; it outlives the request (till `respond` was called or the request was dropped). */
struct mcp_channel {
	/* Before the answer, any number: progress, log, a question to the client (legacy), the acknowledgement of a listen. */
	void (*notify)(struct mcp_channel *c, const char *json, size_t len);
	/* The answer, last and once. http_status: 200, 400, 404 as 1.4 of the protocol's table wants it. */
	void (*respond)(struct mcp_channel *c, const char *json, size_t len, int http_status);
};

/* The supervisor is asked over a link of its own, opened at once. */
int mcp_new(struct event_base *base, const struct options *opt, int stop_fd, struct mcp **ret, struct err *err);
void mcp_free(struct mcp *m);
/* The supervisor is there (healthz). */
bool mcp_is_up(const struct mcp *m);
/* The supervisor's metrics, as text for Prometheus. done(arg, NULL, 0): not to be had. */
void mcp_metrics(struct mcp *m, void (*done)(void *arg, const char *text, size_t len), void *arg);

enum mcp_transport { MCP_STDIO, MCP_HTTP };
/* push: messages to the client that belong to no request (list_changed of the legacy era; on stdio all of them). NULL: there is no way.
 * May be changed later (a GET stream came or went). */
struct mcp_client *mcp_client_new(struct mcp *m, enum mcp_transport transport);
void mcp_client_set_push(struct mcp_client *c, void (*push)(void *arg, const char *json, size_t len), void *arg);
/* Its requests are dropped, their jails killed. */
void mcp_client_free(struct mcp_client *c);
/* It said initialize and got an answer (a legacy session). The revision agreed on; NULL before. */
const char *mcp_client_revision(const struct mcp_client *c);

/* One message. MCP_REQUEST: a handle, which is valid until channel->respond() was called (that may be within this call: then NULL is
 * returned). Others: NULL, and nothing is answered; channel may be NULL for them. MCP_BROKEN and MCP_BATCH are answered through channel. */
struct mcp_request *mcp_receive(struct mcp_client *c, const struct mcp_message *m, struct mcp_channel *channel);
/* The client closed the stream of its answer: cancelled (modern), its jail is killed. channel is not used any more. */
void mcp_request_cancel(struct mcp_request *r);
/* The same in the legacy era, where it is no cancellation: the call goes on, and what it says goes nowhere. */
void mcp_request_mute(struct mcp_request *r);

#endif
