/* onelayer: runs one attack with exactly one layer of a jail, or with none.
 *
 *   onelayer [options] LAYER BODY.py KWARGS.json
 *
 * LAYER is a name of jail/base/names.h, or "none" for the control. The attack runs in an embedded interpreter that was
 * started before the layer went on, so that nothing but the layer can be what stops it. The layer is the jail's own
 * code (layer_*.c), the filter is the widest one without sockets, the cgroup is supervisor/cgroup.h's. A mount namespace and a uts
 * namespace of its own, copied from the host, keep what an attack without a layer does away from this machine.
 *
 *   --uid N         run the attack as that ordinary user
 *   --timeout MS    kill it then (5000)
 *   --linger MS     afterwards, wait that long for what it left running
 *
 * Prints one JSON object: {"end": "text|exit|signal|timeout|denied|setup", "text", "code", "name", "oom", "pids_refused"}.
 * A test program: linked with the jail's objects, never installed. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/base/fd.h"
#include "jail/layer.h"
#include "supervisor/cgroup.h"
#include "supervisor/profile_seccomp.h"
#include "supervisor/wire/json.h"
#include "tests/escape/libplace.h"

#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* A host id that nobody has, the one behind the user namespace's map. */
#define HOST_ID 1879048191u
#define TEXT_MAX 8192

static struct {
	const char *layer, *body, *kwargs;
	unsigned uid;
	int timeout_ms, linger_ms;
} opt = { .timeout_ms = 5000 };

struct run {
	int result[2], status[2], sync[2]; /* pipes and socket pairs: [0] ours, [1] the attack's */
	int listener_fd, pidfd;
	pid_t pid;
	struct cgroup_host cgroups;
	struct cgroup *cgroup;
	struct jbuf out;
};

static struct jail_spec spec;

static NORETURN void fatal(const char *what)
{
	fprintf(stderr, "onelayer: %s: %s\n", what, strerror(errno));
	exit(70);
}

static bool layer_is(const char *name)
{
	return !strcmp(opt.layer, name);
}

/* ---- before the fork: limits, interpreter, namespaces ---- */

static char *file_text(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) < 0)
		fatal(path);
	text = malloc((size_t)st.st_size + 1);
	if (!text || fd_read_all(fd, text, (size_t)st.st_size) < 0)
		fatal(path);
	text[st.st_size] = '\0';
	return text;
}

/* All groups but those that make sockets: what a profile may grant at most where it grants no network. */
static void spec_make(void)
{
	static const char *const groups[] = { "@base", "@files-read", "@files-write", "@events", "@threads", "@processes",
					      "@exec-memory" };
	const struct spec_limits small = { .memory_bytes = 64u << 20, .tmp_bytes = 16u << 20, .file_bytes = 16u << 20,
					   .stack_bytes = 8u << 20, .tmp_inodes = 1024, .pids = 16, .open_files = 64,
					   .cpu_ms = 1000, .cpu_quota_pct = 100, .wall_ms = 5000 };
	static struct seccomp_grants grants;
	struct err err = { 0 };

	spec.limits = small;
	spec.flags = SPEC_MDWE;
	spec.best_effort = LAYER_BIT(LAYER_SPECULATION);
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		seccomp_grant_group(&grants, syscall_group_find(groups[i]));
	if (seccomp_compile(&grants, spec.filter, SPEC_FILTER_MAX, &spec.filter_len, &err) < 0) {
		fprintf(stderr, "onelayer: %s: %s\n", err.where, err.detail);
		exit(70);
	}
}

static void interpreter_start(void)
{
	static const char warm[] = "import ctypes, errno, fcntl, json, mmap, os, re, resource, signal, socket, stat, struct, sys, termios, "
				   "tempfile, threading, time, codecs, encodings.idna\n"
				   "ctypes.CDLL(None)\n";
	PyConfig config;

	PyConfig_InitIsolatedConfig(&config);
	config.site_import = 0;
	if (PyStatus_Exception(PyConfig_SetString(&config, &config.program_name, L"/usr/bin/python3")) ||
	    PyStatus_Exception(Py_InitializeFromConfig(&config)) || PyRun_SimpleString(warm) != 0)
		fatal("python");
	PyConfig_Clear(&config);
}

/* ---- the attack's process ---- */

static void user_become(unsigned uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		fatal("become the user");
}

static void layer_enter(struct layer_state *st)
{
	const bool needs_promise = layer_is("landlock") || layer_is("seccomp");

	if (needs_promise && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		fatal("no_new_privs");
	if (layer_is("fds"))
		layer_fds_apply(st);
	else if (layer_is("session"))
		layer_session_apply(st);
	else if (layer_is("user"))
		layer_user_apply(st);
	else if (layer_is("uts") || layer_is("cgroup_ns"))
		layer_names_apply(st);
	else if (layer_is("mount"))
		layer_mount_apply(st);
	else if (layer_is("rlimit"))
		layer_rlimit_apply(st);
	else if (layer_is("no_new_privs") || layer_is("mdwe") || layer_is("speculation"))
		layer_privs_apply(st);
	else if (layer_is("capabilities"))
		layer_caps_apply(st);
	else if (layer_is("landlock"))
		layer_landlock_apply(st);
	else if (layer_is("seccomp"))
		layer_seccomp_apply(st);
	else if (!layer_is("none") && !layer_is("net") && !layer_is("pid") && !layer_is("ipc") && !layer_is("time") && !layer_is("cgroup"))
		fatal("unknown layer");
}

static void attack_run(const char *body, const char *kwargs, int result_fd)
{
	static const char driver[] =
		"def go(body, kwargs):\n"
		"    import json\n"
		"    space = {'__name__': 'tool'}\n"
		"    try:\n"
		"        exec(compile(body, 'tool', 'exec'), space)\n"
		"        return str(space['run'](**json.loads(kwargs)))\n"
		"    except BaseException as e:\n"
		"        return 'RAISED: %s: %s, line %d' % (type(e).__name__, e, e.__traceback__.tb_next.tb_lineno if e.__traceback__.tb_next else 0)\n";
	PyObject *space = PyDict_New(), *text = NULL;
	const char *bytes = NULL;

	PyDict_SetItemString(space, "__builtins__", PyEval_GetBuiltins());
	if (PyRun_String(driver, Py_file_input, space, space)) {
		text = PyObject_CallFunction(PyDict_GetItemString(space, "go"), "ss", body, kwargs);
		bytes = text ? PyUnicode_AsUTF8(text) : NULL;
	}
	if (!bytes)
		bytes = "RAISED: in the driver";
	(void)!write(result_fd, bytes, strnlen(bytes, TEXT_MAX));
	_exit(0);
}

static NORETURN void attack_main(struct run *r)
{
	_cleanup_free_ char *body = file_text(opt.body), *kwargs = file_text(opt.kwargs);
	struct jail_boot boot = { .spec = &spec, .null_fd = open("/dev/null", O_RDWR | O_CLOEXEC) };
	struct layer_state st = { .boot = &boot, .spec = &spec, .listener_fd = -1 };
	char go;

	PyOS_AfterFork_Child();
	/* Here, since the other side must keep its files: this one has read all that it needs. */
	if (layer_is("mount"))
		place_make(opt.layer);
	boot.fds[ZSPAWN_STDOUT] = boot.fds[ZSPAWN_STDERR] = 2;
	boot.fds[ZSPAWN_REQUEST] = r->sync[1];
	boot.fds[ZSPAWN_RESULT] = r->result[1];
	boot.fds[ZSPAWN_STATUS] = r->status[1];
	dup2(2, 1);
	status_open(r->status[1]);
	if (layer_is("user") && unshare(CLONE_NEWUSER) < 0)
		fatal("unshare user");
	/* The other side writes the map, or moves us into the cgroup, between these two. */
	if (write(r->sync[1], "r", 1) != 1 || read(r->sync[1], &go, 1) != 1)
		_exit(70);
	if (opt.uid)
		user_become(opt.uid);
	layer_enter(&st);
	if (write(layer_is("fds") ? JAIL_FD_REQUEST : r->sync[1], &st.listener_fd, sizeof(int)) != sizeof(int) ||
	    read(layer_is("fds") ? JAIL_FD_REQUEST : r->sync[1], &go, 1) != 1)
		_exit(70);
	if (st.listener_fd >= 0)
		close(st.listener_fd);
	if (!layer_is("fds")) {
		close(r->sync[1]);
		close(r->status[1]);
	} else {
		status_close();
		close(JAIL_FD_REQUEST);
	}
	attack_run(body, kwargs, layer_is("fds") ? JAIL_FD_RESULT : r->result[1]);
	_exit(0);
}

/* ---- the supervising side ---- */

static void map_write(pid_t pid)
{
	char path[64], text[64];

	snprintf(text, sizeof(text), "%u %u 1", JAIL_ID, HOST_ID);
	snprintf(path, sizeof(path), "/proc/%d/gid_map", pid);
	if (fd_write_file_at(AT_FDCWD, path, text) < 0)
		fatal(path);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", pid);
	if (fd_write_file_at(AT_FDCWD, path, text) < 0)
		fatal(path);
}

static void cgroup_put(struct run *r)
{
	const struct cgroup_limits limits = { spec.limits.memory_bytes, spec.limits.pids, spec.limits.cpu_quota_pct };
	struct err err = { 0 };

	if (cgroup_host_open(&r->cgroups, "escape", 0) < 0 || r->cgroups.kind == CGROUP_NONE ||
	    cgroup_new(&r->cgroups, 0, &limits, &r->cgroup, &err) < 0 || cgroup_join(r->cgroup, r->pidfd, r->pid, &err) < 0 ||
	    cgroup_begin(r->cgroup, &err) < 0) {
		fprintf(stderr, "onelayer: cgroup: %s %s\n", err.detail, r->cgroups.why);
		exit(70);
	}
}

static void result_put(struct run *r, const char *end, const char *key, const char *text, size_t len)
{
	jbuf_printf(&r->out, "{\"end\":\"%s\",\"%s\":", end, key);
	jbuf_string(&r->out, text, len);
}

/* True when the layer is on and the attack may begin. */
static bool attack_release(struct run *r)
{
	struct status_rec rec;
	int number = -1;
	char ready;

	if (read(r->sync[0], &ready, 1) != 1)
		fatal("attack did not start");
	if (layer_is("user"))
		map_write(r->pid);
	if (layer_is("cgroup"))
		cgroup_put(r);
	(void)!write(r->sync[0], "g", 1);
	if (read(r->sync[0], &number, sizeof(number)) != sizeof(number)) {
		if (recv(r->status[0], &rec, sizeof(rec), MSG_DONTWAIT) == sizeof(rec) && rec.kind == STATUS_FAILED) {
			result_put(r, "setup", "text", rec.op, strnlen(rec.op, STATUS_OP_MAX));
			jbuf_printf(&r->out, ",\"name\":\"%s\",\"code\":%d", layer_name((enum layer)rec.layer), rec.err);
		} else {
			result_put(r, "setup", "text", "no record", 9);
		}
		return false;
	}
	if (number >= 0) {
		r->listener_fd = (int)syscall(SYS_pidfd_getfd, r->pidfd, number, 0);
		if (r->listener_fd < 0)
			fatal("pidfd_getfd listener");
	}
	(void)!write(r->sync[0], "g", 1);
	return true;
}

static bool denied_read(struct run *r)
{
	struct seccomp_notif note = { 0 };
	_cleanup_free_ char *name = NULL;

	if (ioctl(r->listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &note) < 0)
		return false;
	name = seccomp_syscall_resolve_num_arch(note.data.arch, note.data.nr);
	result_put(r, "denied", "name", name ? name : "?", strlen(name ? name : "?"));
	return true;
}

static void end_put(struct run *r, const char *text, size_t len)
{
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t)r->pidfd, &info, WEXITED | WNOWAIT) < 0)
		fatal("waitid");
	if (len > 0)
		result_put(r, "text", "text", text, len);
	else if (info.si_code == CLD_EXITED)
		jbuf_printf(&r->out, "{\"end\":\"exit\",\"code\":%d", info.si_status);
	else
		jbuf_printf(&r->out, "{\"end\":\"signal\",\"name\":\"SIG%s\",\"code\":%d", sigabbrev_np(info.si_status), info.si_status);
}

static int ms_left(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return opt.timeout_ms - (int)((now.tv_sec - start->tv_sec) * 1000 + (now.tv_nsec - start->tv_nsec) / 1000000);
}

static void attack_watch(struct run *r)
{
	char text[TEXT_MAX];
	size_t len = 0;
	ssize_t n;
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	fd_nonblock(r->result[0]);
	for (;;) {
		struct pollfd fds[] = { { r->pidfd, POLLIN, 0 }, { r->listener_fd, POLLIN, 0 } };
		int left = ms_left(&start), got = poll(fds, 2, left > 0 ? left : 0);

		if (got < 0 && errno != EINTR)
			fatal("poll");
		if (got == 0) {
			jbuf_printf(&r->out, "{\"end\":\"timeout\"");
			break;
		}
		if ((fds[1].revents & POLLIN) && denied_read(r))
			break;
		if (fds[1].revents & (POLLHUP | POLLERR))
			r->listener_fd = fd_close(r->listener_fd);
		if (!(fds[0].revents & POLLIN))
			continue;
		while (len < sizeof(text) && (n = read(r->result[0], text + len, sizeof(text) - len)) > 0)
			len += (size_t)n;
		end_put(r, text, len);
		break;
	}
	if (r->cgroup && opt.linger_ms == 0)
		cgroup_kill(r->cgroup);
	syscall(SYS_pidfd_send_signal, r->pidfd, SIGKILL, NULL, 0);
}

/* Orphans come to us (subreaper): give them their time, then end them. */
static void rest_reap(struct run *r)
{
	struct cgroup_usage usage = { 0 };
	char children[256], *at, *end;
	ssize_t n;

	waitpid(r->pid, NULL, 0);
	if (opt.linger_ms > 0)
		usleep((useconds_t)opt.linger_ms * 1000);
	for (int round = 0; round < 50; round++) {
		n = fd_read_file_at(AT_FDCWD, "/proc/thread-self/children", children, sizeof(children));
		for (at = children; n > 0; at = end) {
			long pid = strtol(at, &end, 10);
			if (end == at)
				break;
			kill((pid_t)pid, SIGKILL);
		}
		if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD)
			break;
		usleep(2000);
	}
	if (!r->cgroup)
		return;
	if (cgroup_free(&r->cgroup, 2000, &usage) < 0)
		fatal("cgroup is not empty");
	jbuf_printf(&r->out, ",\"oom\":%llu,\"pids_refused\":%llu", (unsigned long long)usage.oom_kills,
		    (unsigned long long)usage.pids_refused);
	cgroup_host_close(&r->cgroups);
}

static void options_read(int argc, char **argv)
{
	static const struct option table[] = {
		{ "uid", 1, NULL, 'u' }, { "timeout", 1, NULL, 't' }, { "linger", 1, NULL, 'l' }, { 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (c) {
		case 'u': opt.uid = (unsigned)strtoul(optarg, NULL, 10); break;
		case 't': opt.timeout_ms = (int)strtol(optarg, NULL, 10); break;
		case 'l': opt.linger_ms = (int)strtol(optarg, NULL, 10); break;
		default: exit(2);
		}
	}
	if (argc - optind != 3) {
		fprintf(stderr, "usage: onelayer [options] LAYER BODY.py KWARGS.json\n");
		exit(2);
	}
	opt.layer = argv[optind];
	opt.body = argv[optind + 1];
	opt.kwargs = argv[optind + 2];
}

int main(int argc, char **argv)
{
	struct run r = { .listener_fd = -1, .pidfd = -1 };

	options_read(argc, argv);
	jbuf_init(&r.out, 6 * TEXT_MAX + 1024);
	spec_make();
	interpreter_start();
	if (pipe2(r.result, O_CLOEXEC) < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, r.status) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, r.sync) < 0)
		fatal("pipes");
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (!layer_is("mount"))
		place_make(opt.layer);
	PyOS_BeforeFork();
	r.pid = fork();
	if (r.pid == 0) {
		fd_close(r.result[0]);
		fd_close(r.sync[0]);
		fd_close(r.status[0]);
		attack_main(&r);
	}
	PyOS_AfterFork_Parent();
	if (r.pid < 0)
		fatal("fork");
	r.pidfd = (int)syscall(SYS_pidfd_open, r.pid, 0);
	fd_close(r.result[1]);
	fd_close(r.sync[1]);
	fd_close(r.status[1]);
	if (attack_release(&r))
		attack_watch(&r);
	rest_reap(&r);
	jbuf_printf(&r.out, "}\n");
	return fd_write_all(STDOUT_FILENO, r.out.data, r.out.len) < 0 ? 70 : 0;
}
