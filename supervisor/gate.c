#include "supervisor/gate.h"

#include "supervisor/approvals.h"
#include "supervisor/digest.h"
#include "supervisor/gate_memory.h"
#include "supervisor/metrics.h"
#include "supervisor/narrow.h"
#include "supervisor/registry.h"
#include "supervisor/request.h"
#include "supervisor/schema.h"
#include "supervisor/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gate_free(struct gate *g)
{
	if (!g)
		return;
	tool_free(g->tool);
	profile_free(g->profile);
	free(g);
}

static bool is_listed(const struct config_uids *uids, uid_t uid)
{
	for (uint32_t i = 0; i < uids->count; i++)
		if (uids->uid[i] == uid)
			return true;
	return false;
}

enum trust gate_trust(const struct core *core, enum authority authority, uid_t uid)
{
	const struct config *config = &core->boot->config;

	if (authority == AUTHORITY_ADMIN)
		return TRUST_ADMIN;
	if (authority == AUTHORITY_PRIVATE)
		return TRUST_STANDARD;
	return is_listed(&config->trust_admin, uid) ? TRUST_ADMIN : is_listed(&config->trust_elevated, uid) ? TRUST_ELEVATED : TRUST_STANDARD;
}

/* ---- the tool ---- */

/* Anything but exactly a registered name is no tool: nothing is folded, trimmed or matched. */
static int tool_find(const struct gate_ask *ask, struct gate *g, struct err *err)
{
	struct err ignored;
	int r = -ENOENT;

	if (tool_name_check(ask->name, ask->name_len, &ignored) == 0) {
		snprintf(g->name, sizeof(g->name), "%.*s", (int)ask->name_len, ask->name);
		r = registry_current(ask->core, g->name, &g->tool, err);
	}
	if (r != -ENOENT)
		return r;
	(void)registry_unknown(ask->core, ask->name, ask->name_len, &g->why);
	g->outcome = OUTCOME_INVALID_ARGUMENTS;
	return 0;
}

void gate_deny(struct gate *g, const char *where)
{
	g->outcome = OUTCOME_DENIED;
	g->why.class = ERR_POLICY;
	g->why.code = EACCES;
	snprintf(g->why.where, sizeof(g->why.where), "%.*s", (int)sizeof(g->why.where) - 1, where);
}

/* One that waits for an operator, or whose profile is none of the caller's. */
static bool tool_stopped(const struct gate_ask *ask, struct gate *g)
{
	const struct tool *t = g->tool;

	if (t->state == TOOL_QUARANTINED) {
		err_set(&g->why, ERR_POLICY, EACCES, "", "the tool is in quarantine%s%s", t->why ? ": " : "", t->why ?: "");
		err_hint(&g->why, "the operator can look at it and give it back: brig tool restore %s", t->name);
		gate_deny(g, "registry");
		return true;
	}
	if (ask->authority != AUTHORITY_AGENT || t->reviewed || (!t->profile_text && core_agent_may_use(ask->core, t->profile)))
		return false;
	err_set(&g->why, ERR_POLICY, EACCES, "", "its profile %.60s is not for agent.sock", t->profile);
	err_hint(&g->why, "the operator's list is \"profiles\" in brigd.conf(5)");
	gate_deny(g, "authority");
	return true;
}

static int args_prove(const struct gate_ask *ask, struct gate *g, struct err *err)
{
	struct schema *schema;
	int r = schema_compile(g->tool->parameters, strlen(g->tool->parameters), &schema, err);

	if (r < 0)
		return err_wrap(err, "the parameters of the tool");
	r = schema_check(schema, ask->args, ask->args_len, &g->why);
	schema_free(schema);
	if (r == 0)
		return 0;
	g->outcome = OUTCOME_INVALID_ARGUMENTS;
	g->final = true;
	snprintf(g->why.where, sizeof(g->why.where), "parameters");
	return 0;
}

/* ---- the policy ---- */

struct rate {
	struct gate_memory *memory;
	const char *tool;
};

static unsigned rate_of(void *arg, uint32_t window_ms)
{
	const struct rate *r = arg;

	return r->memory ? gate_memory_rate(r->memory, r->tool, core_now_ns() / 1000000, window_ms) : GATE_RATE_MAX;
}

/* At a character's beginning. */
static void text_cut(char *ret, size_t cap, const char *text)
{
	size_t len = strlen(text), n = len < cap ? len : cap - 1;

	while (n < len && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	memcpy(ret, text, n);
	ret[n] = '\0';
}

static void ask_policy(const struct gate_ask *ask, const char *name, const char *hash, struct gate *g)
{
	struct rate rate = { gate_memory_of(ask->core, ask->session, ask->uid), name };
	const struct session *s = ask->session;
	const struct tool *t = g->tool;
	const struct question q = {
		.tool = name,
		.hash = hash,
		.state = t ? t->state : TOOL_DRAFT,
		.reviewed = t && t->reviewed,
		.custom = t && !t->reviewed,
		.effective = g->effective,
		.profile = profile_name(g->profile),
		.args = ask->args,
		.args_len = ask->args_len,
		.user_id = s ? s->user_id : NULL,
		.session = s ? s->id : NULL,
		.task = s ? s->task : NULL,
		.labels = s ? s->labels : NULL,
		.uid = ask->uid,
		.trust = gate_trust(ask->core, ask->authority, ask->uid),
		.workspace = ask->core->boot->config.workspace[0] ? PROFILE_WORKSPACE : NULL,
		.now_ms = wall_now_ms(),
		.rate = rate_of,
		.rate_arg = &rate,
	};

	policy_decide(ask->core->policy, &q, &g->verdict);
	g->decided = true;
	text_cut(g->why.detail, sizeof(g->why.detail), g->verdict.reason);
	text_cut(g->why.hint, sizeof(g->why.hint), g->verdict.hint);
}

static uint64_t denial_key(const struct gate_ask *ask, const char *hash, const struct gate *g)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint64_t key;
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)g->why.detail, strlen(g->why.detail) + 1);
	SHA256Update(&sha, (const uint8_t *)g->verdict.rule, strlen(g->verdict.rule) + 1);
	SHA256Update(&sha, (const uint8_t *)hash, strlen(hash) + 1);
	SHA256Update(&sha, (const uint8_t *)ask->args, ask->args_len);
	if (ask->context) /* behind the end of an object: no arguments look like both */
		SHA256Update(&sha, (const uint8_t *)ask->context, ask->context_len);
	SHA256Final(digest, &sha);
	memcpy(&key, digest, sizeof(key));
	return key;
}

/* What stays of it: the counters, what this session did and was denied, and the evidence for the answer. */
static void remember(const struct gate_ask *ask, const char *name, const char *hash, struct gate *g)
{
	struct gate_memory *m = gate_memory_of(ask->core, ask->session, ask->uid);
	struct jbuf b;

	if (g->outcome == OUTCOME_DENIED && !g->evidence[0] && g->profile) {
		jbuf_init(&b, sizeof(g->evidence));
		jbuf_printf(&b, "{\"state\":\"%s\",\"permissions\":", g->tool ? tool_state_name(g->tool->state) : "body");
		permissions_print(&g->effective, &b);
		jbuf_text(&b, "}");
		if (!b.failed && b.len < sizeof(g->evidence))
			snprintf(g->evidence, sizeof(g->evidence), "%.*s", (int)b.len, b.data);
		jbuf_done(&b);
	}
	if (ask->dry)
		return;
	if (g->outcome == OUTCOME_DENIED && m)
		g->final |= gate_memory_denied(m, denial_key(ask, hash, g));
	if (g->outcome == OUTCOME_OK && m)
		gate_memory_called(m, name, core_now_ns() / 1000000);
	if (g->decided)
		metrics_decision(ask->core, g->verdict.decision);
}

static int decide(const struct gate_ask *ask, struct store *store, const char *name, const char *hash, bool custom, struct gate *g, struct err *err)
{
	int r = 0;

	ask_policy(ask, name, custom ? hash : NULL, g);
	if (g->verdict.decision == DECISION_DENY)
		gate_deny(g, "policy");
	else if (g->verdict.decision == DECISION_ESCALATE)
		r = approvals_gate(ask, store, hash, g, err);
	return r;
}

static int gate_new(struct gate **ret, struct err *err)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : err_set(err, ERR_HOST, ENOMEM, "gate", "no memory");
}

static int walk(const struct gate_ask *ask, struct store *store, struct gate *g, struct err *err)
{
	int r = tool_find(ask, g, err);

	if (r < 0 || g->outcome != OUTCOME_OK || tool_stopped(ask, g))
		return r;
	r = narrow_tool(ask->core, g->tool, &g->profile, &g->effective, err);
	if (r < 0)
		return err_wrap(err, "the profile of tool %s", g->tool->name);
	r = args_prove(ask, g, err);
	if (r < 0 || g->outcome != OUTCOME_OK)
		return r;
	return decide(ask, store, g->tool->name, g->tool->hash, true, g, err);
}

int gate_call(const struct gate_ask *ask, struct gate **ret, struct err *err)
{
	struct store *store;
	int r = store_of(ask->core, &store, err);

	if (r == 0)
		r = gate_new(ret, err);
	if (r < 0)
		return r;
	r = walk(ask, store, *ret, err);
	if (r < 0)
		gate_free(take_ptr(*ret));
	else
		remember(ask, (*ret)->name, (*ret)->tool ? (*ret)->tool->hash : "", *ret);
	return r;
}

void gate_body_hash(const char *body, size_t len, char ret[TOOL_HASH_MAX])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)body, len);
	digest_end(&sha, ret);
}

int gate_run(const struct gate_ask *ask, struct gate **ret, struct err *err)
{
	char hash[TOOL_HASH_MAX];
	struct gate *g;
	int r = gate_new(&g, err);

	if (r < 0)
		return r;
	snprintf(g->name, sizeof(g->name), "run");
	g->profile = profile_ref(ask->profile);
	profile_grants(g->profile, &g->effective);
	gate_body_hash(ask->body, ask->body_len, hash);
	/* The store is opened only where it is needed: most bodies run without. */
	r = decide(ask, NULL, "run", hash, false, g, err);
	if (r < 0) {
		gate_free(g);
		return r;
	}
	remember(ask, "run", hash, g);
	*ret = g;
	return 0;
}
