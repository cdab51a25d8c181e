#include "supervisor/decision_point.h"

#include "supervisor/approvals.h"
#include "supervisor/call_impl.h"
#include "supervisor/courier_client.h"
#include "supervisor/gate.h"
#include "supervisor/metrics.h"
#include "supervisor/session.h"

#include "jail/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RULE "decision point"
/* The answer, and what a point keeps with it. */
#define ANSWER_DEPTH 32

/* ---- the answer ---- */

static int no_decision(struct err *err, const char *what)
{
	err_set(err, ERR_POLICY, EACCES, RULE, "the decision point gave no decision: %s", what);
	err_hint(err, "nothing of it ran; the operator looks at decision_url (brigd.conf(5)) and at what answers there");
	return -EINVAL;
}

static bool is_word(const char *raw, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(raw, word, len) == 0;
}

/* At a character's beginning; what is longer nobody reads. */
static void reason_take(const char *raw, size_t len, char ret[300])
{
	size_t n = 0;
	_cleanup_free_ char *text = json_string_dup(raw, len, &n);

	if (!text)
		return;
	if (n > 299)
		for (n = 299; n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80;)
			n--;
	for (size_t i = 0; i < n; i++)
		ret[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i];
	ret[n] = '\0';
}

int decision_point_parse(const char *text, size_t len, enum decision *ret, char ret_reason[300], struct err *err)
{
	struct json_error je;
	size_t at, n;

	ret_reason[0] = '\0';
	if (json_check(text, len, JSON_OBJECT, ANSWER_DEPTH, &je) < 0)
		return no_decision(err, "what it answers is no JSON object");
	if (!json_find(text, len, "result", &at, &n, NULL))
		return no_decision(err, "it has no result, which is what OPA says of a rule that is not defined");
	if (is_word(text + at, n, "true") || is_word(text + at, n, "false")) {
		*ret = n == 4 ? DECISION_ALLOW : DECISION_DENY;
		return 0;
	}
	if (text[at] != '{' || !json_find(text, len, "result.decide", &at, &n, NULL))
		return no_decision(err, "its result is neither true nor false nor an object with decide");
	if (is_word(text + at, n, "\"allow\""))
		*ret = DECISION_ALLOW;
	else if (is_word(text + at, n, "\"deny\""))
		*ret = DECISION_DENY;
	else if (is_word(text + at, n, "\"escalate\""))
		*ret = DECISION_ESCALATE;
	else
		return no_decision(err, "decide is none of allow, deny and escalate");
	if (json_find(text, len, "result.reason", &at, &n, NULL) && text[at] == '"')
		reason_take(text + at, n, ret_reason);
	return 0;
}

/* ---- what becomes of the call ---- */

static void deny(struct call *c, const struct err *why)
{
	struct gate *g = c->gate;

	g->why = *why;
	gate_deny(g, RULE);
	g->verdict.decision = DECISION_DENY;
	snprintf(g->verdict.rule, sizeof(g->verdict.rule), RULE);
}

static void ask_of(const struct call *c, struct gate_ask *ask)
{
	struct request_head head;
	const char *body = c->request + sizeof(head);
	bool is_run = !c->gate->tool;

	memcpy(&head, c->request, sizeof(head));
	*ask = (struct gate_ask){ .core = c->core, .authority = c->authority, .uid = c->uid, .pid = c->pid, .session = c->session, .call_id = c->id,
				  .name = is_run ? NULL : c->gate->name, .name_len = is_run ? 0 : strlen(c->gate->name),
				  .body = is_run ? body : NULL, .body_len = is_run ? head.body_len : 0, .profile = is_run ? c->gate->profile : NULL,
				  .args = body + head.body_len, .args_len = head.args_len };
	if (head.context_len) {
		ask->context = ask->args + ask->args_len;
		ask->context_len = head.context_len;
	}
}

static void hash_of(const struct call *c, char ret[TOOL_HASH_MAX])
{
	struct request_head head;

	if (c->gate->tool) {
		memcpy(ret, c->gate->tool->hash, TOOL_HASH_MAX);
		return;
	}
	memcpy(&head, c->request, sizeof(head));
	gate_body_hash(c->request + sizeof(head), head.body_len, ret);
}

/* A person has to say yes, as if a rule of ours had asked. One who did already, for this call, was asked enough. */
static int escalate(struct call *c, const char *reason, struct err *err)
{
	struct gate *g = c->gate;
	struct gate_ask ask;
	char hash[TOOL_HASH_MAX];

	if (g->approval[0])
		return 0;
	hash_of(c, hash);
	ask_of(c, &ask);
	g->verdict.decision = DECISION_ESCALATE;
	snprintf(g->verdict.rule, sizeof(g->verdict.rule), RULE);
	snprintf(g->verdict.reason, sizeof(g->verdict.reason), "%s", reason[0] ? reason : "the decision point asks for a person");
	return approvals_gate(&ask, NULL, hash, g, err);
}

static void settle(struct call *c, const struct courier_word *word)
{
	enum decision decision = DECISION_DENY;
	char reason[300] = "";
	struct err err = { 0 };
	int r;

	if (word->err)
		r = no_decision(&err, word->why);
	else if (word->status != 200)
		r = err_set(&err, ERR_POLICY, EACCES, RULE, "the decision point gave no decision: it answered with status %u", word->status);
	else
		r = decision_point_parse(word->body, word->body_len, &decision, reason, &err);
	if (r == 0 && decision == DECISION_DENY) {
		err_set(&err, ERR_POLICY, EACCES, RULE, "the decision point denies it%s%.299s", reason[0] ? ": " : "", reason);
		err_hint(&err, "do what was asked for in another way, or tell the user");
	}
	if (r == 0 && decision == DECISION_ESCALATE)
		r = escalate(c, reason, &err);
	if (r < 0 || decision == DECISION_DENY)
		deny(c, &err);
	if (c->gate->outcome == OUTCOME_DENIED)
		metrics_decision(c->core, DECISION_DENY);
}

static void on_word(const struct courier_word *word, void *arg)
{
	struct call *c = arg;

	c->asks = false;
	settle(c, word);
	call_go(c);
}

/* ---- the question ---- */

static void print(const struct call *c, struct jbuf *b)
{
	const struct gate *g = c->gate;
	const struct session *s = c->session;
	char hash[TOOL_HASH_MAX];
	struct gate_ask ask;

	hash_of(c, hash);
	ask_of(c, &ask);
	jbuf_text(b, "{\"input\":{\"tool\":");
	jbuf_cstring(b, g->name);
	jbuf_member(b, "hash", hash);
	jbuf_member(b, "state", g->tool ? tool_state_name(g->tool->state) : NULL);
	jbuf_printf(b, ",\"reviewed\":%s,\"permissions\":", g->tool && g->tool->reviewed ? "true" : "false");
	permissions_print(&g->effective, b);
	jbuf_member(b, "profile", profile_name(g->profile));
	jbuf_text(b, ",\"args\":");
	jbuf_raw(b, ask.args, ask.args_len);
	if (ask.context) {
		jbuf_text(b, ",\"context\":");
		jbuf_raw(b, ask.context, ask.context_len);
	}
	if (ask.body) {
		jbuf_text(b, ",\"body\":");
		jbuf_string(b, ask.body, ask.body_len);
	}
	jbuf_printf(b, ",\"uid\":%u,\"trust_level\":\"%s\"", c->uid, trust_name(gate_trust(c->core, c->authority, c->uid)));
	jbuf_member(b, "session", s ? s->id : NULL);
	jbuf_member(b, "user_id", s ? s->user_id : NULL);
	jbuf_member(b, "task", s ? s->task : NULL);
	jbuf_text(b, ",\"labels\":");
	jbuf_text(b, s && s->labels && s->labels[0] ? s->labels : "{}");
	jbuf_member(b, "call_id", c->id);
	jbuf_member(b, "rule", g->verdict.rule);
	jbuf_member(b, "approval", g->approval);
	jbuf_text(b, "}}");
}

static int ask(struct call *c, struct err *err)
{
	struct jbuf b;
	int r;

	jbuf_init(&b, COURIER_BODY_MAX);
	print(c, &b);
	if (b.failed) {
		r = no_decision(err, "the call is too large to be asked about (64 KiB)");
		err_hint(err, "make the arguments smaller, or name a file that holds them");
	} else {
		r = courier_send(c->core, COURIER_DECISION, b.data, b.len, c->core->boot->config.decision_ms, on_word, c, err);
		if (r < 0)
			r = err_wrap(err, "the decision point gave no decision");
	}
	jbuf_done(&b);
	return r;
}

void decision_point_ask(struct call *c)
{
	struct err err = { 0 };

	if (c->gate && c->gate->outcome == OUTCOME_OK && c->core->boot->client_fd < 0 && courier_is_configured(&c->core->boot->config)) {
		if (ask(c, &err) == 0) {
			c->asks = true;
			return;
		}
		deny(c, &err);
	}
	call_go(c);
}
