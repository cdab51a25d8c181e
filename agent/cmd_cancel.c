/* brig cancel: end a call that is queued or running. Its own client is told by the call's result. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/text.h"

static void cancelled_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *id = answer_text(c, "call_id");
	_cleanup_free_ char *was = answer_text(c, "was");

	fprintf(s->out, "call %s was cancelled; it was %s\n", id ? id : "?", was ? was : "there");
}

int cmd_cancel(const struct options *opt)
{
	struct jbuf params;
	int status;

	/* A word of the command line, at worst six bytes for each of its own. */
	jbuf_init(&params, 1u << 20);
	jbuf_text(&params, "{\"call_id\":");
	jbuf_cstring(&params, opt->operand[0]);
	jbuf_text(&params, "}");
	status = question_ask(opt, &(struct question){ .method = "cancel", .params = params.data, .params_len = params.len,
					   .want = opt->admin ? CONNECT_ADMIN : CONNECT_DAEMON, .answer_ms = QUESTION_ANSWER_MS,
					   .show = cancelled_show });
	jbuf_done(&params);
	return status;
}
