#include "supervisor/peers.h"

#include <stdlib.h>

struct peer {
	LIST_ENTRY(peer) link;
	struct peers *all;
	uid_t uid;
	unsigned connections[PEER_SOCKETS];
	unsigned calls, running;
	uint64_t bytes, unread;
};

void peers_init(struct peers *ps, const struct config *config, uint32_t connections_max)
{
	*ps = (struct peers){ .config = config, .connections_max = connections_max };
}

static struct peer *peer_get(struct peers *ps, uid_t uid)
{
	struct peer *p;

	LIST_FOREACH(p, &ps->list, link)
		if (p->uid == uid)
			return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->all = ps;
	p->uid = uid;
	LIST_INSERT_HEAD(&ps->list, p, link);
	return p;
}

static void peer_put(struct peer *p)
{
	if (p->connections[PEER_AGENT] || p->connections[PEER_ADMIN] || p->calls || p->bytes)
		return;
	LIST_REMOVE(p, link);
	free(p);
}

static const char *connection_limit(const struct peers *ps, const struct peer *p, enum peer_socket socket)
{
	unsigned all = ps->connections[PEER_AGENT] + ps->connections[PEER_ADMIN];
	unsigned most = ps->connections_max;

	if (socket == PEER_AGENT)
		most -= most > 2 * PEERS_ADMIN_RESERVE ? PEERS_ADMIN_RESERVE : most / 2;
	if (all >= most)
		return "connections_max";
	return p->connections[socket] >= ps->config->connections_per_uid ? "connections_per_uid" : NULL;
}

struct peer *peer_connect(struct peers *ps, uid_t uid, enum peer_socket socket, const char **ret_limit)
{
	struct peer *p = peer_get(ps, uid);

	*ret_limit = NULL;
	if (!p)
		return NULL;
	*ret_limit = connection_limit(ps, p, socket);
	if (*ret_limit) {
		peer_put(p);
		return NULL;
	}
	p->connections[socket]++;
	ps->connections[socket]++;
	return p;
}

void peer_disconnect(struct peer *p, enum peer_socket socket)
{
	if (!p)
		return;
	p->connections[socket]--;
	p->all->connections[socket]--;
	peer_put(p);
}

unsigned peer_connections(const struct peer *p, enum peer_socket socket)
{
	return p ? p->connections[socket] : 1;
}

const char *peer_call_room(const struct peer *p, size_t bytes, size_t beside)
{
	if (!p)
		return NULL;
	if (p->calls >= p->all->config->calls_per_uid)
		return "calls_per_uid";
	return p->bytes - beside + bytes > p->all->config->queued_bytes_per_uid ? "queued_bytes_per_uid" : NULL;
}

void peer_call_begin(struct peer *p)
{
	if (p)
		p->calls++;
}

void peer_call_end(struct peer *p)
{
	if (!p)
		return;
	p->calls--;
	peer_put(p);
}

bool peer_may_run(const struct peer *p)
{
	return !p || (p->running < p->all->config->running_per_uid && p->unread <= p->all->config->queued_bytes_per_uid);
}

void peer_run_begin(struct peer *p)
{
	if (p)
		p->running++;
}

void peer_run_end(struct peer *p)
{
	if (p)
		p->running--;
}

void peer_unread_set(struct peer *p, size_t was, size_t now)
{
	if (p)
		p->unread += now - was;
}

/* Nothing is always there: what stands on the account already must not refuse a short line. */
bool peer_bytes_take(struct peer *p, size_t bytes)
{
	if (p && bytes > 0 && p->bytes + bytes > p->all->config->queued_bytes_per_uid)
		return false;
	peer_bytes_add(p, bytes);
	return true;
}

void peer_bytes_add(struct peer *p, size_t bytes)
{
	if (p)
		p->bytes += bytes;
}

void peer_bytes_give(struct peer *p, size_t bytes)
{
	if (!p)
		return;
	p->bytes -= bytes;
	peer_put(p);
}
