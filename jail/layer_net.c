/* Layer net: an empty network namespace.
 *
 * Threat:      exfiltration, metadata services (169.254.169.254), the supervisor's and other daemons' loopback ports.
 * Mechanism:   the zygote makes a new namespace ahead of time and enters it; the next jail inherits it, and the zygote at once
 *              makes another, so no two jails ever share one. It holds loopback, down, and nothing else that is up: checked by one
 *              dump over rtnetlink(7) (libnl), not believed. Loopback goes up only where the profile grants it: it reaches
 *              ourselves only. The namespace belongs to the zygote's user namespace: no jail has any right over its own.
 * Order:       before the clone, because making one costs as much as all other namespaces together and can be paid between calls.
 * If missing:  refused. Sockets that no network namespace holds (AF_VSOCK, AF_ALG, AF_UNIX by path) are seccomp's and mount's.
 * Verified by: verify.c (connect to an outside address is ENETUNREACH); the zygote's look at /proc/PID/ns/net: the one made for
 *              this jail, not the zygote's own, not another jail's.
 * Tests:       tests/integration/u-layers.c, tests/integration/u-zygote.c */
#include "jail/layer.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sched.h>
#include <stdbool.h>

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

static bool links_read(struct nl_sock *sock, struct links *links)
{
	struct rtgenmsg ask = { .rtgen_family = AF_UNSPEC };

	return nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, link_seen, links) >= 0 &&
	       nl_send_simple(sock, RTM_GETLINK, NLM_F_DUMP, &ask, sizeof(ask)) >= 0 && nl_recvmsgs_default(sock) >= 0;
}

static bool lo_raise(struct nl_sock *sock)
{
	struct ifinfomsg up = { .ifi_index = LO_INDEX, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	/* PRIV: CAP_NET_ADMIN of the zygote's own namespaces; names lo by its fixed index. */
	return nl_send_simple(sock, RTM_NEWLINK, NLM_F_ACK, &up, sizeof(up)) >= 0 && nl_wait_for_ack(sock) >= 0;
}

static const char *net_prepare(struct nl_sock *sock, bool lo_up)
{
	struct links links = { 0 };

	if (nl_connect(sock, NETLINK_ROUTE) < 0)
		return "netlink socket";
	if (!links_read(sock, &links))
		return "netlink RTM_GETLINK";
	errno = 0;
	if (!links.lo_seen)
		return "loopback is not where it must be";
	if (links.lo_up || links.other_up)
		return "an interface is up in the new namespace";
	if (lo_up && !lo_raise(sock))
		return "netlink RTM_NEWLINK lo up";
	return NULL;
}

const char *net_make(bool lo_up)
{
	struct nl_sock *sock;
	const char *wrong;

	/* PRIV: CAP_SYS_ADMIN of the zygote's user namespace; leaves the namespace that the last jail got. */
	if (unshare(CLONE_NEWNET) < 0)
		return "unshare CLONE_NEWNET";
	sock = nl_socket_alloc();
	if (!sock)
		return "nl_socket_alloc";
	wrong = net_prepare(sock, lo_up);
	nl_socket_free(sock);
	return wrong;
}
