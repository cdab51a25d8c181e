/* What jail.c (life and death) and jail_setup.c (the hand-shake) share; nobody else includes this. */
#ifndef BRIG_SUPERVISOR_JAIL_IMPL_H
#define BRIG_SUPERVISOR_JAIL_IMPL_H

#include "supervisor/jail.h"

/* jail.c */
void jail_tell(struct jail *j, enum jail_news news);
void jail_event_close(struct event **ev, int *fd);
void jail_watch(struct jail *j, int fd, struct event **ev, event_callback_fn fn);
/* Never parks: kills it and tells the owner. */
void jail_fail(struct jail *j, enum layer layer, const struct err *why);
void jail_fail_text(struct jail *j, enum layer layer, int code, const char *what);
/* PID 1 is gone; frees the handle after ENDED and GONE. */
void jail_ended(struct jail *j, bool exited, int wait_status);

/* jail_setup.c */
void jail_on_status(evutil_socket_t fd, short what, void *arg);

#endif
