/* brig metrics: the daemon's counters in the text format that Prometheus reads. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/text.h"

static void metrics_show(const struct show *s, const struct call *c)
{
	size_t n = 0;
	_cleanup_free_ char *text = text_find(c->result, c->result_len, "text", &n);
	struct jbuf b;

	jbuf_init(&b, 10 * n + 64);
	text_escape(&b, text ? text : "", n, TEXT_BLOCK);
	if (b.len)
		fwrite(b.data, 1, b.len, s->out);
	jbuf_done(&b);
}

int cmd_metrics(const struct options *opt)
{
	return question_ask(opt, &(struct question){ .method = "metrics", .params = "{}", .params_len = 2, .want = CONNECT_DAEMON,
					 .answer_ms = QUESTION_ANSWER_MS, .show = metrics_show });
}
