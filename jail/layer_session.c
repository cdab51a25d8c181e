/* Layer session: no terminal, no inherited key, no inherited signal state.
 *
 * Threat:      a controlling terminal lets a jail type into the operator's shell (TIOCSTI, TIOCLINUX); a session keyring hands it
 *              the starter's keys (kerberos, fscrypt, nfs); inherited handlers run code that was written for the zygote.
 * Mechanism:   setsid(); keyctl(JOIN_SESSION_KEYRING, NULL) makes a new anonymous one; every signal to its default, none blocked but SIGXFSZ.
 * Order:       after fds (a terminal could be open), before user: setsid and the keyring need no privilege, and the keyring is
 *              charged to the zygote's id, whose quota (200 keys, keyrings(7)) holds three times all slots.
 * If missing:  a kernel without keys (ENOSYS) has none to leak; all else refuses the call.
 * Verified by: verify.c (getsid(0) is our own pid, /dev/tty does not open).
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <linux/keyctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

/* The keyring of an ended jail is given back to the quota with a delay (RCU): 13 of 200 were on their way in a row of
 * 1500 jails, more in a faster row. */
#define KEYRING_TRIES 50
#define KEYRING_PAUSE_MS 4

static void signals_reset(void)
{
	const struct sigaction dfl = { .sa_handler = SIG_DFL };
	const struct sigaction ign = { .sa_handler = SIG_IGN };
	sigset_t blocked;

	/* glibc refuses its own two (32, 33) with EINVAL, as the kernel does KILL and STOP. */
	for (int sig = 1; sig < NSIG; sig++)
		if (sigaction(sig, &dfl, NULL) < 0 && errno != EINVAL)
			die_at(LAYER_SESSION, "sigaction", errno);
	/* As every Python has it: a closed pipe or a file at its size limit is an exception, not a death. */
	if (sigaction(SIGPIPE, &ign, NULL) < 0 || sigaction(SIGXFSZ, &ign, NULL) < 0)
		die_at(LAYER_SESSION, "sigaction SIG_IGN", errno);
	/* Blocked signals are queued even when ignored (sig_ignored() in kernel/signal.c): a pending SIGXFSZ in
	 * /proc/PID/status is how core sees from outside that the file size limit was touched. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGXFSZ);
	if (sigprocmask(SIG_SETMASK, &blocked, NULL) < 0)
		die_at(LAYER_SESSION, "sigprocmask", errno);
}

static void keyring_leave(void)
{
	const struct timespec pause = { .tv_nsec = KEYRING_PAUSE_MS * 1000000l };

	for (int tries = 0;; tries++) {
		if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS)
			return;
		if (errno != EDQUOT || tries == KEYRING_TRIES)
			die_at(LAYER_SESSION, "keyctl JOIN_SESSION_KEYRING", errno);
		(void)nanosleep(&pause, NULL); /* cut short: tried earlier, no harm */
	}
}

void layer_session_apply(struct layer_state *st UNUSED)
{
	if (setsid() < 0)
		die_at(LAYER_SESSION, "setsid", errno);
	keyring_leave();
	signals_reset();
	(void)umask(022); /* cannot fail; umask(2) */
	if (prctl(PR_SET_NAME, "jail", 0, 0, 0) < 0)
		die_at(LAYER_SESSION, "prctl PR_SET_NAME", errno);
}
