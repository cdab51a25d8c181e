#include "supervisor/dirs.h"

#include "jail/base/compiler.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

void dirs_make_parents(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		(void)mkdir(part, 0755);
	}
}

int dirs_open_own(int at, const char *name, mode_t mode)
{
	struct stat st;

	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return -errno;
	_cleanup_close_ int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return -EPERM;
	return fd_take(&fd);
}
