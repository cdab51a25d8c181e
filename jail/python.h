/* The embedded interpreter: started once in the zygote, inherited by every jail. */
#ifndef BRIG_JAIL_PYTHON_H
#define BRIG_JAIL_PYTHON_H

#include "jail/base/compiler.h"
#include "jail/spec.h"

#include <stddef.h>
#include <stdint.h>

/* Zygote: isolated configuration, preloads, prelude, gc.freeze. 0, or -1 with why[] filled. */
int python_start(const struct jail_spec *spec, char *why, size_t why_cap);

/* Around every raw clone in the zygote (CPython's own fork hooks). */
void python_before_fork(void);
void python_after_fork_parent(void);
void python_after_fork_child(void);

/* Jail, before it parks: a dummy call, so that the pages which a call writes are already its own. Sends nothing. */
void python_warm(void);

/* Jail: reads one request from request_fd (closes it), reseeds, runs, writes one result frame to result_fd, flushes, _exit()s.
 * With SPEC_SESSION it takes one request after the other, and ends when request_fd does. */
void python_serve(int request_fd, int result_fd) NORETURN;

#endif
