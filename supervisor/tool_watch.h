/* How the calls of tools really ended: counted for each version while this core lives, and, where the kernel stopped one for a
 * denied action, in the registry, until the version is put into quarantine. Core only. */
#ifndef BRIG_SUPERVISOR_TOOL_WATCH_H
#define BRIG_SUPERVISOR_TOOL_WATCH_H

#include "supervisor/tool.h"

struct call;
struct core;
struct jbuf;
struct tool_watch;

/* Its outcome stands and its answer follows. May put the tool into quarantine; call->quarantined then says so. */
void tool_watch_ended(struct call *call);
/* {"calls":..,"outcomes":{..},"tasks_peak":..,"missing":{..},"unused":[..]}: what was seen of that version since core started, from
 * outside but for "missing", which is read from the errors that it raised. */
void tool_watch_print(const struct core *core, const struct tool *tool, struct jbuf *out);
void tool_watch_free(struct tool_watch *watch);

#endif
