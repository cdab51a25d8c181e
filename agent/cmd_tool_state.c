/* brig tool promote, quarantine, restore: what an operator decides, over admin.sock. */
#include "agent/cmd_tool.h"
#include "agent/question.h"

#include <string.h>

static void changed_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *name = answer_text(c, "name"), *state = answer_text(c, "state"), *was = answer_text(c, "was"), *hash = answer_text(c, "hash");

	fprintf(s->out, "%s, version %.0f (%.19s...), is %s now; it was %s\n", name ?: "?", answer_number(c, "version"), hash ?: "?", state ?: "?", was ?: "?");
}

static void string_add(struct jbuf *b, const char *key, const char *value)
{
	if (!value)
		return;
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	jbuf_cstring(b, value);
}

static int words_check(const struct options *opt, struct err *err)
{
	bool quarantine = strcmp(opt->operand[0], "quarantine") == 0;

	if (quarantine && opt->to)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'tool quarantine' takes no --to");
	if (quarantine && (!opt->reason || !opt->reason[0])) {
		err_set(err, ERR_CALLER, EINVAL, "command line", "'tool quarantine' needs a reason");
		err_hint(err, "--reason TEXT: the tool's author and the audit log get it");
		return -EINVAL;
	}
	return 0;
}

int tool_state_change(const struct show *s UNUSED, const struct options *opt)
{
	char method[32];
	struct jbuf params;
	struct err err = { 0 };
	int status;

	if (words_check(opt, &err) < 0)
		return question_refuse(opt, &err);
	snprintf(method, sizeof(method), "tool.%s", opt->operand[0]);
	/* Words of the command line, at worst six bytes for each of their own. */
	jbuf_init(&params, 1u << 20);
	jbuf_text(&params, "{");
	string_add(&params, "name", opt->operand[1]);
	string_add(&params, "hash", opt->hash);
	string_add(&params, "to", opt->to);
	string_add(&params, "reason", opt->reason);
	jbuf_text(&params, "}");
	status = question_ask(opt, &(struct question){ .method = method, .params = params.data, .params_len = params.len, .want = CONNECT_ADMIN,
					   .answer_ms = QUESTION_ANSWER_MS, .show = changed_show });
	jbuf_done(&params);
	return status;
}
