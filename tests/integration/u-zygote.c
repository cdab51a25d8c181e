/* The zygote program as a whole: this test is its keeper and its core. What it
 * refuses to start with, how it makes and inspects jails, what ends it, and that its jails end with it.
 *
 * Prints TAP. As root with a range of ids, else rootless. */
#include "jail/base/fd.h"
#include "jail/frame.h"
#include "jail/spec.h"
#include "jail/status.h"
#include "jail/zygote_proto.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define HOST_ID 0x7f1f0000u /* mapped by nobody else; any unused range does */
#define WAIT_MS 20000
#define ALL_NAMESPACES ((1u << NS_COUNT) - 1)

struct zygote_run {
	pid_t pid;
	int pidfd, control, lifeline, groups;
	struct zygote_msg first; /* READY or START_FAILED */
};

struct jail_run {
	int out, err, request, result, status, pidfd;
	struct zygote_msg inspected;
};

static struct jail_spec spec;
static int tests, failures;
static uint64_t seq, groups_id; /* groups_id: of the next SPAWN */

static void check(bool ok, const char *what)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++tests, what);
	fflush(stdout);
	failures += !ok;
}

static void bail(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void mount_add(const char *from, const char *to, uint32_t flags)
{
	struct spec_mount *m = &spec.mounts[spec.mount_count++];

	snprintf(m->from, sizeof(m->from), "%s", from);
	snprintf(m->to, sizeof(m->to), "%s", to);
	m->flags = flags;
}

/* The smallest profile in which Python starts; the filter allows all, which is other tests' business. */
static void spec_reset(void)
{
	static const char modules[] = "math\0json\0random\0uuid";

	memset(&spec, 0, sizeof(spec));
	spec.magic = SPEC_MAGIC;
	spec.version = SPEC_VERSION;
	spec.size = sizeof(spec);
	spec.best_effort = LAYER_BIT(LAYER_COUNT) - 1;
	snprintf(spec.profile, sizeof(spec.profile), "test");
	spec.limits = (struct spec_limits){
		.memory_bytes = 256u << 20, .tmp_bytes = 1u << 20, .tmp_inodes = 64, .file_bytes = 1u << 20, .stack_bytes = 8u << 20,
		.pids = 16, .open_files = 64, .cpu_ms = 5000, .wall_ms = 5000, .cpu_quota_pct = 100,
	};
	mount_add("/usr/lib", "/usr/lib", SPEC_MOUNT_EXEC);
	mount_add("usr/lib", "/lib", SPEC_MOUNT_SYMLINK);
	memcpy(spec.imports, modules, sizeof(modules));
	memcpy(spec.preload, modules, sizeof(modules));
	spec.imports_len = spec.preload_len = sizeof(modules);
	spec.filter[0] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0x7fff0000u /* SECCOMP_RET_ALLOW */);
	spec.filter_len = 1;
}

static void prelude_set(const char *text)
{
	spec.prelude_len = (uint32_t)strlen(text);
	memcpy(spec.prelude, text, spec.prelude_len);
}

static void zygote_exec(int control, int spec_fd, int lifeline, int groups, int go)
{
	const char *dir = getenv("BUILD_DIR");
	char path[512], byte;
	char *argv[] = { "zygote", NULL }, *envp[] = { "PYTHONHOME=/nonexistent", "SECRET=1", NULL };
	int fds[] = { control, spec_fd, lifeline, groups };

	snprintf(path, sizeof(path), "%s/brig-zygote", dir ? dir : "build");
	if (read(go, &byte, 1) != 1 || setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		_exit(90);
	for (int i = 0; i < 4; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 20);
	for (int i = 0; i < 4; i++)
		if (dup2(fds[i], ZYGOTE_FD_CONTROL + i) < 0)
			_exit(91);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve(path, argv, envp);
	_exit(92);
}

static void map_write(pid_t pid, const char *file, uint32_t first, uint32_t count)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	snprintf(text, sizeof(text), "0 %u %u", first, count);
	if (fd_write_file_at(AT_FDCWD, path, text) < 0)
		bail(path);
}

static void maps_write(pid_t pid)
{
	char path[64];

	if (geteuid() == 0) {
		map_write(pid, "uid_map", HOST_ID, LIMIT_SLOTS + 1);
		map_write(pid, "gid_map", HOST_ID, LIMIT_SLOTS + 1);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	if (fd_write_file_at(AT_FDCWD, path, "deny") < 0)
		bail(path);
	map_write(pid, "uid_map", geteuid(), 1);
	map_write(pid, "gid_map", getegid(), 1);
}

static void msg_take(int control, struct zygote_msg *msg, int *ret_fd)
{
	struct pollfd p = { .fd = control, .events = POLLIN };
	int fds[2]; /* INSPECTED brings the listener and the jail's /tmp */

	if (poll(&p, 1, WAIT_MS) != 1 || fd_recv(control, msg, sizeof(*msg), fds, ARRAY_LEN(fds), NULL, 0) != 1 || msg->magic != ZYGOTE_MAGIC)
		bail("a message of the zygote");
	if (ret_fd)
		*ret_fd = fd_take(&fds[0]);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
}

static struct zygote_run zygote_start(void)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
		.exit_signal = SIGCHLD,
	};
	struct zygote_run z = { .pidfd = -1 };
	int control[2], life[2], groups[2], go[2], spec_fd = fd_sealed("spec", &spec, sizeof(spec));

	args.pidfd = (uint64_t)(uintptr_t)&z.pidfd;
	if (spec_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, groups) < 0 || pipe2(life, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		bail("descriptors");
	z.pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (z.pid < 0)
		bail("clone3");
	if (z.pid == 0)
		zygote_exec(control[1], spec_fd, life[0], groups[1], go[0]);
	maps_write(z.pid);
	if (write(go[1], "x", 1) != 1)
		bail("write");
	z.control = control[0];
	z.lifeline = life[1];
	z.groups = groups[0];
	fd_close(groups[1]);
	fd_close(control[1]);
	fd_close(life[0]);
	fd_close(go[0]);
	fd_close(go[1]);
	fd_close(spec_fd);
	msg_take(z.control, &z.first, NULL);
	return z;
}

static void zygote_end(struct zygote_run *z)
{
	z->control = fd_close(z->control);
	z->lifeline = fd_close(z->lifeline);
	z->groups = fd_close(z->groups);
	(void)pidfd_send_signal(z->pidfd, SIGKILL, NULL, 0);
	(void)waitpid(z->pid, NULL, 0);
	z->pidfd = fd_close(z->pidfd);
}

/* A start that must fail, saying `op` and, in the detail, `words`. */
static void start_refused(const char *op, const char *words, const char *what)
{
	struct zygote_run z = zygote_start();
	bool right = z.first.kind == ZY_START_FAILED && strcmp(z.first.op, op) == 0 && strstr(z.first.detail, words);

	check(right, what);
	if (!right)
		printf("# kind %u, op \"%.48s\", detail \"%.192s\"\n", z.first.kind, z.first.op, z.first.detail);
	zygote_end(&z);
}

static void status_exchange(int fd, enum status_kind tell, enum status_kind want, struct status_rec *rec)
{
	struct status_rec out = { .magic = STATUS_MAGIC, .kind = (uint16_t)tell, .layer = -1, .listener_fd = -1 };

	if (fd_send(fd, &out, sizeof(out), NULL, 0) < 0 || fd_recv(fd, rec, sizeof(*rec), NULL, 0, NULL, 0) != 1 || rec->kind != want) {
		printf("# status %u, stage %u, op %.48s\n", rec->kind, rec->stage, rec->op);
		bail("a status record");
	}
}

/* The answer to SPAWN, and the pidfd that came with it. */
static struct zygote_msg spawn(struct zygote_run *z, struct jail_run *j, uint32_t slot)
{
	int out[2], err[2], request[2], result[2], status[2];
	struct zygote_msg msg = { .magic = ZYGOTE_MAGIC, .kind = ZY_SPAWN, .seq = ++seq, .slot = slot, .groups = groups_id };

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || pipe2(request, O_CLOEXEC) < 0 || pipe2(result, O_CLOEXEC) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, status) < 0)
		bail("descriptors");
	int fds[ZSPAWN_FDS] = { out[1], err[1], request[0], result[1], status[1] };
	if (fd_send(z->control, &msg, sizeof(msg), fds, ZSPAWN_FDS) < 0)
		bail("send SPAWN");
	for (int i = 0; i < ZSPAWN_FDS; i++)
		fd_close(fds[i]);
	*j = (struct jail_run){ .out = out[0], .err = err[0], .request = request[1], .result = result[0], .status = status[0], .pidfd = -1 };
	msg_take(z->control, &msg, &j->pidfd);
	return msg;
}

static void jail_park(struct zygote_run *z, struct jail_run *j, uint32_t slot)
{
	struct zygote_msg msg = spawn(z, j, slot);
	struct status_rec rec;

	if (msg.kind != ZY_SPAWNED || msg.err || j->pidfd < 0)
		bail("SPAWNED");
	rec = (struct status_rec){ .magic = STATUS_MAGIC, .kind = STATUS_GO };
	if (fd_send(j->status, &rec, sizeof(rec), NULL, 0) < 0)
		bail("send GO");
	status_exchange(j->status, STATUS_JOINED, STATUS_LOCKED, &rec);
	msg = (struct zygote_msg){ .magic = ZYGOTE_MAGIC, .kind = ZY_INSPECT, .seq = seq, .slot = slot, .listener_fd = rec.listener_fd };
	if (fd_send(z->control, &msg, sizeof(msg), NULL, 0) < 0)
		bail("send INSPECT");
	msg_take(z->control, &j->inspected, NULL);
	status_exchange(j->status, STATUS_PARK, STATUS_PARKED, &rec);
}

static void jail_close(struct jail_run *j)
{
	int *fds[] = { &j->out, &j->err, &j->request, &j->result, &j->status, &j->pidfd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		*fds[i] = fd_close(*fds[i]);
}

static void request_send(struct jail_run *j, const char *body, const char *args)
{
	struct request_head head = { .magic = REQUEST_MAGIC, .body_len = (uint32_t)strlen(body), .args_len = (uint32_t)strlen(args) };

	if (getrandom(head.seed, sizeof(head.seed), 0) < 0 || fd_write_all(j->request, &head, sizeof(head)) < 0 ||
	    fd_write_all(j->request, body, head.body_len) < 0 || fd_write_all(j->request, args, head.args_len) < 0)
		bail("write request");
	j->request = fd_close(j->request);
}

/* The payload of a whole call in `slot`, and the raw wait status. */
static void call(struct zygote_run *z, uint32_t slot, const char *body, const char *args, char text[static 1024], int *ret_status)
{
	struct zygote_msg exited;
	struct result_head head = { 0 };
	struct jail_run j;

	jail_park(z, &j, slot);
	request_send(&j, body, args);
	text[0] = '\0';
	if (fd_read_all(j.result, &head, sizeof(head)) == 0 && head.magic == RESULT_MAGIC && head.len < 1024 &&
	    fd_read_all(j.result, text, head.len) == 0)
		text[head.len] = '\0';
	msg_take(z->control, &exited, NULL);
	*ret_status = exited.kind == ZY_EXITED && exited.seq == seq ? exited.wait_status : -1;
	jail_close(&j);
}

static void test_starts_refused(void)
{
	spec_reset();
	spec.version++;
	start_refused("spec_check", "version", "a spec of another version is refused");
	spec_reset();
	mount_add("/nonexistent/place", "/data", 0);
	start_refused("open mount source", "/nonexistent/place", "a mount source that is not there is named");
	spec_reset();
	spec.mount_count = 0;
	memset(spec.mounts, 0, sizeof(spec.mounts));
	start_refused("start python", "no standard library", "a root without a standard library says so");
	spec_reset();
	prelude_set("def configure(:\n");
	start_refused("start python", "SyntaxError", "a broken prelude says what Python said");
	spec_reset();
	prelude_set("import os\nos.open('/dev/null', 0)\nconfigure = prepare = entry = drive = encode = describe = finish = lambda *a: None\n");
	start_refused("descriptor table", "nobody declared it", "a descriptor left open by a preload is refused");
	spec_reset();
	prelude_set("import _thread, time\n_thread.start_new_thread(time.sleep, (60,))\n"
		    "configure = prepare = entry = drive = encode = describe = finish = lambda *a: None\n");
	start_refused("a preloaded module started threads", "", "a thread started by a preload is refused");
}

static void test_calls(void)
{
	struct zygote_run z;
	struct zygote_msg msg;
	struct jail_run j;
	char text[1024], again[1024];
	int status;

	spec_reset();
	z = zygote_start();
	check(z.first.kind == ZY_READY, "a zygote says READY");
	call(&z, 0, "def run(n):\n    return sum(int(d) for d in str(n))\n", "{\"n\": 8675309}", text, &status);
	check(strcmp(text, "38") == 0 && status == 0, "a call in a fresh jail returns its value");
	call(&z, 0, "def run():\n    import os\n", "{}", text, &status);
	check(strstr(text, "ImportError") && status == 0, "an unlisted import is the tool's error");
	call(&z, 0, "def run():\n    import random, uuid\n    return [random.random(), str(uuid.uuid4())]\n", "{}", text, &status);
	call(&z, 0, "def run():\n    import random, uuid\n    return [random.random(), str(uuid.uuid4())]\n", "{}", again, &status);
	check(text[0] == '[' && strncmp(text, again, 8) != 0 && strcmp(strchr(text, ','), strchr(again, ',')) != 0, "randomness never repeats");

	jail_park(&z, &j, 7);
	check(j.inspected.err == 0 && j.inspected.namespaces == ALL_NAMESPACES, "a jail has every namespace of its own");
	struct jail_run second;
	msg = spawn(&z, &second, 7);
	check(msg.kind == ZY_SPAWNED && msg.err == EBUSY && second.pidfd < 0, "a slot that is taken is refused");
	jail_close(&second);
	request_send(&j, "def run():\n    print('partial', end='')\n    while True: pass\n", "{}");
	check(read(j.out, text, sizeof(text)) == 7 && memcmp(text, "partial", 7) == 0, "output arrives while the tool runs");
	(void)pidfd_send_signal(j.pidfd, SIGKILL, NULL, 0);
	msg_take(z.control, &msg, NULL);
	check(msg.kind == ZY_EXITED && msg.slot == 7 && msg.wait_status == SIGKILL, "a killed jail is reaped with its raw status");
	jail_close(&j);
	call(&z, 7, "def run(): return 'again'\n", "{}", text, &status);
	check(strcmp(text, "\"again\"") == 0, "its slot is free again");
	zygote_end(&z);
}

/* What the keeper sends for a jail; any file shows who wrote into it. */
static void groups_send(struct zygote_run *z, uint64_t id, const int *fds, uint32_t count)
{
	struct zygote_groups msg = { .magic = ZYGOTE_MAGIC, .count = count, .id = id };

	if (fd_send(z->groups, &msg, sizeof(msg), fds, count) < 0)
		bail("send groups");
}

static bool holds_text(int fd, const char *want)
{
	char text[8] = "";

	return pread(fd, text, sizeof(text) - 1, 0) == (ssize_t)strlen(want) && strcmp(text, want) == 0;
}

static void test_groups(void)
{
	int files[3] = { memfd_create("a", MFD_CLOEXEC), memfd_create("b", MFD_CLOEXEC), memfd_create("c", MFD_CLOEXEC) };
	struct status_rec rec = { .magic = STATUS_MAGIC, .kind = STATUS_GO };
	struct zygote_msg msg;
	struct zygote_run z;
	struct jail_run j;

	spec_reset();
	z = zygote_start();
	groups_send(&z, 1, &files[0], 1); /* of a jail that was given up */
	groups_send(&z, 2, &files[1], 2);
	groups_id = 2;
	msg = spawn(&z, &j, 3);
	check(msg.kind == ZY_SPAWNED && msg.err == 0, "a jail is made that enters its groups by itself");
	/* No JOINED: it waits for nobody. verify.c tries whether a file is still open. */
	check(fd_send(j.status, &rec, sizeof(rec), NULL, 0) == 0 && fd_recv(j.status, &rec, sizeof(rec), NULL, 0, NULL, 0) == 1 &&
		      rec.kind == STATUS_LOCKED,
	      "it goes through all layers");
	check(holds_text(files[1], "0") && holds_text(files[2], "0"), "it wrote itself into each of its groups");
	check(holds_text(files[0], ""), "and into none that was made for another");
	jail_close(&j);
	msg_take(z.control, &msg, NULL); /* its end: core's side of the status socket is gone */
	groups_id = 3;
	msg = spawn(&z, &j, 4);
	check(msg.kind == ZY_SPAWNED && msg.err == EPROTO && j.pidfd < 0, "a jail whose groups did not come is not made");
	jail_close(&j);
	groups_id = 0;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		fd_close(files[i]);
	zygote_end(&z);
}

enum end { END_CORE, END_KEEPER, END_KILL, END_SHORT, END_FDS, END_SLOT, ENDS };

static void end_do(struct zygote_run *z, enum end how)
{
	struct zygote_msg msg = { .magic = ZYGOTE_MAGIC, .kind = ZY_SPAWN, .seq = 99, .slot = how == END_SLOT ? LIMIT_SLOTS : 9 };
	int fds[ZSPAWN_FDS] = { 1, 1, 1, 1, 1 };

	if (how == END_CORE)
		z->control = fd_close(z->control);
	else if (how == END_KEEPER)
		z->lifeline = fd_close(z->lifeline);
	else if (how == END_KILL)
		(void)pidfd_send_signal(z->pidfd, SIGKILL, NULL, 0);
	else
		(void)fd_send(z->control, &msg, how == END_SHORT ? 8 : sizeof(msg), fds, how == END_SLOT ? ZSPAWN_FDS : how == END_FDS ? 2 : 0);
}

static void test_ends(void)
{
	static const char *const names[ENDS] = {
		[END_CORE] = "core goes away", [END_KEEPER] = "the keeper goes away", [END_KILL] = "the zygote is killed",
		[END_SHORT] = "a short message comes", [END_FDS] = "descriptors are missing", [END_SLOT] = "a slot is out of range",
	};

	for (enum end how = 0; how < ENDS; how++) {
		struct zygote_run z;
		struct jail_run j[2];
		char title[80];
		int gone = 0;

		spec_reset();
		z = zygote_start();
		for (uint32_t i = 0; i < ARRAY_LEN(j); i++)
			jail_park(&z, &j[i], i);
		end_do(&z, how);
		for (size_t i = 0; i < ARRAY_LEN(j); i++) {
			struct pollfd p = { .fd = j[i].pidfd, .events = POLLIN };
			gone += poll(&p, 1, WAIT_MS) == 1;
			jail_close(&j[i]);
		}
		snprintf(title, sizeof(title), "when %s, every jail ends", names[how]);
		check(gone == ARRAY_LEN(j), title);
		zygote_end(&z);
	}
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	test_starts_refused();
	test_calls();
	test_groups();
	test_ends();
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
