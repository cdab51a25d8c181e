/* What an effective profile does with a path, a host, a system call: the verdict, who wrote the rule, and the layer that holds it. Pure;
 * says what the jail's spec says, from which zygote and jail are built. */
#ifndef BRIG_SUPERVISOR_WHY_H
#define BRIG_SUPERVISOR_WHY_H

#include "supervisor/profile.h"

struct why {
	const char *verdict; /* "allow", "deny"; of a system call also "enosys", "kill" */
	const char *layer;   /* "mount", "net", "seccomp" */
	char rule[64];       /* "pure.json:12", or who took it: "tool: not declared" */
	char text[600], hint[256];
};

/* -EINVAL: it is no absolute path. */
int why_path(const struct profile *profile, const char *path, struct why *ret, struct err *err);
void why_host(const struct profile *profile, const char *host, struct why *ret);
/* -EINVAL: no system call has that name here; the hint has the nearest. */
int why_syscall(const struct profile *profile, const char *name, struct why *ret, struct err *err);

#endif
