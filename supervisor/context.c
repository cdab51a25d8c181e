#include "supervisor/context.h"

#include "jail/base/compiler.h"
#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <string.h>

/* Answers of several rounds: a tool that asks again finds those of before. */
#define INPUTS_MAX 32u
#define KEY_MAX 64u
/* Of a field: what a form's number can be. */
#define NUMBER_MAX 64u
#define CHOICES_MAX 100u
/* asks, question, schema, properties, field, choices, choice, and one more. */
#define ASKS_DEPTH 8u

/* ---- walking ---- */

static bool is_key(const char *text, size_t len)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	for (size_t i = 0; i < len; i++)
		if (!memchr(fine, text[i], sizeof(fine) - 1))
			return false;
	return len >= 1 && len <= KEY_MAX;
}

static bool key_is(const char *text, const struct json_member *m, const char *name)
{
	return strlen(name) == m->key_len && memcmp(text + m->key, name, m->key_len) == 0;
}

/* The elements of a list: texts of a checked value, one after the other. *at is first where the list begins. */
static bool element_next(const char *text, size_t len, size_t *at, const char **ret, size_t *ret_len)
{
	size_t i = *at + 1, begin;

	while (i < len && strchr(" \t\r\n,", text[i]))
		i++;
	begin = i;
	if (i >= len || text[i] != '"')
		return false;
	for (i++; i < len && text[i] != '"'; i++)
		i += text[i] == '\\';
	*ret = text + begin;
	*ret_len = i + 1 - begin;
	*at = i;
	return true;
}

/* A list of strings and of nothing else, each one that `fits`. */
static bool is_list_of(const char *text, size_t len, unsigned most, bool (*fits)(const char *value, size_t len))
{
	size_t at = 0, n;
	const char *element;
	unsigned count = 0;

	if (len < 2 || text[0] != '[')
		return false;
	while (element_next(text, len, &at, &element, &n))
		if (++count > most || !fits(element, n))
			return false;
	for (at++; at < len && strchr(" \t\r\n", text[at]); at++)
		;
	return at == len - 1 && text[at] == ']';
}

/* ---- what a caller says ---- */

static int refuse(struct err *err, const char *what)
{
	err_set(err, ERR_CALLER, EINVAL, "context", "%s", what);
	err_hint(err, "context is {\"inputs\":{KEY:{\"action\":\"accept\",\"content\":{...}}},\"capabilities\":[\"elicitation\",\"progress\",\"log\"]}; brig(7)");
	return -EINVAL;
}

static bool is_capability(const char *value, size_t len)
{
	static const char *const words[] = { "elicitation", "progress", "log" };

	return json_is_one_of(value, len, words, ARRAY_LEN(words));
}

static bool is_any_string(const char *value, size_t len)
{
	return len >= 2 && value[0] == '"';
}

static bool is_field_value(const char *value, size_t len)
{
	if (value[0] == '[')
		return is_list_of(value, len, CHOICES_MAX, is_any_string);
	if (value[0] == '{' || value[0] == 'n')
		return false;
	return value[0] == '"' || len <= NUMBER_MAX;
}

static bool is_content(const char *text, size_t len)
{
	struct json_member m;
	unsigned fields = 0;
	size_t at = 0;

	if (text[0] != '{')
		return false;
	while (json_member_next(text, len, &at, &m))
		if (++fields > LIMIT_ASK_FIELDS || !is_field_value(text + m.value, m.value_len))
			return false;
	return true;
}

/* A person declined without a word: only who accepts has filled in a form. */
static bool is_answer(const char *text, size_t len)
{
	static const char *const actions[] = { "accept", "decline", "cancel" };
	bool acts = false, accepts = false, has_content = false;
	struct json_member m;
	size_t at = 0;

	if (text[0] != '{')
		return false;
	while (json_member_next(text, len, &at, &m)) {
		const char *value = text + m.value;

		if (key_is(text, &m, "action") && json_is_one_of(value, m.value_len, actions, ARRAY_LEN(actions)))
			acts = true, accepts = json_is_one_of(value, m.value_len, actions, 1);
		else if (key_is(text, &m, "content") && is_content(value, m.value_len))
			has_content = true;
		else
			return false;
	}
	return acts && (accepts || !has_content);
}

static int check_inputs(const char *text, size_t len, struct err *err)
{
	struct json_member m;
	unsigned count = 0;
	size_t at = 0;

	if (text[0] != '{')
		return refuse(err, "context.inputs is no object");
	while (json_member_next(text, len, &at, &m)) {
		if (++count > INPUTS_MAX)
			return refuse(err, "context.inputs holds more than 32 answers");
		if (!is_key(text + m.key, m.key_len))
			return refuse(err, "a key of context.inputs is not 1 to 64 of the characters A-Z a-z 0-9 _ . -");
		if (!is_answer(text + m.value, m.value_len))
			return refuse(err, "an answer in context.inputs is no object of an action (accept, decline, cancel) and, with accept, a flat content");
	}
	return 0;
}

int context_check(const char *raw, size_t len, struct err *err)
{
	struct json_member m;
	size_t at = 0;
	int r = 0;

	if (len > LIMIT_CONTEXT_BYTES) {
		err_set(err, ERR_CALLER, E2BIG, "context", "the context is %zu bytes, more than the %u that a call may carry", len, LIMIT_CONTEXT_BYTES);
		return -E2BIG;
	}
	while (r == 0 && json_member_next(raw, len, &at, &m)) {
		if (key_is(raw, &m, "inputs"))
			r = check_inputs(raw + m.value, m.value_len, err);
		else if (!key_is(raw, &m, "capabilities"))
			r = refuse(err, "context holds a member that is neither inputs nor capabilities");
		else if (!is_list_of(raw + m.value, m.value_len, 3, is_capability))
			r = refuse(err, "context.capabilities is no list of elicitation, progress and log");
	}
	return r;
}

/* ---- what a tool asks ---- */

static bool is_field(const char *text, size_t len)
{
	static const char *const types[] = { "string", "number", "integer", "boolean", "array" };
	size_t at, n;

	return text[0] == '{' && json_find(text, len, "type", &at, &n, NULL) && json_is_one_of(text + at, n, types, ARRAY_LEN(types));
}

static bool is_form(const char *text, size_t len)
{
	static const char *const object[] = { "object" };
	struct json_member m;
	unsigned fields = 0;
	size_t at, n;

	if (text[0] != '{' || !json_find(text, len, "type", &at, &n, NULL) || !json_is_one_of(text + at, n, object, 1) ||
	    !json_find(text, len, "properties", &at, &n, NULL) || text[at] != '{')
		return false;
	text += at;
	at = 0;
	while (json_member_next(text, n, &at, &m))
		if (++fields > LIMIT_ASK_FIELDS || !is_field(text + m.value, m.value_len))
			return false;
	return true;
}

static bool is_question(const char *text, size_t len)
{
	bool says = false, shows = false;
	struct json_member m;
	size_t at = 0;

	if (text[0] != '{')
		return false;
	while (json_member_next(text, len, &at, &m)) {
		if (key_is(text, &m, "message") && is_any_string(text + m.value, m.value_len))
			says = true;
		else if (key_is(text, &m, "schema") && is_form(text + m.value, m.value_len))
			shows = true;
		else
			return false;
	}
	return says && shows;
}

bool context_asks_check(const char *raw, size_t len)
{
	struct json_error je;
	struct json_member m;
	unsigned count = 0;
	size_t at = 0;

	if (len > LIMIT_ASKS_BYTES || json_check(raw, len, JSON_OBJECT, ASKS_DEPTH, &je) < 0)
		return false;
	while (json_member_next(raw, len, &at, &m))
		if (++count > LIMIT_ASKS || !is_key(raw + m.key, m.key_len) || !is_question(raw + m.value, m.value_len))
			return false;
	return count > 0;
}
