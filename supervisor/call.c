#include "supervisor/call_impl.h"

#include "jail/base/fd.h"
#include "supervisor/audit_client.h"
#include "supervisor/courier_client.h"
#include "supervisor/call_log.h"
#include "supervisor/gate.h"
#include "supervisor/peers.h"
#include "supervisor/metrics.h"
#include "supervisor/pool.h"
#include "supervisor/session.h"
#include "supervisor/tool_watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How often usage is looked at while a tool runs: an out-of-memory kill of a child on v1 and a CPU limit are noticed this late. */
#define TICK_MS 25

static void request_free(struct call *c)
{
	if (c->request)
		peer_bytes_give(c->peer, c->request_len);
	free(take_ptr(c->request));
}

void call_free(struct call *c)
{
	struct event **evs[] = { &c->request_ev, &c->stdout_ev, &c->stderr_ev, &c->result_ev, &c->wall_ev, &c->tick_ev };

	for (size_t i = 0; i < ARRAY_LEN(evs); i++)
		if (*evs[i])
			event_free(*evs[i]);
	LIST_REMOVE(c, link);
	if (c->asks)
		courier_cancel(c->core, c);
	profile_free(c->effective);
	gate_free(c->gate);
	capture_done(&c->out);
	capture_done(&c->err);
	request_free(c);
	peer_call_end(c->peer);
	free(c->result);
	stream_free(c->stream);
	pending_free(c->pending);
	if (c->session)
		c->session->calls--;
	free(c);
}

/* ---- the end ---- */

static void note_usage(struct call *c)
{
	if (!c->jail || !c->jail->usage_known || !c->begun_ns) /* before that it is the set-up's, not the tool's */
		return;
	c->usage = c->jail->usage;
	session_usage(c->session, &c->usage);
	c->usage_known = true;
	c->ev.oom_kills = c->usage.oom_kills == CGROUP_UNKNOWN ? 0 : c->usage.oom_kills;
	if (c->usage.cpu_us != CGROUP_UNKNOWN && c->usage.cpu_us >= (uint64_t)c->limits.cpu_ms * 1000)
		c->ev.cpu_over = true;
}

static void note_limits(struct call *c)
{
	if (jail_tmp_full(c->jail))
		c->limits_hit |= HIT_TMPFS;
	/* Counted by the kernel since the jail was made: one task can have no children to look at. */
	bool alone = c->usage_known && c->usage.processes_peak == 1;
	if (!(c->limits_hit & HIT_FILE_SIZE) && !(c->session && c->session->file_size_hit) && !c->jail->exited &&
	    receipt_signal_pending(c->jail->pid, alone, SIGXFSZ))
		c->limits_hit |= HIT_FILE_SIZE;
}

static void note_jail(struct call *c)
{
	struct jail *j = c->jail;

	c->receipt = j->receipt;
	c->has_receipt = j->state >= JAIL_PARKED && !j->failed;
	memcpy(c->stage_ns, j->stage_ns, sizeof(c->stage_ns));
	c->spawn_ns = j->spawn_ns;
	c->fork_ns = j->fork_ns;
	c->ev.exited = j->exited;
	c->ev.wait_status = j->wait_status;
	/* Where no cgroup counts, RLIMIT_CPU ends the call, with a SIGKILL like any other; the time that was used tells it apart. */
	if ((!c->usage_known || c->usage.cpu_us == CGROUP_UNKNOWN) && j->exited && WIFSIGNALED(j->wait_status) &&
	    WTERMSIG(j->wait_status) == SIGKILL && j->cpu_us >= (uint64_t)c->limits.cpu_ms * 1000)
		c->ev.cpu_over = true;
	c->cpu_us = c->usage_known && c->usage.cpu_us != CGROUP_UNKNOWN ? c->usage.cpu_us : j->cpu_us;
	c->ev.syscall = j->denied;
	c->denied_arch = j->denied_arch;
	c->denied_nr = j->denied_nr;
}

static void call_answer(struct call *c)
{
	struct core *core = c->core;
	struct jbuf b;

	if (c->usage_known && c->usage.pids_refused != CGROUP_UNKNOWN && c->usage.pids_refused > 0)
		c->limits_hit |= HIT_PIDS;
	if (capture_truncated(&c->out))
		c->limits_hit |= HIT_STDOUT;
	if (capture_truncated(&c->err))
		c->limits_hit |= HIT_STDERR;
	c->outcome = verdict_of(&c->ev);
	session_call_ended(c->session, c);
	tool_watch_ended(c);
	metrics_call(c);
	call_log_end(c);
	audit_end(c);
	sched_done(c);
	if (c->stream)
		stream_end(c->stream);
	if (c->done) {
		c->done(c, take_ptr(c->pending), c->done_arg);
	} else {
		jbuf_init(&b, LIMIT_ANSWER_BYTES);
		answer_print(c, &b);
		pending_answer(take_ptr(c->pending), &b);
		jbuf_done(&b);
	}
	call_free(c);
	core_leave_if_idle(core);
}

static void stop_reading(struct call *c)
{
	struct event *evs[] = { c->request_ev, c->stdout_ev, c->stderr_ev, c->result_ev, c->wall_ev, c->tick_ev };

	for (size_t i = 0; i < ARRAY_LEN(evs); i++)
		if (evs[i])
			event_del(evs[i]);
}

/* A frame came whole: the usage, the filter's word and the limits are read while
 * the jail still stands, and the answer does not wait for its funeral. */
static void end_with_frame(struct call *c)
{
	struct jail *j = c->jail;
	struct core *core = c->core;
	bool kept = session_keeps(c->session);

	c->ended_ns = core_now_ns();
	/* Its events stay until call_free(): nothing is dispatched before, and the answer goes first. */
	jail_usage(j);
	jail_check_denied(j);
	note_usage(c);
	note_limits(c);
	note_jail(c);
	call_read_rest(c);
	c->jail = NULL;
	j->fn = NULL;
	call_answer(c);
	if (kept) /* its session decided */
		return;
	jail_abandon(j);
	pool_soon(core);
}

/* A complete frame that came before the kill ends the call, whatever else would. */
static bool frame_is_there(struct call *c)
{
	if (c->state != CALL_RUN || c->jail->result_fd < 0)
		return false;
	call_read_result_rest(c);
	return c->ev.frame_complete;
}

/* Something outside ends the call: kill, then wait until the jail is gone. What
 * the tool still says on its way down is no result any more. */
static void end_by_kill(struct call *c)
{
	if (c->state == CALL_KILLED)
		return;
	if (frame_is_there(c)) {
		end_with_frame(c);
		return;
	}
	c->state = CALL_KILLED;
	c->ended_ns = core_now_ns();
	struct event *evs[] = { c->result_ev, c->wall_ev, c->tick_ev };
	for (size_t i = 0; i < ARRAY_LEN(evs); i++)
		if (evs[i])
			event_del(evs[i]);
	jail_usage(c->jail);
	note_usage(c);
	note_limits(c);
	c->ev.we_killed = true;
	jail_kill(c->jail);
}

void call_end_now(struct call *c)
{
	if (c->jail) {
		end_by_kill(c);
	} else {
		c->ended_ns = core_now_ns();
		call_answer(c);
	}
}

static void on_wall(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct call *c = arg;

	c->ev.wall_over = true;
	end_by_kill(c);
}

static void on_tick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct call *c = arg;

	jail_usage(c->jail);
	note_usage(c);
	if (jail_tmp_full(c->jail))
		c->limits_hit |= HIT_TMPFS;
	if (c->ev.cpu_over || c->ev.oom_kills)
		end_by_kill(c);
}

static void on_stdout(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct call *c = arg;

	if (!call_read_stream(c, STREAM_STDOUT, READ_CHUNK))
		event_del(c->stdout_ev);
}

static void on_stderr(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct call *c = arg;

	if (!call_read_stream(c, STREAM_STDERR, READ_CHUNK))
		event_del(c->stderr_ev);
}

static void on_result(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct call *c = arg;

	bool more = call_read_result(c, 4 * READ_CHUNK);
	/* A jail of one call ends by itself, and how it does is worth knowing; a session's would go on out of step. */
	bool spoilt = c->frame_bad && session_keeps(c->session);

	if (more && !spoilt)
		return;
	event_del(c->result_ev);
	if (c->ev.frame_complete)
		end_with_frame(c);
	else if (c->ev.result_over || spoilt)
		end_by_kill(c);
}

/* ---- the request goes in ---- */

/* False while the pipe is full. */
static bool request_write(struct call *c)
{
	while (c->request_sent < c->request_len) {
		ssize_t n = write(c->jail->request_fd, c->request + c->request_sent, c->request_len - c->request_sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0)
			break; /* nobody reads any more: its end is on the way */
		c->request_sent += (size_t)n;
	}
	if (!session_keeps(c->session))
		c->jail->request_fd = fd_close(c->jail->request_fd);
	request_free(c);
	return true;
}

static void on_request(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct call *c = arg;
	struct event *ev = c->request_ev;

	/* Before the descriptor is closed, or epoll would be asked about another one. */
	event_del(ev);
	if (!request_write(c))
		event_add(ev, NULL);
}

static struct event *watch_fd(struct call *c, int fd, short what, event_callback_fn fn)
{
	struct event *ev = event_new(c->core->base, fd, what | EV_PERSIST, fn, c);

	if (ev)
		event_add(ev, NULL);
	return ev;
}

static struct event *after_ms(struct call *c, uint32_t ms, short flags, event_callback_fn fn)
{
	struct event *ev = event_new(c->core->base, -1, flags, fn, c);
	struct timeval tv = { .tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000 };

	if (ev)
		event_add(ev, &tv);
	return ev;
}

static void call_run(struct call *c)
{
	struct jail *j = c->jail;

	jail_begin(j);
	c->state = CALL_RUN;
	c->begun_ns = core_now_ns();
	c->result_ev = watch_fd(c, j->result_fd, EV_READ, on_result);
	c->stdout_ev = watch_fd(c, j->stdout_fd, EV_READ, on_stdout);
	c->stderr_ev = watch_fd(c, j->stderr_fd, EV_READ, on_stderr);
	c->request_ev = event_new(c->core->base, j->request_fd, EV_WRITE | EV_PERSIST, on_request, c);
	c->wall_ev = after_ms(c, c->limits.wall_ms, 0, on_wall);
	c->tick_ev = after_ms(c, TICK_MS, EV_PERSIST, on_tick);
	if (!c->result_ev || !c->stdout_ev || !c->stderr_ev || !c->request_ev || !c->wall_ev || !c->tick_ev) {
		err_set(&c->why, ERR_HOST, ENOMEM, "core", "no memory for the call's events");
		c->ev.internal = true;
		end_by_kill(c);
		return;
	}
	/* A pipe takes most requests whole. */
	if (!request_write(c))
		event_add(c->request_ev, NULL);
}

/* A session's jail is its call's only from here on. */
void call_run_when_ready(struct call *c)
{
	if (c->state != CALL_JAIL || !c->recorded)
		return;
	if (!session_keeps(c->session)) {
		if (c->jail && c->jail->state == JAIL_PARKED)
			call_run(c);
		return;
	}
	struct jail *j = session_enter(c->session, c);
	if (!j)
		return;
	c->jail = j;
	c->zygote = j->zygote;
	call_run(c);
}

void call_recorded(struct call *c)
{
	c->recorded = true;
	call_run_when_ready(c);
}

void call_unrecorded(struct call *c, const struct err *why)
{
	c->ev.internal = true;
	c->why = *why;
	call_end_now(c);
}

static void on_failed(struct call *c)
{
	c->ev.setup_failed = !c->jail->internal;
	c->ev.internal = c->jail->internal;
	c->failed_layer = c->jail->failed_layer;
	c->why = c->jail->why;
	if (!c->ended_ns)
		c->ended_ns = core_now_ns();
	c->state = CALL_KILLED;
}

static void on_gone(struct call *c)
{
	struct jail *j = c->jail;

	if (j->internal && !c->ev.frame_complete) {
		c->ev.internal = true;
		c->why = j->why;
	}
	note_usage(c);
	note_jail(c);
	call_read_rest(c);
	c->jail = NULL;
	if (!session_keeps(c->session))
		pool_soon(c->core);
	call_answer(c);
}

void call_on_jail(struct jail *j, enum jail_news news, void *arg)
{
	struct call *c = arg;

	switch (news) {
	case JAIL_NEWS_PARKED:
		call_run_when_ready(c);
		break;
	case JAIL_NEWS_FAILED:
		on_failed(c);
		break;
	case JAIL_NEWS_DENIED:
		c->ev.syscall = true;
		if (!c->ended_ns)
			end_by_kill(c);
		break;
	case JAIL_NEWS_ENDED:
		if (!c->ended_ns)
			c->ended_ns = core_now_ns();
		if (c->state == CALL_RUN && c->jail == j)
			(void)frame_is_there(c);
		c->state = CALL_KILLED;
		stop_reading(c);
		break;
	case JAIL_NEWS_GONE:
		on_gone(c);
		break;
	}
}

void call_cancel(struct call *c)
{
	if (c->state == CALL_KILLED)
		return;
	c->ev.cancelled = true;
	call_end_now(c);
}

void call_cancel_why(struct call *c, const struct err *why)
{
	if (c->state == CALL_KILLED) /* it ends for a reason of its own */
		return;
	c->why = *why;
	call_cancel(c);
}

void call_stop(struct call *c)
{
	if (c->state == CALL_KILLED)
		return;
	if (frame_is_there(c)) {
		end_with_frame(c);
		return;
	}
	err_set(&c->why, ERR_HOST, ESHUTDOWN, "core", "it was stopped while the call was under way");
	c->ev.internal = true;
	call_end_now(c);
}
