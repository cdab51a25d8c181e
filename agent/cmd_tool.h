/* Parts of `brig tool` that are files of their own. */
#ifndef BRIG_AGENT_CMD_TOOL_H
#define BRIG_AGENT_CMD_TOOL_H

#include "agent/call.h"
#include "agent/file.h"
#include "agent/options.h"
#include "agent/show.h"
#include "supervisor/wire/json.h"

/* A tool as tool.create takes it; texts may be missing. */
struct tool_parts {
	struct bytes name, description, body;
	struct bytes parameters, permissions; /* proven JSON in one line */
	struct bytes profile, profile_text;
};
void tool_parts_done(struct tool_parts *parts);

/* Asks one thing of a supervisor, a daemon or one of our own. False: it could not be asked, *ret_status is the exit status. */
bool tool_ask(struct call *c, const struct show *s, const struct options *opt, const char *method, const struct jbuf *params, int *ret_status);
/* The answer is a refusal (a result with an outcome other than ok), and was shown. */
bool tool_refused(const struct call *c, const struct show *s, int *ret_status);
/* Creates it and shows what came of it; the exit status. */
int tool_create(const struct show *s, const struct options *opt, const struct tool_parts *parts);
/* "filesystem, write; read-write", of the permissions at a path. */
void tool_permissions_print(FILE *out, const char *json, size_t len, const char *path);
/* 0, or the exit status of what is wrong with it; raw JSON becomes one line. */
int tool_json_prove(const struct show *s, const char *what, struct bytes *text);

/* cmd_tool_state.c: promote, quarantine, restore. */
int tool_state_change(const struct show *s, const struct options *opt);

/* tool_folder.c: a folder for each tool, with tool.json and body.py. */
int tool_folder_read(const char *path, struct tool_parts *ret, struct err *err);
int tool_export(const struct show *s, const struct options *opt);
int tool_import(const struct show *s, const struct options *opt);

#endif
