/* The flat description of a jail: what core distils from the effective profile,
 * and all that the jail side ever learns of it.
 *
 * Core (unprivileged) fills one, seals it in a memfd and hands it to a new
 * zygote; every jail of that zygote is built from it. One fixed size, no
 * pointers, no offsets; spec_check() proves each bound before anything reads
 * on. It holds nothing that differs from call to call. Bytes that carry nothing
 * (after terminators, behind the last mount or module) are zero: equal jails have
 * equal specs. tmp_bytes 0 means no writable /tmp at all. */
#ifndef BRIG_JAIL_SPEC_H
#define BRIG_JAIL_SPEC_H

#include "jail/base/limits.h"
#include "jail/base/names.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#define SPEC_MAGIC 0x42524753u /* "BRGS" */
#define SPEC_VERSION 1
#define SPEC_NAME_MAX 64
#define SPEC_PATH_MAX 256
#define SPEC_MOUNTS_MAX 32
/* libseccomp's binary tree for the widest shipped profile needs about a third of this; the kernel's own bound is BPF_MAXINSNS. */
#define SPEC_FILTER_MAX 4096
/* Module names, NUL-separated: allowlist and preload list. */
#define SPEC_MODULES_MAX (16u << 10)

enum spec_flag {
	SPEC_INIT = 1u << 0,          /* subprocess granted: a tiny init is PID 1, the tool is PID 2 */
	SPEC_PROC = 1u << 1,          /* mount a procfs (subset=pid, hidepid) at /proc */
	SPEC_SHM = 1u << 2,           /* private sized /dev/shm (multiprocessing, named semaphores) */
	SPEC_LO_UP = 1u << 3,         /* loopback up inside the empty net namespace */
	SPEC_MDWE = 1u << 4,          /* memory-deny-write-execute wanted (profile has no JIT or ctypes) */
	SPEC_FULL_BUILTINS = 1u << 5, /* prelude lifts the builtins list */
	SPEC_SESSION = 1u << 6,       /* the jail takes one request after the other and keeps Python's state between them */
	SPEC_FLAGS_ALL = (1u << 7) - 1,
};

enum spec_mount_flag {
	SPEC_MOUNT_EXEC = 1u << 0,    /* programs there may be executed (else noexec) */
	SPEC_MOUNT_RW = 1u << 1,      /* writable; only the workspace is */
	SPEC_MOUNT_SYMLINK = 1u << 2, /* not a mount: make a symlink `to` -> `from` in the root */
	SPEC_MOUNT_WORKSPACE = 1u << 3, /* the workspace: a mount of each jail's own, on which its id owns what the workspace's owner owns */
	SPEC_MOUNT_ABSENT = 1u << 4,  /* with WORKSPACE: there is none, and so no jail; "from" says nothing */
	SPEC_MOUNT_FLAGS_ALL = (1u << 5) - 1,
};

/* A host path shown in the jail's root. Both paths absolute, normalised, NUL-terminated; a symlink's text may be relative. */
struct spec_mount {
	char from[SPEC_PATH_MAX];
	char to[SPEC_PATH_MAX];
	uint32_t flags;
};

struct spec_limits {
	uint64_t memory_bytes;   /* cgroup memory.max; RLIMIT_AS stand-in only where no cgroup holds it */
	uint64_t tmp_bytes;      /* size of /tmp */
	uint64_t shm_bytes;      /* size of /dev/shm */
	uint64_t file_bytes;     /* RLIMIT_FSIZE */
	uint64_t stack_bytes;    /* RLIMIT_STACK */
	uint32_t tmp_inodes;
	uint32_t pids;           /* cgroup pids.max, tasks of the jail including init; RLIMIT_NPROC too */
	uint32_t open_files;     /* RLIMIT_NOFILE */
	uint32_t cpu_ms;         /* cgroup usage watched by core; RLIMIT_CPU rounds up */
	uint32_t cpu_quota_pct;  /* cpu.max: 100 is one core */
	uint32_t wall_ms;        /* watched by core */
	uint32_t stdout_bytes, stderr_bytes, result_bytes; /* kept by core */
};

struct jail_spec {
	uint32_t magic, version, size; /* size == sizeof(struct jail_spec) */
	uint32_t flags;                /* enum spec_flag */
	uint32_t best_effort;          /* LAYER_BIT()s that may be missing, then reported as degraded */
	uint32_t off;                  /* LAYER_BIT()s that the profile switches off (mdwe only) */
	char profile[SPEC_NAME_MAX];
	struct spec_limits limits;
	uint32_t mount_count;
	struct spec_mount mounts[SPEC_MOUNTS_MAX];
	uint32_t imports_len, preload_len; /* bytes used, each name NUL-terminated */
	char imports[SPEC_MODULES_MAX];
	char preload[SPEC_MODULES_MAX];
	uint32_t prelude_len; /* 0: the prelude built into the zygote */
	char prelude[LIMIT_PRELUDE_BYTES];
	uint32_t filter_len; /* instructions */
	struct sock_filter filter[SPEC_FILTER_MAX];
};

/* Returns NULL when every bound, terminator, flag and path holds, else what is
 * wrong (a static string). Called by core before sealing and by the zygote
 * before use. */
const char *spec_check(const struct jail_spec *spec);

#endif
