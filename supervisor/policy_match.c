/* A question to a decision. Pure: the same question has the same answer, and what cannot be judged never allows. */
#include "supervisor/policy_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool globs_match(const struct texts *globs, const char *text)
{
	for (size_t i = 0; text && i < globs->count; i++)
		if (glob_match(globs->at[i], text))
			return true;
	return false;
}

static enum fit is(bool yes)
{
	return yes ? FIT_YES : FIT_NO;
}

static enum fit fit_hash(const struct cond *c, const struct question *q)
{
	for (size_t i = 0; q->hash && i < c->texts.count; i++)
		if (strcmp(c->texts.at[i], q->hash) == 0)
			return FIT_YES;
	return FIT_NO;
}

static enum fit fit_uid(const struct cond *c, const struct question *q)
{
	for (size_t i = 0; i < c->uid_count; i++)
		if (c->uids[i] == q->uid)
			return FIT_YES;
	return FIT_NO;
}

/* The members of "labels" one by one: a key may hold any character. */
static enum fit fit_label(const struct label *l, const char *labels)
{
	size_t len = strlen(labels), at = json_skip_space(labels, len, 0);
	struct json_member m;
	enum fit f = FIT_NO;

	while (f == FIT_NO && json_member_next(labels, len, &at, &m)) {
		size_t key_len = 0, value_len = 0;
		char *key = json_string_dup(labels + m.key - 1, m.key_len + 2, &key_len);
		char *value = json_string_dup(labels + m.value, m.value_len, &value_len);

		if (!key || !value)
			f = FIT_UNKNOWN;
		else if (key_len == strlen(l->key) && memcmp(key, l->key, key_len) == 0)
			f = strlen(value) == value_len ? is(globs_match(&l->globs, value)) : FIT_UNKNOWN;
		free(key);
		free(value);
	}
	return f;
}

static enum fit fit_labels(const struct cond *c, const struct question *q)
{
	enum fit worst = FIT_YES;

	for (size_t i = 0; i < c->label_count; i++) {
		enum fit f = q->labels ? fit_label(&c->labels[i], q->labels) : FIT_NO;
		worst = f < worst ? f : worst;
	}
	return worst;
}

/* From a later to an earlier hour: over midnight. Days are those of the moment itself. */
static enum fit fit_time(const struct cond *c, const struct question *q)
{
	time_t now = (time_t)(q->now_ms / 1000);
	struct tm tm;

	if (!gmtime_r(&now, &tm))
		return FIT_UNKNOWN;
	unsigned minute = (unsigned)(tm.tm_hour * 60 + tm.tm_min);
	bool within = c->from <= c->to ? minute >= c->from && minute < c->to : minute >= c->from || minute < c->to;
	return is(within && (c->mask >> tm.tm_wday & 1));
}

static enum fit fit_rate(const struct cond *c, const struct question *q)
{
	return is((q->rate ? q->rate(q->rate_arg, c->per_ms) : 0) >= c->over);
}

static enum fit cond_fit(const struct cond *c, const struct question *q)
{
	const char *at = (const char *)q + c->key->offset;

	if (c->key->tool && !q->hash)
		return FIT_NO;
	switch (c->key->kind) {
	case COND_STATES: return is(c->mask >> q->state & 1);
	case COND_SCOPES: return is(c->mask >> q->effective.scope & 1);
	case COND_FLAG: return is(*(const bool *)at == c->flag);
	case COND_HASHES: return fit_hash(c, q);
	case COND_GLOBS: return is(globs_match(&c->texts, *(const char *const *)at));
	case COND_UIDS: return fit_uid(c, q);
	case COND_TRUST_MIN: return is(q->trust >= c->trust);
	case COND_TRUST_BELOW: return is(q->trust < c->trust);
	case COND_LABELS: return fit_labels(c, q);
	case COND_ARGS: return preds_fit(c->preds, c->pred_count, q);
	case COND_TIME: return fit_time(c, q);
	case COND_RATE: return fit_rate(c, q);
	}
	return FIT_UNKNOWN;
}

static bool rule_holds(const struct rule *rule, const struct question *q)
{
	enum fit worst = FIT_YES;

	if (!globs_match(&rule->match, q->tool))
		return false;
	for (size_t i = 0; i < rule->cond_count && worst != FIT_NO; i++) {
		enum fit f = cond_fit(&rule->conds[i], q);
		worst = f < worst ? f : worst;
	}
	return worst == FIT_YES || (worst == FIT_UNKNOWN && rule->decide != DECISION_ALLOW);
}

int policy_find(const struct policy *p, const struct question *q)
{
	static const enum decision order[] = { DECISION_DENY, DECISION_ESCALATE, DECISION_ALLOW };

	for (size_t o = 0; o < ARRAY_LEN(order); o++)
		for (size_t i = 0; i < p->count; i++)
			if (p->rules[i].decide == order[o] && rule_holds(&p->rules[i], q))
				return (int)i;
	return -1;
}

void policy_decide(const struct policy *p, const struct question *q, struct verdict_gate *ret)
{
	static const char *const reasons[] = {
		[DECISION_ALLOW] = "a rule of the policy allows it",
		[DECISION_DENY] = "a rule of the policy denies it",
		[DECISION_ESCALATE] = "a rule of the policy wants it approved by a person",
	};
	int i = policy_find(p, q);
	const struct rule *rule = i < 0 ? NULL : &p->rules[i];

	*ret = (struct verdict_gate){ .decision = rule ? rule->decide : DECISION_DENY };
	if (!rule) {
		snprintf(ret->rule, sizeof(ret->rule), "default");
		snprintf(ret->reason, sizeof(ret->reason), "no rule of the policy allows it");
		snprintf(ret->hint, sizeof(ret->hint), "do without this call, or ask the operator for a rule that allows it");
		return;
	}
	snprintf(ret->rule, sizeof(ret->rule), "%s%s%s", rule->brief, rule->name ? " " : "", rule->name ?: "");
	snprintf(ret->reason, sizeof(ret->reason), "%s", rule->reason ?: reasons[rule->decide]);
	snprintf(ret->hint, sizeof(ret->hint), "%s", rule->hint ?: "");
}
