/* tool.create, from its parts to what people see of the answer. */
#include "agent/cmd_tool.h"

#include "agent/stop.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

void tool_parts_done(struct tool_parts *p)
{
	bytes_done(&p->name);
	bytes_done(&p->description);
	bytes_done(&p->body);
	bytes_done(&p->parameters);
	bytes_done(&p->permissions);
	bytes_done(&p->profile);
	bytes_done(&p->profile_text);
}

bool tool_ask(struct call *c, const struct show *s, const struct options *opt, const char *method, const struct jbuf *params, int *ret_status)
{
	_cleanup_close_ int stop_fd = stop_open();

	call_make(c, &(struct call_ask){ .method = method, .params = params->data ? params->data : "", .params_len = params->len,
			     .want = opt->admin ? CONNECT_ADMIN : CONNECT_ANY, .opt = opt, .stop_fd = stop_fd, .progress = "asking" });
	if (c->end == CALL_RESULT)
		return true;
	*ret_status = call_show_failure(c, s);
	return false;
}

bool tool_refused(const struct call *c, const struct show *s, int *ret_status)
{
	_cleanup_free_ char *outcome = text_find(c->result, c->result_len, "outcome", NULL);

	if (!outcome || strcmp(outcome, "ok") == 0)
		return false;
	*ret_status = show_result(s, c->result, c->result_len);
	return true;
}

int tool_json_prove(const struct show *s, const char *what, struct bytes *text)
{
	struct json_error je;
	struct err err = { 0 };

	if (json_check(text->data, text->len, 0, LIMIT_JSON_DEPTH, &je) < 0) {
		err_set(&err, ERR_CALLER, EINVAL, what, "%s is no JSON: line %u, column %u: %s", what, je.line, je.column, je.what);
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, outcome_exit_status(OUTCOME_INVALID_ARGUMENTS), &err);
	}
	/* A request is one line. Proven JSON has new lines only between tokens, where a blank means the same. */
	for (size_t i = 0; i < text->len; i++)
		if (text->data[i] == '\n' || text->data[i] == '\r')
			text->data[i] = ' ';
	return 0;
}

static void member(struct jbuf *b, const char *key, const struct bytes *value, bool raw)
{
	if (!value->data)
		return;
	jbuf_printf(b, "%s\"%s\":", b->len > 1 ? "," : "", key);
	if (raw)
		jbuf_raw(b, value->data, value->len);
	else
		jbuf_string(b, value->data, value->len);
}

static void create_params(struct jbuf *b, const struct options *opt, const struct tool_parts *p)
{
	jbuf_init(b, LIMIT_FRAME_BYTES);
	jbuf_text(b, "{");
	member(b, "name", &p->name, false);
	member(b, "description", &p->description, false);
	member(b, "parameters", &p->parameters, true);
	member(b, "permissions", &p->permissions, true);
	member(b, "body", &p->body, false);
	member(b, p->profile_text.data ? "profile_path" : "profile", &p->profile, false);
	member(b, "profile_text", &p->profile_text, false);
	if (opt->replace)
		jbuf_text(b, ",\"replace\":true");
	if (opt->best_effort)
		jbuf_text(b, ",\"best_effort\":true");
	jbuf_text(b, "}");
}

void tool_permissions_print(FILE *out, const char *json, size_t len, const char *path)
{
	static const char *const names[] = { "filesystem", "network", "subprocess", "write" };
	const char *sep = "";
	char at[64];
	size_t start, n;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(at, sizeof(at), "%s.%s", path, names[i]);
		if (!json_find(json, len, at, &start, &n, NULL) || json[start] != 't')
			continue;
		fprintf(out, "%s%s", sep, names[i]);
		sep = ", ";
	}
	snprintf(at, sizeof(at), "%s.scope", path);
	_cleanup_free_ char *scope = text_find(json, len, at, NULL);
	char shown[64];
	text_quote(shown, sizeof(shown), scope ? scope : "?");
	fprintf(out, "%s; scope %s", *sep ? "" : "none", shown);
}

static void created_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *name = text_find(c->result, c->result_len, "name", NULL);
	_cleanup_free_ char *state = text_find(c->result, c->result_len, "state", NULL);
	_cleanup_free_ char *profile = text_find(c->result, c->result_len, "profile", NULL);
	size_t start, n = 0;
	char path[32], shown[80];

	bool numbered = json_find(c->result, c->result_len, "version", &start, &n, NULL);
	text_quote(shown, sizeof(shown), profile ? profile : "?");
	fprintf(s->out, "%s version %.*s (%s): profile %s, permissions: ", name ? name : "?", numbered ? (int)n : 0, c->result + start,
		state ? state : "?", shown);
	tool_permissions_print(s->out, c->result, c->result_len, "permissions");
	fputc('\n', s->out);
	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "warnings.%u", i);
		_cleanup_free_ char *text = text_find(c->result, c->result_len, path, &n);
		struct jbuf b;
		if (!text)
			return;
		jbuf_init(&b, 10 * n + 64);
		text_escape(&b, text, n, TEXT_LINE);
		fprintf(s->err, "brig: note: %.*s\n", (int)b.len, b.data ? b.data : "");
		jbuf_done(&b);
	}
}

int tool_create(const struct show *s, const struct options *opt, const struct tool_parts *p)
{
	_cleanup_(call_done) struct call c = { 0 };
	struct jbuf params;
	int status;

	create_params(&params, opt, p);
	bool asked = tool_ask(&c, s, opt, "tool.create", &params, &status);
	jbuf_done(&params);
	if (!asked || tool_refused(&c, s, &status))
		return status;
	if (s->json)
		fprintf(s->out, "%.*s\n", (int)c.result_len, c.result);
	else
		created_show(s, &c);
	return 0;
}
