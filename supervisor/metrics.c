#include "supervisor/metrics_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct metrics *metrics_new(unsigned core_restarts)
{
	struct metrics *m = calloc(1, sizeof(*m));
	struct timespec now;

	if (m) {
		m->restarts[RESTART_CORE] = core_restarts;
		clock_gettime(CLOCK_REALTIME, &now);
		m->start_time = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
	}
	return m;
}

void metrics_free(struct metrics *m)
{
	free(m);
}

/* No caller's profile may bear the name of one in the store (profile.c), so the name alone tells them apart. */
const char *metrics_profile(struct core *core, const char *name)
{
	size_t len;

	if (!name[0])
		return METRICS_NONE;
	return profile_store_text(core->boot->profiles, name, &len) ? name : METRICS_CUSTOM;
}

static struct metrics_row *row_of(struct core *core, const char *profile)
{
	struct metrics *m = core->metrics;
	const char *name = metrics_profile(core, profile);

	for (unsigned i = 0; i < m->row_count; i++)
		if (strcmp(m->rows[i].profile, name) == 0)
			return &m->rows[i];
	if (m->row_count == METRICS_PROFILES)
		return &m->rows[METRICS_PROFILES - 1];
	if (m->row_count == METRICS_PROFILES - 1)
		name = METRICS_OTHER;
	struct metrics_row *row = &m->rows[m->row_count++];
	memcpy(row->profile, name, strnlen(name, sizeof(row->profile) - 1));
	return row;
}

static unsigned word_find(const char *const *words, unsigned count, const char *word)
{
	unsigned i = 0;

	while (i < count - 1 && strcmp(words[i], word) != 0)
		i++;
	return i;
}

void metrics_busy(struct core *core, const char *limit)
{
	static const char *const names[] = BUSY_LIMITS;
	_Static_assert(ARRAY_LEN(names) == BUSY_LIMIT_COUNT, "a counter for each limit");

	core->metrics->busy[word_find(names, BUSY_LIMIT_COUNT, limit)]++;
}

void metrics_decision(struct core *core, unsigned decision)
{
	if (decision < METRICS_DECISIONS)
		core->metrics->decisions[decision]++;
}

void metrics_approval(struct core *core, const char *state)
{
	static const char *const names[] = APPROVAL_NAMES;

	core->metrics->approvals[word_find(names, METRICS_APPROVALS, state)]++;
}

void metrics_restart(struct core *core, const char *process)
{
	static const char *const names[] = RESTART_NAMES;

	core->metrics->restarts[word_find(names, RESTART_COUNT, process)]++;
}

/* The layer that refused or ended it; -1: none did. */
static int layer_of(const struct call *c)
{
	switch (c->outcome) {
	case OUTCOME_SETUP_FAILED:
		return (int)c->failed_layer;
	case OUTCOME_SYSCALL_DENIED:
		return LAYER_SECCOMP;
	case OUTCOME_OUT_OF_MEMORY:
		return LAYER_CGROUP;
	case OUTCOME_CPU_LIMIT: /* without a control group it was RLIMIT_CPU */
		return c->usage_known && c->usage.cpu_us != CGROUP_UNKNOWN ? LAYER_CGROUP : LAYER_RLIMIT;
	default:
		return -1;
	}
}

void metrics_call(const struct call *c)
{
	struct metrics *m = c->core->metrics;
	int layer = layer_of(c);

	row_of(c->core, c->profile)->outcomes[c->outcome]++;
	if (layer >= 0)
		m->denied[layer]++;
	m->oom += c->ev.oom_kills > 0;
	for (unsigned i = 0; i < TOUCHED_COUNT; i++)
		m->touched[i] += (c->limits_hit >> i) & 1;
	if (c->outcome == OUTCOME_BUSY)
		metrics_busy(c->core, c->why.where);
	if (!c->left_queue_ns)
		return;
	histogram_add(&m->queue, c->left_queue_ns - c->received_ns);
	if (c->outcome != OUTCOME_BUSY)
		histogram_add(&m->call[c->receipt.session ? METRICS_SESSION
				       : c->receipt.warm  ? METRICS_WARM
							  : METRICS_COLD],
			      c->ended_ns - c->left_queue_ns);
}

void metrics_refused(struct core *core, const char *profile, enum outcome outcome)
{
	row_of(core, profile)->outcomes[outcome]++;
}

void metrics_pool_parked(struct core *core, uint64_t took_ns)
{
	histogram_add(&core->metrics->refill, took_ns);
}

void metrics_pool_taken(struct core *core)
{
	core->metrics->taken++;
}

void metrics_pool_died(struct core *core)
{
	core->metrics->died++;
}
