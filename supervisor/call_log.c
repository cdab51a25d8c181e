#include "supervisor/call_log.h"

#include "supervisor/log.h"
#include "supervisor/metrics.h"

#include <stdio.h>

/* Each kind has its own, so that a flood of one hides no other. */
static struct log_gate g_gates[OUTCOME_COUNT];

static bool passes(enum outcome outcome, unsigned *ret_held)
{
	return log_gate_pass(&g_gates[outcome], (int64_t)(core_now_ns() / 1000000), ret_held);
}

/* A name that a caller gave his own profile is text of his. */
static const char *profile_of(const struct call *c)
{
	return metrics_profile(c->core, c->profile);
}

static void log_denied(const struct call *c, unsigned held)
{
	_cleanup_free_ char *name = c->ev.syscall ? profile_syscall_name(c->denied_arch, c->denied_nr) : NULL;

	log_event(LOG_WARNING, "syscall_denied",
		  LOG_FIELDS(LOG_STR("call_id", c->id), LOG_NUM("uid", c->uid), LOG_STR("profile", profile_of(c)),
			     LOG_STR("syscall", name ? name : "unknown"), LOG_NUM("number", c->ev.syscall ? c->denied_nr : -1),
			     LOG_NUM("held_back", held)),
		  "a tool tried what only attacks do, and was killed");
}

static void log_failed(const struct call *c, unsigned held)
{
	bool setup = c->outcome == OUTCOME_SETUP_FAILED;

	log_err(setup ? LOG_WARNING : LOG_ERR, outcome_name(c->outcome),
		LOG_FIELDS(LOG_STR("call_id", c->id), LOG_STR("profile", profile_of(c)),
			   LOG_STR("layer", setup ? layer_name(c->failed_layer) : "none"), LOG_NUM("errno", c->why.code),
			   LOG_NUM("held_back", held)),
		&c->why);
}

static void log_busy(const char *limit, uid_t uid, unsigned held)
{
	log_event(LOG_NOTICE, "busy", LOG_FIELDS(LOG_STR("limit", limit), LOG_NUM("uid", uid), LOG_NUM("held_back", held)),
		  "turned away: %s is reached", limit);
}

void call_log_busy(const char *limit, uid_t uid)
{
	unsigned held;

	if (passes(OUTCOME_BUSY, &held))
		log_busy(limit, uid, held);
}

static void log_notable(const struct call *c)
{
	unsigned held;

	switch (c->outcome) {
	case OUTCOME_SYSCALL_DENIED:
		if (passes(c->outcome, &held))
			log_denied(c, held);
		break;
	case OUTCOME_SETUP_FAILED:
	case OUTCOME_INTERNAL_ERROR:
		if (passes(c->outcome, &held))
			log_failed(c, held);
		break;
	case OUTCOME_BUSY:
		call_log_busy(c->why.where, c->uid);
		break;
	default:
		break;
	}
}

void call_log_end(const struct call *c)
{
	uint64_t from = c->begun_ns ? c->begun_ns : c->received_ns;

	log_notable(c);
	if (log_enabled(LOG_DEBUG))
		log_event(LOG_DEBUG, "call_ended",
			  LOG_FIELDS(LOG_STR("call_id", c->id), LOG_NUM("uid", c->uid), LOG_STR("profile", profile_of(c)),
				     LOG_STR("outcome", outcome_name(c->outcome)), LOG_NUM("us", (c->ended_ns - from) / 1000)),
			  "a call ended: %s", outcome_name(c->outcome));
}
