/* The keeper's side of the registry: it makes and opens the files by fixed names, and lends them to core. Of what stands in them it reads nothing. */
#include "supervisor/dirs.h"
#include "supervisor/keeper.h"

#include "jail/base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int failed(struct err *err, int code, const char *what)
{
	/* Core knows the path, and says it. */
	return err_set(err, ERR_HOST, code, "registry", "%s", what);
}

static int file_open(int dir, const char *name)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || st.st_uid != geteuid() || (st.st_mode & 0022))
		return -EPERM;
	return fd_take(&fd);
}

static int dir_open(const struct keeper *k)
{
	const char *path = k->boot->config.state_dir;

	dirs_make_parents(path);
	_cleanup_close_ int state = dirs_open_own(AT_FDCWD, path, 0755);
	return state < 0 ? state : dirs_open_own(state, STORE_DIR, 0700);
}

int keeper_store_open(struct keeper *k, struct err *err)
{
	if (k->store_fd[STORE_DB] >= 0)
		return 0;
	_cleanup_close_ int dir = dir_open(k);
	if (dir < 0)
		return failed(err, -dir, dir == -EPERM ? "the directory is not ours alone" : "cannot make or open it");
	int fds[STORE_FILES] = { -1, -1, -1, -1 };
	for (int i = 0; i < STORE_FILES; i++) {
		fds[i] = file_open(dir, store_file_names[i]);
		if (fds[i] >= 0)
			continue;
		int code = -fds[i];
		while (i-- > 0)
			fd_close(fds[i]);
		return failed(err, code, code == EPERM ? "a file there is not ours alone" : "cannot open its files");
	}
	memcpy(k->store_fd, fds, sizeof(fds));
	return 0;
}

void keeper_store_close(struct keeper *k)
{
	for (int i = 0; i < STORE_FILES; i++)
		k->store_fd[i] = fd_close(k->store_fd[i]);
}
