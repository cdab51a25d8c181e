/* A session's jail in the hands of one call: clean before it, judged after it. */
#include "supervisor/session_impl.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What is thrown away between two calls: a pipe holds 64 KiB, 1 MiB where the tool enlarged it. A writer who fills it faster
 * than it is emptied spoils his own session. */
#define DISCARD_MAX (2u << 20)

bool session_keeps(const struct session *s)
{
	return s && s->keeps_state;
}

bool session_busy(const struct session *s)
{
	return s && s->call;
}

void session_call_begun(struct session *s, struct call *c)
{
	if (session_keeps(s))
		s->call = c;
}

/* Nobody's call is answered by what comes between two. */
static uint64_t discard(int fd)
{
	char buf[16u << 10];
	uint64_t got = 0;

	while (got < DISCARD_MAX) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (uint64_t)n;
	}
	return got;
}

struct jail *session_enter(struct session *s, struct call *c)
{
	struct jail *j = s->jail;
	struct err err;

	if (s->used) {
		jail_check_denied(j);
		if (s->state == SESSION_ENDED || !session_limits_hold(s))
			return NULL;
		s->discarded += discard(j->stdout_fd) + discard(j->stderr_fd) + discard(j->result_fd);
		if (jail_count_from_here(j, &err) < 0) {
			session_end(s, "its usage cannot be counted: %s", err.detail);
			return NULL;
		}
		s->idle_cpu_us += s->idle_now_us;
		s->idle_now_us = 0;
		jail_usage(j);
		s->pids_refused = j->usage.pids_refused;
	}
	s->used = true;
	jail_own(j, call_on_jail, c);
	return j;
}

void session_usage(const struct session *s, struct cgroup_usage *u)
{
	if (!session_keeps(s))
		return;
	if (u->pids_refused != CGROUP_UNKNOWN && s->pids_refused != CGROUP_UNKNOWN)
		u->pids_refused -= s->pids_refused < u->pids_refused ? s->pids_refused : u->pids_refused;
	if (s->calls_made > 0) /* the kernel cannot begin it anew */
		u->processes_peak = CGROUP_UNKNOWN;
}

/* Did its jail see the call to a good end? The request has been read whole, too: what is left of one would be taken for the next. */
static bool goes_on(const struct session *s, const struct call *c)
{
	bool good = c->ev.frame_complete && (c->outcome == OUTCOME_OK || c->outcome == OUTCOME_TOOL_ERROR);

	return good && !c->request && s->jail->state == JAIL_RUNNING;
}

static void end_by_call(struct session *s, const struct call *c)
{
	char why[sizeof(s->why)];

	if (c->outcome != OUTCOME_OK && c->outcome != OUTCOME_TOOL_ERROR)
		snprintf(why, sizeof(why), "a call of it ended as %s", outcome_name(c->outcome));
	else if (c->ev.frame_complete && c->request)
		snprintf(why, sizeof(why), "a call of it was answered before it had taken its whole request");
	else if (c->frame_bad)
		snprintf(why, sizeof(why), "what came on the result channel during a call was no answer to it");
	else
		snprintf(why, sizeof(why), "a call of it ended the process");
	session_end_because(s, c, why);
}

void session_call_ended(struct session *s, struct call *c)
{
	if (!s)
		return;
	s->used_ns = core_now_ns();
	s->calls_made += c->begun_ns != 0;
	if (s->call != c)
		return;
	s->call = NULL;
	if (s->state == SESSION_ENDED) {
		if (s->jail)
			jail_abandon(take_ptr(s->jail));
	} else if (c->begun_ns && !goes_on(s, c)) {
		end_by_call(s, c);
	} else if (c->begun_ns) {
		s->cpu_us = 0;
		if (s->jail->usage.cpu_us != CGROUP_UNKNOWN)
			s->cpu_us = s->jail->usage.cpu_us;
		s->file_size_hit |= (c->limits_hit & HIT_FILE_SIZE) != 0;
		jail_own(s->jail, session_on_jail, s);
	}
}
