#include "supervisor/listener.h"

#include "jail/base/fd.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* What waits while core is replaced or busy; more are refused by the kernel with EAGAIN. */
#define BACKLOG 1024

static int run_dir_open(struct listener *l, const struct config *c, struct err *err)
{
	if (mkdir(c->run_dir, 0755) < 0 && errno != EEXIST)
		return err_set(err, ERR_HOST, errno, "run_dir", "cannot make %.100s: %s", c->run_dir, strerror(errno));
	l->dir_fd = open(c->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l->dir_fd < 0)
		return err_set(err, ERR_HOST, errno, "run_dir", "cannot open %.100s: %s", c->run_dir, strerror(errno));
	l->lock_fd = openat(l->dir_fd, "brigd.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (l->lock_fd < 0)
		return err_set(err, ERR_HOST, errno, "run_dir", "cannot open %.100s/brigd.lock: %s", c->run_dir, strerror(errno));
	if (flock(l->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		err_set(err, ERR_HOST, EBUSY, "run_dir", "another brigd serves %.100s", c->run_dir);
		err_hint(err, "stop that one, or give this one a run_dir of its own");
		return -EBUSY;
	}
	return 0;
}

static int socket_open(const struct config_socket *s, int *ret, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	memcpy(at.sun_path, s->path, sizeof(at.sun_path));
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* The lock says that nobody serves here any more: what lies there is stale. */
	(void)unlink(s->path);
	mode_t old = umask(0177);
	int r = fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
	umask(old);
	if (r == 0 && (chown(s->path, s->uid, s->gid) < 0 || chmod(s->path, s->mode) < 0 || listen(fd, BACKLOG) < 0))
		r = -errno;
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "socket", "%s: %s", s->path, strerror(-r));
	*ret = fd_take(&fd);
	return 0;
}

int listener_open(struct listener *l, const struct config *c, struct err *err)
{
	*l = (struct listener){ -1, -1, -1, -1 };
	int r = run_dir_open(l, c, err);

	if (r == 0)
		r = socket_open(&c->agent, &l->agent_fd, err);
	if (r == 0)
		r = socket_open(&c->admin, &l->admin_fd, err);
	if (r < 0)
		listener_close(l, c);
	return r;
}

void listener_close(struct listener *l, const struct config *c)
{
	if (l->agent_fd >= 0)
		(void)unlink(c->agent.path);
	if (l->admin_fd >= 0)
		(void)unlink(c->admin.path);
	l->agent_fd = fd_close(l->agent_fd);
	l->admin_fd = fd_close(l->admin_fd);
	l->dir_fd = fd_close(l->dir_fd);
	l->lock_fd = fd_close(l->lock_fd);
}
