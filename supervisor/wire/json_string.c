#include "supervisor/wire/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static unsigned hex4(const char *at)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		char c = at[i];
		unsigned d = c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a') + 10;
		v = v << 4 | d;
	}
	return v;
}

static size_t put_utf8(char *out, uint32_t cp)
{
	if (cp < 0x80) {
		out[0] = (char)cp;
		return 1;
	}
	if (cp < 0x800) {
		out[0] = (char)(0xc0 | cp >> 6);
		out[1] = (char)(0x80 | (cp & 0x3f));
		return 2;
	}
	if (cp < 0x10000) {
		out[0] = (char)(0xe0 | cp >> 12);
		out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (char)(0x80 | (cp & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | cp >> 18);
	out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (char)(0x80 | (cp & 0x3f));
	return 4;
}

/* at points behind the 'u'; returns how many source bytes the character took from there. */
static size_t take_unicode(const char *at, char *out, size_t *ret_n)
{
	uint32_t cp = hex4(at);
	size_t used = 4;

	if (cp >= 0xd800 && cp < 0xdc00) { /* json_check proved that its other half follows */
		cp = 0x10000 + ((cp - 0xd800) << 10) + (hex4(at + 6) - 0xdc00);
		used = 10;
	}
	*ret_n = put_utf8(out, cp);
	return used;
}

char *json_unescape(const char *raw, size_t len, size_t *ret_len)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char *out;
	size_t n = 0;

	if (len < 2 || raw[0] != '"' || raw[len - 1] != '"')
		return NULL;
	out = malloc(len); /* escapes only shrink */
	if (!out)
		return NULL;
	for (size_t i = 1; i + 1 < len; i++) {
		size_t took = 1;

		if (raw[i] != '\\') {
			out[n++] = raw[i];
			continue;
		}
		i++;
		if (raw[i] == 'u') {
			i += take_unicode(raw + i + 1, out + n, &took);
			n += took;
		} else {
			out[n++] = to[strchr(from, raw[i]) - from];
		}
	}
	out[n] = '\0';
	*ret_len = n;
	return out;
}
