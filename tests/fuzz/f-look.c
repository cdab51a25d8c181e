/* A jail's statement about a body: whatever it says, what is read of it stays within its bounds. */
#include "supervisor/tool_check.h"
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char parameters[] = "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\"]}";
	static struct schema *schema;
	struct json_error je;
	struct look look;
	struct err err;

	if (!schema && schema_compile(parameters, sizeof(parameters) - 1, &schema, &err) < 0)
		abort();
	if (json_check((const char *)data, size, 0, 130, &je) < 0 || look_parse((const char *)data, size, &look, &err) < 0)
		return 0;
	if (look.count > LOOK_PARAMETERS_MAX || (look.needs.write && !look.needs.filesystem))
		abort();
	for (size_t i = 0; i < look.count; i++)
		if (!look.parameters[i].name[0] || strlen(look.parameters[i].name) >= LOOK_NAME_MAX)
			abort();
	(void)look_fits(&look, schema, &err);
	look_done(&look);
	return 0;
}
