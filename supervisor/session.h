/* Sessions: a context that several calls share (fairness, audit), and with `state` a
 * jail of its own that keeps Python's state from call to call. Core only.
 *
 *   SESSION_OPENING   its jail is being built; nobody knows the session yet
 *   SESSION_OPEN      takes calls, one at a time where it keeps state
 *   SESSION_ENDED     takes none; remembered for a while, so that who still names it is told why
 *
 * A session belongs to the uid that opened it, on whatever connection. Whatever
 * would end the jail of a single call ends a session with state: only a complete
 * result frame within all limits leaves it open. It never serves another session. */
#ifndef BRIG_SUPERVISOR_SESSION_H
#define BRIG_SUPERVISOR_SESSION_H

#include "supervisor/call.h"

enum session_state { SESSION_OPENING, SESSION_OPEN, SESSION_ENDED };

/* What its opener may say of it, for the audit log; nothing is decided by it. Bytes. */
#define SESSION_TASK_MAX 1024u
#define SESSION_USER_MAX 128u
#define SESSION_LABELS_MAX 4096u

struct gate_memory;

struct session {
	LIST_ENTRY(session) link;
	struct core *core;
	enum session_state state;
	char id[CALL_ID_SIZE];
	uid_t uid;
	pid_t pid;                /* of the client that opened it */
	bool keeps_state;
	char *task, *user_id;     /* UTF-8, or NULL */
	char *labels;             /* JSON object of strings, or NULL */
	struct gate_memory *gate_memory; /* gate_memory.h; NULL: nothing yet */
	struct profile *profile;  /* a reference */
	struct pending *opening;  /* session.open, while OPENING */
	struct event *watch;      /* until ENDED */
	unsigned calls;           /* queued and running */
	uint64_t calls_made;
	uint64_t opened_ns, used_ns, ended_ns; /* used: the end of the last call */
	bool over;                /* takes no new call, and ends with the last that it has */
	char why[200];            /* ENDED, or over */
	/* Only where it keeps state. */
	struct jail *jail;        /* NULL once it ended */
	struct call *call;        /* begun and not answered */
	bool used;                /* the jail has had a request */
	bool file_size_hit;       /* the kernel keeps that signal pending: told once */
	uint64_t pids_refused, cpu_us; /* counters of the jail when a call began, and when one ended */
	uint64_t idle_cpu_us, idle_now_us; /* used between calls: up to the last call, and since */
	uint64_t discarded;       /* bytes that came between calls */
};

/* What session.open says, checked; texts are borrowed, may be NULL. */
struct session_request {
	const char *task, *user_id, *labels;
	bool keeps_state;
};

/* Answers session.open, now or once the jail is parked. profile: another reference is taken. */
void session_open(struct client *client, const struct session_request *req, struct profile *profile, const char *rpc_id, size_t rpc_id_len);
/* NULL: never was, is forgotten, or is another uid's. It may have ended. */
struct session *session_find(struct core *core, uid_t uid, const char *id);
/* Processor time that was used between its calls, in all: it shares limits.cpu with none of them. */
uint64_t session_idle_cpu_ms(const struct session *session);
/* Its calls are cancelled, its jail is killed. why completes "the session ended: ". */
void session_end(struct session *session, const char *why, ...) PRINTF_LIKE(2, 3);
/* At a reload: those whose profile is not what it was take no new call, and end with the last that they have. */
void session_profiles_changed(struct core *core);
/* Core is leaving: all of them, by name. */
void session_end_all(struct core *core, const char *why);
/* Core's end. */
void session_free_all(struct core *core);

/* ---- for a call of it; all take NULL for a call without a session ---- */

/* A jail of its own serves its calls. */
bool session_keeps(const struct session *session);
/* A call of it has to wait: another one has its jail. */
bool session_busy(const struct session *session);
/* The call's turn has come: from now on the session is busy with it. */
void session_call_begun(struct session *session, struct call *call);
/* Its jail, clean of what came since the last call, its usage counted anew; the request goes in next. NULL: the session
 * ended over it, and the call was answered and is gone. */
struct jail *session_enter(struct session *session, struct call *call);
/* What the jail counts from its beginning becomes the call's own part. */
void session_usage(const struct session *session, struct cgroup_usage *usage);
/* The outcome stands and the answer follows: goes on, or ends with its reason. */
void session_call_ended(struct session *session, struct call *call);

#endif
