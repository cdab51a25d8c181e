#include "supervisor/registry.h"

#include "supervisor/reviewed.h"

#include "jail/base/limits.h"
#include "supervisor/events.h"
#include "supervisor/nearest.h"
#include "supervisor/schema.h"
#include "supervisor/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that are compared for "did you mean". */
#define NEAREST_NAMES_MAX 1000

/* What a body without a name is called in policies. */
static bool is_run(const char *name)
{
	return strcmp(name, "run") == 0;
}

/* What an MCP client calls to make, remove and call tools: one of that name would stand in its way, or be taken for it. */
static bool is_of_mcp(const char *name)
{
	static const char *const names[] = { "create_tool", "remove_tool", "list_my_tools", "call_tool" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int words_reserved(const char *name, struct err *err)
{
	err_set(err, ERR_CALLER, EINVAL, "name", "the name %s is reserved", name);
	err_hint(err, "%s; choose another",
		 is_run(name)	 ? "it is what a body without a name is called" :
		 is_of_mcp(name) ? "the MCP server's own tool has it" :
				   "a reviewed tool has it");
	return -EINVAL;
}

/* ---- texts ---- */

static int check_name(const struct registry_texts *t, struct err *err)
{
	int r = tool_name_check(t->name, t->name_len, err);

	return r < 0 || !(is_run(t->name) || is_of_mcp(t->name)) ? r : words_reserved(t->name, err);
}

static int check_description(const struct registry_texts *t, struct err *err)
{
	static const char hint[] = "one or a few sentences that tell a model when to use the tool and what comes back";

	if (t->description_len == 0)
		err_set(err, ERR_CALLER, EINVAL, "description", "the description is empty");
	else if (t->description_len > TOOL_DESCRIPTION_MAX)
		err_set(err, ERR_CALLER, EINVAL, "description", "the description is %zu bytes long; %u are the most", t->description_len,
			TOOL_DESCRIPTION_MAX);
	else if (strlen(t->description) != t->description_len)
		err_set(err, ERR_CALLER, EINVAL, "description", "the description holds a NUL character");
	else
		return 0;
	err_hint(err, "%s", hint);
	return -EINVAL;
}

static int check_body(const struct registry_texts *t, struct err *err)
{
	size_t at = strlen(t->body), line = 1;

	if (t->body_len > LIMIT_BODY_BYTES) {
		err_set(err, ERR_CALLER, EINVAL, "body", "the body is %zu bytes long; %u are the most", t->body_len, LIMIT_BODY_BYTES);
		err_hint(err, "data belongs in the arguments, or in files that the profile shows");
		return -EINVAL;
	}
	if (at == t->body_len)
		return 0;
	for (size_t i = 0; i < at; i++)
		line += t->body[i] == '\n';
	err_set(err, ERR_CALLER, EINVAL, "body", "the body holds a NUL character (line %zu)", line);
	err_hint(err, "write \\0 inside a Python string where one is meant");
	return -EINVAL;
}

static int check_parameters(const struct registry_texts *t, struct schema **ret, struct err *err)
{
	int r;

	if (t->parameters[0] != '{') {
		err_set(err, ERR_CALLER, EINVAL, "parameters", "parameters is %s, not a JSON Schema object",
			t->parameters[0] == '"' ? "a string" : t->parameters[0] == '[' ? "a list" : "no object");
		err_hint(err, "such as {\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],"
			      "\"additionalProperties\":false}");
		return -EINVAL;
	}
	if (t->parameters_len > TOOL_SCHEMA_MAX) {
		err_set(err, ERR_CALLER, EINVAL, "parameters", "parameters is %zu bytes long; %u are the most", t->parameters_len, TOOL_SCHEMA_MAX);
		err_hint(err, "a model reads it at every turn: describe less");
		return -EINVAL;
	}
	r = schema_compile(t->parameters, t->parameters_len, ret, err);
	if (r < 0) {
		snprintf(err->where, sizeof(err->where), "parameters");
		return r;
	}
	if (schema_is_object(*ret))
		return 0;
	schema_free(*ret);
	*ret = NULL;
	err_set(err, ERR_CALLER, EINVAL, "parameters", "parameters lacks \"type\": \"object\" at its top");
	err_hint(err, "arguments are named: {\"type\":\"object\",\"properties\":{...}}");
	return -EINVAL;
}

int registry_check_texts(const struct registry_texts *t, struct schema **ret, struct err *err)
{
	int r = check_name(t, err);

	if (r == 0)
		r = check_description(t, err);
	if (r == 0)
		r = check_body(t, err);
	return r < 0 ? r : check_parameters(t, ret, err);
}

/* ---- names that are there ---- */

struct names {
	char *name[NEAREST_NAMES_MAX];
	size_t count;
};

static int names_add(const struct tool *tool, void *arg)
{
	struct names *names = arg;

	if (names->count < NEAREST_NAMES_MAX && (names->name[names->count] = strdup(tool->name)))
		names->count++;
	return 0;
}

int registry_unknown(struct core *core, const char *name, size_t len, struct err *err)
{
	struct names names = { .count = 0 };
	char word[TOOL_NAME_MAX];
	const char *near;
	struct store *store;
	struct err ignored;
	struct jbuf shown;

	jbuf_init(&shown, 1024);
	jbuf_string(&shown, name, len < TOOL_NAME_MAX ? len : TOOL_NAME_MAX - 1);
	err_set(err, ERR_CALLER, ENOENT, "tool", "no tool is called %s", shown.failed ? "that" : shown.data);
	jbuf_done(&shown);
	snprintf(word, sizeof(word), "%.*s", len < sizeof(word) ? (int)len : (int)sizeof(word) - 1, name);
	const struct reviewed *reviewed = reviewed_of(core, &ignored);
	const struct tool *tool;
	for (size_t i = 0; reviewed && (tool = reviewed_at(reviewed, i)); i++)
		names_add(tool, &names);
	if (store_of(core, &store, &ignored) == 0)
		(void)store_tool_each(store, false, names_add, &names, &ignored);
	near = nearest_word(word, (const char *const *)names.name, names.count);
	if (near)
		err_hint(err, "did you mean %s?", near);
	else
		err_hint(err, "tool.list ('brig tool list') shows those that there are");
	for (size_t i = 0; i < names.count; i++)
		free(names.name[i]);
	return -ENOENT;
}

int registry_current(struct core *core, const char *name, struct tool **ret, struct err *err)
{
	struct store *store;
	int r = reviewed_get(core, name, ret, err);

	if (r == -ENOENT)
		r = store_of(core, &store, err) < 0 ? -EIO : store_tool_get(store, name, ret, err);
	return r;
}

int registry_get(struct core *core, const char *name, size_t len, struct tool **ret, struct err *err)
{
	int r = strlen(name) == len && len < TOOL_NAME_MAX ? registry_current(core, name, ret, err) : -ENOENT;

	return r == -ENOENT ? registry_unknown(core, name, len, err) : r;
}

/* ---- changes ---- */

void registry_changed(struct core *core)
{
	events_tools_changed(core);
}

/* How often agents may change the set of tools while this supervisor lives: one that goes round in circles ends there. */
static int rebuilds_left(struct core *core, const struct registry_who *who, struct err *err)
{
	uint32_t max = core->boot->config.max_rebuilds;

	if (who->authority == AUTHORITY_ADMIN || core->rebuilds < max)
		return 0;
	err_set(err, ERR_POLICY, EDQUOT, "max_rebuilds", "the set of tools was changed %u times since the supervisor started, as often as it may be",
		core->rebuilds);
	err_hint(err, "use the tools that there are; the operator may raise max_rebuilds in brigd.conf(5)");
	return -EDQUOT;
}

static int creation_allowed(struct core *core, const struct registry_who *who, struct err *err)
{
	if (who->authority == AUTHORITY_ADMIN || core->boot->config.allow_tool_creation)
		return 0;
	err_set(err, ERR_POLICY, EPERM, "allow_tool_creation", "tools cannot be created here: the operator switched it off");
	err_hint(err, "use the tools that there are, or `run` a body; allow_tool_creation in brigd.conf(5)");
	return -EPERM;
}

static int is_theirs(const struct registry_who *who, const struct tool *tool, const char *verb, struct err *err)
{
	if (who->authority == AUTHORITY_ADMIN)
		return 0;
	/* Else its author would be rid of the evidence by a byte more in the body. In a private supervisor there is no other to ask. */
	if (tool->state == TOOL_QUARANTINED && who->authority == AUTHORITY_AGENT) {
		err_set(err, ERR_POLICY, EPERM, "quarantine", "tool %s is in quarantine: only an operator may %s it", tool->name, verb);
		err_hint(err, "he can give it back (brig tool restore %s); until then choose another name", tool->name);
		return -EPERM;
	}
	if (tool->uid == who->uid)
		return 0;
	err_set(err, ERR_POLICY, EPERM, "tool", "tool %s was created by uid %u: uid %u may not %s it", tool->name, tool->uid, who->uid, verb);
	err_hint(err, "choose another name, or ask the operator");
	return -EPERM;
}

static void words_exists(const struct tool *tool, struct err *err)
{
	err_set(err, ERR_CALLER, EEXIST, "duplicate", "a tool called %s exists (version %u, created by uid %u)", tool->name, tool->version, tool->uid);
	err_hint(err, "replace makes this its next version; or choose another name");
}

static void words_full(unsigned limit, struct err *err)
{
	err_set(err, ERR_POLICY, EDQUOT, "max_custom_tools", "there are %u tools, as many as may be", limit);
	err_hint(err, "remove one that is not needed, or replace one; the operator may raise max_custom_tools in brigd.conf(5)");
}

static int count_one(const struct tool *tool, void *arg)
{
	*(unsigned *)arg += !tool->reviewed;
	return 0;
}

/* The name is free: is there a place? */
static int place_left(struct core *core, struct store *store, enum outcome *ret_outcome, struct err *err)
{
	unsigned count = 0, limit = core->boot->config.max_custom_tools;
	int r = store_tool_each(store, false, count_one, &count, err);

	if (r < 0)
		return r;
	if (count < limit)
		return 0;
	*ret_outcome = OUTCOME_DENIED;
	words_full(limit, err);
	return -EDQUOT;
}

int registry_room(struct core *core, const struct registry_who *who, const char *name, bool replace, enum outcome *ret_outcome, struct err *err)
{
	struct tool *now = NULL;
	struct store *store;
	int r;

	*ret_outcome = OUTCOME_DENIED;
	if ((r = creation_allowed(core, who, err)) < 0 || (r = rebuilds_left(core, who, err)) < 0)
		return r;
	*ret_outcome = OUTCOME_INTERNAL_ERROR;
	const struct reviewed *reviewed = reviewed_of(core, err);
	if (!reviewed || (r = store_of(core, &store, err)) < 0)
		return -EIO;
	if (reviewed_find(reviewed, name)) { /* an operator's own, too */
		*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
		return words_reserved(name, err);
	}
	r = store_tool_get(store, name, &now, err);
	if (r == -ENOENT && !replace)
		return place_left(core, store, ret_outcome, err);
	if (r == -ENOENT) {
		*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
		return registry_unknown(core, name, strlen(name), err);
	}
	if (r < 0)
		return r;
	if (!replace) {
		*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
		words_exists(now, err);
		r = -EEXIST;
	} else {
		*ret_outcome = OUTCOME_DENIED;
		r = is_theirs(who, now, "replace", err);
	}
	tool_free(now);
	return r;
}

/* What the store says about an addition that it did not make. */
static void words_of_add(struct core *core, const struct tool *tool, int r, enum outcome *ret_outcome, struct err *err)
{
	*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
	switch (r) {
	case -EEXIST: /* somebody was faster */
		err_set(err, ERR_CALLER, EEXIST, "duplicate", "a tool called %s exists by now", tool->name);
		err_hint(err, "replace makes this its next version; or choose another name");
		break;
	case -EALREADY:
		err_set(err, ERR_CALLER, EALREADY, "unchanged", "tool %s is exactly this already", tool->name);
		err_hint(err, "there is nothing to do");
		break;
	case -ENOENT:
		(void)registry_unknown(core, tool->name, strlen(tool->name), err);
		break;
	case -EDQUOT:
		*ret_outcome = OUTCOME_DENIED;
		words_full(core->boot->config.max_custom_tools, err);
		break;
	default:
		*ret_outcome = OUTCOME_INTERNAL_ERROR;
	}
}

/* Done: it counts, what waits for an approval of another version waits in vain, and everybody hears of it. */
static void was_changed(struct core *core, const struct registry_who *who, struct store *store, const char *name, const char *hash)
{
	struct err ignored;

	if (who->authority != AUTHORITY_ADMIN)
		core->rebuilds++;
	/* Approvals are bound to the hash: one that stays would never be taken. */
	(void)store_approval_void(store, name, hash, &ignored);
	registry_changed(core);
}

int registry_add(struct core *core, const struct registry_who *who, struct tool *tool, bool replace, enum outcome *ret_outcome, struct err *err)
{
	struct store *store;
	/* Time has passed, and with it what others did. */
	int r = registry_room(core, who, tool->name, replace, ret_outcome, err);

	if (r < 0)
		return r;
	*ret_outcome = OUTCOME_INTERNAL_ERROR;
	if ((r = store_of(core, &store, err)) < 0)
		return r;
	r = store_tool_add(store, tool, replace, core->boot->config.max_custom_tools, err);
	if (r < 0) {
		words_of_add(core, tool, r, ret_outcome, err);
		return r;
	}
	was_changed(core, who, store, tool->name, tool->hash);
	*ret_outcome = OUTCOME_OK;
	return 0;
}

int registry_may_remove(struct core *core, const struct registry_who *who, const char *name, struct tool **ret, enum outcome *ret_outcome,
			struct err *err)
{
	int r;

	*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
	r = registry_get(core, name, strlen(name), ret, err);
	if (r < 0) {
		*ret_outcome = r == -ENOENT ? OUTCOME_INVALID_ARGUMENTS : OUTCOME_INTERNAL_ERROR;
		return r;
	}
	*ret_outcome = OUTCOME_DENIED;
	if ((*ret)->reviewed) {
		*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
		err_set(err, ERR_CALLER, EPERM, "name", "%s is a reviewed tool and nobody's to remove", name);
		err_hint(err, "it is a file of the operator's, beside the profiles");
		tool_free(take_ptr(*ret));
		return -EPERM;
	}
	r = is_theirs(who, *ret, "remove", err);
	if (r == 0)
		r = rebuilds_left(core, who, err);
	if (r < 0)
		tool_free(take_ptr(*ret));
	return r;
}

int registry_remove(struct core *core, const struct registry_who *who, const struct tool *tool, enum outcome *ret_outcome, struct err *err)
{
	struct store *store;
	char why[80];
	int r;

	*ret_outcome = OUTCOME_INTERNAL_ERROR;
	if ((r = store_of(core, &store, err)) < 0)
		return r;
	snprintf(why, sizeof(why), "removed by uid %u%s", who->uid, who->authority == AUTHORITY_ADMIN ? " over admin.sock" : "");
	r = store_tool_state(store, tool->hash, tool->state, TOOL_REMOVED, why, err);
	if (r == -ESTALE) {
		*ret_outcome = OUTCOME_INVALID_ARGUMENTS;
		err_set(err, ERR_CALLER, ESTALE, "tool", "tool %s was changed meanwhile", tool->name);
		err_hint(err, "look at it again, then ask again");
	}
	if (r < 0)
		return r;
	was_changed(core, who, store, tool->name, "");
	*ret_outcome = OUTCOME_OK;
	return 0;
}
