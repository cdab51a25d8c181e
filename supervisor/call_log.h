/* What the log says of calls (log.h): what an operator should see by itself, a few of each kind in ten seconds, and at debug
 * level the end of each. Names, numbers and words of ours; nothing that a tool or a client wrote. Core only. */
#ifndef BRIG_SUPERVISOR_CALL_LOG_H
#define BRIG_SUPERVISOR_CALL_LOG_H

#include "supervisor/call.h"

/* A call was judged: its outcome is final. */
void call_log_end(const struct call *call);
/* Something was turned away for this limit (metrics.h has the names) before it became a call. */
void call_log_busy(const char *limit, uid_t uid);

#endif
