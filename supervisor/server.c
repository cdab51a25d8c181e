#include "supervisor/server.h"

#include "supervisor/client.h"

#include <event2/listener.h>

static int peer_of(int fd, struct ucred *ret)
{
	socklen_t len = sizeof(*ret);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret, &len) < 0 ? -errno : 0;
}

static int client_add(struct core *core, int fd, enum authority authority, struct err *err)
{
	struct ucred peer;
	struct client *client;
	int r = peer_of(fd, &peer);

	if (r < 0) {
		close(fd);
		return err_set(err, ERR_HOST, -r, "core", "who connected cannot be told");
	}
	return client_open(core, fd, authority, &peer, &client, err);
}

static void on_connection(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *addr UNUSED, int len UNUSED, void *arg)
{
	struct core *core = arg;
	struct err err;

	(void)client_add(core, fd, listener == core->listeners[1] ? AUTHORITY_ADMIN : AUTHORITY_AGENT, &err);
}

int server_open(struct core *core, struct err *err)
{
	const int fds[] = { core->boot->agent_fd, core->boot->admin_fd };

	if (core->boot->client_fd >= 0)
		return client_add(core, core->boot->client_fd, AUTHORITY_PRIVATE, err);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		core->listeners[i] = evconnlistener_new(core->base, on_connection, core, LEV_OPT_CLOSE_ON_EXEC, 0, fds[i]);
		if (!core->listeners[i])
			return err_set(err, ERR_HOST, ENOMEM, "core", "cannot watch a listening socket");
	}
	return 0;
}

void server_close(struct core *core)
{
	for (size_t i = 0; i < ARRAY_LEN(core->listeners); i++)
		if (core->listeners[i])
			evconnlistener_free(core->listeners[i]);
	while (!LIST_EMPTY(&core->clients))
		client_close(LIST_FIRST(&core->clients));
}
