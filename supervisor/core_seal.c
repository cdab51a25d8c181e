#include "supervisor/core_seal.h"

#include "jail/base/compiler.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Of kernels newer than the distribution's headers; Documentation/userspace-api/landlock.rst. */
struct seal_attr {
	uint64_t fs, net, scoped;
};
struct seal_port {
	uint64_t allowed, port;
};
#define FS_REFER_ABI2 (1ull << 13)
#define FS_TRUNCATE_ABI3 (1ull << 14)
#define FS_IOCTL_DEV_ABI5 (1ull << 15)
#define NET_TCP_ABI4 3ull
#define NET_CONNECT_ABI4 2ull
#define RULE_NET_PORT_ABI4 2
#define SCOPE_ALL_ABI6 3ull

#define FS_READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)

static size_t attr_for(int abi, struct seal_attr *attr)
{
	*attr = (struct seal_attr){ .fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1 };
	if (abi >= 2)
		attr->fs |= FS_REFER_ABI2;
	if (abi >= 3)
		attr->fs |= FS_TRUNCATE_ABI3;
	if (abi >= 4)
		attr->net = NET_TCP_ABI4;
	if (abi >= 5)
		attr->fs |= FS_IOCTL_DEV_ABI5;
	if (abi >= 6)
		attr->scoped = SCOPE_ALL_ABI6;
	/* An older kernel takes only the size that it knows. */
	return abi >= 6 ? sizeof(*attr) : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

static int rule_add(int ruleset, const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .allowed_access = FS_READ, .parent_fd = fd };
	struct stat st;

	if (fd < 0) /* a host without it has nothing there to read */
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
	return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
}

int seal_abi(void)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? abi : 0;
}

static int port_add(int ruleset, uint16_t port)
{
	struct seal_port rule = { .allowed = NET_CONNECT_ABI4, .port = port };

	return syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT_ABI4, &rule, 0) < 0 ? -errno : 0;
}

int seal_files(const char *const *readable, size_t count)
{
	return seal(readable, count, NULL, 0);
}

int seal(const char *const *readable, size_t count, const uint16_t *ports, size_t port_count)
{
	int abi = seal_abi();
	struct seal_attr attr;

	if (abi < 1)
		return 0;
	size_t size = attr_for(abi, &attr);
	_cleanup_close_ int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return -errno;
	for (size_t i = 0; i < count; i++) {
		int r = rule_add(ruleset, readable[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; abi >= 4 && i < port_count; i++) {
		int r = port_add(ruleset, ports[i]);
		if (r < 0)
			return r;
	}
	return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

bool core_seal_holds(void)
{
	_cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 && errno == EACCES;
}

int core_seal(void)
{
	/* The jails' status and mounts; control groups and doctor's facts; doctor's look for Python. */
	static const char *const readable[] = { "/proc", "/sys", "/usr" };

	return seal_files(readable, ARRAY_LEN(readable));
}
