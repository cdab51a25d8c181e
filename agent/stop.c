#include "agent/stop.h"

#include "jail/base/compiler.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

int stop_open(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;
	int fd;

	/* An ignored signal stays ignored even while blocked, so nohup and background jobs keep their meaning. */
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	/* A reader that left and a file size limit are errors of the write that met them, told as such. */
	if (sigaction(SIGPIPE, &ignore, NULL) < 0 || sigaction(SIGXFSZ, &ignore, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

const char *stop_take(int stop_fd)
{
	static char name[24];
	struct signalfd_siginfo info;

	if (read(stop_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return NULL;
	snprintf(name, sizeof(name), "SIG%s", sigabbrev_np((int)info.ssi_signo) ?: "?");
	return name;
}
