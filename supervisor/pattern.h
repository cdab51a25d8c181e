/* Regular expressions of JSON Schema (ECMA-262 with Unicode), matched anywhere in a text, at a cost that is counted before it is spent.
 *
 * The pattern is read here and written anew for PCRE2, so that no construct that the two understand differently gets through; what has no
 * counterpart is refused by name. It is matched by PCRE2's breadth-first matcher: no pattern backtracks, the cost of a byte is bounded by the
 * room for states. Back references, which that matcher has not, are refused. No JIT: core maps nothing executable. */
#ifndef BRIG_SUPERVISOR_PATTERN_H
#define BRIG_SUPERVISOR_PATTERN_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jbuf;

/* Longer ones are no patterns that somebody reads. Bytes. */
#define PATTERN_MAX 2048u
/* What one judgement may spend on all of its patterns, in units of pattern_match(): some 50 ms. */
#define PATTERN_BUDGET 50000000

struct pattern;
/* text: UTF-8. -EINVAL: err->detail says what and where in the pattern ("character 3"). */
int pattern_compile(const char *text, size_t len, struct pattern **ret, struct err *err);
void pattern_free(struct pattern *pattern);

/* 1: it matches somewhere, 0: it does not, -E2BIG: to know costs more than *budget, which only sinks. -ENOMEM. text: UTF-8, NUL is a character. */
int pattern_match(const struct pattern *pattern, const char *text, size_t len, int64_t *budget);

/* pattern_ecma.c: the same pattern in PCRE2's words, in ASCII. ret_looks: it has a lookahead or lookbehind. */
int pattern_translate(const char *text, size_t len, struct jbuf *out, bool *ret_looks, struct err *err);

#endif
