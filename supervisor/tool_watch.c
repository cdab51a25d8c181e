#include "supervisor/tool_watch.h"

#include "supervisor/audit_client.h"
#include "supervisor/events.h"
#include "supervisor/gate.h"
#include "supervisor/log.h"
#include "supervisor/missing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Versions that are remembered; the one that was not called for longest makes room. */
#define SEEN_MAX 256

struct seen {
	char hash[TOOL_HASH_MAX]; /* "": free */
	uint64_t outcomes[OUTCOME_COUNT];
	uint64_t missing[PERMISSION_COUNT];
	uint64_t tasks_peak;      /* 0: nothing counts them here */
	uint64_t with_init;       /* calls that might have started processes */
	uint64_t used;
	bool children;            /* more tasks than init and tool: threads or processes */
};

struct tool_watch {
	struct seen seen[SEEN_MAX];
	uint64_t clock;
};

void tool_watch_free(struct tool_watch *watch)
{
	free(watch);
}

static struct seen *seen_of(struct tool_watch *w, const char *hash)
{
	struct seen *oldest = &w->seen[0];

	for (size_t i = 0; i < SEEN_MAX; i++) {
		struct seen *s = &w->seen[i];

		if (strcmp(s->hash, hash) == 0)
			return s;
		if (s->used < oldest->used)
			oldest = s;
	}
	*oldest = (struct seen){ 0 };
	snprintf(oldest->hash, sizeof(oldest->hash), "%s", hash);
	return oldest;
}

static void count(struct tool_watch *w, const struct call *c)
{
	struct seen *s = seen_of(w, c->gate->tool->hash);
	struct missing m;

	s->used = ++w->clock;
	s->outcomes[c->outcome]++;
	if (c->usage_known && c->usage.processes_peak != CGROUP_UNKNOWN && c->usage.processes_peak > s->tasks_peak)
		s->tasks_peak = c->usage.processes_peak;
	if (c->begun_ns && (profile_spec(c->effective)->flags & SPEC_INIT)) {
		s->with_init++;
		s->children |= c->usage_known && c->usage.processes_peak != CGROUP_UNKNOWN && c->usage.processes_peak > 2;
	}
	if (c->outcome == OUTCOME_TOOL_ERROR && c->ev.frame_complete &&
	    missing_find(c->gate->tool, c->effective, &c->gate->effective, c->result, c->result_len, &m))
		s->missing[m.which]++;
}

/* ---- quarantine by evidence ---- */

static void syscall_text(const struct call *c, char *ret, size_t cap)
{
	_cleanup_free_ char *name = c->ev.syscall ? profile_syscall_name(c->denied_arch, c->denied_nr) : NULL;

	if (c->ev.syscall)
		snprintf(ret, cap, "%s", name ?: "unknown");
	else
		snprintf(ret, cap, "one of a foreign architecture");
}

static void tell(struct call *c, const char *why)
{
	const struct tool *t = c->gate->tool;

	/* The registry has it already: a log that cannot take it now is told of by its own errors. */
	(void)audit_note_about(c->core, AUDIT_TOOL_STATE, getuid(), getpid(),
			       &(struct audit_about){ .call_id = c->id, .tool = t->name, .hash = t->hash, .text = why });
	log_event(LOG_WARNING, "tool_quarantined", LOG_FIELDS(LOG_STR("tool", t->name), LOG_STR("hash", t->hash), LOG_STR("call", c->id)),
		  "tool %s is in quarantine: the kernel stopped its calls", t->name);
	events_tools_changed(c->core);
}

/* Of the version that ran, wherever it stands by now: another supervisor may have changed it, then nothing is done. */
static int quarantine(struct call *c, struct store *store, uint32_t denials, struct err *err)
{
	const struct tool *t = c->gate->tool;
	char why[300], name[64];
	struct tool *now;
	int r = store_tool_get(store, t->name, &now, err);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	if (strcmp(now->hash, t->hash) == 0 && now->state != TOOL_QUARANTINED) {
		syscall_text(c, name, sizeof(name));
		snprintf(why, sizeof(why), "the kernel stopped %u of its calls for a denied system call, the last one (%s) for %s", (unsigned)denials, c->id, name);
		r = store_tool_state(store, t->hash, now->state, TOOL_QUARANTINED, why, err);
		c->quarantined = r == 0;
		if (r == 0)
			tell(c, why);
	}
	tool_free(now);
	return r == -ESTALE ? 0 : r;
}

static int denied(struct call *c, struct err *err)
{
	uint32_t limit = c->core->boot->config.quarantine_after, denials = 0;
	struct store *store;
	int r = store_of(c->core, &store, err);

	if (r == 0)
		r = store_tool_denied(store, c->gate->tool->hash, &denials, err);
	if (r < 0 || !limit || denials < limit)
		return r;
	return quarantine(c, store, denials, err);
}

void tool_watch_ended(struct call *c)
{
	struct err err = { 0 };

	if (!c->gate || !c->gate->tool)
		return;
	if (!c->core->watch)
		c->core->watch = calloc(1, sizeof(*c->core->watch));
	if (c->core->watch)
		count(c->core->watch, c);
	if (c->outcome == OUTCOME_SYSCALL_DENIED && denied(c, &err) < 0)
		log_err(LOG_ERR, "denial_not_counted", LOG_FIELDS(LOG_STR("tool", c->gate->tool->name), LOG_STR("call", c->id)), &err);
}

/* ---- what tool.get shows ---- */

static void print_counts(const char *key, const uint64_t *counts, size_t n, const char *(*name)(size_t i), struct jbuf *out)
{
	const char *sep = "";

	jbuf_printf(out, ",\"%s\":{", key);
	for (size_t i = 0; i < n; i++)
		if (counts[i]) {
			jbuf_printf(out, "%s\"%s\":%llu", sep, name(i), (unsigned long long)counts[i]);
			sep = ",";
		}
	jbuf_text(out, "}");
}

static const char *outcome_at(size_t i)
{
	return outcome_name((enum outcome)i);
}

static const char *permission_at(size_t i)
{
	return permission_name((enum permission)i);
}

void tool_watch_print(const struct core *core, const struct tool *tool, struct jbuf *out)
{
	static const struct seen none;
	const struct seen *s = &none;
	uint64_t calls = 0;

	for (size_t i = 0; core->watch && i < SEEN_MAX; i++)
		if (strcmp(core->watch->seen[i].hash, tool->hash) == 0)
			s = &core->watch->seen[i];
	for (size_t i = 0; i < OUTCOME_COUNT; i++)
		calls += s->outcomes[i];
	jbuf_printf(out, "{\"calls\":%llu", (unsigned long long)calls);
	print_counts("outcomes", s->outcomes, OUTCOME_COUNT, outcome_at, out);
	if (s->tasks_peak)
		jbuf_printf(out, ",\"tasks_peak\":%llu", (unsigned long long)s->tasks_peak);
	else
		jbuf_text(out, ",\"tasks_peak\":null");
	print_counts("missing", s->missing, PERMISSION_COUNT, permission_at, out);
	/* Threads count as tasks, too: only "never more than init and the tool itself" tells something. */
	jbuf_printf(out, ",\"unused\":[%s]}", s->with_init && s->tasks_peak && !s->children ? "\"subprocess\"" : "");
}
