#include "supervisor/approvals.h"

#include "supervisor/digest.h"
#include "supervisor/audit_client.h"
#include "supervisor/events.h"
#include "supervisor/metrics.h"
#include "supervisor/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void approval_binding(const struct gate_ask *ask, const char *tool_hash, const struct permissions *effective, const char *profile_digest,
		      char ret[TOOL_HASH_MAX])
{
	uint32_t whom = ask->uid;
	struct jbuf p;
	SHA2_CTX sha;

	jbuf_init(&p, 256);
	permissions_print(effective, &p);
	SHA256Init(&sha);
	digest_part(&sha, tool_hash, strlen(tool_hash));
	digest_part(&sha, p.data ?: "", p.len);
	digest_part(&sha, profile_digest, strlen(profile_digest));
	digest_part(&sha, ask->args, ask->args_len);
	digest_part(&sha, &whom, sizeof(whom));
	if (ask->context)
		digest_part(&sha, ask->context, ask->context_len);
	digest_end(&sha, ret);
	jbuf_done(&p);
}

void approvals_tell(struct core *core, const char *id, const char *tool, uid_t uid, const char *state)
{
	char params[256];
	int n = snprintf(params, sizeof(params), "{\"id\":\"%s\",\"tool\":\"%s\",\"uid\":%u,\"state\":\"%s\"}", id, tool, uid, state);

	metrics_approval(core, state);
	events_approval(core, uid, params, (size_t)n);
}

static int note(const struct gate_ask *ask, enum audit_kind kind, const struct gate *g, const char *tool_hash, const char *id, struct err *err)
{
	int r = audit_note_about(ask->core, kind, ask->uid, ask->pid,
				 &(struct audit_about){ .session = ask->session ? ask->session->id : NULL, .call_id = ask->call_id, .tool = g->name,
							.hash = tool_hash, .profile = profile_name(g->profile), .approval = id,
							.rule = g->verdict.rule, .args = ask->args, .args_len = ask->args_len,
							.context = ask->context, .context_len = ask->context_len });

	if (r == 0)
		return 0;
	err_set(err, ERR_HOST, -r, "audit", "the audit log cannot take what the approval is for: %s", strerror(-r));
	err_hint(err, "'brig status' tells how the log is");
	return r;
}

/* Nobody is there who may decide. */
static int deny_private(struct gate *g)
{
	char reason[sizeof(g->verdict.reason)];

	snprintf(reason, sizeof(reason), "%s", g->verdict.reason);
	err_set(&g->why, ERR_POLICY, EACCES, "", "it needs an approval (%.200s), and a private supervisor has nobody who could give one", reason);
	err_hint(&g->why, "run brigd under a uid of its own; then 'brig approvals' shows what waits, over admin.sock");
	gate_deny(g, "approval");
	return 0;
}

/* ---- one use of an approval ---- */

static int use(const struct gate_ask *ask, struct store *store, const char *tool_hash, const char *binding, struct gate *g, struct err *err)
{
	int r = store_approval_take(store, binding, ask->uid, wall_now_ms(), g->approval, err);

	if (r < 0)
		return r;
	approvals_tell(ask->core, g->approval, g->name, ask->uid, "used");
	g->outcome = OUTCOME_OK;
	g->why = (struct err){ 0 };
	return note(ask, AUDIT_APPROVAL_USE, g, tool_hash, g->approval, err);
}

/* ---- the question ---- */

/* A person said no to the very same not long ago: that stands as long as the question would have. */
static bool was_denied(const struct gate_ask *ask, struct store *store, const char *binding, struct gate *g)
{
	struct approval *last;
	struct err ignored;
	bool stands;

	if (store_approval_last(store, binding, ask->uid, &last, &ignored) < 0)
		return false;
	stands = last->state == APPROVAL_DENIED && wall_now_ms() < last->decided_ms + ask->core->boot->config.approval_ms;
	if (stands) {
		err_set(&g->why, ERR_POLICY, EACCES, "", "a person denied it%s%.250s", last->reason && last->reason[0] ? ": " : "", last->reason ?: "");
		err_hint(&g->why, "do not send the same again; do what was asked for in another way, or tell the user");
		snprintf(g->evidence, sizeof(g->evidence), "{\"approval_id\":\"%s\",\"decided_uid\":%u}", last->id, last->decided_uid);
		g->final = true;
		gate_deny(g, "approval");
	}
	approval_free(last);
	return stands;
}

/* What exactly would run, as the approver will read it; of a body that came with `run`, the body too. NULL: too much for a person, or no memory. */
static char *what_runs(const struct gate_ask *ask)
{
	struct jbuf b;

	jbuf_init(&b, APPROVAL_SHOWN_MAX);
	if (!ask->name) {
		jbuf_text(&b, "{\"body\":");
		jbuf_string(&b, ask->body, ask->body_len);
		jbuf_text(&b, ",\"args\":");
	}
	jbuf_raw(&b, ask->args, ask->args_len);
	if (!ask->name)
		jbuf_text(&b, "}");
	bool much = b.failed || b.len + ask->context_len > APPROVAL_SHOWN_MAX;
	char *text = much ? NULL : strndup(b.data, b.len);
	jbuf_done(&b);
	return text;
}

static void pending(struct gate *g, bool again)
{
	err_set(&g->why, ERR_POLICY, EACCES, "", "it needs an approval: %.250s", g->verdict.reason);
	err_hint(&g->why, "%s; send the same call again when a person has decided (brig approve %s)",
		 again ? "the question is open already" : "the question was asked", g->approval);
	snprintf(g->why.where, sizeof(g->why.where), "approval");
	snprintf(g->evidence, sizeof(g->evidence), "{\"approval_id\":\"%s\",\"expires_ms\":%lld}", g->approval, (long long)g->expires_ms);
	g->outcome = OUTCOME_APPROVAL_PENDING;
}

static int deny_much(struct gate *g)
{
	err_set(&g->why, ERR_POLICY, EACCES, "", "it needs an approval, and %u bytes are more than a person can look at", APPROVAL_SHOWN_MAX);
	err_hint(&g->why, "make the arguments smaller, or name a file that holds them");
	gate_deny(g, "approval");
	return 0;
}

static int deny_many(struct gate *g, unsigned limit)
{
	err_set(&g->why, ERR_POLICY, EACCES, "", "it needs an approval, and %u questions of this user are open, as many as may be (approvals_per_uid)", limit);
	err_hint(&g->why, "wait until some of them are decided");
	gate_deny(g, "approval");
	return 0;
}

static int64_t expiry_of(struct store *store, const char *id)
{
	struct approval *a;
	struct err ignored;
	int64_t ms;

	if (store_approval_get(store, id, &a, &ignored) < 0)
		return 0;
	ms = a->expires_ms;
	approval_free(a);
	return ms;
}

static int put(const struct gate_ask *ask, struct store *store, const char *tool_hash, const char *binding, struct gate *g, struct err *err)
{
	const struct config *config = &ask->core->boot->config;
	struct approval a = { .uid = ask->uid, .created_ms = wall_now_ms() };
	_cleanup_free_ char *shown = what_runs(ask);
	_cleanup_free_ char *context = ask->context ? strndup(ask->context, ask->context_len) : NULL;
	int r;

	if (!shown || (ask->context && !context))
		return deny_much(g);
	if (call_random_id(a.id) < 0)
		return err_set(err, ERR_HOST, EIO, "gate", "no random numbers");
	snprintf(a.binding, sizeof(a.binding), "%s", binding);
	snprintf(a.tool, sizeof(a.tool), "%s", g->name);
	snprintf(a.tool_hash, sizeof(a.tool_hash), "%s", tool_hash);
	snprintf(a.profile_digest, sizeof(a.profile_digest), "%s", profile_digest(g->profile));
	snprintf(a.session, sizeof(a.session), "%s", ask->session ? ask->session->id : "");
	snprintf(a.rule, sizeof(a.rule), "%s", g->verdict.rule);
	a.args = shown;
	a.context = context;
	a.reason = g->verdict.reason;
	a.expires_ms = g->expires_ms = a.created_ms + config->approval_ms;
	r = store_approval_add(store, &a, config->approvals_per_uid, g->approval, err);
	if (r == -EDQUOT)
		return deny_many(g, config->approvals_per_uid);
	if (r < 0 && r != -EALREADY)
		return r;
	if (r == -EALREADY)
		g->expires_ms = expiry_of(store, g->approval);
	pending(g, r == -EALREADY);
	if (r == -EALREADY)
		return 0;
	approvals_tell(ask->core, g->approval, g->name, ask->uid, "pending");
	approvals_watch(ask->core);
	return note(ask, AUDIT_APPROVAL_ASK, g, tool_hash, g->approval, err);
}

int approvals_gate(const struct gate_ask *ask, struct store *store, const char *tool_hash, struct gate *g, struct err *err)
{
	char binding[TOOL_HASH_MAX];
	int r;

	if (ask->authority == AUTHORITY_PRIVATE)
		return deny_private(g);
	if (ask->dry) {
		pending(g, false);
		return 0;
	}
	if (!store && (r = store_of(ask->core, &store, err)) < 0)
		return r;
	approval_binding(ask, tool_hash, &g->effective, profile_digest(g->profile), binding);
	r = use(ask, store, tool_hash, binding, g, err);
	if (r != -ENOENT)
		return r;
	return was_denied(ask, store, binding, g) ? 0 : put(ask, store, tool_hash, binding, g, err);
}
