/* brig run: read the body, the arguments and perhaps a profile, prove them, hand them to a supervisor.
 * Nothing is started before all of it is known to be well-formed. */
#include "agent/args.h"
#include "agent/call.h"
#include "agent/cmd.h"
#include "agent/file.h"
#include "agent/follow.h"
#include "agent/show.h"
#include "agent/stop.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

struct run_input {
	struct bytes body, args, context, profile;
};

static void input_done(struct run_input *in)
{
	bytes_done(&in->body);
	bytes_done(&in->args);
	bytes_done(&in->context);
	bytes_done(&in->profile);
}

static int body_read(const char *path, struct bytes *ret, struct err *err)
{
	int r = file_read(path, LIMIT_BODY_BYTES, ret, err);

	return r < 0 ? r : file_check_text(path, ret, err);
}

static void params_profile(struct jbuf *b, const struct options *opt, const struct bytes *text)
{
	if (!opt->profile)
		return;
	if (!text->data) {
		jbuf_text(b, ",\"profile\":");
		jbuf_cstring(b, opt->profile);
		return;
	}
	jbuf_text(b, ",\"profile_path\":");
	jbuf_cstring(b, opt->profile);
	jbuf_text(b, ",\"profile_text\":");
	jbuf_string(b, text->data, text->len);
}

static void params_make(struct jbuf *b, const struct options *opt, const struct run_input *in)
{
	jbuf_init(b, LIMIT_FRAME_BYTES);
	jbuf_text(b, "{\"body\":");
	jbuf_string(b, in->body.data, in->body.len);
	jbuf_text(b, ",\"args\":");
	jbuf_raw(b, in->args.data, in->args.len);
	args_put_context(b, &in->context);
	params_profile(b, opt, &in->profile);
	if (opt->session) {
		jbuf_text(b, ",\"session\":");
		jbuf_cstring(b, opt->session);
	}
	if (opt->stream)
		jbuf_text(b, ",\"stream\":true");
	jbuf_printf(b, ",\"best_effort\":%s}", opt->best_effort ? "true" : "false");
}

static int run_call(const struct show *s, const struct options *opt, const struct run_input *in, int stop_fd)
{
	_cleanup_(call_done) struct call c;
	struct follow follow = { .out = s->err };
	struct show rest = *s;
	struct jbuf params;

	params_make(&params, opt, in);
	call_make(&c, &(struct call_ask){ .method = "run", .params = params.data ?: "", .params_len = params.len,
			      .want = opt->session ? CONNECT_DAEMON : CONNECT_ANY, .opt = opt, .stop_fd = stop_fd,
			      .progress = opt->stream ? NULL : "running", .event = opt->stream ? follow_event : NULL,
			      .event_arg = &follow });
	jbuf_done(&params);
	follow_end(&follow);
	rest.streamed = follow.started;
	return c.end == CALL_RESULT ? show_result(&rest, c.result, c.result_len) : call_show_failure(&c, &rest);
}

/* What the command line names and cannot be used is a usage error; what is wrong with the arguments is
 * invalid_arguments. */
static int run_prove(const struct show *s, const struct options *opt, int stop_fd)
{
	_cleanup_(input_done) struct run_input in = { 0 };
	struct err err = { 0 };
	int r;

	if (body_read(opt->operand[0], &in.body, &err) < 0)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	if (opt->profile && file_is_profile(opt->profile) && file_read_profile(opt->profile, &in.profile, &err) < 0)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	if (opt->session && opt->private) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "options '--session' and '--private' exclude each other");
		err_hint(&err, "a session lives in a daemon");
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	}
	r = args_read(opt->args, stop_fd, &in.args, &err);
	if (r == 0)
		r = args_read_context(opt->context, &in.context, &err);
	if (r == -ECANCELED)
		return show_failure(s, OUTCOME_CANCELLED, outcome_exit_status(OUTCOME_CANCELLED), &err);
	if (r < 0)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, outcome_exit_status(OUTCOME_INVALID_ARGUMENTS), &err);
	return run_call(s, opt, &in, stop_fd);
}

int cmd_run(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	_cleanup_close_ int stop_fd = stop_open();

	return show_end(&s, run_prove(&s, opt, stop_fd));
}
