/* brig profile: what the supervisor knows of profiles. Only it parses them; this prints what it answers:
 *   profile.list {} -> [{"name":"pure","why":"..." | "error":"..."}, ...]
 *   profile.show {profile | profile_path, profile_text; effective} -> {"name":"...","digest":"...","text":"..."}
 * A check is a show whose text is thrown away: the whole way to the filter is gone in both. */
#include "agent/call.h"
#include "agent/cmd.h"
#include "agent/file.h"
#include "agent/nearest.h"
#include "agent/show.h"
#include "agent/stop.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

struct action {
	const char *name;
	const char *method;
	unsigned operands; /* after the action */
	bool file;	   /* the operand is always a file */
	void (*show)(const struct show *s, const char *what, const struct call *c);
};

static void text_show(const struct show *s, const char *text, size_t len)
{
	struct jbuf b;

	jbuf_init(&b, 6 * len + 64);
	text_escape(&b, text, len, TEXT_BLOCK);
	if (b.len)
		fwrite(b.data, 1, b.len, s->out);
	if (!b.len || b.data[b.len - 1] != '\n')
		fputc('\n', s->out);
	jbuf_done(&b);
}

static void line_show(const struct show *s, const char *name, const char *before, const char *text)
{
	struct jbuf b;

	jbuf_init(&b, 6 * strlen(text) + 64);
	jbuf_text(&b, before);
	text_escape(&b, text, strlen(text), TEXT_LINE);
	jbuf_raw(&b, "", 1);
	fprintf(s->out, "%-12s ", name);
	text_wrap(s->out, b.data ?: "", strlen(name) < 12 ? 13 : (int)strlen(name) + 1);
	jbuf_done(&b);
}

static void list_show(const struct show *s, const char *what, const struct call *c)
{
	char path[64];

	(void)what;
	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "%u.name", i);
		_cleanup_free_ char *name = text_find(c->result, c->result_len, path, NULL);
		snprintf(path, sizeof(path), "%u.why", i);
		_cleanup_free_ char *why = text_find(c->result, c->result_len, path, NULL);
		snprintf(path, sizeof(path), "%u.error", i);
		_cleanup_free_ char *error = text_find(c->result, c->result_len, path, NULL);
		if (!name)
			return;
		line_show(s, name, error ? "unusable: " : "", error ?: why ?: "");
	}
}

static void show_show(const struct show *s, const char *what, const struct call *c)
{
	size_t n = 0;
	_cleanup_free_ char *text = text_find(c->result, c->result_len, "text", &n);

	(void)what;
	text_show(s, text ?: c->result, text ? n : c->result_len);
}

static void check_show(const struct show *s, const char *what, const struct call *c)
{
	_cleanup_free_ char *name = text_find(c->result, c->result_len, "name", NULL);
	char shown[160];

	text_quote(shown, sizeof(shown), what);
	fprintf(s->out, "%s: profile '%s' is good\n", shown, name ?: "?");
}

static const struct action actions[] = {
	{ "list", "profile.list", 0, false, list_show },
	{ "show", "profile.show", 1, false, show_show },
	{ "check", "profile.show", 1, true, check_show },
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
	err_set(err, ERR_CALLER, EINVAL, "command line", "no such action: profile %s", shown);
	if (near.best)
		err_hint(err, "did you mean '%s'?", near.best);
	else
		err_hint(err, "there are list, show and check");
	return NULL;
}

static int action_check(const struct action *a, const struct options *opt, struct err *err)
{
	if (opt->operands != a->operands + 1)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'profile %s' takes %s", a->name,
			a->operands == 0 ? "no argument"
			: a->file	 ? "one FILE"
					 : "one NAME or FILE");
	if (opt->effective && strcmp(a->name, "show") != 0)
		return err_set(
			err, ERR_CALLER, EINVAL, "command line", "option '--effective' belongs to 'profile show'");
	return 0;
}

static bool is_file(const struct action *a, const struct options *opt)
{
	return a->operands && (a->file || file_is_profile(opt->operand[1]));
}

static int params_make(struct jbuf *b, const struct action *a, const struct options *opt, struct err *err)
{
	_cleanup_(bytes_done) struct bytes text = { 0 };
	const char *what = opt->operand[1];

	jbuf_text(b, "{");
	if (is_file(a, opt)) {
		int r = file_read_profile(what, &text, err);

		if (r < 0)
			return r;
		jbuf_text(b, "\"profile_path\":");
		jbuf_cstring(b, what);
		jbuf_text(b, ",\"profile_text\":");
		jbuf_string(b, text.data, text.len);
	} else if (a->operands) {
		jbuf_text(b, "\"profile\":");
		jbuf_cstring(b, what);
	}
	if (strcmp(a->name, "show") == 0)
		jbuf_printf(b, ",\"effective\":%s", opt->effective ? "true" : "false");
	jbuf_text(b, "}");
	return b->failed ? err_set(err, ERR_HOST, ENOMEM, "client", "no memory for the request") : 0;
}

static int call_show(const struct show *s, const struct action *a, const struct options *opt, const struct call *c)
{
	if (c->end != CALL_RESULT)
		return call_show_failure(c, s);
	stop_release();
	if (s->json)
		fprintf(s->out, c->result[0] == '[' ? "{\"profiles\":%.*s}\n" : "%.*s\n", (int)c->result_len,
			c->result);
	else
		a->show(s, opt->operand[1], c);
	return 0;
}

int cmd_profile(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	_cleanup_close_ int stop_fd = stop_open();
	struct err err = { 0 };
	const struct action *a = action_find(opt, &err);
	struct jbuf params;
	int status;

	if (!a || action_check(a, opt, &err) < 0)
		return show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	jbuf_init(&params, LIMIT_FRAME_BYTES);
	if (params_make(&params, a, opt, &err) < 0) {
		status = show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	} else {
		/* A daemon takes no rules from those whom they bind, so a file is proved by a supervisor of our own. */
		const struct options where = { .socket = opt->socket, .private = opt->private || (!opt->socket && is_file(a, opt)) };
		_cleanup_(call_done) struct call c;

		call_make(&c, &(struct call_ask){ .method = a->method, .params = params.data, .params_len = params.len,
				      .want = CONNECT_ANY, .opt = &where, .stop_fd = stop_fd });
		status = call_show(&s, a, opt, &c);
	}
	jbuf_done(&params);
	return show_end(&s, status);
}
