/* Core <-> zygote: fixed messages over one SOCK_SEQPACKET pair. No client byte
 * ever travels here. Descriptors ride along as SCM_RIGHTS; a message with the
 * wrong size, type or number of descriptors ends the zygote.
 *
 *   zygote -> core  READY                        the runtime is up and parked
 *   zygote -> core  START_FAILED                 stage text, errno; then it exits
 *   core -> zygote  SPAWN     fds: ZSPAWN_FDS    -> SPAWNED, fd: pidfd   (or SPAWNED with err)
 *   core -> zygote  INSPECT                      -> INSPECTED, fds: seccomp listener, O_PATH of /tmp
 *   zygote -> core  EXITED                       raw wait status of a jail's PID 1
 *   keeper -> zygote  (ZYGOTE_FD_GROUPS) struct zygote_groups, fds: where the next jail of that id enters its control groups itself.
 *                   Not through core: who holds one may put any process into that group.
 */
#ifndef BRIG_JAIL_ZYGOTE_PROTO_H
#define BRIG_JAIL_ZYGOTE_PROTO_H

#include <stdint.h>

#define ZYGOTE_MAGIC 0x42525a59u

/* Descriptors that the zygote program is started with. */
enum zygote_fd {
	ZYGOTE_FD_CONTROL = 3,  /* SEQPACKET to core */
	ZYGOTE_FD_SPEC = 4,     /* sealed memfd, struct jail_spec */
	ZYGOTE_FD_LIFELINE = 5, /* read end of a pipe whose only writer is the keeper; hang-up: die */
	ZYGOTE_FD_GROUPS = 6,   /* SEQPACKET from the keeper, which never reads it */
};

/* One for each v1 hierarchy that a group may have a directory in. */
#define ZYGOTE_GROUP_FDS 4

struct zygote_groups {
	uint32_t magic; /* ZYGOTE_MAGIC */
	uint32_t count; /* of descriptors */
	uint64_t id;    /* as in SPAWN; only grows */
};

/* Descriptors of a jail, by number, from the fds layer on. */
enum jail_fd {
	JAIL_FD_STDIN = 0,   /* /dev/null */
	JAIL_FD_STDOUT = 1,
	JAIL_FD_STDERR = 2,
	JAIL_FD_REQUEST = 3, /* read end: struct request_head, body, arguments; closed before the tool runs */
	JAIL_FD_RESULT = 4,  /* write end: one result frame (jail/frame.h) */
	JAIL_FD_STATUS = 5,  /* gone before the request is read */
	JAIL_FDS,            /* from here on: files of its control groups, gone once it entered them */
};

/* Order of the descriptors in SPAWN. */
enum zspawn_fd { ZSPAWN_STDOUT, ZSPAWN_STDERR, ZSPAWN_REQUEST, ZSPAWN_RESULT, ZSPAWN_STATUS, ZSPAWN_FDS };

enum zygote_kind { ZY_READY = 1, ZY_START_FAILED, ZY_SPAWN, ZY_SPAWNED, ZY_INSPECT, ZY_INSPECTED, ZY_EXITED };

/* Bits of `namespaces`: the jail's differs from the zygote's own or, for time, has offsets set. */
enum ns_bit { NS_USER, NS_MNT, NS_NET, NS_PID, NS_IPC, NS_UTS, NS_CGROUP, NS_TIME, NS_COUNT };
#define NS_NAMES { "user", "mnt", "net", "pid", "ipc", "uts", "cgroup", "time" }

struct zygote_msg {
	uint32_t magic;
	uint32_t kind;        /* enum zygote_kind */
	uint64_t seq;         /* SPAWN and its answers: chosen by core, unique in the zygote's life */
	uint32_t slot;        /* SPAWN: 0..LIMIT_SLOTS-1; selects the jail's host ids */
	uint64_t groups;      /* SPAWN: id of the struct zygote_groups that is for this jail; 0: the keeper moves it */
	int32_t err;          /* SPAWNED, INSPECTED, START_FAILED: errno or 0 */
	int32_t listener_fd;  /* INSPECT: number inside the jail */
	uint32_t namespaces;  /* INSPECTED: 1u << enum ns_bit, read from /proc/PID/ns */
	int32_t wait_status;  /* EXITED */
	uint64_t cpu_us;      /* EXITED: of PID 1 and all that it waited for, set-up included (getrusage(2)) */
	uint32_t stage;       /* START_FAILED: enum layer to name */
	uint64_t fork_ns;     /* SPAWNED: time inside clone3 */
	char op[48];          /* START_FAILED: the call */
	char detail[192];     /* START_FAILED: the path, or Python's own words; may be empty */
};

#endif
