/* One event as the bytes of one line, in each of the forms of log.h; pure, so that it can be tested. */
#ifndef BRIG_SUPERVISOR_LOG_LINE_H
#define BRIG_SUPERVISOR_LOG_LINE_H

#include "supervisor/log.h"

#include <time.h>

struct log_entry {
	int level;
	const char *process; /* "" before there are roles */
	pid_t pid;
	struct timespec time;
	const char *event, *message;
	const struct log_field *fields; /* up to a NULL name */
	unsigned dropped;               /* lines that were lost before this one */
};

struct log_line {
	char data[LOG_LINE_MAX];
	size_t len;
};

/* Each ends with a new line and has no other, no control character and no invalid UTF-8, whatever the texts hold. */
void log_line_text(struct log_line *line, const struct log_entry *entry);
void log_line_json(struct log_line *line, const struct log_entry *entry);
/* Fields of the journal's protocol, one a line. */
void log_line_journal(struct log_line *line, const struct log_entry *entry);

#endif
