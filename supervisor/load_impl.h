/* Between the load*.c files. */
#ifndef BRIG_SUPERVISOR_LOAD_IMPL_H
#define BRIG_SUPERVISOR_LOAD_IMPL_H

#include <limits.h>

/* The profiles that ship with us: ../profiles beside the directory that our binary lies in, where there is one, else the
 * installed ones. A descriptor of the directory, or -1. */
int load_shipped(char path[PATH_MAX]);

#endif
