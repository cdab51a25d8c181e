/* What the methods of tools answer: a refusal in the shape of a result (brig(1)), a tool as it is listed. Core only. */
#ifndef BRIG_SUPERVISOR_TOOL_ANSWER_H
#define BRIG_SUPERVISOR_TOOL_ANSWER_H

#include "jail/base/names.h"
#include "supervisor/tool.h"
#include "supervisor/wire/json.h"

/* Why a tool was not taken. */
struct refusal {
	enum outcome outcome;    /* invalid_arguments, denied, internal_error */
	const char *tool;        /* the name as it was sent, cut; or NULL */
	const char *profile;     /* or NULL */
	const struct err *err;   /* where: the guardrail */
	/* The Python error of a body that was looked at: raw JSON, or NULL. */
	const char *error;
	size_t error_len;
};
void tool_answer_refused(const struct refusal *refusal, struct jbuf *b);

/* {"name","version","state","hash",...}: one version, without its body and schema. */
void tool_print(const struct tool *tool, struct jbuf *b);
/* The same with everything. */
void tool_print_whole(const struct tool *tool, struct jbuf *b);

/* The shapes in which model APIs and MCP take tools. */
enum tool_format { TOOL_FORMAT_NONE, TOOL_FORMAT_OPENAI, TOOL_FORMAT_ANTHROPIC, TOOL_FORMAT_MCP };
/* -1: no such word. */
int tool_format_find(const char *name);
/* left: what the kernel will let it do, now (narrow_tool_left()); NULL: not known. For MCP's hints only. */
void tool_format_print(const struct tool *tool, enum tool_format format, const struct permissions *left, struct jbuf *b);

#endif
