/* Layer user: one mapped id, for good, and no group besides it.
 *
 * Threat:      an id that means something on the host owns files, processes and quotas there. Host uid 0 behind the map opens
 *              /proc/sys/kernel/core_pattern for writing even with no capability left (measured); a supplementary group opens
 *              whatever that group may.
 * Mechanism:   the map that the zygote wrote holds 1000 alone; setgroups(0), setresgid, setresuid to it, so that real,
 *              effective, saved and file-system id are that one and no other id can even be named (EINVAL).
 * Order:       after GO (the map must be written), before everything that makes objects owned by us (keyring apart). Groups
 *              before gid before uid: each step needs what the next one gives up. KEEP_CAPS, because the layers up to
 *              capabilities still need the namespace's own. It clears dumpable and PDEATHSIG: privs, later, sets both again.
 * If missing:  without setgroups (a rootless map demands "deny", user_namespaces(7)) foreign groups stay: layer groups, refused
 *              unless best_effort. All else refuses the call.
 * Verified by: verify.c (ids read back, setresuid and setgroups are refused).
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Holding the one mapped group twice gives nothing; any other shows as the overflow gid and does. */
static bool groups_harmless(void)
{
	gid_t groups[64];
	int n = getgroups((int)ARRAY_LEN(groups), groups);

	for (int i = 0; i < n; i++)
		if (groups[i] != JAIL_ID)
			return false;
	return n >= 0; /* EINVAL: more than fit, so some are foreign */
}

static void groups_drop(struct layer_state *st)
{
	if (groups_harmless())
		return;
	/* PRIV: CAP_SETGID of the jail's own namespace; dropping groups only takes away. */
	if (syscall(SYS_setgroups, 0, NULL) == 0)
		return;
	if (errno != EPERM)
		die_at(LAYER_GROUPS, "setgroups", errno);
	layer_missing(st, LAYER_GROUPS, "setgroups", errno);
}

void layer_user_apply(struct layer_state *st)
{
	groups_drop(st);
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		die_at(LAYER_USER, "prctl PR_SET_KEEPCAPS", errno);
	/* PRIV: CAP_SETGID and CAP_SETUID of the jail's own namespace; the map holds only this id. Raw calls: glibc's
	 * would signal every thread, and there is one. */
	if (syscall(SYS_setresgid, JAIL_ID, JAIL_ID, JAIL_ID) < 0)
		die_at(LAYER_USER, "setresgid", errno);
	if (syscall(SYS_setresuid, JAIL_ID, JAIL_ID, JAIL_ID) < 0)
		die_at(LAYER_USER, "setresuid", errno);
}
