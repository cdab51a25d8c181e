#include "jail/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int err_return(const struct err *e)
{
	return e->code > 0 ? -e->code : -EINVAL;
}

int err_set(struct err *e, enum err_class class, int code, const char *where, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return code > 0 ? -code : -EINVAL;
	memset(e, 0, sizeof(*e));
	e->class = class;
	e->code = code;
	snprintf(e->where, sizeof(e->where), "%s", where);
	va_start(ap, fmt);
	vsnprintf(e->detail, sizeof(e->detail), fmt, ap);
	va_end(ap);
	return err_return(e);
}

void err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return;
	va_start(ap, fmt);
	vsnprintf(e->hint, sizeof(e->hint), fmt, ap);
	va_end(ap);
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char old[sizeof(e->detail)];
	va_list ap;
	int n;

	if (!e)
		return -EINVAL;
	memcpy(old, e->detail, sizeof(old));
	va_start(ap, fmt);
	n = vsnprintf(e->detail, sizeof(e->detail), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n + 2 < sizeof(e->detail)) {
		size_t room = sizeof(e->detail) - (size_t)n - 3, len = strnlen(old, room);

		memcpy(e->detail + n, ": ", 2);
		memcpy(e->detail + n + 2, old, len);
		e->detail[(size_t)n + 2 + len] = '\0';
	}
	return err_return(e);
}
