/* One request to a supervisor of our own, from its start to its end. */
#ifndef BRIG_AGENT_CALL_H
#define BRIG_AGENT_CALL_H

#include "jail/base/err.h"
#include "jail/base/names.h"

#include <stdbool.h>
#include <stddef.h>

enum call_end {
	CALL_RESULT,	/* `result` is the object or list */
	CALL_REFUSED,	/* the request itself is wrong: err says where and why */
	CALL_CANCELLED, /* the user stopped it */
	CALL_BROKEN,	/* the supervisor could not be started, died, or answered nonsense */
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

/* method with raw JSON params (an object in one line; params of len bytes). stop_fd: stop_open(). When it returns the
 * supervisor has ended and cleaned up. progress: say on stderr that it is still running, where that is a terminal. */
void call_make(struct call *c, const char *method, const char *params, size_t len, int stop_fd, bool progress);

#endif
