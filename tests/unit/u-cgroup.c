/* Control groups, live, on whichever back-end this host has: children that allocate, fork, burn, and refuse to die. */
#include "supervisor/cgroup.h"

#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define MIB (1ull << 20)

static struct cgroup_host host;
static char lane[32];
static const struct cgroup_limits usual = { 64 * MIB, 16, 100 };

struct member {
	pid_t pid;
	int pidfd, go, back;
};

/* A child that waits for a byte before it does its deed. */
static struct member member_fork(void (*deed)(int back))
{
	int go[2], back[2];
	char c;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(back, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &c, 1) == 1)
			deed(back[1]);
		_exit(0);
	}
	close(go[0]);
	close(back[1]);
	return (struct member){ pid, (int)syscall(SYS_pidfd_open, pid, 0), go[1], back[0] };
}

static void member_go(struct member *m)
{
	assert_int_equal(write(m->go, "g", 1), 1);
	m->go = fd_close(m->go);
}

static int member_wait(struct member *m)
{
	int status;

	assert_int_equal(waitpid(m->pid, &status, 0), m->pid);
	m->go = fd_close(m->go);
	fd_close(m->pidfd);
	fd_close(m->back);
	return status;
}

static struct cgroup *group(const struct cgroup_limits *limits)
{
	struct cgroup *cg = NULL;
	struct err err = { 0 };

	if (cgroup_new(&host, 0, limits, &cg, &err) < 0)
		fail_msg("%s", err.detail);
	return cg;
}

static void join(struct cgroup *cg, struct member *m)
{
	struct err err = { 0 };

	if (cgroup_join(cg, m->pidfd, m->pid, &err) < 0)
		fail_msg("%s", err.detail);
	if (cgroup_begin(cg, &err) < 0)
		fail_msg("%s", err.detail);
}

static void needs_host(void)
{
	if (geteuid() != 0)
		SKIP_NEEDS("root");
	if (host.kind == CGROUP_NONE) {
		printf("# skip: needs a control group: %s\n", host.why);
		fflush(stdout);
		skip();
	}
}

static void needs_controller(unsigned bit)
{
	needs_host();
	if (!(host.controllers & bit))
		fail_msg("controllers are missing: %s", host.why);
}

static void deed_allocate(int back UNUSED)
{
	for (int i = 0; i < 200; i++) {
		char *p = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p != MAP_FAILED)
			memset(p, i, MIB);
	}
}

static void test_memory_limit_kills_and_is_counted(void **state UNUSED)
{
	struct cgroup_usage usage;

	needs_controller(CGROUP_MEMORY);
	struct cgroup *cg = group(&(struct cgroup_limits){ 16 * MIB, 16, 100 });
	struct member m = member_fork(deed_allocate);
	join(cg, &m);
	member_go(&m);
	int status = member_wait(&m);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(cgroup_free(&cg, 2000, &usage), 0);
	assert_null(cg);
	assert_true(usage.oom_kills >= 1 && usage.oom_kills != CGROUP_UNKNOWN);
	if (usage.memory_peak_bytes != CGROUP_UNKNOWN)
		assert_in_range(usage.memory_peak_bytes, 8 * MIB, 16 * MIB);
}

static void deed_allocate_little(int back)
{
	char *p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 8 * MIB);
	munmap(p, 8 * MIB);
	(void)!write(back, "1", 1);
	pause();
}

static void test_begin_forgets_what_was_before(void **state UNUSED)
{
	struct cgroup_usage usage;
	struct err err;
	char c;

	needs_controller(CGROUP_MEMORY);
	struct cgroup *cg = group(&usual);
	struct member m = member_fork(deed_allocate_little);
	join(cg, &m);
	member_go(&m);
	assert_int_equal(read(m.back, &c, 1), 1);
	assert_int_equal(cgroup_read(cg, &usage), 0);
	if (usage.memory_peak_bytes != CGROUP_UNKNOWN)
		assert_true(usage.memory_peak_bytes >= 8 * MIB);
	assert_int_equal(cgroup_begin(cg, &err), 0);
	assert_int_equal(cgroup_read(cg, &usage), 0);
	if (usage.memory_peak_bytes != CGROUP_UNKNOWN)
		assert_true(usage.memory_peak_bytes < 8 * MIB);
	else if (host.kind == CGROUP_V1)
		fail_msg("v1 can always reset its peak");
	assert_int_equal(usage.processes, 1);
	assert_int_equal(cgroup_free(&cg, 2000, NULL), 0);
	assert_true(WIFSIGNALED(member_wait(&m)));
}

static void deed_fork(int back)
{
	char refused = 0;

	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0)
			pause();
		refused += pid < 0 && errno == EAGAIN;
	}
	(void)!write(back, &refused, 1);
	pause();
}

static void test_pids_limit_refuses_and_is_counted(void **state UNUSED)
{
	struct cgroup_usage usage;
	char refused = 0;

	needs_controller(CGROUP_PIDS);
	struct cgroup *cg = group(&(struct cgroup_limits){ 64 * MIB, 5, 100 });
	struct member m = member_fork(deed_fork);
	join(cg, &m);
	member_go(&m);
	assert_int_equal(read(m.back, &refused, 1), 1);
	assert_int_equal(refused, 16); /* itself and four more */
	cgroup_read(cg, &usage);
	assert_int_equal(usage.processes, 5);
	assert_int_equal(cgroup_free(&cg, 2000, &usage), 0);
	if (usage.processes_peak != CGROUP_UNKNOWN)
		assert_int_equal(usage.processes_peak, 5);
	assert_true(usage.pids_refused >= 1);
	assert_true(WIFSIGNALED(member_wait(&m)));
}

static void deed_burn(int back UNUSED)
{
	struct timespec ts;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while (ts.tv_sec == 0 && ts.tv_nsec < 200000000);
}

static void test_cpu_time_is_counted(void **state UNUSED)
{
	struct cgroup_usage usage;

	needs_host();
	struct cgroup *cg = group(&usual);
	struct member m = member_fork(deed_burn);
	join(cg, &m);
	member_go(&m);
	assert_int_equal(member_wait(&m), 0);
	assert_int_equal(cgroup_free(&cg, 2000, &usage), 0);
	assert_in_range(usage.cpu_us, 150000, 2000000);
}

static void test_cpu_quota_slows_down(void **state UNUSED)
{
	struct timespec a, b;

	needs_controller(CGROUP_CPU);
	struct cgroup *cg = group(&(struct cgroup_limits){ 64 * MIB, 16, 25 });
	struct member m = member_fork(deed_burn);
	join(cg, &m);
	clock_gettime(CLOCK_MONOTONIC, &a);
	member_go(&m);
	assert_int_equal(member_wait(&m), 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	/* 200 ms at a quarter of a core; a free core would need 200. */
	assert_true((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 >= 400);
	assert_int_equal(cgroup_free(&cg, 2000, NULL), 0);
}

static void deed_hide(int back)
{
	for (int i = 0; i < 3; i++)
		if (fork() == 0) {
			setsid();
			if (fork() == 0) {
				sigset_t all;
				sigfillset(&all);
				sigprocmask(SIG_BLOCK, &all, NULL);
				(void)!write(back, "1", 1);
				raise(SIGSTOP);
				for (;;)
					pause();
			}
			_exit(0);
		}
	for (;;)
		pause();
}

static void test_kill_reaches_stopped_and_orphaned_members(void **state UNUSED)
{
	struct cgroup_usage usage;
	char c[3];

	needs_host();
	struct cgroup *cg = group(&usual);
	struct member m = member_fork(deed_hide);
	join(cg, &m);
	member_go(&m);
	assert_int_equal(fd_read_all(m.back, c, 3), 0);
	assert_int_equal(cgroup_kill(cg), 0);
	assert_true(WIFSIGNALED(member_wait(&m)));
	assert_int_equal(cgroup_free(&cg, 2000, &usage), 0);
	assert_int_equal(usage.processes, 0);
}

static void test_a_process_that_ended_cannot_join(void **state UNUSED)
{
	struct err err;
	struct cgroup *cg;

	needs_host();
	cg = group(&usual);
	struct member m = member_fork(deed_burn);
	int pidfd = fcntl(m.pidfd, F_DUPFD_CLOEXEC, 3);
	kill(m.pid, SIGKILL);
	pid_t pid = m.pid;
	member_wait(&m);
	assert_true(cgroup_join(cg, pidfd, pid, &err) < 0);
	close(pidfd);
	assert_int_equal(cgroup_free(&cg, 2000, NULL), 0);
}

/* Older hosts: no v2 leaf to kill by and to count CPU time with. */
static void test_v1_alone_kills_and_counts_too(void **state UNUSED)
{
	struct cgroup_mount acct;
	struct cgroup_usage usage;
	struct cgroup *cg = NULL;
	struct err err;
	char c[3];

	needs_host();
	if (host.kind != CGROUP_V1)
		SKIP_NEEDS("cgroup-v1");
	struct cgroup_host bare = host;
	bare.base[CGROUP_DIR_V2] = -1;
	assert_true(cgroup_mount_find("cpuacct", &acct));
	bare.base[CGROUP_DIR_CPUACCT] = cgroup_base_open(acct.point);
	assert_true(bare.base[CGROUP_DIR_CPUACCT] >= 0);

	assert_int_equal(cgroup_new(&bare, 2, &usual, &cg, &err), 0);
	struct member hidden = member_fork(deed_hide), burner = member_fork(deed_burn);
	join(cg, &hidden);
	join(cg, &burner);
	member_go(&burner);
	assert_int_equal(member_wait(&burner), 0);
	member_go(&hidden);
	assert_int_equal(fd_read_all(hidden.back, c, 3), 0);
	assert_int_equal(cgroup_kill(cg), 0);
	assert_true(WIFSIGNALED(member_wait(&hidden)));
	assert_int_equal(cgroup_free(&cg, 2000, &usage), 0);
	assert_in_range(usage.cpu_us, 150000, 2000000);
	(void)unlinkat(AT_FDCWD, "/sys/fs/cgroup/cpuacct/brig", AT_REMOVEDIR);
	close(bare.base[CGROUP_DIR_CPUACCT]);
}

static bool exists(const struct cgroup_host *h, const char *name)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (h->base[i] >= 0 && faccessat(h->base[i], name, F_OK, 0) == 0)
			return true;
	return false;
}

static void make(const struct cgroup_host *h, const char *name)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (h->base[i] >= 0)
			assert_int_equal(mkdirat(h->base[i], name, 0755), 0);
}

static void take_away(const struct cgroup_host *h, const char *name)
{
	for (int i = 0; i < CGROUP_DIRS; i++)
		if (h->base[i] >= 0)
			unlinkat(h->base[i], name, AT_REMOVEDIR);
}

static bool only_eight_lives(const char *name, void *arg UNUSED)
{
	return strcmp(strchr(name, '-'), "-8") == 0;
}

static void test_sweep_takes_only_what_dead_supervisors_left(void **state UNUSED)
{
	char dead[64], alive[64], ours[64], cut[32];
	static const char foreign[] = "zzzzzzzz-7.0.1", other[] = "something.else";

	needs_host();
	snprintf(cut, sizeof(cut), "%s", lane);
	*strchr(cut, '-') = '\0';
	snprintf(dead, sizeof(dead), "%s-7.3.abc", cut);
	snprintf(alive, sizeof(alive), "%s-8.3.abc", cut);
	snprintf(ours, sizeof(ours), "%s.3.abc", lane);
	const char *const all[] = { dead, alive, ours, foreign, other };
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		take_away(&host, all[i]); /* of a run that was stopped */
		make(&host, all[i]);
	}
	/* A member that outlived its supervisor. */
	struct member m = member_fork(deed_hide);
	char text[24];
	snprintf(text, sizeof(text), "%d", (int)m.pid);
	for (int i = 0; i < CGROUP_DIRS; i++) {
		char path[96];
		snprintf(path, sizeof(path), "%s/cgroup.procs", dead);
		if (host.base[i] >= 0)
			assert_int_equal(fd_write_file_at(host.base[i], path, text), 0);
	}
	member_go(&m);
	assert_int_equal(cgroup_sweep(&host, only_eight_lives, NULL), 2);
	assert_true(WIFSIGNALED(member_wait(&m)));
	assert_false(exists(&host, dead));
	assert_false(exists(&host, ours));
	assert_true(exists(&host, alive));
	assert_true(exists(&host, foreign));
	assert_true(exists(&host, other));
	assert_true(exists(&host, host.hold));
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		take_away(&host, all[i]);
}

static void test_the_base_stays_while_another_uses_it(void **state UNUSED)
{
	struct cgroup_host second;
	struct cgroup *cg = NULL;
	struct err err;

	needs_host();
	assert_int_equal(cgroup_host_open(&second, "00000000-9", 0), 0);
	assert_int_equal(second.kind, host.kind);
	assert_int_equal(second.controllers, host.controllers);
	cgroup_host_close(&second);
	assert_int_equal(cgroup_new(&host, 1, &usual, &cg, &err), 0);
	assert_int_equal(cgroup_free(&cg, 2000, NULL), 0);
}

static void test_without_groups_everything_is_unknown(void **state UNUSED)
{
	struct cgroup_host none = { .kind = CGROUP_NONE, .base = { -1, -1, -1, -1, -1 } };
	struct cgroup *cg = NULL;
	struct cgroup_usage usage;
	struct err err;

	assert_int_equal(cgroup_new(&none, 0, &usual, &cg, &err), 0);
	assert_int_equal(cgroup_join(cg, -1, getpid(), &err), 0);
	assert_int_equal(cgroup_begin(cg, &err), 0);
	assert_int_equal(cgroup_kill(cg), -ENOTSUP);
	assert_int_equal(cgroup_free(&cg, 10, &usage), 0);
	assert_true(usage.cpu_us == CGROUP_UNKNOWN && usage.memory_peak_bytes == CGROUP_UNKNOWN && usage.oom_kills == CGROUP_UNKNOWN);
}

static int setup(void **state UNUSED)
{
	snprintf(lane, sizeof(lane), "%08x-5", (unsigned)getpid());
	cgroup_host_open(&host, lane, 0);
	printf("# back-end %d, controllers %u, %s %s\n", host.kind, host.controllers, host.why, host.fix);
	if (geteuid() == 0 && host.kind != CGROUP_NONE && host.controllers != CGROUP_ALL)
		printf("# not all controllers: %s\n", host.why);
	return 0;
}

static int teardown(void **state UNUSED)
{
	cgroup_host_close(&host);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_limit_kills_and_is_counted),
		cmocka_unit_test(test_begin_forgets_what_was_before),
		cmocka_unit_test(test_pids_limit_refuses_and_is_counted),
		cmocka_unit_test(test_cpu_time_is_counted),
		cmocka_unit_test(test_cpu_quota_slows_down),
		cmocka_unit_test(test_kill_reaches_stopped_and_orphaned_members),
		cmocka_unit_test(test_v1_alone_kills_and_counts_too),
		cmocka_unit_test(test_a_process_that_ended_cannot_join),
		cmocka_unit_test(test_sweep_takes_only_what_dead_supervisors_left),
		cmocka_unit_test(test_the_base_stays_while_another_uses_it),
		cmocka_unit_test(test_without_groups_everything_is_unknown),
	};
	return cmocka_run_group_tests_name("cgroup", tests, setup, teardown);
}
