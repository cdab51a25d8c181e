/* brig approvals, approve, deny: the questions that calls wait for, and a person's word about them. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/table.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

static void table_of_approvals(const struct show *s, const struct call *c, const char *none, bool state)
{
	static const struct table_column open[] = {
		{ "ID", "id", 32, TABLE_TEXT },	    { "TOOL", "tool", 16, TABLE_TEXT },		  { "UID", "uid", 10, TABLE_NUMBER },
		{ "AGE", "age_ms", 6, TABLE_TIME }, { "EXPIRES", "expires_in_ms", 7, TABLE_TIME }, { 0 },
	}, all[] = {
		{ "ID", "id", 32, TABLE_TEXT },	      { "STATE", "state", 8, TABLE_TEXT }, { "TOOL", "tool", 16, TABLE_TEXT },
		{ "UID", "uid", 10, TABLE_NUMBER },   { "AGE", "age_ms", 6, TABLE_TIME },  { 0 },
	};

	if (table_show(s->out, c->result, c->result_len, "approvals", state ? all : open) == 0)
		fprintf(s->out, "%s\n", none);
}

static void open_show(const struct show *s, const struct call *c)
{
	table_of_approvals(s, c, "nothing waits for an approval", false);
}

static void all_show(const struct show *s, const struct call *c)
{
	table_of_approvals(s, c, "nobody ever asked for an approval", true);
}

/* ---- one of them: what exactly would run ---- */

static void field_show(const struct show *s, const struct call *c, const char *name, const char *path)
{
	_cleanup_free_ char *text = answer_text(c, path);

	if (text)
		fprintf(s->out, "%-12s %s\n", name, text);
}

static void raw_show(const struct show *s, const struct call *c, const char *name, const char *path)
{
	size_t start, n;

	if (json_find(c->result, c->result_len, path, &start, &n, NULL))
		fprintf(s->out, "%-12s %.*s\n", name, (int)n, c->result + start);
}

/* A stranger's text: each line behind a bar, so that none passes for a line of ours. */
static void lines_show(FILE *out, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - (text + at)) : len - at;
		struct jbuf b;

		jbuf_init(&b, 10 * n + 64);
		text_escape(&b, text + at, n, TEXT_LINE);
		fprintf(out, "  | %.*s\n", (int)b.len, b.data ? b.data : "");
		jbuf_done(&b);
		at += n + 1;
	}
}

static void block_show(const struct show *s, const struct call *c, const char *name, const char *path)
{
	size_t start, raw, n = 0;

	if (!json_find(c->result, c->result_len, path, &start, &raw, NULL) || c->result[start] == 'n')
		return;
	_cleanup_free_ char *text = json_string_dup(c->result + start, raw, &n);
	fprintf(s->out, "%s\n", name);
	lines_show(s->out, text ? text : c->result + start, text ? n : raw);
}

static void one_show(const struct show *s, const struct call *c)
{
	char age[32], left[32];

	time_print(age, sizeof(age), answer_number(c, "age_ms"));
	time_print(left, sizeof(left), answer_number(c, "expires_in_ms"));
	field_show(s, c, "approval", "id");
	field_show(s, c, "state", "state");
	field_show(s, c, "tool", "tool");
	field_show(s, c, "hash", "hash");
	field_show(s, c, "tool state", "tool_state");
	raw_show(s, c, "asked by", "uid");
	field_show(s, c, "session", "session");
	fprintf(s->out, "%-12s %s ago, ends in %s\n", "asked", age, left);
	field_show(s, c, "rule", "rule");
	field_show(s, c, "reason", "reason");
	field_show(s, c, "profile", "profile");
	field_show(s, c, "", "profile_digest");
	raw_show(s, c, "permissions", "permissions");
	block_show(s, c, "description", "description");
	block_show(s, c, "arguments", "args");
	block_show(s, c, "context", "context");
	block_show(s, c, "body", "body");
}

static void decided_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *id = answer_text(c, "id");
	_cleanup_free_ char *state = answer_text(c, "state");
	double uses = answer_number(c, "uses");
	char time[32];

	time_print(time, sizeof(time), answer_number(c, "for_ms"));
	if (uses > 0)
		fprintf(s->out, "%s is %s, for %.0f use%s within %s\n", id ?: "?", state ?: "?", uses, uses > 1 ? "s" : "", time);
	else
		fprintf(s->out, "%s is %s\n", id ?: "?", state ?: "?");
}

/* ---- the verbs ---- */

static void string_add(struct jbuf *b, const char *key, const char *value)
{
	if (!value)
		return;
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	jbuf_cstring(b, value);
}

static int ask(const struct options *opt, const char *method, bool mine, struct jbuf *params, void (*show)(const struct show *s, const struct call *c))
{
	jbuf_text(params, "}");
	int status = question_ask(opt, &(struct question){ .method = method, .params = params->data ?: "", .params_len = params->len,
						   .want = mine ? CONNECT_DAEMON : CONNECT_ADMIN, .answer_ms = QUESTION_ANSWER_MS, .show = show });
	jbuf_done(params);
	return status;
}

static void params_begin(struct jbuf *b)
{
	jbuf_init(b, 1u << 20);
	jbuf_text(b, "{");
}

int cmd_approvals(const struct options *opt)
{
	struct err err = { 0 };
	struct jbuf params;
	char shown[64];

	params_begin(&params);
	if (opt->operands == 0) {
		string_add(&params, "state", opt->all ? "all" : "pending");
		return ask(opt, "approval.list", opt->mine, &params, opt->all ? all_show : open_show);
	}
	if (strcmp(opt->operand[0], "show") == 0 && opt->operands == 2) {
		string_add(&params, "id", opt->operand[1]);
		return ask(opt, "approval.get", opt->mine, &params, one_show);
	}
	jbuf_done(&params);
	text_quote(shown, sizeof(shown), opt->operand[0]);
	err_set(&err, ERR_CALLER, EINVAL, "command line", "'approvals' has no %s%s", shown, opt->operands == 1 ? " without an id" : "");
	err_hint(&err, "there are 'brig approvals' and 'brig approvals show ID'");
	return question_refuse(opt, &err);
}

/* A number of the command line is none for certain; the supervisor says what it takes. */
static int uses_add(struct jbuf *b, const struct options *opt, struct err *err)
{
	char shown[64];

	if (!opt->uses)
		return 0;
	if (opt->uses[0] && opt->uses[0] != '0' && strlen(opt->uses) < 10 && strspn(opt->uses, "0123456789") == strlen(opt->uses)) {
		jbuf_printf(b, ",\"uses\":%s", opt->uses);
		return 0;
	}
	text_quote(shown, sizeof(shown), opt->uses);
	return err_set(err, ERR_CALLER, EINVAL, "command line", "--uses %s is not a whole number from 1 to 1000", shown);
}

int cmd_approve(const struct options *opt)
{
	struct err err = { 0 };
	struct jbuf params;

	params_begin(&params);
	string_add(&params, "id", opt->operand[0]);
	string_add(&params, "reason", opt->reason);
	string_add(&params, "for", opt->how_long);
	jbuf_text(&params, ",\"approve\":true");
	if (uses_add(&params, opt, &err) == 0)
		return ask(opt, "approval.decide", false, &params, decided_show);
	jbuf_done(&params);
	return question_refuse(opt, &err);
}

int cmd_deny(const struct options *opt)
{
	struct jbuf params;

	params_begin(&params);
	string_add(&params, "id", opt->operand[0]);
	string_add(&params, "reason", opt->reason);
	jbuf_text(&params, ",\"approve\":false");
	return ask(opt, "approval.decide", false, &params, decided_show);
}
