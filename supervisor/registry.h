/* The registry of tools: what may enter it, change and leave it. The rows are the store's (store.h); here are the guardrails
 * of DESIGN 7, the words in which they refuse, and the news of a change. Core only. */
#ifndef BRIG_SUPERVISOR_REGISTRY_H
#define BRIG_SUPERVISOR_REGISTRY_H

#include "jail/base/names.h"
#include "supervisor/client.h"
#include "supervisor/tool.h"

struct core;
struct schema;

/* A tool before it is one: texts as they were sent, which may hold NULs. */
struct registry_texts {
	const char *name, *description, *body;
	size_t name_len, description_len, body_len;
	const char *parameters; /* raw JSON of whatever type */
	size_t parameters_len;
};
/* Everything about the texts that can be said without running the body. On success *ret_schema is the caller's. -EINVAL; err->where is the
 * guardrail: name, description, parameters, body. */
int registry_check_texts(const struct registry_texts *texts, struct schema **ret_schema, struct err *err);

/* Who changes what. */
struct registry_who {
	enum authority authority;
	uid_t uid;
};

/* May this one be created (or become another version) now? 0; else *ret_outcome is the word of it: invalid_arguments, denied,
 * internal_error. Asked before a jail is paid for; registry_add() proves it again. */
int registry_room(struct core *core, const struct registry_who *who, const char *name, bool replace, enum outcome *ret_outcome, struct err *err);
/* Takes the tool in: fills hash, version, time. */
int registry_add(struct core *core, const struct registry_who *who, struct tool *tool, bool replace, enum outcome *ret_outcome, struct err *err);
/* May it be removed? *ret is the version. */
int registry_may_remove(struct core *core, const struct registry_who *who, const char *name, struct tool **ret, enum outcome *ret_outcome,
			struct err *err);
int registry_remove(struct core *core, const struct registry_who *who, const struct tool *tool, enum outcome *ret_outcome, struct err *err);

/* What is called by that very name now: a reviewed tool, else the store's. -ENOENT, without words. */
int registry_current(struct core *core, const char *name, struct tool **ret, struct err *err);
/* The current version of that name, of any bytes. -ENOENT: *err names the nearest. */
int registry_get(struct core *core, const char *name, size_t len, struct tool **ret, struct err *err);
/* "no tool is called ..." with the nearest name. Returns -ENOENT. */
int registry_unknown(struct core *core, const char *name, size_t len, struct err *err);
/* After any change of the set of tools or of a state: connected clients hear of it at once. */
void registry_changed(struct core *core);

#endif
