/* Core <-> keeper: fixed messages over one SOCK_SEQPACKET pair, one answer to
 * each, in order. This is the whole privileged surface: slot numbers and
 * numbers, never a path or a byte that a client wrote. The keeper treats core
 * as hostile: ranges are checked, and a malformed message ends the keeper
 * (and with it every jail). No answer waits for anything but the kernel's own work: whoever waits for one waits for all.
 *
 *   ZYGOTE_START  fd: sealed spec    -> fd: core's end of the zygote's control socket, where READY or what stopped it
 *                                    comes later; EUSERS: as many run as may, or were killed and still die
 *   ZYGOTE_STOP                      kills the zygote of `gen` and all its jails; it is reaped when it is dead
 *   CGROUP_NEW    slot, limits, gen  -> back-end, which controllers hold; groups: id of the files that went to that zygote, with
 *                                    which the jail enters by itself (v1), else 0
 *   CGROUP_PROVE  slot, fd: pidfd    that process (checked as for JOIN) entered by itself, or it refuses
 *   CGROUP_JOIN   slot, fd: pidfd    the keeper moves that process (a child of the zygote's PID namespace, or it refuses)
 *   CGROUP_BEGIN  slot               usage counts from here (peak reset where the kernel can) -> view, fds: what it says
 *   CGROUP_READ   slot               -> usage
 *   CGROUP_KILL   slot               every process of the slot dies
 *   CGROUP_DEL    slot               kills, reads usage, removes -> usage; EBUSY, usage: something in it still dies, ask again
 *   STORE                            -> fds: the registry's files (enum store_file), opened now or before
 *
 * Only in a daemon:
 *   READY                            core serves its sockets
 *   ALIVE                            every CORE_ALIVE_MS; a core that is silent for CORE_HUNG_MS is killed and replaced
 *   AUDIT                            -> fd: core's end of a new pair to the audit process; EAGAIN: ask again, it is being started
 *   AUDIT_LOOK    number             -> fd, number: a file of the audit log, to read: the one that by its name holds that record,
 *                                    else the one that grows (number 0)
 *   AUDIT_BEFORE  number             -> the same of the one before it; ENOENT: there is none
 *   COURIER                          -> fd: core's end of a new pair to the courier; EAGAIN: it is being started; only where
 *                                    the configuration names somebody that it could reach
 *   RELOAD                           the keeper reads configuration and profiles again -> fd: sealed, load.h
 *   RELOAD_DONE, RELOAD_REFUSED      core works with what RELOAD gave it, and so will the next core; or does not
 */
#ifndef BRIG_SUPERVISOR_KEEPER_PROTO_H
#define BRIG_SUPERVISOR_KEEPER_PROTO_H

#include "supervisor/cgroup.h"

#include <stdint.h>

#define KEEPER_MAGIC 0x4252474bu

/* Zygotes at once: one per profile in use, and one more of each while generations change. */
#define KEEPER_ZYGOTES 16u

enum keeper_kind {
	KP_ZYGOTE_START = 1,
	KP_ZYGOTE_STOP,
	KP_CGROUP_NEW,
	KP_CGROUP_JOIN,
	KP_CGROUP_BEGIN,
	KP_CGROUP_READ,
	KP_CGROUP_KILL,
	KP_CGROUP_DEL,
	KP_READY,
	KP_ALIVE,
	KP_AUDIT,
	KP_RELOAD,
	KP_RELOAD_DONE,
	KP_RELOAD_REFUSED,
	KP_CGROUP_PROVE,
	KP_AUDIT_LOOK,
	KP_AUDIT_BEFORE,
	KP_STORE,
	KP_COURIER,
};

#define CORE_ALIVE_MS 5000
/* Core's longest wait for the keeper (a zygote that does not start) is 10 s, and that of a host that swaps is longer. */
#define CORE_HUNG_MS  30000

struct keeper_msg {
	uint32_t magic;
	uint32_t kind;
	uint32_t gen;  /* ZYGOTE_*: generation, chosen by core, only grows; CGROUP_NEW: whose jail the group is for */
	uint32_t slot; /* CGROUP_*: 0..LIMIT_SLOTS-1 */
	struct cgroup_limits limits; /* CGROUP_NEW */
	uint64_t number; /* AUDIT_LOOK, AUDIT_BEFORE: of a record */
};

struct keeper_reply {
	uint32_t magic;
	uint32_t kind;
	int32_t err; /* 0 or errno */
	uint32_t cgroup_kind;    /* CGROUP_NEW: enum cgroup_kind */
	uint32_t controllers;    /* CGROUP_NEW: enum cgroup_controller bits that hold */
	uint64_t groups;         /* CGROUP_NEW */
	uint64_t number;         /* AUDIT_LOOK, AUDIT_BEFORE */
	struct cgroup_usage usage; /* CGROUP_READ, CGROUP_DEL */
	struct cgroup_view view;   /* CGROUP_BEGIN */
	int32_t pid;             /* ZYGOTE_START, AUDIT: of that process; only for people to look at */
	uint32_t first_host_uid; /* ZYGOTE_START: host uid of slot 0; slot k has first+k (rootless: the same for all) */
	char op[64];             /* what failed, when err */
};

#endif
