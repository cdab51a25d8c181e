#include "supervisor/policy_cases.h"

#include "supervisor/policy_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Each may cost as much as the policy may at a call. */
#define CASES_MAX 2000u
#define WORKSPACE_DEFAULT "/workspace"
/* A version that nobody asked about by its hash. */
#define HASH_NONE "sha256:0000000000000000000000000000000000000000000000000000000000000000"

static const char *const top_keys[] = { "why", "policy", "tools", "requests" };
static const char *const request_keys[] = {
	"name", "tool", "expect", "state", "hash", "scope", "permissions", "reviewed", "profile", "trust",
	"user", "uid", "session", "task", "labels", "args", "time", "workspace", "calls",
};

/* What is said of a name that no tool has. */
enum { VERDICT_UNKNOWN = DECISION_ESCALATE + 1, VERDICT_COUNT };
static const struct {
	const char *word;
	int verdict;
} expectations[] = {
	{ "allow", DECISION_ALLOW },       { "allowed", DECISION_ALLOW },       { "deny", DECISION_DENY },
	{ "denied", DECISION_DENY },       { "escalate", DECISION_ESCALATE },   { "escalated", DECISION_ESCALATE },
	{ "unknown_tool", VERDICT_UNKNOWN },
};

static const char *verdict_name(int v)
{
	return v == VERDICT_UNKNOWN ? "unknown_tool" : decision_name((enum decision)v);
}

/* ---- one request ---- */

struct request_case {
	struct question q;
	const char *name;
	int expect;
	char *labels; /* plain copies: comments may stand in the cases */
	char *args;
	uint32_t calls;
};

static unsigned calls_of(void *arg, uint32_t window_ms UNUSED)
{
	return *(const uint32_t *)arg;
}

static int word_find(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

static int key_refuse(const struct policy_reader *r, const cJSON *node, const char *const *keys, size_t n)
{
	char room[96];

	reader_refuse(r, node, "there is no key %s here", quoted(node->string, room));
	return reader_hint(r, node->string, keys, n);
}

/* A copy of an object's text without comments. */
static int object_dup(const struct policy_reader *r, const cJSON *node, char **ret)
{
	size_t len;
	const char *raw = reader_raw(r, node, &len);

	if (!cJSON_IsObject(node))
		return reader_refuse(r, node, "\"%s\" is an object", node->string);
	*ret = strndup(raw, len);
	if (!*ret)
		return reader_no_memory(r);
	json_blank_comments(*ret, len);
	return 0;
}

static int text_of(const struct policy_reader *r, const cJSON *node, const char **ret)
{
	if (!cJSON_IsString(node))
		return reader_refuse(r, node, "\"%s\" is a string", node->string);
	*ret = node->valuestring;
	return 0;
}

static int number_of(const struct policy_reader *r, const cJSON *node, uint32_t *ret)
{
	uint64_t n;

	if (value_count(node, &n) < 0 || n >= UINT32_MAX)
		return reader_refuse(r, node, "\"%s\" is a whole number below %u", node->string, UINT32_MAX);
	*ret = (uint32_t)n;
	return 0;
}

/* A word by the function that knows them. */
static int word_of(const struct policy_reader *r, const cJSON *node, int (*find)(const char *), int *ret)
{
	char room[96];

	*ret = cJSON_IsString(node) ? find(node->valuestring) : -1;
	return *ret >= 0 ? 0 : reader_refuse(r, node, "there is no %s %s", node->string, cJSON_IsString(node) ? quoted(node->valuestring, room) : "of that type");
}

static int take_expect(const struct policy_reader *r, const cJSON *node, struct request_case *c)
{
	const char *words[ARRAY_LEN(expectations)], *text = "";
	char room[96];

	for (size_t i = 0; i < ARRAY_LEN(expectations); i++)
		words[i] = expectations[i].word;
	int n = text_of(r, node, &text);
	int i = n == 0 ? word_find(words, ARRAY_LEN(words), text) : -1;
	if (n < 0)
		return n;
	if (i < 0) {
		reader_refuse(r, node, "no verdict is called %s", quoted(text, room));
		return reader_hint(r, text, words, ARRAY_LEN(words));
	}
	c->expect = expectations[i].verdict;
	return 0;
}

static int take_permissions(const struct policy_reader *r, const cJSON *node, struct request_case *c)
{
	_cleanup_free_ char *plain = NULL;
	struct err wrong;
	int n = object_dup(r, node, &plain);

	if (n < 0)
		return n;
	n = permissions_parse(plain, strlen(plain), &c->q.effective, &wrong);
	if (n < 0) {
		reader_refuse(r, node, "%s", wrong.detail);
		err_hint(r->err, "%s", wrong.hint);
	}
	return n;
}

/* "2026-01-31T08:00Z", seconds too where somebody wants them. */
static int take_time(const struct policy_reader *r, const cJSON *node, struct request_case *c)
{
	const char *text = "", *rest;
	struct tm tm = { 0 };
	int n = text_of(r, node, &text);

	if (n < 0)
		return n;
	rest = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (!rest) {
		tm = (struct tm){ 0 };
		rest = strptime(text, "%Y-%m-%dT%H:%MZ", &tm);
	}
	if (!rest || *rest)
		return reader_refuse(r, node, "\"time\" is a moment in UTC, such as \"2026-01-31T08:00Z\"");
	c->q.now_ms = (int64_t)timegm(&tm) * 1000;
	return 0;
}

static int take_key(const struct policy_reader *r, const cJSON *node, struct request_case *c)
{
	struct question *q = &c->q;
	int word = 0, n = 0;

	switch (word_find(request_keys, ARRAY_LEN(request_keys), node->string)) {
	case 0: return text_of(r, node, &c->name);
	case 1: return text_of(r, node, &q->tool);
	case 2: return take_expect(r, node, c);
	case 3:
		n = word_of(r, node, tool_state_find, &word);
		q->state = (enum tool_state)word;
		return n;
	case 4: return text_of(r, node, &q->hash);
	case 5: /* over what "permissions" say, wherever that stands */
		return word_of(r, node, tool_scope_find, &word);
	case 6: return take_permissions(r, node, c);
	case 7:
		q->reviewed = cJSON_IsTrue(node);
		return cJSON_IsBool(node) ? 0 : reader_refuse(r, node, "\"reviewed\" is true or false");
	case 8: return text_of(r, node, &q->profile);
	case 9:
		n = word_of(r, node, trust_find, &word);
		q->trust = (enum trust)word;
		return n;
	case 10: return text_of(r, node, &q->user_id);
	case 11: return number_of(r, node, &q->uid);
	case 12: return text_of(r, node, &q->session);
	case 13: return text_of(r, node, &q->task);
	case 14: return object_dup(r, node, &c->labels);
	case 15: return object_dup(r, node, &c->args);
	case 16: return take_time(r, node, c);
	case 17: return text_of(r, node, &q->workspace);
	case 18: return number_of(r, node, &c->calls);
	default: return key_refuse(r, node, request_keys, ARRAY_LEN(request_keys));
	}
}

static int request_read(const struct policy_reader *r, const cJSON *node, int64_t now_ms, struct request_case *c)
{
	const cJSON *scope;

	c->expect = -1;
	c->q = (struct question){ .workspace = WORKSPACE_DEFAULT, .now_ms = now_ms, .profile = "pure", .state = TOOL_DRAFT };
	if (!cJSON_IsObject(node))
		return reader_refuse(r, node, "a request is an object: { \"tool\": ..., \"expect\": ... }");
	for (const cJSON *key = node->child; key; key = key->next) {
		int n = take_key(r, key, c);
		if (n < 0)
			return n;
	}
	if (!c->q.tool || c->expect < 0)
		return reader_refuse(r, node, "the request does not say which \"tool\" it is for, or which verdict to \"expect\"");
	scope = cJSON_GetObjectItemCaseSensitive(node, "scope");
	if (scope)
		c->q.effective.scope = (enum tool_scope)tool_scope_find(scope->valuestring);
	if (strcmp(c->q.tool, "run") != 0 && !c->q.hash)
		c->q.hash = HASH_NONE;
	c->q.custom = c->q.hash && !c->q.reviewed;
	c->q.args = c->args ?: "{}";
	c->q.args_len = strlen(c->q.args);
	c->q.labels = c->labels;
	c->q.rate = calls_of;
	c->q.rate_arg = &c->calls;
	return 0;
}

/* ---- all of them ---- */

struct run {
	struct policy_reader reader;
	const struct policy *policy;
	const cJSON *tools; /* the names that there are; NULL: every name that a tool can have */
	unsigned *hits;     /* by rule */
	unsigned wrong;
	struct jbuf *b;
};

static bool is_known(const struct run *run, const char *tool)
{
	const cJSON *item;

	if (tool_name_check(tool, strlen(tool), NULL) < 0)
		return false;
	if (!run->tools || strcmp(tool, "run") == 0)
		return true;
	cJSON_ArrayForEach(item, run->tools)
		if (cJSON_IsString(item) && strcmp(item->valuestring, tool) == 0)
			return true;
	return false;
}

static void member(struct jbuf *b, const char *key, const char *text)
{
	jbuf_printf(b, "\"%s\":", key);
	if (text)
		jbuf_cstring(b, text);
	else
		jbuf_text(b, "null");
}

static void case_run(struct run *run, const struct request_case *c, bool first)
{
	struct verdict_gate v = { .rule = "", .reason = "no tool has that name" };
	bool known = is_known(run, c->q.tool);
	int verdict = VERDICT_UNKNOWN;

	if (known) {
		int rule = policy_find(run->policy, &c->q);

		policy_decide(run->policy, &c->q, &v);
		verdict = (int)v.decision;
		if (rule >= 0)
			run->hits[rule]++;
	}
	run->wrong += verdict != c->expect;
	jbuf_text(run->b, first ? "{" : ",{");
	member(run->b, "name", c->name);
	jbuf_text(run->b, ",");
	member(run->b, "tool", c->q.tool);
	jbuf_printf(run->b, ",\"expect\":\"%s\",\"verdict\":\"%s\",\"ok\":%s,", verdict_name(c->expect), verdict_name(verdict),
		    verdict == c->expect ? "true" : "false");
	member(run->b, "rule", v.rule);
	jbuf_text(run->b, ",");
	member(run->b, "reason", v.reason);
	jbuf_text(run->b, ",");
	member(run->b, "hint", v.hint);
	jbuf_text(run->b, "}");
}

static int requests_run(struct run *run, const cJSON *list, int64_t now_ms)
{
	const struct policy_reader *r = &run->reader;
	unsigned count = 0;

	if (!cJSON_IsArray(list))
		return reader_refuse(r, list, "\"requests\" is a list of requests");
	for (const cJSON *node = list->child; node; node = node->next) {
		struct request_case c = { 0 };
		int n = count++ < CASES_MAX ? request_read(r, node, now_ms, &c) : reader_refuse(r, node, "there are more than %u requests", CASES_MAX);

		if (n == 0)
			case_run(run, &c, node == list->child);
		free(c.labels);
		free(c.args);
		if (n < 0)
			return n;
	}
	return 0;
}

static void coverage_print(const struct run *run)
{
	unsigned unhit = 0;

	jbuf_printf(run->b, "],\"wrong\":%u,\"rules\":[", run->wrong);
	for (size_t i = 0; i < run->policy->count; i++) {
		const struct rule *rule = &run->policy->rules[i];

		unhit += run->hits[i] == 0;
		jbuf_text(run->b, i ? ",{" : "{");
		member(run->b, "where", rule->brief);
		jbuf_text(run->b, ",");
		member(run->b, "name", rule->name);
		jbuf_printf(run->b, ",\"decide\":\"%s\",\"hits\":%u}", decision_name(rule->decide), run->hits[i]);
	}
	jbuf_printf(run->b, "],\"rule_count\":%zu,\"unhit\":%u", run->policy->count, unhit);
}

static int cases_parse(const struct policy_text *cases, struct policy_reader *r, cJSON **ret, struct err *err)
{
	*r = (struct policy_reader){ .text = cases->text, .len = cases->len, .err = err };
	*ret = NULL;
	int n = profile_text_parse(cases->name, cases->text, cases->len, 0, &r->origins, ret, err);

	for (const cJSON *node = n == 0 ? (*ret)->child : NULL; node; node = node->next)
		if (word_find(top_keys, ARRAY_LEN(top_keys), node->string) < 0)
			return key_refuse(r, node, top_keys, ARRAY_LEN(top_keys));
	return n;
}

int policy_cases_run(const struct policy *policy, const struct policy_text *cases, int64_t now_ms, struct jbuf *b, struct err *err)
{
	_cleanup_free_ unsigned *hits = calloc(policy->count + 1, sizeof(*hits));
	struct run run = { .policy = policy, .hits = hits, .b = b };
	cJSON *tree;
	int n = cases_parse(cases, &run.reader, &tree, err);
	const cJSON *requests = n == 0 ? cJSON_GetObjectItemCaseSensitive(tree, "requests") : NULL;

	if (n == 0 && !hits)
		n = reader_no_memory(&run.reader);
	if (n == 0 && !requests)
		n = reader_refuse(&run.reader, tree, "there are no \"requests\"");
	run.tools = n == 0 ? cJSON_GetObjectItemCaseSensitive(tree, "tools") : NULL;
	if (run.tools && !cJSON_IsArray(run.tools))
		n = reader_refuse(&run.reader, run.tools, "\"tools\" is a list of names");
	jbuf_text(b, "\"requests\":[");
	if (n == 0)
		n = requests_run(&run, requests, now_ms);
	if (n == 0)
		coverage_print(&run);
	cJSON_Delete(tree);
	free(run.reader.origins.at);
	return n;
}

/* All but the policy becomes blank, so that its places are those of the cases' text. */
static int policy_apart(const struct policy_reader *r, const cJSON *node, const struct policy_text *cases, struct policy **ret)
{
	size_t len, at = (size_t)(reader_raw(r, node, &len) - r->text);
	_cleanup_free_ char *text = malloc(cases->len + 1);

	if (!text)
		return reader_no_memory(r);
	for (size_t i = 0; i < cases->len; i++)
		text[i] = (i >= at && i < at + len) || cases->text[i] == '\n' ? cases->text[i] : ' ';
	return policy_parse(&(struct policy_text){ cases->name, text, cases->len }, 1, ret, r->err);
}

int policy_cases_policy(const struct policy_text *cases, struct policy **ret, struct err *err)
{
	struct policy_reader r;
	cJSON *tree;
	int n = cases_parse(cases, &r, &tree, err);
	const cJSON *node = n == 0 ? cJSON_GetObjectItemCaseSensitive(tree, "policy") : NULL;

	*ret = NULL;
	if (node)
		n = policy_apart(&r, node, cases, ret);
	cJSON_Delete(tree);
	free(r.origins.at);
	return n;
}
