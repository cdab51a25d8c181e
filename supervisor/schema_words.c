/* Words that are none of a schema, and which were probably meant. */
#include "supervisor/schema_impl.h"

#include "supervisor/nearest.h"

#include <errno.h>
#include <string.h>

/* What Python, other standards and older drafts call the types. */
static const struct {
	const char *word, *type;
} other_types[] = {
	{ "str", "string" },   { "text", "string" },  { "int", "integer" },  { "long", "integer" }, { "float", "number" }, { "double", "number" },
	{ "bool", "boolean" }, { "list", "array" },   { "tuple", "array" },  { "set", "array" },    { "dict", "object" },  { "map", "object" },
	{ "None", "null" },    { "none", "null" },    { "NoneType", "null" },
};

int refuse_type_at(struct compile *c, uint32_t value)
{
	static const char *const words[] = { "string", "integer", "number", "boolean", "array", "object", "null" };
	const struct tape *t = &c->schema->tape;
	struct line l = { 0 };
	const char *near = NULL;
	char word[32] = "";

	say_value(&l, t, value);
	refuse_at(c, value, "%s is no type", l.text);
	if (tape_kind(t, value) == '"' && t->nodes[value].len < sizeof(word))
		memcpy(word, tape_text(t, value), t->nodes[value].len);
	for (size_t i = 0; i < ARRAY_LEN(other_types) && !near; i++)
		if (strcmp(word, other_types[i].word) == 0)
			near = other_types[i].type;
	if (!near && word[0])
		near = nearest_word(word, words, ARRAY_LEN(words));
	if (near)
		err_hint(c->err, "did you mean \"%s\"?", near);
	else
		err_hint(c->err, "the types are string, integer, number, boolean, array, object and null; for any value leave \"type\" out");
	return -EINVAL;
}

/* Words of other drafts and dialects, and what to write instead. */
static const struct {
	const char *name, *hint;
} foreign[] = {
	{ "definitions", "write \"$defs\"" },
	{ "dependencies", "write \"dependentRequired\" or \"dependentSchemas\"" },
	{ "additionalItems", "write \"prefixItems\" for the first items and \"items\" for those after them" },
	{ "unevaluatedProperties", "write \"additionalProperties\" beside the \"properties\" that it is about" },
	{ "unevaluatedItems", "write \"items\" beside the \"prefixItems\" that it is about" },
	{ "nullable", "write \"type\": [\"string\", \"null\"]" },
	{ "optional", "what stands in no \"required\" list is optional" },
	{ "divisibleBy", "write \"multipleOf\"" },
	{ "id", "write \"$id\", or leave it out; an argument of that name stands under \"properties\"" },
	{ "example", "write \"examples\", a list" },
	{ "$dynamicRef", "write \"$ref\"" },
	{ "$dynamicAnchor", "write \"$anchor\"" },
	{ "contentSchema", "describe the text's content in \"description\"" },
	{ "$vocabulary", "leave it out" },
};

int refuse_keyword_at(struct compile *c, uint32_t key, const char *const *words, size_t count)
{
	const struct tape *t = &c->schema->tape;
	const char *near = NULL;
	struct line l = { 0 };
	char word[32] = "";

	say_value(&l, t, key);
	refuse_at(c, key, "unknown keyword %s", l.text);
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
		if (tape_is(t, key, foreign[i].name)) {
			err_hint(c->err, "%s", foreign[i].hint);
			return -EINVAL;
		}
	if (t->nodes[key].len < sizeof(word))
		memcpy(word, tape_text(t, key), t->nodes[key].len);
	if (word[0])
		near = nearest_word(word, words, count);
	if (near)
		err_hint(c->err, "did you mean \"%s\"?", near);
	else
		err_hint(c->err, "what cannot be enforced is refused; if it is the name of an argument, put it under \"properties\"");
	return -EINVAL;
}
