#include "supervisor/gate_memory.h"

#include "supervisor/session.h"

#include <sha2.h>
#include <stdlib.h>
#include <string.h>

/* A model that tries again tries what it tried just now. */
#define DENIALS_MAX 16
/* Users without a session that are remembered; the one that was silent for longest goes. */
#define UIDS_MAX 256

struct gate_memory {
	LIST_ENTRY(gate_memory) link; /* of a uid: latest first */
	uid_t uid;
	uint64_t denials[DENIALS_MAX];
	unsigned denied; /* in all; the next place is this modulo DENIALS_MAX */
	struct {
		uint64_t tool, at_ms;
	} calls[GATE_RATE_MAX];
	unsigned called;
};

static struct gate_memory *of_uid(struct core *core, uid_t uid)
{
	struct gate_memory *m, *last = NULL;
	unsigned n = 0;

	LIST_FOREACH(m, &core->gate_memories, link) {
		if (m->uid == uid) {
			LIST_REMOVE(m, link);
			LIST_INSERT_HEAD(&core->gate_memories, m, link);
			return m;
		}
		last = m;
		n++;
	}
	if (n == UIDS_MAX) {
		LIST_REMOVE(last, link);
		free(last);
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->uid = uid;
	LIST_INSERT_HEAD(&core->gate_memories, m, link);
	return m;
}

struct gate_memory *gate_memory_of(struct core *core, struct session *s, uid_t uid)
{
	if (!s)
		return of_uid(core, uid);
	if (!s->gate_memory)
		s->gate_memory = calloc(1, sizeof(*s->gate_memory));
	return s->gate_memory;
}

void gate_memory_free(struct gate_memory *m)
{
	free(m);
}

void gate_memory_free_all(struct core *core)
{
	struct gate_memory *m;

	while ((m = LIST_FIRST(&core->gate_memories))) {
		LIST_REMOVE(m, link);
		free(m);
	}
}

bool gate_memory_denied(struct gate_memory *m, uint64_t what)
{
	unsigned n = m->denied < DENIALS_MAX ? m->denied : DENIALS_MAX;

	for (unsigned i = 0; i < n; i++)
		if (m->denials[i] == what)
			return true;
	m->denials[m->denied++ % DENIALS_MAX] = what;
	return false;
}

static uint64_t tool_key(const char *tool)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	uint64_t key;
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, (const uint8_t *)tool, strlen(tool));
	SHA256Final(digest, &sha);
	memcpy(&key, digest, sizeof(key));
	return key;
}

void gate_memory_called(struct gate_memory *m, const char *tool, uint64_t now_ms)
{
	unsigned at = m->called++ % GATE_RATE_MAX;

	m->calls[at].tool = tool_key(tool);
	m->calls[at].at_ms = now_ms;
}

unsigned gate_memory_rate(const struct gate_memory *m, const char *tool, uint64_t now_ms, uint32_t window_ms)
{
	unsigned n = m->called < GATE_RATE_MAX ? m->called : GATE_RATE_MAX, count = 0;
	uint64_t key = tool_key(tool);

	for (unsigned i = 0; i < n; i++)
		count += m->calls[i].tool == key && now_ms - m->calls[i].at_ms < window_ms;
	return count;
}
