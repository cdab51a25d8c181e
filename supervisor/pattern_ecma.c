/* ECMA-262's patterns, with Unicode, written anew for PCRE2. Every literal becomes \x{...}, every class is spelled out: nothing that the writer
 * typed reaches PCRE2 as it is. Where old engines allow what the standard's Unicode mode forbids and all agree on the meaning (\- outside a
 * class, [\w-.]), it is allowed. */
#include "supervisor/pattern.h"

#include "supervisor/wire/json.h"
#include "supervisor/wire/utf8.h"

#include <errno.h>
#include <string.h>

enum { GROUPS_MAX = 50, REPEAT_MAX = 1000 };
#define NO_CODE 0xffffffffu /* a class such as \d, which is no single character */

static const char space_ranges[] = "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}";
static const char not_space_ranges[] = "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
				       "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}";

static const struct {
	const char *name, *code;
} categories[] = {
	{ "Letter", "L" }, { "Cased_Letter", "L&" }, { "Uppercase_Letter", "Lu" }, { "Lowercase_Letter", "Ll" }, { "Titlecase_Letter", "Lt" },
	{ "Modifier_Letter", "Lm" }, { "Other_Letter", "Lo" }, { "Mark", "M" }, { "Nonspacing_Mark", "Mn" }, { "Spacing_Mark", "Mc" },
	{ "Enclosing_Mark", "Me" }, { "Number", "N" }, { "Decimal_Number", "Nd" }, { "digit", "Nd" }, { "Letter_Number", "Nl" },
	{ "Other_Number", "No" }, { "Punctuation", "P" }, { "punct", "P" }, { "Connector_Punctuation", "Pc" }, { "Dash_Punctuation", "Pd" },
	{ "Open_Punctuation", "Ps" }, { "Close_Punctuation", "Pe" }, { "Initial_Punctuation", "Pi" }, { "Final_Punctuation", "Pf" },
	{ "Other_Punctuation", "Po" }, { "Symbol", "S" }, { "Math_Symbol", "Sm" }, { "Currency_Symbol", "Sc" }, { "Modifier_Symbol", "Sk" },
	{ "Other_Symbol", "So" }, { "Separator", "Z" }, { "Space_Separator", "Zs" }, { "Line_Separator", "Zl" }, { "Paragraph_Separator", "Zp" },
	{ "Control", "Cc" }, { "cntrl", "Cc" }, { "Format", "Cf" }, { "Private_Use", "Co" }, { "Unassigned", "Cn" }, { "LC", "L&" },
};

struct reader {
	const char *text;
	size_t len, at;
	struct jbuf *out;
	struct err *err;
	bool looks, repeatable; /* what stands before may be repeated */
	size_t atom;            /* where it was written, if it is one character or class; else 0 */
	unsigned depth;
	bool look_group[GROUPS_MAX];
};

static int refuse(struct reader *r, size_t at, const char *what)
{
	unsigned line, column;

	json_position(r->text, r->len, at, &line, &column);
	return err_set(r->err, ERR_CALLER, EINVAL, "pattern", "%s at character %u", what, column);
}

static bool ahead(const struct reader *r, const char *word)
{
	size_t n = strlen(word);

	return r->len - r->at >= n && memcmp(r->text + r->at, word, n) == 0;
}

static bool take(struct reader *r, const char *word)
{
	bool hit = ahead(r, word);

	if (hit)
		r->at += strlen(word);
	return hit;
}

static void emit_code(struct reader *r, uint32_t code)
{
	jbuf_printf(r->out, "\\x{%x}", code);
}

static uint32_t take_char(struct reader *r)
{
	const unsigned char *p = (const unsigned char *)r->text + r->at;
	int n = utf8_step(p, r->len - r->at);
	uint32_t code = n == 1 ? p[0] : p[0] & (0x7fu >> n);

	for (int i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3fu);
	r->at += n > 0 ? (size_t)n : 1;
	return code;
}

/* ---- escapes ---- */

/* min to max hexadecimal digits at the position. */
static bool take_hex(struct reader *r, unsigned min, unsigned max, uint32_t *ret)
{
	unsigned n = 0;

	for (*ret = 0; n < max && r->at < r->len; n++, r->at++) {
		unsigned char c = (unsigned char)r->text[r->at];
		unsigned char low = c | 0x20;

		if (c >= '0' && c <= '9')
			*ret = *ret << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			*ret = *ret << 4 | (low - 'a' + 10u);
		else
			break;
	}
	return n >= min;
}

static int take_unicode(struct reader *r, size_t start, uint32_t *ret)
{
	uint32_t low;

	if (take(r, "{")) {
		if (!take_hex(r, 1, 6, ret) || !take(r, "}") || *ret > 0x10ffff)
			return refuse(r, start, "\\u{...} is no character");
	} else if (!take_hex(r, 4, 4, ret)) {
		return refuse(r, start, "\\u needs four hexadecimal digits");
	}
	if (*ret >= 0xd800 && *ret < 0xdc00 && take(r, "\\u") && take_hex(r, 4, 4, &low) && low >= 0xdc00 && low < 0xe000)
		*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	if (*ret >= 0xd800 && *ret < 0xe000)
		return refuse(r, start, "half a surrogate pair");
	return 0;
}

/* \p{...}: the general categories, by their short and their long names. */
static int take_property(struct reader *r, size_t start, char letter)
{
	static const char hint[] = "the general categories are known, as \\p{L} or \\p{Letter}";
	static const char letters[] = "CcfnoLlmotuMcenNdloPcdefiosScmkoZlps";
	const char *name = r->text + r->at + 1, *end;
	size_t n;

	if (!ahead(r, "{") || !(end = memchr(name, '}', r->len - r->at - 1))) {
		return refuse(r, start, "\\p needs a name in braces");
	}
	n = (size_t)(end - name);
	r->at += n + 2;
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		if (strlen(categories[i].name) == n && memcmp(categories[i].name, name, n) == 0) {
			jbuf_printf(r->out, "\\%c{%s}", letter, categories[i].code);
			return 0;
		}
	for (const char *major = letters; n >= 1 && n <= 2 && *major; major++) {
		if (*major != name[0] || *major > 'Z')
			continue;
		if (n == 2 && !memchr(major + 1, name[1], strspn(major + 1, "abcdefghijklmnopqrstuvwxyz")))
			continue;
		jbuf_printf(r->out, "\\%c{%.*s}", letter, (int)n, name);
		return 0;
	}
	refuse(r, start, "\\p with a property that is not known");
	err_hint(r->err, "%s", hint);
	return -EINVAL;
}

/* Escapes that stand for many characters. 1: it was one, 0: it is none. */
static int take_class_escape(struct reader *r, size_t start, char c, bool in_class)
{
	const char *open = in_class ? "" : "[", *close = in_class ? "" : "]";

	switch (c) {
	case 'd':
		jbuf_printf(r->out, "%s0-9%s", open, close);
		return 1;
	case 'D':
		jbuf_printf(r->out, "%s\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}%s", open, close);
		return 1;
	case 'w':
		jbuf_printf(r->out, "%s0-9A-Z_a-z%s", open, close);
		return 1;
	case 'W':
		jbuf_printf(r->out, "%s\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}%s", open, close);
		return 1;
	case 's':
		jbuf_printf(r->out, "%s%s%s", open, space_ranges, close);
		return 1;
	case 'S':
		jbuf_printf(r->out, "%s%s%s", open, not_space_ranges, close);
		return 1;
	case 'p':
	case 'P':
		return take_property(r, start, c) < 0 ? -EINVAL : 1;
	default:
		return 0;
	}
}

/* Escapes that stand for one character; the letter after the backslash has been taken. */
static int char_escape(struct reader *r, size_t start, char c, uint32_t *ret)
{
	static const char from[] = "tnvfr", to[] = "\t\n\v\f\r";
	const char *hit = strchr(from, c);

	if (c && hit) {
		*ret = (unsigned char)to[hit - from];
		return 0;
	}
	if (c == 'x')
		return take_hex(r, 2, 2, ret) ? 0 : refuse(r, start, "\\x needs two hexadecimal digits");
	if (c == 'u')
		return take_unicode(r, start, ret);
	if (c == 'c' && r->at < r->len && ((r->text[r->at] | 0x20) >= 'a' && (r->text[r->at] | 0x20) <= 'z')) {
		*ret = (unsigned char)r->text[r->at++] & 0x1f;
		return 0;
	}
	if (c == '0' && !(r->at < r->len && r->text[r->at] >= '0' && r->text[r->at] <= '9')) {
		*ret = 0;
		return 0;
	}
	if (c >= '0' && c <= '9')
		return refuse(r, start, "a back reference");
	/* Python's and Perl's own (\A, \Z, \h ...) mean something else, or nothing, to ECMA-262. */
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80)
		return refuse(r, start, c == 'k' ? "a back reference" : "an escape that patterns of JSON Schema do not have");
	*ret = (unsigned char)c;
	return 0;
}

static int read_escape(struct reader *r)
{
	size_t start = r->at++;
	uint32_t code;
	char c;
	int hit;

	if (r->at >= r->len)
		return refuse(r, start, "a backslash with nothing after it");
	c = r->text[r->at++];
	if (c == 'b' || c == 'B') {
		jbuf_printf(r->out, "\\%c", c);
		r->repeatable = false;
		return 0;
	}
	r->repeatable = true;
	hit = take_class_escape(r, start, c, false);
	if (hit)
		return hit < 0 ? hit : 0;
	if (char_escape(r, start, c, &code) < 0)
		return -EINVAL;
	emit_code(r, code);
	return 0;
}

/* ---- classes ---- */

/* One member of a class: a character into *ret, or a class, which is written at once. */
static int read_class_atom(struct reader *r, uint32_t *ret)
{
	size_t start = r->at;
	char c;
	int hit;

	*ret = NO_CODE;
	if (r->text[r->at] != '\\') {
		*ret = take_char(r);
		return 0;
	}
	if (++r->at >= r->len)
		return refuse(r, start, "a backslash with nothing after it");
	c = r->text[r->at++];
	if (c == 'b') {
		*ret = '\b';
		return 0;
	}
	hit = take_class_escape(r, start, c, true);
	if (hit)
		return hit < 0 ? hit : 0;
	return char_escape(r, start, c, ret);
}

static int read_class_member(struct reader *r)
{
	size_t start = r->at;
	uint32_t low, high;

	if (read_class_atom(r, &low) < 0)
		return -EINVAL;
	if (low == NO_CODE)
		return 0;
	emit_code(r, low);
	if (!ahead(r, "-") || r->at + 1 >= r->len || r->text[r->at + 1] == ']')
		return 0;
	r->at++;
	/* "a-\d" is a, minus and the digits: the minus must come before what the class writes. */
	if (ahead(r, "\\") && r->at + 1 < r->len && strchr("dDwWsSpP", r->text[r->at + 1])) {
		emit_code(r, '-');
		return 0;
	}
	if (read_class_atom(r, &high) < 0)
		return -EINVAL;
	if (high < low)
		return refuse(r, start, "a range that runs backwards");
	jbuf_raw(r->out, "-", 1);
	emit_code(r, high);
	return 0;
}

static int read_class(struct reader *r)
{
	size_t start = r->at++;
	bool not = take(r, "^");

	r->repeatable = true;
	if (take(r, "]")) {
		jbuf_text(r->out, not ? "(?:.)" : "(?!)"); /* everything; nothing */
		r->looks = r->looks || !not;
		return 0;
	}
	jbuf_text(r->out, not ? "[^" : "[");
	while (r->at < r->len && r->text[r->at] != ']')
		if (read_class_member(r) < 0)
			return -EINVAL;
	if (!take(r, "]"))
		return refuse(r, start, "a class that never ends");
	jbuf_text(r->out, "]");
	return 0;
}

/* ---- groups and repeats ---- */

static int read_group(struct reader *r)
{
	static const char *const looks[] = { "(?=", "(?!", "(?<=", "(?<!" };
	size_t start = r->at;
	bool look = false;

	if (r->depth == GROUPS_MAX)
		return refuse(r, start, "groups nested deeper than 50");
	for (size_t i = 0; i < ARRAY_LEN(looks) && !look; i++)
		if (take(r, looks[i])) {
			jbuf_text(r->out, looks[i]);
			look = r->looks = true;
		}
	if (!look) {
		if (!take(r, "(?:") && take(r, "(?<")) {
			const char *end = memchr(r->text + r->at, '>', r->len - r->at);

			if (!end || end == r->text + r->at)
				return refuse(r, start, "a group's name that never ends");
			r->at = (size_t)(end - r->text) + 1;
		} else if (r->at == start) {
			r->at++;
		}
		if (ahead(r, "?") || ahead(r, "*"))
			return refuse(r, start, "a group that patterns of JSON Schema do not have");
		jbuf_text(r->out, "(?:");
	}
	r->look_group[r->depth++] = look;
	r->repeatable = false;
	return 0;
}

static int read_close(struct reader *r)
{
	if (r->depth == 0)
		return refuse(r, r->at, "\")\" without its \"(\"");
	r->at++;
	jbuf_text(r->out, ")");
	r->repeatable = !r->look_group[--r->depth];
	return 0;
}

static bool take_number(struct reader *r, unsigned *ret)
{
	size_t start = r->at;

	for (*ret = 0; r->at < r->len && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++)
		*ret = *ret > REPEAT_MAX ? *ret : *ret * 10 + (unsigned)(r->text[r->at] - '0');
	return r->at > start;
}

static int read_repeat(struct reader *r)
{
	size_t start = r->at;
	unsigned min, max;
	char c = r->text[r->at++];
	bool open = true;

	if (!r->repeatable)
		return refuse(r, start, "a repeat with nothing to repeat");
	if (c == '+' && r->atom && !r->out->failed) {
		/* PCRE2's state of "x+" counts the characters: one for each beginning. "xx*" is one for all. */
		size_t n = r->out->len - r->atom;
		_cleanup_free_ char *again = strndup(r->out->data + r->atom, n);

		jbuf_text(r->out, again ? again : "");
		jbuf_raw(r->out, again ? "*" : "+", 1);
	} else if (c != '{') {
		jbuf_raw(r->out, &c, 1);
	} else {
		if (!take_number(r, &min))
			return refuse(r, start, "\"{\" without a number (a literal one is \\{)");
		max = min;
		if (take(r, ","))
			open = !take_number(r, &max);
		else
			open = false;
		if (!take(r, "}"))
			return refuse(r, start, "\"{\" without its \"}\" (a literal one is \\{)");
		if (min > REPEAT_MAX || max > REPEAT_MAX)
			return refuse(r, start, "a repeat of more than 1000");
		if (!open && max < min)
			return refuse(r, start, "a repeat that runs backwards");
		if (open)
			jbuf_printf(r->out, "{%u,}", min);
		else
			jbuf_printf(r->out, "{%u,%u}", min, max);
	}
	/* Lazy or not decides what is found, never whether. */
	(void)take(r, "?");
	r->repeatable = false;
	return 0;
}

static int read_one(struct reader *r)
{
	if (!strchr("*+?{", r->text[r->at]) || !r->text[r->at])
		r->atom = strchr("()|^$", r->text[r->at]) && r->text[r->at] ? 0 : r->out->len;
	switch (r->text[r->at]) {
	case '\\':
		return read_escape(r);
	case '[':
		return read_class(r);
	case '(':
		return read_group(r);
	case ')':
		return read_close(r);
	case '*':
	case '+':
	case '?':
	case '{':
		return read_repeat(r);
	case ']':
	case '}':
		return refuse(r, r->at, "a bracket without its other half (a literal one has a backslash)");
	case '.':
		r->at++;
		jbuf_text(r->out, "[^\\n\\r\\x{2028}\\x{2029}]");
		r->repeatable = true;
		return 0;
	case '^':
	case '$':
	case '|':
		jbuf_text(r->out, r->text[r->at] == '^' ? "\\A" : r->text[r->at] == '$' ? "\\z" : "|");
		r->at++;
		r->repeatable = false;
		return 0;
	default:
		emit_code(r, take_char(r));
		r->repeatable = true;
		return 0;
	}
}

int pattern_translate(const char *text, size_t len, struct jbuf *out, bool *ret_looks, struct err *err)
{
	struct reader r = { .text = text, .len = len, .out = out, .err = err };

	while (r.at < r.len)
		if (read_one(&r) < 0)
			return -EINVAL;
	if (r.depth)
		return refuse(&r, r.len, "\"(\" without its \")\"");
	*ret_looks = r.looks;
	return 0;
}
