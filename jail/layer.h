/* The layers of a jail. One file each (layer_<name>.c), each with the header
 * Threat / Mechanism / Order / If missing / Verified by / Tests. jail/enter.c
 * holds the order. An apply function returns only when its layer holds or when it
 * is missing and the spec allows that (then its bit is set in *degraded);
 * everything else ends in die_at(). Fork-safe: no stdio, and no malloc but libcap's own,
 * which one thread (zygote_main.c insists on it) may call after a fork. */
#ifndef BRIG_JAIL_LAYER_H
#define BRIG_JAIL_LAYER_H

#include "jail/enter.h"
#include "jail/status.h"

#include <linux/securebits.h>
#include <stdbool.h>
#include <stdint.h>

/* Every base flag as it shall stay, and its lock. KEEP_CAPS stays off. linux/securebits.h, capabilities(7). */
#define JAIL_SECUREBITS                                                                                                           \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
	 SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

struct layer_state {
	const struct jail_boot *boot;
	const struct jail_spec *spec;
	uint32_t degraded;    /* LAYER_BIT()s that are missing and allowed to be */
	uint32_t proven;      /* LAYER_BIT()s whose verify attempts were refused as they must be */
	int listener_fd;      /* seccomp notification, -1 before */
	int landlock_abi;     /* 0: none */
	bool hurry;           /* a call waits: no dummy call */
};

void layer_fds_apply(struct layer_state *st);     /* only the declared descriptors, at their numbers */
void layer_session_apply(struct layer_state *st); /* setsid, no tty, empty keyring, signals reset */
void layer_user_apply(struct layer_state *st);    /* groups, gid, uid: the mapped id, provably for good */
void layer_names_apply(struct layer_state *st);   /* uts names, cgroup namespace */
void layer_mount_apply(struct layer_state *st);   /* root, tmpfs, proc, pivot */
void layer_rlimit_apply(struct layer_state *st);
void layer_privs_apply(struct layer_state *st);   /* no_new_privs, dumpable, MDWE, speculation */
void layer_caps_apply(struct layer_state *st);    /* bounding, securebits, ambient, empty sets (libcap) */
void layer_landlock_apply(struct layer_state *st);
void layer_seccomp_apply(struct layer_state *st);

/* The zygote's part of the net layer, ahead of each clone: enters a new, empty, checked network namespace.
 * NULL, or what failed (errno; 0 where the namespace was not as it must be). */
const char *net_make(bool lo_up);

/* Attempts that must fail now, for each layer that can be tried from inside; dies where one succeeds. Before seccomp. */
void verify_inside(struct layer_state *st);
/* The same for the filter, once it is on. */
void verify_seccomp(struct layer_state *st);

/* Reports `layer` as missing: sets degraded when the spec allows it, else dies by name. */
void layer_missing(struct layer_state *st, enum layer layer, const char *op, int err);

#endif
