/* The methods of the sockets: found through tables, one handler each. Core only. */
#ifndef BRIG_SUPERVISOR_METHODS_H
#define BRIG_SUPERVISOR_METHODS_H

#include "supervisor/client.h"

/* One request line, hostile. Answers it, now or when its call ends. */
void methods_dispatch(struct client *client, const char *line, size_t len);

#endif
