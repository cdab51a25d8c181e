/* How a call begins: from a checked request through the queue to its jail. */
#include "supervisor/call_impl.h"

#include "supervisor/approvals.h"
#include "supervisor/audit_client.h"
#include "supervisor/client.h"
#include "supervisor/decision_point.h"
#include "supervisor/peers.h"
#include "supervisor/pool.h"
#include "supervisor/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What a drain lets end takes as long as it takes; soon after, another supervisor may answer. */
#define DRAIN_RETRY_MS 5000

static void refuse_draining(struct call *c)
{
	struct err why;

	err_set(&why, ERR_HOST, EBUSY, "draining", "draining: the supervisor takes no new calls for now");
	err_hint(&why, "nothing of it ran; ask again when it takes calls again, or has been started anew");
	call_refuse_busy(c, &why, DRAIN_RETRY_MS);
}

static int build_request(struct call *c, const struct call_request *req)
{
	struct request_head head = { .magic = REQUEST_MAGIC, .body_len = (uint32_t)req->body_len, .args_len = (uint32_t)req->args_len,
				     .context_len = (uint32_t)req->context_len, .flags = req->flags };

	if (getrandom(head.seed, sizeof(head.seed), 0) != sizeof(head.seed))
		return -EIO;
	if (session_keeps(c->session) && getrandom(head.nonce, sizeof(head.nonce), 0) != sizeof(head.nonce))
		return -EIO;
	c->request_len = sizeof(head) + req->body_len + req->args_len + req->context_len;
	c->request = malloc(c->request_len);
	if (!c->request)
		return -ENOMEM;
	memcpy(c->nonce, head.nonce, sizeof(c->nonce));
	peer_bytes_add(c->peer, c->request_len);
	memcpy(c->request, &head, sizeof(head));
	memcpy(c->request + sizeof(head), req->body, req->body_len);
	memcpy(c->request + sizeof(head) + req->body_len, req->args, req->args_len);
	if (req->context)
		memcpy(c->request + sizeof(head) + req->body_len + req->args_len, req->context, req->context_len);
	return 0;
}

int call_random_id(char id[CALL_ID_SIZE])
{
	unsigned char raw[16];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return -EIO;
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(id + 2 * i, 3, "%02x", raw[i]);
	return 0;
}

static struct call *call_new(struct client *client, const struct call_request *req, const char *rpc_id, size_t rpc_id_len)
{
	struct call *c = calloc(1, sizeof(*c));

	if (!c) {
		gate_free(req->gate);
		client_answer_error(client, rpc_id, rpc_id_len, -32603, "no memory", NULL, NULL);
		return NULL;
	}
	c->gate = req->gate;
	c->authority = client_authority(client);
	c->core = client_core(client);
	c->received_ns = core_now_ns();
	c->uid = client_uid(client);
	c->peer = client_peer(client);
	peer_call_begin(c->peer);
	c->pid = client_pid(client);
	c->flow = req->session ? (const void *)req->session : client;
	c->session = req->session;
	if (c->session)
		c->session->calls++;
	c->best_effort = req->best_effort;
	c->want_stages = req->want_stages;
	LIST_INSERT_HEAD(&c->core->calls, c, link);
	c->pending = pending_new(client, rpc_id, rpc_id_len);
	if (!c->pending) {
		call_free(c);
		return NULL;
	}
	if (call_random_id(c->id) == 0 && build_request(c, req) == 0)
		return c;
	client_answer_error(client, rpc_id, rpc_id_len, -32603, "no memory", NULL, NULL);
	call_free(c);
	return NULL;
}

static int call_prepare(struct call *c)
{
	if (capture_init(&c->out, c->limits.stdout_bytes) < 0 || capture_init(&c->err, c->limits.stderr_bytes) < 0)
		return err_set(&c->why, ERR_HOST, ENOMEM, "core", "no memory for the call's output");
	if (session_keeps(c->session)) {
		session_call_begun(c->session, c);
		return 0;
	}
	return pool_take(c->core, c->effective, c->best_effort ? ZYGOTE_BEST_EFFORT : 0, call_on_jail, c, &c->zygote, &c->jail, &c->why);
}

/* As it was before its turn. */
static void wait_again(struct call *c)
{
	c->state = CALL_QUEUED;
	c->left_queue_ns = 0;
	c->zygote = NULL;
	c->why = (struct err){ 0 };
	capture_done(&c->out);
	capture_done(&c->err);
}

void call_begin(struct call *c)
{
	c->state = CALL_JAIL;
	c->left_queue_ns = core_now_ns();
	if (call_prepare(c) < 0) {
		int layer = layer_find(c->why.where);
		c->ev.busy = strcmp(c->why.where, JAIL_NO_ROOM) == 0;
		if (c->ev.busy && sched_put_back(c)) {
			c->ev.busy = false;
			wait_again(c);
			return;
		}
		c->ev.setup_failed = layer >= 0 || c->why.class == ERR_HOST;
		c->ev.internal = !c->ev.setup_failed;
		c->failed_layer = layer >= 0 ? (enum layer)layer : LAYER_USER;
		call_end_now(c);
		return;
	}
	call_run_when_ready(c);
}

void call_refuse_busy(struct call *c, const struct err *why, uint32_t retry_after_ms)
{
	c->why = *why;
	c->ev.busy = true;
	c->retry_after_ms = retry_after_ms;
	call_end_now(c);
}

void call_go(struct call *c)
{
	struct err err;

	c->waits = false;
	if (audit_begin(c, &err) < 0) {
		call_unrecorded(c, &err);
	} else if (c->gate && c->gate->outcome != OUTCOME_OK) {
		c->ev.gate = c->gate->outcome;
		c->why = c->gate->why;
		call_end_now(c);
	} else {
		sched_submit(c);
	}
}

void call_start(struct client *client, struct profile *profile, const struct call_request *req, const char *rpc_id, size_t rpc_id_len)
{
	struct call *c = call_new(client, req, rpc_id, rpc_id_len);

	if (!c) {
		if (req->done)
			req->done(NULL, NULL, req->done_arg);
		return;
	}
	c->done = req->done;
	c->done_arg = req->done_arg;
	if (profile) {
		c->effective = profile_ref(profile);
		c->limits = profile_spec(profile)->limits;
		snprintf(c->profile, sizeof(c->profile), "%s", profile_name(profile));
	}
	if (c->core->draining) {
		refuse_draining(c);
		return;
	}
	if (req->stream)
		c->stream = stream_new(c->core->base, c->pending, c->id, &c->limits);
	if (c->stream) /* without memory for it the result still tells all */
		stream_started(c->stream);
	if (req->wait && c->gate && c->gate->outcome == OUTCOME_APPROVAL_PENDING)
		approvals_wait(c);
	else
		decision_point_ask(c);
}
