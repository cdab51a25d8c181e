#include "supervisor/tool_answer.h"

#include <stdio.h>
#include <string.h>

/* A name that is refused for its length is not shown whole. */
#define SHOWN_NAME_MAX 80
/* A body has at most a million lines. */
#define LINE_DIGITS 7

static bool number_at(const struct refusal *r, const char *key, const char **ret, size_t *ret_len)
{
	size_t at;

	if (!r->error || !json_find(r->error, r->error_len, key, &at, ret_len, NULL) || *ret_len > LINE_DIGITS ||
	    strspn(r->error + at, "0123456789") < *ret_len)
		return false;
	*ret = r->error + at;
	return true;
}

static void number_print(const struct refusal *r, const char *key, struct jbuf *b)
{
	const char *digits;
	size_t len;

	if (number_at(r, key, &digits, &len))
		jbuf_printf(b, ",\"%s\":%.*s", key, (int)len, digits);
}

/* A string of the body's own error; NULL: none. */
static char *error_text(const struct refusal *r, const char *key)
{
	size_t at, len, n = 0;

	return r->error && json_find(r->error, r->error_len, key, &at, &len, NULL) ? json_string_dup(r->error + at, len, &n) : NULL;
}

static void what_print(const struct refusal *r, const char *type, const char *message, struct jbuf *b)
{
	const char *digits;
	size_t len;
	struct jbuf what;

	jbuf_init(&what, 64u << 10);
	if (type) {
		jbuf_printf(&what, "the body was refused: %s: %s", type, message);
		if (number_at(r, "line", &digits, &len))
			jbuf_printf(&what, " (line %.*s", (int)len, digits);
		else
			digits = NULL;
		if (digits && number_at(r, "column", &digits, &len))
			jbuf_printf(&what, ", column %.*s", (int)len, digits);
		jbuf_text(&what, digits ? ")" : "");
	} else {
		jbuf_text(&what, r->err->detail);
	}
	jbuf_cstring(b, what.failed ? "the tool was refused" : what.data);
	jbuf_done(&what);
}

void tool_answer_refused(const struct refusal *r, struct jbuf *b)
{
	_cleanup_free_ char *type = error_text(r, "type");
	_cleanup_free_ char *message = error_text(r, "message");

	jbuf_text(b, "{\"tool\":");
	if (r->tool)
		jbuf_string(b, r->tool, strnlen(r->tool, SHOWN_NAME_MAX));
	else
		jbuf_text(b, "null");
	jbuf_text(b, ",\"profile\":");
	if (r->profile)
		jbuf_cstring(b, r->profile);
	else
		jbuf_text(b, "null");
	jbuf_printf(b, ",\"outcome\":\"%s\"", outcome_name(r->outcome));
	if (r->outcome == OUTCOME_INVALID_ARGUMENTS) {
		jbuf_text(b, ",\"error\":{\"type\":");
		jbuf_cstring(b, type ? type : r->err->where);
		jbuf_text(b, ",\"message\":");
		jbuf_cstring(b, type ? (message ? message : "") : r->err->detail);
		number_print(r, "line", b);
		number_print(r, "column", b);
		jbuf_text(b, ",\"traceback\":[]}");
	}
	jbuf_text(b, ",\"cause\":{\"what\":");
	what_print(r, type, message ? message : "", b);
	jbuf_text(b, ",\"evidence\":{\"guardrail\":");
	jbuf_cstring(b, r->err->where);
	jbuf_text(b, "}");
	if (r->err->hint[0]) {
		jbuf_text(b, ",\"hint\":");
		jbuf_cstring(b, r->err->hint);
	}
	jbuf_printf(b, ",\"final\":%s},\"limits_hit\":[]}", r->outcome == OUTCOME_INTERNAL_ERROR ? "false" : "true");
}

/* ---- tools ---- */

static void optional_print(const char *key, const char *text, struct jbuf *b)
{
	if (!text || !text[0])
		return;
	jbuf_printf(b, ",\"%s\":", key);
	jbuf_cstring(b, text);
}

static void members_print(const struct tool *t, struct jbuf *b)
{
	jbuf_printf(b, "\"name\":\"%s\",\"version\":%u,\"state\":\"%s\",\"hash\":\"%s\",\"profile\":", t->name, t->version,
		    tool_state_name(t->state), t->hash);
	jbuf_cstring(b, t->profile);
	jbuf_text(b, ",\"permissions\":");
	permissions_print(&t->declared, b);
	jbuf_printf(b, ",\"inferred\":%s,\"reviewed\":%s,\"uid\":%u,\"created_ms\":%lld,\"kernel_denials\":%u", t->inferred ? "true" : "false",
		    t->reviewed ? "true" : "false", t->uid, (long long)t->created_ms, t->kernel_denials);
	optional_print("session", t->session, b);
	optional_print("user_id", t->user_id, b);
	optional_print("why", t->why, b);
	jbuf_text(b, ",\"description\":");
	jbuf_cstring(b, t->description);
}

void tool_print(const struct tool *t, struct jbuf *b)
{
	jbuf_text(b, "{");
	members_print(t, b);
	jbuf_text(b, "}");
}

void tool_print_whole(const struct tool *t, struct jbuf *b)
{
	jbuf_text(b, "{");
	members_print(t, b);
	optional_print("profile_text", t->profile_text, b);
	jbuf_printf(b, ",\"parameters\":%s,\"body\":", t->parameters);
	jbuf_cstring(b, t->body);
	jbuf_text(b, "}");
}
