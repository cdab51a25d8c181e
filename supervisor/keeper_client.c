#include "supervisor/keeper_client.h"

#include "jail/base/fd.h"

#include <string.h>

int keeper_ask(int sock, struct keeper_msg *msg, int fd, struct keeper_reply *reply, int *ret_fd, struct err *err)
{
	_cleanup_close_ int came = -1;
	int r;

	msg->magic = KEEPER_MAGIC;
	r = fd_send(sock, msg, sizeof(*msg), &fd, fd >= 0 ? 1 : 0);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "keeper", "the keeper does not take requests any more");
	r = fd_recv(sock, reply, sizeof(*reply), &came, ret_fd ? 1 : 0, NULL, 0);
	if (r <= 0)
		return err_set(err, ERR_HOST, r < 0 ? -r : EPIPE, "keeper", "the keeper went away without an answer");
	if (reply->magic != KEEPER_MAGIC || reply->kind != msg->kind)
		return err_set(err, ERR_BUG, EPROTO, "keeper", "the keeper answered something else");
	reply->op[sizeof(reply->op) - 1] = '\0';
	if (reply->err)
		return err_set(err, ERR_HOST, reply->err, "keeper", "%s: %s", reply->op, strerror(reply->err));
	if (ret_fd)
		*ret_fd = fd_take(&came);
	return 0;
}

int keeper_ask_slot(int sock, enum keeper_kind kind, unsigned slot, int fd, struct keeper_reply *reply, struct err *err)
{
	struct keeper_msg msg = { .kind = kind, .slot = slot };

	return keeper_ask(sock, &msg, fd, reply, NULL, err);
}
