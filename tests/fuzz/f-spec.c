/* The spec of a jail as the zygote gets it: a hostile core must not make it read out of bounds. */
#include "jail/spec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct jail_spec spec;

/* Input is a list of patches {offset/16, value}: it lies on a valid frame, so that the checks behind the first are reached. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&spec, 0, sizeof(spec));
	spec.magic = SPEC_MAGIC;
	spec.version = SPEC_VERSION;
	spec.size = sizeof(spec);
	memcpy(spec.profile, "fuzz", 5);
	for (; size >= 6; data += 6, size -= 6) {
		uint32_t at, value = 0;
		memcpy(&at, data, sizeof(at));
		memcpy(&value, data + 4, 2);
		at %= (uint32_t)sizeof(spec);
		memcpy((char *)&spec + at, &value, sizeof(spec) - at < 2 ? 1 : 2);
	}
	if (spec_check(&spec) == NULL) {
		/* What was accepted may be walked without a look at any bound. */
		size_t n = 0;
		for (uint32_t i = 0; i < spec.mount_count; i++)
			n += strlen(spec.mounts[i].from) + strlen(spec.mounts[i].to);
		for (uint32_t i = 0; i < spec.imports_len; i += (uint32_t)strlen(spec.imports + i) + 1)
			n++;
		for (uint32_t i = 0; i < spec.preload_len; i += (uint32_t)strlen(spec.preload + i) + 1)
			n++;
		if (spec.filter_len > SPEC_FILTER_MAX || spec.prelude_len > sizeof(spec.prelude) || n > sizeof(spec))
			abort();
	}
	return 0;
}
