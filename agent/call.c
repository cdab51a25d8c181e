#include "agent/call.h"

#include "agent/private.h"
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

static bool g_progress_shown;

static void progress_tick(unsigned seconds)
{
	g_progress_shown = true;
	fprintf(stderr, "\rbrig: running, %u s (Ctrl-C stops it)", seconds);
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

/* err from the error object of the answer. */
static void call_read_error(struct call *c, const char *line, size_t len)
{
	_cleanup_free_ char *message = text_find(line, len, "error.message", NULL);
	_cleanup_free_ char *where = text_find(line, len, "error.data.where", NULL);
	_cleanup_free_ char *hint = text_find(line, len, "error.data.hint", NULL);
	size_t start, n;
	bool refused = json_find(line, len, "error.code", &start, &n, NULL) && n == strlen(RPC_INVALID_PARAMS) &&
		       (memcmp(line + start, RPC_INVALID_PARAMS, n) == 0 ||
			       memcmp(line + start, RPC_METHOD_NOT_FOUND, n) == 0);

	c->end = refused ? CALL_REFUSED : CALL_BROKEN;
	err_set(&c->err, refused ? ERR_CALLER : ERR_BUG, EINVAL, where ?: "", "%s",
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

static void call_broken(struct call *c, const struct private *p, int r, int stop_fd)
{
	char how[96];

	c->end = CALL_BROKEN;
	if (r == -ECANCELED) {
		c->end = CALL_CANCELLED;
		err_set(&c->err, ERR_CALLER, ECANCELED, "client", "stopped by %s", stop_take(stop_fd) ?: "a signal");
	} else if (r == -EPIPE && call_not_begun(c, p)) {
		return;
	} else if (r == -EPIPE) {
		private_describe(p, how, sizeof(how));
		err_set(&c->err, ERR_BUG, EPIPE, "supervisor", "the supervisor %s before it answered", how);
		err_hint(&c->err, "'brig doctor' tells what this host lacks; brigd's own words, if any, stand above");
	} else {
		err_wrap(&c->err, "supervisor");
	}
}

void call_make(struct call *c, const char *method, const char *params, size_t len, int stop_fd, bool progress)
{
	_cleanup_(private_done) struct private p = PRIVATE_NONE;
	struct rpc_wait wait = { .stop_fd = stop_fd, .tick = progress && isatty(STDERR_FILENO) ? progress_tick : NULL };
	struct jbuf request;
	char *line = NULL;
	size_t line_len = 0;
	int r;

	*c = (struct call){ .end = CALL_BROKEN, .outcome = OUTCOME_INTERNAL_ERROR };
	if (private_start(&p, &c->err) < 0)
		return;
	jbuf_init(&request, LIMIT_FRAME_BYTES);
	jbuf_printf(&request, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":", method);
	jbuf_raw(&request, params, len);
	jbuf_text(&request, "}\n");
	r = request.failed ? err_set(&c->err, ERR_CALLER, EFBIG, "client", "the request is too large")
			   : rpc_call(p.sock, request.data, request.len, &wait, &line, &line_len, &c->err);
	jbuf_done(&request);
	progress_clear();
	/* The signal stays unread on a cancel, which would cut this wait short; a second one does. */
	if (r == -ECANCELED)
		call_broken(c, &p, r, stop_fd);
	private_end(&p, END_WAIT_MS, stop_fd);
	if (r == 0)
		call_read(c, line, line_len);
	else if (r != -ECANCELED)
		call_broken(c, &p, r, stop_fd);
}
