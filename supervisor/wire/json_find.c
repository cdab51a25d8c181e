#include "supervisor/wire/json.h"

#include "supervisor/wire/json_scan.h"
#include "supervisor/wire/utf8.h"

#include <stdlib.h>
#include <string.h>

/* End of the comment at `at`, or 0 when there is none or it does not end. */
static size_t comment_end(const char *text, size_t len, size_t at)
{
	const char *end;

	if (len - at < 2 || text[at] != '/')
		return 0;
	if (text[at + 1] == '/') {
		end = memchr(text + at, '\n', len - at);
		return end ? (size_t)(end - text) : len;
	}
	if (text[at + 1] != '*' || len - at < 4)
		return 0;
	end = memmem(text + at + 2, len - at - 2, "*/", 2);
	return end ? (size_t)(end - text) + 2 : 0;
}

size_t json_skip_space(const char *text, size_t len, size_t at)
{
	while (at < len) {
		size_t end;

		if (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r') {
			at++;
			continue;
		}
		end = comment_end(text, len, at);
		if (!end)
			break;
		at = end;
	}
	return at;
}

size_t json_skip_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"'; at++)
		if (text[at] == '\\')
			at++;
	return at < len ? at + 1 : len;
}

size_t json_skip_value(const char *text, size_t len, size_t at)
{
	size_t depth = 0;

	while (at < len) {
		char c = text[at];

		if (c == '"') {
			at = json_skip_string(text, len, at);
		} else if (c == '{' || c == '[') {
			depth++;
			at++;
		} else if (c == '}' || c == ']') {
			if (depth == 0)
				return at;
			depth--;
			at++;
		} else if (depth == 0) {
			while (at < len && !strchr(",:]} \t\r\n/", text[at]))
				at++;
		} else {
			size_t end = c == '/' ? comment_end(text, len, at) : 0;
			at = end ? end : at + 1;
		}
		if (depth == 0)
			return at;
	}
	return at;
}

static unsigned hex4(const char *p)
{
	unsigned value = 0;

	for (int i = 0; i < 4; i++) {
		unsigned c = (unsigned char)p[i];
		value = value << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return value;
}

/* One escape whose backslash is at raw; writes it, returns how many bytes it took. */
static size_t unescape_one(const char *raw, char *out, size_t *out_len)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *hit;
	unsigned code;

	if (raw[1] != 'u') {
		hit = strchr(from, raw[1]);
		out[(*out_len)++] = hit ? to[hit - from] : raw[1];
		return 2;
	}
	code = hex4(raw + 2);
	if (code < 0xd800 || code > 0xdbff) {
		*out_len += utf8_put(code, out + *out_len);
		return 6;
	}
	code = 0x10000 + ((code - 0xd800) << 10) + (hex4(raw + 8) - 0xdc00);
	*out_len += utf8_put(code, out + *out_len);
	return 12;
}

size_t json_unescape(const char *raw, size_t len, char *out)
{
	size_t at = 0, n = 0;

	while (at < len) {
		if (raw[at] == '\\')
			at += unescape_one(raw + at, out, &n);
		else
			out[n++] = raw[at++];
	}
	return n;
}

/* Does the key whose opening quote is at `at` read as `name`? */
static bool key_is(const char *text, size_t at, size_t end, const char *name, size_t name_len)
{
	size_t raw_len = end - at - 2;
	bool same;
	char *plain;

	if (!memchr(text + at + 1, '\\', raw_len))
		return raw_len == name_len && memcmp(text + at + 1, name, name_len) == 0;
	plain = malloc(raw_len + 1);
	if (!plain)
		return false;
	same = json_unescape(text + at + 1, raw_len, plain) == name_len && memcmp(plain, name, name_len) == 0;
	free(plain);
	return same;
}

/* The member `name` of the object, or the element with that number of the array, at `at`. */
static bool find_child(const char *text, size_t len, size_t *at, const char *name, size_t name_len, size_t *key)
{
	bool object = text[*at] == '{';
	size_t pos = *at + 1, index = 0, want;
	char *end;

	if (!object && text[*at] != '[')
		return false;
	want = strtoul(name, &end, 10);
	if (!object && (name_len == 0 || end != name + name_len || name[0] < '0' || name[0] > '9'))
		return false;
	for (;; index++) {
		size_t start = json_skip_space(text, len, pos);
		bool hit = index == want;

		if (start >= len || text[start] == '}' || text[start] == ']')
			return false;
		*key = start;
		if (object) {
			pos = json_skip_string(text, len, start);
			hit = key_is(text, start, pos, name, name_len);
			pos = json_skip_space(text, len, pos);
			start = json_skip_space(text, len, pos + 1);
		}
		if (hit) {
			*at = start;
			return true;
		}
		pos = json_skip_space(text, len, json_skip_value(text, len, start));
		if (pos >= len || text[pos] != ',')
			return false;
		pos++;
	}
}

bool json_find(const char *text, size_t len, const char *path, size_t *ret_start, size_t *ret_len, size_t *key_offset)
{
	size_t at = json_skip_space(text, len, 0), key = at;

	while (*path) {
		size_t n = strcspn(path, ".");

		if (at >= len || !find_child(text, len, &at, path, n, &key))
			return false;
		path += n + (path[n] == '.');
	}
	if (at >= len)
		return false;
	*ret_start = at;
	*ret_len = json_skip_value(text, len, at) - at;
	if (key_offset)
		*key_offset = key;
	return true;
}

bool json_member_next(const char *text, size_t len, size_t *at, struct json_member *ret)
{
	size_t key, end;

	if (*at >= len || (text[*at] != '{' && text[*at] != ','))
		return false;
	key = json_skip_space(text, len, *at + 1);
	if (key >= len || text[key] != '"')
		return false;
	end = json_skip_string(text, len, key);
	ret->key = key + 1;
	ret->key_len = end - key - 2;
	ret->value = json_skip_space(text, len, json_skip_space(text, len, end) + 1);
	end = json_skip_value(text, len, ret->value);
	ret->value_len = end - ret->value;
	*at = json_skip_space(text, len, end);
	return true;
}

void json_position(const char *text, size_t len, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
	unsigned line = 1, column = 1;

	if (offset > len)
		offset = len;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

void json_blank_comments(char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t end = text[at] == '/' ? comment_end(text, len, at) : 0;

		if (text[at] == '"') {
			at = json_skip_string(text, len, at);
			continue;
		}
		for (; at < end; at++)
			if (text[at] != '\n')
				text[at] = ' ';
		if (!end)
			at++;
	}
}
