/* audit.read: what the log says, for who may approve. */
#include "supervisor/audit_look.h"
#include "supervisor/audit_line.h"
#include "supervisor/audit_record.h"
#include "supervisor/request.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 100u

/* A whole number of that parameter; absent: the value that is there. False: it is none, or out of range; refused. */
static bool take_number(const struct request *rq, const char *name, uint64_t max, uint64_t *value)
{
	struct slice v;
	char *end;

	if (!request_find(rq, name, &v))
		return true;
	errno = 0;
	unsigned long long n = strtoull(rq->line + v.at, &end, 10);
	if (rq->line[v.at] == '-' || errno || end != rq->line + v.at + v.len || n > max) {
		struct err err;

		err_set(&err, ERR_CALLER, EINVAL, "params", "%s is no whole number from 0 to %llu", name, (unsigned long long)max);
		err_hint(&err, "brig(7) lists the parameters of each method");
		request_refuse(rq, RPC_PARAMS, &err);
		return false;
	}
	*value = n;
	return true;
}

/* Texts of the filter; they live as long as the request is served. */
struct texts {
	char *kind, *tool, *outcome, *decision, *session, *call_id, *since, *until;
};

static void texts_done(struct texts *t)
{
	char **all[] = { &t->kind, &t->tool, &t->outcome, &t->decision, &t->session, &t->call_id, &t->since, &t->until };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		free(*all[i]);
}

static bool kind_is_known(const char *kind)
{
	for (uint32_t k = 1; k < AUDIT_KIND_COUNT; k++)
		if (strcmp(audit_kind_name(k), kind) == 0)
			return true;
	return false;
}

/* NULL, or what is wrong. A misspelt word would look like a log in which nothing happened. */
static const char *texts_take(const struct request *rq, struct texts *t)
{
	const struct {
		const char *name;
		char **text;
	} all[] = { { "kind", &t->kind },	{ "tool", &t->tool },	    { "outcome", &t->outcome }, { "decision", &t->decision },
		    { "session", &t->session }, { "call_id", &t->call_id }, { "since", &t->since },	{ "until", &t->until } };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		size_t len = 0;

		*all[i].text = request_string(rq, all[i].name, &len);
		if (*all[i].text && strlen(*all[i].text) != len)
			return "a filter holds a NUL";
	}
	if (t->kind && !kind_is_known(t->kind))
		return "kind: there is no such kind of record; brigd(8) lists them";
	if (t->outcome && outcome_find(t->outcome) < 0)
		return "outcome: there is no such outcome; brig(1) lists them";
	if (t->decision && strcmp(t->decision, "allow") != 0 && strcmp(t->decision, "deny") != 0 && strcmp(t->decision, "escalate") != 0)
		return "decision is allow, deny or escalate";
	if (t->since && record_time_check(t->since))
		return record_time_check(t->since);
	return t->until ? record_time_check(t->until) : NULL;
}

static void look_answer(const struct request *rq, struct audit_look *l)
{
	struct err err = { 0 };
	struct jbuf b;

	if (audit_look(rq->core, l, &err) < 0) {
		request_refuse(rq, RPC_INTERNAL, &err);
		return;
	}
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"records\":[");
	if (l->out.failed)
		b.failed = true;
	else if (l->count > 0)
		jbuf_raw(&b, l->out.data, l->out.len);
	jbuf_printf(&b, "],\"next\":%llu,\"more\":%s,\"last\":%llu}", (unsigned long long)l->next, l->more ? "true" : "false",
		    (unsigned long long)l->last);
	request_answer(rq, &b);
	jbuf_done(&b);
}

static void method_audit_read(const struct request *rq)
{
	struct audit_look look = { 0 };
	_cleanup_(texts_done) struct texts t = { 0 };
	uint64_t limit = LIMIT_DEFAULT, uid = UINT64_MAX;
	char uid_text[24];
	struct err err;

	if (!rq->core->audit) {
		err_set(&err, ERR_CALLER, ENOENT, "audit", "this supervisor keeps no audit log");
		err_hint(&err, "brigd does, unless brigd.conf says \"audit = no\"");
		request_refuse(rq, RPC_PARAMS, &err);
		return;
	}
	const char *wrong = texts_take(rq, &t);
	if (wrong) {
		request_refuse_params(rq, wrong);
		return;
	}
	if (!take_number(rq, "after_seq", INT64_MAX, &look.filter.after_seq) || !take_number(rq, "limit", AUDIT_LOOK_LIMIT, &limit) ||
	    !take_number(rq, "uid", UINT32_MAX, &uid))
		return;
	snprintf(uid_text, sizeof(uid_text), "%llu", (unsigned long long)uid);
	look.filter = (struct record_filter){ .kind = t.kind, .tool = t.tool, .outcome = t.outcome, .decision = t.decision, .session = t.session,
					      .call_id = t.call_id, .uid = uid == UINT64_MAX ? NULL : uid_text, .since = t.since,
					      .until = t.until, .after_seq = look.filter.after_seq };
	look.limit = (unsigned)limit;
	jbuf_init(&look.out, ANSWER_TEXT_MAX - 1024);
	look_answer(rq, &look);
	jbuf_done(&look.out);
}

static const struct param params_read[] = {
	{ "after_seq", NUMBER_FIRST, "a number" }, { "limit", NUMBER_FIRST, "a number" },    { "kind", STRING_FIRST, "a string" },
	{ "tool", STRING_FIRST, "a string" },	   { "uid", NUMBER_FIRST, "a number" },	     { "session", STRING_FIRST, "a string" },
	{ "call_id", STRING_FIRST, "a string" },   { "outcome", STRING_FIRST, "a string" },  { "decision", STRING_FIRST, "a string" },
	{ "since", STRING_FIRST, "a string" },	   { "until", STRING_FIRST, "a string" },    { 0 },
};

const struct method methods_audit[] = {
	{ "audit.read", method_audit_read, params_read, true },
	{ 0 },
};
