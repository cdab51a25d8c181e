#include "supervisor/wire/json.h"
#include "supervisor/wire/json_scan.h"

#include <stdlib.h>
#include <string.h>

char *json_string_dup(const char *raw, size_t len, size_t *ret_len)
{
	char *out;

	if (len < 2 || raw[0] != '"' || raw[len - 1] != '"')
		return NULL;
	out = malloc(len); /* escapes only shrink */
	if (!out)
		return NULL;
	*ret_len = json_unescape(raw + 1, len - 2, out);
	out[*ret_len] = '\0';
	return out;
}

void json_one_line(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n' || text[i] == '\r')
			text[i] = ' ';
}

bool json_is_one_of(const char *value, size_t len, const char *const words[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (len == strlen(words[i]) + 2 && value[0] == '"' && memcmp(value + 1, words[i], len - 2) == 0)
			return true;
	return false;
}
