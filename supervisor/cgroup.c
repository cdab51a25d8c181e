/* Groups of single calls, over either back-end: make, join, kill, remove. */
#include "supervisor/cgroup.h"

#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* Members that die by SIGKILL leave within a scheduling round; a few rounds are for kernels without cgroup.kill. */
#define KILL_ROUNDS 20

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void cgroup_usage_unknown(struct cgroup_usage *usage)
{
	*usage = (struct cgroup_usage){ .cpu_us = CGROUP_UNKNOWN,
					.memory_peak_bytes = CGROUP_UNKNOWN,
					.processes_peak = CGROUP_UNKNOWN,
					.oom_kills = CGROUP_UNKNOWN,
					.pids_refused = CGROUP_UNKNOWN,
					.processes = CGROUP_UNKNOWN };
}

struct cgroup *cgroup_alloc(struct cgroup_host *host)
{
	struct cgroup *cg = calloc(1, sizeof(*cg));

	if (!cg)
		return NULL;
	cg->host = host;
	cg->ops = host->kind == CGROUP_V2 ? &cgroup_v2_ops : host->kind == CGROUP_V1 ? &cgroup_v1_ops : NULL;
	cg->peak_fd = -1;
	for (int i = 0; i < CGROUP_DIRS; i++)
		cg->dir[i] = -1;
	for (int i = 0; i < CGROUP_FILES; i++)
		cg->file[i] = -1;
	return cg;
}

void cgroup_close(struct cgroup *cg)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		fd_close(cg->dir[i]);
	for (int i = 0; i < CGROUP_FILES; i++)
		fd_close(cg->file[i]);
	fd_close(cg->peak_fd);
	free(cg);
}

static void group_rmdir(struct cgroup *cg)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (cg->host->base[i] >= 0)
			(void)unlinkat(cg->host->base[i], cg->name, AT_REMOVEDIR);
}

static int group_mkdir(struct cgroup *cg, struct err *err)
{
	for (int i = 0; i < CGROUP_DIRS; i++) {
		int base = cg->host->base[i];
		if (base < 0)
			continue;
		/* Core, another user, reads usage in there: not for a tight umask to decide. */
		if (mkdirat(base, cg->name, 0755) < 0 || fchmodat(base, cg->name, 0755, 0) < 0)
			return err_set(err, ERR_HOST, errno, "cgroup", "cannot make the control group %s: %s", cg->name, strerror(errno));
		cg->dir[i] = openat(base, cg->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cg->dir[i] < 0)
			return err_set(err, ERR_HOST, errno, "cgroup", "cannot open the control group %s: %s", cg->name, strerror(errno));
	}
	return 0;
}

int cgroup_new(struct cgroup_host *host, unsigned slot, const struct cgroup_limits *limits, struct cgroup **ret,
	       struct err *err)
{
	struct cgroup *cg = cgroup_alloc(host);
	int r;

	if (!cg)
		return err_set(err, ERR_HOST, ENOMEM, "cgroup", "out of memory");
	snprintf(cg->name, sizeof(cg->name), "%s.%u.%" PRIx64, host->lane, slot, host->serial++);
	if (cg->ops) {
		r = group_mkdir(cg, err);
		if (r == 0)
			r = cg->ops->limit(cg, limits, err);
		if (r < 0) {
			group_rmdir(cg);
			cgroup_close(cg);
			return r;
		}
	}
	*ret = cg;
	return 0;
}

/* The kernel's own word: the group's name ends as many lines of /proc/PID/cgroup as it has directories. */
static int joined_count(const struct cgroup *cg, pid_t pid)
{
	char path[64], text[4096];
	size_t len = strlen(cg->name);
	int count = 0;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	if (fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return -1;
	for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		size_t n = strlen(line);
		if (n > len && line[n - len - 1] == '/' && strcmp(line + n - len, cg->name) == 0)
			count++;
	}
	return count;
}

int cgroup_join(struct cgroup *cg, int pidfd, pid_t pid, struct err *err)
{
	char text[24];
	int want = 0;

	if (!cg->ops)
		return 0;
	snprintf(text, sizeof(text), "%d", (int)pid);
	for (int i = 0; i < CGROUP_DIRS; i++) {
		if (cg->dir[i] < 0)
			continue;
		/* PRIV: moves a process that the caller has proven to be a zygote's child; only into a group of ours. */
		int r = fd_write_file_at(cg->dir[i], "cgroup.procs", text);
		if (r < 0)
			return err_set(err, ERR_HOST, -r, "cgroup", "cannot move the jail into its control group: %s", strerror(-r));
		want++;
	}
	if (joined_count(cg, pid) != want)
		return err_set(err, ERR_HOST, EIO, "cgroup", "the jail is not in all of its %d control groups", want);
	/* A number is only a name: not reaped until now means that it was the same process all along. */
	if (syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) < 0)
		return err_set(err, ERR_HOST, errno, "cgroup", "the jail ended while it was moved");
	return 0;
}

int cgroup_begin(struct cgroup *cg, struct err *err)
{
	return cg->ops ? cg->ops->begin(cg, err) : 0;
}

/* A directory in a hierarchy that lists the members: any will do, they join all of them. */
static int any_dir(const struct cgroup *cg)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (cg->dir[i] >= 0)
			return cg->dir[i];
	return -1;
}

int cgroup_read(struct cgroup *cg, struct cgroup_usage *usage)
{
	cgroup_usage_unknown(usage);
	if (!cg->ops)
		return 0;
	cg->ops->read(cg, usage);
	int n = cgroup_procs_count(any_dir(cg));
	if (n >= 0)
		usage->processes = (uint64_t)n;
	return 0;
}

/* Without cgroup.kill: by pidfd, and only what still is a member when the pidfd is held. */
static void kill_one(const struct cgroup *cg, pid_t pid)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	/* PRIV: SIGKILL; membership is checked after the pidfd pinned the process, so a reused number is never hit. */
	if (fd >= 0 && joined_count(cg, pid) > 0)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

static void kill_members(const struct cgroup *cg)
{
	for (int round = 0; round < KILL_ROUNDS; round++) {
		for (int i = 0; i < CGROUP_DIRS; i++) {
			char text[8192], *end;
			if (cg->dir[i] < 0 || fd_read_file_at(cg->dir[i], "cgroup.procs", text, sizeof(text)) <= 0)
				continue;
			for (char *p = text; *p; p = *end ? end + 1 : end) {
				unsigned long pid = strtoul(p, &end, 10);
				if (end == p)
					break;
				if (pid > 0)
					kill_one(cg, (pid_t)pid);
			}
		}
		if (cgroup_procs_count(any_dir(cg)) <= 0)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
}

int cgroup_kill(struct cgroup *cg)
{
	if (!cg->ops)
		return -ENOTSUP;
	/* PRIV: kills every member of a group of ours. Needs 5.14. */
	if (cg->dir[CGROUP_DIR_V2] >= 0 && fd_write_file_at(cg->dir[CGROUP_DIR_V2], "cgroup.kill", "1") == 0)
		return 0;
	kill_members(cg);
	return 0;
}

/* On cgroup2 the kernel wakes us by POLLPRI on cgroup.events; on v1 there is only looking again. */
static bool wait_empty(const struct cgroup *cg, uint64_t deadline_ms)
{
	int v2 = cg->dir[CGROUP_DIR_V2];
	_cleanup_close_ int events = v2 >= 0 ? openat(v2, "cgroup.events", O_RDONLY | O_CLOEXEC) : -1;
	long pause_ns = 100000;

	while (true) {
		char text[128];
		if (events >= 0) {
			ssize_t n = pread(events, text, sizeof(text) - 1, 0);
			text[n > 0 ? n : 0] = '\0';
			if (strstr(text, "populated 0"))
				return true;
		} else if (cgroup_procs_count(any_dir(cg)) <= 0) {
			return true;
		}
		uint64_t now = now_ms();
		if (now >= deadline_ms)
			return false;
		if (events >= 0) {
			struct pollfd p = { events, POLLPRI, 0 };
			(void)poll(&p, 1, (int)(deadline_ms - now));
		} else {
			nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
			pause_ns = pause_ns < 5000000 ? pause_ns * 2 : pause_ns;
		}
	}
}

static bool group_gone(const struct cgroup *cg)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (cg->host->base[i] >= 0 && faccessat(cg->host->base[i], cg->name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return false;
	return true;
}

int cgroup_free(struct cgroup **ptr, unsigned wait_ms, struct cgroup_usage *ret_usage)
{
	struct cgroup *cg = *ptr;
	uint64_t deadline = now_ms() + wait_ms;

	if (!cg)
		return 0;
	if (ret_usage)
		cgroup_usage_unknown(ret_usage);
	if (cg->ops) {
		if (cgroup_procs_count(any_dir(cg)) != 0)
			cgroup_kill(cg);
		bool empty = wait_empty(cg, deadline);
		if (ret_usage)
			cgroup_read(cg, ret_usage);
		if (!empty)
			return -EBUSY;
		/* The last member may still be on its way out of a v1 hierarchy when the v2 leaf says empty. */
		for (group_rmdir(cg); !group_gone(cg); group_rmdir(cg)) {
			if (now_ms() >= deadline)
				return -EBUSY;
			nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
		}
	}
	cgroup_close(cg);
	*ptr = NULL;
	return 0;
}
