/* JSON Schema, draft 2020-12, as far as tools use it: a schema is compiled once and refuses what it could not enforce.
 * Hostile schemas and instances both: every step is counted against a bound, patterns have match limits, nothing recurses
 * deeper than the JSON may. Numbers are compared as the decimals that were written. Core only; pure, opens nothing. */
#ifndef BRIG_SUPERVISOR_SCHEMA_H
#define BRIG_SUPERVISOR_SCHEMA_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct schema;

/* text: any length that json_check() accepted. On refusal -EINVAL, err->detail names the keyword and its JSON pointer, the hint the nearest
 * keyword or the way out. */
int schema_compile(const char *text, size_t len, struct schema **ret, struct err *err);
void schema_free(struct schema *schema);

/* The instance, JSON that json_check() accepted. 0; -EINVAL: it does not fit, err->detail names where in the instance (as "n", "xs[1]",
 * "a.b"), what was wanted and what came, the hint the keyword and its place in the schema; -E2BIG: judging it costs more than is allowed. */
int schema_check(const struct schema *schema, const char *text, size_t len, struct err *err);

/* What a tool's parameters must be: type object at the top. Names of the properties that it defines, for the check against run()'s own
 * parameters; borrowed, NULL past the end. open: additionalProperties is not false. */
bool schema_is_object(const struct schema *schema);
const char *schema_property(const struct schema *schema, size_t i, bool *ret_required);
bool schema_is_open(const struct schema *schema);

#endif
