/* Directories of brigd's own. Keeper only. */
#ifndef BRIG_SUPERVISOR_DIRS_H
#define BRIG_SUPERVISOR_DIRS_H

#include <sys/types.h>

/* What `mkdir -p` makes of the directories above an absolute path, mode 0755. What cannot be made shows at the last one. */
void dirs_make_parents(const char *path);
/* Opens (or makes) one directory that must be our own, no link, and nobody else's to write. fd, -EPERM, or -errno. */
int dirs_open_own(int at, const char *name, mode_t mode);

#endif
