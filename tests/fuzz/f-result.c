/* The frames of the result pipe, byte for byte as a hostile tool may write it: core may believe only ok or error. */
#include "supervisor/call_read.c"

#include "supervisor/context.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* First byte: how long a piece each read brings. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t begin, n;
	struct call c = { .limits = { .result_bytes = 1024 } };

	if (size < 1)
		return 0;
	size_t step = 1 + data[0];
	for (size_t at = 1; at < size && !c.ev.frame_complete && !c.ev.result_over; at += step)
		frame_add(&c, (const char *)data + at, size - at < step ? size - at : step);
	if (c.ev.frame_complete && (c.frame_bad || c.result_len > c.result_cap || memchr(c.result, '\n', c.result_len)))
		abort();
	if (c.events > LIMIT_EVENTS || c.event_bytes > LIMIT_EVENT_BYTES || (c.result && c.head.kind == RESULT_EVENT && c.result_cap != EVENT_PAYLOAD_MAX))
		abort();
	if (c.ev.result_over && c.head.kind != RESULT_OK)
		abort();
	/* What a tool asks is judged apart, and only in a payload that is JSON. */
	if (c.ev.frame_complete && !c.ev.frame_ok && json_find(c.result, c.result_len, "asks", &begin, &n, NULL))
		(void)context_asks_check(c.result + begin, n);
	free(c.result);
	return 0;
}
