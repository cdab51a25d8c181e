/* brig list: the calls that are queued or running, one's own or, over admin.sock, everybody's. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/table.h"

static void calls_show(const struct show *s, const struct call *c)
{
	static const struct table_column columns[] = {
		{ "CALL", "call_id", 32, TABLE_TEXT },
		{ "PROFILE", "profile", 12, TABLE_TEXT },
		{ "STATE", "state", 8, TABLE_TEXT },
		{ "AGE", "age_ms", 6, TABLE_TIME },
		{ "UID", "uid", 10, TABLE_NUMBER },
		{ 0 },
	};

	if (table_show(s->out, c->result, c->result_len, "calls", columns) == 0)
		fputs("no call is queued or running\n", s->out);
}

int cmd_list(const struct options *opt)
{
	return question_ask(opt, &(struct question){ .method = "list", .params = "{}", .params_len = 2,
					 .want = opt->admin ? CONNECT_ADMIN : CONNECT_DAEMON, .answer_ms = QUESTION_ANSWER_MS,
					 .show = calls_show });
}
