/* A look into the audit log from core, for audit.read. The keeper opens a file at a time, to read; core opens none. */
#ifndef BRIG_SUPERVISOR_AUDIT_LOOK_H
#define BRIG_SUPERVISOR_AUDIT_LOOK_H

#include "supervisor/core_state.h"
#include "supervisor/wire/record.h"

#define AUDIT_LOOK_LIMIT 1000u

struct audit_look {
	struct record_filter filter; /* after_seq: from which record on */
	unsigned limit;              /* of records in `out` */
	struct jbuf out;             /* "record,record,..." */
	unsigned count;
	uint64_t next;               /* the last record that was looked at, or filter.after_seq */
	bool more;                   /* records after that one were not looked at */
	uint64_t last;               /* number of the log's last record */
	size_t scanned;              /* bytes: a request has a bound, so that nobody waits long for one */
};
/* 0, or -errno with *err. */
int audit_look(struct core *core, struct audit_look *look, struct err *err);

#endif
