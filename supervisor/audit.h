/* brigd: audit, the role that can only append. It takes fixed records from core (audit_record.h), makes lines of them
 * whose hashes form a chain (wire/chain.h), and tells core what is written. It outlives keeper and core for as long as
 * something they sent is unread. */
#ifndef BRIG_SUPERVISOR_AUDIT_H
#define BRIG_SUPERVISOR_AUDIT_H

#include "supervisor/config.h"

#include <sys/types.h>

/* Filled by the keeper; in the child it has closed all descriptors but these, log_fd() and the standard ones, and set no
 * parent-death signal. Audit takes them. */
struct audit_boot {
	int log_fd;    /* audit.log: O_APPEND|O_WRONLY|O_CREAT|O_NOFOLLOW|O_CLOEXEC, mode 0600 */
	int look_fd;   /* the same file, O_RDONLY: read once at start, then closed */
	int before_fd; /* the youngest audit-NUMBER.log, O_RDONLY, or -1: the chain goes on from it when audit.log is still empty */
	int keeper_fd; /* SOCK_SEQPACKET, audit_proto.h */
	const struct config *config;
	bool as_root;  /* become `uid`, an id of its own */
	uid_t uid;
	char why[160]; /* "" when the supervisor starts; else why the audit process before this one ended */
};

/* Never killed by its parent's death: it ends by itself when both sockets are at their end. Returns the exit status.
 * The first message to the keeper is AUDIT_READY; the reason of a failure is on stderr, too. */
int audit_main(struct audit_boot *boot);

#endif
