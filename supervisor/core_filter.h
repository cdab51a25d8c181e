/* Core's system call filter, by libseccomp: what a fault in a parser may not turn into. Core only.
 *
 * Three answers. What core needs is allowed, where it matters by argument. What no fault of ours can lead to by accident
 * and every attack begins with (a program, a socket, a signal, executable memory, another process, a mount, keys) kills
 * core: there is no second try, the keeper's log names SIGSYS, and another core starts. All else is answered ENOSYS, as if
 * the kernel were too old, which libraries are made for: a newer C library degrades instead of dying. */
#ifndef BRIG_SUPERVISOR_CORE_FILTER_H
#define BRIG_SUPERVISOR_CORE_FILTER_H

#include "jail/base/err.h"

#include <stdbool.h>

/* After everything that needs more (the drop, Landlock), before the first byte of a client. Proves that it holds. */
int core_filter(struct err *err);
/* A harmless call that the kernel alone would make is refused: the filter stands. */
bool core_filter_holds(void);

#endif
