/* From granted groups and calls to one BPF program. Core and tests call it; it
 * needs no privilege and no file. */
#ifndef BRIG_SUPERVISOR_PROFILE_SECCOMP_H
#define BRIG_SUPERVISOR_PROFILE_SECCOMP_H

#include "jail/base/err.h"
#include "supervisor/syscall_groups.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#define SECCOMP_NUMBERS 1024 /* no architecture that Brig runs on numbers its calls higher */

/* What is granted, by native number: a set of 1u << enum syscall_check, 0 for not granted. */
struct seccomp_grants {
	uint32_t checks[SECCOMP_NUMBERS];
};

/* A call that this machine does not have (open on arm64, say) is passed over. */
void seccomp_grant_group(struct seccomp_grants *grants, const struct syscall_group *group);
/* False when no call of that name exists here. */
bool seccomp_grant_name(struct seccomp_grants *grants, const char *name);

/* This machine has a call of that name. */
bool seccomp_name_known(const char *name);

/* Writes the program; at most max instructions. */
int seccomp_compile(const struct seccomp_grants *grants, struct sock_filter *insns, uint32_t max, uint32_t *ret_len,
		    struct err *err);

#endif
