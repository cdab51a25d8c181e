/* Landlock walls of brigd's own roles, before they read the first byte of a stranger: what a fault in a parser may not turn
 * into. A kernel without Landlock leaves what the drop of privilege gives. 0, or -errno when there is Landlock and it refuses. */
#ifndef BRIG_SUPERVISOR_CORE_SEAL_H
#define BRIG_SUPERVISOR_CORE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads below these directories only, writes nowhere, no TCP, no abstract socket or signal outward. Open descriptors stay. */
int seal_files(const char *const *readable, size_t count);
/* The same, where readable may name files too, and TCP connections to these ports may be made (before ABI 4: to any). */
int seal(const char *const *readable, size_t count, const uint16_t *ports, size_t port_count);
/* Core's: /proc, /sys and /usr. */
int core_seal(void);
/* The kernel's Landlock ABI; 0: it has none. */
int seal_abi(void);
/* An attempt that core's seal must refuse: to read the root directory, which everybody else may. */
bool core_seal_holds(void);

#endif
