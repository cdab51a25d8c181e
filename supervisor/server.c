#include "supervisor/server.h"

#include "supervisor/client.h"
#include "supervisor/log.h"
#include "supervisor/metrics.h"
#include "supervisor/peers.h"
#include "supervisor/request.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Connections taken before those who are connected get their turn. */
#define TURN_ACCEPTS 16
/* Without descriptors or memory nothing is accepted for so long; whoever connects waits in the kernel. */
#define PAUSE_MS 100
/* Whoever is over a limit of connections: they come and go with calls. */
#define RETRY_MS 1000
/* What core holds for one jail: its process, channels, listener, /tmp and control group. */
#define JAIL_FILES 16
/* The keeper, audit, zygotes, logs, the event loop. */
#define OTHER_FILES 128
/* Even with few descriptors somebody has to be able to ask. */
#define CONNECTIONS_LEAST 16
/* At the end: for those who read slowly what they were told. */
#define FLUSH_NS 1000000000ull

struct place {
	struct server *server;
	enum peer_socket socket;
	int fd;
	struct event *ev;
};

struct server {
	struct core *core;
	struct peers peers;
	struct place places[PEER_SOCKETS];
	struct event *pause_ev;
	struct log_gate full_gate, stranger_gate, paused_gate;
};

static const char *const socket_names[PEER_SOCKETS] = { "agent.sock", "admin.sock" };
static const char *const users_keys[PEER_SOCKETS] = { "agent_users", "admin_users" };

/* ---- who may connect ---- */

static const struct config_socket *socket_config(const struct core *core, enum peer_socket socket)
{
	return socket == PEER_ADMIN ? &core->boot->config.admin : &core->boot->config.agent;
}

static bool uid_may(const struct core *core, enum peer_socket socket, uid_t uid)
{
	const struct config_socket *s = socket_config(core, socket);
	uid_t own = core->boot->as_root ? 0 : getuid();

	if (s->any_uid || uid == own)
		return true;
	for (uint32_t i = 0; i < s->uid_count; i++)
		if (s->uids[i] == uid)
			return true;
	return false;
}

/* Tells why, in one line, and closes. Takes fd. */
static void turn_away(struct server *s, int fd, const struct ucred *cred, int code, const struct err *why)
{
	unsigned held;
	struct jbuf b;

	if (log_gate_pass(code == RPC_BUSY ? &s->full_gate : &s->stranger_gate, (int64_t)(core_now_ns() / 1000000), &held))
		log_event(LOG_NOTICE, "connection_refused", LOG_FIELDS(LOG_NUM("uid", cred->uid), LOG_NUM("pid", cred->pid), LOG_NUM("more", held)),
			  "%s: %s", why->where, why->detail);
	jbuf_init(&b, LIMIT_ERROR_BYTES);
	client_print_err(&b, "null", 4, code, why, code == RPC_BUSY ? RETRY_MS : 0);
	if (!b.failed)
		(void)send(fd, b.data, b.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	jbuf_done(&b);
	close(fd);
}

static void turn_away_full(struct server *s, int fd, const struct ucred *cred, enum peer_socket socket, const char *limit)
{
	struct err why;

	if (strcmp(limit, "connections_max") == 0)
		err_set(&why, ERR_HOST, EBUSY, limit, "%s: %u connections are open already", socket_names[socket],
			s->peers.connections[PEER_AGENT] + s->peers.connections[PEER_ADMIN]);
	else
		err_set(&why, ERR_HOST, EBUSY, limit, "%s: uid %u has %u connections already", socket_names[socket], cred->uid,
			s->core->boot->config.connections_per_uid);
	err_hint(&why, "close one, or send several requests over one; the operator's limit is %s in brigd.conf(5)", limit);
	metrics_busy(s->core, limit);
	turn_away(s, fd, cred, RPC_BUSY, &why);
}

/* Takes fd. */
static void admit(struct place *at, int fd)
{
	struct core *core = at->server->core;
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	const char *limit;
	struct err err;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0) {
		close(fd); /* nobody that could be named: nobody that may come in */
		return;
	}
	if (!uid_may(core, at->socket, cred.uid)) {
		err_set(&err, ERR_CALLER, EACCES, "authority", "%s: uid %u may not use this socket", socket_names[at->socket], cred.uid);
		err_hint(&err, "the operator may add it to %s in brigd.conf(5)", users_keys[at->socket]);
		turn_away(at->server, fd, &cred, RPC_AUTHORITY, &err);
		return;
	}
	struct peer *peer = peer_connect(&at->server->peers, cred.uid, at->socket, &limit);
	if (!peer && !limit)
		close(fd); /* no memory for an account, nor for words */
	else if (!peer)
		turn_away_full(at->server, fd, &cred, at->socket, limit);
	else if (client_open(core, fd, at->socket == PEER_ADMIN ? AUTHORITY_ADMIN : AUTHORITY_AGENT, &cred, peer, &err) < 0)
		log_err(LOG_ERR, "client_failed", LOG_NONE, &err);
}

/* ---- listening ---- */

static void listen_again(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct server *s = arg;

	for (size_t i = 0; i < ARRAY_LEN(s->places); i++)
		event_add(s->places[i].ev, NULL);
}

/* What is missing does not come by trying again at once: the loop would spin. */
static void listen_pause(struct server *s, int why)
{
	const struct timeval tv = { .tv_usec = PAUSE_MS * 1000 };
	unsigned held;

	for (size_t i = 0; i < ARRAY_LEN(s->places); i++)
		event_del(s->places[i].ev);
	evtimer_add(s->pause_ev, &tv);
	if (log_gate_pass(&s->paused_gate, (int64_t)(core_now_ns() / 1000000), &held))
		log_event(LOG_WARNING, "accept_failed", LOG_FIELDS(LOG_NUM("more", held)), "no connection can be taken for now: %s", strerror(why));
}

static void on_connection(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct place *at = arg;

	for (int n = 0; n < TURN_ACCEPTS; n++) {
		int got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (got >= 0) {
			admit(at, got);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			listen_pause(at->server, errno);
			return;
		}
	}
}

/* What jails and the rest of core need at most. */
static rlim_t files_beside(void)
{
	return LIMIT_SLOTS * JAIL_FILES + OTHER_FILES;
}

void server_files_raise(const struct config *c)
{
	rlim_t want = files_beside() + c->connections_max;
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= want)
		return;
	l.rlim_cur = l.rlim_max < want ? l.rlim_max : want;
	(void)setrlimit(RLIMIT_NOFILE, &l); /* connections_max() looks at what there is */
}

/* Descriptors go to jails first: a call that finds none fails, a connection only has to come again. */
static uint32_t connections_max(uint32_t wanted)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return CONNECTIONS_LEAST;
	rlim_t room = l.rlim_cur > files_beside() ? l.rlim_cur - files_beside() : 0;
	if (room >= wanted)
		return wanted;
	uint32_t most = room > CONNECTIONS_LEAST ? (uint32_t)room : CONNECTIONS_LEAST;
	most = most < wanted ? most : wanted;
	log_event(LOG_WARNING, "connections_clamped", LOG_FIELDS(LOG_NUM("wanted", wanted), LOG_NUM("max", most), LOG_NUM("files", l.rlim_cur)),
		  "connections_max is %u, but only %u can be served beside the jails: the limit of open files is low (LimitNOFILE=, and a restart)", wanted,
		  most);
	return most;
}

static int private_open(struct core *core, struct err *err)
{
	struct ucred cred = { 0 };
	socklen_t len = sizeof(cred);
	int fd = core->boot->client_fd;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || evutil_make_socket_nonblocking(fd) < 0)
		return err_set(err, ERR_HOST, errno, "core", "who connected cannot be told");
	return client_open(core, fd, AUTHORITY_PRIVATE, &cred, NULL, err);
}

int server_open(struct core *core, struct err *err)
{
	const int fds[PEER_SOCKETS] = { core->boot->agent_fd, core->boot->admin_fd };
	struct server *s;

	if (core->boot->client_fd >= 0)
		return private_open(core, err);
	core->server = s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "core", "no memory to listen");
	s->core = core;
	peers_init(&s->peers, &core->boot->config, connections_max(core->boot->config.connections_max));
	s->pause_ev = evtimer_new(core->base, listen_again, s);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		struct place *at = &s->places[i];

		*at = (struct place){ .server = s, .socket = (enum peer_socket)i, .fd = fds[i] };
		at->ev = event_new(core->base, fds[i], EV_READ | EV_PERSIST, on_connection, at);
		if (!s->pause_ev || !at->ev || event_add(at->ev, NULL) < 0)
			return err_set(err, ERR_HOST, ENOMEM, "core", "cannot watch a listening socket");
	}
	return 0;
}

void server_close(struct core *core)
{
	struct server *s = core->server;
	uint64_t until = core_now_ns() + FLUSH_NS;
	struct client *client;

	while ((client = LIST_FIRST(&core->clients))) {
		client_flush(client, until);
		client_close(client);
	}
	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_LEN(s->places); i++)
		if (s->places[i].ev)
			event_free(s->places[i].ev);
	if (s->pause_ev)
		event_free(s->pause_ev);
	core->server = NULL;
	free(s);
}

void server_config_changed(struct core *core)
{
	struct server *s = core->server;
	struct client *client;

	if (!s)
		return;
	s->peers.config = &core->boot->config;
	s->peers.connections_max = connections_max(core->boot->config.connections_max);
	for (client = LIST_FIRST(&core->clients); client; client = client_next(client))
		if (!uid_may(core, client_authority(client) == AUTHORITY_ADMIN ? PEER_ADMIN : PEER_AGENT, client_uid(client)))
			client_drop(client);
}

uint32_t server_connections_max(const struct core *core)
{
	return core->server ? core->server->peers.connections_max : 0;
}
