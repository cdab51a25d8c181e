/* The texts of a policy to its rules. */
#include "supervisor/policy_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const decisions[] = { [DECISION_ALLOW] = "allow", [DECISION_DENY] = "deny", [DECISION_ESCALATE] = "escalate" };
static const char *const trusts[] = { [TRUST_STANDARD] = "standard", [TRUST_ELEVATED] = "elevated", [TRUST_ADMIN] = "admin" };
static const char *const policy_keys[] = { "rules", "why" };
static const char *const rule_keys[] = { "name", "match", "when", "decide", "reason", "hint", "why" };

static int word_find(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

const char *decision_name(enum decision d)
{
	return (size_t)d < ARRAY_LEN(decisions) ? decisions[d] : "unknown";
}

const char *trust_name(enum trust t)
{
	return t < TRUST_COUNT ? trusts[t] : "unknown";
}

int trust_find(const char *name)
{
	return word_find(trusts, ARRAY_LEN(trusts), name);
}

/* ---- what the readers share ---- */

int reader_no_memory(const struct policy_reader *r)
{
	return err_set(r->err, ERR_HOST, ENOMEM, "policy", "no memory");
}

int reader_hint(const struct policy_reader *r, const char *word, const char *const *words, size_t n)
{
	const char *near = nearest_word(word, words, n);
	char all[200] = "";
	size_t used = 0;

	if (near) {
		err_hint(r->err, "did you mean \"%s\"?", near);
		return -EINVAL;
	}
	for (size_t i = 0; i < n && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", words[i]);
	err_hint(r->err, "there are %s", all);
	return -EINVAL;
}

const cJSON *reader_first(const cJSON *node)
{
	return cJSON_IsArray(node) ? node->child : node;
}

const char *reader_raw(const struct policy_reader *r, const cJSON *node, size_t *ret_len)
{
	size_t at = origin_of(&r->origins, node)->value;

	*ret_len = json_skip_value(r->text, r->len, at) - at;
	return r->text + at;
}

int texts_add(struct texts *t, const char *text)
{
	char **at = reallocarray(t->at, t->count + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	t->at = at;
	at[t->count] = strdup(text);
	return at[t->count] ? (t->count++, 0) : -ENOMEM;
}

void texts_done(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->at[i]);
	free(t->at);
	*t = (struct texts){ 0 };
}

int reader_globs(const struct policy_reader *r, const cJSON *node, enum glob_of of, struct texts *ret)
{
	const cJSON *item = reader_first(node);
	char why[120], room[96];

	if (!item)
		return reader_refuse(r, node, "an empty list matches nothing");
	for (; item; item = cJSON_IsArray(node) ? item->next : NULL) {
		if (!cJSON_IsString(item))
			return reader_refuse(r, item, "a glob is a string, such as \"net_*\"; or a list of such");
		if (glob_check(item->valuestring, of, why) < 0)
			return reader_refuse(r, item, "%s is no glob that could match: %s", quoted(item->valuestring, room), why);
		if (ret->count == POLICY_LIST_MAX)
			return reader_refuse(r, item, "a list has at most %u entries", POLICY_LIST_MAX);
		if (texts_add(ret, item->valuestring) < 0)
			return reader_no_memory(r);
	}
	return 0;
}

/* ---- one rule ---- */

static int key_refuse(const struct policy_reader *r, const cJSON *node, const char *const *keys, size_t n)
{
	char room[96];

	reader_refuse(r, node, "there is no key %s here", quoted(node->string, room));
	return reader_hint(r, node->string, keys, n);
}

static int read_words(const struct policy_reader *r, const cJSON *node, size_t max, char **ret)
{
	if (!cJSON_IsString(node) || !node->valuestring[0])
		return reader_refuse(r, node, "\"%s\" is words for people: a string that is not empty", node->string);
	if (strlen(node->valuestring) > max)
		return reader_refuse(r, node, "\"%s\" has at most %zu bytes, this has %zu", node->string, max, strlen(node->valuestring));
	*ret = strdup(node->valuestring);
	return *ret ? 0 : reader_no_memory(r);
}

/* It stands in audit records and in one line of a terminal. */
static int read_name(const struct policy_reader *r, const cJSON *node, struct rule *rule)
{
	int n = read_words(r, node, POLICY_NAME_MAX, &rule->name);

	for (const char *c = n == 0 ? rule->name : ""; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			return reader_refuse(r, node, "a rule's name is of printable ASCII characters");
	return n;
}

static int read_decide(const struct policy_reader *r, const cJSON *node, struct rule *rule)
{
	int d = cJSON_IsString(node) ? word_find(decisions, ARRAY_LEN(decisions), node->valuestring) : -1;
	char room[96];

	if (d < 0) {
		reader_refuse(r, node, "\"decide\" is %s", cJSON_IsString(node) ? quoted(node->valuestring, room) : "no string");
		return reader_hint(r, cJSON_IsString(node) ? node->valuestring : "", decisions, ARRAY_LEN(decisions));
	}
	rule->decide = (enum decision)d;
	return 0;
}

static int read_key(const struct policy_reader *r, const cJSON *node, struct rule *rule)
{
	_cleanup_free_ char *why = NULL;

	switch (word_find(rule_keys, ARRAY_LEN(rule_keys), node->string)) {
	case 0: return read_name(r, node, rule);
	case 1: return reader_globs(r, node, GLOB_TOOLS, &rule->match);
	case 2: return conds_read(r, node, rule);
	case 3: return read_decide(r, node, rule);
	case 4: return read_words(r, node, sizeof(((struct verdict_gate *)0)->reason) - 1, &rule->reason);
	case 5: return read_words(r, node, sizeof(((struct verdict_gate *)0)->hint) - 1, &rule->hint);
	case 6: return read_words(r, node, LIMIT_PROFILE_BYTES, &why);
	default: return key_refuse(r, node, rule_keys, ARRAY_LEN(rule_keys));
	}
}

static int read_rule(const struct policy_reader *r, const cJSON *node, struct rule *rule)
{
	const struct origin *origin = origin_of(&r->origins, node);

	memcpy(rule->where, origin->where, sizeof(rule->where));
	memcpy(rule->brief, origin->brief, sizeof(rule->brief));
	if (!cJSON_IsObject(node))
		return reader_refuse(r, node, "a rule is an object: { \"match\": ..., \"decide\": ... }");
	for (const cJSON *key = node->child; key; key = key->next) {
		int n = read_key(r, key, rule);
		if (n < 0)
			return n;
	}
	if (!cJSON_GetObjectItemCaseSensitive(node, "decide")) {
		reader_refuse(r, node, "the rule does not say what to \"decide\"");
		err_hint(r->err, "\"allow\", \"deny\" or \"escalate\"");
		return -EINVAL;
	}
	if (rule->match.count == 0 && rule->cond_count == 0) {
		reader_refuse(r, node, "the rule does not say which tools it is for");
		err_hint(r->err, "say \"match\": \"*\" where all are meant");
		return -EINVAL;
	}
	return rule->match.count == 0 && texts_add(&rule->match, "*") < 0 ? reader_no_memory(r) : 0;
}

/* ---- the list ---- */

static void rule_done(struct rule *rule)
{
	for (size_t i = 0; i < rule->cond_count; i++)
		cond_done(&rule->conds[i]);
	texts_done(&rule->match);
	free(rule->conds);
	free(rule->name);
	free(rule->reason);
	free(rule->hint);
}

static struct rule *rule_new(struct policy *p)
{
	if (p->count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct rule *rules = reallocarray(p->rules, cap, sizeof(*rules));

		if (!rules)
			return NULL;
		p->rules = rules;
		p->cap = cap;
	}
	p->rules[p->count] = (struct rule){ 0 };
	return &p->rules[p->count++];
}

static int read_rules(const struct policy_reader *r, const cJSON *list, struct policy *p)
{
	if (!cJSON_IsArray(list))
		return reader_refuse(r, list, "\"rules\" is a list of rules");
	for (const cJSON *node = list->child; node; node = node->next) {
		struct rule *rule = p->count < POLICY_RULES_MAX ? rule_new(p) : NULL;
		int n = rule	? read_rule(r, node, rule) :
			p->count == POLICY_RULES_MAX ? reader_refuse(r, node, "a policy has at most %u rules", POLICY_RULES_MAX) :
						       reader_no_memory(r);
		if (n < 0)
			return n;
	}
	return 0;
}

static int read_tree(const struct policy_reader *r, const cJSON *tree, struct policy *p)
{
	const cJSON *rules = NULL;
	_cleanup_free_ char *why = NULL;

	for (const cJSON *node = tree->child; node; node = node->next) {
		if (strcmp(node->string, "rules") == 0) {
			rules = node;
		} else if (strcmp(node->string, "why") == 0 && !why) {
			int n = read_words(r, node, LIMIT_PROFILE_BYTES, &why);
			if (n < 0)
				return n;
		} else {
			return key_refuse(r, node, policy_keys, ARRAY_LEN(policy_keys));
		}
	}
	if (rules)
		return read_rules(r, rules, p);
	reader_refuse(r, tree, "there are no \"rules\"");
	err_hint(r->err, "a policy is { \"rules\": [ { \"match\": ..., \"decide\": ... } ] }");
	return -EINVAL;
}

static int read_text(const struct policy_text *text, struct policy *p, struct err *err)
{
	struct policy_reader r = { .text = text->text, .len = text->len, .err = err };
	cJSON *tree = NULL;
	int n = profile_text_parse(text->name, text->text, text->len, 0, &r.origins, &tree, err);

	if (n == 0)
		n = read_tree(&r, tree, p);
	cJSON_Delete(tree);
	free(r.origins.at);
	return n;
}

int policy_parse(const struct policy_text *texts, size_t count, struct policy **ret, struct err *err)
{
	struct policy *p = calloc(1, sizeof(*p));
	int r = 0;

	if (!p)
		return err_set(err, ERR_HOST, ENOMEM, "policy", "no memory");
	p->refs = 1;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = read_text(&texts[i], p, err);
	if (r < 0) {
		policy_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct policy *policy_ref(struct policy *p)
{
	p->refs++;
	return p;
}

void policy_free(struct policy *p)
{
	if (!p || --p->refs > 0)
		return;
	for (size_t i = 0; i < p->count; i++)
		rule_done(&p->rules[i]);
	free(p->rules);
	free(p);
}
