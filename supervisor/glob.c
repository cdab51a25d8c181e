#include "supervisor/glob.h"

#include "supervisor/tool.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int refused(char why[120], const char *fmt, ...) PRINTF_LIKE(2, 3);
static int refused(char why[120], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, 120, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static bool is_name_char(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Of the UTF-8 character at text, which is not its end. */
static size_t char_len(const char *text)
{
	size_t n = 1;

	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* ---- the check ---- */

static int class_check(const char **glob, enum glob_of of, char why[120])
{
	const char *c = *glob + 1;
	bool any = false;

	if (*c == '!' || *c == '^')
		c++;
	for (; *c && *c != ']'; c++) {
		if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			return refused(why, "a [...] holds ASCII characters");
		if (of == GLOB_TOOLS && !is_name_char(*c))
			return refused(why, "no tool's name has '%c', which stands in a [...]", *c);
		if (c[1] == '-' && c[2] && c[2] != ']') {
			if ((unsigned char)c[2] <= (unsigned char)*c)
				return refused(why, "the range %c-%c holds nothing", *c, (unsigned char)c[2] > ' ' ? c[2] : '?');
			if (of == GLOB_TOOLS && !is_name_char(c[2]))
				return refused(why, "no tool's name has '%c', which ends a range", (unsigned char)c[2] <= '~' ? c[2] : '?');
			c += 2;
		}
		any = true;
	}
	if (!*c)
		return refused(why, "a [ has no ]");
	*glob = c;
	return any ? 0 : refused(why, "a [...] is empty");
}

int glob_check(const char *glob, enum glob_of of, char why[120])
{
	size_t singles = 0;

	if (!*glob)
		return refused(why, "it is empty");
	for (const char *g = glob; *g; g++) {
		singles += *g != '*';
		if (*g == '[') {
			if (class_check(&g, of, why) < 0)
				return -EINVAL;
		} else if (of == GLOB_TOOLS && *g != '*' && *g != '?' && !is_name_char(*g)) {
			return (unsigned char)*g > ' ' && (unsigned char)*g <= '~' ? refused(why, "no tool's name has '%c'", *g) :
										      refused(why, "no tool's name has the byte 0x%02x", (unsigned char)*g);
		} else if (*g == '\\' && !*++g) {
			return refused(why, "a \\ stands before nothing");
		}
	}
	if (of == GLOB_TOOLS && singles >= TOOL_NAME_MAX)
		return refused(why, "it is longer than a tool's name can be");
	if (of == GLOB_TOOLS && glob[0] >= '0' && glob[0] <= '9')
		return refused(why, "no tool's name begins with a digit");
	return 0;
}

/* ---- the match ---- */

static const char *class_end(const char *glob)
{
	return strchr(glob + 1, ']') + 1;
}

static bool class_has(const char *glob, const char *text)
{
	const char *c = glob + 1;
	bool others = *c == '!' || *c == '^', hit = false;

	for (c += others; *c != ']'; c++) {
		if (c[1] == '-' && c[2] != ']') {
			hit |= *text >= *c && *text <= c[2];
			c += 2;
		} else {
			hit |= *text == *c;
		}
	}
	return hit != others;
}

/* Past the one element at glob, which is no *, where it takes the character at text; else NULL. */
static const char *takes_char(const char *glob, const char *text)
{
	size_t n = char_len(text);

	if (*glob == '?')
		return glob + 1;
	if (*glob == '[')
		return class_has(glob, text) ? class_end(glob) : NULL;
	glob += *glob == '\\';
	return strncmp(glob, text, n) == 0 ? glob + n : NULL;
}

static size_t element_len(const char *glob)
{
	if (*glob == '[')
		return (size_t)(class_end(glob) - glob);
	return *glob == '\\' ? 1 + char_len(glob + 1) : char_len(glob);
}

/* The same where `other` is itself an element of a glob. */
static const char *takes_element(const char *glob, const char *other)
{
	if (*other == '*')
		return NULL;
	if (*glob == '?')
		return glob + 1;
	if (*other == '?')
		return NULL;
	if (*other == '[') {
		size_t n = element_len(other);
		return strncmp(glob, other, n) == 0 ? glob + n : NULL;
	}
	return takes_char(glob, other + (*other == '\\'));
}

static bool match(const char *glob, const char *text, const char *(*takes)(const char *, const char *), size_t (*len)(const char *))
{
	const char *star = NULL, *retry = NULL, *next;

	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			retry = text;
		} else if (*glob && (next = takes(glob, text))) {
			glob = next;
			text += len(text);
		} else if (star) {
			retry += len(retry);
			text = retry;
			glob = star;
		} else {
			return false;
		}
	}
	return glob[strspn(glob, "*")] == '\0';
}

bool glob_match(const char *glob, const char *text)
{
	return match(glob, text, takes_char, char_len);
}

bool glob_covers(const char *a, const char *b)
{
	return match(a, b, takes_element, element_len);
}
