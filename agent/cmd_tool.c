/* brig tool: the registry, from the command line. */
#include "agent/cmd.h"
#include "agent/cmd_tool.h"
#include "agent/nearest.h"
#include "agent/question.h"
#include "agent/table.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>
#include <time.h>

/* What --parameters and --permissions may hold before a supervisor judges them. */
#define JSON_MAX (1u << 20)

static int refuse_usage(const struct show *s, const struct err *err)
{
	return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, err);
}

/* ---- create ---- */

static int bytes_of(const char *text, struct bytes *ret)
{
	ret->data = strdup(text);
	ret->len = strlen(text);
	return ret->data ? 0 : -ENOMEM;
}

/* JSON, or @FILE that holds it. */
static int json_option(const struct show *s, const char *name, const char *value, struct bytes *ret)
{
	struct err err = { 0 };
	int r;

	if (!value)
		return 0;
	r = value[0] == '@' ? file_read(value + 1, JSON_MAX, ret, &err) : bytes_of(value, ret);
	if (r < 0)
		return refuse_usage(s, &err);
	return tool_json_prove(s, name, ret);
}

static int body_option(const struct show *s, const char *value, struct bytes *ret)
{
	struct err err = { 0 };
	/* Of more than that a supervisor would say so too, but the request could not carry it. */
	int r = strcmp(value, "-") == 0 ? file_read_stream(STDIN_FILENO, -1, "standard input", LIMIT_BODY_BYTES, ret, &err) :
					  file_read(value, LIMIT_BODY_BYTES, ret, &err);

	if (r < 0 && r != -EFBIG)
		return refuse_usage(s, &err);
	if (r == 0)
		r = file_check_text(value, ret, &err);
	return r < 0 ? show_failure(s, OUTCOME_INVALID_ARGUMENTS, outcome_exit_status(OUTCOME_INVALID_ARGUMENTS), &err) : 0;
}

static int profile_option(const struct show *s, const char *value, struct tool_parts *p)
{
	struct err err = { 0 };

	if (!value)
		return 0;
	if (bytes_of(value, &p->profile) < 0)
		return EXIT_USAGE;
	return file_is_profile(value) && file_read_profile(value, &p->profile_text, &err) < 0 ? refuse_usage(s, &err) : 0;
}

static int create_from_options(const struct show *s, const struct options *opt)
{
	_cleanup_(tool_parts_done) struct tool_parts p = { 0 };
	struct err err = { 0 };
	int status;

	if (!opt->name || !opt->description || !opt->parameters || !opt->body) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "'tool create' needs --name, --description, --parameters and --body");
		err_hint(&err, "or the folder of an exported tool: 'brig tool create DIR'");
		return refuse_usage(s, &err);
	}
	if (bytes_of(opt->name, &p.name) < 0 || bytes_of(opt->description, &p.description) < 0)
		return EXIT_USAGE;
	status = json_option(s, "--parameters", opt->parameters, &p.parameters);
	if (!status)
		status = json_option(s, "--permissions", opt->permissions, &p.permissions);
	if (!status)
		status = body_option(s, opt->body, &p.body);
	if (!status)
		status = profile_option(s, opt->profile, &p);
	return status ? status : tool_create(s, opt, &p);
}

static int do_create(const struct show *s, const struct options *opt)
{
	_cleanup_(tool_parts_done) struct tool_parts p = { 0 };
	struct err err = { 0 };

	if (opt->operands < 2)
		return create_from_options(s, opt);
	if (opt->name || opt->description || opt->parameters || opt->body || opt->permissions || opt->profile) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "'tool create DIR' takes everything from the folder");
		return refuse_usage(s, &err);
	}
	if (tool_folder_read(opt->operand[1], &p, &err) < 0)
		return refuse_usage(s, &err);
	return tool_create(s, opt, &p);
}

/* ---- list, show, remove ---- */

static int ask_and_show(const struct show *s, const struct options *opt, const char *method, const struct jbuf *params,
			void (*show)(const struct show *s, const struct call *c, const struct options *opt))
{
	_cleanup_(call_done) struct call c = { 0 };
	int status;

	if (!tool_ask(&c, s, opt, method, params, &status) || tool_refused(&c, s, &status))
		return status;
	if (opt->json)
		fprintf(s->out, "%.*s\n", (int)c.result_len, c.result);
	else
		show(s, &c, opt);
	return 0;
}

static void listed_show(const struct show *s, const struct call *c, const struct options *opt)
{
	static const struct table_column columns[] = {
		{ "NAME", "name", 22, TABLE_TEXT },	   { "VER", "version", 3, TABLE_NUMBER }, { "STATE", "state", 11, TABLE_TEXT },
		{ "PROFILE", "profile", 10, TABLE_TEXT }, { "DESCRIPTION", "description", 26, TABLE_TEXT }, { 0 },
	};
	size_t start, len;

	if (opt->format && json_find(c->result, c->result_len, "tools", &start, &len, NULL))
		fprintf(s->out, "%.*s\n", (int)len, c->result + start);
	else if (table_show(s->out, c->result, c->result_len, "tools", columns) == 0)
		fputs("there are no tools\n", s->out);
}

static void string_add(struct jbuf *b, const char *key, const char *value)
{
	if (!value)
		return;
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	jbuf_cstring(b, value);
}

static int do_list(const struct show *s, const struct options *opt)
{
	struct jbuf params;
	int status;

	jbuf_init(&params, LIMIT_FRAME_BYTES);
	jbuf_text(&params, "{");
	string_add(&params, "format", opt->format);
	if (opt->all)
		jbuf_printf(&params, "%s\"all\":true", params.len > 1 ? "," : "");
	jbuf_text(&params, "}");
	status = ask_and_show(s, opt, "tool.list", &params, listed_show);
	jbuf_done(&params);
	return status;
}

static void block_show(FILE *out, const struct call *c, const char *title, const char *path)
{
	size_t n = 0;
	_cleanup_free_ char *text = text_find(c->result, c->result_len, path, &n);
	struct jbuf b;

	if (!text)
		return;
	jbuf_init(&b, 10 * n + 64);
	text_escape(&b, text, n, TEXT_BLOCK);
	fprintf(out, "%s%.*s%s", title, (int)b.len, b.data ? b.data : "", n && text[n - 1] == '\n' ? "" : "\n");
	jbuf_done(&b);
}

/* A raw value, on one line. */
static void raw_show(FILE *out, const struct call *c, const char *title, const char *path)
{
	size_t start, n;
	struct jbuf b;

	if (!json_find(c->result, c->result_len, path, &start, &n, NULL))
		return;
	jbuf_init(&b, 10 * n + 64);
	text_escape(&b, c->result + start, n, TEXT_LINE);
	fprintf(out, "%s%.*s\n", title, (int)b.len, b.data ? b.data : "");
	jbuf_done(&b);
}

static void time_show(FILE *out, double ms)
{
	time_t t = (time_t)(ms / 1000);
	char text[32] = "?";
	struct tm tm;

	if (gmtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	fputs(text, out);
}

static void shown_show(const struct show *s, const struct call *c, const struct options *opt UNUSED)
{
	static const struct table_column columns[] = {
		{ "VER", "version", 3, TABLE_NUMBER }, { "STATE", "state", 11, TABLE_TEXT }, { "UID", "uid", 10, TABLE_NUMBER },
		{ "HASH", "hash", 26, TABLE_TEXT },    { 0 },
	};

	block_show(s->out, c, "name:         ", "tool.name");
	raw_show(s->out, c, "version:      ", "tool.version");
	block_show(s->out, c, "state:        ", "tool.state");
	block_show(s->out, c, "why:          ", "tool.why");
	block_show(s->out, c, "profile:      ", "tool.profile");
	fputs("permissions:  ", s->out);
	tool_permissions_print(s->out, c->result, c->result_len, "tool.permissions");
	fputs("\ncreated:      ", s->out);
	if (answer_true(c, "tool.reviewed")) {
		fputs("ships with Brig, reviewed\n", s->out);
	} else {
		time_show(s->out, answer_number(c, "tool.created_ms"));
		fprintf(s->out, " by uid %.0f\n", answer_number(c, "tool.uid"));
	}
	block_show(s->out, c, "hash:         ", "tool.hash");
	raw_show(s->out, c, "observed:     ", "observed");
	block_show(s->out, c, "description:  ", "tool.description");
	raw_show(s->out, c, "parameters:   ", "tool.parameters");
	block_show(s->out, c, "\n", "tool.body");
	fputc('\n', s->out);
	(void)table_show(s->out, c->result, c->result_len, "history", columns);
}

static int do_show(const struct show *s, const struct options *opt)
{
	struct jbuf params;
	struct err err = { 0 };
	int status;

	if (opt->version && (strspn(opt->version, "0123456789") != strlen(opt->version) || !opt->version[0] || strlen(opt->version) > 9)) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "--version takes a number");
		return refuse_usage(s, &err);
	}
	jbuf_init(&params, LIMIT_FRAME_BYTES);
	jbuf_text(&params, "{");
	string_add(&params, "name", opt->operand[1]);
	if (opt->version) /* a leading zero is no JSON */
		jbuf_printf(&params, ",\"version\":%lu", strtoul(opt->version, NULL, 10));
	jbuf_text(&params, "}");
	status = ask_and_show(s, opt, "tool.get", &params, shown_show);
	jbuf_done(&params);
	return status;
}

static void removed_show(const struct show *s, const struct call *c, const struct options *opt UNUSED)
{
	_cleanup_free_ char *name = answer_text(c, "name");

	fprintf(s->out, "%s is removed; its versions are kept: 'brig tool list --all'\n", name ? name : "?");
}

static int do_remove(const struct show *s, const struct options *opt)
{
	struct jbuf params;
	int status;

	jbuf_init(&params, LIMIT_FRAME_BYTES);
	jbuf_text(&params, "{");
	string_add(&params, "name", opt->operand[1]);
	jbuf_text(&params, "}");
	status = ask_and_show(s, opt, "tool.remove", &params, removed_show);
	jbuf_done(&params);
	return status;
}

/* ---- which of them ---- */

static const struct action {
	const char *name;
	int (*run)(const struct show *s, const struct options *opt);
	unsigned min, max; /* operands, its name included */
	const char *needs;
} actions[] = {
	{ "create", do_create, 1, 2, NULL },
	{ "list", do_list, 1, 1, NULL },
	{ "show", do_show, 2, 2, "a tool, as 'brig tool list' shows them" },
	{ "remove", do_remove, 2, 2, "a tool, as 'brig tool list' shows them" },
	{ "promote", tool_state_change, 2, 2, "a tool, as 'brig tool list' shows them" },
	{ "quarantine", tool_state_change, 2, 2, "a tool, as 'brig tool list' shows them" },
	{ "restore", tool_state_change, 2, 2, "a tool, as 'brig tool list' shows them" },
	{ "export", tool_export, 2, 3, "a tool and a folder, or --all and a folder" },
	{ "import", tool_import, 2, 2, "a folder that 'brig tool export' made" },
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
	err_set(err, ERR_CALLER, EINVAL, "command line", "'tool' has no %s", shown);
	if (near.best)
		err_hint(err, "did you mean '%s'?", near.best);
	else
		err_hint(err, "'brig tool --help' lists what there is");
	return NULL;
}

static int action_check(const struct action *a, const struct options *opt, struct err *err)
{
	if (opt->operands < a->min)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'tool %s' needs %s", a->name, a->needs);
	if (opt->operands > a->max)
		return err_set(err, ERR_CALLER, EINVAL, "command line", "'tool %s' takes no further argument", a->name);
	return 0;
}

int cmd_tool(const struct options *opt)
{
	const struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	struct err err = { 0 };
	const struct action *a = action_find(opt->operand[0], &err);

	if (!a || action_check(a, opt, &err) < 0)
		return show_end(&s, refuse_usage(&s, &err));
	return show_end(&s, a->run(&s, opt));
}
