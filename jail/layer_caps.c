/* Layer capabilities: all five sets empty, and no way back.
 *
 * Threat:      even the capabilities of a user namespace reach kernel code (mounting, netfilter, overlay, traffic control) that
 *              most of the last years' local root holes went through.
 * Mechanism:   libcap: bounding set emptied, ambient reset, securebits set and locked (no id or exec gives a capability), then
 *              inheritable, permitted and effective cleared; capabilities(7).
 * Order:       after all layers that need a capability. Inside: bounding set and securebits need CAP_SETPCAP, so the sets go last.
 * If missing:  cannot be; refused.
 * Verified by: verify.c (capset, sethostname, chroot and an ambient raise are refused; securebits read back with their locks); from outside Cap* of /proc/PID/status.
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <sys/capability.h>

void layer_caps_apply(struct layer_state *st UNUSED)
{
	/* libcap asked the running kernel for its highest capability when it was loaded, so those of later headers count too. */
	const cap_value_t count = cap_max_bits();
	cap_t none;

	/* PRIV: CAP_SETPCAP of the jail's own namespace, the last use of it; everything here only takes away. */
	for (cap_value_t cap = 0; cap < count; cap++)
		if (cap_drop_bound(cap) < 0)
			die_at(LAYER_CAPS, "drop bounding set", errno);
	if (cap_get_bound(count) >= 0)
		die_at(LAYER_CAPS, "a capability beyond the last one", 0);
	if (cap_reset_ambient() < 0)
		die_at(LAYER_CAPS, "reset ambient set", errno);
	if (cap_set_secbits(JAIL_SECUREBITS) < 0)
		die_at(LAYER_CAPS, "lock securebits", errno);
	none = cap_init();
	if (!none)
		die_at(LAYER_CAPS, "cap_init", errno);
	if (cap_set_proc(none) < 0)
		die_at(LAYER_CAPS, "capset", errno);
	cap_free(none);
}
