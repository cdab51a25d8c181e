/* What session.c (a session's life) and session_call.c (its jail and one call) share; nobody else includes this. */
#ifndef BRIG_SUPERVISOR_SESSION_IMPL_H
#define BRIG_SUPERVISOR_SESSION_IMPL_H

#include "supervisor/session.h"

/* answered: the call that is being answered just now, and takes care of itself; or NULL. */
void session_end_because(struct session *s, const struct call *answered, const char *why);
/* What went on since the last call is within the limits; else the session ended. */
bool session_limits_hold(struct session *s);
/* News of its jail while no call has it. */
void session_on_jail(struct jail *j, enum jail_news news, void *session);

#endif
