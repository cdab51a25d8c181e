/* One connection to a supervisor with many questions in flight, for programs that live on an event loop (libevent).
 *
 * Each question is answered by exactly one call of its `done`, never from inside link_ask(). When the connection is lost
 * (brigd ended, died, or threw us out) all that is in flight ends as LINK_LOST, with the reason; the link tries again by
 * itself, once a second at first and more and more seldom, and at once for the next question.
 *
 * Where no daemon runs it is a private supervisor (private.h), which ends with the link. */
#ifndef BRIG_AGENT_LINK_H
#define BRIG_AGENT_LINK_H

#include "agent/connect.h"
#include "jail/base/err.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum link_end {
	LINK_RESULT, /* json: the raw `result` */
	LINK_ERROR,  /* json: the raw `error` object: code, message, data */
	LINK_LOST,   /* err: what happened, and what to do */
};

struct link_answer {
	enum link_end end;
	const char *json; /* borrowed; proven by json_check(), no line feed in it, NUL-terminated */
	size_t len;
	const struct err *err;
	enum outcome outcome; /* LINK_LOST: what to call it (setup_failed, denied, busy, internal_error) */
};

/* A notification: of one question (its stream) or of none. params: raw JSON object, proven. */
typedef void link_event_fn(void *arg, const char *method, const char *params, size_t len);
typedef void link_done_fn(void *arg, const struct link_answer *answer);

struct link_hooks {
	link_event_fn *event; /* notifications that belong to no question (tools.changed, approvals.changed); may be NULL */
	void (*up)(void *arg);   /* connected, also again: subscribe, read the list anew; may be NULL */
	void (*down)(void *arg, const struct err *err); /* lost, or could not be had; may be NULL */
	void *arg;
};

struct link;

/* Does not connect yet. opt: which supervisor; borrowed. stop_fd: stop_open(). NULL: no memory. */
struct link *link_new(struct event_base *base, enum connect_want want, const struct options *opt, int stop_fd, const struct link_hooks *hooks);
/* Connects now if it is not; 0 or -errno with *err. A private supervisor is started within it. */
int link_open(struct link *l, struct err *err);
bool link_is_up(const struct link *l);
/* True: it is a private supervisor's, which has no admin.sock: nobody can approve. */
bool link_is_private(const struct link *l);
/* method, params: raw JSON, an object in one line or over several (line feeds become blanks). event (may be NULL): its notifications
 * (started, output, event, approval), which carry its id. Returns a handle for link_forget(), or 0: no memory, and done is not called. */
uint64_t link_ask(struct link *l, const char *method, const char *params, size_t len, link_event_fn *event, link_done_fn *done, void *arg);
/* Its answer is not wanted: done and event are not called any more, and a call (method run or call, asked with stream) is
 * cancelled as soon as its id is known. 0 and handles that are answered are ignored. */
void link_forget(struct link *l, uint64_t handle);
/* How many are in flight. */
unsigned link_load(const struct link *l);
/* Nothing is called any more. A private supervisor ends, and with it all its jails; waits for that. */
void link_free(struct link *l);

#endif
