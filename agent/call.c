#include "agent/call.h"

#include "agent/rpc.h"
#include "agent/stop.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* How long brigd may take to remove cgroups and reap after an answer: far above what was ever seen, and bounded. */
#define END_WAIT_MS	     5000
#define RPC_INVALID_PARAMS   "-32602"
#define RPC_METHOD_NOT_FOUND "-32601"
/* Known, and not for whoever asked (supervisor/request.h). */
#define RPC_AUTHORITY "-32001"
#define RPC_SESSION   "-32003"
#define RPC_SETUP     "-32004"
#define RPC_STALE     "-32005"

static const char *g_progress; /* what takes its time */
static bool g_progress_shown;

static void progress_tick(unsigned seconds)
{
	g_progress_shown = true;
	fprintf(stderr, "\rbrig: %s, %u s (Ctrl-C stops it)", g_progress, seconds);
	fflush(stderr);
}

static void progress_clear(void)
{
	if (g_progress_shown)
		fputs("\r\033[K", stderr);
	g_progress_shown = false;
}

void call_done(struct call *c)
{
	free(c->line);
	c->line = NULL;
}

static bool value_is(const char *line, size_t len, const char *path, const char *want)
{
	size_t start, n;

	return json_find(line, len, path, &start, &n, NULL) && n == strlen(want) && memcmp(line + start, want, n) == 0;
}

/* What the error object of an answer means for us. */
static void call_sort_error(struct call *c, const char *line, size_t len)
{
	size_t start, n;

	if (value_is(line, len, "error.code", RPC_INVALID_PARAMS) || value_is(line, len, "error.code", RPC_METHOD_NOT_FOUND))
		c->end = CALL_REFUSED;
	else if (value_is(line, len, "error.code", RPC_AUTHORITY))
		c->outcome = OUTCOME_DENIED;
	else if (value_is(line, len, "error.code", RPC_STALE))
		c->outcome = OUTCOME_DENIED;
	else if (value_is(line, len, "error.code", RPC_SESSION))
		c->outcome = OUTCOME_INVALID_ARGUMENTS;
	else if (value_is(line, len, "error.code", RPC_SETUP))
		c->outcome = OUTCOME_SETUP_FAILED;
	else if (json_find(line, len, "error.data.retry_after_ms", &start, &n, NULL))
		c->outcome = OUTCOME_BUSY;
}

/* err from the error object of the answer. */
static void call_read_error(struct call *c, const char *line, size_t len)
{
	_cleanup_free_ char *message = text_find(line, len, "error.message", NULL);
	_cleanup_free_ char *where = text_find(line, len, "error.data.where", NULL);
	_cleanup_free_ char *hint = text_find(line, len, "error.data.hint", NULL);

	call_sort_error(c, line, len);
	err_set(&c->err, c->end == CALL_REFUSED ? ERR_CALLER : ERR_BUG, EINVAL, where ?: "", "%s",
		message ?: "an error without a message");
	if (hint)
		err_hint(&c->err, "%s", hint);
}

static void call_read(struct call *c, char *line, size_t len)
{
	size_t start, n;

	c->line = line;
	if (json_find(line, len, "result", &start, &n, NULL) && (line[start] == '{' || line[start] == '[')) {
		c->end = CALL_RESULT;
		c->result = line + start;
		c->result_len = n;
		return;
	}
	call_read_error(c, line, len);
}

/* A supervisor that could not even begin says so by its exit status; its words went to standard error. */
static bool call_not_begun(struct call *c, const struct private *p)
{
	int status = WIFEXITED(p->status) ? WEXITSTATUS(p->status) : -1;

	if (status == outcome_exit_status(OUTCOME_BUSY))
		c->outcome = OUTCOME_BUSY;
	else if (status == outcome_exit_status(OUTCOME_SETUP_FAILED))
		c->outcome = OUTCOME_SETUP_FAILED;
	else
		return false;
	err_set(&c->err, ERR_HOST, 0, "supervisor", "the supervisor could not begin%s",
		c->outcome == OUTCOME_BUSY ? ": as many run as may run at once" : "");
	err_hint(&c->err, "what brigd said stands above%s", c->outcome == OUTCOME_BUSY ? "; try again when one has ended" : "");
	return true;
}

static void call_lost(struct call *c, const struct connection *conn)
{
	char how[96];

	if (conn->path[0]) {
		text_quote(how, sizeof(how), conn->path);
		err_set(&c->err, ERR_BUG, EPIPE, "supervisor", "the supervisor on %s closed the connection before it answered", how);
		err_hint(&c->err, "it was stopped, or it died and is being replaced: try again; 'brig status' tells");
		return;
	}
	private_describe(&conn->private, how, sizeof(how));
	err_set(&c->err, ERR_BUG, EPIPE, "supervisor", "the supervisor %s before it answered", how);
	err_hint(&c->err, "'brig doctor' tells what this host lacks; brigd's own words, if any, stand above");
}

static void call_broken(struct call *c, const struct connection *conn, int r, int stop_fd)
{
	c->end = CALL_BROKEN;
	if (r == -ECANCELED) {
		c->end = CALL_CANCELLED;
		err_set(&c->err, ERR_CALLER, ECANCELED, "client", "stopped by %s", stop_take(stop_fd) ?: "a signal");
	} else if (r == -EPIPE && !conn->path[0] && call_not_begun(c, &conn->private)) {
		return;
	} else if (r == -EPIPE) {
		call_lost(c, conn);
	} else {
		err_wrap(&c->err, "supervisor");
	}
}

static void call_not_connected(struct call *c, const struct connection *conn, int r, int stop_fd)
{
	c->outcome = conn->outcome;
	if (r == -ECANCELED)
		call_broken(c, conn, r, stop_fd);
	else if (c->outcome == OUTCOME_INVALID_ARGUMENTS)
		c->end = CALL_REFUSED;
}

static void call_exchange(struct call *c, const struct call_ask *ask, struct connection *conn, const struct jbuf *request)
{
	struct rpc_wait wait = {
		.stop_fd = ask->stop_fd,
		.answer_ms = ask->answer_ms,
		.event = ask->event,
		.event_arg = ask->event_arg,
		.tick = ask->progress && isatty(STDERR_FILENO) ? progress_tick : NULL,
	};
	char *line = NULL;
	size_t line_len = 0;
	int r;

	g_progress = ask->progress;
	r = rpc_call(connection_sock(conn), request->data, request->len, &wait, &line, &line_len, &c->err);

	progress_clear();
	/* The signal stays unread on a cancel, which would cut this wait short; a second one does. */
	if (r == -ECANCELED)
		call_broken(c, conn, r, ask->stop_fd);
	conn->sock = fd_close(conn->sock);
	private_end(&conn->private, END_WAIT_MS, ask->stop_fd);
	if (r == 0)
		call_read(c, line, line_len);
	else if (r != -ECANCELED)
		call_broken(c, conn, r, ask->stop_fd);
}

/* A line with the id null came before our request was read: nothing was run, and it may be asked elsewhere. */
static bool refused_at_the_door(const struct call *c)
{
	return c->end == CALL_BROKEN && c->outcome == OUTCOME_DENIED && c->line && value_is(c->line, strlen(c->line), "id", "null");
}

static void call_send(struct call *c, const struct call_ask *ask, const struct jbuf *request)
{
	_cleanup_(connection_done) struct connection conn = CONNECTION_NONE;
	int r = connection_open(&conn, ask->want, ask->opt, ask->stop_fd, &c->err);

	if (r < 0) {
		call_not_connected(c, &conn, r, ask->stop_fd);
		return;
	}
	call_exchange(c, ask, &conn, request);
	if (!refused_at_the_door(c) || !connection_fall_back(&conn, ask->want, c->err.detail))
		return;
	call_done(c);
	*c = (struct call){ .end = CALL_BROKEN, .outcome = OUTCOME_INTERNAL_ERROR };
	if (connection_start_private(&conn, &c->err) == 0)
		call_exchange(c, ask, &conn, request);
}

void call_make(struct call *c, const struct call_ask *ask)
{
	struct jbuf request;

	*c = (struct call){ .end = CALL_BROKEN, .outcome = OUTCOME_INTERNAL_ERROR };
	jbuf_init(&request, LIMIT_FRAME_BYTES);
	jbuf_printf(&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":", ask->method);
	jbuf_raw(&request, ask->params, ask->params_len);
	jbuf_text(&request, "}\n");
	if (request.failed)
		err_set(&c->err, ERR_CALLER, EFBIG, "client", "the request is too large");
	else
		call_send(c, ask, &request);
	jbuf_done(&request);
}

int call_show_failure(const struct call *c, const struct show *s)
{
	if (c->end == CALL_REFUSED)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &c->err);
	if (c->end == CALL_CANCELLED)
		return show_failure(s, OUTCOME_CANCELLED, outcome_exit_status(OUTCOME_CANCELLED), &c->err);
	return show_failure(s, c->outcome, outcome_exit_status(c->outcome), &c->err);
}
