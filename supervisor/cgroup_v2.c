/* cgroup2 back-end: limits and usage of one group of the unified hierarchy. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int memory_limit(int dir, uint64_t bytes, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int r = cgroup_number_set(dir, "memory.max", bytes - bytes % page, err); /* the kernel counts pages */

	if (r < 0)
		return r;
	/* Absent where the kernel does not account swap; then nothing of the group's is limited by it either. */
	if (faccessat(dir, "memory.swap.max", F_OK, 0) == 0) {
		r = cgroup_number_set(dir, "memory.swap.max", 0, err);
		if (r < 0)
			return r;
	}
	/* Without it the kernel picks one process, and a tool could live on with half of itself gone. */
	return cgroup_number_set(dir, "memory.oom.group", 1, err);
}

static int v2_limit(struct cgroup *cg, const struct cgroup_limits *limits, struct err *err)
{
	unsigned have = cg->host->controllers;
	int dir = cg->dir[CGROUP_DIR_V2];
	int r = 0;

	if (have & CGROUP_MEMORY)
		r = memory_limit(dir, limits->memory_bytes, err);
	if (r == 0 && (have & CGROUP_PIDS))
		r = cgroup_number_set(dir, "pids.max", limits->pids, err);
	if (r == 0 && (have & CGROUP_CPU)) {
		char text[64];
		snprintf(text, sizeof(text), "%llu %u",
			 (unsigned long long)limits->cpu_quota_pct * (CGROUP_CPU_PERIOD_US / 100), CGROUP_CPU_PERIOD_US);
		r = cgroup_text_set(dir, "cpu.max", text, err);
	}
	return r;
}

/* Before 6.12 memory.peak cannot be reset (EINVAL, or not writable at all): then the peak stays unknown. */
static void peak_reset(struct cgroup *cg)
{
	if (cg->peak_fd < 0)
		cg->peak_fd = openat(cg->dir[CGROUP_DIR_V2], "memory.peak", O_RDWR | O_CLOEXEC);
	cg->peak_reset = cg->peak_fd >= 0 && pwrite(cg->peak_fd, "0", 1, 0) == 1;
}

static int v2_begin(struct cgroup *cg, struct err *err)
{
	int r = cgroup_file_key(cg, CGROUP_FILE_CPU_STAT, CGROUP_DIR_V2, "cpu.stat", "usage_usec", &cg->cpu_base_us);

	if (r < 0)
		return err_set(err, ERR_HOST, -r, "cgroup", "cannot read cpu.stat: %s", strerror(-r));
	if (cg->host->controllers & CGROUP_MEMORY)
		peak_reset(cg);
	return 0;
}

static void v2_read(struct cgroup *cg, struct cgroup_usage *usage)
{
	uint64_t now;
	char text[32];

	if (cgroup_file_key(cg, CGROUP_FILE_CPU_STAT, CGROUP_DIR_V2, "cpu.stat", "usage_usec", &now) == 0)
		usage->cpu_us = now > cg->cpu_base_us ? now - cg->cpu_base_us : 0;
	if (cg->peak_reset) {
		ssize_t n = pread(cg->peak_fd, text, sizeof(text) - 1, 0);
		if (n > 0) {
			text[n] = '\0';
			usage->memory_peak_bytes = strtoull(text, NULL, 10);
		}
	}
	(void)cgroup_file_key(cg, CGROUP_FILE_OOM, CGROUP_DIR_V2, "memory.events", "oom_kill", &usage->oom_kills);
	(void)cgroup_file_number(cg, CGROUP_FILE_PIDS_PEAK, CGROUP_DIR_V2, "pids.peak", &usage->processes_peak);
	(void)cgroup_file_key(cg, CGROUP_FILE_PIDS_EVENTS, CGROUP_DIR_V2, "pids.events", "max", &usage->pids_refused);
}

const struct cgroup_ops cgroup_v2_ops = { v2_limit, v2_begin, v2_read };
