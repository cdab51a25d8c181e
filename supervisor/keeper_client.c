#include "supervisor/keeper_client.h"

#include "jail/base/fd.h"
#include "supervisor/log.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

/* The keeper answers at once; on a host that swaps within seconds. One that is stopped must not hold calls past their end for ever. */
#define ANSWER_MAX_S 30
#define EXIT_INTERNAL 70 /* internal_error */

/* Without the keeper nothing can be limited or killed by us any more. Core's end closes the zygotes' sockets, and with
 * them every jail dies; the client sees its connection close and says so. */
static void channel_lost(const char *what, int err) NORETURN;
static void channel_lost(const char *what, int err)
{
	log_event(LOG_CRIT, "keeper_lost", LOG_NONE, "%s: %s; ending", what, strerror(err));
	_exit(EXIT_INTERNAL);
}

int keeper_ask(int sock, struct keeper_msg *msg, int fd, struct keeper_reply *reply, int *ret_fds, unsigned max_fds, struct err *err)
{
	int r;

	msg->magic = KEEPER_MAGIC;
	r = fd_send(sock, msg, sizeof(*msg), &fd, fd >= 0 ? 1 : 0);
	if (r < 0)
		channel_lost("the keeper takes no requests", -r);
	r = fd_recv(sock, reply, sizeof(*reply), ret_fds, max_fds, NULL, 0);
	if (r <= 0)
		channel_lost("the keeper does not answer", r < 0 ? -r : EPIPE);
	if (reply->magic != KEEPER_MAGIC || reply->kind != msg->kind)
		channel_lost("the keeper answers something else", EPROTO);
	reply->op[sizeof(reply->op) - 1] = '\0';
	if (reply->err)
		return err_set(err, ERR_HOST, reply->err, "keeper", "%s: %s", reply->op, strerror(reply->err));
	return 0;
}

int keeper_client_open(int sock)
{
	const struct timeval most = { .tv_sec = ANSWER_MAX_S };

	return setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) < 0 ? -errno : 0;
}

int keeper_ask_slot(int sock, enum keeper_kind kind, unsigned slot, int fd, struct keeper_reply *reply, struct err *err)
{
	struct keeper_msg msg = { .kind = kind, .slot = slot };

	return keeper_ask(sock, &msg, fd, reply, NULL, 0, err);
}
