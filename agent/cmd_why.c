/* brig why: what would become of a call, a path, a host or a system call, by which rule and in which layer. Nothing runs. */
#include "agent/args.h"
#include "agent/call.h"
#include "agent/cmd.h"
#include "agent/file.h"
#include "agent/question.h"
#include "agent/stop.h"
#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <string.h>

static void string_add(struct jbuf *b, const char *key, const char *value)
{
	if (!value)
		return;
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	jbuf_cstring(b, value);
}

static bool is_file(const struct options *opt)
{
	return opt->profile && file_is_profile(opt->profile);
}

static int profile_add(struct jbuf *b, const struct options *opt, struct err *err)
{
	_cleanup_(bytes_done) struct bytes text = { 0 };
	int r = is_file(opt) ? file_read_profile(opt->profile, &text, err) : 0;

	if (r < 0)
		return r;
	if (!is_file(opt)) {
		string_add(b, "profile", opt->profile);
		return 0;
	}
	string_add(b, "profile_path", opt->profile);
	jbuf_text(b, ",\"profile_text\":");
	jbuf_string(b, text.data, text.len);
	return 0;
}

static int usage_check(const struct options *opt, struct err *err)
{
	unsigned about = !!opt->path + !!opt->host + !!opt->syscall;

	if (about > 1 || (about == 0 && opt->operands == 0)) {
		err_set(err, ERR_CALLER, EINVAL, "command line", "'why' is asked about TOOL, or about one of --path, --host and --syscall");
		err_hint(err, "for example: brig why --syscall socket --profile stdlib");
		return -EINVAL;
	}
	if (about > 0 && opt->args)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "option '--args' belongs to a call of TOOL");
	return 0;
}

static int params_make(struct jbuf *b, const struct options *opt, int stop_fd, struct err *err)
{
	_cleanup_(bytes_done) struct bytes args = { 0 };
	int r = usage_check(opt, err);

	if (r == 0 && opt->args)
		r = args_read(opt->args, stop_fd, &args, err);
	if (r < 0)
		return r;
	jbuf_text(b, "{");
	string_add(b, "tool", opt->operands ? opt->operand[0] : NULL);
	string_add(b, "path", opt->path);
	string_add(b, "host", opt->host);
	string_add(b, "syscall", opt->syscall);
	string_add(b, "session", opt->session);
	if (args.data) {
		jbuf_text(b, ",\"args\":");
		jbuf_raw(b, args.data, args.len);
	}
	r = profile_add(b, opt, err);
	jbuf_text(b, "}");
	return r == 0 && b->failed ? err_set(err, ERR_HOST, ENOMEM, "client", "no memory for the request") : r;
}

static void line_show(const struct show *s, const char *what, const char *text)
{
	if (text && *text)
		fprintf(s->out, "%-8s %s\n", what, text);
}

static void permissions_show(const struct show *s, const struct call *c)
{
	static const char *const names[] = { "filesystem", "network", "subprocess", "write" };
	_cleanup_free_ char *scope = answer_text(c, "permissions.scope");
	char path[40];

	if (!scope)
		return;
	fprintf(s->out, "%-8s %s", "may", scope);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof(path), "permissions.%s", names[i]);
		if (answer_true(c, path))
			fprintf(s->out, ", %s", names[i]);
	}
	fputc('\n', s->out);
}

static void why_show(const struct show *s, const struct call *c)
{
	static const char *const keys[] = { "verdict", "layer", "rule", "reason", "hint", "tool", "state", "hash", "profile", "approval" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		_cleanup_free_ char *text = answer_text(c, keys[i]);
		line_show(s, keys[i], text);
	}
	permissions_show(s, c);
}

/* As a call would end. */
static int status_of(const struct call *c)
{
	_cleanup_free_ char *verdict = answer_text(c, "verdict");

	if (verdict && strcmp(verdict, "allow") == 0)
		return 0;
	return outcome_exit_status(verdict && strcmp(verdict, "invalid_arguments") == 0 ? OUTCOME_INVALID_ARGUMENTS : OUTCOME_DENIED);
}

static int ask(const struct show *s, const struct options *opt, int stop_fd, const struct jbuf *params)
{
	/* As with 'brig profile': a file's rules are looked at by a supervisor of our own. */
	const struct options where = { .socket = opt->socket, .private = opt->private || (!opt->socket && is_file(opt)) };
	_cleanup_(call_done) struct call c;

	call_make(&c, &(struct call_ask){ .method = "why", .params = params->data, .params_len = params->len,
			      .want = opt->admin ? CONNECT_ADMIN : opt->session ? CONNECT_DAEMON : CONNECT_ANY, .opt = &where, .stop_fd = stop_fd });
	if (c.end != CALL_RESULT)
		return call_show_failure(&c, s);
	stop_release();
	if (s->json)
		fprintf(s->out, "%.*s\n", (int)c.result_len, c.result);
	else
		why_show(s, &c);
	return status_of(&c);
}

int cmd_why(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	_cleanup_close_ int stop_fd = stop_open();
	struct err err = { 0 };
	struct jbuf params;
	int status;

	jbuf_init(&params, LIMIT_FRAME_BYTES);
	if (params_make(&params, opt, stop_fd, &err) < 0)
		status = show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	else
		status = ask(&s, opt, stop_fd, &params);
	jbuf_done(&params);
	return show_end(&s, status);
}
