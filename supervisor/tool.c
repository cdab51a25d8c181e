#include "supervisor/tool.h"

#include "supervisor/digest.h"
#include "supervisor/nearest.h"
#include "supervisor/wire/json.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const states[] = {
#define X(id, name) [id] = name,
	TOOL_STATE_LIST(X)
#undef X
};

static const char *const scopes[] = {
	[SCOPE_READ_ONLY] = "read-only",
	[SCOPE_READ_WRITE] = "read-write",
	[SCOPE_DESTRUCTIVE] = "destructive",
};

static int word_find(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return (int)i;
	return -1;
}

const char *tool_state_name(enum tool_state state)
{
	return state < TOOL_STATE_COUNT ? states[state] : "unknown";
}

int tool_state_find(const char *name)
{
	return word_find(states, ARRAY_LEN(states), name);
}

const char *tool_scope_name(enum tool_scope scope)
{
	return scope < SCOPE_COUNT ? scopes[scope] : "unknown";
}

int tool_scope_find(const char *name)
{
	return word_find(scopes, ARRAY_LEN(scopes), name);
}

void tool_free(struct tool *t)
{
	if (!t)
		return;
	free(t->description);
	free(t->parameters);
	free(t->body);
	free(t->profile_text);
	free(t->why);
	free(t);
}

/* ---- names ---- */

/* Not isalpha(): a locale must not widen it. */
static bool name_byte_ok(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (!first && c >= '0' && c <= '9');
}

int tool_name_check(const char *name, size_t len, struct err *err)
{
	static const char hint[] = "a name is 1 to 64 letters a-z, A-Z, digits and _, and does not begin with a digit";
	size_t i = 0;

	while (i < len && i < TOOL_NAME_MAX - 1 && name_byte_ok(name[i], i == 0))
		i++;
	if (len > 0 && i == len)
		return 0;
	if (len == 0)
		err_set(err, ERR_CALLER, EINVAL, "name", "the name is empty");
	else if (i == TOOL_NAME_MAX - 1)
		err_set(err, ERR_CALLER, EINVAL, "name", "the name \"%.24s...\" is %zu bytes long", name, len);
	else if (isascii((unsigned char)name[i]) && isprint((unsigned char)name[i]))
		err_set(err, ERR_CALLER, EINVAL, "name", "the name has '%c' as character %zu", name[i], i + 1);
	else
		err_set(err, ERR_CALLER, EINVAL, "name", "the name has byte 0x%02x, %s, after \"%.*s\"", (unsigned char)name[i],
			isascii((unsigned char)name[i]) ? "a control character" : "no ASCII character", (int)i, name);
	err_hint(err, "%s", hint);
	return -EINVAL;
}

/* ---- the hash ---- */

static void hash_part(SHA2_CTX *sha, const char *text)
{
	digest_part(sha, text, text ? strlen(text) : 0);
}

void tool_hash(const struct tool *t, char ret[TOOL_HASH_MAX])
{
	struct jbuf p;
	SHA2_CTX sha;

	jbuf_init(&p, 256);
	permissions_print(&t->declared, &p);
	SHA256Init(&sha);
	hash_part(&sha, t->name);
	hash_part(&sha, t->description);
	hash_part(&sha, t->parameters);
	hash_part(&sha, t->body);
	hash_part(&sha, p.data);
	hash_part(&sha, t->profile);
	hash_part(&sha, t->profile_text);
	digest_end(&sha, ret);
	jbuf_done(&p);
}

/* ---- permissions ---- */

static const struct {
	const char *name;
	size_t offset;
} flags[] = {
	{ "filesystem", offsetof(struct permissions, filesystem) },
	{ "network", offsetof(struct permissions, network) },
	{ "subprocess", offsetof(struct permissions, subprocess) },
	{ "write", offsetof(struct permissions, write) },
};

static bool *flag_of(struct permissions *p, size_t i)
{
	return (bool *)((char *)p + flags[i].offset);
}

void permissions_print(const struct permissions *p, struct jbuf *b)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		jbuf_printf(b, "%c\"%s\":%s", i ? ',' : '{', flags[i].name,
			    *(const bool *)((const char *)p + flags[i].offset) ? "true" : "false");
	jbuf_printf(b, ",\"scope\":\"%s\"}", tool_scope_name(p->scope));
}

static int refuse_key(const char *key, struct err *err)
{
	const char *words[ARRAY_LEN(flags) + 1], *near;
	struct jbuf shown;

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		words[i] = flags[i].name;
	words[ARRAY_LEN(flags)] = "scope";
	jbuf_init(&shown, 1u << 20);
	jbuf_cstring(&shown, key);
	err_set(err, ERR_CALLER, EINVAL, "permissions", "there is no permission %.60s", shown.data ? shown.data : "");
	jbuf_done(&shown);
	near = nearest_word(key, words, ARRAY_LEN(words));
	if (near)
		err_hint(err, "did you mean \"%s\"?", near);
	else
		err_hint(err, "the permissions are filesystem, network, subprocess, write (true or false) and scope");
	return -EINVAL;
}

static int take_scope(const char *raw, size_t len, struct permissions *p, struct err *err)
{
	size_t n = 0;
	_cleanup_free_ char *word = json_string_dup(raw, len, &n);
	int scope = word && strlen(word) == n ? tool_scope_find(word) : -1;

	if (scope < 0) {
		err_set(err, ERR_CALLER, EINVAL, "permissions", "scope is %.40s", raw[0] == '"' && word ? word : "no string");
		err_hint(err, "scope is \"read-only\", \"read-write\" or \"destructive\"");
		return -EINVAL;
	}
	p->scope = (enum tool_scope)scope;
	return 0;
}

static int take_member(const char *raw, const struct json_member *m, struct permissions *p, struct err *err)
{
	/* json_string_dup() wants the quotes, which stand around the key. */
	size_t n = 0;
	_cleanup_free_ char *key = json_string_dup(raw + m->key - 1, m->key_len + 2, &n);

	if (!key)
		return err_set(err, ERR_HOST, ENOMEM, "permissions", "no memory");
	if (strlen(key) != n)
		return refuse_key(key, err);
	if (strcmp(key, "scope") == 0)
		return take_scope(raw + m->value, m->value_len, p, err);
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (strcmp(key, flags[i].name) != 0)
			continue;
		char first = raw[m->value];
		if (first != 't' && first != 'f')
			return err_set(err, ERR_CALLER, EINVAL, "permissions", "%s is neither true nor false", flags[i].name);
		*flag_of(p, i) = first == 't';
		return 0;
	}
	return refuse_key(key, err);
}

int permissions_parse(const char *raw, size_t len, struct permissions *ret, struct err *err)
{
	struct permissions p = { 0 };
	struct json_member m;
	size_t at = 0;

	while (json_member_next(raw, len, &at, &m)) {
		int r = take_member(raw, &m, &p, err);
		if (r < 0)
			return r;
	}
	if (p.write && !p.filesystem) {
		err_set(err, ERR_CALLER, EINVAL, "permissions", "write without filesystem: there would be nothing to write to");
		err_hint(err, "say \"filesystem\": true too; /tmp of the call can be written by every tool");
		return -EINVAL;
	}
	if (p.write && p.scope == SCOPE_READ_ONLY) {
		err_set(err, ERR_CALLER, EINVAL, "permissions", "write with scope \"read-only\"");
		err_hint(err, "say \"scope\": \"read-write\", or \"destructive\" where it may destroy what cannot be had again");
		return -EINVAL;
	}
	*ret = p;
	return 0;
}
