/* The processes of a running daemon as the kernel shows them: brig doctor's section "processes". Ids, capabilities,
 * no_new_privs, filter and descriptors are read from /proc by brig itself; only what no /proc shows (Landlock, and descriptors
 * to a caller that may not look) is what the process says of itself, proven by an attempt that must fail (supervisor/doctor.h). */
#ifndef BRIG_AGENT_DOCTOR_PROCESSES_H
#define BRIG_AGENT_DOCTOR_PROCESSES_H

#include "agent/call.h"
#include "agent/show.h"
#include "supervisor/wire/json.h"

/* How many the answer names; 0: it is a private supervisor's. */
unsigned processes_count(const struct call *c);
/* As a table that fits 80 columns. */
void processes_show(const struct show *s, const struct call *c);
/* As a JSON array. */
void processes_print(const struct call *c, struct jbuf *out);

/* The capabilities of a mask, for people: "none", "all", or names with blanks between. last: the kernel's highest. */
void capabilities_print(char *buf, size_t cap, unsigned long long mask, unsigned last);

#endif
