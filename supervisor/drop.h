/* How a role of brigd that needs no privilege gives it up. */
#ifndef BRIG_SUPERVISOR_DROP_H
#define BRIG_SUPERVISOR_DROP_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <sys/types.h>

/* Becomes uid (as_root: it starts with root's ids, and the id is this role's alone), without groups, without any capability,
 * with no_new_privs and not dumpable, and proves that there is no way back. The change of ids clears a parent-death signal. */
int drop_privilege(bool as_root, uid_t uid, struct err *err);

#endif
