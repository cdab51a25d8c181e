/* A verb that asks a daemon one thing and shows the answer. */
#ifndef BRIG_AGENT_QUESTION_H
#define BRIG_AGENT_QUESTION_H

#include "agent/call.h"
#include "agent/show.h"

/* A daemon answers these from memory. One that takes longer hangs, and so would the caller's script. */
#define QUESTION_ANSWER_MS 10000

struct question {
	const char *method;
	const char *params;
	size_t params_len;
	enum connect_want want;
	unsigned answer_ms;    /* 0: as long as it takes */
	const char *progress;  /* what takes time (call.h), or NULL */
	void (*show)(const struct show *s, const struct call *c); /* the answer for people; c->result is an object */
};

/* Asks and shows; with --json the answer is one object as the daemon sent it. Returns the exit status. */
int question_ask(const struct options *opt, const struct question *q);
/* The same where the words of the command line are no good: the exit status. */
int question_refuse(const struct options *opt, const struct err *err);

/* Parts of an answer. Text is escaped for a terminal and malloc'd; NULL: none. */
char *answer_text(const struct call *c, const char *path);
double answer_number(const struct call *c, const char *path); /* 0 where there is none */
bool answer_true(const struct call *c, const char *path);

#endif
