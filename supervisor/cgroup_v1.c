/* v1 back-end for hybrid hosts: one directory per hierarchy, and the
 * controller-less v2 leaf (where there is one) for killing and CPU accounting. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static bool has(int dir, const char *file)
{
	return dir >= 0 && faccessat(dir, file, F_OK, 0) == 0;
}

static int memory_limit(int dir, uint64_t bytes, struct err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), off;
	int r;

	bytes -= bytes % page; /* the kernel counts pages */
	r = cgroup_number_set(dir, "memory.limit_in_bytes", bytes, err);
	if (r < 0)
		return r;
	/* Memory and swap together no more than memory: no swap. Only after the limit, which it may not undercut. */
	if (has(dir, "memory.memsw.limit_in_bytes"))
		r = cgroup_number_set(dir, "memory.memsw.limit_in_bytes", bytes, err);
	else if (has(dir, "memory.swappiness"))
		r = cgroup_number_set(dir, "memory.swappiness", 0, err);
	/* Socket buffers of TCP and UDP are counted here only once this is set, and then apart from the rest. */
	if (r == 0 && has(dir, "memory.kmem.tcp.limit_in_bytes"))
		r = cgroup_number_set(dir, "memory.kmem.tcp.limit_in_bytes", bytes, err);
	if (r < 0)
		return r;
	/* Inherited from the parent: with the killer off, a tool at its limit would hang instead of ending. */
	if (cgroup_key_read(dir, "memory.oom_control", "oom_kill_disable", &off) == 0 && off != 0)
		r = fd_write_file_at(dir, "memory.oom_control", "0");
	return r < 0 ? err_set(err, ERR_HOST, -r, "cgroup", "cannot enable the OOM killer: %s", strerror(-r)) : 0;
}

static int v1_limit(struct cgroup *cg, const struct cgroup_limits *limits, struct err *err)
{
	unsigned have = cg->host->controllers;
	int r = 0;

	if (have & CGROUP_MEMORY)
		r = memory_limit(cg->dir[CGROUP_DIR_MEMORY], limits->memory_bytes, err);
	if (r == 0 && (have & CGROUP_PIDS))
		r = cgroup_number_set(cg->dir[CGROUP_DIR_PIDS], "pids.max", limits->pids, err);
	if (r == 0 && (have & CGROUP_CPU)) {
		int dir = cg->dir[CGROUP_DIR_CPU];
		uint64_t quota = (uint64_t)limits->cpu_quota_pct * (CGROUP_CPU_PERIOD_US / 100);
		r = cgroup_number_set(dir, "cpu.cfs_period_us", CGROUP_CPU_PERIOD_US, err);
		if (r == 0)
			r = cgroup_number_set(dir, "cpu.cfs_quota_us", quota, err);
	}
	return r;
}

/* The v2 leaf counts to the microsecond; cpuacct may be mounted alone or together with cpu. */
static int cpu_read(struct cgroup *cg, uint64_t *ret_us)
{
	static const enum cgroup_dir acct[] = { CGROUP_DIR_CPUACCT, CGROUP_DIR_CPU };
	int r = cgroup_file_key(cg, CGROUP_FILE_CPU_STAT, CGROUP_DIR_V2, "cpu.stat", "usage_usec", ret_us);

	for (size_t i = 0; i < ARRAY_LEN(acct) && r == -ENOENT; i++) {
		uint64_t ns;

		r = cgroup_file_number(cg, CGROUP_FILE_CPUACCT, acct[i], "cpuacct.usage", &ns);
		if (r == 0)
			*ret_us = ns / 1000;
	}
	return r;
}

static int v1_begin(struct cgroup *cg, struct err *err)
{
	int dir = cg->dir[CGROUP_DIR_MEMORY];
	int r = cpu_read(cg, &cg->cpu_base_us);

	if (r < 0 && r != -ENOENT)
		return err_set(err, ERR_HOST, -r, "cgroup", "cannot read the CPU time used: %s", strerror(-r));
	cg->peak_reset = dir >= 0 && fd_write_file_at(dir, "memory.max_usage_in_bytes", "0") == 0;
	return 0;
}

static void v1_read(struct cgroup *cg, struct cgroup_usage *usage)
{
	uint64_t now;

	if (cpu_read(cg, &now) == 0)
		usage->cpu_us = now > cg->cpu_base_us ? now - cg->cpu_base_us : 0;
	if (cg->peak_reset)
		(void)cgroup_file_number(cg, CGROUP_FILE_PEAK, CGROUP_DIR_MEMORY, "memory.max_usage_in_bytes", &usage->memory_peak_bytes);
	(void)cgroup_file_key(cg, CGROUP_FILE_OOM, CGROUP_DIR_MEMORY, "memory.oom_control", "oom_kill", &usage->oom_kills);
	(void)cgroup_file_number(cg, CGROUP_FILE_PIDS_PEAK, CGROUP_DIR_PIDS, "pids.peak", &usage->processes_peak);
	(void)cgroup_file_key(cg, CGROUP_FILE_PIDS_EVENTS, CGROUP_DIR_PIDS, "pids.events", "max", &usage->pids_refused);
}

const struct cgroup_ops cgroup_v1_ops = { v1_limit, v1_begin, v1_read };
