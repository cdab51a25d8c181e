/* Who waits for a draining core to be idle (methods_admin.c); core_drain() begins it. Core only. */
#ifndef BRIG_SUPERVISOR_DRAIN_H
#define BRIG_SUPERVISOR_DRAIN_H

#include "supervisor/client.h"

/* Takes calls again. False: core is about to end, and does not. */
bool drain_end(struct core *core);
/* The request is answered as soon as no call is left. Takes pending. 0 or -ENOMEM. */
int drain_wait(struct core *core, struct pending *pending);
/* No call is left, or never will be. */
void drain_answer(struct core *core);
/* {"draining":true,"calls":3} */
void drain_print(const struct core *core, struct jbuf *b);

#endif
