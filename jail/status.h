/* How a starting jail reports: fixed records on its status socket, and die_at().
 *
 * The status socket (SOCK_SEQPACKET, JAIL_FD_STATUS) is held by core. The
 * process that will run the tool closes its copy before it reads the first byte
 * of a request, so nothing that a tool does can speak on it. Under SPEC_INIT the
 * init above the tool keeps a copy (not dumpable, ptrace and pidfd_getfd refused)
 * to forward how the tool ended: PID 1 cannot die of the tool's signal itself.
 *
 *   core -> jail   GO      id map written: enter the layers
 *   core -> jail   JOINED  moved into the call's cgroup: the layers that show or count it may go on
 *   jail -> core   LOCKED  all layers on and verified from inside; carries the
 *                          number of the seccomp listener, timings, findings
 *   core -> jail   PARK    listener fetched (by the zygote): close it, warm up
 *   jail -> core   PARKED  waiting for a request; the socket closes now
 *   init -> core   ENDED   SPEC_INIT only: err holds the tool's raw wait status
 *   jail -> core   FAILED  (any time) the stage, errno and call that failed
 */
#ifndef BRIG_JAIL_STATUS_H
#define BRIG_JAIL_STATUS_H

#include "jail/base/compiler.h"
#include "jail/base/names.h"

#include <stdint.h>

/* Set-up stages in order, for error records and for the bench's cost table. */
#define STAGE_LIST(X)                                \
	X(STAGE_START, "start")                      \
	X(STAGE_FDS, "descriptors")                  \
	X(STAGE_SESSION, "session and keyring")      \
	X(STAGE_GO, "wait for id map")               \
	X(STAGE_USER, "user and groups")             \
	X(STAGE_MOUNT, "root file system")           \
	X(STAGE_RLIMIT, "resource limits")           \
	X(STAGE_PRIVS, "no_new_privs, mdwe, speculation") \
	X(STAGE_JOIN, "wait for cgroup")             \
	X(STAGE_NAMES, "uts, cgroup namespace")      \
	X(STAGE_CAPS, "capabilities")                \
	X(STAGE_LANDLOCK, "landlock")                \
	X(STAGE_VERIFY, "verify")                    \
	X(STAGE_SECCOMP, "seccomp")                  \
	X(STAGE_INIT, "init")                        \
	X(STAGE_PYTHON_FORK, "python after fork")    \
	X(STAGE_WARM, "warm up python")              \
	X(STAGE_PARK, "park")

enum stage {
#define X(id, name) id,
	STAGE_LIST(X)
#undef X
	STAGE_COUNT
};

const char *stage_name(enum stage stage);
/* The layer that a failure in this stage is reported under. */
enum layer stage_layer(enum stage stage);

enum status_kind { STATUS_GO = 1, STATUS_JOINED, STATUS_LOCKED, STATUS_PARK, STATUS_PARKED, STATUS_ENDED, STATUS_FAILED };

#define STATUS_MAGIC 0x42524754u
/* In GO, beside the layers: a call waits for this jail, so a dummy call first would only delay it. */
#define STATUS_HURRY (1u << 31)
_Static_assert(LAYER_COUNT < 31, "STATUS_HURRY is no layer's bit");
#define STATUS_OP_MAX 48

struct status_rec {
	uint32_t magic;
	uint16_t kind;        /* enum status_kind */
	uint16_t stage;       /* FAILED: enum stage */
	int32_t err;          /* FAILED: errno; ENDED: raw wait status */
	int32_t layer;        /* FAILED: enum layer, the one to name */
	int32_t listener_fd;  /* LOCKED: number in the jail, -1 none */
	int32_t landlock_abi; /* LOCKED: 0 none */
	uint32_t degraded;    /* LAYER_BIT()s that are missing and allowed to be; in GO those that core found (cgroup), and STATUS_HURRY */
	uint32_t proven;      /* LOCKED: LAYER_BIT()s whose inside attempts were refused as they must be */
	char op[STATUS_OP_MAX];        /* FAILED: the call */
	uint64_t stage_ns[STAGE_COUNT]; /* LOCKED, PARKED: CLOCK_MONOTONIC spent in each stage */
};

/* In the jail after fork. Sets where records go (and the clock for timings). */
void status_open(int fd);
/* The same socket goes on at another number. */
void status_move(int fd);
/* Sends the FAILED record for the stage entered last and _exit()s. Fork-safe.
 * err is 0 where no call failed but an attempt succeeded that must not. */
void die_at(enum layer layer, const char *op, int err) NORETURN;
/* Marks the beginning of a stage (adds up stage_ns). */
void stage_enter(enum stage stage);
enum stage stage_current(void);
/* Sends *rec with magic and timings filled in; returns 0 or -1 (errno). */
int status_send(struct status_rec *rec);
/* Waits for one record of `kind` from core; dies or _exit()s when core is gone.
 * Returns its `degraded`: the LAYER_BIT()s that core knows to be missing; in GO also STATUS_HURRY. */
uint32_t status_wait(enum status_kind kind);
void status_close(void);

#endif
