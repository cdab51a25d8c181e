/* The zygote's life: requests of core, ends of jails, the keeper's lifeline. */
#include "jail/base/fd.h"
#include "jail/zygote.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { WATCH_CONTROL, WATCH_LIFELINE, WATCH_CHILDREN, WATCH_COUNT = WATCH_CHILDREN + LIMIT_SLOTS };

void zygote_send(const struct zygote_msg *msg, const int *fds, unsigned nfds)
{
	if (fd_send(ZYGOTE_FD_CONTROL, msg, sizeof(*msg), fds, nfds) < 0)
		_exit(1);
}

/* Whatever is not exactly a message of the protocol ends the zygote: core is the
 * same build, so it was not core that sent it. */
static void message_handle(struct zygote *zy)
{
	struct zygote_msg msg;
	int fds[ZSPAWN_FDS];
	unsigned nfds = 0;
	int r = fd_recv(ZYGOTE_FD_CONTROL, &msg, sizeof(msg), fds, ZSPAWN_FDS, &nfds, 0);

	if (r <= 0 || msg.magic != ZYGOTE_MAGIC)
		_exit(r == 0 ? 0 : 1);
	if (msg.kind == ZY_SPAWN && nfds == ZSPAWN_FDS && msg.slot < LIMIT_SLOTS)
		zygote_spawn(zy, &msg, fds);
	else if (msg.kind == ZY_INSPECT && nfds == 0)
		zygote_inspect(zy, &msg);
	else
		_exit(1);
}

static void child_reap(struct zygote *zy, unsigned slot)
{
	struct zygote_child *child = &zy->children[slot];
	struct zygote_msg msg = { .magic = ZYGOTE_MAGIC, .kind = ZY_EXITED, .seq = child->seq, .slot = slot };
	struct rusage ru;
	pid_t pid = wait4(child->pid, &msg.wait_status, WNOHANG, &ru);

	if (pid == 0)
		return;
	if (pid != child->pid)
		_exit(1);
	msg.cpu_us = (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000u + (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
	child->pidfd = fd_close(child->pidfd);
	zygote_send(&msg, NULL, 0);
}

void zygote_loop(struct zygote *zy)
{
	struct pollfd watch[WATCH_COUNT];

	for (;;) {
		watch[WATCH_CONTROL] = (struct pollfd){ .fd = ZYGOTE_FD_CONTROL, .events = POLLIN };
		/* Nobody writes here: an event is the keeper's death. */
		watch[WATCH_LIFELINE] = (struct pollfd){ .fd = ZYGOTE_FD_LIFELINE, .events = POLLIN };
		for (unsigned i = 0; i < LIMIT_SLOTS; i++)
			watch[WATCH_CHILDREN + i] = (struct pollfd){ .fd = zy->children[i].pidfd, .events = POLLIN };
		if (poll(watch, WATCH_COUNT, -1) < 0) {
			if (errno == EINTR)
				continue;
			_exit(1);
		}
		if (watch[WATCH_LIFELINE].revents)
			_exit(0);
		/* Ends before requests: a slot that core reuses is then free. */
		for (unsigned i = 0; i < LIMIT_SLOTS; i++)
			if (watch[WATCH_CHILDREN + i].revents)
				child_reap(zy, i);
		if (watch[WATCH_CONTROL].revents)
			message_handle(zy);
	}
}
