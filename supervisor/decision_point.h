/* An external decision point (OPA's data API): asked, by the courier, whether a call that our own policy lets run may run. It can take
 * away, never give; where it cannot be asked, or answers anything but a decision, the call is denied. Core only. */
#ifndef BRIG_SUPERVISOR_DECISION_POINT_H
#define BRIG_SUPERVISOR_DECISION_POINT_H

#include "jail/base/err.h"
#include "supervisor/policy.h"

#include <stddef.h>

struct call;

/* Where one is configured and the gate let the call pass: it goes on with the answer. Else it goes on now. */
void decision_point_ask(struct call *call);

/* {"result": true|false} or {"result": {"decide": "allow|deny|escalate", "reason"?: ".."}}; other members of result are the
 * point's own. 0, or -EINVAL with *err: it is none. ret_reason: "" none. */
int decision_point_parse(const char *text, size_t len, enum decision *ret, char ret_reason[300], struct err *err);

#endif
