/* What a tool says while it runs (RESULT_EVENT of jail/frame.h): how much of it counts, and what it may look like. Core only. */
#ifndef BRIG_SUPERVISOR_CALL_EVENT_H
#define BRIG_SUPERVISOR_CALL_EVENT_H

#include <stdbool.h>
#include <stddef.h>

struct call;

/* One more event of that many bytes came. False: the call said too much already, this one is dropped. */
bool call_event_room(struct call *call, size_t len);
/* Exactly {"progress":N,"total":N?,"message":S?} or {"log":{"level":...,"logger":S?,"data":...}}, in a text that json_check() accepted. */
bool call_event_check(const char *text, size_t len);

#endif
