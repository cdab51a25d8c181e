/* Core's side of the audit log: records go out in order, what is not acknowledged is kept
 * and sent again to the next audit process. Core only. */
#ifndef BRIG_SUPERVISOR_AUDIT_CLIENT_H
#define BRIG_SUPERVISOR_AUDIT_CLIENT_H

#include "supervisor/call.h"

/* The decision on this call. 0: call_recorded() or call_unrecorded() follows, or came already where nothing is recorded.
 * -errno: it cannot be recorded now, *err says why. */
int audit_begin(struct call *call, struct err *err);
/* How it ended; before the answer. */
void audit_end(const struct call *call);

#endif
