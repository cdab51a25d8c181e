#include "supervisor/listener.h"

#include "jail/base/fd.h"
#include "supervisor/dirs.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

/* What waits while core is replaced or busy; more are refused by the kernel with EAGAIN. */
#define BACKLOG 1024
#define LOCK_NAME "brigd.lock"
/* CONFIG_SOCKET_MAX leaves room for it. */
#define NEW_SUFFIX ".new"

static int cannot(struct err *err, const char *what, const char *path, int e)
{
	err_set(err, ERR_HOST, e, "run_dir", "cannot %s %.150s: %s", what, path, strerror(e));
	if (e == EROFS || e == ENOSPC || e == EACCES || e == EPERM || e == EDQUOT || e == ENOENT)
		err_hint(err, "make it a place that we can write, or choose another run_dir");
	return -e;
}

/* Whoever may write here may put sockets of his own in place of ours. */
static int dir_check(int fd, const char *path, struct err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return cannot(err, "look at", path, errno);
	if (st.st_uid == geteuid() && !(st.st_mode & 022))
		return 0;
	err_set(err, ERR_HOST, EPERM, "run_dir", "%.150s belongs to uid %u with mode %04o: others could put sockets of their own there", path,
		st.st_uid, st.st_mode & 07777);
	err_hint(err, "chown it to uid %u and chmod it 0755, or choose another run_dir", geteuid());
	return -EPERM;
}

static int run_dir_open(struct listener *l, const struct config *c, struct err *err)
{
	struct stat st;

	dirs_make_parents(c->run_dir);
	if (mkdir(c->run_dir, 0755) < 0 && errno != EEXIST)
		return cannot(err, "make", c->run_dir, errno);
	if (lstat(c->run_dir, &st) == 0 && S_ISLNK(st.st_mode)) {
		err_set(err, ERR_HOST, ELOOP, "run_dir", "%.150s is a symbolic link", c->run_dir);
		err_hint(err, "name the directory that it leads to");
		return -ELOOP;
	}
	l->dir_fd = open(c->run_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l->dir_fd < 0)
		return cannot(err, "open", c->run_dir, errno);
	return dir_check(l->dir_fd, c->run_dir, err);
}

static int lock_take(struct listener *l, const struct config *c, struct err *err)
{
	char path[PATH_MAX + sizeof(LOCK_NAME) + 1];

	snprintf(path, sizeof(path), "%s/" LOCK_NAME, c->run_dir);
	l->lock_fd = openat(l->dir_fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (l->lock_fd < 0)
		return cannot(err, "open", path, errno);
	if (flock(l->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return cannot(err, "lock", path, errno);
	err_set(err, ERR_HOST, EBUSY, "run_dir", "another brigd serves %.150s", c->run_dir);
	err_hint(err, "stop that one, or give this one a run_dir of its own");
	return -EBUSY;
}

/* The lock says that nobody serves here any more, so a socket that lies there is stale. Anything else is somebody's. */
static int place_check(const struct listener *l, const struct config_socket *s, const char *name, struct err *err)
{
	struct stat st;

	if (fstatat(l->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : cannot(err, "look at", s->path, errno);
	if (S_ISSOCK(st.st_mode))
		return 0;
	err_set(err, ERR_HOST, EEXIST, "run_dir", "%s is in the way: no socket, and not ours to remove", s->path);
	err_hint(err, "move it away, or give the socket another name in brigd.conf");
	return -EEXIST;
}

static int socket_bind(const struct listener *l, const struct config_socket *s, const char *name, int *ret, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	snprintf(at.sun_path, sizeof(at.sun_path), "%s" NEW_SUFFIX, s->path);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlinkat(l->dir_fd, name, 0);
	mode_t old = umask(0177);
	int r = fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
	umask(old);
	if (r < 0)
		return cannot(err, "make the socket", s->path, -r);
	/* In this order it needs CAP_CHOWN and no CAP_FOWNER. */
	if (fchmodat(l->dir_fd, name, s->mode, 0) < 0 || fchownat(l->dir_fd, name, s->uid, s->gid, AT_SYMLINK_NOFOLLOW) < 0) {
		r = -errno;
		err_set(err, ERR_HOST, -r, "run_dir", "cannot give %s to uid %u, gid %u, mode %04o: %s", s->path, s->uid, s->gid, s->mode,
			strerror(-r));
		err_hint(err, "an ordinary user can name only himself and groups that he is in");
		return r;
	}
	if (listen(fd, BACKLOG) < 0)
		return cannot(err, "listen on", s->path, errno);
	*ret = fd_take(&fd);
	return 0;
}

/* The name appears, in place of a stale one, when owner and mode are right and it listens: who finds it is served. */
static int socket_open(const struct listener *l, const struct config_socket *s, int *ret, struct err *err)
{
	const char *name = strrchr(s->path, '/') + 1;
	char fresh[CONFIG_SOCKET_MAX + sizeof(NEW_SUFFIX)];
	_cleanup_close_ int fd = -1;
	int r = place_check(l, s, name, err);

	if (r < 0)
		return r;
	snprintf(fresh, sizeof(fresh), "%s" NEW_SUFFIX, name);
	r = socket_bind(l, s, fresh, &fd, err);
	if (r == 0 && renameat(l->dir_fd, fresh, l->dir_fd, name) < 0)
		r = cannot(err, "rename the socket to", s->path, errno);
	if (r < 0) {
		(void)unlinkat(l->dir_fd, fresh, 0);
		return r;
	}
	*ret = fd_take(&fd);
	return 0;
}

int listener_open(struct listener *l, const struct config *c, struct err *err)
{
	*l = (struct listener){ -1, -1, -1, -1 };
	int r = run_dir_open(l, c, err);

	if (r == 0)
		r = lock_take(l, c, err);
	if (r == 0)
		r = socket_open(l, &c->agent, &l->agent_fd, err);
	if (r == 0)
		r = socket_open(l, &c->admin, &l->admin_fd, err);
	if (r < 0)
		listener_close(l, c);
	return r;
}

void listener_close(struct listener *l, const struct config *c)
{
	if (l->agent_fd >= 0)
		(void)unlinkat(l->dir_fd, strrchr(c->agent.path, '/') + 1, 0);
	if (l->admin_fd >= 0)
		(void)unlinkat(l->dir_fd, strrchr(c->admin.path, '/') + 1, 0);
	l->agent_fd = fd_close(l->agent_fd);
	l->admin_fd = fd_close(l->admin_fd);
	l->dir_fd = fd_close(l->dir_fd);
	l->lock_fd = fd_close(l->lock_fd);
}
