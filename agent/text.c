#include "agent/text.h"

#include "jail/base/compiler.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Length of the well-formed character at s, and its code point; 0 when there is none. */
static size_t char_decode(const unsigned char *s, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
	uint32_t c;

	if (n == 0 || n > len)
		return 0;
	c = n == 1 ? s[0] : s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

/* What a terminal, or an eye that reads one, could be misled by. */
static bool char_is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0x61c || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb);
}

static void char_escape(struct jbuf *out, uint32_t c)
{
	if (c == '\n')
		jbuf_text(out, "\\n");
	else if (c == '\t')
		jbuf_text(out, "\\t");
	else if (c == '\r')
		jbuf_text(out, "\\r");
	else if (c < 0x80)
		jbuf_printf(out, "\\x%02x", c);
	else
		jbuf_printf(out, "\\u%04x", c);
}

void text_escape(struct jbuf *out, const char *bytes, size_t len, enum text_kind kind)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t plain = 0;

	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t n = char_decode(s + i, len - i, &c);

		if (n && (!char_is_unsafe(c) || (kind == TEXT_BLOCK && (c == '\n' || c == '\t')))) {
			i += n;
			continue;
		}
		jbuf_raw(out, bytes + plain, i - plain);
		if (n)
			char_escape(out, c);
		else
			jbuf_printf(out, "\\x%02x", s[i]);
		i += n ? n : 1;
		plain = i;
	}
	jbuf_raw(out, bytes + plain, len - plain);
}

void text_quote(char *buf, size_t cap, const char *word)
{
	struct jbuf b;
	size_t room = cap > 6 ? cap - 6 : 0, n;

	jbuf_init(&b, 8 * cap + 64);
	text_escape(&b, word, strnlen(word, cap), TEXT_LINE);
	n = b.len < room ? b.len : room;
	while (n && n < b.len && ((unsigned char)b.data[n] & 0xc0) == 0x80)
		n--;
	snprintf(buf, cap, "'%.*s%s'", (int)n, b.data ? b.data : "", n < b.len || strlen(word) > cap ? "..." : "");
	jbuf_done(&b);
}

static uint32_t hex4(const char *s)
{
	uint32_t v = 0;

	for (int i = 0; i < 4; i++) {
		unsigned char c = (unsigned char)s[i];
		v = v << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return v;
}

static size_t char_encode(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* One escape at s (behind the backslash); returns the bytes it took, and writes at most four. */
static size_t escape_decode(const char *s, size_t len, char *out, size_t *ret_n)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	const char *p = strchr(from, s[0]);
	uint32_t c;

	if (s[0] != 'u' || len < 5) {
		out[0] = p && s[0] ? to[p - from] : s[0];
		*ret_n = 1;
		return 1;
	}
	c = hex4(s + 1);
	if (c >= 0xd800 && c < 0xdc00 && len >= 11) {
		c = 0x10000 + ((c - 0xd800) << 10) + (hex4(s + 7) - 0xdc00);
		*ret_n = char_encode(out, c & 0x1fffff);
		return 11;
	}
	*ret_n = char_encode(out, c);
	return 5;
}

char *text_unescape(const char *raw, size_t len, size_t *ret_len)
{
	char *out;
	size_t n = 0;

	if (len < 2 || raw[0] != '"' || raw[len - 1] != '"')
		return NULL;
	out = malloc(len); /* no escape is shorter than what it stands for */
	if (!out)
		return NULL;
	for (size_t i = 1; i < len - 1;) {
		size_t wrote = 1;

		if (raw[i] != '\\' || i + 1 >= len - 1) {
			out[n++] = raw[i++];
			continue;
		}
		i += 1 + escape_decode(raw + i + 1, len - 1 - (i + 1), out + n, &wrote);
		n += wrote;
	}
	out[n] = '\0';
	if (ret_len)
		*ret_len = n;
	return out;
}

char *text_find(const char *json, size_t json_len, const char *path, size_t *ret_len)
{
	size_t start, len;

	if (!json_find(json, json_len, path, &start, &len, NULL))
		return NULL;
	return text_unescape(json + start, len, ret_len);
}
