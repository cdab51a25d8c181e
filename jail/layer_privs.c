/* Layer privs (no_new_privs, mdwe, speculation): nothing that runs later can gain what we give up now.
 *
 * Threat:      set-uid programs and file capabilities (exec gains); a debugger or /proc reader of the same id (dumpable); code
 *              written at run time (mdwe); reading other memory through a mistrained predictor or a store bypass (speculation).
 * Mechanism:   prctl(2): PR_SET_NO_NEW_PRIVS; PR_SET_DUMPABLE 0; PR_SET_PDEATHSIG; PR_SET_MDWE refuses mappings that are or
 *              become executable after being writable; PR_SET_SPECULATION_CTRL force-disables store bypass and indirect branch.
 * Order:       after user, since setresuid resets dumpable and the death signal; before landlock and seccomp, which an
 *              unprivileged process may only enter with no_new_privs.
 * If missing:  mdwe needs 6.3; refused unless best_effort (its default). Speculation: where the kernel says that a task has no
 *              switch of its own (spec_ctrl.rst: ENXIO, or EPERM on a host with the mitigation off for all), there is nothing that
 *              a jail could miss; a kernel without the prctl at all (ENODEV, EINVAL): layer speculation.
 * Verified by: verify.c (flags read back, a writable and executable mapping is refused).
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <signal.h>
#include <sys/prctl.h>

#ifndef PR_SET_MDWE /* linux/prctl.h of 6.3 */
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN (1ul << 0)
#endif

static void mdwe_apply(struct layer_state *st)
{
	if (!(st->spec->flags & SPEC_MDWE) || (st->spec->off & LAYER_BIT(LAYER_MDWE)))
		return;
	if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) == 0)
		return;
	if (errno != EINVAL)
		die_at(LAYER_MDWE, "prctl PR_SET_MDWE", errno);
	layer_missing(st, LAYER_MDWE, "prctl PR_SET_MDWE", errno);
}

static void speculation_disable(struct layer_state *st, unsigned long what, const char *op)
{
	int saved;

	if (prctl(PR_SET_SPECULATION_CTRL, what, PR_SPEC_FORCE_DISABLE, 0, 0) == 0)
		return;
	saved = errno;
	if (saved != ENXIO && saved != EPERM && saved != ENODEV && saved != EINVAL)
		die_at(LAYER_SPECULATION, op, saved);
	/* Not per task (bit PR_SPEC_PRCTL clear): the CPU is not affected, or the operator settled it for the machine. Or
	 * force-disabled before, which is for ever. */
	int now = prctl(PR_GET_SPECULATION_CTRL, what, 0, 0, 0);
	if (now >= 0 && (!(now & PR_SPEC_PRCTL) || (now & PR_SPEC_FORCE_DISABLE)))
		return;
	layer_missing(st, LAYER_SPECULATION, op, saved);
}

void layer_privs_apply(struct layer_state *st)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die_at(LAYER_PRIVS, "prctl PR_SET_NO_NEW_PRIVS", errno);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		die_at(LAYER_PRIVS, "prctl PR_SET_DUMPABLE", errno);
	/* The zygote is PID 1 of the namespace above, so its death kills us anyway; this holds even if that changes. There is no
	 * race to check for: a zygote that died before this line has taken us along. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		die_at(LAYER_PRIVS, "prctl PR_SET_PDEATHSIG", errno);
	mdwe_apply(st);
	speculation_disable(st, PR_SPEC_STORE_BYPASS, "prctl speculation: store bypass");
	speculation_disable(st, PR_SPEC_INDIRECT_BRANCH, "prctl speculation: indirect branch");
}
