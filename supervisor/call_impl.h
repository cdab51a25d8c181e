/* What call.c (the life of a call), call_start.c (its beginning) and call_read.c (what comes out of its jail) share; nobody else
 * includes this. */
#ifndef BRIG_SUPERVISOR_CALL_IMPL_H
#define BRIG_SUPERVISOR_CALL_IMPL_H

#include "supervisor/call.h"
#include "supervisor/stream.h"

/* What is read from one stream before others get their turn. */
#define READ_CHUNK (64u << 10)

/* call.c */
void call_free(struct call *c);
/* Whatever it waits for. One that has no jail is answered at once. */
void call_end_now(struct call *c);
/* The gate's word stands: it is recorded, and the call gets its turn or ends. */
void call_go(struct call *c);
/* A jail and the audit log's word: once both are there it runs. */
void call_run_when_ready(struct call *c);

/* call_read.c */
/* Reads what is there, at most max bytes. Returns false at end of file or error. */
bool call_read_stream(struct call *c, enum stream_channel channel, size_t max);
/* The same for the result frame; also false once the frame's fate is decided. */
bool call_read_result(struct call *c, size_t max);
/* The result frame as far as it is in the pipe by now: a tool that keeps writing does not keep us. */
void call_read_result_rest(struct call *c);
/* Both streams, when nobody writes any more. */
void call_read_rest(struct call *c);

#endif
