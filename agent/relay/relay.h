/* brig-relay: carries approvals out to a webhook and signed answers in. A client of admin.sock with its user's rights, and a program
 * of its own, since it alone speaks HTTP.
 *
 * Both ways a message is signed alike: X-Brig-Signature: t=SECONDS,v1=HEX, where HEX is HMAC-SHA256 over "SECONDS.BODY" with the
 * shared key. What comes in is taken once, within RELAY_WINDOW_S of its time; and a question is decided once, by core. */
#ifndef BRIG_AGENT_RELAY_H
#define BRIG_AGENT_RELAY_H

#include "agent/file.h"
#include "agent/options.h"
#include "supervisor/wire/hmac.h"

#include <event2/event.h>
#include <time.h>

/* Clocks differ, networks are slow; later than this a message that was caught cannot be used any more. */
#define RELAY_WINDOW_S 300
#define RELAY_SIGNATURE "X-Brig-Signature"
/* An answer is an id, a word and a reason. */
#define RELAY_ANSWER_MAX 16384u
/* A header of ours: both numbers and their names. */
#define RELAY_HEADER_MAX 128

struct relay {
	const struct options *opt;
	struct bytes key;
	struct event_base *base;
	int stop_fd;
};

/* The value of the header. */
void relay_sign(const struct relay *r, time_t now, const char *body, size_t len, char ret[RELAY_HEADER_MAX]);
/* NULL, or why it is not to be believed; ret_hex: its signature. */
const char *relay_verify(const struct relay *r, time_t now, const char *header, const char *body, size_t len, char ret_hex[HMAC_HEX + 1]);

/* One question to the daemon over admin.sock. ret: its answer's result, malloc'd; or -errno with *err. code: of a refusal, else 0. */
int relay_ask(const struct relay *r, const char *method, const char *params, size_t len, char **ret, struct err *err);

/* relay_post.c: looks for open questions from now on, and posts each once; again, more and more seldom, until somebody takes it. */
int relay_post_open(struct relay *r, struct err *err);
void relay_post_close(void);
/* relay_serve.c: POST /answer. */
int relay_serve_open(struct relay *r, struct err *err);
void relay_serve_close(void);

/* To standard error, one line. */
void relay_say(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
