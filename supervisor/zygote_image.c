/* Programs that the keeper starts, each as a sealed memfd. */
#include "jail/base/fd.h"
#include "supervisor/zygote_start.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010u
#endif

/* Hosts with vm.memfd_noexec=1 want the word (6.3); older kernels do not know it. */
static int memfd_exec(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

/* name: of the program, then its path. */
static int program_open(const char *path, char *name, size_t cap)
{
	char beside[NAME_MAX];

	ssize_t n;

	snprintf(beside, sizeof(beside), "/%.200s", name);
	if (path) {
		snprintf(name, cap, "%s", path);
	} else {
		n = readlink("/proc/self/exe", name, cap - 1);
		if (n <= 0)
			return n < 0 ? -errno : -ENOENT;
		name[n] = '\0';
		char *slash = strrchr(name, '/');
		if (!slash || (size_t)(slash - name) + strlen(beside) >= cap)
			return -ENAMETOOLONG;
		memcpy(slash, beside, strlen(beside) + 1);
	}
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int copy(int from, int to)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		left -= n;
	}
	if (fchmod(to, 0555) < 0 || fcntl(to, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return 0;
}

static int image_open(const char *program, const char *role, const char *path, struct err *err)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s", program);
	_cleanup_close_ int from = program_open(path, name, sizeof(name));
	if (from < 0) {
		err_set(err, ERR_HOST, -from, role, "cannot open %.200s: %s", name, strerror(-from));
		err_hint(err, "%s must lie beside brigd: run make, or install again", program);
		return from;
	}
	_cleanup_close_ int to = memfd_exec(program);
	if (to < 0) {
		int e = errno;
		err_set(err, ERR_HOST, e, role, "cannot make an executable memfd: %s", strerror(e));
		err_hint(err, "set vm.memfd_noexec to 0 or 1");
		return -e;
	}
	int r = copy(from, to);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, role, "cannot copy %.200s: %s", name, strerror(-r));
	return fd_take(&to);
}

int zygote_image_open(const char *path, struct err *err)
{
	return image_open("brig-zygote", "zygote", path, err);
}

int courier_image_open(struct err *err)
{
	return image_open("brig-courier", "courier", NULL, err);
}
