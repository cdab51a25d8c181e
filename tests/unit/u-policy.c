/* The gate's rules: what is refused and where, each condition both ways, that a deny wins in every order, and that what cannot be
 * judged never allows. */
#include "jail/base/fd.h"
#include "supervisor/decimal.h"
#include "supervisor/glob.h"
#include "supervisor/policy_cases.h"
#include "supervisor/policy_impl.h"
#include "supervisor/policy_path.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define HASH "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct err g_err;

static struct policy *parse_two(const char *a, const char *b)
{
	struct policy_text texts[] = { { "p.json", a, strlen(a) }, { "q.json", b ? b : "", b ? strlen(b) : 0 } };
	struct policy *p = NULL;

	memset(&g_err, 0, sizeof(g_err));
	return policy_parse(texts, b ? 2 : 1, &p, &g_err) == 0 ? p : NULL;
}

static struct policy *parse(const char *text)
{
	return parse_two(text, NULL);
}

/* ---- what is refused ---- */

static const struct {
	const char *text, *where, *detail, *hint;
} bad[] = {
	{ "", "p.json:1:1", "", "" },
	{ "[]", "p.json:1:1", "", "" },
	{ "{}", "p.json:1:1", "no \"rules\"", "" },
	{ "{\"rulse\": []}", "p.json:1:2", "\"rulse\"", "\"rules\"" },
	{ "{\"rules\": {}}", "p.json:1:2", "list", "" },
	{ "{\"rules\": [], \"rules\": []}", "p.json:1:15", "", "" },
	{ "{\"rules\": [1]}", "p.json:1:12", "object", "" },
	{ "{\"rules\": [{}]}", "p.json:1:12", "decide", "allow" },
	{ "{\"rules\":\n [{\"decide\":\"deny\"}]}", "p.json:2:3", "which tools", "\"*\"" },
	{ "{\"rules\": [{\"match\":\"a\"}]}", "p.json:1:12", "decide", "" },
	{ "{\"rules\": [\n {\"mach\":\"a\",\"decide\":\"deny\"}]}", "p.json:2:3", "\"mach\"", "\"match\"" },
	{ "{\"rules\": [{\"match\":\"y\",\"decide\":\"dney\"}]}", "p.json:1:25", "\"dney\"", "\"deny\"" },
	{ "{\"rules\": [{\"match\":\"y\",\"decide\":true}]}", "p.json:1:25", "no string", "allow, deny, escalate" },
	{ "{\"rules\": [{\"match\":\"net_[\",\"decide\":\"deny\"}]}", "p.json:1:13", "no ]", "" },
	{ "{\"rules\": [{\"match\":[],\"decide\":\"deny\"}]}", "p.json:1:13", "empty list", "" },
	{ "{\"rules\": [{\"match\":[\"a\",1],\"decide\":\"deny\"}]}", "p.json:1:26", "a string", "" },
	{ "{\"rules\": [{\"match\":\"a\",\"decide\":\"deny\",\"name\":\"a\\nb\"}]}", "p.json:1:41", "printable", "" },
	{ "{\"rules\": [{\"match\":\"a\",\"decide\":\"deny\",\"reason\":\"\"}]}", "p.json:1:41", "empty", "" },
	{ "{\"rules\": [{\"match\":\"a\",\"decide\":\"deny\",\"reason\":\"a\\u0000\"}]}", "p.json:1:52", "NUL", "" },
};

/* Each is the value of "when". */
static const struct {
	const char *text, *detail, *hint;
} bad_when[] = {
	{ "{}", "\"when\"", "" },
	{ "1", "\"when\"", "" },
	{ "{\"sate\":\"draft\"}", "\"sate\"", "\"state\"" },
	{ "{\"netwrk\":true}", "\"netwrk\"", "\"network\"" },
	{ "{\"network\":\"yes\"}", "true or false", "" },
	{ "{\"state\":\"drft\"}", "\"drft\"", "\"draft\"" },
	{ "{\"state\":[]}", "empty list", "" },
	{ "{\"state\":3}", "word", "" },
	{ "{\"scope\":\"readonly\"}", "\"readonly\"", "\"read-only\"" },
	{ "{\"hash\":\"sha256:abc\"}", "64 hexadecimal", "" },
	{ "{\"uid\":-1}", "whole number", "" },
	{ "{\"uid\":4294967295}", "below", "" },
	{ "{\"uid\":\"root\"}", "whole number", "" },
	{ "{\"user\":\"[z-a]\"}", "holds nothing", "" },
	{ "{\"user\":\"a\\\\\"}", "before nothing", "" },
	{ "{\"trust_at_least\":\"elevatd\"}", "\"elevatd\"", "\"elevated\"" },
	{ "{\"trust_below\":1}", "no trust", "standard" },
	{ "{\"labels\":[]}", "object", "" },
	{ "{\"labels\":{\"a\":1}}", "string", "" },
	{ "{\"time\":{}}", "object", "" },
	{ "{\"time\":{\"from\":\"8:00\"}}", "time of the day", "" },
	{ "{\"time\":{\"from\":\"24:01\"}}", "time of the day", "" },
	{ "{\"time\":{\"from\":\"08:60\"}}", "time of the day", "" },
	{ "{\"time\":{\"form\":\"08:00\"}}", "\"form\"", "\"from\"" },
	{ "{\"time\":{\"days\":[\"monday\"]}}", "\"monday\"", "" },
	{ "{\"rate\":{\"over\":10}}", "\"over\"", "" },
	{ "{\"rate\":{\"over\":-1,\"per\":\"1m\"}}", "number of calls", "" },
	{ "{\"rate\":{\"over\":1,\"per\":\"2h\"}}", "\"1h\"", "" },
	{ "{\"rate\":{\"over\":1,\"per\":60}}", "\"1h\"", "" },
	{ "{\"args\":{}}", "\"args\"", "" },
	{ "{\"args\":{\"a\":\"x\"}}", "object", "" },
	{ "{\"args\":{\"a..b\":{\"equals\":1}}}", "no name", "" },
	{ "{\"args\":{\"a\":{\"undr\":\"/x\"}}}", "\"undr\"", "\"under\"" },
	{ "{\"args\":{\"a\":{\"under\":\"x\"}}}", "absolute", "" },
	{ "{\"args\":{\"a\":{\"under\":\"\"}}}", "absolute", "" },
	{ "{\"args\":{\"a\":{\"under\":\"/a/../b/\"}}}", "plain form", "write \"/b\"" },
	{ "{\"args\":{\"a\":{\"under\":\"@workspace/\"}}}", "plain form", "write \"@workspace\"" },
	{ "{\"args\":{\"a\":{\"under\":\"@workspaces\"}}}", "absolute", "" },
	{ "{\"args\":{\"a\":{\"equals\":[1]}}}", "compared", "one_of" },
	{ "{\"args\":{\"a\":{\"one_of\":1}}}", "list", "" },
	{ "{\"args\":{\"a\":{\"matches\":\"(\"}}}", "pattern is wrong", "" },
	{ "{\"args\":{\"a\":{\"matches\":\"\\\\C\"}}}", "pattern is wrong", "" },
	{ "{\"args\":{\"a\":{\"min\":\"1\"}}}", "number", "" },
	{ "{\"args\":{\"a\":{\"min\":9007199254740993,\"max\":9007199254740992}}}", "nothing lies between", "" },
	{ "{\"args\":{\"a\":{\"max_bytes\":\"4KB\"}}}", "size", "4K" },
	{ "{\"args\":{\"a\":{\"present\":1}}}", "true or false", "" },
};

static void test_what_is_refused_says_where(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct policy *p = parse(bad[i].text);

		if (p || strcmp(g_err.where, bad[i].where) != 0 || !strstr(g_err.detail, bad[i].detail) || !strstr(g_err.hint, bad[i].hint))
			fail_msg("%s\n%s at %s: %s; %s", bad[i].text, p ? "taken" : "refused", g_err.where, g_err.detail, g_err.hint);
	}
}

static void test_conditions_that_are_refused(void **state UNUSED)
{
	char text[400];

	for (size_t i = 0; i < ARRAY_LEN(bad_when); i++) {
		snprintf(text, sizeof(text), "{\"rules\":[{\"match\":\"*\",\"decide\":\"deny\",\n\"when\":%s}]}", bad_when[i].text);
		struct policy *p = parse(text);

		if (p || strncmp(g_err.where, "p.json:2:", 9) != 0 || !strstr(g_err.detail, bad_when[i].detail) || !strstr(g_err.hint, bad_when[i].hint))
			fail_msg("%s\n%s at %s: %s; %s", bad_when[i].text, p ? "taken" : "refused", g_err.where, g_err.detail, g_err.hint);
	}
}

/* One wrong rule, and none of the others holds. */
static void test_a_policy_is_taken_whole(void **state UNUSED)
{
	assert_null(parse_two("{\"rules\":[{\"match\":\"*\",\"decide\":\"allow\"}]}", "{\"rules\":[{\"match\":\"*\",\"decide\":\"alow\"}]}"));
	assert_string_equal(g_err.where, "q.json:1:24");
	struct policy *p = parse("{\"rules\":[]}");
	assert_non_null(p);
	policy_free(p);
}

static void test_bounds(void **state UNUSED)
{
	static char text[LIMIT_PROFILE_BYTES];
	size_t n = (size_t)snprintf(text, sizeof(text), "{\"rules\":[");

	for (unsigned i = 0; i <= POLICY_RULES_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s{\"match\":\"a\",\"decide\":\"deny\"}", i ? "," : "");
	memcpy(text + n, "]}", 3);
	assert_null(parse(text));
	assert_non_null(strstr(g_err.detail, "at most 1000 rules"));
}

/* ---- one condition, both ways ---- */

static struct question question(void)
{
	return (struct question){ .tool = "t", .hash = HASH, .state = TOOL_APPROVED, .custom = true, .profile = "pure", .workspace = "/work/ws" };
}

static enum decision decide(const struct policy *p, const struct question *q)
{
	struct verdict_gate v;

	policy_decide(p, q, &v);
	assert_true(v.rule[0] && v.reason[0]);
	return v.decision;
}

/* Does an allow with this condition hold, and does a deny? They differ where it cannot be judged. */
static void holds(const char *when, const struct question *q, bool as_allow, bool as_deny)
{
	char text[600];

	snprintf(text, sizeof(text), "{\"rules\":[{\"match\":\"*\",\"decide\":\"allow\",\"when\":%s}]}", when);
	struct policy *p = parse(text);
	if (!p)
		fail_msg("%s: %s", when, g_err.detail);
	if ((decide(p, q) == DECISION_ALLOW) != as_allow)
		fail_msg("%s: an allow %s", when, as_allow ? "does not hold" : "holds");
	policy_free(p);
	snprintf(text, sizeof(text), "{\"rules\":[{\"match\":\"*\",\"decide\":\"allow\"},{\"match\":\"*\",\"decide\":\"deny\",\"when\":%s}]}", when);
	p = parse(text);
	if ((decide(p, q) == DECISION_DENY) != as_deny)
		fail_msg("%s: a deny %s", when, as_deny ? "does not hold" : "holds");
	policy_free(p);
}
#define YES(when, q)     holds(when, q, true, true)
#define NO(when, q)      holds(when, q, false, false)
#define UNKNOWN(when, q) holds(when, q, false, true)

static void test_conditions_on_the_tool(void **state UNUSED)
{
	struct question q = question();

	YES("{\"state\":\"approved\"}", &q);
	YES("{\"state\":[\"draft\",\"approved\"]}", &q);
	NO("{\"state\":\"draft\"}", &q);
	YES("{\"hash\":\"" HASH "\"}", &q);
	NO("{\"hash\":\"sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}", &q);
	YES("{\"custom\":true,\"reviewed\":false}", &q);
	NO("{\"custom\":false}", &q);
	YES("{\"profile\":\"p*\"}", &q);
	NO("{\"profile\":[\"stdlib\",\"Pure\"]}", &q);
	YES("{\"scope\":\"read-only\",\"network\":false,\"write\":false,\"filesystem\":false,\"subprocess\":false}", &q);
	NO("{\"scope\":[\"read-write\",\"destructive\"]}", &q);
	q.effective = (struct permissions){ true, true, true, true, SCOPE_DESTRUCTIVE };
	YES("{\"scope\":\"destructive\",\"network\":true,\"write\":true,\"filesystem\":true,\"subprocess\":true}", &q);
	NO("{\"network\":false}", &q);
	NO("{\"filesystem\":false}", &q);
	NO("{\"subprocess\":false}", &q);
	NO("{\"write\":false}", &q);
	/* A body that is sent along has neither state nor hash. */
	q = (struct question){ .tool = "run", .profile = "pure" };
	NO("{\"state\":\"draft\"}", &q);
	NO("{\"hash\":\"" HASH "\"}", &q);
	YES("{\"custom\":false,\"reviewed\":false}", &q);
}

static void test_conditions_on_who_asks(void **state UNUSED)
{
	struct question q = question();

	NO("{\"user\":\"*\"}", &q);
	NO("{\"session\":\"*\"}", &q);
	NO("{\"task\":\"*\"}", &q);
	NO("{\"labels\":{\"team\":\"*\"}}", &q);
	YES("{\"uid\":0}", &q);
	NO("{\"uid\":[1,2]}", &q);
	q.uid = 4294967294;
	YES("{\"uid\":[1,4294967294]}", &q);
	q.user_id = "anna@example";
	q.session = "s1";
	q.task = "tidy up \xc3\xbc";
	q.labels = " { \"team\" : \"infra-eu\", \"a.b\":\"x\", \"\\u0074ier\":\"1\", \"nul\":\"a\\u0000b\" } ";
	YES("{\"user\":\"anna@*\",\"session\":\"s[0-9]\",\"task\":\"tidy up ?\"}", &q);
	NO("{\"user\":\"Anna@*\"}", &q);
	YES("{\"labels\":{\"team\":[\"x\",\"infra-*\"],\"tier\":\"1\",\"a.b\":\"x\"}}", &q);
	NO("{\"labels\":{\"team\":\"infra-*\",\"tier\":\"2\"}}", &q);
	NO("{\"labels\":{\"none\":\"*\"}}", &q);
	UNKNOWN("{\"labels\":{\"nul\":\"a\"}}", &q);
	YES("{\"trust_at_least\":\"standard\",\"trust_below\":\"elevated\"}", &q);
	NO("{\"trust_at_least\":\"elevated\"}", &q);
	q.trust = TRUST_ADMIN;
	YES("{\"trust_at_least\":\"admin\"}", &q);
	NO("{\"trust_below\":\"admin\"}", &q);
}

static unsigned calls_of(void *arg, uint32_t window_ms)
{
	return window_ms == 60000 ? *(unsigned *)arg : 1000;
}

static void test_conditions_on_time(void **state UNUSED)
{
	struct question q = question();
	unsigned calls = 9;

	q.now_ms = 1767312000000; /* Friday 2026-01-02 00:00 UTC */
	YES("{\"time\":{\"days\":[\"fri\"]}}", &q);
	NO("{\"time\":{\"days\":[\"mon\",\"sat\"]}}", &q);
	NO("{\"time\":{\"from\":\"08:00\",\"to\":\"18:00\"}}", &q);
	YES("{\"time\":{\"from\":\"22:00\",\"to\":\"00:01\"}}", &q);
	NO("{\"time\":{\"from\":\"22:00\",\"to\":\"00:00\"}}", &q);
	q.now_ms += 8 * 3600000;
	YES("{\"time\":{\"from\":\"08:00\",\"to\":\"18:00\",\"days\":[\"fri\"]}}", &q);
	NO("{\"time\":{\"from\":\"08:01\"}}", &q);
	NO("{\"time\":{\"to\":\"08:00\"}}", &q);
	NO("{\"rate\":{\"over\":10,\"per\":\"1m\"}}", &q);
	YES("{\"rate\":{\"over\":0,\"per\":\"1m\"}}", &q);
	q.rate = calls_of;
	q.rate_arg = &calls;
	NO("{\"rate\":{\"over\":10,\"per\":\"1m\"}}", &q); /* this is the tenth */
	calls = 10;
	YES("{\"rate\":{\"over\":10,\"per\":\"1m\"}}", &q);
}

/* ---- arguments ---- */

static void args(struct question *q, const char *text)
{
	struct json_error bad_json;

	assert_int_equal(json_check(text, strlen(text), JSON_OBJECT, 32, &bad_json), 0);
	q->args = text;
	q->args_len = strlen(text);
}

static const char under_ws[] = "{\"args\":{\"path\":{\"under\":\"@workspace\"}}}";

static void test_paths_stay_under_the_workspace(void **state UNUSED)
{
	static const char *const within[] = { "a", "a/b.txt", "./a", "a//b", "a/../b", "/work/ws", "/work/ws/", "/work/ws/a", "/work/./ws/x/..", "...", "..a",
					      ".", "x/..", "\\u0061", "a\\n" };
	static const char *const outside[] = { "..", "../x", "a/../../x", "/", "/work", "/work/wsx", "/work/ws/../x", "/etc/passwd", "//etc", "/work/ws/..",
					       "a/b/../../..", "../../../../../../..", "\\u002e\\u002e/x", "..\\/x" };
	static const char *const unjudged[] = { "\"\"", "\"a\\u0000b\"", "\"a\\u0000/../../../etc\"", "7", "null", "[\"a\"]", "{}", "true" };
	struct question q = question();
	char text[200];

	for (size_t i = 0; i < ARRAY_LEN(within); i++) {
		snprintf(text, sizeof(text), "{\"path\":\"%s\"}", within[i]);
		args(&q, text);
		YES(under_ws, &q);
		NO("{\"args\":{\"path\":{\"not_under\":\"@workspace\"}}}", &q);
	}
	for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
		snprintf(text, sizeof(text), "{\"path\":\"%s\"}", outside[i]);
		args(&q, text);
		NO(under_ws, &q);
		YES("{\"args\":{\"path\":{\"not_under\":\"@workspace\"}}}", &q);
	}
	for (size_t i = 0; i < ARRAY_LEN(unjudged); i++) {
		snprintf(text, sizeof(text), "{\"path\":%s}", unjudged[i]);
		args(&q, text);
		UNKNOWN(under_ws, &q);
		UNKNOWN("{\"args\":{\"path\":{\"not_under\":\"@workspace\"}}}", &q);
	}
	args(&q, "{\"p\\u0061th\":\"../x\"}"); /* an escaped key is the same key */
	NO(under_ws, &q);
	YES("{\"args\":{\"path\":{\"not_under\":\"@workspace\"}}}", &q);
	args(&q, "{}");
	NO(under_ws, &q);
	args(&q, "{\"path\":\"a\"}");
	q.workspace = NULL;
	UNKNOWN(under_ws, &q);
}

static void test_paths_under_other_places(void **state UNUSED)
{
	static char text[PATH_MAX + 100];
	struct question q = question();

	args(&q, "{\"path\":\"/srv/data/x\"}");
	YES("{\"args\":{\"path\":{\"under\":[\"/var\",\"/srv/data\"]}}}", &q);
	YES("{\"args\":{\"path\":{\"under\":\"/\"}}}", &q);
	NO("{\"args\":{\"path\":{\"under\":\"/srv/dat\"}}}", &q);
	q.workspace = NULL;
	YES("{\"args\":{\"path\":{\"under\":\"/srv\"}}}", &q);
	q.workspace = "/work/ws";
	args(&q, "{\"path\":\"out/x\"}");
	YES("{\"args\":{\"path\":{\"under\":\"@workspace/out\"}}}", &q);
	NO("{\"args\":{\"path\":{\"under\":\"@workspace/ou\"}}}", &q);
	q.workspace = "/";
	YES(under_ws, &q);
	memset(text, 'a', sizeof(text));
	memcpy(text, "{\"path\":\"", 9);
	memcpy(text + PATH_MAX + 20, "\"}", 3);
	args(&q, text);
	UNKNOWN(under_ws, &q);
}

static void test_values_are_compared_exactly(void **state UNUSED)
{
	struct question q = question();

	args(&q, "{\"n\":9007199254740993,\"s\":\"x\\ty\",\"z\":0,\"t\":true,\"o\":{\"list\":[1,\"b\"]},\"nul\":\"a\\u0000\",\"big\":1e99999999999999999}");
	YES("{\"args\":{\"n\":{\"equals\":9007199254740993}}}", &q);
	NO("{\"args\":{\"n\":{\"equals\":9007199254740992}}}", &q);
	YES("{\"args\":{\"n\":{\"equals\":9007199254740993.0}}}", &q);
	YES("{\"args\":{\"n\":{\"equals\":0.9007199254740993e16}}}", &q);
	NO("{\"args\":{\"n\":{\"equals\":\"9007199254740993\"}}}", &q);
	YES("{\"args\":{\"n\":{\"min\":9007199254740993,\"max\":9007199254740993}}}", &q);
	NO("{\"args\":{\"n\":{\"max\":9007199254740992}}}", &q);
	NO("{\"args\":{\"n\":{\"min\":9007199254740994}}}", &q);
	YES("{\"args\":{\"z\":{\"equals\":-0.0}}}", &q);
	YES("{\"args\":{\"s\":{\"equals\":\"x\\u0009y\"}}}", &q);
	NO("{\"args\":{\"s\":{\"equals\":\"x\"}}}", &q);
	NO("{\"args\":{\"nul\":{\"equals\":\"a\"}}}", &q);
	YES("{\"args\":{\"t\":{\"equals\":true}}}", &q);
	NO("{\"args\":{\"t\":{\"one_of\":[false,null,1,\"true\"]}}}", &q);
	YES("{\"args\":{\"o.list.1\":{\"one_of\":[\"a\",\"b\"]}}}", &q);
	NO("{\"args\":{\"o.list.2\":{\"one_of\":[\"a\",\"b\"]}}}", &q);
	YES("{\"args\":{\"o.none\":{\"present\":false},\"o\":{\"present\":true}}}", &q);
	NO("{\"args\":{\"t\":{\"present\":false}}}", &q);
	YES("{\"args\":{\"s\":{\"max_bytes\":3}}}", &q);
	NO("{\"args\":{\"s\":{\"max_bytes\":2}}}", &q);
	UNKNOWN("{\"args\":{\"n\":{\"max_bytes\":\"1K\"}}}", &q);
	UNKNOWN("{\"args\":{\"s\":{\"min\":1}}}", &q);
	UNKNOWN("{\"args\":{\"big\":{\"max\":1}}}", &q);
	UNKNOWN("{\"args\":{\"big\":{\"equals\":1}}}", &q);
	NO("{\"args\":{\"none\":{\"min\":1}}}", &q);
	/* One that does not hold settles it, whatever the other one is. */
	NO("{\"args\":{\"s\":{\"min\":1},\"z\":{\"equals\":1}}}", &q);
}

static void test_patterns_are_whole_and_bounded(void **state UNUSED)
{
	static char text[POLICY_SUBJECT_MAX + 100];
	struct question q = question();

	args(&q, "{\"cmd\":\"git status\"}");
	YES("{\"args\":{\"cmd\":{\"matches\":\"git (status|log)\"}}}", &q);
	NO("{\"args\":{\"cmd\":{\"matches\":\"git\"}}}", &q);
	NO("{\"args\":{\"cmd\":{\"matches\":\"status\"}}}", &q);
	args(&q, "{\"cmd\":\"git status\\nrm\"}");
	NO("{\"args\":{\"cmd\":{\"matches\":\"git status\"}}}", &q);
	args(&q, "{\"cmd\":\"git status\\n\"}");
	NO("{\"args\":{\"cmd\":{\"matches\":\"git status$\"}}}", &q);
	args(&q, "{\"cmd\":[\"git\"]}");
	UNKNOWN("{\"args\":{\"cmd\":{\"matches\":\".*\"}}}", &q);
	args(&q, "{\"cmd\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\"}");
	UNKNOWN("{\"args\":{\"cmd\":{\"matches\":\"(a|aa)+[bc]\"}}}", &q);
	memset(text, 'a', sizeof(text));
	memcpy(text, "{\"cmd\":\"", 8);
	memcpy(text + sizeof(text) - 3, "\"}", 3);
	args(&q, text);
	UNKNOWN("{\"args\":{\"cmd\":{\"matches\":\"a*\"}}}", &q);
}

/* ---- the order ---- */

#define ALLOW_ALL  "{\"match\":\"*\",\"decide\":\"allow\"}"
#define DENY_NET   "{\"match\":\"net_*\",\"decide\":\"deny\",\"name\":\"no-net\",\"reason\":\"r\",\"hint\":\"h\"}"
#define ASK_NET    "{\"match\":\"net_*\",\"decide\":\"escalate\"}"
#define RULES(...) "{\"rules\":[" __VA_ARGS__ "]}"

static void test_a_deny_wins_in_every_order(void **state UNUSED)
{
	static const struct {
		const char *a, *b, *rule;
	} cases[] = {
		{ RULES(ALLOW_ALL "," DENY_NET), NULL, "p.json:1 no-net" },
		{ RULES(DENY_NET "," ALLOW_ALL), NULL, "p.json:1 no-net" },
		{ RULES(ALLOW_ALL), RULES("\n" DENY_NET), "q.json:2 no-net" },
		{ RULES(DENY_NET), RULES(ALLOW_ALL), "p.json:1 no-net" },
		{ RULES(ASK_NET "," ALLOW_ALL "," DENY_NET), NULL, "p.json:1 no-net" },
		{ RULES(ALLOW_ALL "," ASK_NET), RULES(DENY_NET), "q.json:1 no-net" },
	};
	struct question q = question();
	struct verdict_gate v;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct policy *p = parse_two(cases[i].a, cases[i].b);

		assert_non_null(p);
		q.tool = "net_get";
		policy_decide(p, &q, &v);
		assert_int_equal(v.decision, DECISION_DENY);
		assert_string_equal(v.rule, cases[i].rule);
		assert_string_equal(v.reason, "r");
		assert_string_equal(v.hint, "h");
		q.tool = "math_add";
		assert_int_equal(decide(p, &q), DECISION_ALLOW);
		policy_free(p);
	}
}

static void test_an_escalation_comes_before_an_allow(void **state UNUSED)
{
	struct policy *p = parse(RULES(ALLOW_ALL "," ASK_NET));
	struct question q = question();

	q.tool = "net_get";
	assert_int_equal(decide(p, &q), DECISION_ESCALATE);
	q.tool = "get";
	assert_int_equal(decide(p, &q), DECISION_ALLOW);
	policy_free(p);
}

static void test_nothing_matches_is_denied(void **state UNUSED)
{
	struct policy *p = parse(RULES("{\"match\":\"rm_*\",\"decide\":\"allow\"},{\"match\":\"rm_file\",\"decide\":\"deny\"}"));
	static const char *const names[] = { "RM_FILE", "rm_file ", "rm_f\xd1\x96le", "rm_file" };
	struct question q = question();
	struct verdict_gate v;

	q.tool = "rm_dir";
	assert_int_equal(decide(p, &q), DECISION_ALLOW);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		q.tool = names[i];
		policy_decide(p, &q, &v);
		/* No caller asks with a name that no tool has (tool_name_check); the second and third are the allow's. */
		assert_int_equal(v.decision, i == 1 || i == 2 ? DECISION_ALLOW : DECISION_DENY);
	}
	q.tool = "other";
	policy_decide(p, &q, &v);
	assert_string_equal(v.rule, "default");
	assert_true(v.hint[0]);
	policy_free(p);
}

/* ---- the shipped one ---- */

static struct policy *shipped(void)
{
	static char text[64 << 10];
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/profiles/policies/default.json", getenv("SRC_DIR") ? getenv("SRC_DIR") : ".");
	assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	struct policy *p = parse(text);
	if (!p)
		fail_msg("%s: %s", g_err.where, g_err.detail);
	return p;
}

static void test_the_four_classic_rules(void **state UNUSED)
{
	static const struct {
		struct permissions p;
		enum trust trust;
		const char *args;
		enum decision want;
	} cases[] = {
		{ { .scope = SCOPE_READ_ONLY }, TRUST_STANDARD, "{}", DECISION_ALLOW },
		{ { .filesystem = true, .subprocess = true }, TRUST_STANDARD, "{\"path\":\"/etc/passwd\"}", DECISION_ALLOW },
		{ { .network = true }, TRUST_STANDARD, "{}", DECISION_DENY },
		{ { .network = true }, TRUST_ELEVATED, "{}", DECISION_ALLOW },
		{ { .network = true, .scope = SCOPE_DESTRUCTIVE }, TRUST_STANDARD, "{}", DECISION_DENY },
		{ { .scope = SCOPE_DESTRUCTIVE }, TRUST_STANDARD, "{}", DECISION_ESCALATE },
		{ { .scope = SCOPE_DESTRUCTIVE }, TRUST_ELEVATED, "{}", DECISION_ESCALATE },
		{ { .scope = SCOPE_DESTRUCTIVE }, TRUST_ADMIN, "{}", DECISION_ALLOW },
		{ { true, false, false, true, SCOPE_READ_WRITE }, TRUST_STANDARD, "{\"path\":\"a/b\"}", DECISION_ALLOW },
		{ { true, false, false, true, SCOPE_READ_WRITE }, TRUST_STANDARD, "{\"path\":\"../b\"}", DECISION_DENY },
		{ { true, false, false, true, SCOPE_READ_WRITE }, TRUST_ADMIN, "{\"path\":\"/etc/x\"}", DECISION_DENY },
		{ { true, false, false, true, SCOPE_READ_WRITE }, TRUST_STANDARD, "{\"path\":7}", DECISION_DENY },
		{ { true, false, false, true, SCOPE_READ_WRITE }, TRUST_STANDARD, "{}", DECISION_DENY },
		{ { true, true, false, true, SCOPE_READ_WRITE }, TRUST_STANDARD, "{\"path\":\"a\"}", DECISION_DENY },
		{ { true, true, false, true, SCOPE_READ_WRITE }, TRUST_ELEVATED, "{\"path\":\"a\"}", DECISION_ALLOW },
	};
	struct policy *p = shipped();
	struct question q = question();

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		q.effective = cases[i].p;
		q.trust = cases[i].trust;
		args(&q, cases[i].args);
		if (decide(p, &q) != cases[i].want)
			fail_msg("case %zu", i);
	}
	policy_free(p);
}

static void test_the_shipped_rules_have_words(void **state UNUSED)
{
	struct policy *p = shipped();

	for (size_t i = 0; i < p->count; i++) {
		assert_non_null(p->rules[i].name);
		if (p->rules[i].decide != DECISION_ALLOW)
			assert_true(p->rules[i].reason && p->rules[i].hint);
	}
	policy_free(p);
}

/* ---- the parts ---- */

static void test_globs(void **state UNUSED)
{
	static const struct {
		const char *glob, *text;
		bool hit;
	} cases[] = {
		{ "*", "", true },	   { "?", "", false },	      { "a*b*c", "aXbYc", true }, { "a*b*c", "aXbY", false }, { "*a", "ba", true },
		{ "?", "\xc3\xbc", true }, { "??", "\xc3\xbc", false }, { "[a-c]x", "bx", true },  { "[!a-c]x", "bx", false }, { "[^a]", "\xc3\xbc", true },
		{ "\\*", "*", true },	   { "\\*", "a", false },     { "a", "A", false },	  { "ab", "a", false },	      { "a", "ab", false },
		{ "[ab]*", "b", true },	   { "**a", "xa", true },     { "[a-]", "-", true },
	};
	static const struct {
		const char *a, *b;
		bool covers;
	} pairs[] = {
		{ "*", "a*", true }, { "a*", "*", false },  { "a*", "ab?", true }, { "?", "*", false },	{ "?", "[ab]", true },
		{ "a", "a", true },  { "a?", "ab", true }, { "[ab]", "a", true }, { "[ab]", "[ab]", true }, { "*a", "*?", false }, { "a*", "\\a", true },
	};
	char why[120], text[200];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(glob_check(cases[i].glob, GLOB_WORDS, why), 0);
		if (glob_match(cases[i].glob, cases[i].text) != cases[i].hit)
			fail_msg("%s %s", cases[i].glob, cases[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		if (glob_covers(pairs[i].a, pairs[i].b) != pairs[i].covers)
			fail_msg("%s %s", pairs[i].a, pairs[i].b);
	static const char *const no_tool[] = { "a.b", "a-b", "9*", "a b", "", "\xc3\xbc", "[.]", "[a-z", "[]", "a\\*", "[a-\x7f]" };
	for (size_t i = 0; i < ARRAY_LEN(no_tool); i++)
		if (glob_check(no_tool[i], GLOB_TOOLS, why) == 0)
			fail_msg("%s", no_tool[i]);
	memset(text, 'a', 65);
	text[65] = '\0';
	assert_int_equal(glob_check(text, GLOB_TOOLS, why), -EINVAL);
	assert_int_equal(glob_check(text + 1, GLOB_TOOLS, why), 0);
}

/* Many stars against a long text that misses by its last character. */
static void test_a_glob_is_no_way_to_burn_time(void **state UNUSED)
{
	static char text[20001];

	memset(text, 'a', sizeof(text) - 1);
	assert_false(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab", text));
}

static void test_decimals(void **state UNUSED)
{
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
		{ "1", "1.0", 0 },     { "10", "1e1", 0 },   { "0.1", "1e-1", 0 },  { "-1", "1", -1 },	   { "0", "-0", 0 },	  { "0.0e5", "0", 0 },
		{ "9", "10", -1 },     { "100", "99.9", 1 }, { "-100", "-99", -1 }, { "0.001", "0.01", -1 }, { "1.20", "1.2", 0 }, { "12e-1", "1.2", 0 },
		{ "1.05", "1.5", -1 }, { "1E+2", "100", 0 }, { "0.10", "0.1", 0 },  { "123.456", "123.4561", -1 }, { "-0.5", "0", -1 }, { "1e-1000000", "0", 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int order = 7;
		assert_true(decimal_compare(cases[i].a, strlen(cases[i].a), cases[i].b, strlen(cases[i].b), &order));
		if (order != cases[i].order)
			fail_msg("%s %s: %d", cases[i].a, cases[i].b, order);
		assert_true(decimal_compare(cases[i].b, strlen(cases[i].b), cases[i].a, strlen(cases[i].a), &order));
		assert_int_equal(order, -cases[i].order);
	}
	int order;
	assert_false(decimal_compare("1", 1, "1e9999999999999", 15, &order));
}

/* ---- what is said at check ---- */

static void lint_add(const char *where, const char *what, void *arg)
{
	char *all = arg;
	size_t n = strlen(all);

	snprintf(all + n, 2000 - n, "%s %s\n", where, what);
}

static const struct {
	const char *rules, *where, *what; /* what NULL: nothing is said */
} lints[] = {
	{ "{\"match\":\"a\",\"decide\":\"allow\"},{\"match\":\"b\",\"decide\":\"deny\"}", "", NULL },
	{ "{\"match\":\"a*\",\"decide\":\"allow\"},\n{\"match\":\"ab\",\"decide\":\"allow\"}", "p.json:2:1", "says the same before it" },
	{ "{\"match\":\"ab\",\"decide\":\"allow\"},\n{\"match\":\"a*\",\"decide\":\"allow\"}", "", NULL },
	{ "{\"match\":\"ab\",\"decide\":\"allow\"},\n{\"match\":[\"x\",\"a*\"],\"decide\":\"deny\"}", "p.json:1:11", "p.json:2 decides \"deny\" for all" },
	{ "{\"match\":\"ab\",\"decide\":\"allow\"},\n{\"match\":\"ab\",\"decide\":\"escalate\"}", "p.json:1:11", "contradicts p.json:2" },
	{ "{\"match\":\"ab\",\"decide\":\"escalate\"},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"network\":true}}", "", NULL },
	{ "{\"match\":\"ab\",\"decide\":\"allow\",\"when\":{\"network\":true,\"uid\":1}},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"network\":true}}", "p.json:1:11", "decides \"deny\"" },
	{ "{\"match\":\"ab\",\"decide\":\"allow\",\"when\":{\"trust_at_least\":\"elevated\"}},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"trust_at_least\":\"admin\"}}", "", NULL },
	{ "{\"match\":\"ab\",\"decide\":\"allow\",\"when\":{\"args\":{\"a\":{\"min\":1}}}},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"args\":{\"a\":{\"min\":2}}}}", "", NULL },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"trust_below\":\"standard\"}}", "p.json:1:11", "no trust is below" },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"trust_below\":\"admin\",\"trust_at_least\":\"admin\"}}", "p.json:1:11", "at least the one" },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"time\":{\"from\":\"08:00\",\"to\":\"08:00\"}}}", "p.json:1:11", "no time lies" },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"scope\":\"read-only\",\"write\":true}}", "p.json:1:11", "what writes" },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"custom\":true,\"reviewed\":true}}", "p.json:1:11", "either custom" },
	{ "{\"match\":\"run\",\"decide\":\"deny\",\"when\":{\"state\":\"draft\"}}", "p.json:1:11", "sent with run" },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"state\":\"removed\"}}", "p.json:1:11", "never asked" },
	{ "{\"match\":\"a\",\"decide\":\"allow\",\"when\":{\"rate\":{\"over\":1,\"per\":\"1s\"}}}", "p.json:1:11", "too often" },
	{ "{\"match\":\"a\",\"decide\":\"deny\",\"when\":{\"args\":{\"p\":{\"present\":false,\"equals\":1}}}}", "p.json:1:11", "absent and of some value" },
	{ "{\"match\":\"a\",\"decide\":\"allow\",\"when\":{\"scope\":[\"read-only\",\"read-write\"]}},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"scope\":\"read-only\"}}", "", NULL },
	{ "{\"match\":\"a\",\"decide\":\"allow\",\"when\":{\"uid\":[1,2]}},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"uid\":1}}", "", NULL },
	{ "{\"match\":\"a\",\"decide\":\"allow\",\"when\":{\"uid\":1}},\n{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"uid\":[2,1]}}", "p.json:1:11", "decides" },
	/* One that never holds hides nothing. */
	{ "{\"match\":\"*\",\"decide\":\"deny\",\"when\":{\"trust_below\":\"standard\"}},{\"match\":\"a\",\"decide\":\"allow\",\"when\":{\"trust_below\":\"standard\"}}", "p.json:1:11", "no trust is below" },
};

static void test_what_can_hardly_be_meant_is_said(void **state UNUSED)
{
	char text[600], all[2000], want[160];

	for (size_t i = 0; i < ARRAY_LEN(lints); i++) {
		snprintf(text, sizeof(text), "{\"rules\":[%s]}", lints[i].rules);
		struct policy *p = parse(text);
		if (!p)
			fail_msg("%s: %s", text, g_err.detail);
		all[0] = '\0';
		policy_lint(p, lint_add, all);
		snprintf(want, sizeof(want), "%s ", lints[i].where);
		if (lints[i].what ? strncmp(all, want, strlen(want)) != 0 || !strstr(all, lints[i].what) : all[0] != '\0')
			fail_msg("%s\nsaid: %s", text, all);
		policy_free(p);
	}
	struct policy *p = shipped();
	all[0] = '\0';
	policy_lint(p, lint_add, all);
	assert_string_equal(all, "");
	policy_free(p);
}

/* ---- verdict tables ---- */

static int cases_of(const char *text, char *ret, size_t cap)
{
	struct policy_text cases = { "c.json", text, strlen(text) };
	struct policy *p = NULL;
	struct jbuf b;

	memset(&g_err, 0, sizeof(g_err));
	int r = policy_cases_policy(&cases, &p, &g_err);
	jbuf_init(&b, 1u << 20);
	if (r == 0 && !p)
		p = shipped();
	if (r == 0)
		r = policy_cases_run(p, &cases, 1767312000000, &b, &g_err);
	snprintf(ret, cap, "%s", b.data ? b.data : "");
	jbuf_done(&b);
	policy_free(p);
	return r;
}

static void test_tables_of_verdicts(void **state UNUSED)
{
	static const struct {
		const char *request, *found;
	} good[] = {
		{ "{\"tool\":\"t\",\"expect\":\"allow\"}", "\"wrong\":0" },
		{ "{\"tool\":\"t\",\"expect\":\"denied\"}", "\"wrong\":1" },
		{ "{\"tool\":\"t\",\"permissions\":{\"network\":true},\"expect\":\"denied\"}", "\"rule\":\"p.json:6 network-needs-trust\"" },
		{ "{\"tool\":\"t\",\"scope\":\"destructive\",\"permissions\":{},\"trust\":\"admin\",\"expect\":\"allow\"}", "\"wrong\":0" },
		{ "{\"tool\":\"t\",\"scope\":\"read-write\",\"args\":{/* c */\"path\":\"/srv/x\"},\"workspace\":\"/srv\",\"expect\":\"allow\"}", "\"wrong\":0" },
		{ "{\"tool\":\"a b\",\"expect\":\"unknown_tool\"}", "\"wrong\":0" },
		{ "{\"tool\":\"run\",\"expect\":\"allow\",\"name\":\"n\\u001b\"}", "\"unhit\":8" },
	};
	static const struct {
		const char *text, *where, *detail;
	} wrong[] = {
		{ "{}", "c.json:1:1", "no \"requests\"" },
		{ "{\"requests\":[{\"tool\":\"t\"}]}", "c.json:1:14", "expect" },
		{ "{\"requests\":[{\"tool\":\"t\",\"expect\":\"alow\"}]}", "c.json:1:26", "\"alow\"" },
		{ "{\"requests\":[{\"tol\":\"t\"}]}", "c.json:1:15", "\"tol\"" },
		{ "{\"requests\":[{\"tool\":\"t\",\"expect\":\"deny\",\"permissions\":{\"write\":true}}]}", "c.json:1:42", "filesystem" },
		{ "{\"requests\":[{\"tool\":\"t\",\"expect\":\"deny\",\"time\":\"noon\"}]}", "c.json:1:42", "moment" },
		{ "{\"policy\":{\n\"rules\":[{\"mach\":1}]},\"requests\":[]}", "c.json:2:11", "\"mach\"" },
	};
	static char out[1u << 16];
	char text[600];

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		snprintf(text, sizeof(text), "{\"requests\":[%s]}", good[i].request);
		if (cases_of(text, out, sizeof(out)) < 0 || !strstr(out, good[i].found))
			fail_msg("%s\n%s%s", text, g_err.detail, out);
	}
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (cases_of(wrong[i].text, out, sizeof(out)) == 0 || strcmp(g_err.where, wrong[i].where) != 0 || !strstr(g_err.detail, wrong[i].detail))
			fail_msg("%s\n%s: %s", wrong[i].text, g_err.where, g_err.detail);
	assert_int_equal(cases_of("{\"policy\":{\"rules\":[{\"match\":\"*\",\"decide\":\"allow\",\"when\":{\"time\":{\"days\":[\"sat\"]}}}]},\"tools\":[\"t\"],"
				  "\"requests\":[{\"tool\":\"t\",\"expect\":\"allow\",\"time\":\"2026-01-03T10:00Z\"},{\"tool\":\"t\",\"expect\":\"deny\"},"
				  "{\"tool\":\"T\",\"expect\":\"unknown_tool\"}]}",
				  out, sizeof(out)),
			 0);
	assert_non_null(strstr(out, "\"wrong\":0"));
	assert_non_null(strstr(out, "\"where\":\"c.json:1\",\"name\":null,\"decide\":\"allow\",\"hits\":1"));
}

static void test_words(void **state UNUSED)
{
	for (int i = 0; i < TRUST_COUNT; i++)
		assert_int_equal(trust_find(trust_name((enum trust)i)), i);
	assert_int_equal(trust_find("Admin"), -1);
	assert_string_equal(decision_name(DECISION_ESCALATE), "escalate");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_refused_says_where),
		cmocka_unit_test(test_conditions_that_are_refused),
		cmocka_unit_test(test_a_policy_is_taken_whole),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_conditions_on_the_tool),
		cmocka_unit_test(test_conditions_on_who_asks),
		cmocka_unit_test(test_conditions_on_time),
		cmocka_unit_test(test_paths_stay_under_the_workspace),
		cmocka_unit_test(test_paths_under_other_places),
		cmocka_unit_test(test_values_are_compared_exactly),
		cmocka_unit_test(test_patterns_are_whole_and_bounded),
		cmocka_unit_test(test_a_deny_wins_in_every_order),
		cmocka_unit_test(test_an_escalation_comes_before_an_allow),
		cmocka_unit_test(test_nothing_matches_is_denied),
		cmocka_unit_test(test_the_four_classic_rules),
		cmocka_unit_test(test_the_shipped_rules_have_words),
		cmocka_unit_test(test_globs),
		cmocka_unit_test(test_a_glob_is_no_way_to_burn_time),
		cmocka_unit_test(test_decimals),
		cmocka_unit_test(test_what_can_hardly_be_meant_is_said),
		cmocka_unit_test(test_tables_of_verdicts),
		cmocka_unit_test(test_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
