#include "agent/connect.h"

#include "agent/text.h"
#include "jail/base/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define AGENT_SOCK  "agent.sock"
#define ADMIN_SOCK  "admin.sock"
#define SYSTEM_DIR  "/run/brig"
#define PATH_SHOWN  160
/* A thousand connections wait before a daemon that takes none. One that lives works them off in less; after that the
 * caller had better come again. */
#define FULL_WAIT_MS 5000
#define FULL_LOOK_MS 50

static int unix_connect(const char *path, int *ret)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

/* The kernel refuses at once while the queue of a listener is full. */
static int unix_connect_patient(const char *path, int stop_fd, int *ret)
{
	struct pollfd stop = { .fd = stop_fd, .events = POLLIN };
	int r = unix_connect(path, ret);

	for (int waited = 0; r == -EAGAIN && waited < FULL_WAIT_MS; waited += FULL_LOOK_MS) {
		if (poll(&stop, 1, FULL_LOOK_MS) > 0)
			return -ECANCELED;
		r = unix_connect(path, ret);
	}
	return r;
}

static bool dir_is_kept(const char *path, uid_t peer)
{
	struct stat st;

	return stat(path, &st) == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (st.st_uid == 0 || st.st_uid == geteuid() || st.st_uid == peer);
}

/* Every directory from the socket's own up to the root. */
static bool place_is_kept(const char *path, uid_t peer)
{
	char real[PATH_MAX], *slash;

	if (!realpath(path, real))
		return false;
	while ((slash = strrchr(real, '/')) && slash != real) {
		*slash = '\0';
		if (!dir_is_kept(real, peer))
			return false;
	}
	return dir_is_kept("/", peer);
}

/* The credentials are those of the process that began to listen: the keeper, before it gave up its rights. */
static bool listener_is_trusted(int fd, const char *path)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return false;
	return peer.uid == 0 || peer.uid == geteuid() || place_is_kept(path, peer.uid);
}

static int socket_open(const char *path, int stop_fd, int *ret)
{
	_cleanup_close_ int fd = -1;
	int r = unix_connect_patient(path, stop_fd, &fd);

	if (r < 0)
		return r;
	if (!listener_is_trusted(fd, path))
		return -EPERM;
	*ret = fd_take(&fd);
	return 0;
}

/* Nobody listens, as opposed to somebody who will not have us. A directory that we may not even look into holds no
 * daemon for us. */
static bool nobody_there(const char *path, int r)
{
	struct stat st;

	return r == -ENOENT || r == -ENOTDIR || r == -ECONNREFUSED || (r == -EACCES && stat(path, &st) < 0);
}

static int connect_fail(struct connection *c, const char *path, int r, struct err *err)
{
	char shown[PATH_SHOWN];

	text_quote(shown, sizeof(shown), path);
	switch (-r) {
	case ENAMETOOLONG: /* told where the path was put together */
		c->outcome = OUTCOME_INVALID_ARGUMENTS;
		return r;
	case ECANCELED:
		c->outcome = OUTCOME_CANCELLED;
		return err_set(err, ERR_CALLER, ECANCELED, "client", "interrupted");
	case EPERM:
		c->outcome = OUTCOME_DENIED;
		err_set(err, ERR_HOST, EPERM, "client", "%s belongs to another user, in a directory that others may write to", shown);
		err_hint(err, "nothing was sent; a supervisor's socket lies in a directory that only its owner can change");
		return r;
	case EACCES:
		c->outcome = OUTCOME_DENIED;
		err_set(err, ERR_HOST, EACCES, "client", "this user may not connect to %s: %s", shown, strerror(-r));
		err_hint(err, "the operator admits users by the sockets' owner, group and mode in brigd.conf(5)");
		return r;
	case EAGAIN:
		c->outcome = OUTCOME_BUSY;
		err_set(err, ERR_HOST, EAGAIN, "client", "%s took no connection for %d s", shown, FULL_WAIT_MS / 1000);
		err_hint(err, "as many wait as may wait; try again, and if it stays, look whether brigd is stopped");
		return r;
	default:
		c->outcome = OUTCOME_SETUP_FAILED;
		err_set(err, ERR_HOST, -r, "client", "no supervisor listens on %s: %s", shown, strerror(-r));
		err_hint(err, "start one with 'brigd' or, as a service, 'systemctl start brigd'; --socket names another socket");
		return r;
	}
}

static int path_join(char *ret, struct err *err, const char *dir, size_t dir_len, const char *middle, const char *name)
{
	char shown[PATH_SHOWN];
	int n = snprintf(ret, CONNECT_PATH_MAX, "%.*s%s%s", (int)(dir_len < PATH_MAX ? dir_len : PATH_MAX), dir, middle, name);

	if (n > 0 && n < CONNECT_PATH_MAX)
		return 0;
	text_quote(shown, sizeof(shown), dir);
	err_set(err, ERR_CALLER, ENAMETOOLONG, "client", n > 0 ? "the socket's path is too long: %s" : "the socket's path is empty: %s",
		shown);
	err_hint(err, "the kernel takes 1 to %d bytes", CONNECT_PATH_MAX - 1);
	return -ENAMETOOLONG;
}

/* The socket that the user named, by option or environment. 1: in ret; 0: none; -errno. */
static int path_named(enum connect_want want, const struct options *opt, char *ret, struct err *err)
{
	const char *env = secure_getenv("BRIG_SOCKET"), *slash;
	int r;

	if (opt->socket)
		r = path_join(ret, err, opt->socket, strlen(opt->socket), "", "");
	else if (!env || !*env)
		return 0;
	else if (want != CONNECT_ADMIN)
		r = path_join(ret, err, env, strlen(env), "", "");
	else if ((slash = strrchr(env, '/')))
		r = path_join(ret, err, env, (size_t)(slash - env), "/", ADMIN_SOCK);
	else
		r = path_join(ret, err, "", 0, "", ADMIN_SOCK);
	return r < 0 ? r : 1;
}

/* Where a daemon listens by itself, in the order in which to try; at most two. */
static int paths_default(enum connect_want want, char ret[2][CONNECT_PATH_MAX], unsigned *count, struct err *err)
{
	const char *state = secure_getenv("BRIG_STATE"), *run = secure_getenv("XDG_RUNTIME_DIR");
	const char *name = want == CONNECT_ADMIN ? ADMIN_SOCK : AGENT_SOCK;
	int r = 0;

	*count = 0;
	if (state && *state)
		return path_join(ret[(*count)++], err, state, strlen(state), "/run/", name);
	if (geteuid() != 0 && run && *run)
		r = path_join(ret[(*count)++], err, run, strlen(run), "/brig/", name);
	return r < 0 ? r : path_join(ret[(*count)++], err, SYSTEM_DIR, strlen(SYSTEM_DIR), "/", name);
}

static int named_open(struct connection *c, int stop_fd, struct err *err)
{
	int r = socket_open(c->path, stop_fd, &c->sock);

	c->named = true;
	return r < 0 ? connect_fail(c, c->path, r, err) : 0;
}

/* The first default socket where somebody is; c->path tells which. */
static int default_try(struct connection *c, enum connect_want want, int stop_fd, struct err *err)
{
	char paths[2][CONNECT_PATH_MAX];
	unsigned count;
	int r = paths_default(want, paths, &count, err);

	if (r < 0)
		return r;
	for (unsigned i = 0; i < count; i++) {
		memcpy(c->path, paths[i], sizeof(c->path));
		r = socket_open(c->path, stop_fd, &c->sock);
		if (!nobody_there(c->path, r))
			break;
	}
	return r;
}

/* A daemon that is too busy is no reason to burden the host with one more supervisor. */
static int default_open(struct connection *c, enum connect_want want, int stop_fd, struct err *err)
{
	int r = default_try(c, want, stop_fd, err);

	if (r == 0)
		return 0;
	if (want == CONNECT_ANY && (r == -ENAMETOOLONG || nobody_there(c->path, r)))
		return connection_start_private(c, err);
	connect_fail(c, c->path, r, err);
	return (r == -EACCES || r == -EPERM) && connection_fall_back(c, want, err->detail) ? connection_start_private(c, err) : r;
}

int connection_open(struct connection *c, enum connect_want want, const struct options *opt, int stop_fd, struct err *err)
{
	int r = 0;

	if (opt->private && opt->socket)
		r = err_set(err, ERR_CALLER, EINVAL, "client", "options '--socket' and '--private' exclude each other");
	else if (!opt->private)
		r = path_named(want, opt, c->path, err);
	if (r < 0) {
		c->outcome = OUTCOME_INVALID_ARGUMENTS;
		return r;
	}
	if (opt->private)
		return connection_start_private(c, err);
	return r ? named_open(c, stop_fd, err) : default_open(c, want, stop_fd, err);
}

bool connection_fall_back(struct connection *c, enum connect_want want, const char *why)
{
	struct jbuf b;

	if (want != CONNECT_ANY || c->named || !c->path[0])
		return false;
	c->sock = fd_close(c->sock);
	jbuf_init(&b, 6 * strlen(why) + 64);
	text_escape(&b, why, strlen(why), TEXT_LINE);
	fprintf(stderr, "brig: note: %.*s; a supervisor of our own serves instead\n", (int)b.len, b.data ? b.data : "");
	jbuf_done(&b);
	return true;
}

int connection_start_private(struct connection *c, struct err *err)
{
	c->path[0] = '\0';
	c->outcome = OUTCOME_INTERNAL_ERROR;
	return private_start(&c->private, err);
}

int connection_sock(const struct connection *c)
{
	return c->sock >= 0 ? c->sock : c->private.sock;
}

void connection_done(struct connection *c)
{
	c->sock = fd_close(c->sock);
	private_done(&c->private);
}
