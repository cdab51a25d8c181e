/* brig status: how the daemon is. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/table.h"

static void line_show(const struct show *s, const char *name, const char *value)
{
	if (value && *value)
		fprintf(s->out, "%-12s %s\n", name, value);
}

static void counts_show(const struct show *s, const struct call *c)
{
	fprintf(s->out, "%-12s %.0f running, %.0f queued\n", "calls", answer_number(c, "calls.running"), answer_number(c, "calls.queued"));
	fprintf(s->out, "%-12s %.0f, of these %.0f parked\n", "jails", answer_number(c, "alive"), answer_number(c, "parked"));
}

static void status_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *version = answer_text(c, "version");

	line_show(s, "version", version);
	counts_show(s, c);
}

int cmd_status(const struct options *opt)
{
	return question_ask(opt, &(struct question){ .method = "status", .params = "{}", .params_len = 2, .want = CONNECT_DAEMON,
					 .answer_ms = QUESTION_ANSWER_MS, .show = status_show });
}
