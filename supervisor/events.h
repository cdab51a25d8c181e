/* What clients that asked for it (subscribe) are told without a question: notifications on their own connection. Core only. */
#ifndef BRIG_SUPERVISOR_EVENTS_H
#define BRIG_SUPERVISOR_EVENTS_H

#include <sys/types.h>

struct core;

/* Bits of what a client wants; the words are those of subscribe. */
#define EVENT_LIST(X)          \
	X(EVENT_TOOLS, "tools", 1) \
	X(EVENT_APPROVALS, "approvals", 2)
enum event_bit {
#define X(id, name, bit) id = bit,
	EVENT_LIST(X)
#undef X
};
/* 0: no such word. */
unsigned events_find(const char *name);

/* tools.changed {"generation":N}: the list is another one. A client that does not read fast enough misses some; the
 * generation, which tool.list tells too, shows it. */
void events_tools_changed(struct core *core);
/* approvals.changed with these params (a JSON object in one line): to clients of that uid, and to operators. */
void events_approval(struct core *core, uid_t uid, const char *params, size_t len);

#endif
