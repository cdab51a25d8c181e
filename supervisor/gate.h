/* The way of `call` from a name to a decision: registry, schema, effective profile, policy, approvals. Core only. */
#ifndef BRIG_SUPERVISOR_GATE_H
#define BRIG_SUPERVISOR_GATE_H

#include "supervisor/client.h"
#include "supervisor/policy.h"
#include "supervisor/profile.h"
#include "supervisor/store.h"

struct session;

/* Who asks for what. Nothing in it but name, body and args is a word of the caller's; all is borrowed. */
struct gate_ask {
	struct core *core;
	enum authority authority;
	uid_t uid;
	pid_t pid;
	struct session *session;  /* or NULL */
	const char *call_id;      /* "" where there is none yet */
	const char *name;         /* of the tool, as it was sent; NULL: the body is */
	size_t name_len;
	const char *body;
	size_t body_len;
	struct profile *profile;  /* for that body, as asked for */
	const char *args;         /* JSON object that json_check() accepted */
	size_t args_len;
	const char *context;      /* JSON object that context_check() accepted, or NULL; an approval is for it, no rule reads it */
	size_t context_len;
	bool dry;                 /* only what would be decided: no question is asked, no use taken, nothing remembered */
};

/* What the gate found, and all that a call needs to run. */
struct gate {
	struct tool *tool;             /* the version that runs; NULL for a body of `run` */
	char name[TOOL_NAME_MAX];      /* of it; "" where what was asked for can be no tool's name */
	struct profile *profile;       /* effective: narrowed to declared, granted and tier; NULL: it never came so far */
	struct permissions effective;
	bool decided;                  /* the policy was asked; verdict holds */
	struct verdict_gate verdict;
	char approval[APPROVAL_ID_MAX]; /* that allowed it, or that it waits for; "" */
	int64_t expires_ms;             /* of that question, since 1970 */
	bool final;                     /* this session was denied the very same before, or it can never be right */
	enum outcome outcome;           /* OUTCOME_OK: run it; else how it ends: invalid_arguments, denied, approval_pending */
	struct err why;                 /* of that */
	char evidence[400];             /* JSON object, or "" */
};
void gate_free(struct gate *g);

/* Looks the tool up, proves the arguments, decides. 0: *ret says what; -errno with *err: no decision could be made (store, memory). */
int gate_call(const struct gate_ask *ask, struct gate **ret, struct err *err);
/* The same for a body that is sent along. */
int gate_run(const struct gate_ask *ask, struct gate **ret, struct err *err);

/* "sha256:..." of a body that came with `run`. */
void gate_body_hash(const char *body, size_t len, char ret[TOOL_HASH_MAX]);
/* It ends as denied; where: a word for the audit log. */
void gate_deny(struct gate *g, const char *where);
/* By configuration alone: the lists for who came over agent.sock; admin.sock is the operator's. */
enum trust gate_trust(const struct core *core, enum authority authority, uid_t uid);

#endif
