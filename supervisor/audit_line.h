/* Records as JSON lines. Pure but for the clock; audit process only. */
#ifndef BRIG_SUPERVISOR_AUDIT_LINE_H
#define BRIG_SUPERVISOR_AUDIT_LINE_H

#include "supervisor/audit_record.h"
#include "supervisor/wire/chain.h"

#include <time.h>

/* No line but a begin is longer: every text at its bound, each byte escaped to six. What disk space is kept for. */
#define AUDIT_LINE_MAX 5120
#define AUDIT_BEGIN_MAX (AUDIT_LINE_MAX + 6 * AUDIT_VALUE_MAX)

/* NULL for no such kind. */
const char *audit_kind_name(uint32_t kind);

/* What is wrong with a message of core as a record, or NULL. *ret_len bytes came. */
const char *audit_record_check(const struct audit_record *r, size_t len);

/* {"seq":..,"time":"2026-01-02T03:04:05.000000006Z","kind":"..."; the caller adds members and closes by chain_close(). */
void audit_line_open(const struct chain *c, enum audit_kind kind, const struct timespec *now, struct jbuf *b);
/* Members "core" and "n": which record of which core. */
void audit_line_core(uint64_t core, uint64_t number, struct jbuf *b);
/* One more member, a string; "" is null. What a terminal could take for a command is escaped, as JSON allows. */
void audit_line_text(const char *key, const char *text, struct jbuf *b);
/* A whole line of a checked record. */
void audit_line_record(struct chain *c, const struct audit_record *r, uint64_t core, const struct timespec *now, struct jbuf *b);
/* The end of a call whose core cannot tell it any more. */
void audit_line_lost(struct chain *c, const char *call_id, const char *cause, const struct timespec *now, struct jbuf *b);

#endif
