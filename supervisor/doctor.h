/* brig doctor: what this host lets Brig enforce, layer by layer, with the way out for what is missing.
 *
 * {"verdict": "enforced" | "degraded" | "refused" | "unknown",
 *  "summary": "one line",
 *  "layers": [{"name": "cgroup", "state": "enforced" | "degraded" | "missing" | "unknown", "detail": "...", "fix": "..."}, ...],
 *  "host":   [{"name": "kernel", "state": "ok" | "warn" | "missing" | "unknown", "detail": "...", "fix": "..."}, ...],
 *  "receipt": {...} | null,
 *  of a daemon too: "supervisor": [{"role": "core", "pid": N, "landlock_abi": N, "landlock_proven": bool, "seccomp_proven": bool,
 *                                   "descriptors": N}, ...]}, what only a process itself can tell; brig reads the rest from /proc
 *
 * The layers are judged by the receipt of a real trial jail, never by what the kernel ought to have; the host's facts
 * only explain. "fix" is there only where there is something to do. Called by core. */
#ifndef BRIG_SUPERVISOR_DOCTOR_H
#define BRIG_SUPERVISOR_DOCTOR_H

#include "supervisor/core.h"
#include "supervisor/wire/json.h"

/* Reads the host's facts once. To be called before core takes a filter or a Landlock domain of its own, which would
 * hide or falsify them; doctor_build() calls it when nobody did. Some twenty small reads, under a millisecond. */
void doctor_probe(void);

struct doctor_input {
	const char *receipt_json; /* "receipt" of the trial's result; NULL: there was none */
	/* Where and why a call with the default profile is refused, or NULL. A receipt beside it is of a second trial, with
	 * best_effort. */
	const char *error_layer, *error_text;
	bool peer_known;
	uid_t peer;               /* who asks */
	const char *supervisor;   /* the array of that name, or NULL */
};

/* Appends the object. Returns 0 or -EINVAL (receipt is no JSON object). */
int doctor_build(struct jbuf *out, const struct core_boot *boot, const struct doctor_input *in);

#endif
