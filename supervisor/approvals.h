/* Questions to a person: asked by the gate where a rule escalates, decided over admin.sock, used once for what they are bound to
 * and nothing else. They live in the store; nothing of one is kept here between two events. Core only. */
#ifndef BRIG_SUPERVISOR_APPROVALS_H
#define BRIG_SUPERVISOR_APPROVALS_H

#include "supervisor/wall_clock.h"
#include "supervisor/call.h"
#include "supervisor/gate.h"

/* What a person can still look at. Bytes of arguments (of `run`: and body). */
#define APPROVAL_SHOWN_MAX (256u << 10)
#define APPROVAL_USES_MAX 1000u
#define APPROVAL_FOR_MAX_MS (24u * 3600u * 1000u)

/* SHA-256 over all that would run: the tool's hash, effective permissions, the effective profile's digest, the bytes of the
 * arguments, for whom, and the bytes of the context where there is one (ask's; its name and body are not looked at). */
void approval_binding(const struct gate_ask *ask, const char *tool_hash, const struct permissions *effective, const char *profile_digest,
		      char ret[TOOL_HASH_MAX]);

/* The policy escalates: takes a use of an approval, or asks. g->outcome becomes ok, denied or approval_pending.
 * A use is spent from here on, whatever becomes of the call. -errno: neither could be done. */
int approvals_gate(const struct gate_ask *ask, struct store *store, const char *tool_hash, struct gate *g, struct err *err);

/* Who says what about one question. */
struct decision_word {
	const char *id;     /* the whole of it */
	bool approve;
	uint32_t uses, for_ms; /* of an approval */
	const char *reason; /* at most APPROVAL_REASON_MAX bytes, or NULL */
	uid_t uid;
	pid_t pid;
	const char *by;     /* "admin.sock", "webhook" */
};
/* -ENOENT: no such question; -ESTALE: it is not open any more, or what it is about has changed; -EPERM: not this uid. Writes the record, and
 * whoever waits goes on. */
int approvals_decide(struct core *core, const struct decision_word *word, struct err *err);

/* That call waits for its question: goes on when it is decided, or ends as denied. */
void approvals_wait(struct call *call);
/* A question is open: it is looked at until none is. */
void approvals_watch(struct core *core);
/* Decided, here or by another supervisor of this store: whoever waits for it goes on. */
void approvals_kick(struct core *core);
/* Nobody waits any longer: their calls end as approval_pending, and may be sent again. For a drain. */
void approvals_release(struct core *core);
/* What is past its time becomes expired, with a record of it. */
void approvals_sweep(struct core *core, struct store *store);
/* It is in that state now: counted, and told to who wants to know. */
void approvals_tell(struct core *core, const char *id, const char *tool, uid_t uid, const char *state);
/* Core's end. */
void approvals_close(struct core *core);


#endif
