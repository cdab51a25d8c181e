/* The workspace as jails see it: one mount for each slot, on which that slot's host id stands for the workspace's owner and for
 * nobody else, so that a tool owns what its owner owns, and what it makes belongs to him. mount_setattr(2), ID-mapped mounts.
 *
 * All of them are made at start, in a mount namespace of the keeper's own: afterwards no privilege is needed any more. A zygote is
 * cloned with a copy of that namespace, starts in that directory and takes over what its jails need. Nobody else sees them. */
#include "supervisor/dirs.h"
#include "supervisor/keeper.h"

#include "jail/base/fd.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define MOUNTS_DIR "mounts" /* in state_dir; always empty for everybody else */
/* Nothing but the directories of the slots. */
#define MOUNTS_SIZE "64k"

static int failed(struct err *err, int code, const char *what, const char *path)
{
	err_set(err, ERR_HOST, code, "mount", "cannot %s %.150s: %s", what, path, strerror(code));
	err_hint(err, code == EINVAL || code == EOPNOTSUPP ?
			      "its file system knows no id-mapped mounts (Linux 5.12 and ext4, xfs, btrfs, tmpfs from 6.3 on, ...): keep the workspace on one that does" :
			      "look at workspace in brigd.conf: a directory that is there");
	return -code;
}

static pid_t sleeper(int *ret_pidfd)
{
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_PIDFD, .pidfd = (uintptr_t)ret_pidfd, .exit_signal = SIGCHLD };
	/* PRIV: a user namespace without anybody in it but this child, which does nothing. */
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;)
		(void)pause();
}

static int map_write(pid_t pid, const char *file, uint32_t owner, uint32_t id)
{
	char path[48], map[48];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	snprintf(map, sizeof(map), "%u %u 1\n", owner, id);
	/* PRIV: CAP_SETUID, CAP_SETGID: the ids are the workspace's owner and a slot of our lane. */
	return fd_write_file_at(AT_FDCWD, path, map);
}

/* A user namespace in which `id` of the host is called what the owner is called on the disk. fd or -errno. */
static int map_open(const struct stat *owner, uint32_t id)
{
	_cleanup_close_ int pidfd = -1;
	char path[48];
	pid_t pid = sleeper(&pidfd);
	int r;

	if (pid < 0)
		return -errno;
	r = map_write(pid, "uid_map", owner->st_uid, id);
	if (r == 0)
		r = map_write(pid, "gid_map", owner->st_gid, id);
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	if (r == 0 && (r = open(path, O_RDONLY | O_CLOEXEC)) < 0)
		r = -errno;
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	(void)waitpid(pid, NULL, 0);
	return r;
}

static int slot_mount(const struct keeper *k, int source, const struct stat *owner, unsigned slot)
{
	_cleanup_close_ int map = map_open(owner, k->lane.first_id + LANE_SLOTS + slot);
	char name[16];

	if (map < 0)
		return map;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
				   .propagation = MS_PRIVATE,
				   .userns_fd = (uint64_t)map };
	/* PRIV: CAP_SYS_ADMIN. Not what is mounted below: it has owners of its own. */
	_cleanup_close_ int tree = open_tree(source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	snprintf(name, sizeof(name), "%u", slot);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 || mkdirat(k->mounts_fd, name, 0755) < 0 ||
	    move_mount(tree, "", k->mounts_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

/* Ours alone, but what the host mounts later still comes in: profiles may show it. */
static int namespace_enter(void)
{
	/* PRIV: CAP_SYS_ADMIN; nothing propagates to the host from here on. */
	return unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ? -errno : 0;
}

static int place_make(struct keeper *k)
{
	dirs_make_parents(k->boot->config.state_dir);
	_cleanup_close_ int state = dirs_open_own(AT_FDCWD, k->boot->config.state_dir, 0755);
	_cleanup_close_ int dir = state < 0 ? -1 : dirs_open_own(state, MOUNTS_DIR, 0700);
	if (state < 0 || dir < 0)
		return state < 0 ? state : dir;
	_cleanup_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "size", MOUNTS_SIZE, 0) < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	k->mounts_fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (k->mounts_fd < 0 || move_mount(k->mounts_fd, "", dir, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -errno;
	return 0;
}

int keeper_mounts_open(struct keeper *k, struct err *err)
{
	const char *path = k->boot->config.workspace;
	struct stat owner;
	int r;

	if (!path[0] || !k->lane.ranged) /* rootless: a plain bind, by the zygote */
		return 0;
	r = namespace_enter();
	if (r < 0)
		return failed(err, -r, "make a mount namespace for", path);
	_cleanup_close_ int source = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (source < 0 || fstat(source, &owner) < 0)
		return failed(err, errno, "open the workspace", path);
	r = place_make(k);
	if (r < 0)
		return failed(err, -r, "make a place for its mounts in", k->boot->config.state_dir);
	for (unsigned slot = 0; slot < LIMIT_SLOTS; slot++) {
		r = slot_mount(k, source, &owner, slot);
		if (r < 0)
			return failed(err, -r, "map ids on the workspace", path);
	}
	return 0;
}
