/* One call: from a checked request to its answer. Owns a jail while it runs,
 * the three output channels, the deadlines, and the evidence. Core only.
 *
 *   CALL_QUEUED   waits for a person's word (approvals.h) while `waits`, for that of the decision point while `asks`, then for its turn (sched.h)
 *   CALL_JAIL     waits for a parked jail, and for the audit log's word that the decision is written
 *   CALL_RUN      the request is on its way or the tool runs
 *   CALL_KILLED   something ended it; waits until the jail is gone
 *   (answered and freed)
 */
#ifndef BRIG_SUPERVISOR_CALL_H
#define BRIG_SUPERVISOR_CALL_H

#include "jail/frame.h"
#include "supervisor/capture.h"
#include "supervisor/client.h"
#include "supervisor/jail.h"
#include "supervisor/sched.h"
#include "supervisor/verdict.h"

/* 32 hex digits and the NUL. */
#define CALL_ID_SIZE 33

struct audit_entry;
struct gate;
struct session;
struct stream;

enum call_state { CALL_QUEUED, CALL_JAIL, CALL_RUN, CALL_KILLED };

/* Limits that were touched without ending the call. */
enum limit_bit { HIT_PIDS = 1, HIT_STDOUT = 2, HIT_STDERR = 4, HIT_FILE_SIZE = 8, HIT_TMPFS = 16, HIT_EVENTS = 32 };

/* A request after validation. Texts are borrowed until call_start returns. */
struct call_request {
	const char *body, *args; /* UTF-8 source; JSON object, the caller's bytes */
	size_t body_len, args_len;
	const char *context;     /* JSON object that context_check() accepted; or NULL */
	size_t context_len;
	bool best_effort;
	bool want_stages;
	bool stream;             /* tell the client what the tool writes as it comes (stream.h) */
	struct session *session; /* or NULL */
	struct gate *gate;       /* what the gate found, taken by call_start(); NULL: this socket's calls pass none */
	bool wait;               /* where it needs an approval: it waits for that */
	uint32_t flags;          /* enum request_flag (frame.h) */
	/* Set: core itself wants to know how it ends. Called once, in place of the answer, which is then its to give, or with NULL where
	 * the call could not begin and the client was told. pending->client is NULL once he left. */
	void (*done)(struct call *call, struct pending *pending, void *arg);
	void *done_arg;
};

struct call {
	LIST_ENTRY(call) link;
	struct core *core;
	enum call_state state;
	char id[CALL_ID_SIZE];     /* 128 random bits, hex: unique across hosts */
	struct pending *pending;   /* what is answered in the end */
	void (*done)(struct call *call, struct pending *pending, void *arg);
	void *done_arg;
	struct session *session;   /* whose context it has, or NULL; it outlives the call */
	struct gate *gate;         /* ours; NULL: it passed none */
	bool waits;                /* for the decision on gate->approval */
	bool asks;                 /* waits for the word of the decision point (decision_point.h) */
	struct stream *stream;     /* NULL: nobody wants the output as it comes */
	uint8_t nonce[FRAME_NONCE_BYTES]; /* of the frame that answers it */
	enum authority authority;  /* of its socket */
	uid_t uid;                 /* of the client, which may leave before the call does */
	struct peer *peer;         /* the account that it is on */
	pid_t pid;
	const void *flow;          /* with whom it shares turns in the queue: its session, else its connection. Only compared */
	struct sched_entry sched;
	bool best_effort;
	struct audit_entry *audit;       /* audit_client.c: the decision's record while it waits for the log's word */
	bool audited;              /* that record was sent: one of the end must follow */
	bool recorded;             /* the decision is in the audit log */
	struct profile *effective; /* a reference */
	struct zygote *zygote;     /* NULL while queued */
	struct jail *jail;         /* NULL once it is gone or was never there */
	char profile[SPEC_NAME_MAX];
	struct spec_limits limits;
	bool want_stages;
	char *request;             /* head, body, args, context: what still has to be written */
	size_t request_len, request_sent;
	struct event *request_ev, *stdout_ev, *stderr_ev, *result_ev, *wall_ev, *tick_ev;
	struct capture out, err;
	struct result_head head;   /* of the frame that comes, as far as it came */
	char *result;              /* payload; cap result_cap + 1 */
	size_t head_len, result_len, result_cap;
	unsigned events;           /* of them came, counted up to one beyond LIMIT_EVENTS */
	size_t event_bytes;
	bool frame_bad;            /* what comes on the result pipe is no frame */
	struct evidence ev;
	enum outcome outcome;
	uint32_t retry_after_ms;   /* busy */
	struct err why;            /* setup_failed, internal_error: what and what to do */
	enum layer failed_layer;
	unsigned limits_hit;
	struct cgroup_usage usage;
	uint64_t cpu_us; /* for the words about a CPU limit */
	bool usage_known, has_receipt;
	struct receipt receipt;
	bool quarantined;  /* its tool, by the way it ended */
	uint32_t denied_arch;
	int denied_nr;
	uint64_t received_ns, left_queue_ns, begun_ns, ended_ns;
	uint64_t stage_ns[STAGE_COUNT], spawn_ns, fork_ns;
};

/* The answer goes to the client when the call ends; rpc_id is copied. profile: NULL where the gate let it not come so far. */
void call_start(struct client *client, struct profile *profile, const struct call_request *req, const char *rpc_id, size_t rpc_id_len);
/* Its turn has come. It may be answered and freed on return, or wait again (sched_put_back). */
void call_begin(struct call *call);
/* There is no room, nor soon: answered as busy, and freed. */
void call_refuse_busy(struct call *call, const struct err *why, uint32_t retry_after_ms);
/* The audit log has, or cannot take, the decision. */
void call_recorded(struct call *call);
void call_unrecorded(struct call *call, const struct err *why);
/* Ends it as cancelled; why: not by the client's leaving. */
void call_cancel(struct call *call);
void call_cancel_why(struct call *call, const struct err *why);
/* For session.c: news of the jail while a call has it. */
void call_on_jail(struct jail *jail, enum jail_news news, void *call);
int call_random_id(char id[CALL_ID_SIZE]);
/* The supervisor ends: the call does not go on, which is nobody's fault. */
void call_stop(struct call *call);
/* The result object of brig(1). */
void answer_print(const struct call *call, struct jbuf *out);
/* The same shape for a call that never got as far as an id; tool, profile: "" none; retry_after_ms where it is busy, else 0. */
void answer_refused(enum outcome outcome, const char *tool, const char *profile, const struct err *why, uint32_t retry_after_ms, struct jbuf *out);

#endif
