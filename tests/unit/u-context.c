/* What a caller says beside the arguments, what a tool asks, what it says while it runs: the shapes that are taken, and those that are not. */
#include "supervisor/context.h"

#include "jail/base/limits.h"
#include "supervisor/call.h"
#include "supervisor/call_event.h"
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

/* A text that is refused for its shape must be JSON, or it is refused for nothing. */
static void is_json(const char *text)
{
	struct json_error je;

	if (json_check(text, strlen(text), 0, LIMIT_JSON_DEPTH, &je) != 0)
		fail_msg("%s is no JSON: %s", text, je.what);
}

static void test_contexts(void **state UNUSED)
{
	static const char *const good[] = {
		"{}",
		"{\"inputs\":{}}",
		"{ \"capabilities\" : [ ] }",
		"{\"capabilities\":[\"elicitation\", \"progress\" ,\"log\"]}",
		"{\"inputs\":{\"a.B_9-\":{\"action\":\"accept\",\"content\":{\"s\":\"x\",\"n\":-1.5,\"b\":true,\"l\":[\"a\", \"b\\\"]\"],\"e\":[]}}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\"},\"b\":{\"action\":\"decline\"},\"c\":{\"action\":\"cancel\"}},\"capabilities\":[]}",
	};
	static const char *const bad[] = {
		"{\"input\":{}}",
		"{\"inputs\":[]}",
		"{\"inputs\":null}",
		"{\"inputs\":{\"\":{\"action\":\"accept\"}}}",
		"{\"inputs\":{\"a b\":{\"action\":\"accept\"}}}",
		"{\"inputs\":{\"\\u0061\":{\"action\":\"accept\"}}}",
		"{\"inputs\":{\"a\":{}}}",
		"{\"inputs\":{\"a\":\"accept\"}}",
		"{\"inputs\":{\"a\":{\"action\":\"accepted\"}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"more\":1}}}",
		"{\"inputs\":{\"a\":{\"action\":\"decline\",\"content\":{}}}}",
		"{\"inputs\":{\"a\":{\"content\":{}}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":[]}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{\"o\":{}}}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{\"o\":null}}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{\"o\":[1]}}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{\"o\":[\"x\",[]]}}}}",
		"{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{\"o\":11111111112222222222333333333344444444445555555555666666666677777}}}}",
		"{\"capabilities\":{}}",
		"{\"capabilities\":[\"sampling\"]}",
		"{\"capabilities\":[\"log\",1]}",
		"{\"capabilities\":[\"log\",\"log\",\"log\",\"log\"]}",
		"{\"capabilities\":\"log\"}",
		"{\"trust_level\":\"admin\"}",
	};
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		is_json(good[i]);
		if (context_check(good[i], strlen(good[i]), &err) != 0)
			fail_msg("%s: %s", good[i], err.detail);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		is_json(bad[i]);
		if (context_check(bad[i], strlen(bad[i]), &err) != -EINVAL)
			fail_msg("%s is taken", bad[i]);
		assert_string_equal(err.where, "context");
	}
}

/* "{"inputs":{"k0":ANSWER,"k1":ANSWER,...}}" and the like. */
static char *many(const char *before, const char *item, unsigned count, const char *after)
{
	struct jbuf b;

	jbuf_init(&b, 1u << 20);
	jbuf_text(&b, before);
	for (unsigned i = 0; i < count; i++)
		jbuf_printf(&b, "%s\"k%u\":%s", i ? "," : "", i, item);
	jbuf_text(&b, after);
	assert_false(b.failed);
	char *text = strndup(b.data, b.len);
	jbuf_done(&b);
	return text;
}

static int context_of(const char *before, const char *item, unsigned count, const char *after)
{
	char *text = many(before, item, count, after);
	struct err err;
	int r = context_check(text, strlen(text), &err);

	free(text);
	return r;
}

static bool asks_of(const char *before, const char *item, unsigned count, const char *after)
{
	char *text = many(before, item, count, after);
	bool good = context_asks_check(text, strlen(text));

	free(text);
	return good;
}

static void test_bounds(void **state UNUSED)
{
	static const char field[] = "{\"type\":\"string\"}", question[] = "{\"message\":\"m\",\"schema\":{\"type\":\"object\",\"properties\":{}}}";
	char *text = malloc(LIMIT_CONTEXT_BYTES + 1), *big;
	struct err err;

	assert_int_equal(context_of("{\"inputs\":{", "{\"action\":\"cancel\"}", 32, "}}"), 0);
	assert_int_equal(context_of("{\"inputs\":{", "{\"action\":\"cancel\"}", 33, "}}"), -EINVAL);
	assert_int_equal(context_of("{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{", "1", LIMIT_ASK_FIELDS, "}}}}"), 0);
	assert_int_equal(context_of("{\"inputs\":{\"a\":{\"action\":\"accept\",\"content\":{", "1", LIMIT_ASK_FIELDS + 1, "}}}}"), -EINVAL);
	memset(text, ' ', LIMIT_CONTEXT_BYTES + 1);
	text[0] = '{';
	text[LIMIT_CONTEXT_BYTES - 1] = '}';
	assert_int_equal(context_check(text, LIMIT_CONTEXT_BYTES, &err), 0);
	text[LIMIT_CONTEXT_BYTES - 1] = ' ';
	text[LIMIT_CONTEXT_BYTES] = '}';
	assert_int_equal(context_check(text, LIMIT_CONTEXT_BYTES + 1, &err), -E2BIG);
	free(text);
	assert_true(asks_of("{", question, LIMIT_ASKS, "}"));
	assert_false(asks_of("{", question, LIMIT_ASKS + 1, "}"));
	assert_true(asks_of("{\"a\":{\"message\":\"m\",\"schema\":{\"type\":\"object\",\"properties\":{", field, LIMIT_ASK_FIELDS, "}}}}"));
	assert_false(asks_of("{\"a\":{\"message\":\"m\",\"schema\":{\"type\":\"object\",\"properties\":{", field, LIMIT_ASK_FIELDS + 1, "}}}}"));
	big = calloc(1, LIMIT_ASKS_BYTES + 100);
	for (size_t over = 0; over < 2; over++) {
		static const char before[] = "{\"a\":{\"message\":\"", after[] = "\",\"schema\":{\"type\":\"object\",\"properties\":{}}}}";
		size_t n = LIMIT_ASKS_BYTES - strlen(before) - strlen(after) + over;

		memset(big, 'x', n);
		strcpy(big + n, after);
		assert_int_equal(asks_of(before, "", 0, big), !over);
	}
	free(big);
}

static void test_asks(void **state UNUSED)
{
#define FORM(fields) "{\"a\":{\"message\":\"m\",\"schema\":{\"type\":\"object\",\"properties\":" fields "}}}"
	static const char *const good[] = {
		FORM("{}"),
		FORM("{\"n\":{\"type\":\"integer\",\"minimum\":1},\"c\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"A\"}]}}"),
		FORM("{\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\"]}},\"b\":{\"type\":\"boolean\"},\"x\":{\"type\":\"number\"}}"),
		"{\"a\":{\"schema\":{\"type\":\"object\",\"properties\":{},\"required\":[]},\"message\":\"m\"}}",
	};
	static const char *const bad[] = {
		"{}",
		"[]",
		"\"a\"",
		"{\"a b\":{\"message\":\"m\",\"schema\":{\"type\":\"object\",\"properties\":{}}}}",
		"{\"a\":{\"message\":1,\"schema\":{\"type\":\"object\",\"properties\":{}}}}",
		"{\"a\":{\"message\":\"m\"}}",
		"{\"a\":{\"schema\":{\"type\":\"object\",\"properties\":{}}}}",
		"{\"a\":{\"message\":\"m\",\"schema\":{\"type\":\"object\",\"properties\":{}},\"mode\":\"url\"}}",
		"{\"a\":{\"message\":\"m\",\"schema\":{\"type\":\"string\",\"properties\":{}}}}",
		"{\"a\":{\"message\":\"m\",\"schema\":{\"type\":\"object\"}}}",
		"{\"a\":{\"message\":\"m\",\"schema\":true}}",
		FORM("[]"),
		FORM("{\"o\":{\"type\":\"object\"}}"),
		FORM("{\"o\":{\"enum\":[1]}}"),
		FORM("{\"o\":true}"),
		FORM("{\"o\":{\"type\":\"string\",\"default\":[[[[[[[1]]]]]]]}}"),
	};

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!context_asks_check(good[i], strlen(good[i])))
			fail_msg("%s is not taken", good[i]);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		is_json(bad[i]);
		if (context_asks_check(bad[i], strlen(bad[i])))
			fail_msg("%s is taken", bad[i]);
	}
}

static void test_events(void **state UNUSED)
{
	static const char *const good[] = {
		"{\"progress\":0}",
		"{\"total\":1e3,\"message\":\"\",\"progress\":-0.5}",
		"{\"log\":{\"level\":\"debug\",\"data\":null}}",
		"{ \"log\" : { \"data\" : [1,{\"a\":{}}] , \"logger\":\"l\", \"level\":\"emergency\" } }",
	};
	static const char *const bad[] = {
		"{}",
		"[]",
		" {\"progress\":1}",
		"{\"progress\":1} ",
		"{\"progress\":\"1\"}",
		"{\"progress\":true}",
		"{\"progress\":null}",
		"{\"total\":1}",
		"{\"progress\":1,\"total\":\"2\"}",
		"{\"progress\":1,\"message\":2}",
		"{\"progress\":1,\"id\":2}",
		"{\"progress\":1,\"call_id\":\"x\"}",
		"{\"progress\":1,\"log\":{\"level\":\"debug\",\"data\":1}}",
		"{\"progres\\u0073\":1}",
		"{\"log\":1}",
		"{\"log\":{\"level\":\"debug\"}}",
		"{\"log\":{\"data\":1}}",
		"{\"log\":{\"level\":\"loud\",\"data\":1}}",
		"{\"log\":{\"level\":\"debug\",\"data\":1,\"more\":1}}",
		"{\"log\":{\"level\":\"debug\",\"data\":1,\"logger\":1}}",
	};

	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		is_json(good[i]);
		if (!call_event_check(good[i], strlen(good[i])))
			fail_msg("%s is not taken", good[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		is_json(bad[i]);
		if (call_event_check(bad[i], strlen(bad[i])))
			fail_msg("%s is taken", bad[i]);
	}
}

static void test_event_room(void **state UNUSED)
{
	struct call c = { .stream = NULL }, heard = { .stream = (struct stream *)&c };

	for (unsigned i = 0; i < LIMIT_EVENTS; i++)
		assert_true(call_event_room(&c, 1));
	assert_false(call_event_room(&c, 1));
	assert_int_equal(c.limits_hit, 0); /* nobody missed anything */
	assert_true(call_event_room(&heard, LIMIT_EVENT_BYTES));
	assert_false(call_event_room(&heard, 1));
	assert_false(call_event_room(&heard, 0));
	assert_int_equal(heard.limits_hit, HIT_EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contexts), cmocka_unit_test(test_bounds),     cmocka_unit_test(test_asks),
		cmocka_unit_test(test_events),   cmocka_unit_test(test_event_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
