/* The number behind a pidfd, for looking it up in /proc. Keeper and core. */
#ifndef BRIG_SUPERVISOR_PIDFD_H
#define BRIG_SUPERVISOR_PIDFD_H

#include <sys/types.h>

/* The line "Pid:" of its fdinfo (pidfd_open(2)), in our PID namespace; 0: not visible here, -1: reaped, -EBADF: no pidfd. */
pid_t pidfd_pid(int pidfd);

#endif
