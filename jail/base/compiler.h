/* Attributes shared by every part of Brig. Fork-safe: nothing here runs code of
 * its own except the clean-up helpers, which only close and free. */
#ifndef BRIG_BASE_COMPILER_H
#define BRIG_BASE_COMPILER_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_USE __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

/* Closes fd unless it is -1, keeps errno, and answers -1, so that
 * `fd = fd_close(fd)` disarms the variable it closed. */
static inline int fd_close(int fd)
{
	if (fd >= 0) {
		int saved = errno;
		(void)close(fd);
		errno = saved;
	}
	return -1;
}

/* Hands the descriptor over to the caller and disarms the variable. */
static inline int fd_take(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

static inline void fd_cleanup(int *fd)
{
	*fd = fd_close(*fd);
}

static inline void free_cleanup(void *p)
{
	free(*(void **)p);
}

#define _cleanup_close_ __attribute__((cleanup(fd_cleanup)))
#define _cleanup_free_ __attribute__((cleanup(free_cleanup)))
#define _cleanup_(fn) __attribute__((cleanup(fn)))

#define take_ptr(p)                           \
	({                                    \
		__typeof__(p) taken_ = (p);   \
		(p) = NULL;                   \
		taken_;                       \
	})

#endif
