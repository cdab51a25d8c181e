/* Strict JSON: whatever the bytes, no crash, and what was accepted keeps its promises. */
#include "supervisor/wire/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* The first byte chooses flags and depth, the rest is the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_error err;
	size_t start, len, bad;
	unsigned line, column;
	struct jbuf b;

	if (size < 1)
		return 0;
	unsigned flags = data[0] & (JSON_COMMENTS | JSON_OBJECT), depth = 1 + (data[0] >> 2);
	char *text = malloc(size); /* its own block: one byte too far is seen */
	must(text != NULL);
	size_t text_len = size - 1;
	memcpy(text, data + 1, text_len);

	if (json_check(text, text_len, flags, depth, &err) < 0) {
		must(err.offset <= text_len && err.line >= 1 && err.column >= 1 && err.what[0]);
		json_position(text, text_len, err.offset, &line, &column);
		must(line == err.line && column == err.column);
	} else {
		if (!(flags & JSON_COMMENTS))
			must(utf8_check(text, text_len, &bad));
		if (json_find(text, text_len, "a.b", &start, &len, NULL) || json_find(text, text_len, "limits.wall", &start, &len, &bad))
			must(start <= text_len && len <= text_len - start && len > 0);
		if (flags & JSON_COMMENTS) {
			json_blank_comments(text, text_len);
			must(json_check(text, text_len, flags & ~(unsigned)JSON_COMMENTS, depth, &err) == 0);
		}
	}

	/* Any bytes at all become one JSON string that our own check accepts. */
	jbuf_init(&b, 8 * size + 16);
	jbuf_string(&b, text, text_len);
	must(!b.failed && json_check(b.data, b.len, 0, 1, &err) == 0);
	jbuf_done(&b);
	free(text);
	return 0;
}
