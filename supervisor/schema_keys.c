/* The keywords: what each may hold, and where it goes in a subschema. A keyword that stands in no row is refused. */
#include "supervisor/schema_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Takes the value at a node into a subschema, by number: compiling another one moves the table. */
typedef int take_fn(struct compile *c, uint32_t sub, uint32_t value, unsigned arg);

static struct sub *sub_at(struct compile *c, uint32_t sub)
{
	return &c->schema->subs[sub];
}

static const struct tape *tape_of(const struct compile *c)
{
	return &c->schema->tape;
}

static int want(struct compile *c, uint32_t value, char kind, const char *what)
{
	return tape_kind(tape_of(c), value) == kind ? 0 : refuse_at(c, value, "wanted %s", what);
}

static int take_type(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	bool list = tape_kind(t, value) == '[';
	unsigned mask = 0;

	(void)arg;
	if (list && t->nodes[value].len == 0)
		return refuse_at(c, value, "no type is listed");
	for (uint32_t i = list ? value + 1 : value; i < t->nodes[value].next; i = t->nodes[i].next) {
		unsigned type = (unsigned)type_find(t, i);

		if (!type)
			return refuse_type_at(c, i);
		if (mask & type)
			return refuse_at(c, i, "the type is listed twice");
		mask |= type;
	}
	sub_at(c, sub)->types = (uint8_t)mask;
	return 0;
}

static int take_one(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	uint32_t child;
	int r = compile_sub(c, value, &child);

	if (r == 0)
		sub_at(c, sub)->one[arg] = child;
	return r;
}

static int take_items(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	if (tape_kind(tape_of(c), value) == '[') {
		refuse_at(c, value, "\"items\" is one schema for all items");
		err_hint(c->err, "a list of schemas, one for each place, is \"prefixItems\"");
		return -EINVAL;
	}
	return take_one(c, sub, value, arg);
}

static int take_many(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	uint32_t child;

	if (want(c, value, '[', "a list of schemas") < 0)
		return -EINVAL;
	if (t->nodes[value].len == 0)
		return refuse_at(c, value, "no schema is listed");
	for (uint32_t i = value + 1; i < t->nodes[value].next; i = t->nodes[i].next) {
		int r = compile_sub(c, i, &child);

		if (r == 0)
			r = list_add(&sub_at(c, sub)->many[arg], child);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_ref(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	if (want(c, value, '"', "a string, as \"#/$defs/NAME\"") < 0)
		return -EINVAL;
	sub_at(c, sub)->one[arg] = value; /* resolved when all schemas are known */
	return 0;
}

static int take_anchor(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);

	(void)arg;
	if (want(c, value, '"', "a string") < 0)
		return -EINVAL;
	for (uint32_t i = 0; i < c->schema->count; i++) {
		uint32_t other = i == sub || tape_kind(t, sub_at(c, i)->at) != '{' ? NO_SUB : object_find(t, sub_at(c, i)->at, "$anchor", 7);

		if (other != NO_SUB && other < value && tape_kind(t, other) == '"' && string_order(t, other, t, value) == 0)
			return refuse_at(c, value, "an anchor of this name is there already");
	}
	return 0;
}

static int take_defs(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	uint32_t child;

	(void)sub, (void)arg;
	if (want(c, value, '{', "an object of schemas") < 0)
		return -EINVAL;
	for (uint32_t key = value + 1; key < t->nodes[value].next; key = tape_next_member(t, key)) {
		int r = compile_sub(c, key + 1, &child);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- objects ---- */

static int add_name(struct compile *c, uint32_t sub, struct name name)
{
	struct sub *s = sub_at(c, sub);

	if (!(s->name_count & (s->name_count - 1))) { /* at 0, 1, 2, 4 ... it is full */
		struct name *more = reallocarray(s->names, s->name_count ? 2 * s->name_count : 1, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->names = more;
	}
	s->names[s->name_count++] = name;
	return 0;
}

static int take_properties(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	uint32_t child;

	(void)arg;
	if (want(c, value, '{', "an object: a schema for each name") < 0)
		return -EINVAL;
	sub_at(c, sub)->properties = value;
	for (uint32_t key = value + 1; key < t->nodes[value].next; key = tape_next_member(t, key)) {
		int r;

		if (memchr(tape_text(t, key), '\0', t->nodes[key].len))
			return refuse_at(c, key, "a name with a NUL");
		r = compile_sub(c, key + 1, &child);
		if (r == 0)
			r = add_name(c, sub, (struct name){ .key = key, .sub = child });
		if (r < 0)
			return r;
	}
	return 0;
}

/* A list of strings, none of them twice. */
static int want_names(struct compile *c, uint32_t value)
{
	const struct tape *t = tape_of(c);
	struct value_set seen;
	int64_t budget = INT64_MAX;
	uint32_t other;
	int r;

	if (want(c, value, '[', "a list of names") < 0)
		return -EINVAL;
	if (value_set_init(&seen, t->nodes[value].len) < 0)
		return -ENOMEM;
	r = 0;
	for (uint32_t i = value + 1; r == 0 && i < t->nodes[value].next; i = t->nodes[i].next) {
		r = want(c, i, '"', "a name");
		if (r == 0)
			r = value_set_find(&seen, t, t, i, true, &budget, &other);
		if (r > 0)
			r = refuse_at(c, i, "the name is listed twice");
	}
	value_set_done(&seen);
	return r;
}

static int take_required(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	int r;

	(void)arg;
	if (tape_kind(t, value) == 't' || tape_kind(t, value) == 'f') {
		refuse_at(c, value, "\"required\" is a list of names");
		err_hint(c->err, "it stands beside \"properties\", as \"required\": [\"NAME\"], not in the property's own schema");
		return -EINVAL;
	}
	r = want_names(c, value);
	for (uint32_t i = value + 1; r == 0 && i < t->nodes[value].next; i = t->nodes[i].next)
		r = add_name(c, sub, (struct name){ .key = i, .sub = NO_SUB, .required = true });
	return r;
}

static int compile_pattern(struct compile *c, uint32_t node, struct pattern **ret)
{
	const struct tape *t = tape_of(c);
	struct err why = { 0 };
	int r = pattern_compile(tape_text(t, node), t->nodes[node].len, ret, &why);

	if (r < 0) {
		refuse_at(c, node, "this pattern is refused: %s", why.detail);
		err_hint(c->err, "%s", why.hint[0] ? why.hint : "patterns are those of ECMA-262, without back references");
	}
	return r;
}

static int take_patterns(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	struct named_pattern *list;

	(void)arg;
	if (want(c, value, '{', "an object: a schema for each pattern") < 0)
		return -EINVAL;
	list = sub_at(c, sub)->patterns = calloc(t->nodes[value].len + 1u, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (uint32_t key = value + 1; key < t->nodes[value].next; key = tape_next_member(t, key)) {
		int r = compile_pattern(c, key, &list->pattern);

		if (r < 0)
			return r;
		list->key = key;
		sub_at(c, sub)->pattern_count++;
		r = compile_sub(c, key + 1, &list->sub);
		if (r < 0)
			return r;
		list++;
	}
	return 0;
}

static int add_dependent(struct compile *c, uint32_t sub, struct dependent add)
{
	struct sub *s = sub_at(c, sub);
	struct dependent *more = reallocarray(s->dependents, s->dependent_count + 1u, sizeof(*more));

	if (!more)
		return -ENOMEM;
	s->dependents = more;
	s->dependents[s->dependent_count++] = add;
	return 0;
}

/* arg: 1 dependentSchemas, 0 dependentRequired. */
static int take_dependent(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);

	if (want(c, value, '{', arg ? "an object: a schema for each name" : "an object: a list of names for each name") < 0)
		return -EINVAL;
	for (uint32_t key = value + 1; key < t->nodes[value].next; key = tape_next_member(t, key)) {
		struct dependent d = { .key = key, .sub = NO_SUB };
		int r = arg ? compile_sub(c, key + 1, &d.sub) : want_names(c, key + 1);

		for (uint32_t i = key + 2; !arg && r == 0 && i < t->nodes[key + 1].next; i = t->nodes[i].next)
			r = list_add(&d.names, i);
		if (r == 0)
			r = add_dependent(c, sub, d);
		if (r < 0) {
			free(d.names.items);
			return r;
		}
	}
	return 0;
}

/* ---- values ---- */

static int take_enum(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	struct sub *s = sub_at(c, sub);
	int64_t budget = INT64_MAX;
	uint32_t other;

	(void)arg;
	if (want(c, value, '[', "a list of values") < 0)
		return -EINVAL;
	if (t->nodes[value].len == 0)
		return refuse_at(c, value, "no value is listed, so none would fit");
	if (value_set_init(&s->choices, t->nodes[value].len) < 0)
		return -ENOMEM;
	s->choice = value;
	for (uint32_t i = value + 1; i < t->nodes[value].next; i = t->nodes[i].next)
		(void)value_set_find(&s->choices, t, t, i, true, &budget, &other);
	return 0;
}

static int take_const(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	(void)arg;
	sub_at(c, sub)->constant = value;
	return 0;
}

static int take_limit(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	if (want(c, value, '0', "a number") < 0)
		return -EINVAL;
	sub_at(c, sub)->limit[arg] = value;
	return 0;
}

static int take_multiple(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	struct decimal d;

	(void)arg;
	if (want(c, value, '0', "a number above 0") < 0)
		return -EINVAL;
	(void)decimal_read(tape_text(t, value), t->nodes[value].len, &d);
	if (d.count == 0 || d.negative)
		return refuse_at(c, value, "wanted a number above 0");
	if (divisor_read(&d, &sub_at(c, sub)->divisor) < 0)
		return refuse_at(c, value, "a number of more than 18 digits");
	sub_at(c, sub)->multiple = value;
	return 0;
}

static int take_bound(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);
	struct decimal d = { 0 };

	if (want(c, value, '0', "an integer from 0") < 0)
		return -EINVAL;
	(void)decimal_read(tape_text(t, value), t->nodes[value].len, &d);
	if (d.negative || !decimal_is_integer(&d))
		return refuse_at(c, value, "wanted an integer from 0");
	sub_at(c, sub)->bound[arg] = decimal_u64(&d);
	return 0;
}

static int take_unique(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	char kind = tape_kind(tape_of(c), value);

	(void)arg;
	if (kind != 't' && kind != 'f')
		return refuse_at(c, value, "wanted true or false");
	sub_at(c, sub)->unique = kind == 't';
	return 0;
}

static int take_pattern(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	(void)arg;
	if (want(c, value, '"', "a string") < 0)
		return -EINVAL;
	sub_at(c, sub)->pattern_at = value;
	return compile_pattern(c, value, &sub_at(c, sub)->pattern);
}

/* ---- what is said to people only ---- */

static int take_note(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	char kind = tape_kind(tape_of(c), value);

	(void)sub;
	if (arg == '"')
		return want(c, value, '"', "a string");
	if (arg == '[')
		return want(c, value, '[', "a list");
	if (arg == 't' && kind != 't' && kind != 'f')
		return refuse_at(c, value, "wanted true or false");
	return 0;
}

/* Below the top it would change what every "$ref" around it means. */
static int take_id(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	const struct tape *t = tape_of(c);

	(void)arg;
	if (want(c, value, '"', "a string") < 0)
		return -EINVAL;
	if (sub != 0)
		return refuse_at(c, value, "\"$id\" stands at the top only");
	if (memchr(tape_text(t, value), '#', t->nodes[value].len))
		return refuse_at(c, value, "\"$id\" with a \"#\"");
	return 0;
}

static int take_dialect(struct compile *c, uint32_t sub, uint32_t value, unsigned arg)
{
	(void)arg;
	if (sub == 0 && (tape_is(tape_of(c), value, "https://json-schema.org/draft/2020-12/schema") ||
			 tape_is(tape_of(c), value, "https://json-schema.org/draft/2020-12/schema#")))
		return 0;
	refuse_at(c, value, "another \"$schema\" than draft 2020-12, or below the top");
	err_hint(c->err, "leave it out, or write \"https://json-schema.org/draft/2020-12/schema\"");
	return -EINVAL;
}

/* ---- the table ---- */

static const struct keyword {
	const char *name;
	take_fn *take;
	unsigned arg;
} keywords[] = {
	{ "type", take_type, 0 },
	{ "properties", take_properties, 0 },
	{ "required", take_required, 0 },
	{ "additionalProperties", take_one, ONE_ADDITIONAL },
	{ "patternProperties", take_patterns, 0 },
	{ "propertyNames", take_one, ONE_NAMES },
	{ "minProperties", take_bound, MIN_MEMBERS },
	{ "maxProperties", take_bound, MAX_MEMBERS },
	{ "dependentRequired", take_dependent, 0 },
	{ "dependentSchemas", take_dependent, 1 },
	{ "enum", take_enum, 0 },
	{ "const", take_const, 0 },
	{ "items", take_items, ONE_ITEMS },
	{ "prefixItems", take_many, MANY_PREFIX },
	{ "contains", take_one, ONE_CONTAINS },
	{ "minContains", take_bound, MIN_CONTAINS },
	{ "maxContains", take_bound, MAX_CONTAINS },
	{ "minItems", take_bound, MIN_ITEMS },
	{ "maxItems", take_bound, MAX_ITEMS },
	{ "uniqueItems", take_unique, 0 },
	{ "minimum", take_limit, LIMIT_MINIMUM },
	{ "maximum", take_limit, LIMIT_MAXIMUM },
	{ "exclusiveMinimum", take_limit, LIMIT_ABOVE },
	{ "exclusiveMaximum", take_limit, LIMIT_BELOW },
	{ "multipleOf", take_multiple, 0 },
	{ "minLength", take_bound, MIN_LENGTH },
	{ "maxLength", take_bound, MAX_LENGTH },
	{ "pattern", take_pattern, 0 },
	{ "allOf", take_many, MANY_ALL },
	{ "anyOf", take_many, MANY_ANY },
	{ "oneOf", take_many, MANY_ONE },
	{ "not", take_one, ONE_NOT },
	{ "if", take_one, ONE_IF },
	{ "then", take_one, ONE_THEN },
	{ "else", take_one, ONE_ELSE },
	{ "$ref", take_ref, ONE_REF },
	{ "$defs", take_defs, 0 },
	{ "$anchor", take_anchor, 0 },
	{ "$id", take_id, 0 },
	{ "$schema", take_dialect, 0 },
	{ "$comment", take_note, '"' },
	{ "title", take_note, '"' },
	{ "description", take_note, '"' },
	{ "format", take_note, '"' },
	{ "contentEncoding", take_note, '"' },
	{ "contentMediaType", take_note, '"' },
	{ "default", take_note, 0 },
	{ "examples", take_note, '[' },
	{ "deprecated", take_note, 't' },
	{ "readOnly", take_note, 't' },
	{ "writeOnly", take_note, 't' },
};

static int refuse_keyword(struct compile *c, uint32_t key)
{
	const char *words[ARRAY_LEN(keywords)];

	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		words[i] = keywords[i].name;
	return refuse_keyword_at(c, key, words, ARRAY_LEN(words));
}

int compile_keyword(struct compile *c, uint32_t sub, uint32_t key)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (tape_is(tape_of(c), key, keywords[i].name))
			return keywords[i].take(c, sub, key + 1, keywords[i].arg);
	return refuse_keyword(c, key);
}
