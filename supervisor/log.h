/* What brigd says about itself, to an operator or to the programs that he has read it. One line for each event:
 *
 *   text     brigd: core: MESSAGE (name=value, ...)             on standard error
 *   json     {"time":..,"level":..,"process":..,"pid":..,"event":..,"message":..,"fields":{..}}   likewise
 *   journal  systemd-journald's own protocol: MESSAGE, PRIORITY, BRIG_EVENT, BRIG_PROCESS, BRIG_<NAME>;
 *            where its socket cannot be had, text behind "<N>" on standard error (sd-daemon(3))
 *   auto     journal where standard error leads there (JOURNAL_STREAM of systemd.exec(5)), else text
 *
 * The event is for programs and never changes; the message is for people. Neither holds what a client sent:
 * no argument, no body, no output. Any of brigd's processes may call; fixed buffers, no memory is
 * taken, no lock is held, and a reader that does not keep up loses lines (the next one counts them), never holds us. */
#ifndef BRIG_SUPERVISOR_LOG_H
#define BRIG_SUPERVISOR_LOG_H

#include "jail/base/err.h"
#include "supervisor/config.h"

#include <syslog.h> /* LOG_ERR to LOG_DEBUG: no function of it is used */

/* One line is one write that the kernel does not split between two writers (PIPE_BUF); what is longer is cut. */
#define LOG_LINE_MAX 4096

struct log_field {
	const char *name; /* [a-z_]+; NULL ends a list */
	const char *text; /* NULL: the number */
	int64_t number;
};
#define LOG_STR(name, value) { (name), (value), 0 }
#define LOG_NUM(name, value) { (name), NULL, (int64_t)(value) }
#define LOG_FIELDS(...) ((const struct log_field[]){ __VA_ARGS__, { NULL, NULL, 0 } })
#define LOG_NONE LOG_FIELDS(LOG_NUM(NULL, 0))

/* Keeper, at start, while it may still connect anywhere. Before that, and without it: text, up to level LOG_INFO.
 * level: the last one of syslog(3) that is written. journal: NULL for the system's. */
void log_open(enum log_format format, int level, const char *journal);
/* At a reload. The journal's socket stays as it was opened. */
void log_level_set(int level);
bool log_enabled(int level);
/* After a fork: the name that lines of this process carry ("keeper", "core", "audit"). Not copied. */
void log_process(const char *name);
/* What a process that closes its descriptors has to keep, or -1. */
int log_fd(void);

void log_event(int level, const char *event, const struct log_field *fields, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* "where: detail", and the hint: a field, in text a second line. */
void log_err(int level, const char *event, const struct log_field *fields, const struct err *err);

/* For what a client can cause as often as it likes: the first LOG_GATE_BURST of each LOG_GATE_MS pass. */
#define LOG_GATE_MS    10000
#define LOG_GATE_BURST 5
struct log_gate {
	int64_t since_ms;
	unsigned passed, held;
};
/* May this one be written? *ret_held: how many were not since the last that was. now_ms: of a clock that never goes back. */
bool log_gate_pass(struct log_gate *gate, int64_t now_ms, unsigned *ret_held);

#endif
