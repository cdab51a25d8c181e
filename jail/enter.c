/* From clone to parked: the whole of a jail on one page. The network namespace is
 * there already: the zygote makes one ahead for each jail (layer_net.c). Each layer is a file of
 * its own (layer_<name>.c) and tells there why it sits where it does; this table
 * is the only place where the order is written. */
#include "jail/enter.h"

#include "jail/init.h"
#include "jail/layer.h"
#include "jail/python.h"

#include <sys/mman.h>

/* Until the zygote wrote the id map. Core says with it what this host cannot give. */
static void go_wait(struct layer_state *st)
{
	uint32_t gone = status_wait(STATUS_GO);

	st->hurry = gone & STATUS_HURRY;
	for (int layer = 0; layer < LAYER_COUNT; layer++)
		if (gone & LAYER_BIT(layer))
			layer_missing(st, (enum layer)layer, "core found it missing", 0);
}

static void join_wait(struct layer_state *st UNUSED)
{
	(void)status_wait(STATUS_JOINED);
}

/* clang-format off */
static const struct step {
	enum stage stage;
	void (*apply)(struct layer_state *st);
} steps[] = {
	/* Needs no privilege; from here on no inherited descriptor can be reached, whatever fails below. */
	{ STAGE_FDS,      layer_fds_apply },
	/* Needs no privilege; no handler or key of the zygote's outlives it. */
	{ STAGE_SESSION,  layer_session_apply },
	/* All below needs the id map. */
	{ STAGE_GO,       go_wait },
	/* First use of the id map. Capabilities are kept; what the layers below make belongs to the jail's id. */
	{ STAGE_USER,     layer_user_apply },
	/* CAP_SYS_ADMIN. procfs before the pivot; after it the host's tree does not exist for us. */
	{ STAGE_MOUNT,    layer_mount_apply },
	/* After the layers that open many descriptors, before prlimit is filtered. */
	{ STAGE_RLIMIT,   layer_rlimit_apply },
	/* After the last change of ids (it resets dumpable and the death signal); landlock and seccomp ask for it. */
	{ STAGE_PRIVS,    layer_privs_apply },
	/* As late as can be: the keeper moves us while we are busy above. What we used so far is the supervisor's cost. */
	{ STAGE_JOIN,     join_wait },
	/* CAP_SYS_ADMIN. After the move: the call's cgroup becomes the root of all we see. */
	{ STAGE_NAMES,    layer_names_apply },
	/* After the last layer that needs a capability. */
	{ STAGE_CAPS,     layer_caps_apply },
	/* After the last mount, which it forbids; rules name files of the final root. */
	{ STAGE_LANDLOCK, layer_landlock_apply },
	/* Each refusal is still that of the layer it is counted for: seccomp would refuse nearly all of it. */
	{ STAGE_VERIFY,   verify_inside },
	/* Last: no profile allows the calls above. */
	{ STAGE_SECCOMP,  layer_seccomp_apply },
	{ STAGE_SECCOMP,  verify_seccomp },
};
/* clang-format on */

void layer_missing(struct layer_state *st, enum layer layer, const char *op, int err)
{
	if (!(st->spec->best_effort & LAYER_BIT(layer)))
		die_at(layer, op, err);
	st->degraded |= LAYER_BIT(layer);
}

static void locked_send(const struct layer_state *st)
{
	struct status_rec rec = {
		.kind = STATUS_LOCKED,
		.layer = -1,
		.listener_fd = st->listener_fd,
		.landlock_abi = st->landlock_abi,
		.degraded = st->degraded,
		.proven = st->proven,
	};

	if (status_send(&rec) < 0)
		die_at(LAYER_SECCOMP, "write LOCKED", errno);
}

/* The dummy call pays for the page faults of the real one, where there is time for it. It runs in the process that will run the tool. */
static void runtime_warm(const struct layer_state *st)
{
	stage_enter(STAGE_PYTHON_FORK);
	python_after_fork_child();
	stage_enter(STAGE_WARM);
	if (!st->hurry)
		python_warm();
}

/* It names the host's paths behind the mounts and the profile: nothing that a tool shall find in its own memory. */
static void spec_forget(struct layer_state *st)
{
	if (munmap((void *)st->spec, sizeof(*st->spec)) < 0)
		die_at(LAYER_SECCOMP, "munmap spec", errno);
	st->spec = NULL;
}

/* LOCKED -> PARK -> PARKED (jail/status.h). Without an init above, the runtime warms up while core inspects us. */
static void park(struct layer_state *st)
{
	const bool split = st->spec->flags & SPEC_INIT;
	struct status_rec rec = { .kind = STATUS_PARKED, .layer = -1, .listener_fd = -1 };

	stage_enter(STAGE_PARK);
	locked_send(st);
	spec_forget(st);
	if (!split)
		runtime_warm(st);
	stage_enter(STAGE_PARK);
	status_wait(STATUS_PARK);
	/* Core holds the listener now; with our copy gone a tool can never answer its own notifications. */
	st->listener_fd = fd_close(st->listener_fd);
	if (split) {
		stage_enter(STAGE_INIT);
		init_split();
		runtime_warm(st);
		stage_enter(STAGE_PARK);
	}
	if (status_send(&rec) < 0)
		die_at(LAYER_SECCOMP, "write PARKED", errno);
	status_close();
}

void jail_enter(const struct jail_boot *boot)
{
	struct layer_state st = { .boot = boot, .spec = boot->spec, .listener_fd = -1 };

	status_open(boot->fds[ZSPAWN_STATUS]);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		stage_enter(steps[i].stage);
		steps[i].apply(&st);
	}
	park(&st);
	python_serve(JAIL_FD_REQUEST, JAIL_FD_RESULT);
}
