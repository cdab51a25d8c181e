/* Taking no more calls: because an operator says so (method drain), or because
 * brigd ends. What was accepted goes on and is answered. Core only. */
#ifndef BRIG_SUPERVISOR_DRAIN_H
#define BRIG_SUPERVISOR_DRAIN_H

#include "supervisor/client.h"

/* From now on new calls are answered as busy (core->draining). */
void drain_begin(struct core *core);
/* Takes calls again. False: core is about to end, and does not. */
bool drain_end(struct core *core);
/* The request is answered as soon as no call is left. Takes pending. 0 or -ENOMEM. */
int drain_wait(struct core *core, struct pending *pending);
/* The same as drain_begin(), and core ends once no call is left, `ms` from now at the latest: what is queued then
 * is answered as busy, what runs as internal_error. Again with a shorter time: that one holds. */
void drain_and_leave(struct core *core, uint32_t ms);
/* No call is left (core_leave_if_idle() tells). */
void drain_idle(struct core *core);
/* Before core is freed. */
void drain_done(struct core *core);
/* {"draining":true,"calls":3} */
void drain_print(const struct core *core, struct jbuf *b);

#endif
