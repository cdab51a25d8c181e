/* Core's own walls, before it reads the first byte of a client: what a fault in a parser may not turn into. */
#ifndef BRIG_SUPERVISOR_CORE_SEAL_H
#define BRIG_SUPERVISOR_CORE_SEAL_H

/* Landlock: reads below /proc, /sys and /usr only, writes nowhere, no TCP, no abstract socket or signal outward. A kernel
 * without Landlock leaves what the drop of privilege gives. 0, or -errno when there is Landlock and it refuses. */
int core_seal(void);

#endif
