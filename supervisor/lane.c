/* Lane locks (see lane.h) and the instance name that keeps hosts sharing a
 * control-group tree, but not /run, out of each other's way. */
#include "supervisor/lane.h"

#include "jail/base/fd.h"
#include "supervisor/dirs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#define INSTANCE_LEN 8
#define TMP_NAMES 4u

/* parent/brig[-uid]/lanes; the parent is a system directory or the user's own. */
static int dir_below(const char *parent, const char *name)
{
	_cleanup_close_ int top = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	_cleanup_close_ int mid = dirs_open_own(top, name, geteuid() == 0 ? 0755 : 0700);
	return mid < 0 ? mid : dirs_open_own(mid, "lanes", 0700);
}

static int dir_open(struct err *err)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	char name[32];
	int fd = -ENOENT;

	if (geteuid() == 0)
		fd = dir_below("/run", "brig");
	else if (runtime && runtime[0] == '/')
		fd = dir_below(runtime, "brig");
	/* A name may be taken by someone else (another user namespace's same uid, or spite): the next one is as good. */
	for (unsigned i = 0; fd < 0 && i < TMP_NAMES; i++) {
		snprintf(name, sizeof(name), "brig-%u.%u", (unsigned)geteuid(), i);
		fd = dir_below("/tmp", name);
	}
	if (fd >= 0)
		return fd;
	err_set(err, ERR_HOST, -fd, "lane", "no place for lane locks: neither %s nor /tmp/brig-%u.* is usable: %s",
		geteuid() == 0 ? "/run/brig" : "$XDG_RUNTIME_DIR/brig", (unsigned)geteuid(), strerror(-fd));
	err_hint(err, "make one of them writable by this user and by nobody else");
	return fd;
}

/* Eight random hex digits, made once per lanes directory. */
static int instance_get(int dir, char ret[INSTANCE_LEN + 1], struct err *err)
{
	_cleanup_close_ int fd = openat(dir, "instance", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	uint32_t random;

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_set(err, ERR_HOST, errno, "lane", "cannot open the instance file: %s", strerror(errno));
	ssize_t n = pread(fd, ret, INSTANCE_LEN, 0);
	ret[INSTANCE_LEN] = '\0';
	if (n == INSTANCE_LEN && strspn(ret, "0123456789abcdef") == INSTANCE_LEN)
		return 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(err, ERR_HOST, errno, "lane", "no random number: %s", strerror(errno));
	snprintf(ret, INSTANCE_LEN + 1, "%08x", random);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, ret, INSTANCE_LEN, 0) != INSTANCE_LEN)
		return err_set(err, ERR_HOST, errno, "lane", "cannot write the instance file: %s", strerror(errno));
	return 0;
}

static int lock_try(int dir, unsigned number)
{
	char name[16];

	snprintf(name, sizeof(name), "%u", number);
	_cleanup_close_ int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return -errno;
	return fd_take(&fd);
}

static int take(int dir, unsigned lanes, struct lane *ret, struct err *err)
{
	char instance[INSTANCE_LEN + 1];
	int r = instance_get(dir, instance, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < lanes; i++) {
		int fd = lock_try(dir, i);
		if (fd == -EWOULDBLOCK)
			continue;
		if (fd < 0)
			return err_set(err, ERR_HOST, -fd, "lane", "cannot lock lane %u: %s", i, strerror(-fd));
		ret->number = i;
		ret->lock_fd = fd;
		ret->dir_fd = dir;
		ret->uid = geteuid();
		ret->gid = getegid();
		snprintf(ret->name, sizeof(ret->name), "%s-%u", instance, i);
		return 0;
	}
	err_set(err, ERR_HOST, EBUSY, "lane", "all %u supervisors that may run at once are running", lanes);
	err_hint(err, "wait until one ends, or end one that is idle");
	return -EBUSY;
}

int lane_take_in(const char *path, unsigned lanes, struct lane *ret, struct err *err)
{
	*ret = (struct lane){ .lock_fd = -1, .dir_fd = -1 };
	_cleanup_close_ int dir = dirs_open_own(AT_FDCWD, path, 0700);
	if (dir < 0)
		return err_set(err, ERR_HOST, -dir, "lane", "cannot use %s: %s", path, strerror(-dir));
	int r = take(dir, lanes, ret, err);
	if (r == 0)
		(void)fd_take(&dir);
	return r;
}

static bool may_map_ids(void)
{
	cap_t caps = cap_get_proc();
	cap_flag_value_t uid = CAP_CLEAR, gid = CAP_CLEAR;

	if (caps) {
		(void)cap_get_flag(caps, CAP_SETUID, CAP_EFFECTIVE, &uid);
		(void)cap_get_flag(caps, CAP_SETGID, CAP_EFFECTIVE, &gid);
		cap_free(caps);
	}
	return geteuid() == 0 && uid == CAP_SET && gid == CAP_SET;
}

/* The id outside our user namespace behind `id` (in its parent, which is as far as the kernel shows). */
static bool is_zero_outside(const char *map, uint32_t id)
{
	FILE *f = fopen(map, "re");
	unsigned long inside, outside, count;
	bool zero = false;

	if (!f)
		return true;
	while (fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
		if (id >= inside && id - inside < count && outside + (id - inside) == 0)
			zero = true;
	fclose(f);
	return zero;
}

/* One id for all: ours, if it is not the host's root. */
static int single_check(struct err *err)
{
	bool uid = is_zero_outside("/proc/self/uid_map", geteuid());

	if (!uid && !is_zero_outside("/proc/self/gid_map", getegid()))
		return 0;
	err_set(err, ERR_HOST, EPERM, "ids", "a jail would have to run with %s 0 of the host", uid ? "uid" : "gid");
	err_hint(err, "start brig as an ordinary user whose primary group is not root's, or as root with CAP_SETUID, "
		      "CAP_SETGID and at least %u mapped ids", LANE_IDS);
	return -EPERM;
}

int lane_take(struct lane *ret, struct err *err)
{
	struct lane_ids ids = { 0, LANE_COUNT };
	bool ranged = may_map_ids();
	int r;

	*ret = (struct lane){ .lock_fd = -1, .dir_fd = -1 };
	if (ranged && lane_ids_find(&lane_ids_host, &ids, err) < 0) {
		ids = (struct lane_ids){ 0, LANE_COUNT };
		ranged = false;
		r = single_check(NULL);
		if (r < 0)
			return err->code ? -err->code : r; /* the reason why there is no range is the better one */
	} else if (!ranged) {
		r = single_check(err);
		if (r < 0)
			return r;
	}
	_cleanup_close_ int dir = dir_open(err);
	if (dir < 0)
		return dir;
	r = take(dir, ids.lanes, ret, err);
	if (r < 0)
		return r;
	(void)fd_take(&dir);
	ret->ranged = ranged;
	ret->first_id = ranged ? ids.base + ret->number * LANE_IDS : 0;
	return 0;
}

void lane_release(struct lane *lane)
{
	lane->lock_fd = fd_close(lane->lock_fd);
	lane->dir_fd = fd_close(lane->dir_fd);
}

bool lane_is_alive(const char *name, void *arg)
{
	const struct lane *self = arg;
	const char *number = strchr(name, '-');

	if (strcmp(name, self->name) == 0 || !number)
		return false;
	_cleanup_close_ int fd = openat(self->dir_fd, number + 1, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT; /* cannot tell: leave it alone */
	return flock(fd, LOCK_EX | LOCK_NB) < 0; /* a lock that we did get goes with fd */
}
