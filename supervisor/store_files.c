#include "supervisor/store_files.h"

#include "jail/base/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const store_file_names[STORE_FILES] = {
	[STORE_DB] = "registry.db",
	[STORE_JOURNAL] = "registry.db-journal",
	[STORE_WAL] = "registry.db-wal",
	[STORE_SHM] = "registry.db-shm",
};

/* SQLite passes no argument to what it calls. */
static int held[STORE_FILES] = { -1, -1, -1, -1 };

static int file_of(const char *path)
{
	static const char dir[] = "/brig/";

	if (strncmp(path, dir, sizeof(dir) - 1) == 0)
		for (int i = 0; i < STORE_FILES; i++)
			if (held[i] >= 0 && strcmp(path + sizeof(dir) - 1, store_file_names[i]) == 0)
				return held[i];
	errno = ENOENT;
	return -1;
}

/* A duplicate, since SQLite closes what it opened. Positions are shared and mean nothing: it reads and writes at offsets. */
static int files_open(const char *path, int flags UNUSED, int mode UNUSED)
{
	int fd = file_of(path);

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* An empty file is one that is not there, which is how SQLite, too, takes an empty journal. */
static int files_stat(const char *path, struct stat *ret)
{
	int fd = file_of(path);

	if (fd < 0 || fstat(fd, ret) < 0)
		return -1;
	if (ret->st_size > 0 || fd == held[STORE_DB])
		return 0;
	errno = ENOENT;
	return -1;
}

/* No path of ours is a link. */
static int files_lstat(const char *path UNUSED, struct stat *ret UNUSED)
{
	errno = ENOENT;
	return -1;
}

static int files_access(const char *path, int mode UNUSED)
{
	struct stat st;

	return files_stat(path, &st);
}

static int files_unlink(const char *path)
{
	int fd = file_of(path);

	return fd < 0 ? -1 : ftruncate(fd, 0);
}

/* Names never change, so there is no directory to write down. */
static int files_directory(const char *path UNUSED, int *ret UNUSED)
{
	return SQLITE_CANTOPEN;
}

static ssize_t files_readlink(const char *path UNUSED, char *buf UNUSED, size_t cap UNUSED)
{
	errno = EINVAL;
	return -1;
}

static int files_refuse(const char *path UNUSED)
{
	errno = EACCES;
	return -1;
}

static const struct {
	const char *name;
	sqlite3_syscall_ptr call;
} calls[] = {
	{ "open", (sqlite3_syscall_ptr)files_open },
	{ "stat", (sqlite3_syscall_ptr)files_stat },
	{ "lstat", (sqlite3_syscall_ptr)files_lstat },
	{ "access", (sqlite3_syscall_ptr)files_access },
	{ "unlink", (sqlite3_syscall_ptr)files_unlink },
	{ "openDirectory", (sqlite3_syscall_ptr)files_directory },
	{ "readlink", (sqlite3_syscall_ptr)files_readlink },
	{ "mkdir", (sqlite3_syscall_ptr)files_refuse },
	{ "rmdir", (sqlite3_syscall_ptr)files_refuse },
};

int store_files_serve(const int fds[STORE_FILES])
{
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

	if (!vfs || vfs->iVersion < 3)
		return -ENOSYS;
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call) != SQLITE_OK)
			return -ENOSYS;
	memcpy(held, fds, sizeof(held));
	return 0;
}
