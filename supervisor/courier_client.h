/* Core's side of the courier: one message out, one answer back, or word that none will come. Core only. */
#ifndef BRIG_SUPERVISOR_COURIER_CLIENT_H
#define BRIG_SUPERVISOR_COURIER_CLIENT_H

#include "jail/base/err.h"
#include "supervisor/courier_proto.h"

#include <stdbool.h>

struct core;
struct courier_client;

/* What came back. err: 0, or errno; why is printable. body is hostile, and borrowed. */
struct courier_word {
	int err;
	unsigned status;
	const char *why, *body;
	size_t body_len;
};
typedef void (*courier_done)(const struct courier_word *word, void *arg);

/* Does the configuration name anybody? Then there is a courier. */
bool courier_is_configured(const struct config *config);
/* Calls done once, later; never from here. -errno with *err: it is not under way. */
int courier_send(struct core *core, enum courier_endpoint to, const char *body, size_t len, uint32_t timeout_ms, courier_done done,
		 void *arg, struct err *err);
/* Nobody waits for that any more. */
void courier_cancel(struct core *core, const void *arg);
void courier_close(struct core *core);

#endif
