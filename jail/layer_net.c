/* Layer net: an empty network namespace.
 *
 * Threat:      exfiltration, metadata services (169.254.169.254), the supervisor's and other daemons' loopback ports.
 * Mechanism:   the namespace made by the clone holds loopback, down, and nothing else that is up. Checked by one dump over
 *              rtnetlink(7) (libnl), not believed. Loopback goes up only where the profile grants it: it reaches ourselves only.
 * Order:       before caps (raising lo needs CAP_NET_ADMIN of the namespace), before seccomp (no profile grants AF_NETLINK).
 * If missing:  refused. Sockets that no network namespace holds (AF_VSOCK, AF_ALG, AF_UNIX by path) are seccomp's and mount's.
 * Verified by: verify.c (connect to an outside address is ENETUNREACH); from outside /proc/PID/ns/net.
 * Tests:       tests/integration/u-layers.c */
#include "jail/layer.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>

#define LO_INDEX 1 /* loopback_net_init() registers it first in every namespace */

struct links {
	bool lo_seen, lo_up, other_up;
};

/* Fallback tunnels (tunl0, sit0, ip6tnl0) appear in every namespace of a host that loaded their module; they are
 * down, carry nothing, and cannot be raised once the capabilities are gone. So "up" is what counts. */
static int link_seen(struct nl_msg *msg, void *arg)
{
	const struct nlmsghdr *head = nlmsg_hdr(msg);
	struct links *links = arg;

	if (head->nlmsg_type != RTM_NEWLINK || !nlmsg_valid_hdr(head, sizeof(struct ifinfomsg)))
		return NL_SKIP;
	const struct ifinfomsg *info = nlmsg_data(head);
	if (info->ifi_index == LO_INDEX && (info->ifi_flags & IFF_LOOPBACK)) {
		links->lo_seen = true;
		links->lo_up = info->ifi_flags & IFF_UP;
	} else if (info->ifi_flags & IFF_UP) {
		links->other_up = true;
	}
	return NL_OK;
}

static void links_read(struct nl_sock *sock, struct links *links)
{
	struct rtgenmsg ask = { .rtgen_family = AF_UNSPEC };
	int r;

	if (nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, link_seen, links) < 0)
		die_at(LAYER_NET, "nl_socket_modify_cb", ENOMEM);
	r = nl_send_simple(sock, RTM_GETLINK, NLM_F_DUMP, &ask, sizeof(ask));
	if (r < 0)
		die_at(LAYER_NET, "netlink RTM_GETLINK", errno);
	r = nl_recvmsgs_default(sock);
	if (r < 0)
		die_at(LAYER_NET, "netlink read links", errno);
}

static void lo_raise(struct nl_sock *sock)
{
	struct ifinfomsg up = { .ifi_index = LO_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	/* PRIV: CAP_NET_ADMIN of the jail's own namespaces; names lo by its fixed index. */
	if (nl_send_simple(sock, RTM_NEWLINK, NLM_F_ACK, &up, sizeof(up)) < 0 || nl_wait_for_ack(sock) < 0)
		die_at(LAYER_NET, "netlink RTM_NEWLINK lo up", errno);
}

void layer_net_apply(struct layer_state *st)
{
	struct links links = { 0 };
	struct nl_sock *sock = nl_socket_alloc();

	if (!sock)
		die_at(LAYER_NET, "nl_socket_alloc", ENOMEM);
	if (nl_connect(sock, NETLINK_ROUTE) < 0)
		die_at(LAYER_NET, "nl_connect", errno);
	links_read(sock, &links);
	if (!links.lo_seen)
		die_at(LAYER_NET, "loopback is not where it must be", 0);
	if (links.lo_up || links.other_up)
		die_at(LAYER_NET, "an interface is up in the new namespace", 0);
	if (st->spec->flags & SPEC_LO_UP)
		lo_raise(sock);
	nl_socket_free(sock);
}
