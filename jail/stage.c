/* Names of the set-up stages; the supervisor links this too, to say which one failed. */
#include "jail/status.h"

static const char *const stage_names[STAGE_COUNT] = {
#define X(id, name) [id] = name,
	STAGE_LIST(X)
#undef X
};

/* Where a stage has no layer of its own, the one whose promise would be broken by going on. */
static const enum layer stage_layers[STAGE_COUNT] = {
	[STAGE_START] = LAYER_PID,
	[STAGE_GO] = LAYER_USER,
	[STAGE_JOIN] = LAYER_CGROUP,
	[STAGE_FDS] = LAYER_FDS,
	[STAGE_SESSION] = LAYER_SESSION,
	[STAGE_USER] = LAYER_USER,
	[STAGE_NAMES] = LAYER_UTS,
	[STAGE_MOUNT] = LAYER_MOUNT,
	[STAGE_RLIMIT] = LAYER_RLIMIT,
	[STAGE_PYTHON_FORK] = LAYER_PID,
	[STAGE_WARM] = LAYER_PID,
	[STAGE_PRIVS] = LAYER_PRIVS,
	[STAGE_CAPS] = LAYER_CAPS,
	[STAGE_LANDLOCK] = LAYER_LANDLOCK,
	[STAGE_SECCOMP] = LAYER_SECCOMP,
	[STAGE_VERIFY] = LAYER_SECCOMP,
	[STAGE_INIT] = LAYER_PID,
	[STAGE_PARK] = LAYER_SECCOMP,
};

const char *stage_name(enum stage stage)
{
	return stage < STAGE_COUNT ? stage_names[stage] : "unknown";
}

enum layer stage_layer(enum stage stage)
{
	return stage < STAGE_COUNT ? stage_layers[stage] : LAYER_PID;
}
