/* What the service manager is told (sd_notify(3), the protocol without the library). Keeper only; nothing
 * happens where NOTIFY_SOCKET is not set. */
#ifndef BRIG_SUPERVISOR_NOTIFY_H
#define BRIG_SUPERVISOR_NOTIFY_H

#include "jail/base/compiler.h"

/* Once, before the first fork; takes NOTIFY_SOCKET out of the environment. An address that cannot be one is -EINVAL. */
int notify_open(void);
/* Lines such as "READY=1\nSTATUS=..."; one that cannot be sent is lost, as the protocol has it. */
void notify_send(const char *fmt, ...) PRINTF_LIKE(1, 2);

#endif
