/* What an operator decides about a tool: promoted, put into quarantine, given back. Only over admin.sock: who may propose a tool
 * may not judge it. */
#include "supervisor/audit_client.h"
#include "supervisor/events.h"
#include "supervisor/request.h"
#include "supervisor/store.h"

#include <stdio.h>
#include <string.h>

/* With what stands before it, it has to fit into an error's text. */
#define REASON_MAX 200u

/* A request about one version: the current one of that name, which is the one that the operator saw where he says its hash. */
struct decision {
	const struct request *rq;
	struct store *store;
	struct tool *tool;
	char *reason; /* or NULL */
	enum tool_state to;
};

static void decision_done(struct decision *d)
{
	tool_free(d->tool);
	free(d->reason);
}

static bool refuse(const struct decision *d, const struct err *err)
{
	request_refuse(d->rq, err->class == ERR_HOST ? RPC_INTERNAL : RPC_PARAMS, err);
	return false;
}

static bool take_reason(struct decision *d, bool needed)
{
	size_t len = 0;
	struct err err;

	d->reason = request_string(d->rq, "reason", &len);
	if (needed && (!d->reason || !len)) {
		err_set(&err, ERR_CALLER, EINVAL, "params", "no reason: say why, for the tool's author and the audit log");
		return refuse(d, &err);
	}
	if (!d->reason || (len <= REASON_MAX && strlen(d->reason) == len))
		return true;
	if (len > REASON_MAX)
		err_set(&err, ERR_CALLER, EINVAL, "params", "the reason is longer than %u bytes", REASON_MAX);
	else
		err_set(&err, ERR_CALLER, EINVAL, "params", "the reason holds a NUL");
	return refuse(d, &err);
}

/* Drift: the name now means something else than what he looked at. */
static bool same_hash(struct decision *d)
{
	size_t len;
	_cleanup_free_ char *hash = request_string(d->rq, "hash", &len);
	struct err err;

	if (!hash || strcmp(hash, d->tool->hash) == 0)
		return true;
	err_set(&err, ERR_CALLER, ESTALE, "hash", "drift: tool %s is not the version that was asked about; version %u has %s", d->tool->name,
		d->tool->version, d->tool->hash);
	err_hint(&err, "look at what it is now: brig tool show %s", d->tool->name);
	return refuse(d, &err);
}

static bool take_tool(struct decision *d)
{
	size_t len = 0;
	_cleanup_free_ char *name = request_string(d->rq, "name", &len);
	struct err err = { 0 };
	int r;

	if (!name) {
		request_refuse_params(d->rq, "name is missing");
		return false;
	}
	if (tool_name_check(name, len, &err) < 0 || store_of(d->rq->core, &d->store, &err) < 0)
		return refuse(d, &err);
	r = store_tool_get(d->store, name, &d->tool, &err);
	if (r == -ENOENT) {
		err_set(&err, ERR_CALLER, ENOENT, "tool", "no tool is called \"%s\"", name);
		err_hint(&err, "'brig tool list' shows those that there are");
	}
	return r < 0 ? refuse(d, &err) : same_hash(d);
}

/* A state among those that a tool can be put into; absent: `otherwise`. */
static bool take_to(struct decision *d, enum tool_state lowest, enum tool_state otherwise)
{
	size_t len;
	_cleanup_free_ char *word = request_string(d->rq, "to", &len);
	int state = word ? tool_state_find(word) : (int)otherwise;
	struct err err;

	d->to = (enum tool_state)state;
	if (state >= (int)lowest && state <= (int)TOOL_APPROVED)
		return true;
	err_set(&err, ERR_CALLER, EINVAL, "params", "a tool cannot be put into %s in this way", word && state >= 0 ? tool_state_name((enum tool_state)state) : "a state of that name");
	err_hint(&err, lowest == TOOL_DRAFT ? "it can be given back as draft, probation or approved" : "it can be promoted to probation or approved");
	return refuse(d, &err);
}

static bool wrong_state(struct decision *d, const char *hint)
{
	struct err err;

	err_set(&err, ERR_CALLER, EINVAL, "state", "tool %s is %s", d->tool->name, tool_state_name(d->tool->state));
	err_hint(&err, "%s", hint);
	return refuse(d, &err);
}

static void decide(struct decision *d)
{
	const struct tool *t = d->tool;
	struct client *client = d->rq->client;
	char why[REASON_MAX + 80], text[80];
	struct err err = { 0 };
	struct jbuf b;

	snprintf(why, sizeof(why), "uid %u%s%s", (unsigned)client_uid(client), d->reason ? ": " : "", d->reason ?: "");
	snprintf(text, sizeof(text), "%s -> %s", tool_state_name(t->state), tool_state_name(d->to));
	if (!request_recorded_about(d->rq, AUDIT_TOOL_STATE, &(struct audit_about){ .tool = t->name, .hash = t->hash, .reason = d->reason, .text = text }))
		return;
	int r = store_tool_state(d->store, t->hash, t->state, d->to, why, &err);
	if (r == -ESTALE) {
		err_set(&err, ERR_CALLER, ESTALE, "state", "tool %s was changed by somebody else meanwhile", t->name);
		err_hint(&err, "look at what it is now: brig tool show %s", t->name);
	}
	if (r < 0) {
		(void)refuse(d, &err);
		return;
	}
	events_tools_changed(d->rq->core);
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"name\":");
	jbuf_cstring(&b, t->name);
	jbuf_printf(&b, ",\"version\":%u,\"hash\":\"%s\",\"state\":\"%s\",\"was\":\"%s\"}", t->version, t->hash, tool_state_name(d->to),
		    tool_state_name(t->state));
	request_answer(d->rq, &b);
	jbuf_done(&b);
}

/* One step at a time, unless he names the state. */
static void method_promote(const struct request *rq)
{
	_cleanup_(decision_done) struct decision d = { .rq = rq };

	if (!take_reason(&d, false) || !take_tool(&d))
		return;
	if (d.tool->state == TOOL_QUARANTINED)
		(void)wrong_state(&d, "give it back first: 'brig tool restore'");
	else if (!take_to(&d, TOOL_PROBATION, d.tool->state == TOOL_DRAFT ? TOOL_PROBATION : TOOL_APPROVED))
		return;
	else if (d.to <= d.tool->state)
		(void)wrong_state(&d, "there is nothing to promote; a new version begins as a draft again");
	else
		decide(&d);
}

static void method_quarantine(const struct request *rq)
{
	_cleanup_(decision_done) struct decision d = { .rq = rq, .to = TOOL_QUARANTINED };

	if (!take_reason(&d, true) || !take_tool(&d))
		return;
	if (d.tool->state == TOOL_QUARANTINED)
		(void)wrong_state(&d, "'brig tool show' says why");
	else
		decide(&d);
}

/* As a draft, unless he says better: whoever put it there had a reason. */
static void method_restore(const struct request *rq)
{
	_cleanup_(decision_done) struct decision d = { .rq = rq };

	if (!take_reason(&d, false) || !take_tool(&d))
		return;
	if (d.tool->state != TOOL_QUARANTINED)
		(void)wrong_state(&d, "only what is in quarantine is given back");
	else if (take_to(&d, TOOL_DRAFT, TOOL_DRAFT))
		decide(&d);
}

static const struct param params_state[] = {
	{ "name", STRING_FIRST, "a string" }, { "hash", STRING_FIRST, "a string" },   { "to", STRING_FIRST, "a string" },
	{ "reason", STRING_FIRST, "a string" }, { 0 },
};
static const struct param params_quarantine[] = {
	{ "name", STRING_FIRST, "a string" },
	{ "hash", STRING_FIRST, "a string" },
	{ "reason", STRING_FIRST, "a string" },
	{ 0 },
};

const struct method methods_tool_state[] = {
	{ "tool.promote", method_promote, params_state, true },
	{ "tool.quarantine", method_quarantine, params_quarantine, true },
	{ "tool.restore", method_restore, params_state, true },
	{ 0 },
};
