/* The user's wish to stop, as a descriptor. */
#ifndef BRIG_AGENT_STOP_H
#define BRIG_AGENT_STOP_H

#include <stddef.h>

/* Blocks SIGINT, SIGTERM and SIGHUP (those not ignored already), ignores SIGPIPE, and returns a descriptor that becomes
 * readable when one arrives; or -errno. */
int stop_open(void);
/* Takes one pending signal: its name ("SIGINT"), or NULL when there is none. */
const char *stop_take(int stop_fd);
/* From here on these signals end the process as they do any other: all that is left to do is to write, and a reader
 * that does not read must not make it immune to Ctrl-C. What is pending is forgotten; it was heeded, or came too late. */
void stop_release(void);

#endif
