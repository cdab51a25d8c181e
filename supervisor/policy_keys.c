/* The conditions of a rule, in one table. policy(5) says the same for people. */
#include "supervisor/policy_impl.h"

#include "supervisor/units.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct question, field)

static const struct cond_key keys[] = {
	{ "state", COND_STATES, 0, true },
	{ "hash", COND_HASHES, 0, true },
	{ "scope", COND_SCOPES, 0, false },
	{ "filesystem", COND_FLAG, AT(effective.filesystem), false },
	{ "network", COND_FLAG, AT(effective.network), false },
	{ "subprocess", COND_FLAG, AT(effective.subprocess), false },
	{ "write", COND_FLAG, AT(effective.write), false },
	{ "custom", COND_FLAG, AT(custom), false },
	{ "reviewed", COND_FLAG, AT(reviewed), false },
	{ "profile", COND_GLOBS, AT(profile), false },
	{ "user", COND_GLOBS, AT(user_id), false },
	{ "uid", COND_UIDS, 0, false },
	{ "session", COND_GLOBS, AT(session), false },
	{ "task", COND_GLOBS, AT(task), false },
	{ "trust_at_least", COND_TRUST_MIN, 0, false },
	{ "trust_below", COND_TRUST_BELOW, 0, false },
	{ "labels", COND_LABELS, 0, false },
	{ "args", COND_ARGS, 0, false },
	{ "time", COND_TIME, 0, false },
	{ "rate", COND_RATE, 0, false },
};

/* A word, or a list of words, as bits. name(i): the i-th word. */
static int read_mask(const struct policy_reader *r, const cJSON *node, const char *const *words, size_t n, uint32_t *ret)
{
	const cJSON *item = reader_first(node);
	char room[96];

	if (!item)
		return reader_refuse(r, node, "an empty list matches nothing");
	for (; item; item = cJSON_IsArray(node) ? item->next : NULL) {
		size_t i = 0;

		if (!cJSON_IsString(item))
			return reader_refuse(r, item, "it is a word, or a list of words");
		while (i < n && strcmp(words[i], item->valuestring) != 0)
			i++;
		if (i == n) {
			reader_refuse(r, item, "there is no %s %s", node->string, quoted(item->valuestring, room));
			return reader_hint(r, item->valuestring, words, n);
		}
		*ret |= 1u << i;
	}
	return 0;
}

static int read_states(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	const char *words[TOOL_STATE_COUNT];

	for (unsigned i = 0; i < TOOL_STATE_COUNT; i++)
		words[i] = tool_state_name((enum tool_state)i);
	return read_mask(r, node, words, TOOL_STATE_COUNT, &c->mask);
}

static int read_scopes(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	const char *words[SCOPE_COUNT];

	for (unsigned i = 0; i < SCOPE_COUNT; i++)
		words[i] = tool_scope_name((enum tool_scope)i);
	return read_mask(r, node, words, SCOPE_COUNT, &c->mask);
}

static int read_flag(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	c->flag = cJSON_IsTrue(node);
	return cJSON_IsBool(node) ? 0 : reader_refuse(r, node, "\"%s\" is true or false", node->string);
}

static int read_hashes(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	const cJSON *item = reader_first(node);

	if (!item)
		return reader_refuse(r, node, "an empty list matches nothing");
	for (; item; item = cJSON_IsArray(node) ? item->next : NULL) {
		const char *text = cJSON_IsString(item) ? item->valuestring : "";

		if (strncmp(text, "sha256:", 7) != 0 || strlen(text) != TOOL_HASH_MAX - 1 || strspn(text + 7, "0123456789abcdef") != 64) {
			reader_refuse(r, item, "a version's hash is \"sha256:\" and 64 hexadecimal digits in lower case");
			err_hint(r->err, "brig tool show NAME prints it");
			return -EINVAL;
		}
		if (texts_add(&c->texts, text) < 0)
			return reader_no_memory(r);
	}
	return 0;
}

static int read_uids(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	const cJSON *item = reader_first(node);

	if (!item)
		return reader_refuse(r, node, "an empty list matches nothing");
	for (; item; item = cJSON_IsArray(node) ? item->next : NULL) {
		uint32_t *uids = reallocarray(c->uids, c->uid_count + 1, sizeof(*uids));
		uint64_t n;

		if (!uids)
			return reader_no_memory(r);
		c->uids = uids;
		if (value_count(item, &n) < 0 || n >= UINT32_MAX)
			return reader_refuse(r, item, "a uid is a whole number below %u", UINT32_MAX);
		uids[c->uid_count++] = (uint32_t)n;
	}
	return 0;
}

static int read_trust(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	const char *words[TRUST_COUNT];
	int t = cJSON_IsString(node) ? trust_find(node->valuestring) : -1;
	char room[96];

	for (unsigned i = 0; i < TRUST_COUNT; i++)
		words[i] = trust_name((enum trust)i);
	if (t < 0) {
		reader_refuse(r, node, "there is no trust %s", cJSON_IsString(node) ? quoted(node->valuestring, room) : "of that type");
		return reader_hint(r, cJSON_IsString(node) ? node->valuestring : "", words, TRUST_COUNT);
	}
	c->trust = (enum trust)t;
	return 0;
}

static int read_labels(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	if (!cJSON_IsObject(node) || !node->child)
		return reader_refuse(r, node, "\"labels\" is an object: { \"team\": \"infra-*\" }");
	for (const cJSON *item = node->child; item; item = item->next) {
		struct label *labels = reallocarray(c->labels, c->label_count + 1, sizeof(*labels));

		if (!labels)
			return reader_no_memory(r);
		c->labels = labels;
		labels[c->label_count] = (struct label){ .key = strdup(item->string) };
		if (!labels[c->label_count++].key)
			return reader_no_memory(r);
		int n = reader_globs(r, item, GLOB_WORDS, &labels[c->label_count - 1].globs);
		if (n < 0)
			return n;
	}
	return 0;
}

static int read_clock(const struct policy_reader *r, const cJSON *time, const char *key, unsigned *ret)
{
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(time, key);
	const char *t = node && cJSON_IsString(node) ? node->valuestring : "";
	bool shape = strlen(t) == 5 && t[2] == ':' && strspn(t, "0123456789") == 2 && strspn(t + 3, "0123456789") == 2;
	unsigned minutes = shape ? (unsigned)((t[0] - '0') * 10 + t[1] - '0') * 60 + (unsigned)((t[3] - '0') * 10 + t[4] - '0') : 0;

	if (!node)
		return 0;
	if (!shape || t[3] > '5' || minutes > 24 * 60)
		return reader_refuse(r, node, "\"%s\" is a time of the day in UTC, from \"00:00\" to \"24:00\"", key);
	*ret = minutes;
	return 0;
}

static int keys_only(const struct policy_reader *r, const cJSON *node, const char *const *words, size_t n)
{
	char room[96];

	for (const cJSON *item = node->child; item; item = item->next) {
		bool known = false;

		for (size_t i = 0; i < n; i++)
			known |= strcmp(words[i], item->string) == 0;
		if (known)
			continue;
		reader_refuse(r, item, "there is no key %s in \"%s\"", quoted(item->string, room), node->string);
		return reader_hint(r, item->string, words, n);
	}
	return 0;
}

static int read_time(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	static const char *const words[] = { "from", "to", "days" };
	static const char *const days[] = { "sun", "mon", "tue", "wed", "thu", "fri", "sat" };
	const cJSON *on = cJSON_GetObjectItemCaseSensitive(node, "days");

	if (!cJSON_IsObject(node) || !node->child)
		return reader_refuse(r, node, "\"time\" is an object: { \"from\": \"08:00\", \"to\": \"18:00\", \"days\": [\"mon\", \"tue\"] }");
	int n = keys_only(r, node, words, ARRAY_LEN(words));
	c->from = 0;
	c->to = 24 * 60;
	c->mask = on ? 0 : (1u << ARRAY_LEN(days)) - 1;
	if (n == 0)
		n = read_clock(r, node, "from", &c->from);
	if (n == 0)
		n = read_clock(r, node, "to", &c->to);
	return n == 0 && on ? read_mask(r, on, days, ARRAY_LEN(days), &c->mask) : n;
}

static int read_rate(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	static const char *const words[] = { "over", "per" };
	const cJSON *over = cJSON_GetObjectItemCaseSensitive(node, "over"), *per = cJSON_GetObjectItemCaseSensitive(node, "per");
	uint64_t count, ms;
	char write_it[32];

	if (!cJSON_IsObject(node) || !over || !per)
		return reader_refuse(r, node, "\"rate\" is an object: { \"over\": 10, \"per\": \"1m\" }");
	int n = keys_only(r, node, words, ARRAY_LEN(words));
	if (n < 0)
		return n;
	if (value_count(over, &count) < 0 || count > POLICY_RATE_OVER_MAX)
		return reader_refuse(r, over, "\"over\" is a number of calls, 0 to %u", POLICY_RATE_OVER_MAX);
	if (!cJSON_IsString(per) || units_time(per->valuestring, true, &ms, write_it) < 0 || ms < 1000 || ms > POLICY_RATE_WINDOW_MAX_MS)
		return reader_refuse(r, per, "\"per\" is a time from \"1s\" to \"1h\"");
	c->over = (uint32_t)count;
	c->per_ms = (uint32_t)ms;
	return 0;
}

static int cond_read(const struct policy_reader *r, const cJSON *node, struct cond *c)
{
	switch (c->key->kind) {
	case COND_STATES: return read_states(r, node, c);
	case COND_SCOPES: return read_scopes(r, node, c);
	case COND_FLAG: return read_flag(r, node, c);
	case COND_HASHES: return read_hashes(r, node, c);
	case COND_GLOBS: return reader_globs(r, node, GLOB_WORDS, &c->texts);
	case COND_UIDS: return read_uids(r, node, c);
	case COND_TRUST_MIN:
	case COND_TRUST_BELOW: return read_trust(r, node, c);
	case COND_LABELS: return read_labels(r, node, c);
	case COND_ARGS: return preds_read(r, node, c);
	case COND_TIME: return read_time(r, node, c);
	case COND_RATE: return read_rate(r, node, c);
	}
	return -EINVAL;
}

static int key_find(const struct policy_reader *r, const cJSON *node, const struct cond_key **ret)
{
	const char *words[ARRAY_LEN(keys)];
	char room[96];

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		words[i] = keys[i].name;
		if (strcmp(keys[i].name, node->string) == 0) {
			*ret = &keys[i];
			return 0;
		}
	}
	reader_refuse(r, node, "there is no condition %s", quoted(node->string, room));
	return reader_hint(r, node->string, words, ARRAY_LEN(words));
}

int conds_read(const struct policy_reader *r, const cJSON *when, struct rule *rule)
{
	if (!cJSON_IsObject(when) || !when->child)
		return reader_refuse(r, when, "\"when\" is an object of conditions; leave it out where there is none");
	rule->conds = calloc((size_t)cJSON_GetArraySize(when), sizeof(*rule->conds));
	if (!rule->conds)
		return reader_no_memory(r);
	for (const cJSON *node = when->child; node; node = node->next) {
		struct cond *c = &rule->conds[rule->cond_count];
		int n = key_find(r, node, &c->key);

		if (n < 0)
			return n;
		rule->cond_count++;
		c->raw = cJSON_PrintUnformatted(node);
		n = c->raw ? cond_read(r, node, c) : reader_no_memory(r);
		if (n < 0)
			return n;
	}
	return 0;
}

void cond_done(struct cond *c)
{
	for (size_t i = 0; i < c->label_count; i++) {
		free(c->labels[i].key);
		texts_done(&c->labels[i].globs);
	}
	for (size_t i = 0; i < c->pred_count; i++)
		pred_done(&c->preds[i]);
	texts_done(&c->texts);
	free(c->labels);
	free(c->preds);
	free(c->uids);
	free(c->raw);
}
