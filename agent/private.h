/* A private supervisor: `brigd --private 3` for as long as this client runs.
 *
 * It is the program beside brig (/proc/self/exe), or $BRIG_BRIGD. It gets one end
 * of a stream socket as descriptor 3, /dev/null as stdin, brig's stderr (as
 * stdout too: brig's own stdout belongs to the result), a session of its own (so
 * that Ctrl-C reaches brig alone), no other descriptor, and of the environment
 * only the names listed in private.c. When brig dies for any reason brigd sees
 * the end of the stream and ends every jail. */
#ifndef BRIG_AGENT_PRIVATE_H
#define BRIG_AGENT_PRIVATE_H

#include "jail/base/err.h"

#include <sys/types.h>

struct private
{
	pid_t pid; /* 0: not started, or reaped */
	int pidfd;
	int sock;
	int status; /* wait status, once reaped */
};
#define PRIVATE_NONE \
	{ \
		.pidfd = -1, .sock = -1 \
	}

int private_start(struct private *p, struct err *err);
/* Closes the stream, gives brigd wait_ms to clean up and reaps it; then SIGTERM and, in the end, SIGKILL. A signal on
 * stop_fd cuts the wait short. */
void private_end(struct private *p, unsigned wait_ms, int stop_fd);
void private_done(struct private *p);
/* "exited with status 70", "was killed by signal 9 (Killed)"; after private_end(). */
void private_describe(const struct private *p, char *buf, size_t cap);

#endif
