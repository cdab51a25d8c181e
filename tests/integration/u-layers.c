/* The layers of a jail, live, without Python: this program plays keeper, zygote
 * and core for the code under jail/, and its own functions play the tool.
 *
 *   main -> world (the user namespace of a zygote, PID 1 there, base root built)
 *             -> one jail for each case: clone3, id map, GO, LOCKED, PARK, PARKED, tool
 *
 * Prints TAP. Started as root it runs every case twice: with host ids of its
 * own, and as an ordinary user. */
#include "jail/base/fd.h"
#include "jail/enter.h"
#include "jail/layer.h"
#include "jail/python.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#define HOST_ID 0x7f0f0000u /* mapped by nobody else; any unused range does */
#define ORDINARY_ID 61234u  /* a user that owns nothing */
#define MIB (1ull << 20)
#define JAIL_CLONE (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define REPORT_MAX 4000
#define COST_RUNS 31

struct jail_run {
	struct status_rec locked, parked, failed, ended;
	bool have_locked, have_parked, have_failed, have_ended;
	int wait_status;
	char report[REPORT_MAX]; /* what the tool found wrong; empty when all was as it must be */
	char proc_status[4096];  /* /proc/PID/status between LOCKED and PARK */
	int listener;            /* fetched like the zygote does; -1 */
	unsigned init_fds;       /* descriptors of PID 1 while the tool runs */
};

/* Shared with the world process. */
static struct {
	int tests, failures;
	bool as_root;
} *shared;

static const char *mode = "";
static struct jail_spec spec;
static bool core_hard_zero;
static void (*tool)(int report_fd);
static int break_nr = -1, break_arg = -1, break_errno; /* this system call fails in the child, from its first instruction on */
static uint32_t go_degraded;
static bool answer; /* somebody reads the seccomp listener while the tool runs */
static bool drop_listener; /* nobody holds it */
static int python_calls;

static void check(bool ok, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void check(bool ok, const char *fmt, ...)
{
	va_list ap;

	shared->tests++;
	shared->failures += !ok;
	printf("%sok %d - %s: ", ok ? "" : "not ", shared->tests, mode);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

static void bail(const char *what)
{
	printf("Bail out! %s: %s: %s\n", mode, what, strerror(errno));
	fflush(stdout);
	shared->failures++;
	_exit(1);
}

/* ---- the runtime's part --------------------------------------------------- */

void python_after_fork_child(void)
{
	python_calls++;
}

void python_warm(void)
{
	python_calls++;
}

void python_serve(int request_fd, int result_fd)
{
	char go;

	if (read(request_fd, &go, 1) != 1)
		_exit(99);
	close(request_fd);
	if (python_calls != 2)
		dprintf(result_fd, "the runtime was not prepared in this process; ");
	tool(result_fd);
	_exit(0);
}

/* ---- filters ---------------------------------------------------------------- */

/* Everything but one system call. */
static void filter_one(struct sock_filter out[static 4], int nr, uint32_t verdict)
{
	const struct sock_filter prog[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	memcpy(out, prog, sizeof(prog));
}

static void break_install(void)
{
	struct sock_filter filter[6];
	struct sock_fprog prog = { .len = 4, .filter = filter };

	filter_one(filter, break_nr, SECCOMP_RET_ERRNO | (uint32_t)break_errno);
	if (break_arg >= 0) { /* only with this first argument */
		const struct sock_filter arg[] = {
			filter[0],
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)break_nr, 0, 3),
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)break_arg, 0, 1),
			filter[2],
			filter[3],
		};
		prog.len = ARRAY_LEN(arg);
		memcpy(filter, arg, sizeof(arg));
	}
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		_exit(98);
}

static void spec_reset(void)
{
	memset(&spec, 0, sizeof(spec));
	spec.magic = SPEC_MAGIC;
	spec.version = SPEC_VERSION;
	spec.size = sizeof(spec);
	spec.flags = SPEC_MDWE;
	/* What a host may lack without being wrong for these tests. */
	spec.best_effort = LAYER_BIT(LAYER_GROUPS) | LAYER_BIT(LAYER_MDWE) | LAYER_BIT(LAYER_SPECULATION);
	snprintf(spec.profile, sizeof(spec.profile), "test");
	spec.limits = (struct spec_limits){
		.memory_bytes = 128 * MIB, .tmp_bytes = MIB, .shm_bytes = MIB, .file_bytes = 4 * MIB,
		.stack_bytes = 8 * MIB, .tmp_inodes = 32, .pids = 16, .open_files = 64, .cpu_ms = 5000,
		.cpu_quota_pct = 100, .wall_ms = 5000, .stdout_bytes = 1000, .stderr_bytes = 1000, .result_bytes = 1000,
	};
	spec.filter_len = 4;
	filter_one(spec.filter, SYS_acct, SECCOMP_RET_USER_NOTIF);
	go_degraded = 0;
	break_nr = break_arg = -1;
}

/* ---- the zygote's and core's part ----------------------------------------- */

static void map_write(pid_t pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	/* A planned fault may have ended it before: then its files are nobody's, and its record tells the rest. */
	if (fd_write_file_at(AT_FDCWD, path, text) < 0 && break_nr < 0)
		bail(path);
}

static pid_t clone_now(uint64_t flags)
{
	int *tid_addr = NULL;
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };

	fflush(stdout);
	/* As fork() does it: the C library caches the thread id there. */
	if (prctl(PR_GET_TID_ADDRESS, &tid_addr, 0, 0, 0) == 0) {
		args.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
		args.child_tid = (uintptr_t)tid_addr;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

static unsigned fds_count(pid_t pid)
{
	char path[64];
	unsigned n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	if (!d)
		return 1000;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void rec_take(struct jail_run *run, const struct status_rec *rec)
{
	switch (rec->kind) {
	case STATUS_LOCKED: run->locked = *rec; run->have_locked = true; break;
	case STATUS_PARKED: run->parked = *rec; run->have_parked = true; break;
	case STATUS_ENDED: run->ended = *rec; run->have_ended = true; break;
	case STATUS_FAILED: run->failed = *rec; run->have_failed = true; break;
	default: bail("record of an unknown kind");
	}
}

/* One record, or end of file. */
static bool rec_next(int status, struct jail_run *run)
{
	struct status_rec rec;
	int r = fd_recv(status, &rec, sizeof(rec), NULL, 0, NULL, 0);

	if (r < 0 && r != -ECONNRESET)
		bail("status socket");
	if (r != 1)
		return false;
	if (rec.magic != STATUS_MAGIC)
		bail("record without magic");
	rec_take(run, &rec);
	return true;
}

static void rec_tell(int status, enum status_kind kind, uint32_t degraded)
{
	struct status_rec rec = { .magic = STATUS_MAGIC, .kind = (uint16_t)kind, .degraded = degraded };

	(void)fd_send(status, &rec, sizeof(rec), NULL, 0);
}

/* Answers one acct() with an errno that the kernel would never give. */
static void notify_answer(int listener)
{
	struct seccomp_notif req = { 0 };
	struct seccomp_notif_resp resp = { .error = -EADDRINUSE };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &req) < 0 || req.data.nr != SYS_acct)
		_exit(1);
	resp.id = req.id;
	_exit(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0);
}

static void core_play(pid_t pid, int status, int request, int result, struct jail_run *run)
{
	char path[64];
	size_t len = 0;
	ssize_t n;
	int answer_status;

	rec_tell(status, STATUS_GO, go_degraded);
	rec_tell(status, STATUS_JOINED, 0);
	while (rec_next(status, run) && !run->have_parked) {
		if (!run->have_locked || run->have_failed)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/status", pid);
		(void)fd_read_file_at(AT_FDCWD, path, run->proc_status, sizeof(run->proc_status));
		int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		run->listener = (int)syscall(SYS_pidfd_getfd, pidfd, run->locked.listener_fd, 0);
		close(pidfd);
		if (drop_listener)
			run->listener = fd_close(run->listener);
		rec_tell(status, STATUS_PARK, 0);
	}
	/* Init closes the rest while its child reports PARKED: at the latest now, or never. */
	for (int tries = 0; run->have_parked && (spec.flags & SPEC_INIT) && tries < 500; tries++) {
		run->init_fds = fds_count(pid);
		if (run->init_fds <= 1)
			break;
		usleep(2000);
	}
	pid_t answerer = answer ? fork() : -1;
	if (answerer == 0)
		notify_answer(run->listener);
	(void)!write(request, "g", 1);
	close(request);
	while (len < REPORT_MAX - 1 && (n = read(result, run->report + len, REPORT_MAX - 1 - len)) > 0)
		len += (size_t)n;
	while (rec_next(status, run))
		;
	if (answerer > 0 && (waitpid(answerer, &answer_status, 0) != answerer || answer_status != 0))
		bail("no notification came");
}

/* A mapping of its own, as the zygote's is: the jail lets go of it before the tool runs. */
static const struct jail_spec *spec_map(void)
{
	struct jail_spec *copy = mmap(NULL, sizeof(spec), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		_exit(97);
	memcpy(copy, &spec, sizeof(spec));
	return copy;
}

static void jail_run(void (*what)(int), struct jail_run *run)
{
	int status[2], request[2], result[2];
	struct jail_boot boot = { .spec = &spec };

	memset(run, 0, sizeof(*run));
	run->listener = -1;
	tool = what;
	python_calls = 0;
	if (spec_check(&spec)) {
		errno = 0;
		bail(spec_check(&spec));
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0 || pipe2(request, O_CLOEXEC) < 0 ||
	    pipe2(result, O_CLOEXEC) < 0)
		bail("pipes");
	boot.null_fd = open(JAIL_BASE_ROOT "/dev/null", O_RDWR | O_CLOEXEC);
	boot.fds[ZSPAWN_STDOUT] = boot.fds[ZSPAWN_STDERR] = boot.null_fd;
	boot.fds[ZSPAWN_REQUEST] = request[0];
	boot.fds[ZSPAWN_RESULT] = result[1];
	boot.fds[ZSPAWN_STATUS] = status[1];
	if (net_make(spec.flags & SPEC_LO_UP))
		bail("net_make");
	pid_t pid = clone_now(JAIL_CLONE & ~(uint64_t)CLONE_NEWNET);
	if (pid < 0)
		bail("clone3 of a jail");
	if (pid == 0) {
		boot.spec = spec_map();
		if (core_hard_zero) {
			boot.core_piped = true;
			(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
		}
		if (break_nr >= 0)
			break_install();
		jail_enter(&boot);
	}
	close(status[1]);
	close(request[0]);
	close(result[1]);
	close(boot.null_fd);
	map_write(pid, "uid_map", shared->as_root ? "1000 1 1" : "1000 0 1");
	map_write(pid, "gid_map", shared->as_root ? "1000 1 1" : "1000 0 1");
	core_play(pid, status[0], request[1], result[0], run);
	if (waitpid(pid, &run->wait_status, 0) != pid)
		bail("waitpid");
	fd_close(run->listener);
	close(status[0]);
	close(result[0]);
}

/* ---- tools: each writes what it finds wrong ------------------------------- */

#define WRONG(fd, cond)                                                                          \
	do {                                                                                     \
		if (cond)                                                                        \
			dprintf(fd, "%s (errno %d); ", #cond, errno);                            \
	} while (0)
#define MUST_FAIL(fd, call, want) WRONG(fd, (errno = 0, (call) >= 0 || errno != (want)))

static void tool_plain(int fd)
{
	struct stat sb;
	char names[4][20] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/urandom" };

	WRONG(fd, getuid() != 1000 || getgid() != 1000);
	WRONG(fd, getpid() != 1);
	WRONG(fd, fcntl(5, F_GETFD) >= 0 || fcntl(4, F_GETFD) < 0 || fcntl(3, F_GETFD) >= 0 || fcntl(6, F_GETFD) >= 0);
	MUST_FAIL(fd, open("/usr/bin/planted", O_WRONLY | O_CREAT, 0600), EROFS);
	MUST_FAIL(fd, open("/planted", O_WRONLY | O_CREAT, 0600), EROFS);
	MUST_FAIL(fd, open("/dev/planted", O_WRONLY | O_CREAT, 0600), EROFS);
	MUST_FAIL(fd, open("/dev/shm/planted", O_WRONLY | O_CREAT, 0600), EROFS);
	MUST_FAIL(fd, stat("/proc/self", &sb), ENOENT);
	MUST_FAIL(fd, stat("/etc/shadow", &sb), ENOENT);
	for (int i = 0; i < 4; i++)
		WRONG(fd, open(names[i], O_RDONLY) < 0);
	WRONG(fd, open("/dev/null", O_WRONLY | O_TRUNC) < 0);
	MUST_FAIL(fd, mount("none", "/tmp", "tmpfs", 0, NULL), EPERM);
	MUST_FAIL(fd, unshare(CLONE_NEWNS), EPERM);
	MUST_FAIL(fd, kill(-1, SIGKILL), ESRCH);
	MUST_FAIL(fd, mlock(names, 16), EPERM);
	WRONG(fd, prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER);
}

/* Each bound as the spec says, soft and hard: a lower one may be the host's. */
static void tool_rlimits(int fd)
{
	static const struct {
		int what;
		rlim_t most;
	} want[] = {
		{ RLIMIT_CORE, 1 },         { RLIMIT_NOFILE, 64 },   { RLIMIT_FSIZE, 4 * MIB }, { RLIMIT_STACK, 8 * MIB },
		{ RLIMIT_MEMLOCK, 0 },      { RLIMIT_MSGQUEUE, 0 },  { RLIMIT_NICE, 0 },        { RLIMIT_RTPRIO, 0 },
		{ RLIMIT_SIGPENDING, 64 },  { RLIMIT_NPROC, 24 },    { RLIMIT_CPU, 6 },
	};
	struct rlimit have;

	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		if (getrlimit((__rlimit_resource_t)want[i].what, &have) < 0 || have.rlim_cur > want[i].most || have.rlim_max > want[i].most)
			dprintf(fd, "rlimit %d: %llu, %llu; ", want[i].what, (unsigned long long)have.rlim_cur,
				(unsigned long long)have.rlim_max);
}

static void tool_tmp(int fd)
{
	static char block[64 << 10];
	int file = open("/tmp/big", O_RDWR | O_CREAT, 0700), made = 0;
	char name[32];
	size_t got = 0;
	ssize_t n;

	while ((n = write(file, block, sizeof(block))) > 0)
		got += (size_t)n;
	WRONG(fd, errno != ENOSPC || got > MIB);
	close(file);
	MUST_FAIL(fd, execl("/tmp/big", "big", NULL), EACCES);
	unlink("/tmp/big");
	for (; made < 100; made++) {
		snprintf(name, sizeof(name), "/tmp/%d", made);
		if (mkdir(name, 0700) < 0)
			break;
	}
	WRONG(fd, errno != ENOSPC || made >= 32);
	MUST_FAIL(fd, mknod("/tmp/dev", S_IFCHR | 0600, makedev(1, 3)), EACCES);
	WRONG(fd, rename("/tmp/0", "/tmp/1/0") < 0);
}

static void tool_fsize(int fd)
{
	int file = open("/tmp/f", O_RDWR | O_CREAT, 0600);

	MUST_FAIL(fd, ftruncate(file, 5 * MIB), EFBIG);
}

static void tool_proc(int fd)
{
	struct stat sb;

	WRONG(fd, stat("/proc/self/status", &sb) < 0);
	WRONG(fd, stat("/proc/1/status", &sb) < 0);
	MUST_FAIL(fd, stat("/proc/sys", &sb), ENOENT);
	MUST_FAIL(fd, stat("/proc/kcore", &sb), ENOENT);
	MUST_FAIL(fd, stat("/proc/2/status", &sb), ENOENT);
}

static void tool_shm(int fd)
{
	static char block[2 * MIB];
	int file = open("/dev/shm/x", O_RDWR | O_CREAT, 0600);

	WRONG(fd, file < 0);
	WRONG(fd, write(file, block, sizeof(block)) > (ssize_t)MIB);
}

static int lo_connect(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&at, &len) < 0)
		return -1;
	return connect(client, (struct sockaddr *)&at, sizeof(at));
}

static void tool_lo_up(int fd)
{
	WRONG(fd, lo_connect() < 0);
}

static void tool_lo_down(int fd)
{
	/* EACCES is Landlock's, from ABI 4 on; below that the namespace alone holds it. */
	WRONG(fd, lo_connect() >= 0 || (errno != EACCES && errno != ENETUNREACH));
}

static void tool_memory(int fd)
{
	WRONG(fd, mmap(NULL, 200 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	WRONG(fd, mmap(NULL, 16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

static void tool_notify(int fd)
{
	MUST_FAIL(fd, syscall(SYS_acct, NULL), EADDRINUSE); /* what notify_answer() says */
}

static void tool_notify_nobody(int fd)
{
	MUST_FAIL(fd, syscall(SYS_acct, NULL), ENOSYS);
}

static void tool_exit7(int fd)
{
	/* An orphan that would outlive everybody. */
	if (fork() == 0) {
		close(fd);
		while (fork() == 0)
			pause();
		_exit(0);
	}
	WRONG(fd, getpid() == 1 || getppid() != 1);
	WRONG(fd, kill(1, SIGKILL) < 0 && errno != EPERM);
	_exit(7);
}

static void tool_segv(int fd)
{
	close(fd);
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
}

static void tool_spin(int fd)
{
	close(fd);
	for (;;)
		(void)getppid();
}

static void tool_nothing(int fd UNUSED)
{
}

static void tool_ran(int fd)
{
	dprintf(fd, "ran");
}

static void tool_nproc(int fd)
{
	int made = 0;

	for (; made < 40 && fork() != -1; made++)
		if (getpid() != 2)
			pause();
	WRONG(fd, made >= 16 + 8 || errno != EAGAIN); /* pids.max, which this test has not, would be met first */
	_exit(0);
}

/* ---- cases ---------------------------------------------------------------- */

static bool ran_well(const struct jail_run *run)
{
	return run->have_parked && !run->have_failed && run->report[0] == '\0' && WIFEXITED(run->wait_status) &&
	       WEXITSTATUS(run->wait_status) == 0;
}

static void explain(const struct jail_run *run)
{
	if (run->have_failed)
		printf("# failed: stage \"%s\", layer %s, %s: %s\n", stage_name(run->failed.stage),
		       layer_name((enum layer)run->failed.layer), run->failed.op, strerror(run->failed.err));
	if (run->report[0])
		printf("# tool: %s\n", run->report);
	if (run->wait_status)
		printf("# wait status %#x\n", run->wait_status);
}

static void expect_well(void (*what)(int), const char *title)
{
	struct jail_run run;

	jail_run(what, &run);
	if (!ran_well(&run))
		explain(&run);
	check(ran_well(&run), "%s", title);
}

static void case_plain(void)
{
	struct jail_run run;
	uint32_t want = LAYER_BIT(LAYER_FDS) | LAYER_BIT(LAYER_SESSION) | LAYER_BIT(LAYER_USER) | LAYER_BIT(LAYER_MOUNT) |
			LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_NET) | LAYER_BIT(LAYER_PID) | LAYER_BIT(LAYER_UTS) |
			LAYER_BIT(LAYER_RLIMIT) | LAYER_BIT(LAYER_PRIVS) | LAYER_BIT(LAYER_CAPS) |
			LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP);

	spec_reset();
	jail_run(tool_plain, &run);
	explain(&run);
	check(ran_well(&run), "a tool finds nothing that it may not have");
	expect_well(tool_rlimits, "every rlimit is as low as the profile says");
	check((run.locked.proven & want) == want, "each layer was tried from inside (%#x)", run.locked.proven);
	check((run.locked.degraded & ~(LAYER_BIT(LAYER_MDWE) | (shared->as_root ? 0 : LAYER_BIT(LAYER_GROUPS)))) == 0,
	      "nothing is missing but what this host cannot give (%#x)", run.locked.degraded);
	check(strstr(run.proc_status, "CapEff:\t0000000000000000") && strstr(run.proc_status, "CapBnd:\t0000000000000000") &&
		      strstr(run.proc_status, "CapPrm:\t0000000000000000") && strstr(run.proc_status, "NoNewPrivs:\t1") &&
		      strstr(run.proc_status, "Seccomp:\t2") && strstr(run.proc_status, "Name:\tjail\n"),
	      "the kernel's status from outside agrees");
	check(run.listener >= 0, "the zygote can fetch the seccomp listener");
}

static int compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* What each stage costs: medians, as comment lines. */
static void case_costs(void)
{
	static uint64_t ns[STAGE_COUNT][COST_RUNS];
	struct jail_run run;
	uint64_t sum = 0;

	spec_reset();
	for (int i = 0; i < COST_RUNS; i++) {
		jail_run(tool_nothing, &run);
		for (int s = 0; s < STAGE_COUNT; s++)
			ns[s][i] = run.parked.stage_ns[s];
	}
	for (int s = 0; s < STAGE_COUNT; s++) {
		qsort(ns[s], COST_RUNS, sizeof(ns[s][0]), compare_ns);
		sum += s == STAGE_PARK ? 0 : ns[s][COST_RUNS / 2];
		printf("# %-34s %7.1f us\n", stage_name((enum stage)s), (double)ns[s][COST_RUNS / 2] / 1000);
	}
	printf("# %-34s %7.1f us\n", "all before park", (double)sum / 1000);
}

static void case_files(void)
{
	spec_reset();
	expect_well(tool_tmp, "/tmp is bounded in bytes and inodes, not executable, holds no device");
	spec.limits.tmp_bytes = 16 * MIB;
	expect_well(tool_fsize, "a file over its limit is an error, not a death");
	spec_reset();
	spec.flags |= SPEC_PROC;
	expect_well(tool_proc, "a granted /proc shows the jail's processes and nothing else");
	spec_reset();
	spec.flags |= SPEC_SHM;
	expect_well(tool_shm, "a granted /dev/shm is writable and bounded");
}

static void case_net(void)
{
	spec_reset();
	expect_well(tool_lo_down, "no TCP, not even to itself");
	spec.flags |= SPEC_LO_UP;
	expect_well(tool_lo_up, "a granted loopback reaches itself");
}

static void case_init(void)
{
	struct jail_run run;

	spec_reset();
	spec.flags |= SPEC_INIT;
	jail_run(tool_exit7, &run);
	explain(&run);
	check(run.have_ended && WIFEXITED(run.ended.err) && WEXITSTATUS(run.ended.err) == 7 && run.report[0] == '\0',
	      "init tells how the tool ended, and takes its orphans along");
	check(run.init_fds == 1, "init holds nothing but the status socket (%u)", run.init_fds);
	jail_run(tool_segv, &run);
	check(run.have_ended && WIFSIGNALED(run.ended.err) && WTERMSIG(run.ended.err) == SIGSEGV, "init tells a tool's signal");
	expect_well(tool_nproc, "RLIMIT_NPROC stops a fork bomb");
}

/* Started with a hard limit of 0 on a host that pipes its dumps: nothing would stop those of a program that the tool starts. */
static void case_core(void)
{
	struct jail_run run;

	spec_reset();
	core_hard_zero = true;
	jail_run(tool_ran, &run);
	check(!run.have_failed, "no core at all: fine for a tool that starts no program");
	spec.flags |= SPEC_INIT;
	jail_run(tool_ran, &run);
	check(run.have_failed && run.failed.layer == LAYER_RLIMIT && run.report[0] == '\0',
	      "no core at all, dumps that are piped, programs: refused by name");
	core_hard_zero = false;
}

static void case_limits(void)
{
	struct jail_run run;

	spec_reset();
	go_degraded = LAYER_BIT(LAYER_CGROUP);
	jail_run(tool_ran, &run);
	check(run.have_failed && run.failed.layer == LAYER_CGROUP && run.report[0] == '\0', "no cgroup: refused by name");
	spec.best_effort |= LAYER_BIT(LAYER_CGROUP);
	expect_well(tool_memory, "no cgroup, but best effort: rlimits hold the memory");
	jail_run(tool_nothing, &run);
	check(run.locked.degraded & LAYER_BIT(LAYER_CGROUP), "and the record says so");
	spec_reset();
	spec.limits.cpu_ms = 1;
	jail_run(tool_spin, &run);
	check(WIFSIGNALED(run.wait_status) && WTERMSIG(run.wait_status) == SIGKILL, "RLIMIT_CPU kills even a PID 1");
}

static void case_seccomp(void)
{
	struct jail_run run;

	spec_reset();
	filter_one(spec.filter, SYS_prctl, SECCOMP_RET_ERRNO | EPERM);
	expect_well(tool_nothing, "a filter that refuses prctl passes verification");
	spec_reset();
	answer = true;
	expect_well(tool_notify, "a notifying call waits for the holder of the listener");
	answer = false;
	drop_listener = true;
	expect_well(tool_notify_nobody, "without a holder it is ENOSYS, not executed");
	drop_listener = false;
	spec.filter[0].code = 0xffff;
	jail_run(tool_ran, &run);
	check(run.have_failed && run.failed.layer == LAYER_SECCOMP && run.failed.err == EINVAL && !run.report[0],
	      "a filter that the kernel refuses stops the call");
}

static void case_core_gone(void)
{
	int status[2], wait_status;
	struct jail_boot boot = { .spec = &spec };

	spec_reset();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
		bail("socketpair");
	pid_t pid = clone_now(JAIL_CLONE);
	if (pid == 0) {
		close(status[0]);
		for (int i = 0; i < ZSPAWN_FDS; i++)
			boot.fds[i] = status[1];
		jail_enter(&boot);
	}
	close(status[0]);
	close(status[1]);
	waitpid(pid, &wait_status, 0);
	check(WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 6, "a jail whose core is gone ends");
}

/* Each system call of the set-up fails once: the tool must not start, and the layer is named. */
/* The zygote's part of the net layer: whatever fails, it says so instead of handing out what it has. */
static void case_net_faults(void)
{
	static const struct {
		int nr;
		const char *name;
	} faults[] = {
		{ SYS_unshare, "unshare" }, { SYS_socket, "socket" }, { SYS_bind, "bind" }, { SYS_sendmsg, "sendmsg" }, { SYS_recvmsg, "recvmsg" },
	};

	break_errno = EIO;
	break_arg = -1;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		int status;
		pid_t pid = clone_now(0);

		if (pid == 0) {
			break_nr = faults[i].nr;
			break_install();
			_exit(net_make(false) ? 0 : 1);
		}
		check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "%s fails: no network namespace is handed out", faults[i].name);
	}
}

static void case_faults(void)
{
	static const struct {
		int nr, arg;
		enum layer layer;
		const char *name;
	} faults[] = {
		{ SYS_dup3, -1, LAYER_FDS, "dup3" },
		{ SYS_close_range, -1, LAYER_FDS, "close_range" },
		{ SYS_setsid, -1, LAYER_SESSION, "setsid" },
		{ SYS_keyctl, -1, LAYER_SESSION, "keyctl" },
		{ SYS_rt_sigaction, -1, LAYER_SESSION, "rt_sigaction" },
		{ SYS_rt_sigprocmask, -1, LAYER_SESSION, "rt_sigprocmask" },
		{ SYS_setresgid, -1, LAYER_USER, "setresgid" },
		{ SYS_setresuid, -1, LAYER_USER, "setresuid" },
		{ SYS_sethostname, -1, LAYER_UTS, "sethostname" },
		{ SYS_setdomainname, -1, LAYER_UTS, "setdomainname" },
		{ SYS_unshare, -1, LAYER_CGROUP_NS, "unshare" },
		{ SYS_socket, -1, LAYER_NET, "socket" },
		{ SYS_open_tree, -1, LAYER_MOUNT, "open_tree" },
		{ SYS_mount_setattr, -1, LAYER_MOUNT, "mount_setattr" },
		{ SYS_move_mount, -1, LAYER_MOUNT, "move_mount" },
		{ SYS_fsopen, -1, LAYER_MOUNT, "fsopen" },
		{ SYS_fsconfig, -1, LAYER_MOUNT, "fsconfig" },
		{ SYS_fsmount, -1, LAYER_MOUNT, "fsmount" },
		{ SYS_fchdir, -1, LAYER_MOUNT, "fchdir" },
		{ SYS_pivot_root, -1, LAYER_MOUNT, "pivot_root" },
		{ SYS_umount2, -1, LAYER_MOUNT, "umount2" },
		{ SYS_chdir, -1, LAYER_MOUNT, "chdir" },
		{ SYS_statx, -1, LAYER_MOUNT, "statx" },
		{ SYS_prlimit64, -1, LAYER_RLIMIT, "prlimit64" },
		{ SYS_prctl, PR_SET_NAME, LAYER_SESSION, "prctl PR_SET_NAME" },
		{ SYS_prctl, PR_SET_KEEPCAPS, LAYER_USER, "prctl PR_SET_KEEPCAPS" },
		{ SYS_prctl, PR_SET_NO_NEW_PRIVS, LAYER_PRIVS, "prctl PR_SET_NO_NEW_PRIVS" },
		{ SYS_prctl, PR_SET_DUMPABLE, LAYER_PRIVS, "prctl PR_SET_DUMPABLE" },
		{ SYS_prctl, PR_SET_PDEATHSIG, LAYER_PRIVS, "prctl PR_SET_PDEATHSIG" },
		{ SYS_prctl, 65, LAYER_MDWE, "prctl PR_SET_MDWE" },
		{ SYS_prctl, PR_SET_SPECULATION_CTRL, LAYER_SPECULATION, "prctl PR_SET_SPECULATION_CTRL" },
		{ SYS_prctl, PR_CAPBSET_DROP, LAYER_CAPS, "prctl PR_CAPBSET_DROP" },
		{ SYS_prctl, PR_CAP_AMBIENT, LAYER_CAPS, "prctl PR_CAP_AMBIENT" },
		{ SYS_prctl, PR_SET_SECUREBITS, LAYER_CAPS, "prctl PR_SET_SECUREBITS" },
		{ SYS_prctl, PR_GET_NO_NEW_PRIVS, LAYER_PRIVS, "prctl PR_GET_NO_NEW_PRIVS (verify)" },
		{ SYS_prctl, PR_GET_DUMPABLE, LAYER_PRIVS, "prctl PR_GET_DUMPABLE (verify)" },
		{ SYS_prctl, PR_GET_SECCOMP, LAYER_SECCOMP, "prctl PR_GET_SECCOMP (verify)" },
		{ SYS_capset, -1, LAYER_CAPS, "capset" },
		{ SYS_openat, -1, LAYER_MOUNT, "openat" },
		{ SYS_landlock_create_ruleset, -1, LAYER_LANDLOCK, "landlock_create_ruleset" },
		{ SYS_landlock_add_rule, -1, LAYER_LANDLOCK, "landlock_add_rule" },
		{ SYS_landlock_restrict_self, -1, LAYER_LANDLOCK, "landlock_restrict_self" },
		{ SYS_seccomp, -1, LAYER_SECCOMP, "seccomp" },
		{ SYS_fcntl, JAIL_FD_STATUS + 1, LAYER_FDS, "fcntl (verify)" },
		{ SYS_getsid, -1, LAYER_SESSION, "getsid (verify)" },
		{ SYS_getresuid, -1, LAYER_USER, "getresuid (verify)" },
		{ SYS_uname, -1, LAYER_UTS, "uname (verify)" },
		{ SYS_connect, -1, LAYER_NET, "connect (verify)" },
		{ SYS_mkdir, -1, LAYER_MOUNT, "mkdir (verify)" },
		{ SYS_mknodat, -1, LAYER_LANDLOCK, "mknod (verify)" },
		{ SYS_chroot, -1, LAYER_CAPS, "chroot (verify)" },
		{ SYS_setgroups, -1, LAYER_GROUPS, "setgroups (verify)" },
	};
	struct jail_run run;

	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		spec_reset();
		break_nr = faults[i].nr;
		break_arg = faults[i].arg;
		break_errno = EIO;
		jail_run(tool_ran, &run);
		bool ok = run.have_failed && run.failed.layer == (int)faults[i].layer && run.failed.op[0] && !run.report[0] &&
			  !run.have_parked;
		if (!ok)
			explain(&run);
		check(ok, "%s fails: layer %s is named, no tool starts", faults[i].name, layer_name(faults[i].layer));
	}
}

static void case_missing(void)
{
	static const struct {
		int nr, arg, err;
		enum layer layer;
	} gone[] = {
		{ SYS_landlock_create_ruleset, -1, ENOSYS, LAYER_LANDLOCK },
		{ SYS_landlock_create_ruleset, -1, EOPNOTSUPP, LAYER_LANDLOCK },
		{ SYS_unshare, -1, EINVAL, LAYER_CGROUP_NS },
		{ SYS_prctl, 65, EINVAL, LAYER_MDWE },
		{ SYS_fsopen, -1, EPERM, LAYER_PROC }, /* with no tmpfs to mount, the first fsopen is procfs */
	};
	struct jail_run run;

	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		spec_reset();
		if (gone[i].layer == LAYER_MDWE)
			spec.best_effort &= ~LAYER_BIT(LAYER_MDWE);
		if (gone[i].layer == LAYER_PROC) {
			spec.flags |= SPEC_PROC;
			spec.limits.tmp_bytes = 0;
		}
		break_nr = gone[i].nr;
		break_arg = gone[i].arg;
		break_errno = gone[i].err;
		jail_run(tool_ran, &run);
		check(run.have_failed && run.failed.layer == (int)gone[i].layer && run.failed.err == gone[i].err && !run.report[0],
		      "without %s the call is refused by name", layer_name(gone[i].layer));
		spec.best_effort |= LAYER_BIT(gone[i].layer);
		jail_run(tool_ran, &run);
		explain(&run);
		check(strcmp(run.report, "ran") == 0 && (run.locked.degraded & LAYER_BIT(gone[i].layer)) &&
			      (gone[i].layer == LAYER_PROC || !(run.locked.proven & LAYER_BIT(gone[i].layer))),
		      "with best effort it runs and says that %s is missing", layer_name(gone[i].layer));
	}
}

static void case_groups(void)
{
	struct jail_run run;

	spec_reset();
	spec.best_effort &= ~LAYER_BIT(LAYER_GROUPS);
	jail_run(tool_ran, &run);
	if (shared->as_root)
		check(strcmp(run.report, "ran") == 0, "no supplementary group is left");
	else
		check(run.have_failed && run.failed.layer == LAYER_GROUPS, "a group that cannot be dropped refuses the call");
}

/* ---- the world ------------------------------------------------------------ */

static void must(int r, const char *what)
{
	if (r < 0)
		bail(what);
}

static void base_root_build(void)
{
	static const char *const devices[] = { "null", "zero", "full", "random", "urandom" };
	static const char *const dirs[] = { "tmp", "proc", "usr", "dev", "dev/shm" };
	char from[64], to[64];

	must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
	must(mount("tmpfs", "/tmp", "tmpfs", 0, NULL), "mount the zygote's root");
	must(chdir("/tmp"), "chdir");
	must(mkdir("old", 0755), "mkdir");
	must(mkdir("proc", 0755), "mkdir");
	must(mkdir("newroot", 0755), "mkdir");
	must(mount("proc", "proc", "proc", 0, NULL), "mount proc");
	must(mount("tmpfs", "newroot", "tmpfs", 0, "mode=755"), "mount base root");
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		snprintf(to, sizeof(to), "newroot/%s", dirs[i]);
		must(mkdir(to, 0755), to);
	}
	must(mount("/usr", "newroot/usr", NULL, MS_BIND | MS_REC, NULL), "bind /usr");
	must(mount(NULL, "newroot/usr", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL), "read-only /usr");
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		snprintf(from, sizeof(from), "/dev/%s", devices[i]);
		snprintf(to, sizeof(to), "newroot/dev/%s", devices[i]);
		int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		must(fd, to);
		close(fd);
		must(mount(from, to, NULL, MS_BIND, NULL), to);
		must(mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC, NULL), to);
	}
	must(mount(NULL, "newroot", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL), "read-only root");
	must((int)syscall(SYS_pivot_root, ".", "old"), "pivot_root");
	must(umount2("/old", MNT_DETACH), "umount2");
	must(chdir("/"), "chdir");
}

static int world(void)
{
	base_root_build();
	case_plain();
	case_costs();
	case_groups();
	case_files();
	case_net();
	case_net_faults();
	case_init();
	case_core();
	case_limits();
	case_seccomp();
	case_core_gone();
	case_missing();
	case_faults();
	return 0;
}

static void world_run(void)
{
	char map[64];
	int sync[2], status;
	char byte;
	uid_t uid = getuid();
	gid_t gid = getgid();

	if (pipe2(sync, O_CLOEXEC) < 0)
		bail("pipe2");
	pid_t pid = clone_now(JAIL_CLONE);
	if (pid < 0) {
		printf("1..0 # SKIP needs userns: clone3: %s\n", strerror(errno));
		exit(0);
	}
	if (pid == 0) {
		close(sync[1]);
		if (read(sync[0], &byte, 1) != 1)
			_exit(1);
		if (shared->as_root)
			must((int)syscall(SYS_setgroups, 0, NULL), "setgroups");
		must((int)syscall(SYS_setresgid, 0, 0, 0), "setresgid");
		must((int)syscall(SYS_setresuid, 0, 0, 0), "setresuid");
		/* A new image, as the zygote is one: only then does its memory belong to its user namespace, whose
		 * capabilities may look into a jail that is not dumpable. */
		execl("/proc/self/exe", "u-layers", "world", mode, NULL);
		_exit(1);
	}
	if (shared->as_root) {
		snprintf(map, sizeof(map), "0 %u 2", HOST_ID);
		map_write(pid, "uid_map", map);
		map_write(pid, "gid_map", map);
	} else {
		map_write(pid, "setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		map_write(pid, "uid_map", map);
		snprintf(map, sizeof(map), "0 %u 1", gid);
		map_write(pid, "gid_map", map);
	}
	(void)!write(sync[1], "g", 1);
	close(sync[0]);
	close(sync[1]);
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		printf("# the world of the tests ended with %#x\n", status);
		shared->failures++;
	}
}

/* The counters live in a memory file at this number, so that they outlast the exec. */
#define SHARED_FD 9

static void shared_open(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		exit(1);
}

int main(int argc, char **argv)
{
	const gid_t foreign[] = { ORDINARY_ID, ORDINARY_ID + 1 };

	if (argc == 3) {
		mode = argv[2];
		shared_open();
		return world();
	}
	if (dup2(memfd_create("counters", 0), SHARED_FD) < 0 || ftruncate(SHARED_FD, sizeof(*shared)) < 0)
		return 1;
	shared_open();
	if (getuid() == 0) {
		mode = "as root";
		shared->as_root = true;
		world_run();
		if (setgroups(ARRAY_LEN(foreign), foreign) < 0 || setresgid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID) < 0 ||
		    setresuid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID) < 0 || prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
			bail("become an ordinary user");
	}
	mode = "ordinary user";
	shared->as_root = false;
	world_run();
	printf("1..%d\n", shared->tests);
	return shared->failures != 0;
}
