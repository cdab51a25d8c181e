/* The user's wish to stop, as a descriptor. */
#ifndef BRIG_AGENT_STOP_H
#define BRIG_AGENT_STOP_H

#include <stddef.h>

/* Blocks SIGINT, SIGTERM and SIGHUP (those not ignored already), ignores SIGPIPE, and returns a descriptor that becomes
 * readable when one arrives; or -errno. */
int stop_open(void);
/* Takes one pending signal: its name ("SIGINT"), or NULL when there is none. */
const char *stop_take(int stop_fd);

#endif
