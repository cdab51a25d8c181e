/* Core's side of the audit log: records go out in order, what is not acknowledged is kept
 * and sent again to the next audit process. Core only. In a private supervisor there is no log, and all of this does nothing. */
#ifndef BRIG_SUPERVISOR_AUDIT_CLIENT_H
#define BRIG_SUPERVISOR_AUDIT_CLIENT_H

#include "supervisor/audit_record.h"
#include "supervisor/call.h"

struct audit_client;

/* Asks the keeper for a socket to the audit process; where there is none yet, again later. */
int audit_client_open(struct core *core, struct err *err);
/* What is queued still goes into the socket (bounded wait). */
void audit_client_close(struct core *core);

/* The decision on this call. 0: call_recorded() or call_unrecorded() follows, or came already where nothing is recorded.
 * -errno: it cannot be recorded now, *err says why. */
int audit_begin(struct call *call, struct err *err);
/* How it ended; before the answer. */
void audit_end(struct call *call);
/* What a note is about. NULL and 0: it has no such thing. Texts are cut to what a record holds, and say so. */
struct audit_about {
	const char *session, *call_id, *text;
	const char *tool, *hash; /* "sha256:...": of that version; of the policy */
	const char *profile, *approval, *rule;
	const char *args;        /* only their hash and length go into the log */
	size_t args_len;
	const char *context;     /* the same */
	size_t context_len;
	const char *reason;      /* a person's words: the same */
	bool decided;
	enum audit_decision decision;
};
int audit_note_about(struct core *core, enum audit_kind kind, uid_t uid, pid_t pid, const struct audit_about *about);
/* Something that is no call (CANCEL, RELOAD, DRAIN, SESSION_OPEN, SESSION_END) and who asked for it; session, call_id and text
 * may be NULL. -errno: it will not be in the log; what an admin asked for is then not to be done. */
int audit_note(struct core *core, enum audit_kind kind, uid_t uid, pid_t pid, const char *session, const char *call_id, const char *text);

/* For status and metrics. */
struct audit_health {
	bool kept;          /* there is a log */
	bool connected;
	pid_t pid;          /* of the audit process while connected, else 0; for people to look at */
	int err;            /* of the last refusal, 0 once a record is acknowledged again */
	unsigned waiting;   /* records that are not acknowledged */
	uint64_t written, refused; /* since core started */
};
void audit_client_health(const struct core *core, struct audit_health *ret);

/* ---- audit_about.c: parts of records ---- */
void audit_fill_sha256(const void *bytes, size_t len, uint8_t ret[AUDIT_HASH_LEN]);
/* A text that is cut ends in the length and a hash of what is not there. */
void audit_fill_text(char *field, size_t cap, const char *text);
void audit_fill_bytes(char *field, size_t cap, const char *text, size_t len);
void audit_fill_about(const struct audit_about *about, struct audit_record *ret);
/* "sha256:<hex>" of the version that is called. */
void audit_fill_hash(const char *hash, struct audit_record *ret);

/* ---- audit_fill.c: records of calls ---- */
void audit_fill_begin(const struct call *call, struct audit_record *ret);
void audit_fill_end(const struct call *call, struct audit_record *ret);

#endif
