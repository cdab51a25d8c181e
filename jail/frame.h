/* Bytes between core and a jail once it is parked. Layouts are little-endian
 * host structs: both ends are the same build on the same machine.
 *
 *   request pipe:  struct request_head, body (UTF-8 source), args (JSON text, byte for byte the caller's)
 *   result pipe:   struct result_head, payload (JSON text)
 *
 * The result frame is the tool's own word: core believes it only so far as to
 * choose between ok and tool_error, checks the payload as hostile JSON, and
 * counts bytes really received, never `len`. The first complete frame wins. */
#ifndef BRIG_JAIL_FRAME_H
#define BRIG_JAIL_FRAME_H

#include <stdint.h>

#define REQUEST_MAGIC 0x42525251u
#define RESULT_MAGIC 0x42525253u

struct request_head {
	uint32_t magic;
	uint32_t body_len;
	uint32_t args_len;
	uint32_t reserved;
	uint8_t seed[32]; /* fresh kernel randomness for this call */
};

enum result_kind {
	RESULT_OK = 1,    /* payload: the value as JSON */
	RESULT_ERROR = 2, /* payload: {"type","message","line"?,"column"?,"traceback":[...]} */
};

struct result_head {
	uint32_t magic;
	uint32_t kind; /* enum result_kind */
	uint64_t len;  /* payload bytes */
};

#endif
