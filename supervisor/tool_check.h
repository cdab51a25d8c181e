/* What a jail said about a body that it looked at (REQUEST_CHECK in jail/frame.h, examine() in jail/prelude.py), and whether that
 * fits the tool's schema. The body ran before it was said: every byte may be its author's. So it is bounded, and used for
 * nothing but refusing and suggesting. Core only; pure. */
#ifndef BRIG_SUPERVISOR_TOOL_CHECK_H
#define BRIG_SUPERVISOR_TOOL_CHECK_H

#include "supervisor/tool.h"

/* A hundred names, and reasons. */
#define LOOK_BYTES_MAX (64u << 10)
/* A schema with more properties than that is no tool's. */
#define LOOK_PARAMETERS_MAX 256u
#define LOOK_NAME_MAX 201 /* of a parameter, its NUL included; examine() cuts them */

struct look_parameter {
	char name[LOOK_NAME_MAX];
	bool has_default;
};

struct look {
	bool is_async;
	bool known;             /* run is a function whose parameters can be told */
	bool variable;          /* **kwargs: takes every name */
	struct look_parameter *parameters;
	size_t count;
	char positional[LOOK_NAME_MAX]; /* the first that is positional-only; "" none */
	bool needs_known;       /* the body was small enough to be looked through */
	struct permissions needs;
	char reasons[4][LOOK_NAME_MAX]; /* filesystem, network, subprocess, write: "line 3: import socket"; "" none */
};
void look_done(struct look *look);

/* text: JSON that json_check() accepted, whatever it says. -EINVAL with *err: it is no such statement. */
int look_parse(const char *text, size_t len, struct look *ret, struct err *err);

struct schema;
/* Does run take what the schema promises, and promise what run needs? -EINVAL: err->where is "body". */
int look_fits(const struct look *look, const struct schema *schema, struct err *err);

#endif
