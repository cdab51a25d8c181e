/* Records of an audit log, first to last: from files, or from a daemon over admin.sock. */
#ifndef BRIG_AGENT_AUDIT_SOURCE_H
#define BRIG_AGENT_AUDIT_SOURCE_H

#include "agent/audit_verify.h"
#include "agent/options.h"
#include "agent/show.h"
#include "supervisor/wire/record.h"

struct audit_source {
	const struct options *opt;
	const struct show *show;
	int stop_fd;
	bool daemon;               /* else files */
	struct verify_files files;
	uint64_t last;             /* of the daemon's log, as of the last question */
	uint64_t next;             /* the record that was looked at last */
	int status;                /* after a failure: the exit status; what is wrong was said */
};
#define AUDIT_SOURCE_FAILED (-1)

/* The files that were named behind the action; without any the daemon's, and where there is none those of the usual place. 0 or AUDIT_SOURCE_FAILED. */
int audit_source_open(struct audit_source *s);
void audit_source_done(struct audit_source *s);
/* Each that matches; its line without the line feed. fn ends it by returning other than 0. 0, that, or AUDIT_SOURCE_FAILED. */
int audit_source_each(struct audit_source *s, const struct record_filter *filter, int (*fn)(const char *line, size_t len, void *arg), void *arg);

/* Where a brigd of ours keeps it: config_defaults() of the supervisor has the same places. */
int audit_default_dir(char *ret, size_t cap, struct err *err);

#endif
