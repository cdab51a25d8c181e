/* A schema and an instance, with a NUL between them: refused in words or compiled, fits or not, never more than the budget; and a pattern. */
#include "supervisor/pattern.h"
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"

#include "jail/base/limits.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static char *copy(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);

	must(text != NULL);
	memcpy(text, data, size);
	return text;
}

static void judge(const struct schema *schema, const char *text, size_t len)
{
	struct err err = { 0 };
	int r;

	if (json_check(text, len, 0, LIMIT_JSON_DEPTH, NULL) < 0)
		return;
	r = schema_check(schema, text, len, &err);
	must(r == 0 || r == -EINVAL || r == -E2BIG);
	must((r == 0) == !err.detail[0]);
	/* Saying why is another way than saying nothing, to the same end. */
	must(schema_check(schema, text, len, NULL) == r);
}

static void match(const char *text, size_t len, const char *subject, size_t subject_len)
{
	int64_t budget = PATTERN_BUDGET / 10;
	struct pattern *pattern = NULL;
	struct err err = { 0 };
	size_t bad;

	if (!utf8_check(text, len, &bad) || !utf8_check(subject, subject_len, &bad))
		return;
	if (pattern_compile(text, len, &pattern, &err) < 0) {
		must(err.detail[0] && !pattern);
		return;
	}
	pattern_match(pattern, subject, subject_len, &budget);
	must(budget >= 0);
	pattern_free(pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t schema_len = nul ? (size_t)(nul - data) : size, len = nul ? size - schema_len - 1 : 0;
	char *schema_text = copy(data, schema_len), *text = copy(nul ? nul + 1 : data, len);
	struct schema *schema = NULL;
	struct err err = { 0 };

	if (json_check(schema_text, schema_len, 0, 1000, NULL) < 0) {
		match(schema_text, schema_len, text, len);
	} else if (schema_compile(schema_text, schema_len, &schema, &err) < 0) {
		must(err.detail[0] && !schema);
	} else {
		judge(schema, text, len);
		schema_free(schema);
	}
	free(schema_text);
	free(text);
	return 0;
}
