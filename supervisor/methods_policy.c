/* policy.check and policy.test: texts of the caller's, judged here so that there is one reader of policies. Not over agent.sock:
 * a hostile text costs core's time, and brig has a supervisor of its own for it. */
#include "supervisor/policy_cases.h"
#include "supervisor/policy_impl.h"
#include "supervisor/request.h"

#include "supervisor/wall_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_MAX 16u
#define WARNINGS_MAX 200u

struct sent {
	struct policy_text at[TEXTS_MAX];
	size_t count;
};

static void sent_done(struct sent *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free((char *)s->at[i].name);
		free((char *)s->at[i].text);
	}
}

static bool refuse_agent(const struct request *rq)
{
	struct err err;

	if (client_authority(rq->client) != AUTHORITY_AGENT)
		return false;
	err_set(&err, ERR_CALLER, EPERM, "authority", "the texts of a policy are not for agent.sock");
	err_hint(&err, "brig policy check and test have a supervisor of their own; the operator asks over admin.sock");
	request_refuse(rq, RPC_AUTHORITY, &err);
	return true;
}

/* A name for messages: without a NUL, without what a terminal would obey. */
static char *name_take(const char *raw, size_t len)
{
	size_t n = 0;
	char *name = raw[0] == '"' ? json_string_dup(raw, len, &n) : NULL;

	for (size_t i = 0; name && i < n; i++)
		if ((unsigned char)name[i] < ' ' || (unsigned char)name[i] == 0x7f)
			name[i] = '?';
	return name;
}

/* [{"name":"p.json","text":"..."}, ...] */
static bool texts_take(const struct request *rq, struct sent *s)
{
	struct slice list = { 0 };
	size_t at, len;
	char path[32];

	*s = (struct sent){ 0 };
	if (!request_find(rq, "texts", &list))
		return true;
	const char *raw = rq->line + list.at;
	for (;; s->count++) {
		snprintf(path, sizeof(path), "%zu", s->count);
		if (!json_find(raw, list.len, path, &at, &len, NULL))
			return true;
		const char *item = raw + at;
		size_t item_len = len;
		if (s->count == TEXTS_MAX)
			return false;
		s->at[s->count] = (struct policy_text){ 0 };
		if (!json_find(item, item_len, "name", &at, &len, NULL) || !(s->at[s->count].name = name_take(item + at, len)))
			return false;
		if (!json_find(item, item_len, "text", &at, &len, NULL) ||
		    !(s->at[s->count].text = json_string_dup(item + at, len, &s->at[s->count].len))) {
			free((char *)s->at[s->count].name);
			return false;
		}
	}
}

static void error_print(struct jbuf *b, const struct err *err)
{
	jbuf_text(b, "\"error\":{\"where\":");
	jbuf_cstring(b, err->where);
	jbuf_text(b, ",\"what\":");
	jbuf_cstring(b, err->detail);
	jbuf_text(b, ",\"hint\":");
	jbuf_cstring(b, err->hint);
	jbuf_text(b, "}");
}

struct warnings {
	struct jbuf *b;
	unsigned count;
};

static void warning_print(const char *where, const char *what, void *arg)
{
	struct warnings *w = arg;

	if (w->count++ >= WARNINGS_MAX)
		return;
	jbuf_text(w->b, w->count > 1 ? ",{\"where\":" : "{\"where\":");
	jbuf_cstring(w->b, where);
	jbuf_text(w->b, ",\"what\":");
	jbuf_cstring(w->b, what);
	jbuf_text(w->b, "}");
}

static void warnings_print(struct jbuf *b, const struct policy *p)
{
	struct warnings w = { b, 0 };

	jbuf_text(b, ",\"warnings\":[");
	policy_lint(p, warning_print, &w);
	jbuf_text(b, "]");
}

static void method_check(const struct request *rq)
{
	struct policy *p = NULL;
	struct sent s;
	struct err err;
	struct jbuf b;

	if (refuse_agent(rq))
		return;
	if (!texts_take(rq, &s)) {
		request_refuse_params(rq, "texts is a list of at most 16 objects with \"name\" and \"text\"");
		sent_done(&s);
		return;
	}
	int r = s.count ? policy_parse(s.at, s.count, &p, &err) : 0;
	if (r == 0 && !p)
		p = policy_ref(rq->core->policy);
	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_printf(&b, "{\"good\":%s,", r == 0 ? "true" : "false");
	if (r < 0) {
		error_print(&b, &err);
	} else {
		jbuf_printf(&b, "\"rules\":%zu", p->count);
		warnings_print(&b, p);
	}
	jbuf_text(&b, "}");
	request_answer(rq, &b);
	jbuf_done(&b);
	policy_free(p);
	sent_done(&s);
}

/* Of the texts, the cases, or this supervisor, the first that has one. -EINVAL, and *ret_cases says whether it is the cases' own. */
static int test_policy(const struct request *rq, const struct sent *s, const struct policy_text *cases, struct policy **ret, bool *ret_cases, struct err *err)
{
	int r = policy_cases_policy(cases, ret, err);

	*ret_cases = true;
	if (r < 0)
		return r;
	if (s->count > 0) {
		*ret_cases = false;
		policy_free(*ret);
		return policy_parse(s->at, s->count, ret, err);
	}
	if (!*ret)
		*ret = policy_ref(rq->core->policy);
	return 0;
}

static void test_answer(const struct request *rq, const struct sent *s, const struct policy_text *cases)
{
	struct policy *p = NULL;
	bool of_cases;
	struct err err;
	struct jbuf b;

	jbuf_init(&b, ANSWER_TEXT_MAX);
	jbuf_text(&b, "{");
	int r = test_policy(rq, s, cases, &p, &of_cases, &err);
	if (r == 0) {
		r = policy_cases_run(p, cases, wall_now_ms(), &b, &err);
		of_cases = true;
	}
	if (r == 0) {
		jbuf_text(&b, ",\"good\":true");
		warnings_print(&b, p);
	} else {
		jbuf_done(&b);
		jbuf_init(&b, ANSWER_TEXT_MAX);
		jbuf_printf(&b, "{\"good\":false,\"in\":\"%s\",", of_cases ? "cases" : "policy");
		error_print(&b, &err);
	}
	jbuf_text(&b, "}");
	request_answer(rq, &b);
	jbuf_done(&b);
	policy_free(p);
}

static void method_test(const struct request *rq)
{
	size_t text_len = 0;
	struct slice name;
	struct sent s;

	if (refuse_agent(rq))
		return;
	bool ok = texts_take(rq, &s);
	_cleanup_free_ char *cases_name = request_find(rq, "cases_name", &name) ? name_take(rq->line + name.at, name.len) : strdup("cases.json");
	_cleanup_free_ char *cases = request_string(rq, "cases_text", &text_len);
	if (!ok)
		request_refuse_params(rq, "texts is a list of at most 16 objects with \"name\" and \"text\"");
	else if (!cases || !cases_name)
		request_refuse_params(rq, "cases_text is missing: what must be allowed, denied, escalated");
	else
		test_answer(rq, &s, &(struct policy_text){ cases_name, cases, text_len });
	sent_done(&s);
}

static const struct param params_check[] = { { "texts", "[", "a list" }, { 0 } };
static const struct param params_test[] = {
	{ "texts", "[", "a list" },
	{ "cases_name", STRING_FIRST, "a string" },
	{ "cases_text", STRING_FIRST, "a string" },
	{ 0 },
};

const struct method methods_policy[] = {
	{ "policy.check", method_check, params_check, false },
	{ "policy.test", method_test, params_test, false },
	{ 0 },
};
