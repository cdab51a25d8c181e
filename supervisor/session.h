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

/* What its opener may say of it, for the audit log; nothing is decided by it. */
#define SESSION_TASK_MAX 1024u
#define SESSION_USER_MAX 128u
#define SESSION_LABELS_MAX 4096u /* bytes of JSON */

struct session {
	LIST_ENTRY(session) link;
	struct core *core;
	enum session_state state;
	char id[33];              /* 128 random bits, hex */
	uid_t uid;
	pid_t pid;                /* of the client that opened it */
	bool keeps_state;
	char *task, *user_id;     /* UTF-8, or NULL */
	char *labels;             /* JSON object of strings, or NULL */
	struct profile *profile;  /* a reference */
	struct pending *opening;  /* session.open, while OPENING */
	unsigned calls;           /* queued and running */
	uint64_t calls_made;
	uint64_t opened_ns, used_ns, ended_ns; /* used: the end of the last call */
	char why[200];            /* ENDED */
	/* Only where it keeps state. */
	struct zygote *zygote;
	struct jail *jail;        /* NULL once it ended */
	struct call *call;        /* begun and not answered */
	bool counted;             /* usage begins anew with each call but the first, whose jail parked with it */
	bool file_size_hit;       /* the kernel keeps that signal pending: told once */
	uint64_t pids_refused, cpu_us; /* as they were when the last call ended */
	uint64_t discarded;       /* bytes that came between calls */
};

/* NULL: never was, is forgotten, or is another uid's. It may have ended. */
struct session *session_find(struct core *core, uid_t uid, const char *id);
/* A call of it has to wait: another one has its jail. */
bool session_busy(const struct session *session);

#endif
