/* The methods of the private socket: one table, one handler each. Core only. */
#ifndef BRIG_SUPERVISOR_METHODS_H
#define BRIG_SUPERVISOR_METHODS_H

#include "supervisor/core_state.h"

/* One request line, hostile. Answers it, now or when its call ends. */
void methods_dispatch(struct core *core, const char *line, size_t len);

#endif
