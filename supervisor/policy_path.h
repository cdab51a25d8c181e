/* Paths in arguments, as texts: what "under" means. What a path leads to only the kernel can say, and does: the jail shows the
 * workspace and nothing beside it. Pure. */
#ifndef BRIG_SUPERVISOR_POLICY_PATH_H
#define BRIG_SUPERVISOR_POLICY_PATH_H

#include <limits.h>
#include <stdbool.h>

/* Absolute, without "//", "." and "..", and without a slash at the end. A relative path begins at `from`, which may be NULL. False: it has no
 * such form (empty, too long, relative to nowhere). */
bool path_canonical(const char *from, const char *path, char ret[PATH_MAX]);
/* Both canonical: path is dir, or lies below it. */
bool path_is_under(const char *path, const char *dir);

#endif
