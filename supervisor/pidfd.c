#include "supervisor/pidfd.h"

#include "jail/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pid_t pidfd_pid(int pidfd)
{
	char path[48], text[512];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -EBADF;
	const char *at = strstr(text, "\nPid:");
	return at ? (pid_t)strtol(at + 5, NULL, 10) : -EBADF;
}
