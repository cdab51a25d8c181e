#include "agent/mcp/mcp_message.h"

#include "jail/base/compiler.h"
#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RPC_PARSE   (-32700)
#define RPC_REQUEST (-32600)

static bool slice_find(const char *text, size_t len, const char *path, struct slice *ret)
{
	size_t at, n;

	*ret = (struct slice){ 0 };
	if (!json_find(text, len, path, &at, &n, NULL))
		return false;
	*ret = (struct slice){ text + at, n };
	return true;
}

/* The string, decoded; "" where it is none, or longer than fits. */
static void word_copy(const struct slice *raw, char *ret, size_t cap)
{
	size_t len;
	_cleanup_free_ char *text = raw->at && raw->at[0] == '"' ? json_string_dup(raw->at, raw->len, &len) : NULL;

	ret[0] = '\0';
	if (text && len < cap && strlen(text) == len)
		memcpy(ret, text, len + 1);
}

static void broken(struct mcp_message *m, int code, const char *why)
{
	m->kind = MCP_BROKEN;
	m->code = code;
	snprintf(m->why, sizeof(m->why), "%s", why);
}

/* A member of _meta: its keys hold dots, so json_find() cannot name them. */
static void meta_read(struct mcp_message *m, const struct slice *meta)
{
	static const char prefix[] = "io.modelcontextprotocol/";
	struct json_member at_member;
	size_t at = 0;

	if (!meta->at || meta->at[0] != '{')
		return;
	while (json_member_next(meta->at, meta->len, &at, &at_member)) {
		const char *key = meta->at + at_member.key;
		size_t n = at_member.key_len;
		struct slice value = { meta->at + at_member.value, at_member.value_len };

		if (n == 13 && memcmp(key, "progressToken", n) == 0 && value.at[0] != 'n')
			m->progress_token = value;
		if (n < sizeof(prefix) || memcmp(key, prefix, sizeof(prefix) - 1) != 0)
			continue;
		key += sizeof(prefix) - 1;
		n -= sizeof(prefix) - 1;
		if (n == 15 && memcmp(key, "protocolVersion", n) == 0) {
			m->modern = true;
			word_copy(&value, m->version, sizeof(m->version));
		} else if (n == 18 && memcmp(key, "clientCapabilities", n) == 0 && value.at[0] == '{') {
			m->capabilities = value;
		}
	}
}

/* JSON-RPC 2.0: an id is a string or a number; MCP takes no null. */
static bool id_is_good(const struct slice *id)
{
	return id->len <= 256 && (id->at[0] == '"' || id->at[0] == '-' || (id->at[0] >= '0' && id->at[0] <= '9'));
}

void mcp_message_read(const char *text, size_t len, struct mcp_message *ret)
{
	struct slice method, version, meta, result;
	struct json_error je;
	char word[8];

	*ret = (struct mcp_message){ .kind = MCP_REQUEST };
	if (json_check(text, len, 0, LIMIT_JSON_DEPTH + 8, &je) < 0) {
		broken(ret, RPC_PARSE, je.what);
		return;
	}
	size_t blank = strspn(text, " \t\r\n");

	text += blank;
	len -= blank;
	if (text[0] == '[') {
		ret->kind = MCP_BATCH;
		return;
	}
	if (text[0] != '{') {
		broken(ret, RPC_REQUEST, "a message is a JSON object");
		return;
	}
	bool has_id = slice_find(text, len, "id", &ret->id), has_method = slice_find(text, len, "method", &method);

	if (has_id && !id_is_good(&ret->id)) {
		ret->id = (struct slice){ 0 };
		broken(ret, RPC_REQUEST, "id is neither a string nor a number, or is too long");
		return;
	}
	slice_find(text, len, "jsonrpc", &version);
	word_copy(&version, word, sizeof(word));
	if (strcmp(word, "2.0") != 0) {
		broken(ret, RPC_REQUEST, "jsonrpc is not \"2.0\"");
	} else if (has_id && !has_method && (slice_find(text, len, "result", &result) || slice_find(text, len, "error", &result))) {
		ret->kind = MCP_RESPONSE;
	} else if (!has_method || method.at[0] != '"') {
		broken(ret, RPC_REQUEST, "method is missing, or no string");
	} else if (slice_find(text, len, "params", &ret->params) && ret->params.at[0] != '{') {
		broken(ret, RPC_REQUEST, "params is no object");
	} else {
		ret->kind = has_id ? MCP_REQUEST : MCP_NOTIFICATION;
		word_copy(&method, ret->method, sizeof(ret->method));
		slice_find(text, len, "params._meta", &meta);
		meta_read(ret, &meta);
	}
}
