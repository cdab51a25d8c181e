/* Bytes between core and a jail once it is parked. Layouts are little-endian
 * host structs: both ends are the same build on the same machine.
 *
 *   request pipe:  struct request_head, body (UTF-8 source), args (JSON text, byte for byte the caller's), context (JSON text or nothing)
 *   result pipe:   any number of events, then one result; each a struct result_head and its payload (JSON text)
 *
 * A jail reads one request and ends after its result, unless it is a session's (SPEC_SESSION): that one goes on to the
 * next request, and its stdout and stderr are flushed before each result.
 *
 * The result frame is the tool's own word: core believes it only so far as to
 * choose between ok and tool_error, checks the payload as hostile JSON, and
 * counts bytes really received, never `len`. The first complete result frame wins.
 *
 * An event is what a tool says while it runs (brig.progress and brig.log of jail/python_api.c). It decides nothing: core checks it as
 * hostile JSON, passes it on to a client that listens, and drops what is too much. Head and payload together are no larger than
 * PIPE_BUF, and written at once: the kernel does not let two writers mix them.
 *
 * The nonce says which request a frame answers. In a jail of one call it is zero. In a session's it is fresh for each call,
 * so that what code of an earlier call wrote ahead, or still writes without having seen the request, is no answer to it. */
#ifndef BRIG_JAIL_FRAME_H
#define BRIG_JAIL_FRAME_H

#include <limits.h>
#include <stdint.h>

#define FRAME_NONCE_BYTES 16

#define REQUEST_MAGIC 0x42525251u
#define RESULT_MAGIC 0x42525253u

enum request_flag {
	/* run() is looked at and not called: the payload says what it takes and what the body seems to need (examine() of the prelude). */
	REQUEST_CHECK = 1,
};

struct request_head {
	uint32_t magic;
	uint32_t body_len;
	uint32_t args_len;
	uint32_t context_len; /* 0: the caller can answer nothing and listens to nothing */
	uint32_t flags; /* enum request_flag; others are refused */
	uint8_t seed[32]; /* fresh kernel randomness for this call */
	uint8_t nonce[FRAME_NONCE_BYTES];
};

enum result_kind {
	RESULT_OK = 1,    /* payload: the value as JSON */
	RESULT_ERROR = 2, /* payload: {"type","message","line"?,"column"?,"traceback":[...],"refused"?:{"errno","path","need"},"asks"?:{KEY:{"message","schema"}}} */
	RESULT_EVENT = 3, /* payload: {"progress","total"?,"message"?} or {"log":{"level","logger"?,"data"}}; a result follows */
};

struct result_head {
	uint32_t magic;
	uint32_t kind; /* enum result_kind */
	uint64_t len;  /* payload bytes */
	uint8_t nonce[FRAME_NONCE_BYTES]; /* the request's */
};

/* Of a log event: those of RFC 5424, by the names that MCP gives them. */
#define EVENT_LEVELS "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"

#define EVENT_PAYLOAD_MAX (PIPE_BUF - sizeof(struct result_head))

#endif
