/* A policy of anybody: refused with a place, or taken, and then asked and looked through. The same text as cases of a verdict table. */
#include "supervisor/policy_cases.h"
#include "supervisor/policy_impl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned calls_of(void *arg, uint32_t window_ms)
{
	(void)arg;
	return window_ms / 1000;
}

static void said(const char *where, const char *what, void *arg)
{
	(void)arg;
	if (!*where || !*what)
		abort();
}

static void ask(const struct policy *p)
{
	static const char args[] = "{\"path\":\"x/../y\",\"n\":9007199254740993,\"a\":{\"b\":[1]},\"s\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}";
	struct question q = { .tool = "abc", .hash = "sha256:0", .custom = true, .profile = "pure", .args = args, .args_len = sizeof(args) - 1,
			      .user_id = "anna", .session = "s", .task = "t", .labels = "{\"team\":\"x\"}", .workspace = "/w", .rate = calls_of };
	struct verdict_gate v;
	int rule = policy_find(p, &q);

	policy_decide(p, &q, &v);
	if (!v.rule[0] || !v.reason[0] || (rule < 0) != (strcmp(v.rule, "default") == 0))
		abort();
	if (rule < 0 && v.decision != DECISION_DENY)
		abort();
	policy_lint(p, said, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy *p = NULL;
	struct err err = { 0 };
	struct jbuf b;
	char *text = malloc(size ? size : 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	const struct policy_text one = { "fuzz.json", text, size };
	if (policy_parse(&one, 1, &p, &err) == 0)
		ask(p);
	else if (!err.detail[0] || p)
		abort();
	policy_free(p);
	p = NULL;
	jbuf_init(&b, 1u << 20);
	if (policy_cases_policy(&one, &p, &err) == 0 && p)
		(void)policy_cases_run(p, &one, 0, &b, &err);
	policy_free(p);
	jbuf_done(&b);
	free(text);
	return 0;
}
