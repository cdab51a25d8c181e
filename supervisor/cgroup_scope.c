/* An ordinary user's login session is not delegated: its systemd is asked to put
 * this process into a scope of its own. The same request as
 * `systemd-run --user --scope -p Delegate=yes`, but made for the running process, so
 * that a service manager that hangs or refuses costs seconds and not the run. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define SCOPE_WAIT_MS 5000
#define SCOPE_LOOK_MS 20

/* The user manager's bus, at its fixed place: no word of the environment decides whom we talk to. */
static bool bus_offered(void)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/run/user/%u/bus", (unsigned)geteuid());
	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid();
}

/* busctl's exit status, or -errno; it is killed when it takes too long. */
static int busctl_run(char *const argv[])
{
	char runtime[64];
	snprintf(runtime, sizeof(runtime), "XDG_RUNTIME_DIR=/run/user/%u", (unsigned)geteuid());
	char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C", runtime, NULL };
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		for (int fd = 0; fd < 3; fd++)
			(void)dup2(null, fd);
		(void)syscall(SYS_close_range, 3u, ~0u, 0u);
		execve("/usr/bin/busctl", argv, env);
		_exit(127);
	}
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { fd, POLLIN, 0 };
	int status;
	if (fd < 0 || poll(&p, 1, SCOPE_WAIT_MS) != 1)
		kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EREMOTEIO;
}

int cgroup_scope_enter(void)
{
	struct cgroup_mount before, now;
	char unit[64], pid[16];

	if (!bus_offered())
		return -ENOENT;
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	snprintf(unit, sizeof(unit), "brig-%s.scope", pid);
	if (!cgroup_mount_find(NULL, &before))
		return -ENOENT;
	char *argv[] = { "busctl", "--user", "--quiet", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
			 "org.freedesktop.systemd1.Manager", "StartTransientUnit", "ssa(sv)a(sa(sv))", unit, "fail", "3",
			 "PIDs", "au", "1", pid, "Delegate", "b", "true", "CollectMode", "s", "inactive-or-failed", "0", NULL };
	int r = busctl_run(argv);
	if (r < 0)
		return r;
	/* The answer is only that a job was queued; done is when the kernel says that we moved. */
	for (int ms = 0; ms < SCOPE_WAIT_MS; ms += SCOPE_LOOK_MS) {
		if (cgroup_mount_find(NULL, &now) && strstr(now.own, unit) && strcmp(now.own, before.own) != 0)
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = SCOPE_LOOK_MS * 1000000L }, NULL);
	}
	return -ETIMEDOUT;
}
