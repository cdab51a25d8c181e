/* brig call: a tool of the registry, through the gate. */
#include "agent/args.h"
#include "agent/call.h"
#include "agent/cmd.h"
#include "agent/follow.h"
#include "agent/show.h"
#include "agent/stop.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

static void params_make(struct jbuf *b, const struct options *opt, const struct bytes *args, const struct bytes *context)
{
	jbuf_init(b, LIMIT_FRAME_BYTES);
	jbuf_text(b, "{\"name\":");
	jbuf_cstring(b, opt->operand[0]);
	jbuf_text(b, ",\"args\":");
	jbuf_raw(b, args->data, args->len);
	args_put_context(b, context);
	if (opt->session) {
		jbuf_text(b, ",\"session\":");
		jbuf_cstring(b, opt->session);
	}
	if (opt->stream)
		jbuf_text(b, ",\"stream\":true");
	if (opt->wait)
		jbuf_text(b, ",\"approval\":\"wait\"");
	jbuf_printf(b, ",\"best_effort\":%s}", opt->best_effort ? "true" : "false");
}

/* One who waits for a person has to be told which question it is. */
static void event_show(void *arg, const char *line, size_t len)
{
	struct follow *follow = arg;
	_cleanup_free_ char *method = text_find(line, len, "method", NULL);
	_cleanup_free_ char *id = text_find(line, len, "params.approval_id", NULL);
	struct jbuf shown;

	follow_event(arg, line, len);
	if (!method || strcmp(method, "approval") != 0 || !id)
		return;
	jbuf_init(&shown, 1024);
	text_escape(&shown, id, strlen(id), TEXT_LINE);
	fprintf(follow->out, "brig: waits for an approval: brig approve %.*s\n", (int)shown.len, shown.data ? shown.data : "");
	fflush(follow->out);
	jbuf_done(&shown);
}

static int call_tool(const struct show *s, const struct options *opt, int stop_fd)
{
	_cleanup_(call_done) struct call c = { 0 };
	_cleanup_(bytes_done) struct bytes args = { 0 };
	_cleanup_(bytes_done) struct bytes context = { 0 };
	struct follow follow = { .out = s->err };
	struct show rest = *s;
	struct err err = { 0 };
	struct jbuf params;
	int r = args_read(opt->args, stop_fd, &args, &err);

	if (r == 0)
		r = args_read_context(opt->context, &context, &err);
	if (r < 0) {
		enum outcome outcome = r == -ECANCELED ? OUTCOME_CANCELLED : OUTCOME_INVALID_ARGUMENTS;

		return show_failure(s, outcome, outcome_exit_status(outcome), &err);
	}
	params_make(&params, opt, &args, &context);
	call_make(&c, &(struct call_ask){ .method = "call", .params = params.data ?: "", .params_len = params.len,
			      .want = opt->session ? CONNECT_DAEMON : CONNECT_ANY, .opt = opt, .stop_fd = stop_fd,
			      .progress = opt->stream ? NULL : opt->wait ? "waiting or running" : "running", .event = event_show,
			      .event_arg = &follow });
	jbuf_done(&params);
	follow_end(&follow);
	rest.streamed = follow.started;
	return c.end == CALL_RESULT ? show_result(&rest, c.result, c.result_len) : call_show_failure(&c, &rest);
}

int cmd_call(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	_cleanup_close_ int stop_fd = stop_open();
	struct err err = { 0 };

	if (!opt->session || !opt->private)
		return show_end(&s, call_tool(&s, opt, stop_fd));
	err_set(&err, ERR_CALLER, EINVAL, "command line", "options '--session' and '--private' exclude each other");
	err_hint(&err, "a session lives in a daemon");
	return show_end(&s, show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err));
}
