/* Which supervisor serves a command:
 *
 *   --socket PATH   the one that listens there, or an error
 *   BRIG_SOCKET     the same; what needs admin.sock takes the one beside it, and never another daemon's
 *   neither         $BRIG_STATE/run where BRIG_STATE is set; else /run/brig for root, and for others
 *                   $XDG_RUNTIME_DIR/brig, then /run/brig
 *   nobody there    a private supervisor (private.h), for commands that need no daemon
 *   --private       a private supervisor at once
 *
 * The body of a tool is sent to no stranger: a socket whose listener is neither
 * root nor ourselves is used only when no stranger could have put it there. Every
 * directory above it must belong to root, to us or to the listener, and must not
 * be writable for group or others. So /run/brig of a service user is good, and a
 * socket that somebody left in /tmp is not. */
#ifndef BRIG_AGENT_CONNECT_H
#define BRIG_AGENT_CONNECT_H

#include "agent/options.h"
#include "agent/private.h"
#include "jail/base/names.h"

enum connect_want {
	CONNECT_ANY,	/* a daemon that takes us, else a supervisor of our own */
	CONNECT_DAEMON, /* a daemon, by its agent.sock */
	CONNECT_ADMIN,	/* a daemon, by its admin.sock */
};

/* sun_path of unix(7), its NUL included. */
#define CONNECT_PATH_MAX 108

struct connection {
	int sock;			/* of the daemon; -1 for a private supervisor, which has its own */
	bool named;			/* the user named the socket: nothing else will do */
	char path[CONNECT_PATH_MAX];	/* of that socket; "": private */
	struct private private;
	enum outcome outcome;		/* after an error: what to call it */
};
#define CONNECTION_NONE { .sock = -1, .private = PRIVATE_NONE, .outcome = OUTCOME_INTERNAL_ERROR }

/* 0 or -errno with *err and ret->outcome. A daemon that is there and refuses us is told on stderr in one line where a
 * private supervisor serves instead. stop_fd: stop_open(); -ECANCELED. */
int connection_open(struct connection *ret, enum connect_want want, const struct options *opt, int stop_fd, struct err *err);
/* The daemon would not have us once we were connected: goes on with a private supervisor, and tells so, where that is
 * allowed. False: it is not. */
bool connection_fall_back(struct connection *c, enum connect_want want, const char *why);
int connection_start_private(struct connection *c, struct err *err);
int connection_sock(const struct connection *c);
void connection_done(struct connection *c);

#endif
