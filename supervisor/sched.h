/* The queue: which call gets a jail next. A call is queued until sched begins it,
 * then runs until it is answered. Core only. */
#ifndef BRIG_SUPERVISOR_SCHED_H
#define BRIG_SUPERVISOR_SCHED_H

#include "supervisor/call.h"

/* Begins it (call_begin), queues it, or has it answered as busy (call_refuse_busy); it may be freed on return. */
void sched_submit(struct call *call);
/* It leaves the queue, or its place among the running; every call that was submitted, once, before it is freed. */
void sched_done(struct call *call);

#endif
