/* The one door to what outlives a supervisor: tools, approvals. Core only; no SQL outside store_*.c, and no copy of a row is
 * kept between two events, so that a second supervisor on the same store is never contradicted. Each function is one
 * transaction. All return 0 or -errno with *err (class ERR_HOST where the store itself fails; -ENOENT no such row, -EEXIST a
 * duplicate, without a class of their own). Texts that are returned are the caller's. */
#ifndef BRIG_SUPERVISOR_STORE_H
#define BRIG_SUPERVISOR_STORE_H

#include "supervisor/store_files.h"
#include "supervisor/tool.h"

struct store;

/* store_files_serve() came before. */
int store_open(struct store **ret, struct err *err);
void store_close(struct store *store);

struct core;
/* Core's store, opened when it is first asked for (a keeper's message, store_core.c): a supervisor that only runs bodies never has one. */
int store_of(struct core *core, struct store **ret, struct err *err);

/* ---- tools ---- */

/* A new version of tool->name (fills version, hash, created_ms). limit: at most so many names that are neither removed nor reviewed,
 * counted in the same transaction: -EDQUOT. replace: the name must exist and this becomes its current version; else -EEXIST where
 * it exists and is not removed. The same content as the current version again: -EALREADY. */
int store_tool_add(struct store *store, struct tool *tool, bool replace, unsigned limit, struct err *err);
/* The current version of that very name, removed ones excluded. */
int store_tool_get(struct store *store, const char *name, struct tool **ret, struct err *err);
/* Any version that ever was, by its hash. */
int store_tool_by_hash(struct store *store, const char *hash, struct tool **ret, struct err *err);
/* Current versions by name; all: every version that ever was, oldest first within a name. fn ends it by returning other than 0; its
 * tool is borrowed, has no body ("") and was not proved by its hash. */
int store_tool_each(struct store *store, bool all, int (*fn)(const struct tool *tool, void *arg), void *arg, struct err *err);
/* The same of every version of one name, oldest first. */
int store_tool_versions(struct store *store, const char *name, int (*fn)(const struct tool *tool, void *arg), void *arg, struct err *err);
/* Only from the state `from` of the version with that hash, else -ESTALE. why may be NULL. */
int store_tool_state(struct store *store, const char *hash, enum tool_state from, enum tool_state to, const char *why, struct err *err);
/* kernel_denials + 1; *ret the new count, which a further version of that name goes on from. */
int store_tool_denied(struct store *store, const char *hash, uint32_t *ret, struct err *err);
/* Changes of the set of tools, over all supervisors of this store: grows with every add and state. For "has anything changed?". */
int store_tool_generation(struct store *store, uint64_t *ret, struct err *err);

/* ---- approvals ---- */

#define APPROVAL_STATE_LIST(X)       \
	X(APPROVAL_PENDING, "pending") \
	X(APPROVAL_APPROVED, "approved") \
	X(APPROVAL_DENIED, "denied") \
	X(APPROVAL_EXPIRED, "expired") \
	X(APPROVAL_USED, "used")       /* no use is left */ \
	X(APPROVAL_VOID, "void")       /* what it was bound to has changed */
enum approval_state {
#define X(id, name) id,
	APPROVAL_STATE_LIST(X)
#undef X
	APPROVAL_STATE_COUNT
};

#define APPROVAL_ID_MAX 33     /* 32 hex digits: 128 random bits */
#define APPROVAL_REASON_MAX 512u
#define APPROVALS_KEPT 128u    /* of each of: expired, used, void; older ones go when another question comes */

struct approval {
	char id[APPROVAL_ID_MAX];
	char binding[TOOL_HASH_MAX];  /* of everything that would run: approval.h */
	enum approval_state state;
	char tool[TOOL_NAME_MAX];
	char tool_hash[TOOL_HASH_MAX];
	char profile_digest[TOOL_HASH_MAX];
	char *args;                   /* JSON text, what exactly would run */
	char *context;                /* JSON text of the call's context, or NULL */
	uint32_t uid;                 /* who asked */
	char session[33];
	char rule[160];               /* that escalated it, file:line */
	char *reason;                 /* of that rule; after the decision the decider's, or NULL */
	uint32_t uses;                /* left, once approved */
	uint32_t decided_uid;
	char decided_by[65];          /* "admin.sock", "webhook" */
	int64_t created_ms, expires_ms, decided_ms; /* since 1970; expires: of the question, then of the answer */
};
void approval_free(struct approval *a);
const char *approval_state_name(enum approval_state state);

/* A pending one with that binding and uid that has not expired is returned in *ret_id instead of a second one (-EALREADY); limit: pending ones of that uid, -EDQUOT. */
int store_approval_add(struct store *store, const struct approval *a, unsigned limit, char ret_id[APPROVAL_ID_MAX], struct err *err);
int store_approval_get(struct store *store, const char *id, struct approval **ret, struct err *err);
/* state -1: all; newest first. */
int store_approval_each(struct store *store, int state, int (*fn)(const struct approval *a, void *arg), void *arg, struct err *err);
/* Those whose id begins so. */
int store_approval_begin_with(struct store *store, const char *prefix, int (*fn)(const struct approval *a, void *arg), void *arg, struct err *err);
/* Only from PENDING and before its expiry, else -ESTALE and *ret_state says what it is: of two who decide, one does. */
int store_approval_decide(struct store *store, const char *id, bool approve, uint32_t uses, int64_t expires_ms, const char *reason,
			  uint32_t uid, const char *by, int64_t now_ms, enum approval_state *ret_state, struct err *err);
/* One use of an approved, unexpired one with that binding and uid, taken atomically; the last makes it USED. -ENOENT: there is none. */
int store_approval_take(struct store *store, const char *binding, uint32_t uid, int64_t now_ms, char ret_id[APPROVAL_ID_MAX], struct err *err);
/* The latest decision on that binding for that uid, for the reason of a denial; -ENOENT. */
int store_approval_last(struct store *store, const char *binding, uint32_t uid, struct approval **ret, struct err *err);
/* Pending ones of another version of the tool become VOID; those past their time EXPIRED. */
int store_approval_void(struct store *store, const char *tool, const char *but_hash, struct err *err);
int store_approval_expire(struct store *store, int64_t now_ms, struct err *err);

#endif
