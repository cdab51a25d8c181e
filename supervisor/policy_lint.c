/* What a policy says that is no error and can hardly be meant: rules that another one hides, that contradict each other, or that
 * never hold. Sound, not complete: what is said here is so. */
#include "supervisor/policy_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct lint {
	const struct policy *policy;
	void (*fn)(const char *where, const char *what, void *arg);
	void *arg;
};

static void say(const struct lint *l, const struct rule *rule, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void say(const struct lint *l, const struct rule *rule, const char *fmt, ...)
{
	char text[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	l->fn(rule->where, text, l->arg);
}

static const struct cond *cond_of(const struct rule *rule, const char *name)
{
	for (size_t i = 0; i < rule->cond_count; i++)
		if (strcmp(rule->conds[i].key->name, name) == 0)
			return &rule->conds[i];
	return NULL;
}

static bool flag_is(const struct rule *rule, const char *name, bool value)
{
	const struct cond *c = cond_of(rule, name);

	return c && c->flag == value;
}

/* ---- rules that never hold ---- */

static bool only_run(const struct rule *rule)
{
	for (size_t i = 0; i < rule->match.count; i++)
		if (strcmp(rule->match.at[i], "run") != 0)
			return false;
	return true;
}

static bool pred_contradicts(const struct cond *args)
{
	for (size_t i = 0; args && i < args->pred_count; i++)
		for (size_t j = 0; j < args->pred_count; j++)
			if (i != j && args->preds[i].kind == PRED_PRESENT && !args->preds[i].present && strcmp(args->preds[i].arg, args->preds[j].arg) == 0)
				return true;
	return false;
}

static const char *why_never(const struct rule *rule)
{
	const struct cond *below = cond_of(rule, "trust_below"), *least = cond_of(rule, "trust_at_least");
	const struct cond *time = cond_of(rule, "time"), *scope = cond_of(rule, "scope");
	bool tool = cond_of(rule, "state") || cond_of(rule, "hash");

	if (below && below->trust == TRUST_STANDARD)
		return "no trust is below \"standard\"";
	if (below && least && least->trust >= below->trust)
		return "no trust is at least the one and below the other";
	if (time && time->from == time->to)
		return "no time lies between two that are the same";
	if (scope && scope->mask == 1u << SCOPE_READ_ONLY && flag_is(rule, "write", true))
		return "what writes has a scope other than \"read-only\"";
	if (flag_is(rule, "write", true) && flag_is(rule, "filesystem", false))
		return "what writes has \"filesystem\" too";
	if (flag_is(rule, "custom", true) && flag_is(rule, "reviewed", true))
		return "a tool is either custom or reviewed";
	if (tool && (only_run(rule) || (flag_is(rule, "custom", false) && flag_is(rule, "reviewed", false))))
		return "a body sent with run has neither state nor hash";
	if (only_run(rule) && (flag_is(rule, "custom", true) || flag_is(rule, "reviewed", true)))
		return "a body sent with run is neither custom nor reviewed";
	if (pred_contradicts(cond_of(rule, "args")))
		return "an argument is to be absent and of some value";
	return NULL;
}

static bool never_runs(const struct rule *rule)
{
	const struct cond *state = cond_of(rule, "state");

	return state && !(state->mask & ~(1u << TOOL_QUARANTINED | 1u << TOOL_REMOVED));
}

static void lint_alone(const struct lint *l, const struct rule *rule)
{
	const char *why = why_never(rule);

	if (why)
		say(l, rule, "the rule can never hold: %s", why);
	if (never_runs(rule))
		say(l, rule, "the rule is never asked: no quarantined or removed version runs, whatever a policy says");
	if (rule->decide == DECISION_ALLOW && cond_of(rule, "rate"))
		say(l, rule, "the rule allows only what comes too often; \"rate\" belongs to a rule that denies or escalates");
}

/* ---- one rule behind another ---- */

static bool globs_cover(const struct texts *a, const struct texts *b)
{
	for (size_t i = 0; i < b->count; i++) {
		bool hit = false;

		for (size_t j = 0; !hit && j < a->count; j++)
			hit = glob_covers(a->at[j], b->at[i]);
		if (!hit)
			return false;
	}
	return true;
}

static bool uids_cover(const struct cond *a, const struct cond *b)
{
	for (size_t i = 0; i < b->uid_count; i++) {
		bool hit = false;

		for (size_t j = 0; !hit && j < a->uid_count; j++)
			hit = a->uids[j] == b->uids[i];
		if (!hit)
			return false;
	}
	return true;
}

/* Whenever b holds a holds. */
static bool cond_covers(const struct cond *a, const struct cond *b)
{
	switch (a->key->kind) {
	case COND_STATES:
	case COND_SCOPES: return !(b->mask & ~a->mask);
	case COND_FLAG: return a->flag == b->flag;
	case COND_HASHES:
	case COND_GLOBS: return globs_cover(&a->texts, &b->texts);
	case COND_UIDS: return uids_cover(a, b);
	case COND_TRUST_MIN: return b->trust >= a->trust;
	case COND_TRUST_BELOW: return b->trust <= a->trust;
	case COND_LABELS:
	case COND_ARGS:
	case COND_TIME:
	case COND_RATE: return strcmp(a->raw, b->raw) == 0;
	}
	return false;
}

static bool covers(const struct rule *a, const struct rule *b)
{
	if (!globs_cover(&a->match, &b->match))
		return false;
	for (size_t i = 0; i < a->cond_count; i++) {
		const struct cond *other = cond_of(b, a->conds[i].key->name);
		if (!other || !cond_covers(&a->conds[i], other))
			return false;
	}
	return true;
}

static const char *shown(const struct rule *rule, char room[160])
{
	snprintf(room, 160, "%s%s%s", rule->brief, rule->name ? " " : "", rule->name ?: "");
	return room;
}

/* Denies are looked at first, then escalations, then allows. */
static unsigned turn(const struct rule *rule)
{
	return rule->decide == DECISION_DENY ? 0 : rule->decide == DECISION_ESCALATE ? 1 : 2;
}

/* The one that decides whatever rule i is for; NULL: none does so by itself. */
static const struct rule *hides(const struct policy *p, size_t i)
{
	const struct rule *rule = &p->rules[i], *found = NULL;

	for (size_t j = 0; j < p->count; j++) {
		const struct rule *other = &p->rules[j];
		bool before = turn(other) < turn(rule) || (turn(other) == turn(rule) && j < i);

		if (before && (!found || turn(other) < turn(found)) && !why_never(other) && covers(other, rule))
			found = other;
	}
	return found;
}

static void lint_behind(const struct lint *l, size_t i)
{
	const struct rule *rule = &l->policy->rules[i], *first = hides(l->policy, i);
	char room[160];

	if (!first)
		return;
	if (first->decide == rule->decide)
		say(l, rule, "the rule never decides: %s says the same before it", shown(first, room));
	else if (covers(rule, first))
		say(l, rule, "the rule contradicts %s: the same conditions, and that one decides \"%s\"", shown(first, room), decision_name(first->decide));
	else
		say(l, rule, "the rule never decides: %s decides \"%s\" for all that it is for", shown(first, room), decision_name(first->decide));
}

void policy_lint(const struct policy *policy, void (*fn)(const char *where, const char *what, void *arg), void *arg)
{
	const struct lint l = { policy, fn, arg };

	for (size_t i = 0; i < policy->count; i++) {
		lint_alone(&l, &policy->rules[i]);
		if (!why_never(&policy->rules[i]))
			lint_behind(&l, i);
	}
}
