/* The answer to `status`: how the supervisor is, as far as core knows. Core only.
 *
 * {"version": "..", "uptime_ms": N, "private": bool, "config": "path" | null, "run_dir": ".." | null, "state_dir": ".." | null,
 *  "processes": [{"role": "keeper" | "core" | "audit" | "zygote", "pid": N,
 *                 of a zygote too: "profile": "..", "generation": N, "state": "starting" | "ready", "parked": N}, ...],
 *  "sockets": [{"name": "agent" | "admin", "path": "..", "connections": N}, ...],
 *  "connections": {"now": N, "max": N}, "calls": {"queued": N, "running": N, "queue_max": N, "running_max": N},
 *  "parked": N, "alive": N, "jails": [{"pid": N, "state": ".."}, ...], "jail_states": {"parked": N, ...},
 *  "sessions": N, "draining": bool, "cgroup": {"kind": "v1" | "v2" | "none", "why": ".." | null},
 *  "restarts": N (cores before this one),
 *  "audit": null | {"connected": bool, "waiting": N, "written": N, "refused": N, "error": ".." | null} (records since core
 *                                                                                                       started)} */
#ifndef BRIG_SUPERVISOR_STATUS_REPORT_H
#define BRIG_SUPERVISOR_STATUS_REPORT_H

#include "supervisor/core_state.h"
#include "supervisor/wire/json.h"

void status_print(struct core *core, struct jbuf *out);
/* The array "supervisor" of doctor's answer (doctor.h). */
void status_own_print(struct core *core, struct jbuf *out);
#endif
