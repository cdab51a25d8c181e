/* The base root of all jails of a zygote: a small read-only tmpfs with
 * read-only binds of what the profile shows, built by descriptors only. A jail
 * clones it whole (layer_mount.c). Facts: mount_setattr(2), open_tree and move_mount
 * (Linux 5.2, 5.12), user_namespaces(7) on locked mounts. */
#include "jail/base/fd.h"
#include "jail/enter.h"
#include "jail/zygote.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Directories, links and five small files: a jail cannot write here at all. */
#define ROOT_TMPFS_SIZE "256k"
#define ROOT_TMPFS_INODES "512"

/* Never answers to a path on the host twice: descriptors are opened once, before the old root goes. */
static int path_open(int dir_fd, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

static void fs_option(int fs, const char *key, const char *value)
{
	if (fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0)
		zygote_fail(LAYER_MOUNT, "fsconfig tmpfs", errno, key);
}

static int tmpfs_new(const char *what)
{
	_cleanup_close_ int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0)
		zygote_fail(LAYER_MOUNT, "fsopen tmpfs", errno, what);
	fs_option(fs, "size", ROOT_TMPFS_SIZE);
	fs_option(fs, "nr_inodes", ROOT_TMPFS_INODES);
	fs_option(fs, "mode", "0755");
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		zygote_fail(LAYER_MOUNT, "create tmpfs", errno, what);
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mnt < 0)
		zygote_fail(LAYER_MOUNT, "fsmount tmpfs", errno, what);
	return mnt;
}

static int proc_new(void)
{
	_cleanup_close_ int fs = fsopen("proc", FSOPEN_CLOEXEC);
	int mnt;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		zygote_fail(LAYER_PROC, "mount proc: the host masks parts of its own", errno, "/proc");
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	if (mnt < 0)
		zygote_fail(LAYER_PROC, "fsmount proc", errno, "/proc");
	return mnt;
}

/* PRIV: CAP_SYS_ADMIN over our own mount namespace; the target is a directory or file of our own root. */
static void attach(int mnt, int dir_fd, const char *to)
{
	if (move_mount(mnt, "", dir_fd, to, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		zygote_fail(LAYER_MOUNT, "move_mount", errno, to);
}

/* Makes the missing directories of `to`, then an empty file or directory at its end. Links in
 * our own root (lib -> usr/lib) are followed, and stay inside it. */
static void target_make(int root, const char *to, bool dir)
{
	char path[SPEC_PATH_MAX];

	snprintf(path, sizeof(path), "%s", to + 1);
	for (char *slash = strchr(path, '/');; slash = strchr(slash + 1, '/')) {
		_cleanup_close_ int parent = -1;
		char *last;

		if (slash)
			*slash = '\0';
		last = strrchr(path, '/');
		if (last)
			*last = '\0';
		parent = path_open(root, last ? path : ".", RESOLVE_IN_ROOT);
		if (last)
			*last = '/';
		if (parent < 0)
			zygote_fail(LAYER_MOUNT, "open in the new root", errno, to);
		last = last ? last + 1 : path;
		if (slash || dir) {
			if (mkdirat(parent, last, 0755) < 0 && errno != EEXIST)
				zygote_fail(LAYER_MOUNT, "mkdir in the new root", errno, to);
		} else if (mknodat(parent, last, S_IFREG | 0644, 0) < 0 && errno != EEXIST) {
			zygote_fail(LAYER_MOUNT, "create in the new root", errno, to);
		}
		if (!slash)
			return;
		*slash = '/';
	}
}

/* from: a path of the host. attrs: MOUNT_ATTR_* for the whole tree below it. */
static void bind(int root, const char *from, const char *to, uint64_t attrs)
{
	_cleanup_close_ int source = path_open(AT_FDCWD, from, 0);
	_cleanup_close_ int tree = -1, target = -1;
	struct mount_attr attr = { .attr_set = attrs, .propagation = MS_PRIVATE };
	struct stat st;

	if (source < 0 || fstat(source, &st) < 0)
		zygote_fail(LAYER_MOUNT, "open mount source", errno, from);
	tree = open_tree(source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0)
		zygote_fail(LAYER_MOUNT, "open_tree", errno, from);
	if (mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		zygote_fail(LAYER_MOUNT, "mount_setattr", errno, from);
	target_make(root, to, S_ISDIR(st.st_mode));
	target = path_open(root, to + 1, RESOLVE_IN_ROOT);
	if (target < 0)
		zygote_fail(LAYER_MOUNT, "open in the new root", errno, to);
	if (move_mount(tree, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		zygote_fail(LAYER_MOUNT, "move_mount", errno, to);
}

static void link_make(int root, const struct spec_mount *m)
{
	char dir[SPEC_PATH_MAX];
	char *last;
	_cleanup_close_ int parent = -1;

	snprintf(dir, sizeof(dir), "%s", m->to);
	last = strrchr(dir, '/');
	*last = '\0';
	if (dir[0])
		target_make(root, dir, true);
	parent = path_open(root, dir[0] ? dir + 1 : ".", RESOLVE_IN_ROOT);
	if (parent < 0 || symlinkat(m->from, parent, last + 1) < 0)
		zygote_fail(LAYER_MOUNT, "symlink in the new root", errno, m->to);
}

static void mounts_make(int root, const struct jail_spec *spec)
{
	for (uint32_t i = 0; i < spec->mount_count; i++) {
		const struct spec_mount *m = &spec->mounts[i];
		uint64_t attrs = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

		if (m->flags & SPEC_MOUNT_SYMLINK) {
			link_make(root, m);
			continue;
		}
		if (m->flags & SPEC_MOUNT_WORKSPACE) { /* each jail has its own: workspaces_make(), layer_mount.c */
			target_make(root, m->to, true);
			continue;
		}
		if (m->flags & SPEC_MOUNT_RW)
			zygote_fail(LAYER_MOUNT, "read-write mount of what is not the workspace", EOPNOTSUPP, m->from);
		if (!(m->flags & SPEC_MOUNT_EXEC))
			attrs |= MOUNT_ATTR_NOEXEC;
		bind(root, m->from, m->to, attrs);
	}
}

static const struct spec_mount *workspace_of(const struct jail_spec *spec)
{
	for (uint32_t i = 0; i < spec->mount_count; i++)
		if (spec->mounts[i].flags & SPEC_MOUNT_WORKSPACE)
			return &spec->mounts[i];
	return NULL;
}

/* As root the keeper made one for each slot, whose ids own there what the workspace's owner owns; they lie, by number, in the directory
 * that we were started in. Else all have our own id. Writable here; a jail makes its own copy read-only where its profile says so. */
static void workspaces_make(int root, const struct jail_spec *spec, bool ranged)
{
	const struct spec_mount *m = workspace_of(spec);
	char from[16], to[sizeof(JAIL_WORKSPACES) + 16];

	if (!m)
		return;
	if (m->flags & SPEC_MOUNT_ABSENT)
		zygote_fail(LAYER_MOUNT, "show the workspace:", ENOENT, "none is named by workspace in brigd.conf or by BRIG_WORKSPACE");
	for (unsigned i = 0; i < (ranged ? LIMIT_SLOTS : 1u); i++) {
		snprintf(from, sizeof(from), "%u", i);
		snprintf(to, sizeof(to), JAIL_WORKSPACES "/%u", i);
		bind(root, ranged ? from : m->from, to, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	}
}

static void devices_make(int root)
{
	static const char *const names[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		bind(root, names[i], names[i], MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

static void file_make(int root, const char *path, const char *text)
{
	_cleanup_close_ int fd = openat(root, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

	if (r < 0)
		zygote_fail(LAYER_MOUNT, "write in the new root", -r, path);
}

/* What libraries look up by name; nothing of it comes from the host. */
static void etc_make(int root)
{
	target_make(root, "/etc", true);
	file_make(root, "etc/passwd", "tool:x:1000:1000:tool:/tmp:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n");
	file_make(root, "etc/group", "tool:x:1000:\nnogroup:x:65534:\n");
	file_make(root, "etc/hosts", "127.0.0.1 localhost brig\n::1 localhost\n");
	/* dns behind files: with no resolver to reach, a name "cannot be looked up now" instead of "does not exist", which is the truth. */
	file_make(root, "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
}

static void base_fill(int root, const struct jail_spec *spec)
{
	static const char *const dirs[] = { "/tmp", "/dev/shm", "/proc" };
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		target_make(root, dirs[i], true);
	etc_make(root);
	devices_make(root);
	mounts_make(root, spec);
	/* Not recursive: each bind has its own attributes. */
	if (mount_setattr(root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		zygote_fail(LAYER_MOUNT, "mount_setattr root read-only", errno, "/");
}

/* Puts the tmpfs over "/", makes it the root, and lets the host's tree go. */
static void pivot(int root)
{
	/* PRIV: only this mount namespace; the old root stays mounted in everybody else's. */
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		zygote_fail(LAYER_MOUNT, "pivot_root", errno, NULL);
	if (umount2(".", MNT_DETACH) < 0)
		zygote_fail(LAYER_MOUNT, "detach the old root", errno, NULL);
	if (chdir("/") < 0)
		zygote_fail(LAYER_MOUNT, "chdir", errno, "/");
}

static int keep(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		zygote_fail(LAYER_MOUNT, "open", errno, path);
	return fd;
}

void zygote_root_build(struct zygote *zy)
{
	_cleanup_close_ int root = -1, newroot = -1, proc = -1;

	/* PRIV: CAP_SYS_ADMIN over our own mount namespace, here and in the whole file; nothing of it propagates from here on. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		zygote_fail(LAYER_MOUNT, "make mounts private", errno, "/");
	root = tmpfs_new("/");
	attach(root, AT_FDCWD, "/");
	if (mkdirat(root, "proc", 0555) < 0 || mkdirat(root, "newroot", 0755) < 0)
		zygote_fail(LAYER_MOUNT, "mkdir", errno, "/");
	/* The kernel refuses a procfs unless a whole one can be seen: before the old root goes. */
	proc = proc_new();
	attach(proc, root, "proc");
	newroot = tmpfs_new("/newroot");
	attach(newroot, root, "newroot");
	base_fill(newroot, zy->spec);
	workspaces_make(root, zy->spec, zy->ranged);
	pivot(root);
	zy->proc_fd = keep("/proc", O_PATH | O_DIRECTORY);
	zy->fds_fd = keep("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	zy->root_fd = keep("/", O_PATH | O_DIRECTORY);
	zy->newroot_fd = keep("/newroot", O_PATH | O_DIRECTORY);
}
