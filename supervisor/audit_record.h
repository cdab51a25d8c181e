/* Core -> audit: one fixed record a message over a SOCK_SEQPACKET pair; audit -> core: what became of them.
 * Audit takes core for hostile: sizes, ranges and texts are checked, what is no record is written down as that
 * (kind "bad"), and nothing that core sends can end or break the chain. */
#ifndef BRIG_SUPERVISOR_AUDIT_RECORD_H
#define BRIG_SUPERVISOR_AUDIT_RECORD_H

#include "jail/spec.h"

#include <stdint.h>

#define AUDIT_MAGIC 0x42524144u

/* X(id, name, core may send it). The names are the contract of the log. */
#define AUDIT_KIND_LIST(X)                                                         \
	X(AUDIT_BEGIN, "begin", 1)        /* a call: the decision, before its jail */ \
	X(AUDIT_END, "end", 1)            /* how it ended */                          \
	X(AUDIT_CANCEL, "cancel", 1)      /* who asked for a call's end */            \
	X(AUDIT_RELOAD, "reload", 1)      /* configuration and profiles, and what came of it */ \
	X(AUDIT_DRAIN, "drain", 1)        /* who had it */                            \
	X(AUDIT_SESSION_OPEN, "session_open", 1)                                   \
	X(AUDIT_SESSION_END, "session_end", 1)                                     \
	X(AUDIT_TOOL_CREATE, "tool_create", 1)   /* a version of a tool, or why it was refused */ \
	X(AUDIT_TOOL_REMOVE, "tool_remove", 1)                                     \
	X(AUDIT_TOOL_STATE, "tool_state", 1)     /* promoted, quarantined, restored: by whom, with what evidence */ \
	X(AUDIT_APPROVAL_ASK, "approval_ask", 1)                                   \
	X(AUDIT_APPROVAL_DECIDE, "approval_decide", 1)                             \
	X(AUDIT_APPROVAL_USE, "approval_use", 1) /* one of its uses was taken */   \
	X(AUDIT_POLICY, "policy", 1)             /* which rules hold from now on: their hash */ \
	X(AUDIT_SUPERVISOR_START, "start", 0)        /* the supervisor */                        \
	X(AUDIT_SUPERVISOR_STOP, "stop", 0)                                                   \
	X(AUDIT_RESTART, "audit_start", 0) /* this process, after another one's death */ \
	X(AUDIT_CORE_START, "core_start", 0)                                       \
	X(AUDIT_CORE_END, "core_end", 0)                                           \
	X(AUDIT_FILE_NEW, "file", 0)      /* first record of a new file: which one came before, which calls are open */ \
	X(AUDIT_TORN, "torn", 0)          /* a writer was killed within a line; wire/chain.h */ \
	X(AUDIT_BAD, "bad", 0)            /* core sent something that is no record */

enum audit_kind {
	AUDIT_KIND_NONE,
#define X(id, name, core) id,
	AUDIT_KIND_LIST(X)
#undef X
	AUDIT_KIND_COUNT
};

/* What the gate said. With `run` there is nothing to decide but this. */
enum audit_decision { AUDIT_ALLOW, AUDIT_DENY, AUDIT_ESCALATE, AUDIT_DECISION_COUNT };

/* Which optional members hold. */
enum audit_has {
	AUDIT_HAS_BODY = 1,
	AUDIT_HAS_ARGS = 2,
	AUDIT_HAS_USAGE = 4,
	AUDIT_HAS_RECEIPT = 8,
	AUDIT_HAS_HASH = 16,     /* of a version of a tool, or of a policy */
	AUDIT_HAS_DECISION = 32, /* of what is no BEGIN, which always has one */
	AUDIT_HAS_VALUE = 64,    /* the arguments themselves */
	AUDIT_HAS_CONTEXT = 128, /* of a call; without it the line has no such member */
	AUDIT_HAS_ALL = 255,
};

#define AUDIT_UNKNOWN   UINT64_MAX /* of a usage figure: null in the log */
#define AUDIT_ID_MAX    33         /* of calls: 32 hex digits */
#define AUDIT_NAME_MAX  65         /* tools, sessions */
#define AUDIT_CAUSE_MAX 65
#define AUDIT_TEXT_MAX  160
#define AUDIT_HASH_LEN  32
/* Of arguments whose profile wants them in the log ("audit": {"args": "values"}): their beginning. Bytes of JSON text. */
#define AUDIT_VALUE_MAX 1025

/* Texts end with a NUL inside their bounds; "" is null in the log. */
struct audit_record {
	uint32_t magic;
	uint32_t kind;
	uint64_t number; /* of this core's records: from 1, only grows */
	uint32_t uid, pid; /* who asked */
	uint32_t decision; /* enum audit_decision */
	uint32_t outcome;  /* END: enum outcome */
	uint32_t has;
	uint32_t unused;   /* 0 */
	uint64_t body_bytes, args_bytes, context_bytes;
	/* body: of what is no call, a person's reason */
	uint8_t body[AUDIT_HASH_LEN], args[AUDIT_HASH_LEN], context[AUDIT_HASH_LEN], receipt[AUDIT_HASH_LEN], hash[AUDIT_HASH_LEN]; /* SHA-256 */
	uint64_t wall_us, queue_us, cpu_us, memory_peak_bytes, processes_peak;
	char call_id[AUDIT_ID_MAX];
	char session[AUDIT_NAME_MAX];
	char tool[AUDIT_NAME_MAX];
	char profile[SPEC_NAME_MAX];
	char approval[AUDIT_ID_MAX]; /* that let it run, or is about it */
	char rule[AUDIT_TEXT_MAX];  /* what decided, file:line */
	char cause[AUDIT_CAUSE_MAX]; /* END: a word, of a layer or a module */
	char text[AUDIT_TEXT_MAX];  /* of what is no call */
	char value[AUDIT_VALUE_MAX];
};

/* err 0: all records up to `number` are in the log. Else that one record, a BEGIN, is not and will not be: errno. */
struct audit_ack {
	uint32_t magic;
	int32_t err;
	uint64_t number;
};

#endif
