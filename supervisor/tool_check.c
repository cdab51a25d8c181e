#include "supervisor/tool_check.h"

#include "jail/base/compiler.h"
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the order of look.reasons. */
static const char *const need_names[] = { "filesystem", "network", "subprocess", "write" };

void look_done(struct look *look)
{
	free(look->parameters);
	*look = (struct look){ 0 };
}

static int no_statement(struct err *err)
{
	err_set(err, ERR_TOOL, EPROTO, "body", "the jail's answer about the body is not what Brig's own code says");
	err_hint(err, "code at the top of the body must not meddle with the interpreter; only run() is called");
	return -EINVAL;
}

/* A value of the object that begins at the front of text. False: there is none. */
static bool find(const char *text, size_t len, const char *path, const char **ret, size_t *ret_len)
{
	size_t at;

	if (!json_find(text, len, path, &at, ret_len, NULL))
		return false;
	*ret = text + at;
	return true;
}

static bool is_true(const char *text, size_t len, const char *path)
{
	const char *v;
	size_t n;

	return find(text, len, path, &v, &n) && v[0] == 't';
}

/* "" where it is no string, too long, or holds a NUL. */
static void take_string(const char *raw, size_t len, char ret[LOOK_NAME_MAX])
{
	size_t n = 0;
	_cleanup_free_ char *text = json_string_dup(raw, len, &n);

	ret[0] = '\0';
	if (text && n < LOOK_NAME_MAX && strlen(text) == n)
		memcpy(ret, text, n + 1);
}

static int take_parameter(const char *raw, size_t len, struct look *look, struct err *err)
{
	struct look_parameter *p = &look->parameters[look->count];
	const char *v;
	size_t n;

	if (raw[0] != '{' || !find(raw, len, "name", &v, &n))
		return no_statement(err);
	take_string(v, n, p->name);
	if (!p->name[0])
		return no_statement(err);
	p->has_default = is_true(raw, len, "default");
	look->count++;
	return 0;
}

static int take_parameters(const char *text, size_t len, struct look *look, struct err *err)
{
	char path[32];
	const char *v;
	size_t n;
	int r = 0;

	if (!find(text, len, "parameters", &v, &n))
		return no_statement(err);
	if (v[0] != '[') {
		look->variable = true; /* not known */
		return 0;
	}
	look->known = true;
	look->parameters = calloc(LOOK_PARAMETERS_MAX, sizeof(*look->parameters));
	if (!look->parameters)
		return err_set(err, ERR_HOST, ENOMEM, "core", "no memory");
	for (unsigned i = 0; r == 0; i++) {
		snprintf(path, sizeof(path), "parameters.%u", i);
		if (!find(text, len, path, &v, &n))
			break;
		if (i == LOOK_PARAMETERS_MAX) {
			err_set(err, ERR_TOOL, E2BIG, "body", "run has more than %u parameters", LOOK_PARAMETERS_MAX);
			return -EINVAL;
		}
		r = take_parameter(v, n, look, err);
	}
	return r;
}

static void take_needs(const char *text, size_t len, struct look *look)
{
	bool *const flags[] = { &look->needs.filesystem, &look->needs.network, &look->needs.subprocess, &look->needs.write };
	char path[32];
	const char *v;
	size_t n;

	look->needs_known = find(text, len, "needs", &v, &n) && v[0] == '{';
	for (size_t i = 0; look->needs_known && i < ARRAY_LEN(flags); i++) {
		snprintf(path, sizeof(path), "needs.%s", need_names[i]);
		*flags[i] = is_true(text, len, path);
		snprintf(path, sizeof(path), "reasons.%s", need_names[i]);
		if (*flags[i] && find(text, len, path, &v, &n))
			take_string(v, n, look->reasons[i]);
	}
	look->needs.filesystem |= look->needs.write;
	if (look->needs.write)
		look->needs.scope = is_true(text, len, "needs.destructive") ? SCOPE_DESTRUCTIVE : SCOPE_READ_WRITE;
}

int look_parse(const char *text, size_t len, struct look *ret, struct err *err)
{
	struct look look = { 0 };
	const char *v;
	size_t n;
	int r;

	if (len > LOOK_BYTES_MAX || text[0] != '{')
		return no_statement(err);
	look.is_async = is_true(text, len, "async");
	look.variable = is_true(text, len, "variable");
	r = take_parameters(text, len, &look, err);
	if (r < 0) {
		look_done(&look);
		return r;
	}
	if (find(text, len, "positional.0", &v, &n))
		take_string(v, n, look.positional);
	take_needs(text, len, &look);
	*ret = look;
	return 0;
}

/* ---- against the schema ---- */

static const char *property_find(const struct schema *schema, const char *name, bool *ret_required)
{
	const char *property;

	for (size_t i = 0; (property = schema_property(schema, i, ret_required)); i++)
		if (strcmp(property, name) == 0)
			return property;
	return NULL;
}

static bool takes(const struct look *look, const char *name)
{
	for (size_t i = 0; i < look->count; i++)
		if (strcmp(look->parameters[i].name, name) == 0)
			return true;
	return look->variable;
}

/* Without a default of Python's a call that leaves it out would be a TypeError. */
static int check_needed(const struct look_parameter *p, const struct schema *schema, struct err *err)
{
	bool required = false;

	if (!property_find(schema, p->name, &required)) {
		if (p->has_default)
			return 0;
		err_set(err, ERR_TOOL, EINVAL, "body", "run needs an argument %.60s that parameters does not define", p->name);
		err_hint(err, "add it to \"properties\" and to \"required\", or give it a default in run");
		return -EINVAL;
	}
	if (required || p->has_default)
		return 0;
	err_set(err, ERR_TOOL, EINVAL, "body", "run needs the argument %.60s, which parameters does not require", p->name);
	err_hint(err, "add it to \"required\", or give it a default in run");
	return -EINVAL;
}

int look_fits(const struct look *look, const struct schema *schema, struct err *err)
{
	const char *property;
	bool required;

	if (look->positional[0]) {
		err_set(err, ERR_TOOL, EINVAL, "body", "run takes %.60s by position only; arguments come by name", look->positional);
		err_hint(err, "leave the / out of its parameters");
		return -EINVAL;
	}
	for (size_t i = 0; i < look->count; i++) {
		int r = check_needed(&look->parameters[i], schema, err);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; (property = schema_property(schema, i, &required)); i++) {
		if (takes(look, property))
			continue;
		err_set(err, ERR_TOOL, EINVAL, "body", "run takes no argument %.60s, which parameters defines", property);
		err_hint(err, "add it to run's parameters, or **kwargs, or take it out of \"properties\"");
		return -EINVAL;
	}
	return 0;
}
