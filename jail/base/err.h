/* The one error type of everything that may report (supervisor, agent, tools).
 *
 * Fixed size, no allocation. The innermost function that knows what failed sets
 * it once; callers may prefix context with err_wrap(); the process edge prints
 * it once. Functions that take a `struct err *` return 0 or a negative errno.
 * After fork in a jail nothing returns an error: see jail/status.h. */
#ifndef BRIG_BASE_ERR_H
#define BRIG_BASE_ERR_H

#include "jail/base/compiler.h"

enum err_class {
	ERR_NONE,
	ERR_CALLER, /* the request or the command line is wrong */
	ERR_POLICY, /* profile or policy text is wrong, or refuses */
	ERR_TOOL,   /* the tool's own doing */
	ERR_HOST,   /* this host lacks or refuses something */
	ERR_BUG,    /* cannot happen */
};

struct err {
	enum err_class class;
	int code;         /* errno value, positive; 0 where none applies */
	char where[64];   /* module, layer, or file:line:column */
	char detail[320]; /* what failed and why; no full stop, no new line */
	char hint[256];   /* what to do about it; may be empty */
};

/* Fills *e and returns -code (or -EINVAL where code is 0). A NULL e only returns. */
int err_set(struct err *e, enum err_class class, int code, const char *where, const char *fmt, ...) PRINTF_LIKE(5, 6);

/* Adds what to do. */
void err_hint(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Puts "context: " before the detail; class, code and where stay. Returns -code. */
int err_wrap(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
