/* brig session: contexts that a daemon keeps from call to call. */
#include "agent/cmd.h"
#include "agent/nearest.h"
#include "agent/question.h"
#include "agent/table.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

/* Building a jail is what takes time here, and may wait behind the calls of others. */
#define OPEN_ANSWER_MS 60000

static void opened_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *id = answer_text(c, "session");

	/* The id alone: it is what the next command takes. */
	fprintf(s->out, "%s\n", id ?: "?");
}

static void closed_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *id = answer_text(c, "session");

	fprintf(s->out, "session %s is closed; it made %.0f calls\n", id ?: "?", answer_number(c, "calls"));
}

static void sessions_show(const struct show *s, const struct call *c)
{
	static const struct table_column columns[] = {
		{ "SESSION", "session", 32, TABLE_TEXT }, { "PROFILE", "profile", 9, TABLE_TEXT },
		{ "JAIL", "jail", 7, TABLE_TEXT },	  { "STATE", "state", 5, TABLE_TEXT },
		{ "CALLS", "calls", 6, TABLE_NUMBER },	  { "IDLE", "idle_ms", 6, TABLE_TIME },
		{ 0 },
	};

	if (table_show(s->out, c->result, c->result_len, "sessions", columns) == 0)
		fputs("no session is open\n", s->out);
}

static void string_add(struct jbuf *b, const char *key, const char *value)
{
	if (!value)
		return;
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	jbuf_cstring(b, value);
}

static void open_params(struct jbuf *b, const struct options *opt)
{
	string_add(b, "profile", opt->profile);
	string_add(b, "task", opt->task);
	if (opt->state)
		jbuf_printf(b, "%s\"state\":true", b->len > 1 ? "," : "");
}

static void close_params(struct jbuf *b, const struct options *opt)
{
	string_add(b, "session", opt->operand[1]);
}

static const struct action {
	const char *name;
	struct question question;
	unsigned operands; /* its name included */
	bool opens;
	void (*params)(struct jbuf *b, const struct options *opt);
} actions[] = {
	{ "open", { .method = "session.open", .show = opened_show, .answer_ms = OPEN_ANSWER_MS }, 1, true, open_params },
	{ "close", { .method = "session.close", .show = closed_show, .answer_ms = QUESTION_ANSWER_MS }, 2, false, close_params },
	{ "list", { .method = "session.list", .show = sessions_show, .answer_ms = QUESTION_ANSWER_MS }, 1, false, NULL },
};

static const struct action *action_find(const char *name, struct err *err)
{
	struct nearest near = { .word = name };
	char shown[64];

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
		nearest_try(&near, actions[i].name);
	}
	text_quote(shown, sizeof(shown), name);
	err_set(err, ERR_CALLER, EINVAL, "command line", "'session' has no %s", shown);
	if (near.best)
		err_hint(err, "did you mean '%s'?", near.best);
	else
		err_hint(err, "there are open, close and list");
	return NULL;
}

static int action_check(const struct action *a, const struct options *opt, struct err *err)
{
	if (opt->operands < a->operands)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'session %s' needs a session, as 'brig session list' shows them", a->name);
	if (opt->operands > a->operands)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'session %s' takes no further argument", a->name);
	if (!a->opens && (opt->profile || opt->task || opt->state))
		return err_set(err, ERR_CALLER, EINVAL, "command line", "--profile, --task and --state are for 'session open'");
	if (a->opens && opt->admin)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "--admin is for 'session close' and 'session list'");
	return 0;
}

int cmd_session(const struct options *opt)
{
	struct err err = { 0 };
	const struct action *a = action_find(opt->operand[0], &err);
	struct jbuf params;
	int status;

	if (!a || action_check(a, opt, &err) < 0)
		return question_refuse(opt, &err);
	struct question q = a->question;

	q.want = opt->admin ? CONNECT_ADMIN : CONNECT_DAEMON;
	jbuf_init(&params, LIMIT_FRAME_BYTES);
	jbuf_text(&params, "{");
	if (a->params)
		a->params(&params, opt);
	jbuf_text(&params, "}");
	q.params = params.data;
	q.params_len = params.len;
	status = question_ask(opt, &q);
	jbuf_done(&params);
	return status;
}
