/* The strict checker. One pass, no recursion; keys of the open objects lie on one
 * stack, and an object's own keys are sorted when it closes, so that a hostile
 * object with a million keys costs n log n, not n squared. */
#include "supervisor/wire/json.h"

#include "supervisor/wire/json_scan.h"
#include "supervisor/wire/utf8.h"

#include "jail/base/compiler.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct key {
	const char *plain; /* inside the text, or NULL: at arena_at of the arena */
	size_t arena_at, len;
	size_t offset; /* of the opening quote */
};

struct check {
	const char *text;
	size_t len, at;
	unsigned flags, depth, max_depth;
	struct json_error *err;
	unsigned char *open; /* '{' or '[' of each level */
	size_t *first_key;   /* index of each level's first key */
	struct key *keys;
	size_t key_count, key_cap;
	struct key *spare; /* for the merge */
	size_t spare_cap;
	char *arena; /* keys that held escapes, decoded */
	size_t arena_len, arena_cap;
};

static void check_done(struct check *c)
{
	free(c->open);
	free(c->first_key);
	free(c->keys);
	free(c->spare);
	free(c->arena);
}

static int fail_at(struct check *c, size_t offset, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int fail_at(struct check *c, size_t offset, const char *fmt, ...)
{
	va_list ap;

	if (c->err) {
		c->err->offset = offset;
		json_position(c->text, c->len, offset, &c->err->line, &c->err->column);
		va_start(ap, fmt);
		vsnprintf(c->err->what, sizeof(c->err->what), fmt, ap);
		va_end(ap);
	}
	return -EINVAL;
}

/* What stands at the position, for "expected X, found Y". */
static const char *found(const struct check *c, char room[24])
{
	unsigned char byte;

	if (c->at >= c->len)
		return "the end of the text";
	byte = (unsigned char)c->text[c->at];
	if (byte < 0x20 || byte == 0x7f)
		snprintf(room, 24, "control character 0x%02x", byte);
	else if (byte < 0x80)
		snprintf(room, 24, "\"%c\"", byte);
	else
		snprintf(room, 24, "\"%.*s\"", utf8_step((const unsigned char *)c->text + c->at, c->len - c->at),
			 c->text + c->at);
	return room;
}

static int expected(struct check *c, const char *what)
{
	char room[24];

	return fail_at(c, c->at, "expected %s, found %s", what, found(c, room));
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int skip_space(struct check *c)
{
	for (;;) {
		size_t next;

		while (c->at < c->len && is_space(c->text[c->at]))
			c->at++;
		if (c->at >= c->len || c->text[c->at] != '/')
			return 0;
		if (!(c->flags & JSON_COMMENTS))
			return fail_at(c, c->at, "comments are not allowed here");
		if (c->len - c->at < 2 || (c->text[c->at + 1] != '/' && c->text[c->at + 1] != '*'))
			return fail_at(c, c->at, "expected a comment after \"/\"");
		next = json_skip_space(c->text, c->len, c->at);
		if (next == c->at)
			return fail_at(c, c->at, "this comment never ends");
		c->at = next;
	}
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Value of the four digits after "\u" at the offset, or -1. */
static int unicode_escape(const struct check *c, size_t at)
{
	int value = 0;

	if (c->len - at < 6 || c->text[at] != '\\' || c->text[at + 1] != 'u')
		return -1;
	for (int i = 2; i < 6; i++) {
		char d = c->text[at + (size_t)i];

		if (!is_hex(d))
			return -1;
		value = value << 4 | (d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
	}
	return value;
}

/* One escape; the position is at its backslash and moves past it. */
static int check_escape(struct check *c)
{
	int code, low;

	if (c->len - c->at >= 2 && strchr("\"\\/bfnrt", c->text[c->at + 1]) && c->text[c->at + 1]) {
		c->at += 2;
		return 0;
	}
	if (c->len - c->at < 2 || c->text[c->at + 1] != 'u')
		return fail_at(c, c->at, "unknown escape in a string");
	code = unicode_escape(c, c->at);
	if (code < 0)
		return fail_at(c, c->at, "\"\\u\" needs four hexadecimal digits");
	if (code >= 0xdc00 && code <= 0xdfff)
		return fail_at(c, c->at, "lone low surrogate in a string");
	if (code < 0xd800 || code > 0xdbff) {
		c->at += 6;
		return 0;
	}
	low = unicode_escape(c, c->at + 6);
	if (low < 0xdc00 || low > 0xdfff)
		return fail_at(c, c->at, "lone high surrogate in a string");
	c->at += 12;
	return 0;
}

/* The position is at the opening quote. UTF-8 was proven before. */
static int check_string(struct check *c, bool *ret_escapes)
{
	size_t start = c->at++;

	*ret_escapes = false;
	while (c->at < c->len) {
		unsigned char byte = (unsigned char)c->text[c->at];
		int r;

		if (byte == '"') {
			c->at++;
			return 0;
		}
		if (byte < 0x20)
			return fail_at(c, c->at, "control character 0x%02x in a string, it must be escaped", byte);
		if (byte != '\\') {
			c->at++;
			continue;
		}
		*ret_escapes = true;
		r = check_escape(c);
		if (r < 0)
			return r;
	}
	return fail_at(c, start, "this string never ends");
}

static size_t skip_digits(struct check *c)
{
	size_t start = c->at;

	while (c->at < c->len && c->text[c->at] >= '0' && c->text[c->at] <= '9')
		c->at++;
	return c->at - start;
}

static int check_number(struct check *c)
{
	size_t start = c->at;

	if (c->text[c->at] == '-')
		c->at++;
	start = c->at;
	if (skip_digits(c) == 0)
		return expected(c, "a digit");
	if (c->text[start] == '0' && c->at - start > 1)
		return fail_at(c, start, "a number may not begin with 0");
	if (c->at < c->len && c->text[c->at] == '.') {
		c->at++;
		if (skip_digits(c) == 0)
			return expected(c, "a digit after the point");
	}
	if (c->at < c->len && (c->text[c->at] == 'e' || c->text[c->at] == 'E')) {
		c->at++;
		if (c->at < c->len && (c->text[c->at] == '+' || c->text[c->at] == '-'))
			c->at++;
		if (skip_digits(c) == 0)
			return expected(c, "a digit of the exponent");
	}
	return 0;
}

static int check_word(struct check *c)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if (c->len - c->at >= n && memcmp(c->text + c->at, words[i], n) == 0) {
			c->at += n;
			return 0;
		}
	}
	return expected(c, "a value");
}

/* Grows *p to hold `need` elements of `size`. */
static int grow(struct check *c, void **p, size_t *cap, size_t need, size_t size)
{
	size_t more = *cap ? *cap : 64;
	void *bigger;

	if (need <= *cap)
		return 0;
	while (more < need)
		more *= 2;
	bigger = reallocarray(*p, more, size);
	if (!bigger)
		return fail_at(c, c->at, "out of memory");
	*p = bigger;
	*cap = more;
	return 0;
}

static int key_add(struct check *c, size_t start, bool escapes)
{
	struct key key = { .plain = c->text + start + 1, .len = c->at - start - 2, .offset = start };
	int r;

	if (escapes) {
		r = grow(c, (void **)&c->arena, &c->arena_cap, c->arena_len + key.len, 1);
		if (r < 0)
			return r;
		key.arena_at = c->arena_len;
		key.len = json_unescape(key.plain, key.len, c->arena + c->arena_len);
		key.plain = NULL;
		c->arena_len += key.len;
	}
	r = grow(c, (void **)&c->keys, &c->key_cap, c->key_count + 1, sizeof(*c->keys));
	if (r < 0)
		return r;
	c->keys[c->key_count++] = key;
	return 0;
}

static int key_order(const struct check *c, const struct key *a, const struct key *b)
{
	const char *x = a->plain ? a->plain : c->arena + a->arena_at;
	const char *y = b->plain ? b->plain : c->arena + b->arena_at;
	int order = memcmp(x, y, a->len < b->len ? a->len : b->len);

	return order ? order : (a->len > b->len) - (a->len < b->len);
}

/* Bottom-up merge sort: glibc's qsort falls back to a quicksort that a hostile order makes quadratic. */
static int keys_sort(struct check *c, struct key *keys, size_t n)
{
	int r = grow(c, (void **)&c->spare, &c->spare_cap, n, sizeof(*c->spare));

	if (r < 0)
		return r;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t left = 0; left < n; left += 2 * width) {
			size_t mid = left + width < n ? left + width : n;
			size_t end = left + 2 * width < n ? left + 2 * width : n;
			size_t i = left, j = mid;

			for (size_t k = left; k < end; k++) {
				bool first = i < mid && (j >= end || key_order(c, &keys[i], &keys[j]) <= 0);
				c->spare[k] = first ? keys[i++] : keys[j++];
			}
		}
		memcpy(keys, c->spare, n * sizeof(*keys));
	}
	return 0;
}

/* An object ends: none of its keys may stand twice. Names the first repetition in the text. */
static int keys_close(struct check *c)
{
	size_t first = c->first_key[c->depth - 1], n = c->key_count - first, again = SIZE_MAX;
	struct key *keys = n ? c->keys + first : NULL; /* NULL + 0 is undefined: the first object may be empty */
	int r = n > 1 ? keys_sort(c, keys, n) : 0;

	if (r < 0)
		return r;
	for (size_t i = 1; i < n; i++)
		if (key_order(c, &keys[i - 1], &keys[i]) == 0 && keys[i].offset < again)
			again = keys[i].offset;
	if (again != SIZE_MAX) {
		size_t end = json_skip_string(c->text, c->len, again);
		int shown = (int)(end - again > 64 ? 64 : end - again);

		return fail_at(c, again, "duplicate key %.*s", shown, c->text + again);
	}
	c->key_count = first;
	return 0;
}

/* What may come next. */
enum want { WANT_VALUE, WANT_VALUE_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_COMMA_OR_END };

static int open_level(struct check *c, enum want *want)
{
	char kind = c->text[c->at];

	if (c->depth == c->max_depth)
		return fail_at(c, c->at, "nested deeper than %u levels", c->max_depth);
	c->open[c->depth] = (unsigned char)kind;
	c->first_key[c->depth] = c->key_count;
	c->depth++;
	c->at++;
	*want = kind == '{' ? WANT_KEY_OR_END : WANT_VALUE_OR_END;
	return 0;
}

static int close_level(struct check *c, enum want *want)
{
	if (c->open[c->depth - 1] == '{') {
		int r = keys_close(c);
		if (r < 0)
			return r;
	}
	c->depth--;
	c->at++;
	*want = WANT_COMMA_OR_END;
	return 0;
}

static int step_key(struct check *c, enum want *want)
{
	size_t start = c->at;
	bool escapes;
	int r;

	if (c->at >= c->len || c->text[c->at] != '"')
		return expected(c, *want == WANT_KEY ? "a key" : "a key or \"}\"");
	r = check_string(c, &escapes);
	if (r == 0)
		r = key_add(c, start, escapes);
	if (r == 0)
		r = skip_space(c);
	if (r < 0)
		return r;
	if (c->at >= c->len || c->text[c->at] != ':')
		return expected(c, "\":\"");
	c->at++;
	*want = WANT_VALUE;
	return 0;
}

static int step_value(struct check *c, enum want *want)
{
	bool escapes;
	char next;

	if (c->at >= c->len)
		return expected(c, "a value");
	next = c->text[c->at];
	if (c->depth == 0 && (c->flags & JSON_OBJECT) && next != '{')
		return expected(c, "\"{\"");
	if (next == '{' || next == '[')
		return open_level(c, want);
	*want = WANT_COMMA_OR_END;
	if (next == '"')
		return check_string(c, &escapes);
	if (next == '-' || (next >= '0' && next <= '9'))
		return check_number(c);
	return check_word(c);
}

static int step_comma(struct check *c, enum want *want)
{
	bool object = c->open[c->depth - 1] == '{';

	if (c->at >= c->len || c->text[c->at] != ',')
		return expected(c, object ? "\",\" or \"}\"" : "\",\" or \"]\"");
	c->at++;
	*want = object ? WANT_KEY : WANT_VALUE;
	return 0;
}

static int step(struct check *c, enum want *want)
{
	char closing = c->depth ? (c->open[c->depth - 1] == '{' ? '}' : ']') : 0;

	if (*want != WANT_VALUE && *want != WANT_KEY && closing && c->at < c->len && c->text[c->at] == closing)
		return close_level(c, want);
	switch (*want) {
	case WANT_KEY:
	case WANT_KEY_OR_END:
		return step_key(c, want);
	case WANT_COMMA_OR_END:
		return step_comma(c, want);
	case WANT_VALUE:
	case WANT_VALUE_OR_END:
	default:
		return step_value(c, want);
	}
}

static int check_text(struct check *c)
{
	enum want want = WANT_VALUE;
	size_t bad;
	int r;

	if (!utf8_check(c->text, c->len, &bad))
		return fail_at(c, bad, "not UTF-8: byte 0x%02x", (unsigned char)c->text[bad]);
	if (c->len && memchr(c->text, '\0', c->len))
		return fail_at(c, (size_t)((const char *)memchr(c->text, '\0', c->len) - c->text), "NUL byte");
	if (c->len >= 3 && memcmp(c->text, "\xef\xbb\xbf", 3) == 0)
		return fail_at(c, 0, "byte order mark, save the text without one");
	do {
		r = skip_space(c);
		if (r == 0)
			r = step(c, &want);
		if (r < 0)
			return r;
	} while (c->depth > 0);
	r = skip_space(c);
	if (r == 0 && c->at < c->len)
		return expected(c, "the end of the text");
	return r;
}

int json_check(const char *text, size_t len, unsigned flags, unsigned max_depth, struct json_error *err)
{
	struct check c = { .text = text, .len = len, .flags = flags, .max_depth = max_depth, .err = err };
	int r = -EINVAL;

	c.open = malloc((size_t)max_depth + 1);
	c.first_key = reallocarray(NULL, (size_t)max_depth + 1, sizeof(*c.first_key));
	if (c.open && c.first_key)
		r = check_text(&c);
	else
		fail_at(&c, 0, "out of memory");
	check_done(&c);
	return r;
}
