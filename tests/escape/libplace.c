#include "tests/escape/libplace.h"

#include "jail/base/fd.h"
#include "jail/layer.h"

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

static NORETURN void fatal(const char *what)
{
	fprintf(stderr, "onelayer: %s: %s\n", what, strerror(errno));
	exit(70);
}

static void bind_ro(const char *from, const char *to)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

	if (mkdir(to, 0755) < 0 || mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0 ||
	    mount_setattr(AT_FDCWD, to, AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		fatal(to);
}

/* The smallest base root that the mount layer can work on: what the zygote gives it, less the profile's own mounts. */
static void base_root(void)
{
	static const char *const nodes[] = { "null", "zero", "full", "random", "urandom" };
	const char *place = "/tmp", *const links[][2] = { { "usr/lib", "lib" }, { "usr/lib64", "lib64" }, { "usr/bin", "bin" } };
	char path[64], source[64];

	if (mount("none", place, "tmpfs", MS_NOSUID, "mode=755") < 0 || chdir(place) < 0 || mkdir("newroot", 0755) < 0 ||
	    mount("none", "newroot", "tmpfs", MS_NOSUID, "mode=755,nr_inodes=200") < 0)
		fatal("base root");
	bind_ro("/usr", "newroot/usr");
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		snprintf(path, sizeof(path), "newroot/%s", links[i][1]);
		if (symlink(links[i][0], path) < 0)
			fatal(path);
	}
	if (mkdir("newroot/dev", 0755) < 0 || mkdir("newroot/dev/shm", 0755) < 0 || mkdir("newroot/tmp", 0755) < 0 ||
	    mkdir("newroot/proc", 0755) < 0 || mkdir("newroot/etc", 0755) < 0)
		fatal("base root directories");
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		snprintf(path, sizeof(path), "newroot/dev/%s", nodes[i]);
		snprintf(source, sizeof(source), "/dev/%s", nodes[i]);
		if (mknod(path, S_IFREG | 0666, 0) < 0 || mount(source, path, NULL, MS_BIND, NULL) < 0)
			fatal(path);
	}
	if (mount(NULL, "newroot", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL) < 0)
		fatal("base root read-only");
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		fatal("pivot_root");
}

static void time_offsets(void)
{
	struct timespec mono, boot;
	char text[160];

	clock_gettime(CLOCK_MONOTONIC, &mono);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	snprintf(text, sizeof(text), "monotonic -%lld 0\nboottime -%lld 0\n", (long long)mono.tv_sec - 1, (long long)boot.tv_sec - 1);
	if (unshare(CLONE_NEWTIME) < 0 || fd_write_file_at(AT_FDCWD, "/proc/self/timens_offsets", text) < 0)
		fatal("time namespace");
}

/* What the zygote's clone gives a jail, for the one layer that is asked for. */
void place_make(const char *layer)
{
	static const struct {
		const char *layer;
		int flags;
	} table[] = { { "pid", CLONE_NEWPID }, { "ipc", CLONE_NEWIPC } };

	/* Throw-away copies, for every run: a mount or a name of the attack's must not be the machine's. */
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fatal("unshare");
	if (mount("none", "/tmp", "tmpfs", 0, "mode=1777,size=256m") < 0)
		fatal("throw-away /tmp");
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (!strcmp(layer, table[i].layer) && unshare(table[i].flags) < 0)
			fatal(layer);
	if (!strcmp(layer, "net") && net_make(false))
		fatal("net_make");
	if (!strcmp(layer, "time"))
		time_offsets();
	if (!strcmp(layer, "mount"))
		base_root();
}
