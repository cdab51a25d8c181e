/* What this host gives: discovery and choice of the back-end, and the shared
 * base directories. Anything missing becomes words in why and fix, never a guess. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Another supervisor may remove the base between our mkdir and our first entry in it. */
#define BASE_TRIES 5

void cgroup_why(struct cgroup_host *host, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(host->why, sizeof(host->why), fmt, ap);
	va_end(ap);
}

int cgroup_base_open(const char *path)
{
	_cleanup_close_ int parent = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (parent < 0)
		return -errno;
	/* PRIV: one directory of our own name; an existing one must be our own user's. */
	if (mkdirat(parent, CGROUP_BASE, 0755) < 0 && errno != EEXIST)
		return -errno;
	_cleanup_close_ int base = openat(parent, CGROUP_BASE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (base < 0)
		return -errno;
	if (fstat(base, &st) < 0)
		return -errno;
	return st.st_uid == geteuid() ? fd_take(&base) : -EPERM;
}

/* The directory under which our base of a v1 hierarchy goes: the mount for root, our own group for a user who owns it. */
static int v1_base(const char *controller, struct cgroup_host *host)
{
	struct cgroup_mount m;

	if (!cgroup_mount_find(controller, &m)) {
		cgroup_why(host, "the %s controller is mounted neither as cgroup2 nor as v1",
			   controller ? controller : "cgroup2");
		return -ENOENT;
	}
	const char *parent = geteuid() == 0 ? m.point : m.own;
	int fd = cgroup_base_open(parent);
	if (fd < 0 && controller)
		cgroup_why(host, "cannot use %s/" CGROUP_BASE ": %s", parent, strerror(-fd));
	return fd;
}

bool cgroup_v1_open(struct cgroup_host *host)
{
	static const struct {
		enum cgroup_dir dir;
		unsigned bit;
		const char *name, *file;
	} all[] = {
		{ CGROUP_DIR_MEMORY, CGROUP_MEMORY, "memory", "memory.limit_in_bytes" },
		{ CGROUP_DIR_PIDS, CGROUP_PIDS, "pids", "pids.max" },
		{ CGROUP_DIR_CPU, CGROUP_CPU, "cpu", "cpu.cfs_quota_us" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		int fd = v1_base(all[i].name, host);
		if (fd < 0)
			continue;
		if (faccessat(fd, all[i].file, W_OK, AT_EACCESS) < 0) {
			cgroup_why(host, "this kernel's v1 %s hierarchy has no writable %s", all[i].name, all[i].file);
			fd_close(fd);
			continue;
		}
		host->base[all[i].dir] = fd;
		host->controllers |= all[i].bit;
	}
	if (!host->controllers)
		return false;
	char kept[sizeof(host->why)];
	snprintf(kept, sizeof(kept), "%s", host->why);
	/* No leaf in a cgroup2 hierarchy without controllers: it would add cgroup.kill, which the jail's PID 1 does as well, and cost
	 * a move from outside (jail/enter.c). */
	int acct = -1;
	if (faccessat(host->base[CGROUP_DIR_CPU], "cpuacct.usage", F_OK, 0) < 0)
		acct = v1_base("cpuacct", host);
	snprintf(host->why, sizeof(host->why), "%s", kept); /* not needed to enforce anything */
	host->base[CGROUP_DIR_CPUACCT] = acct < 0 ? -1 : acct;
	return true;
}

static void bases_close(struct cgroup_host *host)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		host->base[i] = fd_close(host->base[i]);
	host->controllers = 0;
}

/* Our own empty group in each base; false when a base vanished under us. */
static bool hold_make(struct cgroup_host *host)
{
	snprintf(host->hold, sizeof(host->hold), "%s.hold.%" PRIx64, host->lane, host->serial++);
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (host->base[i] >= 0 && mkdirat(host->base[i], host->hold, 0755) < 0 && errno == ENOENT)
			return false;
	return true;
}

static void fix_fill(struct cgroup_host *host)
{
	if (host->fix[0] || (host->controllers == CGROUP_ALL && host->kind != CGROUP_NONE))
		return;
	if (geteuid() != 0 && cgroup_mount_find("memory", &(struct cgroup_mount){ 0 }))
		snprintf(host->fix, sizeof(host->fix),
			 "boot this host with cgroup v2 alone (systemd.unified_cgroup_hierarchy=1), or start brig as root");
	else if (geteuid() != 0)
		snprintf(host->fix, sizeof(host->fix),
			 "run it in a delegated scope: systemd-run --user --scope -p Delegate=yes brig ...");
	else
		snprintf(host->fix, sizeof(host->fix),
			 "give the container or service a writable cgroup of its own (Delegate=yes; "
			 "docker: --cgroupns=private and a read-write /sys/fs/cgroup)");
}

int cgroup_host_open(struct cgroup_host *host, const char *lane, pid_t client)
{
	struct timespec ts;

	memset(host, 0, sizeof(*host));
	for (int i = 0; i < CGROUP_DIRS; i++)
		host->base[i] = -1;
	snprintf(host->lane, sizeof(host->lane), "%s", lane);
	clock_gettime(CLOCK_BOOTTIME, &ts);
	host->serial = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;

	for (int i = 0; i < BASE_TRIES; i++) {
		char v2_why[sizeof(host->why)];
		host->kind = CGROUP_NONE;
		host->why[0] = '\0';
		if (cgroup_v2_open(host, client)) {
			host->kind = CGROUP_V2;
		} else {
			bases_close(host);
			snprintf(v2_why, sizeof(v2_why), "%s", host->why);
			if (cgroup_v1_open(host))
				host->kind = CGROUP_V1;
			else if (!cgroup_mount_find("memory", &(struct cgroup_mount){ 0 }))
				snprintf(host->why, sizeof(host->why), "%s", v2_why); /* there is no v1 to speak of */
		}
		if (host->controllers == CGROUP_ALL)
			host->why[0] = '\0';
		if (hold_make(host))
			break;
		bases_close(host);
		host->kind = CGROUP_NONE;
		cgroup_why(host, "the base directory vanishes again and again");
	}
	fix_fill(host);
	return 0;
}

void cgroup_host_close(struct cgroup_host *host)
{
	for (int i = 0; i < CGROUP_DIRS; i++) {
		if (host->base[i] < 0)
			continue;
		(void)unlinkat(host->base[i], host->hold, AT_REMOVEDIR);
		/* The kernel refuses while anything is in it: another supervisor's hold, or what a dead one left. It also
		 * refuses the keeper at the top of a hierarchy (mode 0555, DAC_OVERRIDE given up): then the empty base stays. */
		int parent = openat(host->base[i], "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		/* With controllers on, a group takes no processes any more: give it back as it was. */
		if (parent >= 0 && unlinkat(parent, CGROUP_BASE, AT_REMOVEDIR) == 0 && i == CGROUP_DIR_V2)
			cgroup_subtree_switch(parent, host->enabled, '-');
		fd_close(parent);
		host->base[i] = fd_close(host->base[i]);
	}
	host->kind = CGROUP_NONE;
	host->controllers = 0;
}
