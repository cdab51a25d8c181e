/* What the registry's words mean: names, permissions, and the identity of a version. */
#include "supervisor/tool.h"
#include "supervisor/wire/json.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

static int name(const char *text, struct err *err)
{
	return tool_name_check(text, strlen(text), err);
}

static void names_are_ascii_identifiers(void **state)
{
	static const char *const good[] = { "a", "_", "Z9", "read_file", "x234567890123456789012345678901234567890123456789012345678901234" };
	static const char *const bad[] = { "",  "9a",    "a.b",   "a/b",    "../a", "a b",	  "a-b",
					   "a*", "rm_f\xd1\x96le", "a\n", "a\x7f", "ａ", "x2345678901234567890123456789012345678901234567890123456789012345" };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_int_equal(name(good[i], &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(name(bad[i], &err), -EINVAL);
		assert_true(err.detail[0] && err.hint[0]);
	}
	assert_int_equal(tool_name_check("a\0b", 3, &err), -EINVAL);
	assert_int_equal(name("a.b", &err), -EINVAL);
	assert_non_null(strstr(err.detail, "'.' as character 2"));
	assert_int_equal(name("rm_f\xd1\x96le", &err), -EINVAL);
	assert_non_null(strstr(err.detail, "0xd1, no ASCII character, after \"rm_f\""));
}

static int parse(const char *text, struct permissions *p, struct err *err)
{
	struct json_error je;

	assert_int_equal(json_check(text, strlen(text), JSON_OBJECT, 8, &je), 0);
	return permissions_parse(text, strlen(text), p, err);
}

static void permissions_are_read_and_printed(void **state)
{
	struct permissions p;
	struct err err;
	struct jbuf b;

	(void)state;
	assert_int_equal(parse("{}", &p, &err), 0);
	assert_false(p.filesystem || p.network || p.subprocess || p.write || p.scope != SCOPE_READ_ONLY);
	assert_int_equal(parse("{ \"filesystem\" : true, \"write\":true,\"scope\":\"destructive\", \"network\":false }", &p, &err), 0);
	assert_true(p.filesystem && p.write && !p.network && !p.subprocess && p.scope == SCOPE_DESTRUCTIVE);
	jbuf_init(&b, 1000);
	permissions_print(&p, &b);
	assert_string_equal(b.data, "{\"filesystem\":true,\"network\":false,\"subprocess\":false,\"write\":true,\"scope\":\"destructive\"}");
	jbuf_done(&b);
}

static void wrong_permissions_are_named(void **state)
{
	static const struct {
		const char *text, *word;
	} bad[] = {
		{ "{\"netwrk\":true}", "netwrk" },	  { "{\"network\":1}", "network" },
		{ "{\"scope\":\"readonly\"}", "scope" },  { "{\"scope\":true}", "scope" },
		{ "{\"write\":true,\"scope\":\"read-write\"}", "filesystem" },
		{ "{\"write\":true,\"filesystem\":true}", "read-only" },
		{ "{\"\\u0000\":true}", "permission" },
	};
	struct permissions p;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(parse(bad[i].text, &p, &err), -EINVAL);
		assert_non_null(strstr(err.detail, bad[i].word));
	}
	assert_int_equal(parse("{\"netwrk\":true}", &p, &err), -EINVAL);
	assert_non_null(strstr(err.hint, "network"));
}

static void any_change_is_another_hash(void **state)
{
	struct tool t = { .name = "t", .description = "ab", .parameters = "c", .body = "d", .profile = "pure" };
	char first[TOOL_HASH_MAX], again[TOOL_HASH_MAX];

	(void)state;
	tool_hash(&t, first);
	assert_int_equal(strlen(first), TOOL_HASH_MAX - 1);
	tool_hash(&t, again);
	assert_string_equal(first, again);
	t.description = "a";
	t.parameters = "bc"; /* the same bytes in a row */
	tool_hash(&t, again);
	assert_string_not_equal(first, again);
	t.description = "ab";
	t.parameters = "c";
	t.declared.network = true;
	tool_hash(&t, again);
	assert_string_not_equal(first, again);
	t.declared.network = false;
	t.profile_text = "";
	tool_hash(&t, again);
	assert_string_not_equal(first, again);
	t.profile_text = NULL;
	t.state = TOOL_APPROVED; /* not what it is, but what became of it */
	tool_hash(&t, again);
	assert_string_equal(first, again);
}

static void states_are_found_by_their_names(void **state)
{
	(void)state;
	for (int i = 0; i < TOOL_STATE_COUNT; i++)
		assert_int_equal(tool_state_find(tool_state_name((enum tool_state)i)), i);
	for (int i = 0; i < SCOPE_COUNT; i++)
		assert_int_equal(tool_scope_find(tool_scope_name((enum tool_scope)i)), i);
	assert_int_equal(tool_state_find("Draft"), -1);
	assert_int_equal(tool_scope_find(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_ascii_identifiers),	 cmocka_unit_test(permissions_are_read_and_printed),
		cmocka_unit_test(wrong_permissions_are_named),	 cmocka_unit_test(any_change_is_another_hash),
		cmocka_unit_test(states_are_found_by_their_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
