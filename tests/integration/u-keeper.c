/* The keeper as a whole, with a core, an audit process and a zygote of the test's own: the protocols,
 * what breaks them, and what is left when any of them is killed. core_main() and audit_main() here
 * take the place of the real ones; the zygote is this program again. */
#include "jail/base/fd.h"
#include "jail/spec.h"
#include "jail/zygote_proto.h"
#include "supervisor/audit.h"
#include "supervisor/audit_proto.h"
#include "supervisor/core.h"
#include "supervisor/keeper.h"
#include "supervisor/keeper_proto.h"
#include "supervisor/wire/chain.h"
#include "tests/unit/unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

/* What the fake core does, chosen by the test through boot->config.warm. */
enum plan {
	PLAN_LIFE, PLAN_FDS, PLAN_REFUSALS, PLAN_SLEEP, PLAN_EXIT,
	PLAN_BAD_KIND, PLAN_BAD_SIZE, PLAN_BAD_MAGIC, PLAN_BAD_SLOT, PLAN_BAD_FDS, PLAN_BAD_GEN, PLAN_BAD_SPEC, PLAN_BAD_PIDFD,
	PLAN_BAD_STOP, PLAN_BAD_READY, PLAN_BAD_END,
	PLAN_DAEMON,
};

#define STATUS_GOOD 42
#define STATUS_WRONG 43

/* ---- the zygote ------------------------------------------------------------------ */

struct zygote_says {
	int uid, gid, pid, deathsig, groups, fds, spec_ok;
	char exe[64];
};

static int fd_count(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n - 3; /* . and .. and the listing itself */
}

static int zygote_main(void)
{
	struct zygote_says says = { getuid(), getgid(), getpid(), 0, getgroups(0, NULL), fd_count(), 0, "" };
	struct stat st;
	char c;

	prctl(PR_GET_PDEATHSIG, &says.deathsig);
	says.spec_ok = fstat(ZYGOTE_FD_SPEC, &st) == 0 && st.st_size == (off_t)sizeof(struct jail_spec);
	if (readlink("/proc/self/exe", says.exe, sizeof(says.exe) - 1) < 0)
		return 1;
	if (fd_send(ZYGOTE_FD_CONTROL, &says, sizeof(says), NULL, 0) < 0)
		return 1;
	/* Each byte: one child that waits to be killed; its pidfd goes back. */
	while (recv(ZYGOTE_FD_CONTROL, &c, 1, 0) == 1) {
		pid_t pid = fork();
		if (pid == 0)
			for (;;)
				pause();
		_cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		if (pid < 0 || fd_send(ZYGOTE_FD_CONTROL, &c, 1, &pidfd, 1) < 0)
			return 1;
	}
	for (;;)
		pause(); /* only the keeper ends it */
}

/* ---- core ------------------------------------------------------------------------ */

static struct core_boot *core;
static int core_line;

#define MUST(cond)                                 \
	do {                                       \
		if (!(cond)) {                     \
			core_line = __LINE__;      \
			return STATUS_WRONG;       \
		}                                  \
	} while (0)

static int ask(const struct keeper_msg *msg, int fd, struct keeper_reply *reply, int *ret_fd)
{
	int r = fd_send(core->keeper_fd, msg, sizeof(*msg), &fd, fd >= 0);

	if (r == 0)
		r = fd_recv(core->keeper_fd, reply, sizeof(*reply), ret_fd, ret_fd ? 1 : 0, NULL, 0);
	return r;
}

static int ask_slot(uint32_t kind, uint32_t slot, int fd, struct keeper_reply *reply)
{
	return ask(&(struct keeper_msg){ KEEPER_MAGIC, kind, 0, slot, { 64u << 20, 16, 100 }, 0 }, fd, reply, NULL);
}

/* BEGIN hands out what a core needs to read by itself, and no more than it says. */
static bool view_works(uint32_t slot, bool groups)
{
	struct keeper_msg msg = { .magic = KEEPER_MAGIC, .kind = KP_CGROUP_BEGIN, .slot = slot };
	struct keeper_reply reply;
	struct cgroup_usage usage;
	int fds[CGROUP_VIEW_FDS];
	unsigned count = 0;

	if (fd_send(core->keeper_fd, &msg, sizeof(msg), NULL, 0) < 0 ||
	    fd_recv(core->keeper_fd, &reply, sizeof(reply), fds, CGROUP_VIEW_FDS, &count, 0) != 1 || reply.err)
		return false;
	if (count != (unsigned)__builtin_popcount(reply.view.present) || (count > 0) != groups)
		return false;
	struct cgroup *view = cgroup_view_open(&reply.view, fds, count);
	if (!groups)
		return view == NULL;
	if (!view)
		return false;
	cgroup_view_read(view, &usage);
	cgroup_view_close(view);
	return usage.cpu_us != CGROUP_UNKNOWN && usage.oom_kills == 0;
}

static int spec_make(bool sealed)
{
	static struct jail_spec spec;
	int fd = memfd_create("spec", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (!sealed)
		return fd_write_all(fd, &spec, sizeof(spec)) < 0 ? -1 : fd;
	close(fd);
	return fd_sealed("spec", &spec, sizeof(spec));
}

static int start_zygote(uint32_t gen, struct keeper_reply *reply, int *ret_control)
{
	_cleanup_close_ int spec = spec_make(true);

	return ask(&(struct keeper_msg){ .magic = KEEPER_MAGIC, .kind = KP_ZYGOTE_START, .gen = gen }, spec, reply, ret_control);
}

static bool hung_up(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	return poll(&p, 1, 10000) == 1 && (p.revents & POLLHUP);
}

static int plan_life(void)
{
	struct keeper_reply reply;
	struct zygote_says says;
	int control = -1, pidfd = -1;
	char c = 'x';

	MUST(start_zygote(1, &reply, &control) == 1);
	if (reply.err)
		fprintf(stderr, "# zygote: %s: %s\n", reply.op, strerror(reply.err));
	MUST(reply.err == 0 && control >= 0);
	MUST(reply.first_host_uid == (core->as_root ? core->uid + LANE_SLOTS - LANE_CORE : core->uid));
	MUST(reply.first_host_uid != 0 || !core->as_root); /* 0 only as the one id of a small user namespace */
	MUST(fd_recv(control, &says, sizeof(says), NULL, 0, NULL, 0) == 1);
	MUST(says.uid == 0 && says.gid == 0 && says.pid == 1 && says.deathsig == SIGKILL && says.spec_ok);
	MUST(says.fds == 7);
	MUST(!core->as_root || says.groups == 0);
	MUST(strncmp(says.exe, "/memfd:brig-zygote", 18) == 0);

	MUST(ask_slot(KP_CGROUP_NEW, 3, -1, &reply) == 1 && reply.err == 0);
	bool groups = reply.cgroup_kind != CGROUP_NONE;
	MUST(fd_send(control, &c, 1, NULL, 0) == 0 && fd_recv(control, &c, 1, &pidfd, 1, NULL, 0) == 1);
	MUST(ask_slot(KP_CGROUP_JOIN, 3, pidfd, &reply) == 1);
	if (reply.err)
		fprintf(stderr, "# join: %s: %s\n", reply.op, strerror(reply.err));
	MUST(reply.err == 0);
	MUST(view_works(3, groups));
	MUST(ask_slot(KP_CGROUP_READ, 3, -1, &reply) == 1 && reply.err == 0);
	MUST(reply.usage.processes == (groups ? 1 : CGROUP_UNKNOWN));
	if (groups) {
		struct pollfd dead = { pidfd, POLLIN, 0 };
		MUST(ask_slot(KP_CGROUP_KILL, 3, -1, &reply) == 1 && reply.err == 0);
		MUST(poll(&dead, 1, 10000) == 1);
	}
	MUST(ask_slot(KP_CGROUP_DEL, 3, -1, &reply) == 1 && reply.err == 0);
	MUST(!groups || reply.usage.processes == 0);
	MUST(ask(&(struct keeper_msg){ .magic = KEEPER_MAGIC, .kind = KP_ZYGOTE_STOP, .gen = 1 }, -1, &reply, NULL) == 1 && reply.err == 0);
	MUST(hung_up(control));
	MUST(ask(&(struct keeper_msg){ .magic = KEEPER_MAGIC, .kind = KP_ZYGOTE_STOP, .gen = 1 }, -1, &reply, NULL) == 1 && reply.err == 0);
	return STATUS_GOOD;
}

/* Nothing of the keeper's is left open here. */
static int plan_fds(void)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fd != core->client_fd && fd != core->keeper_fd)
			MUST(fcntl(fd, F_GETFD) < 0);
	MUST(fcntl(core->client_fd, F_GETFD) >= 0);
	return STATUS_GOOD;
}

/* Asked in vain, yet no reason to end. */
static int plan_refusals(void)
{
	struct keeper_reply reply;
	_cleanup_close_ int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	struct keeper_msg tiny = { KEEPER_MAGIC, KP_CGROUP_NEW, 0, 1, { 4096, 16, 100 }, 0 };

	MUST(ask_slot(KP_CGROUP_READ, 0, -1, &reply) == 1 && reply.err == ENOENT);
	MUST(ask_slot(KP_CGROUP_DEL, LIMIT_SLOTS - 1, -1, &reply) == 1 && reply.err == ENOENT);
	MUST(ask_slot(KP_CGROUP_NEW, 0, -1, &reply) == 1 && reply.err == 0);
	MUST(ask_slot(KP_CGROUP_NEW, 0, -1, &reply) == 1 && reply.err == EEXIST);
	MUST(ask(&tiny, -1, &reply, NULL) == 1 && reply.err == EINVAL && reply.op[0]);
	MUST(ask_slot(KP_CGROUP_JOIN, 0, self, &reply) == 1 && reply.err == EPERM);
	return STATUS_GOOD; /* slot 0 is left to the keeper */
}

static int plan_sleep(void)
{
	struct keeper_reply reply;
	int control = -1, pidfd = -1;
	char c = 'r';
	struct zygote_says says;

	MUST(start_zygote(1, &reply, &control) == 1 && reply.err == 0);
	MUST(fd_recv(control, &says, sizeof(says), NULL, 0, NULL, 0) == 1);
	MUST(ask_slot(KP_CGROUP_NEW, 7, -1, &reply) == 1 && reply.err == 0);
	MUST(fd_send(control, &c, 1, NULL, 0) == 0 && fd_recv(control, &c, 1, &pidfd, 1, NULL, 0) == 1);
	MUST(ask_slot(KP_CGROUP_JOIN, 7, pidfd, &reply) == 1 && reply.err == 0);
	/* The test gets the pidfd of the "jail" and sees by it whether it dies. */
	MUST(fd_send(core->client_fd, &c, 1, &pidfd, 1) == 0);
	MUST(read(core->client_fd, &c, 1) == 0); /* a test that fails takes us along */
	return STATUS_GOOD;
}

/* Sends one message that must be the keeper's last. */
static int plan_bad(enum plan plan)
{
	struct keeper_msg msg = { KEEPER_MAGIC, KP_CGROUP_NEW, 0, 0, { 64u << 20, 16, 100 }, 0 };
	struct keeper_reply reply;
	_cleanup_close_ int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int spec = spec_make(plan != PLAN_BAD_SPEC);
	size_t len = sizeof(msg);
	int fd = -1;

	switch (plan) {
	case PLAN_BAD_KIND: msg.kind = 99; break;
	case PLAN_BAD_SIZE: len--; break;
	case PLAN_BAD_MAGIC: msg.magic++; break;
	case PLAN_BAD_SLOT: msg.slot = LIMIT_SLOTS; break;
	case PLAN_BAD_FDS: fd = null; break;
	case PLAN_BAD_GEN: msg.kind = KP_ZYGOTE_START; msg.gen = 0; fd = spec; break;
	case PLAN_BAD_SPEC: msg.kind = KP_ZYGOTE_START; msg.gen = 1; fd = spec; break;
	case PLAN_BAD_PIDFD:
		MUST(ask_slot(KP_CGROUP_NEW, 0, -1, &reply) == 1 && reply.err == 0);
		msg.kind = KP_CGROUP_JOIN;
		fd = null;
		break;
	case PLAN_BAD_READY: msg.kind = KP_READY; break; /* a private supervisor has nobody to tell */
	case PLAN_BAD_STOP: msg.kind = KP_ZYGOTE_STOP; msg.gen = 5; break;
	default: return STATUS_WRONG;
	}
	MUST(fd_send(core->keeper_fd, &msg, len, &fd, fd >= 0) == 0);
	MUST(fd_recv(core->keeper_fd, &reply, sizeof(reply), NULL, 0, NULL, 0) <= 0);
	for (;;)
		pause(); /* must be killed */
}

/* What a daemon's core tells the test that connects. */
struct core_says {
	pid_t pid;
	uint32_t next_gen, restarts;
	bool reload_ok;
};

static int ask_kind(uint32_t kind, struct keeper_reply *reply, int *ret_fd)
{
	return ask(&(struct keeper_msg){ .magic = KEEPER_MAGIC, .kind = kind }, -1, reply, ret_fd);
}

/* The file that it reads is none, so the memfd holds the reason. */
static bool reload_works(void)
{
	struct keeper_reply reply;
	_cleanup_close_ int fd = -1;

	return ask_kind(KP_RELOAD, &reply, &fd) == 1 && reply.err == 0 && fd >= 0 && ask_kind(KP_RELOAD_REFUSED, &reply, NULL) == 1;
}

/* Leaves a zygote and its "jail", which the test gets, and dies. */
static int die_at_work(int client)
{
	struct keeper_reply reply;
	struct zygote_says zygote;
	int control = -1, pidfd = -1;
	char c = 'z';

	MUST(start_zygote(core->next_gen, &reply, &control) == 1 && reply.err == 0);
	MUST(fd_recv(control, &zygote, sizeof(zygote), NULL, 0, NULL, 0) == 1);
	MUST(ask_slot(KP_CGROUP_NEW, 5, -1, &reply) == 1 && reply.err == 0);
	MUST(fd_send(control, &c, 1, NULL, 0) == 0 && fd_recv(control, &c, 1, &pidfd, 1, NULL, 0) == 1);
	MUST(ask_slot(KP_CGROUP_JOIN, 5, pidfd, &reply) == 1 && reply.err == 0);
	MUST(fd_send(client, &c, 1, &pidfd, 1) == 0);
	MUST(recv(client, &c, 1, 0) == 1); /* it has looked at the living */
	return raise(SIGKILL);
}

/* Serves one test after the other: 's' says, 'z' dies at work, 'b' and 'r' break the protocol. */
static int plan_daemon(void)
{
	struct keeper_reply reply;
	struct pollfd p = { core->agent_fd, POLLIN, 0 };
	char c;

	MUST(fcntl(core->agent_fd, F_GETFD) >= 0 && fcntl(core->admin_fd, F_GETFD) >= 0 && core->client_fd < 0);
	MUST(ask_kind(KP_READY, &reply, NULL) == 1 && reply.err == 0);
	while (poll(&p, 1, 20000) == 1) {
		_cleanup_close_ int client = accept4(core->agent_fd, NULL, NULL, SOCK_CLOEXEC);
		if (recv(client, &c, 1, 0) != 1)
			continue;
		struct core_says says = { getpid(), core->next_gen, core->restarts, c == 's' && reload_works() };
		if (c == 'z')
			return die_at_work(client);
		if (c == 'g') { /* the last generation that there is */
			int control = -1;
			(void)start_zygote(UINT32_MAX, &reply, &control);
			_exit(9);
		}
		if (c == 'Z') { /* may this core start a zygote at all? */
			int control = -1;
			says.reload_ok = start_zygote(core->next_gen, &reply, &control) == 1 && reply.err == 0;
		}
		if (c == 'b')
			(void)ask_kind(99, &reply, NULL);
		if (c == 'r')
			(void)ask_kind(KP_RELOAD_DONE, &reply, NULL); /* nothing was read */
		(void)send(client, &says, sizeof(says), MSG_NOSIGNAL);
	}
	return STATUS_GOOD;
}

int core_main(struct core_boot *boot)
{
	int r = STATUS_GOOD;

	core = boot;
	switch (boot->config.warm) {
	case PLAN_LIFE: r = plan_life(); break;
	case PLAN_FDS: r = plan_fds(); break;
	case PLAN_REFUSALS: r = plan_refusals(); break;
	case PLAN_SLEEP: r = plan_sleep(); break;
	case PLAN_DAEMON: r = plan_daemon(); break;
	case PLAN_EXIT: break;
	default: r = plan_bad((enum plan)boot->config.warm); break;
	}
	if (r == STATUS_WRONG)
		fprintf(stderr, "# core: wrong at line %d\n", core_line);
	return r;
}

/* ---- audit ------------------------------------------------------------------------- */

#define ROTATE_BYTES (64u << 10)
#define ROTATE_NUMBER 7

static int audit_ask(const struct audit_boot *boot, uint64_t number, int *ret_fd)
{
	struct audit_ctl ctl = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_ROTATE, .number = number };

	if (fd_send(boot->keeper_fd, &ctl, sizeof(ctl), NULL, 0) < 0 ||
	    fd_recv(boot->keeper_fd, &ctl, sizeof(ctl), ret_fd, 1, NULL, 0) != 1 || ctl.kind != AUDIT_FILE || ctl.number != number)
		return -1;
	return ctl.err;
}

static bool audit_fill(int fd, size_t len)
{
	static char bytes[ROTATE_BYTES];

	memset(bytes, 'x', sizeof(bytes));
	return fd_write_all(fd, bytes, len) == 0;
}

/* Asks for what it may and may not have. Where it was answered wrongly, or 0. */
static int audit_tries(struct audit_boot *boot)
{
	int fd = -1, none = -1;

	if (audit_ask(boot, ROTATE_NUMBER, &none) != EPERM || none >= 0) /* nothing to put away yet */
		return __LINE__;
	if (!audit_fill(boot->log_fd, ROTATE_BYTES) || audit_ask(boot, 0, &none) == 0 || audit_ask(boot, UINT64_MAX, &none) == 0)
		return __LINE__;
	if (audit_ask(boot, ROTATE_NUMBER, &fd) != 0 || fd < 0 || !(fcntl(fd, F_GETFL) & O_APPEND))
		return __LINE__;
	boot->log_fd = fd;
	if (!audit_fill(fd, ROTATE_BYTES) || audit_ask(boot, ROTATE_NUMBER, &none) != EEXIST) /* never over a file that is there */
		return __LINE__;
	return 0;
}

int audit_main(struct audit_boot *boot)
{
	struct audit_ctl ctl = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_READY };
	char text[256] = "";

	if (fd_send(boot->keeper_fd, &ctl, sizeof(ctl), NULL, 0) < 0)
		return 1;
	if (!boot->why[0]) {
		snprintf(text, sizeof(text), "\nline %d\n", audit_tries(boot));
		(void)fd_write_all(boot->log_fd, text, strlen(text));
		(void)fd_send(boot->keeper_fd, "?", 1, NULL, 0);
		for (;;)
			pause(); /* must be killed: it broke the protocol */
	}
	snprintf(text, sizeof(text), "after %s, before %d\n", boot->why, boot->before_fd >= 0);
	(void)fd_write_all(boot->log_fd, text, strlen(text));
	while (fd_recv(boot->keeper_fd, &ctl, sizeof(ctl), NULL, 0, NULL, 0) == 1)
		if (ctl.kind == AUDIT_STOP)
			(void)fd_write_all(boot->log_fd, "stop\n", 5);
	return 0;
}

/* ---- the tests --------------------------------------------------------------------- */

struct running {
	pid_t keeper;
	int client;
};

static struct running keeper_fork(enum plan plan)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		char self[PATH_MAX] = "";
		struct keeper_boot boot = { .client_fd = pair[1], .config.warm = plan, .zygote_path = self };
		close(pair[0]);
		if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
			_exit(1);
		_exit(keeper_main(&boot));
	}
	close(pair[1]);
	return (struct running){ pid, pair[0] };
}

static int keeper_wait(struct running *r)
{
	int status;

	assert_int_equal(waitpid(r->keeper, &status, 0), r->keeper);
	close(r->client);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int run(enum plan plan)
{
	struct running r = keeper_fork(plan);

	return keeper_wait(&r);
}

static char g_sought[64];
static int g_found;

static int count_one(const char *path, const struct stat *st UNUSED, int type, struct FTW *at)
{
	g_found += type == FTW_D && strcmp(path + at->base, g_sought) == 0;
	return 0;
}

/* How many directories of that name there are, over all hierarchies. */
static int groups_named(const char *name)
{
	snprintf(g_sought, sizeof(g_sought), "%s", name);
	g_found = 0;
	if (name[0])
		(void)nftw("/sys/fs/cgroup", count_one, 16, FTW_PHYS);
	return g_found;
}

/* What the jail's group is called; "" where this host gives none. */
static void group_name(int pidfd, char *ret, size_t cap)
{
	char path[64], text[4096], *at;

	ret[0] = '\0';
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	at = strstr(text, "\nPid:");
	assert_non_null(at);
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)strtol(at + 5, NULL, 10));
	assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	at = strstr(text, "/brig/");
	if (at) {
		at[strcspn(at, "\n")] = '\0';
		snprintf(ret, cap, "%s", at + strlen("/brig/"));
	}
}

static void test_a_whole_life(void **state UNUSED)
{
	assert_int_equal(run(PLAN_LIFE), STATUS_GOOD);
}

static void test_core_holds_nothing_of_the_keepers(void **state UNUSED)
{
	assert_int_equal(run(PLAN_FDS), STATUS_GOOD);
}

static void test_what_is_asked_in_vain_is_answered(void **state UNUSED)
{
	assert_int_equal(run(PLAN_REFUSALS), STATUS_GOOD);
}

static void test_a_broken_message_ends_everything(void **state UNUSED)
{
	for (enum plan p = PLAN_BAD_KIND; p < PLAN_BAD_END; p++) {
		int status = run(p);
		if (status != 70)
			fail_msg("plan %d ended with %d", p, status);
	}
}

/* Receives the jail's pidfd of PLAN_SLEEP. */
static int jail_of(struct running *r)
{
	int pidfd = -1;
	char c;

	assert_int_equal(fd_recv(r->client, &c, 1, &pidfd, 1, NULL, 0), 1);
	assert_true(pidfd >= 0);
	return pidfd;
}

static bool ends(int pidfd)
{
	struct pollfd p = { pidfd, POLLIN, 0 };
	bool ended = poll(&p, 1, 10000) == 1;

	close(pidfd);
	return ended;
}

static void test_a_signal_ends_everything(void **state UNUSED)
{
	static const int signals[] = { SIGTERM, SIGINT };
	char name[64];

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct running r = keeper_fork(PLAN_SLEEP);
		int jail = jail_of(&r);
		group_name(jail, name, sizeof(name));
		kill(r.keeper, signals[i]);
		assert_true(ends(jail));
		assert_int_equal(keeper_wait(&r), 128 + SIGTERM); /* what core died of */
		assert_int_equal(groups_named(name), 0);
	}
}

static void test_a_killed_keeper_takes_all_along_and_is_swept(void **state UNUSED)
{
	struct running r = keeper_fork(PLAN_SLEEP);
	int jail = jail_of(&r);
	char c, name[64];

	group_name(jail, name, sizeof(name));
	assert_true(!name[0] || groups_named(name) > 0);
	kill(r.keeper, SIGKILL);
	assert_true(ends(jail));
	assert_int_equal(read(r.client, &c, 1), 0); /* core is gone too */
	assert_int_equal(keeper_wait(&r), 1000 + SIGKILL);
	assert_int_equal(run(PLAN_EXIT), STATUS_GOOD);
	assert_int_equal(groups_named(name), 0);
}

static void test_two_at_once_do_not_meet(void **state UNUSED)
{
	struct running a = keeper_fork(PLAN_SLEEP);
	int jail_a = jail_of(&a);
	struct running b = keeper_fork(PLAN_SLEEP);
	int jail_b = jail_of(&b);
	struct pollfd alive = { jail_a, POLLIN, 0 };

	kill(b.keeper, SIGTERM);
	assert_true(ends(jail_b));
	assert_int_equal(keeper_wait(&b), 128 + SIGTERM);
	assert_int_equal(run(PLAN_LIFE), STATUS_GOOD); /* sweeps, and must leave a's alone */
	assert_int_equal(poll(&alive, 1, 0), 0);
	kill(a.keeper, SIGTERM);
	assert_true(ends(jail_a));
	assert_int_equal(keeper_wait(&a), 128 + SIGTERM);
}

static unsigned long long effective_caps(pid_t pid, const char *key)
{
	char path[48], text[4096];
	const char *at;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	at = strstr(text, key);
	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 16);
}

static void test_the_keeper_keeps_few_capabilities(void **state UNUSED)
{
	struct running r = keeper_fork(PLAN_SLEEP);
	int jail = jail_of(&r);
	/* KILL, SETGID, SETUID, SYS_ADMIN, SETFCAP */
	const unsigned long long may = 1ull << 5 | 1ull << 6 | 1ull << 7 | 1ull << 21 | 1ull << 31;

	assert_true((effective_caps(r.keeper, "CapPrm:") & ~may) == 0);
	assert_true((effective_caps(r.keeper, "CapEff:") & ~may) == 0);
	if (geteuid() == 0)
		assert_true((effective_caps(r.keeper, "CapBnd:") & ~may) == 0);
	kill(r.keeper, SIGTERM);
	assert_true(ends(jail));
	keeper_wait(&r);
}

/* ---- a daemon ---------------------------------------------------------------------- */

static char g_dir[64];
static pid_t g_keeper; /* of a daemon; its test may have failed before it ended */

static int dir_make(void **state UNUSED)
{
	snprintf(g_dir, sizeof(g_dir), "/var/tmp/brig-u-keeper.XXXXXX");
	return mkdtemp(g_dir) ? 0 : -1;
}

static int dir_remove(void **state UNUSED)
{
	char command[100];

	if (waitpid(g_keeper, NULL, WNOHANG) == 0 && kill(g_keeper, SIGKILL) == 0)
		(void)waitpid(g_keeper, NULL, 0);
	snprintf(command, sizeof(command), "rm -r %s", g_dir);
	return system(command);
}

static pid_t daemon_fork(bool audit)
{
	fflush(NULL);
	g_keeper = fork();
	if (g_keeper == 0) {
		static struct keeper_boot boot = { .client_fd = -1, .config.warm = PLAN_DAEMON, .from.config = "/dev/null", .config.log_level = 6 };
		char self[PATH_MAX] = "";
		struct config *c = &boot.config;
		snprintf(c->run_dir, sizeof(c->run_dir), "%s", g_dir);
		snprintf(c->agent.path, sizeof(c->agent.path), "%s/agent.sock", g_dir);
		snprintf(c->admin.path, sizeof(c->admin.path), "%s/admin.sock", g_dir);
		c->agent.mode = c->admin.mode = 0600;
		c->agent.uid = c->admin.uid = getuid();
		c->agent.gid = c->admin.gid = getgid();
		boot.zygote_path = self;
		c->audit = audit;
		c->audit_rotate_bytes = ROTATE_BYTES;
		snprintf(c->state_dir, sizeof(c->state_dir), "%s/state", g_dir);
		if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
			_exit(1);
		_exit(keeper_main(&boot));
	}
	return g_keeper;
}

/* A connection that was sent this letter; waits until a daemon listens. */
static int daemon_tell(char letter)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/agent.sock", g_dir);
	for (int i = 0; connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0; i++) {
		assert_true(i < 1000);
		usleep(10000);
	}
	assert_int_equal(send(fd, &letter, 1, MSG_NOSIGNAL), 1);
	return fd;
}

/* Of a core other than `before`. */
static struct core_says daemon_ask(pid_t before)
{
	struct core_says says = { 0 };

	for (int i = 0; i < 100; i++) {
		_cleanup_close_ int fd = daemon_tell('s');
		if (recv(fd, &says, sizeof(says), MSG_WAITALL) == sizeof(says) && says.pid != before)
			return says;
		usleep(20000);
	}
	fail_msg("no other core than %d answers", (int)before);
	return says;
}

/* Core dies: its zygote, the jail below it, and the jail's group are gone before another core comes. */
static struct core_says core_dies_at_work(pid_t first)
{
	_cleanup_close_ int conn = daemon_tell('z');
	struct core_says next;
	char name[64], c;
	int pidfd = -1;

	assert_int_equal(fd_recv(conn, &c, 1, &pidfd, 1, NULL, 0), 1);
	struct pollfd dead = { pidfd, POLLIN, 0 };
	group_name(pidfd, name, sizeof(name));
	assert_int_equal(send(conn, "k", 1, MSG_NOSIGNAL), 1);
	next = daemon_ask(first);
	assert_int_equal(poll(&dead, 1, 0), 1);
	close(pidfd);
	assert_int_equal(groups_named(name), 0);
	return next;
}

static void test_a_daemon_has_another_core(void **state UNUSED)
{
	char path[PATH_MAX], c;
	int status;

	pid_t keeper = daemon_fork(false);
	struct core_says says = daemon_ask(0);
	assert_int_equal(says.next_gen, 1);
	assert_int_equal(says.restarts, 0);
	assert_true(says.reload_ok);
	says = core_dies_at_work(says.pid);
	assert_int_equal(says.next_gen, 2);
	assert_int_equal(says.restarts, 1);
	/* One that breaks the protocol costs itself and not the daemon. */
	for (const char *letter = "br"; *letter; letter++) {
		_cleanup_close_ int fd = daemon_tell(*letter);
		assert_int_equal(recv(fd, &c, 1, 0), 0);
		says = daemon_ask(says.pid);
	}
	/* This core has no handler and dies of the word to drain; the keeper ends in order all the same. */
	kill(keeper, SIGTERM);
	assert_int_equal(waitpid(keeper, &status, 0), keeper);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 70);
	snprintf(path, sizeof(path), "%s/agent.sock", g_dir);
	assert_int_equal(access(path, F_OK), -1);
}

/* One hostile core must not take from those after it what they need. */
static void test_a_core_cannot_use_up_the_generations(void **state UNUSED)
{
	struct core_says says;
	int status;

	pid_t keeper = daemon_fork(false);
	says = daemon_ask(0);
	close(daemon_tell('g'));
	says = daemon_ask(says.pid);
	_cleanup_close_ int fd = daemon_tell('Z');
	assert_int_equal(recv(fd, &says, sizeof(says), MSG_WAITALL), sizeof(says));
	assert_true(says.reload_ok);
	kill(keeper, SIGTERM);
	assert_int_equal(waitpid(keeper, &status, 0), keeper);
}

/* Waits for it: the log's last lines. */
static void log_says(const char *word)
{
	char path[PATH_MAX];
	static char text[4 * ROTATE_BYTES];

	snprintf(path, sizeof(path), "%s/state/audit/" CHAIN_LOG_NAME, g_dir);
	for (int i = 0; i < 500; i++) {
		ssize_t n = fd_read_file_at(AT_FDCWD, path, text, sizeof(text));
		if (n > 0 && strstr(text, word))
			return;
		usleep(20000);
	}
	fail_msg("%s does not say %s: ...%s", path, word, strchr(text, '\n') ? strchr(text, '\n') : "");
}

static void test_audit_gets_its_files_and_no_more(void **state UNUSED)
{
	char path[PATH_MAX];
	int status;
	struct stat st;

	pid_t keeper = daemon_fork(true);
	log_says("\nline 0\n");
	log_says("after signal 9, before 1\n");
	(void)daemon_ask(0);
	kill(keeper, SIGTERM);
	assert_int_equal(waitpid(keeper, &status, 0), keeper);
	log_says("stop\n");
	snprintf(path, sizeof(path), "%s/state/audit/" CHAIN_OLD_NAME, g_dir, (unsigned long long)ROTATE_NUMBER);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, ROTATE_BYTES);
	assert_int_equal(st.st_mode & 07777, 0600);
}

int main(int argc UNUSED, char **argv)
{
	if (strncmp(argv[0], "zygote: gen ", 12) == 0)
		return zygote_main();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_life),
		cmocka_unit_test(test_core_holds_nothing_of_the_keepers),
		cmocka_unit_test(test_what_is_asked_in_vain_is_answered),
		cmocka_unit_test(test_a_broken_message_ends_everything),
		cmocka_unit_test(test_a_signal_ends_everything),
		cmocka_unit_test(test_a_killed_keeper_takes_all_along_and_is_swept),
		cmocka_unit_test(test_two_at_once_do_not_meet),
		cmocka_unit_test(test_the_keeper_keeps_few_capabilities),
		cmocka_unit_test_setup_teardown(test_a_daemon_has_another_core, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_a_core_cannot_use_up_the_generations, dir_make, dir_remove),
		cmocka_unit_test_setup_teardown(test_audit_gets_its_files_and_no_more, dir_make, dir_remove),
	};
	return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
