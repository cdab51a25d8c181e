#include "supervisor/wire/json.h"
#include "supervisor/wire/json_scan.h"

#include <stdlib.h>

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
