/* tools/call: the server's own tools and those of the registry, and the words in which a model hears how a call ended. */
#include "agent/mcp/mcp.h"

#include "agent/text.h"
#include "jail/base/compiler.h"
#include "jail/base/limits.h"

#include <stdlib.h>
#include <string.h>

/* Text for a model: all of it, or its head and tail with the count of what is left out. Cut between characters. */
static void text_block(struct jbuf *b, const char *text, size_t len)
{
	const size_t half = MCP_TEXT_MAX / 2;
	char note[96];
	struct jbuf cut;

	jbuf_text(b, "{\"type\":\"text\",\"text\":");
	if (len <= MCP_TEXT_MAX) {
		jbuf_string(b, text, len);
	} else {
		size_t head = half, tail = len - half;

		while (((unsigned char)text[head] & 0xc0) == 0x80)
			head--;
		while (tail < len && ((unsigned char)text[tail] & 0xc0) == 0x80)
			tail++;
		snprintf(note, sizeof(note), "\n... %zu of %zu bytes are left out here ...\n", tail - head, len);
		jbuf_init(&cut, MCP_TEXT_MAX + sizeof(note));
		jbuf_raw(&cut, text, head);
		jbuf_text(&cut, note);
		jbuf_raw(&cut, text + tail, len - tail);
		jbuf_string(b, cut.data ?: "", cut.len);
		jbuf_done(&cut);
	}
	jbuf_text(b, "}");
}

static void finish_text(struct mcp_request *r, const char *text, size_t len, bool is_error)
{
	struct jbuf b;

	mcp_result_begin(r, &b);
	jbuf_text(&b, "\"content\":[");
	text_block(&b, text, len);
	jbuf_printf(&b, "],\"isError\":%s", is_error ? "true" : "false");
	mcp_result_end(r, &b);
}

static void add_part(struct jbuf *b, const char *result, size_t len, const char *path, const char *before, const char *after)
{
	size_t n;
	_cleanup_free_ char *text = text_find(result, len, path, &n);

	if (!text || !*text)
		return;
	jbuf_text(b, before);
	jbuf_raw(b, text, n);
	jbuf_text(b, after);
}

/* "tool_error: the tool raised an error. ZeroDivisionError: division by zero, line 2. HINT" */
static void finish_failure(struct mcp_request *r, const char *result, size_t len)
{
	size_t at, n;
	struct jbuf b;

	jbuf_init(&b, LIMIT_ANSWER_BYTES);
	add_part(&b, result, len, "outcome", "", "");
	add_part(&b, result, len, "cause.what", ": ", ".");
	add_part(&b, result, len, "error.type", " ", "");
	add_part(&b, result, len, "error.message", ": ", "");
	if (json_find(result, len, "error.line", &at, &n, NULL)) {
		jbuf_text(&b, ", line ");
		jbuf_raw(&b, result + at, n);
	}
	add_part(&b, result, len, "cause.rule", " Rule: ", ".");
	add_part(&b, result, len, "cause.evidence.approval_id", " Approval id: ", ": a person has to decide; then make the same call again.");
	add_part(&b, result, len, "cause.hint", " Hint: ", ".");
	add_part(&b, result, len, "stdout.text", "\nstdout:\n", "");
	add_part(&b, result, len, "stderr.text", "\nstderr:\n", "");
	finish_text(r, b.data ?: "", b.len, true);
	jbuf_done(&b);
}

static bool outcome_is_ok(const char *result, size_t len)
{
	_cleanup_free_ char *outcome = text_find(result, len, "outcome", NULL);

	return outcome && strcmp(outcome, "ok") == 0;
}

static void on_call(struct mcp_request *r, const char *result, size_t len)
{
	size_t at, n, text_len;
	struct jbuf b;

	if (!outcome_is_ok(result, len) || !json_find(result, len, "result", &at, &n, NULL)) {
		finish_failure(r, result, len);
		return;
	}
	_cleanup_free_ char *text = text_find(result, len, "result", &text_len);

	if (text) {
		finish_text(r, text, text_len, false);
		return;
	}
	mcp_result_begin(r, &b);
	jbuf_text(&b, "\"content\":[");
	text_block(&b, result + at, n);
	jbuf_text(&b, "],\"isError\":false");
	if (n <= MCP_TEXT_MAX && (r->modern || (!r->mcp->no_structure && result[at] == '{'))) {
		jbuf_text(&b, ",\"structuredContent\":");
		jbuf_raw(&b, result + at, n);
	}
	mcp_result_end(r, &b);
}

static void on_created(struct mcp_request *r, const char *result, size_t len)
{
	struct jbuf b;

	if (!outcome_is_ok(result, len)) {
		finish_failure(r, result, len);
		return;
	}
	jbuf_init(&b, 64u << 10);
	add_part(&b, result, len, "name", "The tool ", "");
	add_part(&b, result, len, "state", " is there now (", "). Call it by its name");
	add_part(&b, result, len, "name", ", or with call_tool and the name ", ".");
	finish_text(r, b.data ?: "", b.len, false);
	jbuf_done(&b);
}

static void on_removed(struct mcp_request *r, const char *result, size_t len)
{
	size_t at, n;

	/* A refusal has an outcome of its own; the plain answer has none. */
	if (json_find(result, len, "outcome", &at, &n, NULL) && !outcome_is_ok(result, len))
		finish_failure(r, result, len);
	else
		finish_text(r, "The tool is removed.", strlen("The tool is removed."), false);
}

static void on_listed(struct mcp_request *r, const char *result, size_t len)
{
	size_t at, n;

	if (json_find(result, len, "tools", &at, &n, NULL))
		finish_text(r, result + at, n, false);
	else
		finish_text(r, "[]", 2, false);
}

/* What models call the members of create_tool elsewhere, and what they are called here. */
static const char *const create_keys[][2] = {
	{ "name", "name" }, { "description", "description" }, { "parameters", "parameters" }, { "input_schema", "parameters" },
	{ "inputSchema", "parameters" }, { "body", "body" }, { "code", "body" }, { "permissions", "permissions" }, { "profile", "profile" },
	{ "replace", "replace" },
};

static const char *create_key(const char *key, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(create_keys); i++)
		if (strlen(create_keys[i][0]) == len && memcmp(create_keys[i][0], key, len) == 0)
			return create_keys[i][1];
	return NULL;
}

static void create_tool(struct mcp_request *r, const struct slice *args)
{
	struct json_member m;
	size_t at = 0;
	char sep = '{';
	struct jbuf b;

	jbuf_init(&b, LIMIT_FRAME_BYTES);
	while (json_member_next(args->at, args->len, &at, &m)) {
		const char *key = create_key(args->at + m.key, m.key_len);

		/* A member that is not known goes on as it is, and the supervisor refuses it by name. */
		jbuf_printf(&b, "%c\"", sep);
		jbuf_raw(&b, key ?: args->at + m.key, key ? strlen(key) : m.key_len);
		jbuf_text(&b, "\":");
		jbuf_raw(&b, args->at + m.value, m.value_len);
		sep = ',';
	}
	jbuf_text(&b, sep == '{' ? "{}" : "}");
	mcp_ask(r, "tool.create", &b, on_created);
	jbuf_done(&b);
}

static void remove_tool(struct mcp_request *r, const struct slice *args)
{
	struct jbuf b;

	jbuf_init(&b, LIMIT_FRAME_BYTES);
	jbuf_raw(&b, args->at, args->len);
	mcp_ask(r, "tool.remove", &b, on_removed);
	jbuf_done(&b);
}

static void list_my_tools(struct mcp_request *r, const struct slice *args UNUSED)
{
	struct jbuf b;

	jbuf_init(&b, 64);
	jbuf_text(&b, "{\"format\":\"anthropic\"}");
	mcp_ask(r, "tool.list", &b, on_listed);
	jbuf_done(&b);
}

/* name and args: raw. */
static void call_authored(struct mcp_request *r, const struct slice *name, const struct slice *args)
{
	struct jbuf b;

	jbuf_init(&b, LIMIT_FRAME_BYTES);
	jbuf_text(&b, "{\"name\":");
	jbuf_raw(&b, name->at, name->len);
	jbuf_text(&b, ",\"args\":");
	jbuf_raw(&b, args->at, args->len);
	jbuf_text(&b, ",\"stream\":true}");
	mcp_ask(r, "call", &b, on_call);
	jbuf_done(&b);
}

static bool arguments_find(const char *json, size_t len, struct slice *name, struct slice *args)
{
	size_t at, n;

	if (!json_find(json, len, "name", &at, &n, NULL) || json[at] != '"')
		return false;
	*name = (struct slice){ json + at, n };
	*args = (struct slice){ "{}", 2 };
	if (json_find(json, len, "arguments", &at, &n, NULL))
		*args = (struct slice){ json + at, n };
	return args->at[0] == '{';
}

static void call_tool(struct mcp_request *r, const struct slice *args)
{
	static const char wrong[] = "invalid_arguments: call_tool takes name, a string, and arguments, an object";
	struct slice name, inner;

	if (arguments_find(args->at, args->len, &name, &inner))
		call_authored(r, &name, &inner);
	else
		finish_text(r, wrong, sizeof(wrong) - 1, true);
}

static const struct {
	const char *name;
	void (*run)(struct mcp_request *r, const struct slice *args);
} own[] = { { "create_tool", create_tool }, { "remove_tool", remove_tool }, { "list_my_tools", list_my_tools }, { "call_tool", call_tool } };

void mcp_tools_call(struct mcp_request *r, const struct mcp_message *msg)
{
	struct slice name, args;

	if (!msg->params.at || !arguments_find(msg->params.at, msg->params.len, &name, &args)) {
		mcp_error(r->mcp, r->id, strlen(r->id), RPC_INVALID_PARAMS, "tools/call takes name, a string, and arguments, an object", NULL);
		mcp_request_free(r);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strlen(own[i].name) + 2 == name.len && memcmp(own[i].name, name.at + 1, name.len - 2) == 0) {
			own[i].run(r, &args);
			return;
		}
	call_authored(r, &name, &args);
}
