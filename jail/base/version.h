/* One version for the three programs, which only work with each other. */
#ifndef BRIG_BASE_VERSION_H
#define BRIG_BASE_VERSION_H

#define BRIG_VERSION "0.1.0"

#endif
