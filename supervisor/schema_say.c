#include "supervisor/schema_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned type;
} types[] = {
	{ "string", TYPE_STRING },   { "integer", TYPE_INTEGER }, { "number", TYPE_NUMBER }, { "boolean", TYPE_BOOLEAN },
	{ "array", TYPE_ARRAY },     { "object", TYPE_OBJECT },	  { "null", TYPE_NULL },
};

/* Back to the beginning of a character. */
static size_t char_begin(const char *text, size_t len)
{
	while (len && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	return len;
}

void line_raw(struct line *l, const char *text, size_t len, size_t max)
{
	static const char dots[] = "...";
	size_t room = sizeof(l->text) - 1 - l->len;
	bool cut;

	max = max < room ? max : room;
	cut = len > max;
	if (cut)
		len = char_begin(text, max > sizeof(dots) - 1 ? max - (sizeof(dots) - 1) : 0);
	memcpy(l->text + l->len, text, len);
	l->len += len;
	if (cut && room - len >= sizeof(dots) - 1) {
		memcpy(l->text + l->len, dots, sizeof(dots) - 1);
		l->len += sizeof(dots) - 1;
	}
	l->text[l->len] = '\0';
}

void line_add(struct line *l, const char *fmt, ...)
{
	char part[sizeof(l->text)];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	if (n > 0)
		line_raw(l, part, strlen(part), sizeof(l->text));
}

/* Of a string, without its quotes: escapes stay, so that no control character is shown. */
static void raw_inside(struct line *l, const struct tape *t, uint32_t node, size_t max)
{
	line_raw(l, t->raw + t->nodes[node].at + 1, tape_raw_len(t, node) - 2, max);
}

static bool plain_name(const struct tape *t, uint32_t key)
{
	const char *p = tape_text(t, key);
	uint32_t n = t->nodes[key].len;

	for (uint32_t i = 0; i < n; i++)
		if (!(p[i] == '_' || (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z') || (i && p[i] >= '0' && p[i] <= '9')))
			return false;
	return n > 0 && n <= 40;
}

static void say_key(struct line *l, const struct tape *t, uint32_t key)
{
	if (plain_name(t, key)) {
		line_add(l, "%s%.*s", l->len ? "." : "", (int)t->nodes[key].len, tape_text(t, key));
		return;
	}
	line_add(l, "[\"");
	raw_inside(l, t, key, 40);
	line_add(l, "\"]");
}

/* The child of `at` that is the node or holds it; *ret_key its key, or 0, and *ret_index its place in an array. */
static uint32_t child_towards(const struct tape *t, uint32_t at, uint32_t node, uint32_t *ret_key, uint32_t *ret_index)
{
	bool object = tape_kind(t, at) == '{';
	uint32_t i = at + 1;

	*ret_key = *ret_index = 0;
	while (i < t->nodes[at].next) {
		uint32_t value = object ? i + 1 : i;

		if (node < t->nodes[value].next) {
			*ret_key = object ? i : 0;
			return value;
		}
		i = t->nodes[value].next;
		++*ret_index;
	}
	return node;
}

void say_path(struct line *l, const struct tape *t, uint32_t node)
{
	uint32_t at = 0, key, index;
	struct line path = { 0 };

	while (at != node) {
		uint32_t below = child_towards(t, at, node, &key, &index);

		if (key && node == key) {
			line_add(l, "the name \"");
			raw_inside(l, t, key, 40);
			line_add(l, path.len ? "\" in %s" : "\"%s", path.text);
			return;
		}
		if (key)
			say_key(&path, t, key);
		else
			line_add(&path, "[%u]", index);
		at = below;
	}
	line_raw(l, path.text, path.len, 120);
}

/* '~' and '/' of a key as JSON pointers write them. */
static void pointer_key(struct line *l, const struct tape *t, uint32_t key)
{
	const char *raw = t->raw + t->nodes[key].at + 1;
	size_t len = tape_raw_len(t, key) - 2, cut = len < 40 ? len : char_begin(raw, 40);

	for (size_t i = 0; i < cut; i++) {
		if (raw[i] == '~' || raw[i] == '/')
			line_add(l, "~%c", raw[i] == '~' ? '0' : '1');
		else
			line_raw(l, raw + i, 1, 1);
	}
	if (cut < len)
		line_add(l, "...");
}

void say_pointer(struct line *l, const struct tape *t, uint32_t node)
{
	uint32_t at = 0, key, index;
	struct line path = { 0 };

	if (node == 0) {
		line_add(l, "the top");
		return;
	}
	while (at != node) {
		uint32_t below = child_towards(t, at, node, &key, &index);

		line_add(&path, "/");
		if (key)
			pointer_key(&path, t, key);
		else
			line_add(&path, "%u", index);
		if (key && node == key)
			break;
		at = below;
	}
	line_raw(l, path.text, path.len, 160);
}

void say_value(struct line *l, const struct tape *t, uint32_t node)
{
	char kind = tape_kind(t, node);

	if (kind == '[')
		line_add(l, "a list of %u", t->nodes[node].len);
	else if (kind == '{')
		line_add(l, "an object with %u member%s", t->nodes[node].len, t->nodes[node].len == 1 ? "" : "s");
	else if (kind == '"') {
		line_add(l, "\"");
		raw_inside(l, t, node, 50);
		line_add(l, "\"");
	} else
		line_raw(l, tape_text(t, node), t->nodes[node].len, 40);
}

void say_types(struct line *l, unsigned mask)
{
	unsigned left = (unsigned)__builtin_popcount(mask);

	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (mask & types[i].type) {
			line_add(l, "%s%s", types[i].name, left > 2 ? ", " : left == 2 ? " or " : "");
			left--;
		}
}

unsigned type_of(const struct tape *t, uint32_t node)
{
	struct decimal d = { 0 };

	switch (tape_kind(t, node)) {
	case '{':
		return TYPE_OBJECT;
	case '[':
		return TYPE_ARRAY;
	case '"':
		return TYPE_STRING;
	case 't':
	case 'f':
		return TYPE_BOOLEAN;
	case 'n':
		return TYPE_NULL;
	default:
		(void)decimal_read(tape_text(t, node), t->nodes[node].len, &d);
		return decimal_is_integer(&d) ? TYPE_INTEGER | TYPE_NUMBER : TYPE_NUMBER;
	}
}

int type_find(const struct tape *t, uint32_t node)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (tape_is(t, node, types[i].name))
			return (int)types[i].type;
	return 0;
}
