/* brig policy: the gate's rules, proved before they hold. Only a supervisor parses them; this sends the texts and prints the answer:
 *   policy.check {texts} -> {"good":true,"rules":8,"warnings":[{"where","what"}]} or {"good":false,"error":{"where","what","hint"}}
 *   policy.test {texts?, cases_name, cases_text} -> {"good":true,"requests":[...],"wrong":0,"rules":[...],"unhit":0} or an error */
#include "agent/call.h"
#include "agent/cmd.h"
#include "agent/file.h"
#include "agent/nearest.h"
#include "agent/question.h"
#include "agent/stop.h"
#include "agent/table.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

/* The policy is refused, or gives a wrong verdict. */
#define EXIT_WRONG 1

struct files {
	const char *const *name;
	unsigned count;
	const char *also; /* the value of --policy, or NULL */
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int text_add(struct jbuf *b, const char *path, const char *sep, struct err *err)
{
	_cleanup_(bytes_done) struct bytes text = { 0 };
	int r = file_read_profile(path, &text, err);

	if (r < 0)
		return r;
	jbuf_printf(b, "%s{\"name\":", sep);
	jbuf_cstring(b, base_of(path));
	jbuf_text(b, ",\"text\":");
	jbuf_string(b, text.data, text.len);
	jbuf_text(b, "}");
	return 0;
}

static int texts_add(struct jbuf *b, const struct files *f, struct err *err)
{
	int r = 0;

	if (f->count == 0 && !f->also)
		return 0;
	jbuf_text(b, "\"texts\":[");
	if (f->also)
		r = text_add(b, f->also, "", err);
	for (unsigned i = 0; r == 0 && i < f->count; i++)
		r = text_add(b, f->name[i], i || f->also ? "," : "", err);
	jbuf_text(b, "]");
	return r;
}

static int cases_add(struct jbuf *b, const char *path, struct err *err)
{
	_cleanup_(bytes_done) struct bytes text = { 0 };
	int r = file_read_profile(path, &text, err);

	if (r < 0)
		return r;
	jbuf_text(b, b->len > 1 ? ",\"cases_name\":" : "\"cases_name\":");
	jbuf_cstring(b, base_of(path));
	jbuf_text(b, ",\"cases_text\":");
	jbuf_string(b, text.data, text.len);
	return 0;
}

/* ---- what is shown ---- */

static char *part(const struct call *c, const char *list, unsigned i, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "%s.%u.%s", list, i, key);
	return answer_text(c, path);
}

static void warnings_show(const struct show *s, const struct call *c)
{
	for (unsigned i = 0;; i++) {
		_cleanup_free_ char *where = part(c, "warnings", i, "where");
		_cleanup_free_ char *what = part(c, "warnings", i, "what");

		if (!where || !what)
			return;
		fprintf(s->out, "%s: warning: %s\n", where, what);
	}
}

static int error_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *where = answer_text(c, "error.where"), *what = answer_text(c, "error.what"), *hint = answer_text(c, "error.hint");
	_cleanup_free_ char *in = answer_text(c, "in");

	fprintf(s->err, "brig: %s: %s%s%s\n", where ?: "?", what ?: "?", hint && *hint ? "; " : "", hint ?: "");
	return in && strcmp(in, "cases") == 0 ? EXIT_USAGE : EXIT_WRONG;
}

static int check_show(const struct show *s, const struct call *c)
{
	unsigned rules = (unsigned)answer_number(c, "rules");

	warnings_show(s, c);
	fprintf(s->out, "%u %s, good\n", rules, rules == 1 ? "rule" : "rules");
	return 0;
}

static unsigned requests_count(const struct call *c)
{
	char path[32];
	size_t at, len;

	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "requests.%u", i);
		if (!json_find(c->result, c->result_len, path, &at, &len, NULL))
			return i;
	}
}

static void unhit_show(const struct show *s, const struct call *c)
{
	char path[40];
	size_t at, len;

	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "rules.%u", i);
		if (!json_find(c->result, c->result_len, path, &at, &len, NULL))
			return;
		snprintf(path, sizeof(path), "rules.%u.hits", i);
		if (answer_number(c, path) > 0)
			continue;
		_cleanup_free_ char *where = part(c, "rules", i, "where"), *name = part(c, "rules", i, "name"), *decide = part(c, "rules", i, "decide");
		fprintf(s->out, "%s: never hit: %s%s%s\n", where ?: "?", decide ?: "?", name ? " " : "", name ?: "");
	}
}

static int test_show(const struct show *s, const struct call *c)
{
	static const struct table_column columns[] = {
		{ "TOOL", "tool", 20, TABLE_TEXT },
		{ "EXPECTED", "expect", 12, TABLE_TEXT },
		{ "VERDICT", "verdict", 12, TABLE_TEXT },
		{ "RULE", "rule", 30, TABLE_TEXT },
		{ 0 },
	};
	unsigned all = requests_count(c), wrong = (unsigned)answer_number(c, "wrong"), unhit = (unsigned)answer_number(c, "unhit");

	table_show(s->out, c->result, c->result_len, "requests", columns);
	for (unsigned i = 0; i < all; i++) {
		char path[32];

		snprintf(path, sizeof(path), "requests.%u.ok", i);
		if (answer_true(c, path))
			continue;
		_cleanup_free_ char *name = part(c, "requests", i, "name"), *tool = part(c, "requests", i, "tool"), *reason = part(c, "requests", i, "reason");
		_cleanup_free_ char *expect = part(c, "requests", i, "expect"), *verdict = part(c, "requests", i, "verdict");
		fprintf(s->out, "wrong: request %u (%s): expected %s, got %s: %s\n", i + 1, name ?: tool ?: "?", expect ?: "?", verdict ?: "?", reason ?: "");
	}
	warnings_show(s, c);
	unhit_show(s, c);
	fprintf(s->out, "%u %s, %u wrong; %u %s, %u never hit\n", all, all == 1 ? "request" : "requests", wrong,
		(unsigned)answer_number(c, "rule_count"), answer_number(c, "rule_count") == 1 ? "rule" : "rules", unhit);
	return 0;
}

/* ---- the command ---- */

struct action {
	const char *name, *method;
	int (*show)(const struct show *s, const struct call *c);
};

static const struct action actions[] = {
	{ "check", "policy.check", check_show },
	{ "test", "policy.test", test_show },
};

static const struct action *action_find(const struct options *opt, struct err *err)
{
	struct nearest near = { .word = opt->operand[0] };
	char shown[64];

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		if (strcmp(actions[i].name, opt->operand[0]) == 0)
			return &actions[i];
		nearest_try(&near, actions[i].name);
	}
	text_quote(shown, sizeof(shown), opt->operand[0]);
	err_set(err, ERR_CALLER, EINVAL, "command line", "no such action: policy %s", shown);
	err_hint(err, near.best ? "did you mean '%s'?" : "there are check and test%s", near.best ?: "");
	return NULL;
}

static int params_make(struct jbuf *b, const struct action *a, const struct options *opt, struct err *err)
{
	bool test = strcmp(a->name, "test") == 0;
	unsigned own = test ? 2 : 1;
	struct files f = { opt->operand + own, opt->operands > own ? opt->operands - own : 0, opt->policy };

	if (opt->operands < own) {
		err_set(err, ERR_CALLER, EINVAL, "command line", "'policy test' needs CASES.json");
		return -EINVAL;
	}
	if (!test && opt->policy)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "option '--policy' belongs to 'policy test'");
	if (opt->admin && (f.count > 0 || f.also))
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'--admin' is for the policy that the daemon has; leave the files out");
	jbuf_text(b, "{");
	int r = texts_add(b, &f, err);
	if (r == 0 && test)
		r = cases_add(b, opt->operand[1], err);
	jbuf_text(b, "}");
	return r == 0 && b->failed ? err_set(err, ERR_HOST, ENOMEM, "client", "no memory for the request") : r;
}

static int ask(const struct show *s, const struct action *a, const struct options *opt, const struct jbuf *params)
{
	/* A daemon takes no rules from those whom they bind: they are proved by a supervisor of our own. */
	const struct options where = { .socket = opt->socket, .private = !opt->admin };
	_cleanup_close_ int stop_fd = stop_open();
	_cleanup_(call_done) struct call c;

	call_make(&c, &(struct call_ask){ .method = a->method, .params = params->data, .params_len = params->len,
			      .want = opt->admin ? CONNECT_ADMIN : CONNECT_ANY, .opt = &where, .stop_fd = stop_fd });
	if (c.end != CALL_RESULT)
		return call_show_failure(&c, s);
	stop_release();
	if (s->json)
		fprintf(s->out, "%.*s\n", (int)c.result_len, c.result);
	if (!answer_true(&c, "good"))
		return error_show(s, &c);
	int status = s->json ? 0 : a->show(s, &c);
	return status == 0 && answer_number(&c, "wrong") > 0 ? EXIT_WRONG : status;
}

int cmd_policy(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	struct err err = { 0 };
	const struct action *a = action_find(opt, &err);
	struct jbuf params;
	int status;

	jbuf_init(&params, LIMIT_FRAME_BYTES);
	if (!a || params_make(&params, a, opt, &err) < 0)
		status = show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	else
		status = ask(&s, a, opt, &params);
	jbuf_done(&params);
	return show_end(&s, status);
}
