/* What was really in force: read back from the kernel while the jail is parked,
 * by core, from outside. Nothing here is an intention.
 * Sources: proc_pid_status(5), proc_pid_mountinfo(5), namespaces(7). */
#ifndef BRIG_SUPERVISOR_RECEIPT_H
#define BRIG_SUPERVISOR_RECEIPT_H

#include "jail/base/err.h"
#include "jail/spec.h"
#include "supervisor/cgroup.h"
#include "supervisor/wire/json.h"

struct receipt {
	bool warm;
	bool session;               /* it serves the calls of a session */
	uint32_t namespaces;        /* 1u << enum ns_bit, from the zygote's look at /proc/PID/ns */
	enum cgroup_kind cgroup;
	int landlock_abi;
	uint64_t caps;              /* union of the five sets; 0 is "none" */
	bool no_new_privs;
	bool root_read_only;
	uint32_t host_uid;
	unsigned mounts;
	uint32_t degraded;          /* LAYER_BIT()s */
	const char *filter_digest;  /* borrowed from the profile */
};

/* Reads /proc/PID of the parked jail and checks every fact against the spec.
 * A protection that should hold and does not is an error naming the layer
 * (*ret_layer), whatever the jail said about itself. slot_uid: the host id that
 * the jail must have, uid and gid; 0: the user's own, whatever it is. */
int receipt_read(pid_t pid, const struct jail_spec *spec, uint32_t slot_uid, struct receipt *r, enum layer *ret_layer,
		 struct err *err);
/* Its two halves, over texts already read: /proc/PID/status, and mountinfo (which is taken apart). */
int receipt_take_status(const char *status, uint32_t slot_uid, struct receipt *r, enum layer *ret_layer, struct err *err);
int receipt_take_mounts(char *text, const struct jail_spec *spec, struct receipt *r, enum layer *ret_layer, struct err *err);
/* The namespaces that the zygote found to be the jail's own: all, or missing by leave of the spec. */
int receipt_take_namespaces(uint32_t own, const struct jail_spec *spec, struct receipt *r, enum layer *ret_layer, struct err *err);
void receipt_print(const struct receipt *r, struct jbuf *out);

/* A signal is pending in one of the jail's threads (its main process and direct
 * children; alone: it never had any): how the kernel tells that RLIMIT_FSIZE was touched, since the
 * session layer leaves SIGXFSZ blocked. */
bool receipt_signal_pending(pid_t pid, bool alone, int sig);

#endif
