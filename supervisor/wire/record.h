/* Which records of the audit log are wanted: the same for core (audit.read) and for `brig audit` over files. */
#ifndef BRIG_WIRE_RECORD_H
#define BRIG_WIRE_RECORD_H

#include "supervisor/wire/json.h"

#include <stdint.h>

/* NULL: any. Each is compared with the member of that name as a whole; uid and session are those of "who". */
struct record_filter {
	const char *kind, *tool, *outcome, *decision, *session, *call_id, *uid;
	const char *since, *until; /* a beginning of a time as the log writes it: from it on, and before it */
	uint64_t after_seq;
};

/* NULL, or what is wrong with a time such as 2026-01-02 or 2026-01-02T03:04:05Z. */
const char *record_time_check(const char *time);
/* line: a record that chain_walk_line() or json_check() took for sound. */
bool record_matches(const struct record_filter *f, const char *line, size_t len);
/* {"seq":N at the front, or 0. */
uint64_t record_seq(const char *line, size_t len);

#endif
