/* PID 1 above a tool that may start processes. It was locked like the tool will
 * be (same filter, no capability, not dumpable), holds nothing but the status
 * socket, and cannot be signalled from below: a namespace's init takes only
 * signals that it handles, and it handles none (pid_namespaces(7)). */
#include "jail/init.h"

#include "jail/layer.h"

#include <sys/prctl.h>
#include <sys/wait.h>

/* Plain write, close and wait4 only: the profile's filter is on. */
static void init_run(pid_t tool) NORETURN;

static void init_run(pid_t tool)
{
	int status;

	(void)prctl(PR_SET_NAME, "jail: init", 0, 0, 0); /* for ps only; the filter may refuse it */
	for (int fd = 0; fd < JAIL_FD_STATUS; fd++)
		(void)close(fd);
	for (;;) {
		pid_t gone = waitpid(-1, &status, __WALL);
		if (gone < 0 && errno == EINTR)
			continue;
		if (gone < 0)
			die_at(LAYER_PID, "waitpid", errno);
		if (gone == tool)
			break;
	}
	struct status_rec rec = { .kind = STATUS_ENDED, .err = status, .layer = -1, .listener_fd = -1 };
	/* Core gone: nobody asks any more how it ended. Our exit kills what the tool left behind. */
	(void)!status_send(&rec);
	_exit(0);
}

void init_split(void)
{
	/* glibc's fork, not a raw one: it keeps the cached thread id, the robust list and the allocator's locks right, and uses
	 * clone(2), which filters can look into, never clone3. */
	pid_t tool = fork();

	if (tool < 0)
		die_at(LAYER_PID, "fork", errno);
	if (tool > 0)
		init_run(tool);
}
