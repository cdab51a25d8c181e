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
	/* The rest are invisible: soft hyphen, joiner, fillers, tags. */
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x34f || c == 0x115f || c == 0x1160 ||
	       c == 0x180e || c == 0x3164 || c == 0xffa0 || (c >= 0xe0000 && c < 0xe1000) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
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
	else if (c <= 0xffff)
		jbuf_printf(out, "\\u%04x", c);
	else
		jbuf_printf(out, "\\U%08x", c);
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

char *text_find(const char *json, size_t json_len, const char *path, size_t *ret_len)
{
	size_t start, len, n = 0;
	char *text = NULL;

	if (json_find(json, json_len, path, &start, &len, NULL))
		text = json_string_dup(json + start, len, &n);
	if (ret_len)
		*ret_len = n;
	return text;
}

void text_wrap(FILE *out, const char *text, int indent)
{
	int room = TEXT_WIDTH - indent;

	for (;;) {
		int n = (int)strlen(text), cut = room;

		if (n <= room) {
			fprintf(out, "%s\n", text);
			return;
		}
		while (cut > 0 && text[cut] != ' ')
			cut--;
		if (cut == 0) /* one long word: a path or command must stay whole to be copied */
			cut = (int)strcspn(text, " ");
		fprintf(out, "%.*s\n", cut, text);
		text += cut;
		while (*text == ' ')
			text++;
		if (!*text)
			return;
		fprintf(out, "%*s", indent, "");
	}
}
