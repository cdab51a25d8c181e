/* The tools that ship with Brig, or that an operator laid beside them: plain files in the folder "tools" of the profile directory,
 * NAME.json (description, parameters, permissions, profile) and NAME.py. Read with the profiles, parsed by core, all or
 * nothing. They are approved, run in jails like all others, are no custom tools, and their names are nobody else's. Core only. */
#ifndef BRIG_SUPERVISOR_REVIEWED_H
#define BRIG_SUPERVISOR_REVIEWED_H

#include "supervisor/profile.h"
#include "supervisor/tool.h"

#define REVIEWED_FOLDER "tools"

struct reviewed;

/* Every one of the store; *err says which is wrong, as file:line:column where it can. */
int reviewed_load(const struct profile_store *store, struct reviewed **ret, struct err *err);
void reviewed_free(struct reviewed *reviewed);
/* By that very name, or NULL; borrowed. */
const struct tool *reviewed_find(const struct reviewed *reviewed, const char *name);
/* By number, sorted by name; NULL past the end. */
const struct tool *reviewed_at(const struct reviewed *reviewed, size_t i);

struct core;
/* Those of core's profiles, now. NULL with *err: they cannot be had. */
const struct reviewed *reviewed_of(struct core *core, struct err *err);
/* A copy that is the caller's (tool_free). -ENOENT: none of that name, *err untouched. */
int reviewed_get(struct core *core, const char *name, struct tool **ret, struct err *err);

#endif
