/* From a schema's text to a table of subschemas that refer to one another by number. */
#include "supervisor/schema_impl.h"

#include "supervisor/tool.h"
#include "supervisor/wire/json.h"

#include "jail/base/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int refuse_at(struct compile *c, uint32_t node, const char *fmt, ...)
{
	struct line l = { 0 };
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	line_add(&l, "%s, at ", what);
	say_pointer(&l, &c->schema->tape, node);
	return err_set(c->err, ERR_CALLER, EINVAL, "schema", "%s", l.text);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "schema", "no memory");
}

int list_add(struct list *list, uint32_t item)
{
	if (list->count == list->cap) {
		uint32_t cap = list->cap ? 2 * list->cap : 8;
		uint32_t *more = reallocarray(list->items, cap, sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->items = more;
		list->cap = cap;
	}
	list->items[list->count++] = item;
	return 0;
}

static int add_sub(struct compile *c, uint32_t node, uint32_t *ret)
{
	struct schema *s = c->schema;
	struct sub *sub;

	if (s->count == SCHEMA_SUBS_MAX)
		return refuse_at(c, node, "more than %d schemas in one", SCHEMA_SUBS_MAX);
	if (s->count == s->cap) {
		uint32_t cap = s->cap ? 2 * s->cap : 16;
		struct sub *more = reallocarray(s->subs, cap, sizeof(*more));

		if (!more)
			return no_memory(c->err);
		s->subs = more;
		s->cap = cap;
	}
	sub = &s->subs[s->count];
	*sub = (struct sub){ .at = node };
	for (size_t i = 0; i < ONE_COUNT; i++)
		sub->one[i] = NO_SUB;
	sub->bound[MAX_LENGTH] = sub->bound[MAX_ITEMS] = sub->bound[MAX_MEMBERS] = sub->bound[MAX_CONTAINS] = UINT64_MAX;
	sub->bound[MIN_CONTAINS] = 1;
	c->sub_of[node] = *ret = s->count++;
	return 0;
}

static int name_order(const void *a, const void *b, void *tape)
{
	return string_order(tape, ((const struct name *)a)->key, tape, ((const struct name *)b)->key);
}

/* properties and required were taken one after the other: of two entries of one name it makes one. */
static void merge_names(const struct tape *t, struct sub *sub)
{
	uint32_t n = 0;

	if (sub->name_count)
		qsort_r(sub->names, sub->name_count, sizeof(*sub->names), name_order, (void *)(uintptr_t)t);
	for (uint32_t i = 0; i < sub->name_count; i++) {
		struct name *last = n ? &sub->names[n - 1] : NULL;

		if (last && string_order(t, last->key, t, sub->names[i].key) == 0) {
			last->required = last->required || sub->names[i].required;
			last->sub = last->sub == NO_SUB ? sub->names[i].sub : last->sub;
			continue;
		}
		sub->names[n++] = sub->names[i];
	}
	sub->name_count = n;
	for (uint32_t i = 0; i < n; i++)
		sub->required_count += sub->names[i].required;
}

int compile_sub(struct compile *c, uint32_t node, uint32_t *ret)
{
	const struct tape *t = &c->schema->tape;
	char kind = tape_kind(t, node);
	int r;

	if (kind != '{' && kind != 't' && kind != 'f')
		return refuse_at(c, node, "wanted a schema (an object, true or false)");
	r = add_sub(c, node, ret);
	if (r < 0)
		return r;
	c->schema->subs[*ret].never = kind == 'f';
	if (kind != '{')
		return 0;
	for (uint32_t key = node + 1; key < t->nodes[node].next; key = tape_next_member(t, key)) {
		r = compile_keyword(c, *ret, key);
		if (r < 0)
			return r == -ENOMEM ? no_memory(c->err) : r;
	}
	merge_names(t, &c->schema->subs[*ret]);
	return 0;
}

/* ---- references ---- */

static int hex_digit(char c)
{
	char low = (char)(c | 0x20);

	return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

/* One token of a pointer, up to '/' or the end, decoded: first %xx, then ~0 and ~1. False: it is none. */
static bool pointer_token(const char **p, const char *end, char *out, size_t *len)
{
	size_t n = 0, m = 0;

	for (; *p < end && **p != '/'; (*p)++) {
		if (**p == '%') {
			int high = end - *p > 2 ? hex_digit((*p)[1]) : -1, low = end - *p > 2 ? hex_digit((*p)[2]) : -1;
			if (high < 0 || low < 0)
				return false;
			out[n++] = (char)(high << 4 | low);
			*p += 2;
		} else {
			out[n++] = **p;
		}
	}
	for (size_t i = 0; i < n; i++) {
		if (out[i] == '~') {
			if (i + 1 >= n || (out[i + 1] != '0' && out[i + 1] != '1'))
				return false;
			out[m++] = out[++i] == '0' ? '~' : '/';
		} else {
			out[m++] = out[i];
		}
	}
	*len = m;
	return true;
}

static uint32_t child_named(const struct tape *t, uint32_t node, const char *token, size_t len)
{
	uint32_t index = 0, i = node + 1;

	if (tape_kind(t, node) == '{')
		return object_find(t, node, token, len);
	if (tape_kind(t, node) != '[' || len == 0 || len > 6 || (token[0] == '0' && len > 1))
		return NO_SUB;
	for (size_t k = 0; k < len; k++) {
		if (token[k] < '0' || token[k] > '9')
			return NO_SUB;
		index = index * 10 + (uint32_t)(token[k] - '0');
	}
	while (i < t->nodes[node].next && index--)
		i = t->nodes[i].next;
	return i < t->nodes[node].next ? i : NO_SUB;
}

/* The node that a pointer leads to, or NO_SUB. */
static uint32_t follow_pointer(const struct tape *t, const char *p, const char *end)
{
	_cleanup_free_ char *token = malloc((size_t)(end - p) + 1);
	uint32_t node = 0;
	size_t len;

	while (token && p < end && node != NO_SUB) {
		if (*p++ != '/' || !pointer_token(&p, end, token, &len))
			return NO_SUB;
		node = child_named(t, node, token, len);
		/* "/a/" ends in an empty name */
	}
	return token ? node : NO_SUB;
}

static uint32_t find_anchor(const struct schema *s, const char *name, size_t len)
{
	for (uint32_t i = 0; i < s->count; i++) {
		uint32_t node = s->subs[i].at, value;

		if (tape_kind(&s->tape, node) != '{')
			continue;
		value = object_find(&s->tape, node, "$anchor", 7);
		if (value != NO_SUB && s->tape.nodes[value].len == len && memcmp(tape_text(&s->tape, value), name, len) == 0)
			return node;
	}
	return NO_SUB;
}

static int resolve(struct compile *c, struct sub *sub)
{
	const struct tape *t = &c->schema->tape;
	uint32_t node = sub->one[ONE_REF], found;
	const char *p, *end;

	if (node == NO_SUB)
		return 0;
	p = tape_text(t, node);
	end = p + t->nodes[node].len;
	if (p == end || *p != '#') {
		refuse_at(c, node, "\"$ref\" leads out of this schema");
		err_hint(c->err, "put what it means under \"$defs\" and write \"#/$defs/NAME\"");
		return -EINVAL;
	}
	p++;
	found = p == end || *p == '/' ? follow_pointer(t, p, end) : find_anchor(c->schema, p, (size_t)(end - p));
	if (found == NO_SUB || c->sub_of[found] == NO_SUB) {
		refuse_at(c, node, "\"$ref\" leads to no schema");
		err_hint(c->err, "it is a pointer from the top, as \"#/$defs/NAME\"");
		return -EINVAL;
	}
	sub->one[ONE_REF] = c->sub_of[found];
	return 0;
}

/* ---- schemas that judge the same instance ---- */

enum { HEIGHT_OPEN = -1 };

static int height_of(struct compile *c, uint32_t sub, int *heights, unsigned depth);

/* Raises *highest to one more than the child's. */
static int height_child(struct compile *c, uint32_t from, uint32_t child, int *heights, unsigned depth, int *highest)
{
	int below;

	if (child == NO_SUB)
		return 0;
	if (heights[child] == HEIGHT_OPEN)
		return refuse_at(c, c->schema->subs[from].at, "this schema refers to itself without going into the value");
	below = height_of(c, child, heights, depth + 1);
	if (below >= *highest)
		*highest = below + 1;
	return below < 0 ? below : 0;
}

/* How many schemas deep one value is judged by this one: from 1. In heights 0 is not known yet. */
static int height_of(struct compile *c, uint32_t sub, int *heights, unsigned depth)
{
	const struct sub *s = &c->schema->subs[sub];
	int highest = 1, r = 0;

	if (heights[sub] > 0)
		return heights[sub];
	heights[sub] = HEIGHT_OPEN;
	if (depth > SCHEMA_NEST_MAX)
		r = -EINVAL;
	for (size_t i = 0; r == 0 && i <= ONE_ELSE; i++)
		r = height_child(c, sub, s->one[i], heights, depth, &highest);
	for (size_t i = 0; i <= MANY_ONE; i++)
		for (uint32_t k = 0; r == 0 && k < s->many[i].count; k++)
			r = height_child(c, sub, s->many[i].items[k], heights, depth, &highest);
	for (uint32_t k = 0; r == 0 && k < s->dependent_count; k++)
		r = height_child(c, sub, s->dependents[k].sub, heights, depth, &highest);
	if (depth > SCHEMA_NEST_MAX || highest > SCHEMA_NEST_MAX)
		return refuse_at(c, s->at, "schemas refer to one another more than %d deep", SCHEMA_NEST_MAX);
	heights[sub] = highest;
	return r < 0 ? r : highest;
}

static int check_heights(struct compile *c)
{
	_cleanup_free_ int *heights = calloc(c->schema->count, sizeof(*heights));
	int r = 0;

	if (!heights)
		return no_memory(c->err);
	for (uint32_t i = 0; i < c->schema->count && r >= 0; i++)
		r = height_of(c, i, heights, 0);
	return r < 0 ? r : 0;
}

/* ---- the whole ---- */

static int keep_properties(struct compile *c)
{
	struct schema *s = c->schema;
	uint32_t node = s->subs[0].properties;

	if (!node)
		return 0;
	s->properties = calloc(s->tape.nodes[node].len + 1u, sizeof(*s->properties));
	if (!s->properties)
		return no_memory(c->err);
	for (uint32_t key = node + 1; key < s->tape.nodes[node].next; key = tape_next_member(&s->tape, key)) {
		char *name = strndup(tape_text(&s->tape, key), s->tape.nodes[key].len);

		if (!name)
			return no_memory(c->err);
		s->properties[s->property_count++] = name;
	}
	return 0;
}

static int compile_text(struct compile *c, const char *text, size_t len)
{
	struct schema *s = c->schema;
	uint32_t top, node;
	bool bad;
	int r;

	if (len > TOOL_SCHEMA_MAX)
		return err_set(c->err, ERR_CALLER, EINVAL, "schema", "it is %zu bytes long, at most %u are allowed", len, TOOL_SCHEMA_MAX);
	s->text = strndup(text, len);
	if (!s->text)
		return no_memory(c->err);
	r = tape_read(s->text, len, LIMIT_JSON_DEPTH, &s->tape);
	if (r == -E2BIG)
		return err_set(c->err, ERR_CALLER, EINVAL, "schema", "it is nested deeper than %d levels", LIMIT_JSON_DEPTH);
	c->sub_of = r == 0 ? malloc(s->tape.count * sizeof(*c->sub_of)) : NULL;
	if (!c->sub_of)
		return no_memory(c->err);
	memset(c->sub_of, 0xff, s->tape.count * sizeof(*c->sub_of));
	node = value_odd_number(&s->tape, &bad);
	if (bad)
		return refuse_at(c, node, "a number with an exponent of more than 12 digits");
	r = compile_sub(c, 0, &top);
	for (uint32_t i = 0; r == 0 && i < s->count; i++)
		r = resolve(c, &s->subs[i]);
	if (r == 0)
		r = check_heights(c);
	return r < 0 ? r : keep_properties(c);
}

int schema_compile(const char *text, size_t len, struct schema **ret, struct err *err)
{
	struct compile c = { .err = err, .schema = calloc(1, sizeof(struct schema)) };
	int r = c.schema ? compile_text(&c, text, len) : no_memory(err);

	free(c.sub_of);
	if (r < 0) {
		schema_free(c.schema);
		return r;
	}
	*ret = c.schema;
	return 0;
}

static void sub_done(struct sub *sub)
{
	for (size_t i = 0; i < MANY_COUNT; i++)
		free(sub->many[i].items);
	for (uint32_t i = 0; i < sub->pattern_count; i++)
		pattern_free(sub->patterns[i].pattern);
	for (uint32_t i = 0; i < sub->dependent_count; i++)
		free(sub->dependents[i].names.items);
	pattern_free(sub->pattern);
	value_set_done(&sub->choices);
	free(sub->names);
	free(sub->patterns);
	free(sub->dependents);
}

void schema_free(struct schema *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->count; i++)
		sub_done(&s->subs[i]);
	for (uint32_t i = 0; i < s->property_count; i++)
		free(s->properties[i]);
	free(s->properties);
	free(s->subs);
	tape_done(&s->tape);
	free(s->text);
	free(s);
}

bool schema_is_object(const struct schema *s)
{
	return s->subs[0].types == TYPE_OBJECT;
}

bool schema_is_open(const struct schema *s)
{
	uint32_t additional = s->subs[0].one[ONE_ADDITIONAL];

	return additional == NO_SUB || !s->subs[additional].never;
}

const char *schema_property(const struct schema *s, size_t i, bool *ret_required)
{
	const struct sub *top = &s->subs[0];

	if (i >= s->property_count)
		return NULL;
	*ret_required = false;
	for (uint32_t k = 0; k < top->name_count; k++)
		if (tape_is(&s->tape, top->names[k].key, s->properties[i]))
			*ret_required = top->names[k].required;
	return s->properties[i];
}
