/* A brigd.conf of anybody: refused with a reason, or taken, and then what is printed of it is taken again. */
#include "supervisor/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config config;
static struct config_origin origin;

static int parse(const char *text, size_t len, struct err *err)
{
	if (config_defaults(&config, err) < 0)
		abort();
	return config_parse(&config, &origin, "/etc/brig/brigd.conf", text, len, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { 0 };
	char *out = NULL;
	size_t len = 0;

	(void)setenv("BRIG_STATE", "/tmp/f", 1);
	char *text = malloc(size ? size : 1);
	if (!text)
		return 0;
	memcpy(text, data, size);
	if (parse(text, size, &err) < 0) {
		if (!err.detail[0] || !err.where[0])
			abort();
		free(text);
		return 0;
	}
	free(text);
	FILE *f = open_memstream(&out, &len);
	if (!f)
		return 0;
	config_print(&config, &origin, f);
	fclose(f);
	if (parse(out, len, &err) < 0)
		abort();
	free(out);
	return 0;
}
