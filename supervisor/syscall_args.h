/* Argument conditions of allowed calls (enum syscall_check), as libseccomp rules.
 * The filter's default is EPERM, so everything here says what is allowed. */
#ifndef BRIG_SUPERVISOR_SYSCALL_ARGS_H
#define BRIG_SUPERVISOR_SYSCALL_ARGS_H

#include "supervisor/syscall_groups.h"

#include <seccomp.h>

/* Allows call number nr where its arguments fit. 0 or -errno. */
int syscall_args_allow(scmp_filter_ctx ctx, int nr, enum syscall_check check);

#endif
