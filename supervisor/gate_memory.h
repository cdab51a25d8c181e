/* What the gate remembers of a session, or of a uid's calls without one: what was denied, and what was let through when. Bounded,
 * lost with core, and used for nothing but "final" and rates. Core only. */
#ifndef BRIG_SUPERVISOR_GATE_MEMORY_H
#define BRIG_SUPERVISOR_GATE_MEMORY_H

#include "supervisor/core_state.h"

struct gate_memory;
struct session;

/* Calls that a rate can count; a limit above this is never reached (policy(5)). */
#define GATE_RATE_MAX 256u

/* Of that session, else of that uid. NULL: no memory. */
struct gate_memory *gate_memory_of(struct core *core, struct session *session, uid_t uid);
void gate_memory_free(struct gate_memory *memory);
void gate_memory_free_all(struct core *core);

/* Was the very same denied before? From now on it was. */
bool gate_memory_denied(struct gate_memory *memory, uint64_t what);
/* That tool was called. */
void gate_memory_called(struct gate_memory *memory, const char *tool, uint64_t now_ms);
/* Its calls in the last window_ms. */
unsigned gate_memory_rate(const struct gate_memory *memory, const char *tool, uint64_t now_ms, uint32_t window_ms);

#endif
