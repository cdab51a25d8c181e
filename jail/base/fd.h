/* Descriptors: pairs, messages that carry them, whole reads and writes.
 * Fork-safe; every descriptor made here is close-on-exec. */
#ifndef BRIG_BASE_FD_H
#define BRIG_BASE_FD_H

#include "jail/base/compiler.h"

#include <stddef.h>
#include <sys/types.h>

#define FD_MSG_MAX 8 /* descriptors in one message */

/* Sends one SEQPACKET message of len bytes with nfds descriptors. 0 or -errno. */
int fd_send(int sock, const void *msg, size_t len, const int *fds, unsigned nfds);

/* Receives one message that must be exactly len bytes. At most max_fds descriptors
 * are taken (close-on-exec), more are closed and refused; unused entries are -1.
 * Returns 1, 0 at end of file, or -errno (-EPROTO: wrong size, truncated, or
 * too many descriptors). flags: MSG_DONTWAIT or 0. */
int fd_recv(int sock, void *msg, size_t len, int *fds, unsigned max_fds, unsigned *ret_nfds, int flags);

/* All len bytes, through EINTR and short counts. 0 or -errno (read: -ENODATA at early end). */
int fd_write_all(int fd, const void *buf, size_t len);
int fd_read_all(int fd, void *buf, size_t len);

/* Small pseudo-files: the whole content, NUL-terminated, truncated to cap-1; length or -errno. */
ssize_t fd_read_file_at(int dir_fd, const char *path, char *buf, size_t cap);
/* One write() of the string; 0 or -errno. */
int fd_write_file_at(int dir_fd, const char *path, const char *text);

int fd_cloexec_off(int fd);
int fd_nonblock(int fd);
/* A memfd named `name` with these bytes, sealed against every change, mode 0555. fd or -errno. */
int fd_sealed(const char *name, const void *buf, size_t len);

#endif
