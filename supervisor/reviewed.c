#include "supervisor/reviewed.h"

#include "supervisor/core_state.h"
#include "supervisor/nearest.h"
#include "supervisor/profile_cache.h"
#include "supervisor/profile_impl.h"
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reviewed {
	struct tool **tools;
	size_t count;
};

/* One file while it is read; comments are blanked in the copy. */
struct reading {
	const struct store_file *file;
	char *text;
	struct tool *tool;
	struct err *err;
};

static int refuse(const struct reading *r, size_t at, const char *what, const char *word)
{
	unsigned line = 1, column = 1;
	char where[sizeof(r->err->where)];

	json_position(r->text, r->file->len, at, &line, &column);
	snprintf(where, sizeof(where), "%.40s:%u:%u", r->file->name, line, column);
	return err_set(r->err, ERR_POLICY, EINVAL, where, "%s%.80s", what, word);
}

/* Without the white space between its tokens, which was for people. */
static char *compact(const char *raw, size_t len)
{
	char *text = malloc(len + 1), *to = text;
	bool quoted = false;

	for (size_t i = 0; text && i < len; i++) {
		if (raw[i] == '"')
			quoted = !quoted;
		else if (raw[i] == '\\')
			*to++ = raw[i++];
		else if (!quoted && strchr(" \t\r\n", raw[i]))
			continue;
		*to++ = raw[i];
	}
	if (to)
		*to = '\0';
	return text;
}

/* The string, or the object as one line of JSON. */
static char *text_of(const struct reading *r, const struct json_member *m)
{
	const char *raw = r->text + m->value;
	size_t len = 0;

	if (raw[0] == '"') {
		char *text = json_string_dup(raw, m->value_len, &len);

		if (text && strlen(text) == len)
			return text;
		free(text);
		return NULL;
	}
	return compact(raw, m->value_len);
}

static int take_profile(struct reading *r, const struct json_member *m)
{
	_cleanup_free_ char *name = text_of(r, m);

	if (!name || strlen(name) >= sizeof(r->tool->profile))
		return refuse(r, m->value, "no name of a profile", "");
	snprintf(r->tool->profile, sizeof(r->tool->profile), "%s", name);
	return 0;
}

static int take_permissions(struct reading *r, const struct json_member *m)
{
	struct err why = { 0 };

	if (permissions_parse(r->text + m->value, m->value_len, &r->tool->declared, &why) == 0)
		return 0;
	return refuse(r, m->value, why.detail, "");
}

static int take_member(struct reading *r, const struct json_member *m)
{
	static const struct {
		const char *name;
		char first;
	} keys[] = { { "description", '"' }, { "parameters", '{' }, { "permissions", '{' }, { "profile", '"' } };
	static const char *const words[] = { "description", "parameters", "permissions", "profile" };
	char key[24];
	size_t i = 0;

	snprintf(key, sizeof(key), "%.*s", m->key_len < sizeof(key) ? (int)m->key_len : 0, r->text + m->key);
	while (i < ARRAY_LEN(keys) && strcmp(key, keys[i].name) != 0)
		i++;
	if (i == ARRAY_LEN(keys)) {
		const char *near = nearest_word(key, words, ARRAY_LEN(words));

		refuse(r, m->key, "a tool has no such key: ", key);
		err_hint(r->err, near ? "did you mean \"%s\"?" : "the keys are description, parameters, permissions, profile%s", near ? near : "");
		return -EINVAL;
	}
	if (r->text[m->value] != keys[i].first)
		return refuse(r, m->value, "a value of another type belongs to ", key);
	if (i == 2)
		return take_permissions(r, m);
	if (i == 3)
		return take_profile(r, m);
	char **text = i == 0 ? &r->tool->description : &r->tool->parameters;
	*text = text_of(r, m);
	return *text ? 0 : refuse(r, m->value, "no text can be had of ", key);
}

static int take_body(struct reading *r, const struct profile_store *store)
{
	char name[sizeof(REVIEWED_FOLDER "/.py") + TOOL_NAME_MAX];
	const struct store_file *body;
	size_t bad;

	snprintf(name, sizeof(name), REVIEWED_FOLDER "/%s.py", r->tool->name);
	body = store_find(store, name);
	if (!body)
		return refuse(r, 0, "there is no file beside it called ", name);
	if (memchr(body->text, '\0', body->len) || !utf8_check(body->text, body->len, &bad))
		return refuse(r, 0, "no UTF-8 text is in ", name);
	r->tool->body = strndup(body->text, body->len);
	return r->tool->body ? 0 : -ENOMEM;
}

static int whole_check(struct reading *r, const struct profile_store *store)
{
	struct tool *t = r->tool;
	struct schema *schema = NULL;
	struct err why = { 0 };

	if (!t->description || !t->parameters || !t->profile[0])
		return refuse(r, 0, "a tool needs description, parameters and profile", "");
	if (!profile_store_text(store, t->profile, &(size_t){ 0 }))
		return refuse(r, 0, "there is no profile called ", t->profile);
	if (schema_compile(t->parameters, strlen(t->parameters), &schema, &why) < 0)
		return refuse(r, 0, why.detail, "");
	bool object = schema_is_object(schema);
	schema_free(schema);
	return object ? 0 : refuse(r, 0, "parameters are of type \"object\"", "");
}

static int parse(struct reading *r, const struct profile_store *store)
{
	const char *file = strrchr(r->file->name, '/') + 1;
	struct json_error je;
	struct json_member m;
	size_t len = strlen(file) - strlen(".json"), at;
	int e = tool_name_check(file, len, r->err);

	if (e < 0)
		return refuse(r, 0, "the file's name is no name of a tool", "");
	if (json_check(r->text, r->file->len, JSON_COMMENTS | JSON_OBJECT, 64, &je) < 0)
		return refuse(r, je.offset, je.what, "");
	json_blank_comments(r->text, r->file->len);
	snprintf(r->tool->name, sizeof(r->tool->name), "%.*s", (int)len, file);
	at = strspn(r->text, " \t\r\n");
	while (e == 0 && json_member_next(r->text, r->file->len, &at, &m))
		e = take_member(r, &m);
	if (e == 0)
		e = take_body(r, store);
	if (e == 0)
		e = whole_check(r, store);
	if (e == 0) {
		r->tool->state = TOOL_APPROVED;
		r->tool->reviewed = true;
		r->tool->version = 1;
		tool_hash(r->tool, r->tool->hash);
	}
	return e;
}

static int add(struct reviewed *all, const struct profile_store *store, const struct store_file *file, struct err *err)
{
	_cleanup_free_ char *copy = strndup(file->text, file->len);
	struct tool **more = reallocarray(all->tools, all->count + 1, sizeof(*more));
	struct reading r = { .file = file, .text = copy, .tool = calloc(1, sizeof(*r.tool)), .err = err };
	int e;

	if (more)
		all->tools = more;
	if (!copy || !more || !r.tool || strlen(copy) != file->len) {
		tool_free(r.tool);
		return err_set(err, ERR_HOST, ENOMEM, "tools", "no memory, or a NUL in %.100s", file->name);
	}
	e = parse(&r, store);
	if (e < 0)
		tool_free(r.tool);
	else
		all->tools[all->count++] = r.tool;
	return e;
}

/* The store's files are sorted by name, and so are these. */
int reviewed_load(const struct profile_store *store, struct reviewed **ret, struct err *err)
{
	struct reviewed *all = calloc(1, sizeof(*all));
	int e = all ? 0 : err_set(err, ERR_HOST, ENOMEM, "tools", "no memory");

	for (size_t i = 0; e == 0 && i < store->count; i++) {
		const char *name = store->files[i].name;
		size_t len = strlen(name);

		if (strncmp(name, REVIEWED_FOLDER "/", strlen(REVIEWED_FOLDER "/")) == 0 && len > 5 && strcmp(name + len - 5, ".json") == 0)
			e = add(all, store, &store->files[i], err);
	}
	if (e < 0) {
		reviewed_free(all);
		return e;
	}
	*ret = all;
	return 0;
}

void reviewed_free(struct reviewed *all)
{
	for (size_t i = 0; all && i < all->count; i++)
		tool_free(all->tools[i]);
	if (all)
		free(all->tools);
	free(all);
}

const struct tool *reviewed_at(const struct reviewed *all, size_t i)
{
	return i < all->count ? all->tools[i] : NULL;
}

const struct tool *reviewed_find(const struct reviewed *all, const char *name)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->tools[i]->name, name) == 0)
			return all->tools[i];
	return NULL;
}

const struct reviewed *reviewed_of(struct core *core, struct err *err)
{
	return profile_cache_reviewed(core->profiles, err);
}

static bool text_copy(char **text)
{
	if (*text)
		*text = strdup(*text);
	return *text != NULL;
}

int reviewed_get(struct core *core, const char *name, struct tool **ret, struct err *err)
{
	const struct reviewed *all = reviewed_of(core, err);
	const struct tool *found = all ? reviewed_find(all, name) : NULL;

	if (!all)
		return -err->code;
	if (!found)
		return -ENOENT;
	struct tool *copy = malloc(sizeof(*copy));
	if (copy) {
		*copy = *found;
		bool whole = text_copy(&copy->description);
		whole = text_copy(&copy->parameters) && whole;
		whole = text_copy(&copy->body) && whole;
		if (whole) {
			*ret = copy;
			return 0;
		}
		tool_free(copy);
	}
	return err_set(err, ERR_HOST, ENOMEM, "tools", "no memory");
}
