/* A profile text of an operator, on top of the shipped ones: refused with a place, or whole. */
#include "supervisor/profile.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct profile_store *store;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = NULL;
	struct err err = { 0 };

	if (!store) {
		int dir = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || profile_store_read(dir, "profiles", &store, &err) < 0)
			abort();
		fd_close(dir);
	}
	char *text = malloc(size ? size : 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	if (profile_load_text(store, "fuzz.json", text, size, &profile, &err) < 0) {
		if (!err.detail[0] || profile)
			abort();
	} else {
		if (spec_check(profile_spec(profile)) != NULL)
			abort();
		free(profile_print(profile));
		profile_free(profile);
	}
	free(text);
	return 0;
}
