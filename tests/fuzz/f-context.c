/* What a caller says beside its arguments, what a tool asks and says: any JSON, as the strict reader lets it through. */
#include "supervisor/context.h"

#include "jail/base/limits.h"
#include "supervisor/call_event.h"
#include "supervisor/wire/json.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct json_error je;
	struct err err;
	size_t at, n;

	if (json_check(text, size, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0)
		return 0;
	if (context_check(text, size, &err) == 0 && size > LIMIT_CONTEXT_BYTES)
		abort();
	if (context_asks_check(text, size) && size > LIMIT_ASKS_BYTES)
		abort();
	/* What is spliced into a notification brings no second id. */
	if (call_event_check(text, size) && (json_find(text, size, "id", &at, &n, NULL) || json_find(text, size, "call_id", &at, &n, NULL)))
		abort();
	return 0;
}
