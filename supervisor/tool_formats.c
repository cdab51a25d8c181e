/* Tools as model APIs and MCP take them. The schema travels as its author wrote it. */
#include "supervisor/tool_answer.h"

#include <string.h>

int tool_format_find(const char *name)
{
	static const char *const names[] = { [TOOL_FORMAT_OPENAI] = "openai", [TOOL_FORMAT_ANTHROPIC] = "anthropic", [TOOL_FORMAT_MCP] = "mcp" };

	for (int i = TOOL_FORMAT_OPENAI; i <= TOOL_FORMAT_MCP; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	return -1;
}

static void name_and_description(const struct tool *t, struct jbuf *b)
{
	jbuf_printf(b, "\"name\":\"%s\",\"description\":", t->name);
	jbuf_cstring(b, t->description);
}

/* Hints to a client's user interface: nothing in Brig is decided by them. */
static void annotations(const struct tool *t, struct jbuf *b)
{
	const struct permissions *p = &t->declared;
	bool reads_only = !p->write && p->scope == SCOPE_READ_ONLY;

	jbuf_printf(b, ",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":%s,\"openWorldHint\":%s}", reads_only ? "true" : "false",
		    p->scope == SCOPE_DESTRUCTIVE ? "true" : "false", p->network ? "true" : "false");
}

void tool_format_print(const struct tool *t, enum tool_format format, struct jbuf *b)
{
	switch (format) {
	case TOOL_FORMAT_OPENAI:
		jbuf_text(b, "{\"type\":\"function\",\"function\":{");
		name_and_description(t, b);
		jbuf_printf(b, ",\"parameters\":%s}}", t->parameters);
		break;
	case TOOL_FORMAT_ANTHROPIC:
		jbuf_text(b, "{");
		name_and_description(t, b);
		jbuf_printf(b, ",\"input_schema\":%s}", t->parameters);
		break;
	case TOOL_FORMAT_MCP:
		jbuf_text(b, "{");
		name_and_description(t, b);
		jbuf_printf(b, ",\"inputSchema\":%s", t->parameters);
		annotations(t, b);
		jbuf_text(b, "}");
		break;
	case TOOL_FORMAT_NONE:
		tool_print(t, b);
	}
}
