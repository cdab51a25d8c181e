/* Keeper <-> audit: fixed messages over one SOCK_SEQPACKET pair. Nothing is said here that would be lost with the
 * process that it was said to: what the keeper tells is told again to the next audit process (struct audit_boot, AUDIT_CORE).
 * The keeper takes audit for hostile: any other message, number or size ends that audit process.
 *
 *   keeper -> audit
 *   AUDIT_CORE    number: core instance, random, never 0, drawn for each core that is forked; text: why it was started
 *                 ("start", "signal 9"); fd: audit's end of the new pair to it
 *                 Sent at each KP_AUDIT of core. The core before it, if it had another number, is dead by then.
 *   AUDIT_FILE    number: as in the request; fd: the new audit.log (O_APPEND|O_WRONLY), or err
 *   AUDIT_STOP    text: why the supervisor ends; audit ends when both sockets are at their end
 *
 *   audit -> keeper
 *   AUDIT_READY   err 0: the log was looked at and can be written. Else text says what is wrong, and audit has ended.
 *   AUDIT_ROTATE  number: of the last record so far, only grows. The keeper renames audit.log to CHAIN_OLD_NAME (wire/chain.h; never
 *                 over a file that is there), opens a new one, answers AUDIT_FILE. One at a time.
 */
#ifndef BRIG_SUPERVISOR_AUDIT_PROTO_H
#define BRIG_SUPERVISOR_AUDIT_PROTO_H

#include <stdint.h>

#define AUDIT_CTL_MAGIC 0x42524143u

#define AUDIT_NUMBER_MAX ((uint64_t)INT64_MAX)

enum audit_ctl_kind { AUDIT_CORE = 1, AUDIT_FILE, AUDIT_STOP, AUDIT_READY, AUDIT_ROTATE };

struct audit_ctl {
	uint32_t magic;
	uint32_t kind;
	int32_t err;     /* AUDIT_FILE, AUDIT_READY: 0 or errno, positive */
	uint32_t unused; /* 0 */
	uint64_t number;
	char text[160];  /* NUL-terminated */
};

#endif
