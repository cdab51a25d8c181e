/* What the operator asks over admin.sock: pool, reload, drain. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/table.h"

#include <string.h>

static void pool_show(const struct show *s, const struct call *c)
{
	static const struct table_column columns[] = {
		{ "PROFILE", "profile", 12, TABLE_TEXT },
		{ "WARM", "warm", 4, TABLE_NUMBER },
		{ "MAX", "max", 3, TABLE_NUMBER },
		{ "TARGET", "target", 6, TABLE_NUMBER },
		{ "PARKED", "parked", 6, TABLE_NUMBER },
		{ "RUNNING", "running", 7, TABLE_NUMBER },
		{ "TAKEN", "taken", 8, TABLE_NUMBER },
		{ "COLD", "cold", 8, TABLE_NUMBER },
		{ "DIED", "died_parked", 6, TABLE_NUMBER },
		{ 0 },
	};

	if (table_show(s->out, c->result, c->result_len, "pools", columns) == 0)
		fputs("no profile has a zygote yet: the first call of each starts it\n", s->out);
	fprintf(s->out, "%.0f of %.0f slots for jails are free\n", answer_number(c, "slots_free"), answer_number(c, "slots"));
}

int cmd_pool(const struct options *opt)
{
	return question_ask(opt, &(struct question){ .method = "pool", .params = "{}", .params_len = 2, .want = CONNECT_ADMIN,
					 .answer_ms = QUESTION_ANSWER_MS, .show = pool_show });
}

static void reloaded_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *config = answer_text(c, "config");

	fprintf(s->out, "reloaded%s%s; what runs goes on under the old rules\n", config && *config ? " " : "", config ? config : "");
}

/* Every profile is compiled anew before anything changes: seconds on a slow machine, and no reason to give up. */
int cmd_reload(const struct options *opt)
{
	return question_ask(opt, &(struct question){ .method = "reload", .params = "{}", .params_len = 2, .want = CONNECT_ADMIN,
					 .progress = "reloading", .show = reloaded_show });
}

static void drained_show(const struct show *s, const struct call *c)
{
	unsigned long calls = (unsigned long)answer_number(c, "calls");

	if (!answer_true(c, "draining"))
		fputs("brigd takes calls\n", s->out);
	else if (calls == 0)
		fputs("brigd takes no new calls, and none is left\n", s->out);
	else
		fprintf(s->out, "brigd takes no new calls; %lu %s left\n", calls, calls == 1 ? "is" : "are");
}

/* Whoever waits may stop waiting: the drain goes on. */
int cmd_drain(const struct options *opt)
{
	const char *params = opt->off ? "{\"on\":false}" : opt->wait ? "{\"wait\":true}" : "{}";
	struct err err;

	if (opt->off && opt->wait) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "options '--wait' and '--off' exclude each other");
		return question_refuse(opt, &err);
	}
	return question_ask(opt, &(struct question){ .method = "drain", .params = params, .params_len = strlen(params),
					 .want = CONNECT_ADMIN, .answer_ms = opt->wait ? 0 : QUESTION_ANSWER_MS,
					 .progress = "waiting for the calls that run", .show = drained_show });
}
