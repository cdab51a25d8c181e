/* One request to a supervisor, from its start to its end. */
#ifndef BRIG_AGENT_CALL_H
#define BRIG_AGENT_CALL_H

#include "agent/connect.h"
#include "agent/show.h"
#include "jail/base/err.h"
#include "jail/base/names.h"

#include <stdbool.h>
#include <stddef.h>

enum call_end {
	CALL_RESULT,	/* `result` is the object or list */
	CALL_REFUSED,	/* the request itself is wrong: err says where and why */
	CALL_CANCELLED, /* the user stopped it */
	CALL_BROKEN,	/* no supervisor could be had, it would not have us, died, or answered nonsense */
};

struct call {
	enum call_end end;
	char *line;	    /* the whole answer; owner of `result` */
	const char *result; /* raw JSON */
	size_t result_len;
	struct err err;
	enum outcome outcome; /* CALL_BROKEN: what to call it */
};
void call_done(struct call *c);

struct call_ask {
	const char *method;
	const char *params; /* raw JSON, an object in one line */
	size_t params_len;
	enum connect_want want;
	const struct options *opt; /* which supervisor */
	int stop_fd;		   /* stop_open() */
	const char *progress;	   /* "running": said on stderr once a second, where that is a terminal; NULL: nothing */
	void (*event)(void *arg, const char *line, size_t len); /* each notification (rpc.h), or NULL */
	void *event_arg;
	unsigned answer_ms;	   /* longer without an answer: the supervisor hangs; 0: it may take its time */
};

/* When it returns a private supervisor has ended and cleaned up, and the connection to a daemon is closed. */
void call_make(struct call *c, const struct call_ask *ask);

/* Shows an end other than CALL_RESULT; returns the exit status. */
int call_show_failure(const struct call *c, const struct show *s);

#endif
