/* Methods that show questions and take a person's word about them. Who came over agent.sock sees his own and decides none. */
#include "supervisor/approvals.h"
#include "supervisor/request.h"
#include "supervisor/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A beginning of an id is enough for a person. */
#define PREFIX_MIN 6
#define LIST_MAX 1000u
/* Arguments longer than this are in approval.get alone. */
#define LIST_ARGS_MAX 1024u

static bool is_theirs(const struct request *rq, const struct approval *a)
{
	return client_authority(rq->client) != AUTHORITY_AGENT || a->uid == client_uid(rq->client);
}

static void refuse(const struct request *rq, int r, const struct err *err)
{
	request_refuse(rq, r == -EPERM ? RPC_AUTHORITY : r == -ESTALE ? RPC_STALE : r == -ENOENT || r == -EINVAL ? RPC_PARAMS : RPC_INTERNAL, err);
}

static void print_approval(const struct approval *a, size_t args_max, struct jbuf *b)
{
	int64_t now = wall_now_ms();
	size_t args_len = strlen(a->args);
	bool late = a->expires_ms <= now;
	enum approval_state state = late && (a->state == APPROVAL_PENDING || a->state == APPROVAL_APPROVED) ? APPROVAL_EXPIRED : a->state;

	jbuf_printf(b, "{\"id\":\"%s\",\"state\":\"%s\",\"tool\":", a->id, approval_state_name(state));
	jbuf_cstring(b, a->tool);
	jbuf_member(b, "hash", a->tool_hash);
	jbuf_member(b, "profile_digest", a->profile_digest);
	jbuf_printf(b, ",\"uid\":%u", a->uid);
	jbuf_member(b, "session", a->session);
	jbuf_member(b, "rule", a->rule);
	jbuf_member(b, "reason", a->reason);
	jbuf_printf(b, ",\"uses\":%u,\"created_ms\":%lld,\"age_ms\":%lld,\"expires_ms\":%lld,\"expires_in_ms\":%lld", a->uses, (long long)a->created_ms,
		    (long long)(now - a->created_ms), (long long)a->expires_ms, (long long)(late ? 0 : a->expires_ms - now));
	if (a->decided_ms > 0) {
		jbuf_printf(b, ",\"decided_ms\":%lld,\"decided_uid\":%u", (long long)a->decided_ms, a->decided_uid);
		jbuf_member(b, "decided_by", a->decided_by);
	}
	jbuf_printf(b, ",\"args_bytes\":%zu", args_len);
	if (args_len <= args_max) {
		jbuf_text(b, ",\"args\":");
		jbuf_text(b, a->args);
	}
	if (!a->context)
		return;
	jbuf_printf(b, ",\"context_bytes\":%zu", strlen(a->context));
	if (strlen(a->context) <= args_max) {
		jbuf_text(b, ",\"context\":");
		jbuf_text(b, a->context);
	}
}

/* ---- list ---- */

struct listing {
	const struct request *rq;
	struct jbuf *b;
	int state; /* -1: all */
	unsigned count;
};

static int list_one(const struct approval *a, void *arg)
{
	struct listing *l = arg;

	if (!is_theirs(l->rq, a))
		return 0;
	jbuf_text(l->b, l->count ? "," : "");
	print_approval(a, LIST_ARGS_MAX, l->b);
	jbuf_text(l->b, "}");
	return ++l->count == LIST_MAX;
}

static int state_of(const struct request *rq, int *ret, struct err *err)
{
	size_t len = 0;
	_cleanup_free_ char *word = request_string(rq, "state", &len);

	*ret = APPROVAL_PENDING;
	if (!word)
		return 0;
	*ret = -1;
	if (strcmp(word, "all") == 0 && len == 3)
		return 0;
	for (int s = 0; s < APPROVAL_STATE_COUNT; s++)
		if (strcmp(word, approval_state_name((enum approval_state)s)) == 0)
			*ret = s;
	if (*ret >= 0)
		return 0;
	err_set(err, ERR_CALLER, EINVAL, "params", "no such state");
	err_hint(err, "all, pending, approved, denied, expired, used, void");
	return -EINVAL;
}

static void method_list(const struct request *rq)
{
	struct jbuf b;
	struct listing l = { .rq = rq, .b = &b };
	struct store *store;
	struct err err;
	int r = state_of(rq, &l.state, &err);

	if (r == 0)
		r = store_of(rq->core, &store, &err);
	if (r < 0) {
		refuse(rq, r, &err);
		return;
	}
	approvals_sweep(rq->core, store);
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{\"approvals\":[");
	r = store_approval_each(store, l.state, list_one, &l, &err);
	jbuf_text(&b, "]}");
	if (r < 0)
		refuse(rq, r, &err);
	else
		request_answer(rq, &b);
	jbuf_done(&b);
}

/* ---- one of them ---- */

struct search {
	const struct request *rq;
	char id[APPROVAL_ID_MAX];
	unsigned found;
};

static int search_one(const struct approval *a, void *arg)
{
	struct search *s = arg;

	if (!is_theirs(s->rq, a))
		return 0;
	memcpy(s->id, a->id, sizeof(s->id));
	s->found++;
	return 0;
}

/* The id that the parameter names or begins. */
static int find(const struct request *rq, struct store *store, char ret[APPROVAL_ID_MAX], struct err *err)
{
	size_t len = 0;
	_cleanup_free_ char *text = request_string(rq, "id", &len);
	struct search s = { .rq = rq };

	if (!text || len < PREFIX_MIN || strlen(text) != len) {
		err_set(err, ERR_CALLER, EINVAL, "params", "an approval is named by its id, or by %d characters or more of its beginning", PREFIX_MIN);
		err_hint(err, "'brig approvals' shows them");
		return -EINVAL;
	}
	int r = store_approval_begin_with(store, text, search_one, &s, err);
	if (r < 0)
		return r;
	if (s.found == 1) {
		memcpy(ret, s.id, sizeof(s.id));
		return 0;
	}
	err_set(err, ERR_CALLER, ENOENT, "approval", s.found ? "%u questions begin with that" : "there is no question of that id", s.found);
	err_hint(err, s.found ? "give more of the id" : "'brig approvals' shows those that are open");
	return -ENOENT;
}

/* What would run, for the one who has to say yes to it. */
static void print_tool(struct store *store, const struct approval *a, struct jbuf *b)
{
	struct tool *t;
	struct err ignored;

	if (store_tool_by_hash(store, a->tool_hash, &t, &ignored) < 0)
		return;
	jbuf_member(b, "description", t->description);
	jbuf_member(b, "body", t->body);
	jbuf_member(b, "parameters", t->parameters);
	jbuf_member(b, "profile", t->profile);
	jbuf_printf(b, ",\"tool_state\":\"%s\",\"version\":%u,\"created_by\":%u,\"permissions\":", tool_state_name(t->state), t->version, t->uid);
	permissions_print(&t->declared, b);
	tool_free(t);
}

static void method_get(const struct request *rq)
{
	char id[APPROVAL_ID_MAX];
	struct approval *a;
	struct store *store;
	struct err err;
	struct jbuf b;
	int r = store_of(rq->core, &store, &err);

	if (r == 0)
		r = find(rq, store, id, &err);
	if (r == 0)
		r = store_approval_get(store, id, &a, &err);
	if (r < 0) {
		refuse(rq, r, &err);
		return;
	}
	jbuf_init(&b, ANSWER_TEXT_MAX);
	print_approval(a, SIZE_MAX, &b);
	print_tool(store, a, &b);
	jbuf_text(&b, "}");
	request_answer(rq, &b);
	jbuf_done(&b);
	approval_free(a);
}

/* ---- the decision ---- */

static int wrong(struct err *err, const char *what, const char *hint)
{
	err_set(err, ERR_CALLER, EINVAL, "params", "%s", what);
	err_hint(err, "%s", hint);
	return -EINVAL;
}

static int take_uses(const struct request *rq, uint32_t *ret, struct err *err)
{
	char digits[8];
	struct slice v;

	*ret = 1;
	if (!request_find(rq, "uses", &v))
		return 0;
	snprintf(digits, sizeof(digits), "%.*s", (int)(v.len < sizeof(digits) ? v.len : sizeof(digits) - 1), rq->line + v.at);
	*ret = (uint32_t)strtoul(digits, NULL, 10);
	if (v.len < 5 && strspn(digits, "0123456789") == v.len && *ret >= 1 && *ret <= APPROVAL_USES_MAX)
		return 0;
	return wrong(err, "uses is not a whole number from 1 to 1000", "each call takes one use");
}

static int take_for(const struct request *rq, uint32_t *ret, struct err *err)
{
	size_t len = 0;
	_cleanup_free_ char *text = request_string(rq, "for", &len);
	char guess[32] = "";
	uint64_t ms;

	*ret = rq->core->boot->config.approval_ms;
	if (!text)
		return 0;
	if (strlen(text) == len && units_time(text, true, &ms, guess) == 0 && ms >= 1000 && ms <= APPROVAL_FOR_MAX_MS) {
		*ret = (uint32_t)ms;
		return 0;
	}
	return wrong(err, "for is no time from 1s to 24h", "such as \"10m\"");
}

static int take_word(const struct request *rq, const char *reason, size_t reason_len, struct decision_word *d, struct err *err)
{
	struct slice v;

	d->uid = client_uid(rq->client);
	d->pid = client_pid(rq->client);
	d->by = client_socket_name(rq->client);
	d->reason = reason;
	d->approve = request_true(rq, "approve");
	if (!d->approve && !request_false(rq, "approve"))
		return wrong(err, "approval.decide needs approve (true or false)", "brig(7) lists the parameters of each method");
	if (reason && (reason_len > APPROVAL_REASON_MAX || strlen(reason) != reason_len))
		return wrong(err, "reason is longer than 512 bytes, or holds a NUL", "it is for the model, and for the log");
	if (!d->approve && (request_find(rq, "uses", &v) || request_find(rq, "for", &v)))
		return wrong(err, "uses and for are for an approval", "leave them out where approve is false");
	int r = take_uses(rq, &d->uses, err);
	return r < 0 ? r : take_for(rq, &d->for_ms, err);
}

static void method_decide(const struct request *rq)
{
	char id[APPROVAL_ID_MAX];
	struct decision_word d = { .id = id };
	size_t reason_len = 0;
	_cleanup_free_ char *reason = request_string(rq, "reason", &reason_len);
	struct store *store;
	struct err err;
	struct jbuf b;
	int r = take_word(rq, reason, reason_len, &d, &err);

	if (r == 0)
		r = store_of(rq->core, &store, &err);
	if (r == 0)
		r = find(rq, store, id, &err);
	if (r == 0)
		r = approvals_decide(rq->core, &d, &err);
	if (r < 0) {
		refuse(rq, r, &err);
		return;
	}
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_printf(&b, "{\"id\":\"%s\",\"state\":\"%s\"", id, d.approve ? "approved" : "denied");
	if (d.approve)
		jbuf_printf(&b, ",\"uses\":%u,\"for_ms\":%u", d.uses, d.for_ms);
	jbuf_text(&b, "}");
	request_answer(rq, &b);
	jbuf_done(&b);
}

static const struct param params_list[] = { { "state", STRING_FIRST, "a string" }, { 0 } };
static const struct param params_get[] = { { "id", STRING_FIRST, "a string" }, { 0 } };
static const struct param params_decide[] = { { "id", STRING_FIRST, "a string" },
					      { "approve", BOOL_FIRST, "true or false" },
					      { "reason", STRING_FIRST, "a string" },
					      { "uses", NUMBER_FIRST, "a number" },
					      { "for", STRING_FIRST, "a time, such as \"10m\"" },
					      { 0 } };

const struct method methods_approval[] = {
	{ "approval.list", method_list, params_list, false },
	{ "approval.get", method_get, params_get, false },
	{ "approval.decide", method_decide, params_decide, true },
	{ 0 },
};
