/* Layer mount: a root of its own; the old one is unreachable.
 *
 * Threat:      host files to read (keys, configuration), to write, or to speak through (sockets, FIFOs, devices); set-uid
 *              programs; procfs knobs; filling the host's disks.
 * Mechanism:   the zygote built one base root (read-only binds, device nodes, nosuid) at JAIL_BASE_ROOT; here: open_tree() clone,
 *              private, nosuid; attached over JAIL_BASE_ROOT; the workspace, id-mapped for this slot by the keeper; sized tmpfs on /tmp, on request /dev/shm and a procfs that shows
 *              processes only; pivot_root(".", "."), the old root detached (pivot_root(2), NOTES). All by descriptor. Last, a
 *              standard input from inside, opened for this jail alone.
 * Order:       after user (what is made here belongs to the tool's id), before caps and landlock (both forbid mounting). procfs
 *              before the pivot: the kernel mounts one in a user namespace only while a full one is visible (mount_too_revealing).
 *              By path, not by a descriptor of the zygote's: its mounts belong to the zygote's namespace, and open_tree(2) clones only
 *              from our own (EINVAL); our root is our copy of the zygote's.
 * If missing:  the new mount API is in 5.2, mount_setattr in 5.12: refused. A masked host /proc (EPERM): layer proc, refused unless
 *              best_effort, then the jail has none.
 * Verified by: here (the root is the new tree, nothing lies above it), verify.c; from outside /proc/PID/mountinfo.
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SHM_INODES_MIN 64
#define NUMBER_MAX 24 /* digits of a uint64_t and the terminator, with room */

/* fsconfig() takes sizes as text, and there is no stdio here. */
static const char *number_text(char buf[static NUMBER_MAX], uint64_t n)
{
	size_t at = NUMBER_MAX - 1;

	buf[at] = '\0';
	do
		buf[--at] = (char)('0' + n % 10);
	while ((n /= 10) > 0);
	return buf + at;
}

static int tree_attach(void)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID, .propagation = MS_PRIVATE };
	/* PRIV: CAP_SYS_ADMIN of the jail's own mount namespace, here and in the whole file; a fixed path in the zygote's tree.
	 * The clone is what may be pivoted to: mounts copied by the clone() of the namespace are locked in place. */
	int tree = open_tree(AT_FDCWD, JAIL_BASE_ROOT, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (tree < 0)
		die_at(LAYER_MOUNT, "open_tree base root", errno);
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		die_at(LAYER_MOUNT, "mount_setattr nosuid, private", errno);
	if (move_mount(tree, "", AT_FDCWD, JAIL_BASE_ROOT, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die_at(LAYER_MOUNT, "move_mount root", errno);
	return tree;
}

static void option_set(int fs, const char *key, const char *value)
{
	if (fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0)
		die_at(LAYER_MOUNT, "fsconfig tmpfs", errno);
}

static void tmpfs_mount(int tree, const char *place, uint64_t bytes, uint32_t inodes)
{
	char size_text[NUMBER_MAX], inodes_text[NUMBER_MAX];
	int fs, mnt;

	/* PRIV: a new, empty file system; nothing of the host is in it. */
	fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0)
		die_at(LAYER_MOUNT, "fsopen tmpfs", errno);
	option_set(fs, "size", number_text(size_text, bytes));
	option_set(fs, "nr_inodes", number_text(inodes_text, inodes));
	option_set(fs, "mode", "1777");
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		die_at(LAYER_MOUNT, "fsconfig tmpfs create", errno);
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mnt < 0)
		die_at(LAYER_MOUNT, "fsmount tmpfs", errno);
	if (move_mount(mnt, "", tree, place, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die_at(LAYER_MOUNT, "move_mount tmpfs", errno);
	fd_close(mnt);
	fd_close(fs);
}

/* False when the kernel will not show a procfs here; what else fails dies. */
static bool proc_mount(int tree)
{
	int fs, mnt;

	/* PRIV: shows the jail's own PID namespace and nothing else of /proc (subset=pid, since 5.8), processes it may not
	 * trace not at all (hidepid=ptraceable); proc(5). */
	fs = fsopen("proc", FSOPEN_CLOEXEC);
	if (fs < 0 && errno == EPERM)
		return false;
	if (fs < 0)
		die_at(LAYER_PROC, "fsopen proc", errno);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "subset", "pid", 0) < 0)
		die_at(LAYER_PROC, "fsconfig proc subset=pid", errno);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "hidepid", "ptraceable", 0) < 0)
		die_at(LAYER_PROC, "fsconfig proc hidepid", errno);
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		die_at(LAYER_PROC, "fsconfig proc create", errno);
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mnt < 0 && errno == EPERM) {
		fd_close(fs);
		errno = EPERM;
		return false;
	}
	if (mnt < 0)
		die_at(LAYER_PROC, "fsmount proc", errno);
	if (move_mount(mnt, "", tree, "proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die_at(LAYER_PROC, "move_mount proc", errno);
	fd_close(mnt);
	fd_close(fs);
	return true;
}

static void root_enter(int tree)
{
	if (fchdir(tree) < 0)
		die_at(LAYER_MOUNT, "fchdir new root", errno);
	/* PRIV: puts the old root on top of the new one; the next call takes it away. */
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		die_at(LAYER_MOUNT, "pivot_root", errno);
	/* PRIV: "." is the old root, the uppermost mount here; lazily, because the zygote keeps using its own copy. */
	if (umount2(".", MNT_DETACH) < 0)
		die_at(LAYER_MOUNT, "umount2 old root", errno);
	if (chdir("/") < 0)
		die_at(LAYER_MOUNT, "chdir /", errno);
}

/* Root, its parent and our directory are one and the same place: the tree that was cloned here. */
static void root_prove(int tree)
{
	static const char *const places[] = { "/", "/..", "." };
	struct statx want, got;

	if (statx(tree, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &want) < 0)
		die_at(LAYER_MOUNT, "statx new root", errno);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (statx(AT_FDCWD, places[i], 0, STATX_INO | STATX_MNT_ID, &got) < 0)
			die_at(LAYER_MOUNT, "statx root", errno);
		if (got.stx_ino != want.stx_ino || got.stx_dev_minor != want.stx_dev_minor ||
		    got.stx_dev_major != want.stx_dev_major || got.stx_mnt_id != want.stx_mnt_id)
			die_at(LAYER_MOUNT, "the old root is still there", 0);
	}
}

/* What the fds layer put there is one open file for all jails of the zygote: its flags and its locks would outlive this
 * call and be seen by the next, and it lies on a mount of the host's where a touch is written down. */
static void stdin_renew(void)
{
	int fd = open("/dev/null", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		die_at(LAYER_MOUNT, "open /dev/null", errno);
	if (dup3(fd, JAIL_FD_STDIN, 0) < 0)
		die_at(LAYER_MOUNT, "dup3 stdin", errno);
	fd_close(fd);
}

/* The one that was made for our id (zygote_root.c): what else lies there goes with the old root. */
static void workspace_mount(int tree, const struct spec_mount *m, uint32_t number)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, .propagation = MS_PRIVATE };
	static const char dir[] = JAIL_WORKSPACES "/";
	char path[sizeof(dir) + NUMBER_MAX], digits[NUMBER_MAX];
	const char *text = number_text(digits, number);
	int mnt;

	memcpy(mempcpy(path, dir, sizeof(dir) - 1), text, strlen(text) + 1);
	/* PRIV: a clone within our own mount namespace; it can only become stricter. */
	mnt = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (mnt < 0)
		die_at(LAYER_MOUNT, "open_tree workspace", errno);
	if (!(m->flags & SPEC_MOUNT_RW))
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (mount_setattr(mnt, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		die_at(LAYER_MOUNT, "mount_setattr workspace", errno);
	if (move_mount(mnt, "", tree, m->to + 1, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die_at(LAYER_MOUNT, "move_mount workspace", errno);
	fd_close(mnt);
}

void layer_mount_apply(struct layer_state *st)
{
	const struct spec_limits *limits = &st->spec->limits;
	int tree = tree_attach();

	for (uint32_t i = 0; i < st->spec->mount_count; i++)
		if (st->spec->mounts[i].flags & SPEC_MOUNT_WORKSPACE)
			workspace_mount(tree, &st->spec->mounts[i], st->boot->workspace);
	if (limits->tmp_bytes > 0)
		tmpfs_mount(tree, "tmp", limits->tmp_bytes, limits->tmp_inodes);
	/* Semaphores and shared blocks are a file each; the inode limit of /tmp is as good a bound as any. */
	if (st->spec->flags & SPEC_SHM)
		tmpfs_mount(tree, "dev/shm", limits->shm_bytes, limits->tmp_inodes > 1 ? limits->tmp_inodes : SHM_INODES_MIN);
	if ((st->spec->flags & SPEC_PROC) && !proc_mount(tree))
		layer_missing(st, LAYER_PROC, "mount proc (is /proc masked on this host?)", errno);
	root_enter(tree);
	root_prove(tree);
	stdin_renew();
	fd_close(tree);
}
