/* Layer names: what the host is called and where we sit in its cgroups is not told.
 *
 * Threat:      the host's name and /proc/self/cgroup tell a jail which machine, customer and container it runs on; a cgroup path
 *              is also where a writable cgroupfs would be attacked.
 * Mechanism:   fixed uts names; unshare(CLONE_NEWCGROUP) makes the group we are in the root of all we see, cgroup_namespaces(7).
 * Order:       after JOINED: we are in the call's own cgroup by then, and a cgroup namespace taken before would show the
 *              path from the old one to the new one. Before caps: both need CAP_SYS_ADMIN of the namespace.
 * If missing:  cgroup namespaces are in 4.6 and can be configured out: layer cgroup_ns, refused unless best_effort.
 * Verified by: verify.c (uname reads "brig"; sethostname is refused); from outside /proc/PID/ns/cgroup.
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <sched.h>

void layer_names_apply(struct layer_state *st)
{
	/* PRIV: CAP_SYS_ADMIN of the jail's own namespace; the uts namespace came with the clone. */
	if (sethostname(JAIL_HOSTNAME, sizeof(JAIL_HOSTNAME) - 1) < 0)
		die_at(LAYER_UTS, "sethostname", errno);
	/* PRIV: as above. The host's NIS or DNS domain was copied into the namespace. */
	if (setdomainname("", 0) < 0)
		die_at(LAYER_UTS, "setdomainname", errno);
	/* PRIV: as above; only narrows what we see. */
	if (unshare(CLONE_NEWCGROUP) == 0)
		return;
	if (errno != EINVAL && errno != ENOSYS)
		die_at(LAYER_CGROUP_NS, "unshare CLONE_NEWCGROUP", errno);
	layer_missing(st, LAYER_CGROUP_NS, "unshare CLONE_NEWCGROUP", errno);
}
