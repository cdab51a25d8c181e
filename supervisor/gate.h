/* The way of `call` from a name to a decision: registry, schema, effective profile, policy, approvals. Core only. */
#ifndef BRIG_SUPERVISOR_GATE_H
#define BRIG_SUPERVISOR_GATE_H

#include "supervisor/policy.h"
#include "supervisor/request.h"
#include "supervisor/store.h"

/* What the gate found, and all that a call needs to run. */
struct gate {
	struct tool *tool;             /* the version that runs; NULL for a body of `run` */
	struct profile *profile;       /* effective: narrowed to declared, granted and tier */
	struct permissions effective;
	struct verdict_gate verdict;
	char approval[APPROVAL_ID_MAX]; /* that allowed it, or that it waits for; "" */
	bool final;                     /* this session was denied the very same before */
	enum outcome outcome;           /* OUTCOME_OK: run it; else how it ends: invalid_arguments, denied, approval_pending, ... */
	struct err why;                 /* of that */
	char evidence[400];             /* JSON object, or "" */
};
void gate_done(struct gate *g);

/* Looks the tool up, proves the arguments, decides. 0: *ret says what; -errno with *err: no decision could be made (store, memory). */
int gate_call(const struct request *rq, const char *name, const char *args, size_t args_len, struct session *session, struct gate *ret, struct err *err);
/* The same for a body that is sent along; profile: as asked for. */
int gate_run(const struct request *rq, const char *body, size_t body_len, const char *args, size_t args_len, struct profile *profile,
	     struct session *session, struct gate *ret, struct err *err);

#endif
