/* What an external decision point may answer: a decision, or it is none. */
#include "supervisor/decision_point.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static enum decision taken(const char *text, const char *reason)
{
	enum decision d = DECISION_DENY;
	struct err err = { 0 };
	char why[300];

	if (decision_point_parse(text, strlen(text), &d, why, &err) < 0)
		fail_msg("%s: %s", text, err.detail);
	assert_string_equal(why, reason);
	return d;
}

static void decisions_are_taken(void **state)
{
	(void)state;
	assert_int_equal(taken("{\"result\":true}", ""), DECISION_ALLOW);
	assert_int_equal(taken(" { \"result\" : false } ", ""), DECISION_DENY);
	assert_int_equal(taken("{\"decision_id\":\"7\",\"result\":{\"decide\":\"allow\",\"more\":[{}]}}", ""), DECISION_ALLOW);
	assert_int_equal(taken("{\"result\":{\"reason\":\"so\",\"decide\":\"deny\"}}", "so"), DECISION_DENY);
	assert_int_equal(taken("{\"result\":{\"decide\":\"escalate\",\"reason\":\"a\\nb\\u0000c\\u007f\"}}", "a b c "), DECISION_ESCALATE);
	assert_int_equal(taken("{\"result\":{\"decide\":\"deny\",\"reason\":7}}", ""), DECISION_DENY);
}

static void long_reasons_are_cut_between_characters(void **state)
{
	char text[2000] = "{\"result\":{\"decide\":\"deny\",\"reason\":\"";
	enum decision d;
	struct err err;
	char why[300];

	(void)state;
	for (int i = 0; i < 400; i++)
		strcat(text, "\xc3\xa4");
	strcat(text, "\"}}");
	assert_int_equal(decision_point_parse(text, strlen(text), &d, why, &err), 0);
	assert_int_equal(strlen(why), 298);
	assert_int_equal((unsigned char)why[297], 0xa4);
}

static void anything_else_is_none(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "no JSON object" },
		{ "true", "no JSON object" },
		{ "[{\"result\":true}]", "no JSON object" },
		{ "{\"result\":true}x", "no JSON object" },
		{ "{\"result\":true", "no JSON object" },
		{ "{\"result\":false,\"result\":true}", "no JSON object" },
		{ "{\"result\":false,\"r\\u0065sult\":true}", "no JSON object" },
		{ "{}", "no result" },
		{ "{\"Result\":true}", "no result" },
		{ "{\"x\":{\"result\":true}}", "no result" },
		{ "{\"result\":null}", "neither true nor false" },
		{ "{\"result\":1}", "neither true nor false" },
		{ "{\"result\":\"true\"}", "neither true nor false" },
		{ "{\"result\":[true]}", "neither true nor false" },
		{ "{\"result\":{}}", "neither true nor false" },
		{ "{\"result\":{\"allow\":true}}", "neither true nor false" },
		{ "{\"result\":{\"decide\":true}}", "none of allow" },
		{ "{\"result\":{\"decide\":\"Allow\"}}", "none of allow" },
		{ "{\"result\":{\"decide\":\"allow \"}}", "none of allow" },
		{ "{\"result\":{\"decide\":[\"allow\"]}}", "none of allow" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		enum decision d = DECISION_DENY;
		struct err err = { 0 };
		char why[300];

		if (decision_point_parse(rows[i].text, strlen(rows[i].text), &d, why, &err) != -EINVAL || !strstr(err.detail, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.detail);
		assert_int_equal(err.class, ERR_POLICY);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions_are_taken),
		cmocka_unit_test(long_reasons_are_cut_between_characters),
		cmocka_unit_test(anything_else_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
