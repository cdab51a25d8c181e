#include "agent/private.h"

#include "agent/text.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define PRIVATE_FD 3
#define PROGRAM	   "brigd"
/* After the patience of the caller: what SIGTERM is given before SIGKILL. */
#define TERM_WAIT_MS 1000

/* Everything that brigd is told by environment. HOME and the XDG names say where an ordinary user's state lives, the
 * bus address is how a delegated cgroup is asked for, the *SAN_OPTIONS steer a sanitizer build. */
static const char *const env_passed[] = {
	"BRIG_STATE",
	"BRIG_WORKSPACE",
	"HOME",
	"XDG_RUNTIME_DIR",
	"XDG_STATE_HOME",
	"XDG_CONFIG_HOME",
	"DBUS_SESSION_BUS_ADDRESS",
	"ASAN_OPTIONS",
	"UBSAN_OPTIONS",
	"LSAN_OPTIONS",
	"LLVM_PROFILE_FILE",
};
#define ENV_FIXED 2

static void env_done(char *(*env)[ARRAY_LEN(env_passed) + ENV_FIXED + 1])
{
	for (size_t i = 0; (*env)[i]; i++)
		free((*env)[i]);
}

static int env_make(char *(*env)[ARRAY_LEN(env_passed) + ENV_FIXED + 1])
{
	static const char *const fixed[ENV_FIXED] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8" };
	size_t n = 0;

	for (size_t i = 0; i < ENV_FIXED; i++, n++)
		if (!((*env)[n] = strdup(fixed[i])))
			return -ENOMEM;
	for (size_t i = 0; i < ARRAY_LEN(env_passed); i++) {
		const char *value = secure_getenv(env_passed[i]);

		if (!value)
			continue;
		if (asprintf(&(*env)[n], "%s=%s", env_passed[i], value) < 0) {
			(*env)[n] = NULL;
			return -ENOMEM;
		}
		n++;
	}
	return 0;
}

static int program_path(char *path, size_t cap, struct err *err)
{
	const char *named = secure_getenv("BRIG_BRIGD");
	ssize_t n;
	char *slash;

	if (named && *named) {
		if ((size_t)snprintf(path, cap, "%s", named) >= cap)
			return err_set(
				err, ERR_CALLER, ENAMETOOLONG, "supervisor", "the path in BRIG_BRIGD is too long");
		return 0;
	}
	n = readlink("/proc/self/exe", path, cap - sizeof(PROGRAM) - 1);
	if (n < 0) {
		err_set(err, ERR_HOST, errno, "supervisor", "cannot tell where brig itself stands: /proc/self/exe: %s",
			strerror(errno));
		err_hint(err, "name the supervisor in BRIG_BRIGD");
		return -EINVAL;
	}
	path[n] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, PROGRAM, sizeof(PROGRAM));
	return 0;
}

/* posix_spawn tells a failed exec as its own error, which a fork would have to send by a pipe. */
static int program_spawn(const char *path, int sock, char *const env[], pid_t *ret_pid)
{
	char *const argv[] = { (char *)PROGRAM, (char *)"--private", (char *)"3", NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int r;

	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	sigemptyset(&none);
	sigfillset(&all);
	r = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ?:
	    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO) ?:
	    posix_spawn_file_actions_adddup2(&actions, sock, PRIVATE_FD) ?:
	    posix_spawn_file_actions_addclosefrom_np(&actions, PRIVATE_FD + 1) ?:
	    posix_spawnattr_setsigmask(&attr, &none) ?:
	    posix_spawnattr_setsigdefault(&attr, &all) ?:
	    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) ?:
	    posix_spawn(ret_pid, path, &actions, &attr, argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int private_start(struct private *p, struct err *err)
{
	_cleanup_(env_done) char *env[ARRAY_LEN(env_passed) + ENV_FIXED + 1] = { NULL };
	_cleanup_close_ int ours = -1, theirs = -1;
	char path[PATH_MAX], shown[160];
	int pair[2], r;

	r = program_path(path, sizeof(path), err);
	if (r < 0)
		return r;
	if (env_make(&env) < 0)
		return err_set(err, ERR_HOST, ENOMEM, "supervisor", "no memory for an environment");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_HOST, errno, "supervisor", "socketpair: %s", strerror(errno));
	ours = pair[0];
	theirs = pair[1];
	r = program_spawn(path, theirs, env, &p->pid);
	if (r < 0) {
		p->pid = 0;
		text_quote(shown, sizeof(shown), path);
		err_set(err, ERR_HOST, -r, "supervisor", "cannot start the supervisor %s: %s", shown, strerror(-r));
		err_hint(err, "brigd stands beside brig, or BRIG_BRIGD names it");
		return r;
	}
	/* Not reaped yet, so the number is still that child's. */
	p->pidfd = pidfd_open(p->pid, 0);
	p->sock = fd_take(&ours);
	return 0;
}

/* True when the child was reaped within the time. */
static bool child_wait(struct private *p, unsigned wait_ms, int stop_fd)
{
	struct pollfd fds[2] = { { .fd = p->pidfd, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN } };
	int r;

	if (p->pidfd >= 0) {
		do
			r = poll(fds, 2, (int)wait_ms);
		while (r < 0 && errno == EINTR);
	}
	if (waitpid(p->pid, &p->status, p->pidfd < 0 ? 0 : WNOHANG) != p->pid)
		return false;
	p->pid = 0;
	return true;
}

void private_end(struct private *p, unsigned wait_ms, int stop_fd)
{
	p->sock = fd_close(p->sock);
	if (p->pid <= 0 || child_wait(p, wait_ms, stop_fd))
		return;
	(void)kill(p->pid, SIGTERM);
	if (child_wait(p, TERM_WAIT_MS, -1))
		return;
	(void)kill(p->pid, SIGKILL);
	(void)waitpid(p->pid, &p->status, 0);
	p->pid = 0;
}

void private_done(struct private *p)
{
	private_end(p, 0, -1);
	p->pidfd = fd_close(p->pidfd);
}

void private_describe(const struct private *p, char *buf, size_t cap)
{
	if (WIFSIGNALED(p->status))
		snprintf(buf, cap, "was killed by signal %d (%s)", WTERMSIG(p->status), strsignal(WTERMSIG(p->status)));
	else
		snprintf(buf, cap, "exited with status %d", WEXITSTATUS(p->status));
}
