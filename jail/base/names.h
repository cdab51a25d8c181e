/* Names of the things that profiles, receipts, doctor and tests speak of. One list, used by all. */
#ifndef BRIG_BASE_NAMES_H
#define BRIG_BASE_NAMES_H

/* Protections of a jail, in the order in which doctor lists them; jail/enter.c has the order of application.
 * The name is what profiles write under "require", what receipts put into
 * "degraded", and what an error of class setup_failed names. */
#define LAYER_LIST(X)                       \
	X(LAYER_FDS, "fds")                 \
	X(LAYER_SESSION, "session")         \
	X(LAYER_USER, "user")               \
	X(LAYER_GROUPS, "groups")           \
	X(LAYER_CGROUP, "cgroup")           \
	X(LAYER_MOUNT, "mount")             \
	X(LAYER_PROC, "proc")               \
	X(LAYER_NET, "net")                 \
	X(LAYER_PID, "pid")                 \
	X(LAYER_IPC, "ipc")                 \
	X(LAYER_UTS, "uts")                 \
	X(LAYER_CGROUP_NS, "cgroup_ns")     \
	X(LAYER_TIME, "time")               \
	X(LAYER_RLIMIT, "rlimit")           \
	X(LAYER_PRIVS, "no_new_privs")      \
	X(LAYER_MDWE, "mdwe")               \
	X(LAYER_SPECULATION, "speculation") \
	X(LAYER_CAPS, "capabilities")       \
	X(LAYER_LANDLOCK, "landlock")       \
	X(LAYER_SECCOMP, "seccomp")

enum layer {
#define X(id, name) id,
	LAYER_LIST(X)
#undef X
	LAYER_COUNT
};
#define LAYER_BIT(l) (1u << (l))

const char *layer_name(enum layer layer);
/* The layer of that name, or -1. */
int layer_find(const char *name);

/* How a call ended; the words of the contract (command line, JSON, audit, metrics, console). */
#define OUTCOME_LIST(X)                                    \
	X(OUTCOME_OK, "ok", 0)                             \
	X(OUTCOME_TOOL_ERROR, "tool_error", 1)             \
	X(OUTCOME_INVALID_ARGUMENTS, "invalid_arguments", 3) \
	X(OUTCOME_DENIED, "denied", 4)                     \
	X(OUTCOME_APPROVAL_PENDING, "approval_pending", 4) \
	X(OUTCOME_SYSCALL_DENIED, "syscall_denied", 4)     \
	X(OUTCOME_TIMEOUT, "timeout", 5)                   \
	X(OUTCOME_CPU_LIMIT, "cpu_limit", 5)               \
	X(OUTCOME_OUT_OF_MEMORY, "out_of_memory", 5)       \
	X(OUTCOME_RESULT_TOO_LARGE, "result_too_large", 5) \
	X(OUTCOME_SETUP_FAILED, "setup_failed", 6)         \
	X(OUTCOME_KILLED, "killed", 7)                     \
	X(OUTCOME_INTERNAL_ERROR, "internal_error", 70)    \
	X(OUTCOME_BUSY, "busy", 75)                        \
	X(OUTCOME_CANCELLED, "cancelled", 130)

enum outcome {
#define X(id, name, status) id,
	OUTCOME_LIST(X)
#undef X
	OUTCOME_COUNT
};

const char *outcome_name(enum outcome outcome);
int outcome_exit_status(enum outcome outcome);
/* The outcome of that name, or -1. */
int outcome_find(const char *name);

#define EXIT_USAGE 2

#endif
