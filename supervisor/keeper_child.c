/* What core and audit have in common: a socket, a fork, an end, and when to try again. */
#include "supervisor/keeper.h"

#include "jail/base/fd.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

/* A child that does not read its answers is broken; the keeper must stay able to end it. */
#define SEND_MAX_S 5
/* The first end is answered at once, later ones ever slower: what dies at its start must not eat the host. */
#define AGAIN_FIRST_MS 100
#define AGAIN_MAX_MS   5000
/* One that lived so long did not die of its start. */
#define LIVED_MS 60000

int keeper_child_pair(struct keeper_child *c, int *ret_theirs, struct err *err)
{
	const struct timeval patience = { .tv_sec = SEND_MAX_S };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(err, ERR_HOST, errno, "keeper", "socketpair: %s", strerror(errno));
	c->sock = pair[0];
	*ret_theirs = pair[1];
	(void)setsockopt(c->sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	fflush(NULL); /* or the child would write our lines again */
	return 0;
}

int keeper_child_forked(struct keeper_child *c, pid_t pid, const char *name, struct err *err)
{
	int r = pid < 0 ? -errno : 0;

	if (r == 0)
		c->pid = pid;
	if (r == 0 && (c->pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) < 0)
		r = -errno;
	if (r < 0) {
		/* It is not reaped, so the number is its own; nobody could hold or end it without a pidfd. */
		if (pid > 0) {
			/* PRIV: CAP_KILL; our own child. */
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
			c->pid = 0;
		}
		c->sock = fd_close(c->sock);
		return err_set(err, ERR_HOST, -r, "keeper", "cannot start %s: %s", name, strerror(-r));
	}
	c->started_ms = keeper_now_ms();
	c->again_ms = 0;
	return 0;
}

void keeper_child_signal(const struct keeper_child *c, int sig)
{
	/* PRIV: CAP_KILL; our own child, by pidfd. */
	if (c->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, sig, NULL, 0);
}

bool keeper_child_reap(struct keeper_child *c, siginfo_t *ret)
{
	*ret = (siginfo_t){ 0 };
	if (waitid(P_PIDFD, (id_t)c->pidfd, ret, WEXITED | WNOHANG) < 0 || ret->si_pid == 0)
		return false;
	c->pid = 0;
	c->pidfd = fd_close(c->pidfd);
	c->sock = fd_close(c->sock);
	bool exited = ret->si_code == CLD_EXITED;
	/* A filter of our own (core_filter.h, audit_seal.c) sends SIGSYS: a fault of ours, or an attack on that process. */
	snprintf(c->end, sizeof(c->end), "%s %d%s", exited ? "exit status" : "signal", ret->si_status,
		 !exited && ret->si_status == SIGSYS ? ", SIGSYS: a system call that its own filter refuses" : "");
	return true;
}

void keeper_child_again(struct keeper_child *c)
{
	int64_t now = keeper_now_ms(), pause = 0;

	if (now - c->started_ms >= LIVED_MS)
		c->failures = 0;
	if (c->failures > 0)
		pause = AGAIN_FIRST_MS << (c->failures < 7 ? c->failures - 1 : 6);
	c->failures++;
	c->again_ms = now + (pause < AGAIN_MAX_MS ? pause : AGAIN_MAX_MS);
}

void keeper_close_others(const int *keep, size_t count)
{
	for (int from = 3;;) {
		int next = -1;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= from && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0) {
			(void)close_range((unsigned)from, ~0u, 0);
			return;
		}
		if (next > from)
			(void)close_range((unsigned)from, (unsigned)next - 1, 0);
		from = next + 1;
	}
}
