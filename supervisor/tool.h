/* A tool that somebody wrote: what the registry keeps of it, and what everybody else of core reads. */
#ifndef BRIG_SUPERVISOR_TOOL_H
#define BRIG_SUPERVISOR_TOOL_H

#include "jail/base/err.h"
#include "jail/spec.h"
#include "supervisor/digest.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [A-Za-z_][A-Za-z0-9_]{0,63}: fits every model API's rule for names, and none of it means anything to a glob or a path. */
#define TOOL_NAME_MAX 65
#define TOOL_HASH_MAX DIGEST_MAX
/* What a model reads of every tool at every turn. Bytes. */
#define TOOL_DESCRIPTION_MAX 4096u
#define TOOL_SCHEMA_MAX (64u << 10)

/* The life of a version; the words are those of list, policy, audit and console. */
#define TOOL_STATE_LIST(X)               \
	X(TOOL_DRAFT, "draft")           /* as it was created: the tightest tier */ \
	X(TOOL_PROBATION, "probation")   \
	X(TOOL_APPROVED, "approved")     \
	X(TOOL_QUARANTINED, "quarantined") /* does not run; why says why */ \
	X(TOOL_REMOVED, "removed")         /* kept for its history */
enum tool_state {
#define X(id, name) id,
	TOOL_STATE_LIST(X)
#undef X
	TOOL_STATE_COUNT
};
const char *tool_state_name(enum tool_state state);
int tool_state_find(const char *name); /* or -1 */

enum tool_scope { SCOPE_READ_ONLY, SCOPE_READ_WRITE, SCOPE_DESTRUCTIVE, SCOPE_COUNT };
const char *tool_scope_name(enum tool_scope scope); /* "read-only", "read-write", "destructive" */
int tool_scope_find(const char *name);

/* What a tool declares that it needs, and what narrows its jail. All false and read-only: computation. */
struct permissions {
	bool filesystem; /* sees the mounts of its profile that show files of somebody: the workspace, operators' mounts */
	bool network;
	bool subprocess;
	bool write;      /* may change what it sees there; needs filesystem and a scope other than read-only */
	enum tool_scope scope;
};
/* {"filesystem":false,...,"scope":"read-only"}; every key optional, unknown ones refused by name with the nearest. raw: an
 * object that json_check() accepted. -EINVAL with *err. */
int permissions_parse(const char *raw, size_t len, struct permissions *ret, struct err *err);
struct jbuf;
void permissions_print(const struct permissions *p, struct jbuf *b);

/* One version. Owns its texts; all are UTF-8 without NUL. */
struct tool {
	char name[TOOL_NAME_MAX];
	char hash[TOOL_HASH_MAX]; /* tool_hash(): the identity of a version */
	char *description;
	char *parameters;         /* JSON Schema, as it was given, in one line */
	char *body;
	struct permissions declared;
	bool inferred;            /* nobody declared them: they are what the body showed */
	char profile[SPEC_NAME_MAX];
	char *profile_text;       /* of a private supervisor's caller, else NULL: the profile is the store's */
	enum tool_state state;
	char *why;                /* of its state, with the evidence; or NULL */
	bool reviewed;            /* ships with Brig (profiles/tools): is no custom tool */
	uint32_t version;         /* of this name, from 1 */
	uint32_t uid;             /* who created it */
	char session[33];         /* in which session; "" none */
	char user_id[129];        /* what that session's opener called its user; "" none */
	int64_t created_ms;       /* since 1970 */
	uint32_t kernel_denials;  /* calls of this version that the kernel stopped for a denied action */
};
void tool_free(struct tool *tool);
/* SHA-256 over name, description, parameters, body, permissions, profile and profile_text, each with its length. */
void tool_hash(const struct tool *tool, char ret[TOOL_HASH_MAX]);
/* The rule of names; *err says what is wrong with this one, shown escaped and cut. */
int tool_name_check(const char *name, size_t len, struct err *err);

#endif
