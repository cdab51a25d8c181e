/* Whole files that a caller named, bounded, and never one that could block. */
#ifndef BRIG_AGENT_FILE_H
#define BRIG_AGENT_FILE_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct bytes {
	char *data; /* malloc'd, followed by a NUL that is not counted */
	size_t len;
};
void bytes_done(struct bytes *b);

/* Reads a regular file of at most max bytes. Anything else (directory, FIFO, socket, device) is refused without waiting
 * for it. */
int file_read(const char *path, size_t max, struct bytes *ret, struct err *err);
/* The same of a file in an open directory that a stranger may have filled: a symbolic link is refused too. */
int file_read_at(int dir_fd, const char *name, size_t max, struct bytes *ret, struct err *err);
/* Reads a descriptor to its end, at most max bytes. -ECANCELED when stop_fd becomes readable first. */
int file_read_stream(int fd, int stop_fd, const char *name, size_t max, struct bytes *ret, struct err *err);
/* The text is UTF-8 and holds no NUL; the error tells byte offset and line. */
int file_check_text(const char *name, const struct bytes *b, struct err *err);

/* A --profile value is a file when it holds a slash or ends in .json, else a name. */
bool file_is_profile(const char *value);
/* Its text, at most LIMIT_PROFILE_BYTES; the supervisor judges what it says. */
int file_read_profile(const char *path, struct bytes *ret, struct err *err);

#endif
