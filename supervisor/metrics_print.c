#include "supervisor/metrics_impl.h"

#include "jail/base/version.h"
#include "supervisor/audit_client.h"
#include "supervisor/pool.h"

#include <stddef.h>
#include <string.h>

static void calls_print(const struct metrics *m, struct jbuf *b)
{
	static const char *const jails[] = METRICS_JAIL_NAMES;

	prom_family(b, "brig_calls_total", "counter", "Calls that were answered, by profile and outcome.");
	for (unsigned i = 0; i < m->row_count; i++)
		for (enum outcome o = 0; o < OUTCOME_COUNT; o++)
			prom_sample(b, "brig_calls_total", PROM_LABEL2("profile", m->rows[i].profile, "outcome", outcome_name(o)),
				    m->rows[i].outcomes[o]);
	prom_family(b, "brig_call_seconds", "histogram",
		    "From the end of a call's wait in the queue to its end, by the jail it had.");
	for (unsigned i = 0; i < METRICS_JAILS; i++)
		prom_histogram(b, "brig_call_seconds", PROM_LABEL("jail", jails[i]), &m->call[i]);
	prom_family(b, "brig_queue_seconds", "histogram", "From a request's arrival to the end of its wait for a turn.");
	prom_histogram(b, "brig_queue_seconds", PROM_NO_LABEL, &m->queue);
}

static void words_print(struct jbuf *b, const char *family, const char *label, const char *const *words, const uint64_t *values,
			unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		prom_sample(b, family, PROM_LABEL(label, words[i]), values[i]);
}

static void limits_print(const struct metrics *m, struct jbuf *b)
{
	static const char *const busy[] = BUSY_LIMITS;
	static const char *const touched[] = TOUCHED_NAMES;

	prom_family(b, "brig_denied_total", "counter", "Calls that a layer of the jail refused or ended, by layer.");
	for (enum layer l = 0; l < LAYER_COUNT; l++)
		prom_sample(b, "brig_denied_total", PROM_LABEL("layer", layer_name(l)), m->denied[l]);
	prom_family(b, "brig_limits_hit_total", "counter", "Calls that touched a limit, whether or not it ended them.");
	words_print(b, "brig_limits_hit_total", "limit", touched, m->touched, TOUCHED_COUNT);
	prom_family(b, "brig_oom_total", "counter", "Calls in whose jail the kernel killed for memory.");
	prom_sample(b, "brig_oom_total", PROM_NO_LABEL, m->oom);
	prom_family(b, "brig_busy_total", "counter", "Calls and connections that were turned away, by the limit that was reached.");
	words_print(b, "brig_busy_total", "limit", busy, m->busy, BUSY_LIMIT_COUNT);
}

static void gate_print(const struct metrics *m, struct jbuf *b)
{
	static const char *const decisions[] = DECISION_NAMES;
	static const char *const approvals[] = APPROVAL_NAMES;

	prom_family(b, "brig_decisions_total", "counter", "What the policy said to calls.");
	words_print(b, "brig_decisions_total", "decision", decisions, m->decisions, METRICS_DECISIONS);
	prom_family(b, "brig_approvals_total", "counter", "Questions that were asked (pending), and what became of them; used: each use.");
	words_print(b, "brig_approvals_total", "state", approvals, m->approvals, METRICS_APPROVALS);
}

/* Two pools may stand behind one name: one for callers that said --best-effort. */
struct pool_row {
	const char *profile;
	unsigned parked, target, max;
};

static unsigned pool_collect(struct core *core, struct pool_row *rows, unsigned max)
{
	struct pool_stats s;
	unsigned count = 0, i;

	for (unsigned n = 0; pool_stats_get(core, n, &s); n++) {
		const char *name = metrics_profile(core, s.profile);

		for (i = 0; i < count && strcmp(rows[i].profile, name) != 0; i++)
			;
		if (i == max)
			continue;
		if (i == count)
			rows[count++] = (struct pool_row){ .profile = name };
		rows[i].parked += s.parked;
		rows[i].target += s.target;
		rows[i].max = s.max > rows[i].max ? s.max : rows[i].max;
	}
	return count;
}

static void pool_print_gauge(struct jbuf *b, const char *name, const char *help, const struct pool_row *rows, unsigned count,
			     size_t offset)
{
	prom_family(b, name, "gauge", help);
	for (unsigned i = 0; i < count; i++)
		prom_sample(b, name, PROM_LABEL("profile", rows[i].profile), *(const unsigned *)((const char *)&rows[i] + offset));
}

static void pools_print(struct core *core, struct jbuf *b)
{
	const struct metrics *m = core->metrics;
	struct pool_row rows[METRICS_PROFILES];
	unsigned n = pool_collect(core, rows, METRICS_PROFILES);

	pool_print_gauge(b, "brig_pool_parked", "Jails that wait for a call.", rows, n, offsetof(struct pool_row, parked));
	pool_print_gauge(b, "brig_pool_target", "Jails that are kept waiting for calls now.", rows, n,
			 offsetof(struct pool_row, target));
	pool_print_gauge(b, "brig_pool_max", "The most that may be kept waiting.", rows, n, offsetof(struct pool_row, max));
	prom_family(b, "brig_pool_taken_total", "counter", "Calls that found a jail waiting.");
	prom_sample(b, "brig_pool_taken_total", PROM_NO_LABEL, m->taken);
	prom_family(b, "brig_pool_died_total", "counter", "Jails that died while they waited.");
	prom_sample(b, "brig_pool_died_total", PROM_NO_LABEL, m->died);
	prom_family(b, "brig_refill_seconds", "histogram", "From the start of a jail for the pool until it waits there.");
	prom_histogram(b, "brig_refill_seconds", PROM_NO_LABEL, &m->refill);
}

static void now_print(struct core *core, struct jbuf *b)
{
	uint64_t queued = 0, running = 0;
	const struct call *c;

	LIST_FOREACH(c, &core->calls, link)
		*(c->state == CALL_QUEUED ? &queued : &running) += 1;
	prom_family(b, "brig_connections", "gauge", "Clients that are connected now, by socket.");
	prom_sample(b, "brig_connections", PROM_LABEL("socket", "agent"), client_count(core, AUTHORITY_AGENT));
	prom_sample(b, "brig_connections", PROM_LABEL("socket", "admin"), client_count(core, AUTHORITY_ADMIN));
	prom_family(b, "brig_queue_length", "gauge", "Calls that wait for their turn.");
	prom_sample(b, "brig_queue_length", PROM_NO_LABEL, queued);
	prom_family(b, "brig_running", "gauge", "Calls that have or get a jail.");
	prom_sample(b, "brig_running", PROM_NO_LABEL, running);
}

static void audit_print(const struct core *core, struct jbuf *b)
{
	struct audit_health audit;

	audit_client_health(core, &audit);
	prom_family(b, "brig_audit_records_total", "counter",
		    "Records that are in the audit log, and those that it could not take.");
	prom_sample(b, "brig_audit_records_total", PROM_LABEL("result", "written"), audit.written);
	prom_sample(b, "brig_audit_records_total", PROM_LABEL("result", "refused"), audit.refused);
	prom_family(b, "brig_audit_pending", "gauge", "Records that wait for the audit log's word.");
	prom_sample(b, "brig_audit_pending", PROM_NO_LABEL, audit.waiting);
}

static void self_print(const struct metrics *m, struct jbuf *b)
{
	static const char *const processes[] = RESTART_NAMES;

	prom_family(b, "brig_process_restarts_total", "counter", "Processes of the supervisor that ended unexpectedly, by role.");
	words_print(b, "brig_process_restarts_total", "process", processes, m->restarts, RESTART_COUNT);
	prom_family(b, "brig_build_info", "gauge", "Always 1; the version is in the label.");
	prom_sample(b, "brig_build_info", PROM_LABEL("version", BRIG_VERSION), 1);
	prom_family(b, "process_start_time_seconds", "gauge", "When core started, in seconds since 1970; counters begin there.");
	prom_seconds(b, "process_start_time_seconds", PROM_NO_LABEL, m->start_time);
}

void metrics_print(struct core *core, struct jbuf *b)
{
	calls_print(core->metrics, b);
	pools_print(core, b);
	limits_print(core->metrics, b);
	gate_print(core->metrics, b);
	now_print(core, b);
	audit_print(core, b);
	self_print(core->metrics, b);
}
