/* What people see of a result. stdout carries the result and nothing else; stderr the rest. */
#ifndef BRIG_AGENT_SHOW_H
#define BRIG_AGENT_SHOW_H

#include "jail/base/err.h"
#include "jail/base/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct show {
	FILE *out, *err;
	bool out_tty; /* a terminal: control characters of the tool are escaped */
	bool json;
	bool streamed; /* what the tool printed was shown as it came */
};

/* Shows one result object and returns the exit status of its outcome.
 *
 * json: the object's own bytes as one line on out, and on err the cause line alone.
 * Otherwise: the tool's stdout and stderr on err, each line behind "stdout| " or "stderr| " and escaped, so that
 * nothing a tool prints can pass for a line of Brig's; notes (cut output, limits touched, missing protections); the
 * result on out, a string as it is with a final new line, other values as their JSON; the cause line when the outcome
 * is not ok. */
int show_result(const struct show *s, const char *json, size_t len);

/* An end that no supervisor saw. Prints "brig: [OUTCOME: ]where: detail; hint" on err and, with s->json, an object of
 * that outcome on out. Returns status. */
int show_failure(const struct show *s, enum outcome outcome, int status, const struct err *err);

/* The line for an error outside any call: "brig: detail; hint". */
void show_error(FILE *out, const struct err *err);

/* Flushes out; a status for "the output could not be written", else status. A reader that left early is no error. */
int show_end(const struct show *s, int status);

#endif
