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

static const char *bool_word(bool yes)
{
	return yes ? "true" : "false";
}

/* Hints to a client's user interface: nothing in Brig is decided by them. They are not the author's word but what will be enforced. A
 * writable mount can be emptied, whatever scope was declared; and what is told over a network may change something at its other end. */
static void annotations(const struct permissions *left, struct jbuf *b)
{
	static const struct permissions all = { .network = true, .write = true };
	const struct permissions *p = left ? left : &all;
	bool reads_only = !p->write && !p->network;

	jbuf_printf(b, ",\"annotations\":{\"readOnlyHint\":%s,\"destructiveHint\":%s,\"idempotentHint\":%s,\"openWorldHint\":%s}", bool_word(reads_only),
		    bool_word(!reads_only), bool_word(reads_only), bool_word(p->network));
}

void tool_format_print(const struct tool *t, enum tool_format format, const struct permissions *left, struct jbuf *b)
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
		annotations(left, b);
		jbuf_text(b, "}");
		break;
	case TOOL_FORMAT_NONE:
		tool_print(t, b);
	}
}
