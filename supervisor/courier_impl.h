/* The courier's own files; only courier_*.c include this. */
#ifndef BRIG_SUPERVISOR_COURIER_IMPL_H
#define BRIG_SUPERVISOR_COURIER_IMPL_H

#include "jail/base/compiler.h"
#include "supervisor/courier_proto.h"

#include <stdbool.h>
#include <stddef.h>

struct curl_waitfd;

/* courier_http.c */
int courier_http_open(const struct courier_boot *boot);
/* Answers by courier_say(), now or later. */
void courier_post(const struct courier_ask *ask, const char *body);
/* Waits for these and for the network, then goes on with what is open. */
void courier_wait(struct curl_waitfd *fds, unsigned count);
/* Core is another now: whoever asked does not wait any more. */
void courier_forget(void);

/* courier_main.c */
void courier_say(const struct courier_answer *answer, const char *body);

/* courier_seal.c. Whatever is reached later can be read, nothing written, no program run. 0 or -errno, *ret_what says at what. */
int courier_seal(const struct courier_boot *boot, const char **ret_what);

#endif
