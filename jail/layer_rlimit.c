/* Layer rlimit: per-process bounds where no cgroup counts.
 *
 * Threat:      descriptors, core dumps, locked pages, message queues, queued signals and file sizes are no cgroup's business; a
 *              core dump piped by core_pattern starts a root helper on the host.
 * Mechanism:   setrlimit(2), soft = hard, downwards only: nobody here holds CAP_SYS_RESOURCE of the initial namespace.
 *              RLIMIT_CORE is 0; but 1 byte where the host's core_pattern pipes and the profile starts programs: the tool itself is not
 *              dumpable (privs), what it executes is, and 0 does not stop a dump that is piped, 1 does (core(5); do_coredump()).
 *              The filter lets nobody lower it.
 *              RLIMIT_CPU is the backup of core's watch on cgroup usage: a second late, and hard, since SIGXCPU's default
 *              action does not reach a PID 1. It counts a process's whole life, so a session's jail has none: core refuses
 *              a session where no cgroup counts.
 * Order:       after mount (libnl and the mounts open descriptors above a small nofile), before seccomp (prlimit is refused).
 * If missing:  cannot be; a lower hard limit of the host stands and is no error, but for 0 bytes of core where the host pipes
 *              dumps and the profile starts programs: refused.
 * Verified by: verify.c (raising one is EPERM).
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <sys/resource.h>

/* Timers and sigqueue() of a few threads; the default is one for every task of the machine. */
#define SIGPENDING_MAX 64
/* Above pids.max, so that this second wall is never the first to be met. */
#define NPROC_ROOM 8
/* Addresses without memory behind them (mapped libraries, reserved arenas, thread stacks) that a whole Python with numpy shows. */
#define ADDRESS_ROOM (1ull << 30)

static void limit_set(__rlimit_resource_t what, uint64_t value, const char *op)
{
	struct rlimit want = { .rlim_cur = value, .rlim_max = value }, have;

	if (setrlimit(what, &want) == 0)
		return;
	if (errno != EPERM)
		die_at(LAYER_RLIMIT, op, errno);
	if (getrlimit(what, &have) < 0)
		die_at(LAYER_RLIMIT, "getrlimit", errno);
	if (have.rlim_max > want.rlim_max)
		die_at(LAYER_RLIMIT, op, EPERM);
	want.rlim_cur = want.rlim_max = have.rlim_max;
	if (setrlimit(what, &want) < 0)
		die_at(LAYER_RLIMIT, op, errno);
}

static void core_limit_set(const struct layer_state *st)
{
	const bool piped = st->boot->core_piped && (st->spec->flags & SPEC_INIT);
	struct rlimit have;

	limit_set(RLIMIT_CORE, piped ? 1 : 0, "setrlimit core");
	if (getrlimit(RLIMIT_CORE, &have) < 0)
		die_at(LAYER_RLIMIT, "getrlimit core", errno);
	if (piped && have.rlim_cur == 0) /* Brig was started with a hard limit of 0 */
		die_at(LAYER_RLIMIT, "hard RLIMIT_CORE is 0, and core_pattern pipes", 0);
}

void layer_rlimit_apply(struct layer_state *st)
{
	const struct spec_limits *l = &st->spec->limits;

	core_limit_set(st);
	limit_set(RLIMIT_NOFILE, l->open_files, "setrlimit nofile");
	limit_set(RLIMIT_FSIZE, l->file_bytes, "setrlimit fsize");
	/* Counted for this id in this user namespace and its parents, threads included; where slots have ids of their own
	 * that is this jail alone. pids.max is the wall and must be touched first, because it counts its refusals. */
	limit_set(RLIMIT_NPROC, st->degraded & LAYER_BIT(LAYER_CGROUP) ? l->pids : l->pids + NPROC_ROOM, "setrlimit nproc");
	limit_set(RLIMIT_STACK, l->stack_bytes, "setrlimit stack");
	limit_set(RLIMIT_MEMLOCK, 0, "setrlimit memlock");
	limit_set(RLIMIT_MSGQUEUE, 0, "setrlimit msgqueue");
	limit_set(RLIMIT_SIGPENDING, SIGPENDING_MAX, "setrlimit sigpending");
	limit_set(RLIMIT_NICE, 0, "setrlimit nice");
	limit_set(RLIMIT_RTPRIO, 0, "setrlimit rtprio");
	if (!(st->spec->flags & SPEC_SESSION))
		limit_set(RLIMIT_CPU, (l->cpu_ms + 999u) / 1000u + 1u, "setrlimit cpu");
	/* No cgroup holds the memory, and the caller said that this will do: private memory by DATA; AS bounds what DATA does
	 * not count (shared mappings). Each process has its own, so it is weaker, and the receipt says so. */
	if (st->degraded & LAYER_BIT(LAYER_CGROUP)) {
		limit_set(RLIMIT_DATA, l->memory_bytes, "setrlimit data");
		limit_set(RLIMIT_AS, l->memory_bytes + ADDRESS_ROOM, "setrlimit as");
	}
}
