#include "supervisor/wire/utf8.h"

#include "supervisor/wire/json.h"

/* The second byte decides about overlong forms, surrogates and the upper end;
 * the bytes after it are always 80..BF. */
static int second_is_good(unsigned char lead, unsigned char second)
{
	switch (lead) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return second >= 0x80 && second <= 0xbf;
	}
}

int utf8_step(const unsigned char *p, size_t n)
{
	int want;

	if (p[0] < 0x80)
		return 1;
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		want = 2;
	else if (p[0] >= 0xe0 && p[0] <= 0xef)
		want = 3;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		want = 4;
	else
		return -1;
	if (n < 2 || !second_is_good(p[0], p[1]))
		return -1;
	for (int i = 2; i < want; i++)
		if ((size_t)i >= n || (p[i] & 0xc0) != 0x80)
			return -i;
	return want;
}

size_t utf8_put(unsigned code, char out[4])
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

bool utf8_check(const char *text, size_t len, size_t *ret_offset)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t at = 0;

	while (at < len) {
		int step = p[at] < 0x80 ? 1 : utf8_step(p + at, len - at);

		if (step < 0) {
			if (ret_offset)
				*ret_offset = at;
			return false;
		}
		at += (size_t)step;
	}
	return true;
}
