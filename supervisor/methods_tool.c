/* Methods of the registry. Names are one for all; a tool belongs to the uid that created it, over admin.sock all may be changed. */
#include "supervisor/audit_client.h"
#include "supervisor/events.h"
#include "supervisor/narrow.h"
#include "supervisor/registry.h"
#include "supervisor/request.h"
#include "supervisor/reviewed.h"
#include "supervisor/store.h"
#include "supervisor/tool_answer.h"
#include "supervisor/tool_create.h"
#include "supervisor/tool_watch.h"

#include <stdlib.h>
#include <string.h>

static void answer_tool_refused(const struct request *rq, enum outcome outcome, const char *name, const struct err *err)
{
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	tool_answer_refused(&(struct refusal){ .outcome = outcome, .tool = name, .err = err }, &b);
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* The store itself failed. */
static void refuse_store(const struct request *rq, const struct err *err)
{
	request_refuse(rq, RPC_INTERNAL, err);
}

/* ---- list ---- */

struct listing {
	struct core *core;
	struct jbuf b;
	enum tool_format format;
	int state;      /* or -1 */
	bool all;
	const char *sep;
	const struct reviewed *reviewed;
	size_t next;    /* of them */
};

/* Without a word about states: what may be called. */
static bool is_wanted(const struct listing *l, const struct tool *tool)
{
	if (l->state >= 0)
		return (int)tool->state == l->state;
	return l->all || (tool->state != TOOL_QUARANTINED && tool->state != TOOL_REMOVED);
}

static int list_stored(const struct tool *tool, void *arg);

/* Reviewed tools stand among the others, by name. before: NULL, all that are left. */
static int list_reviewed(struct listing *l, const char *before)
{
	const struct tool *tool;

	while ((tool = reviewed_at(l->reviewed, l->next)) && (!before || strcmp(tool->name, before) <= 0)) {
		l->next++;
		if (list_stored(tool, l))
			return 1;
	}
	return 0;
}

static int list_one(const struct tool *tool, void *arg)
{
	return list_reviewed(arg, tool->name) || list_stored(tool, arg);
}

static int list_stored(const struct tool *tool, void *arg)
{
	struct listing *l = arg;
	struct permissions left;
	struct err ignored; /* its profile is gone: it does not run, and nothing is promised */
	bool known;

	if (!is_wanted(l, tool))
		return 0;
	known = l->format == TOOL_FORMAT_MCP && narrow_tool_left(l->core, tool, &left, &ignored) == 0;
	jbuf_text(&l->b, l->sep);
	tool_format_print(tool, l->format, known ? &left : NULL, &l->b);
	l->sep = ",";
	return l->b.failed;
}

/* False: refused already. */
static bool list_words(const struct request *rq, struct listing *l)
{
	size_t len = 0;
	_cleanup_free_ char *format = request_string(rq, "format", &len);
	_cleanup_free_ char *state = request_string(rq, "state", &len);
	int found = format ? tool_format_find(format) : TOOL_FORMAT_NONE;

	if (found < 0) {
		request_refuse_params(rq, "format is openai, anthropic or mcp");
		return false;
	}
	l->format = (enum tool_format)found;
	l->state = state ? tool_state_find(state) : -1;
	l->all = request_true(rq, "all");
	if (state && l->state < 0) {
		request_refuse_params(rq, "state is draft, probation, approved, quarantined or removed");
		return false;
	}
	return true;
}

static void method_list(const struct request *rq)
{
	struct listing l = { .core = rq->core, .sep = "" };
	uint64_t generation = 0;
	struct store *store;
	struct err err;

	if (!list_words(rq, &l))
		return;
	jbuf_init(&l.b, LIMIT_ANSWER_BYTES);
	jbuf_text(&l.b, "{\"tools\":[");
	l.reviewed = reviewed_of(rq->core, &err);
	if (!l.reviewed || store_of(rq->core, &store, &err) < 0 || store_tool_generation(store, &generation, &err) < 0 ||
	    store_tool_each(store, l.all || l.state == TOOL_REMOVED, list_one, &l, &err) < 0) {
		refuse_store(rq, &err);
	} else {
		(void)list_reviewed(&l, NULL);
		jbuf_printf(&l.b, "],\"generation\":%llu}", (unsigned long long)generation);
		request_answer(rq, &l.b);
	}
	jbuf_done(&l.b);
}

/* ---- get ---- */

struct getting {
	const char *name, *hash; /* hash: NULL, the current one */
	unsigned version;        /* 0: not said */
	char found[TOOL_HASH_MAX];
	struct jbuf history;
	unsigned count;
};

static int get_one(const struct tool *t, void *arg)
{
	struct getting *g = arg;

	if (g->version ? t->version == g->version : g->hash && strcmp(t->hash, g->hash) == 0)
		memcpy(g->found, t->hash, sizeof(g->found));
	jbuf_printf(&g->history, "%s{\"version\":%u,\"hash\":\"%s\",\"state\":\"%s\",\"uid\":%u,\"created_ms\":%lld}", g->count++ ? "," : "",
		    t->version, t->hash, tool_state_name(t->state), t->uid, (long long)t->created_ms);
	return g->history.failed;
}

/* The version that was asked for. */
static int get_tool(const struct request *rq, struct getting *g, size_t name_len, struct tool **ret, struct err *err)
{
	struct store *store;
	int r = store_of(rq->core, &store, err);

	if (r == 0)
		r = store_tool_versions(store, g->name, get_one, g, err);
	if (r < 0)
		return r;
	if (!g->version && !g->hash)
		return registry_get(rq->core, g->name, name_len, ret, err);
	if (g->count == 0)
		return registry_unknown(rq->core, g->name, name_len, err);
	r = g->found[0] ? store_tool_by_hash(store, g->found, ret, err) : -ENOENT;
	if (r == -ENOENT) {
		err_set(err, ERR_CALLER, ENOENT, "tool", "tool %.64s has no such version", g->name);
		err_hint(err, "it has %u; without version and hash the current one is shown", g->count);
	}
	return r;
}

static void answer_tool(const struct request *rq, const struct tool *tool, const struct getting *g)
{
	struct jbuf b;

	jbuf_init(&b, LIMIT_ANSWER_BYTES);
	jbuf_text(&b, "{\"tool\":");
	tool_print_whole(tool, &b);
	jbuf_text(&b, ",\"history\":[");
	jbuf_raw(&b, g->history.data ? g->history.data : "", g->history.len);
	jbuf_text(&b, "],\"observed\":");
	tool_watch_print(rq->core, tool, &b);
	jbuf_text(&b, "}");
	request_answer(rq, &b);
	jbuf_done(&b);
}

/* 0 where it is absent or no whole number. */
static unsigned number_of(const struct request *rq, const char *name)
{
	struct slice v;

	return request_find(rq, name, &v) && v.len < 10 && strspn(rq->line + v.at, "0123456789") >= v.len ?
		       (unsigned)strtoul(rq->line + v.at, NULL, 10) :
		       0;
}

static void method_get(const struct request *rq)
{
	size_t name_len = 0, hash_len = 0;
	_cleanup_free_ char *name = request_string(rq, "name", &name_len);
	_cleanup_free_ char *hash = request_string(rq, "hash", &hash_len);
	struct getting g = { .name = name, .hash = hash, .version = number_of(rq, "version") };
	struct tool *tool = NULL;
	struct slice v;
	struct err err;
	int r;

	if (!name) {
		request_refuse_params(rq, "tool.get needs a name (a string)");
		return;
	}
	if (request_find(rq, "version", &v) && (g.version == 0 || hash)) {
		request_refuse_params(rq, hash ? "version and hash exclude each other" : "version is a whole number from 1");
		return;
	}
	jbuf_init(&g.history, ANSWER_TEXT_MAX);
	r = get_tool(rq, &g, name_len, &tool, &err);
	if (r == 0)
		answer_tool(rq, tool, &g);
	else if (r == -ENOENT)
		answer_tool_refused(rq, OUTCOME_INVALID_ARGUMENTS, name, &err);
	else
		refuse_store(rq, &err);
	jbuf_done(&g.history);
	tool_free(tool);
}

/* ---- remove ---- */

static void method_remove(const struct request *rq)
{
	const struct registry_who who = { client_authority(rq->client), client_uid(rq->client) };
	size_t len = 0;
	_cleanup_free_ char *name = request_string(rq, "name", &len);
	enum outcome outcome = OUTCOME_INVALID_ARGUMENTS;
	struct tool *tool = NULL;
	struct err err;
	struct jbuf b;
	int r;

	if (!name) {
		request_refuse_params(rq, "tool.remove needs a name (a string)");
		return;
	}
	r = strlen(name) == len ? registry_may_remove(rq->core, &who, name, &tool, &outcome, &err) : registry_unknown(rq->core, name, len, &err);
	if (r == 0 && !request_recorded_about(rq, AUDIT_TOOL_REMOVE, &(struct audit_about){ .tool = tool->name, .hash = tool->hash })) {
		tool_free(tool);
		return;
	}
	if (r == 0)
		r = registry_remove(rq->core, &who, tool, &outcome, &err);
	if (r < 0) {
		answer_tool_refused(rq, outcome, name, &err);
	} else {
		jbuf_init(&b, ANSWER_TEXT_MAX);
		jbuf_printf(&b, "{\"outcome\":\"ok\",\"name\":\"%s\",\"version\":%u,\"hash\":\"%s\",\"state\":\"removed\"}", tool->name, tool->version,
			    tool->hash);
		request_answer(rq, &b);
		jbuf_done(&b);
	}
	tool_free(tool);
}

/* ---- subscribe ---- */

/* The words of a JSON list; false: one is no event. */
static bool take_events(const struct request *rq, const struct slice *list, unsigned *ret)
{
	size_t at, len, n;
	char path[16];

	*ret = 0;
	for (unsigned i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), "%u", i);
		if (!json_find(rq->line + list->at, list->len, path, &at, &len, NULL))
			return true;
		_cleanup_free_ char *word = json_string_dup(rq->line + list->at + at, len, &n);
		unsigned bit = word ? events_find(word) : 0;
		if (!bit)
			return false;
		*ret |= bit;
	}
	return false;
}

static void method_subscribe(const struct request *rq)
{
	uint64_t generation = 0;
	struct store *store;
	struct slice list;
	unsigned bits;
	struct err err;
	struct jbuf b;

	if (!request_find(rq, "events", &list) || !take_events(rq, &list, &bits)) {
		request_refuse_params(rq, "subscribe needs events, a list of \"tools\" and \"approvals\"; an empty one ends it");
		return;
	}
	/* From here on nothing is missed: the generation is read after the wish is noted. */
	client_events_set(rq->client, bits);
	if (store_of(rq->core, &store, &err) < 0 || store_tool_generation(store, &generation, &err) < 0) {
		client_events_set(rq->client, 0);
		refuse_store(rq, &err);
		return;
	}
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"events\":");
	jbuf_raw(&b, rq->line + list.at, list.len);
	jbuf_printf(&b, ",\"generation\":%llu}", (unsigned long long)generation);
	request_answer(rq, &b);
	jbuf_done(&b);
}

static const struct param params_list[] = { { "format", STRING_FIRST, "a string" },
					    { "state", STRING_FIRST, "a string" },
					    { "all", BOOL_FIRST, "true or false" },
					    { 0 } };
static const struct param params_get[] = { { "name", STRING_FIRST, "a string" },
					   { "version", NUMBER_FIRST, "a number" },
					   { "hash", STRING_FIRST, "a string" },
					   { 0 } };
static const struct param params_remove[] = { { "name", STRING_FIRST, "a string" }, { 0 } };
static const struct param params_subscribe[] = { { "events", "[", "a list" }, { 0 } };

const struct method methods_tool[] = {
	{ "tool.create", method_tool_create, params_tool_create, false },
	{ "tool.list", method_list, params_list, false },
	{ "tool.get", method_get, params_get, false },
	{ "tool.remove", method_remove, params_remove, false },
	{ "subscribe", method_subscribe, params_subscribe, false },
	{ 0 },
};
