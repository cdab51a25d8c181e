/* What a jail says about a body is its author's word: what is read of it, what is refused, and whether run fits the schema. */
#include "supervisor/registry.h"
#include "supervisor/schema.h"
#include "supervisor/tool_check.h"
#include "supervisor/wire/json.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "{\"async\":false,\"variable\":false,\"positional\":[],\"parameters\":"
#define NEEDS ",\"needs\":{\"filesystem\":false,\"network\":true,\"subprocess\":false,\"write\":true,\"destructive\":true}," \
	      "\"reasons\":{\"network\":\"line 3: import socket\"},\"imports\":[\"socket\"]}"

static int look_at(const char *text, struct look *look, struct err *err)
{
	struct json_error je;

	assert_int_equal(json_check(text, strlen(text), 0, 130, &je), 0);
	return look_parse(text, strlen(text), look, err);
}

static void a_statement_is_read(void **state)
{
	struct look look;
	struct err err;

	(void)state;
	assert_int_equal(look_at(HEAD "[{\"name\":\"a\",\"default\":false},{\"name\":\"b\",\"default\":true}]" NEEDS, &look, &err), 0);
	assert_true(look.known && !look.variable && !look.is_async && look.needs_known);
	assert_int_equal(look.count, 2);
	assert_string_equal(look.parameters[0].name, "a");
	assert_false(look.parameters[0].has_default);
	assert_true(look.parameters[1].has_default);
	assert_true(look.needs.network && look.needs.write && look.needs.filesystem && !look.needs.subprocess);
	assert_int_equal(look.needs.scope, SCOPE_DESTRUCTIVE);
	assert_string_equal(look.reasons[1], "line 3: import socket");
	assert_string_equal(look.reasons[0], "");
	look_done(&look);

	assert_int_equal(look_at(HEAD "null,\"needs\":null}", &look, &err), 0);
	assert_true(!look.known && look.variable && !look.needs_known);
	look_done(&look);
}

static void what_is_no_statement_is_refused(void **state)
{
	static const char *const bad[] = {
		"1", "\"x\"", "[]", "{}", HEAD "[1]}", HEAD "[{}]}", HEAD "[{\"name\":3}]}", HEAD "[{\"name\":\"\"}]}", HEAD "[{\"name\":\"a\\u0000b\"}]}",
	};
	struct look look;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(look_at(bad[i], &look, &err), -EINVAL);
		assert_string_equal(err.where, "body");
	}
}

static void a_statement_is_bounded(void **state)
{
	struct jbuf b;
	struct look look;
	struct err err;

	(void)state;
	jbuf_init(&b, 1u << 20);
	jbuf_text(&b, HEAD "[");
	for (unsigned i = 0; i <= LOOK_PARAMETERS_MAX; i++)
		jbuf_printf(&b, "%s{\"name\":\"p%u\"}", i ? "," : "", i);
	jbuf_text(&b, "]}");
	assert_int_equal(look_parse(b.data, b.len, &look, &err), -EINVAL);
	assert_non_null(strstr(err.detail, "more than 256 parameters"));
	jbuf_done(&b);

	jbuf_init(&b, 1u << 20);
	jbuf_text(&b, HEAD "[],\"pad\":\"");
	for (unsigned i = 0; i < LOOK_BYTES_MAX; i++)
		jbuf_text(&b, "x");
	jbuf_text(&b, "\"}");
	assert_int_equal(look_parse(b.data, b.len, &look, &err), -EINVAL);
	jbuf_done(&b);
}

static int fits(const char *statement, const char *parameters, struct err *err)
{
	struct schema *schema = NULL;
	struct look look;
	int r;

	assert_int_equal(look_at(statement, &look, err), 0);
	assert_int_equal(schema_compile(parameters, strlen(parameters), &schema, err), 0);
	r = look_fits(&look, schema, err);
	schema_free(schema);
	look_done(&look);
	return r;
}

#define SCHEMA(properties, required) "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "],\"additionalProperties\":false}"
#define NO_DEFAULT(name) HEAD "[{\"name\":\"" name "\",\"default\":false}]}"
#define DEFAULT(name)    HEAD "[{\"name\":\"" name "\",\"default\":true}]}"

static void run_and_schema_fit_or_not(void **state)
{
	struct err err;

	(void)state;
	assert_int_equal(fits(NO_DEFAULT("a"), SCHEMA("\"a\":{}", "\"a\""), &err), 0);
	assert_int_equal(fits(DEFAULT("a"), SCHEMA("\"a\":{}", ""), &err), 0);
	assert_int_equal(fits(DEFAULT("a"), SCHEMA("", ""), &err), 0);
	assert_int_equal(fits(HEAD "null}", SCHEMA("\"a\":{}", ""), &err), 0);

	assert_int_equal(fits(NO_DEFAULT("z"), SCHEMA("", ""), &err), -EINVAL);
	assert_string_equal(err.detail, "run needs an argument z that parameters does not define");
	assert_int_equal(fits(NO_DEFAULT("a"), SCHEMA("\"a\":{}", ""), &err), -EINVAL);
	assert_string_equal(err.detail, "run needs the argument a, which parameters does not require");
	assert_int_equal(fits(HEAD "[]}", SCHEMA("\"a\":{}", ""), &err), -EINVAL);
	assert_string_equal(err.detail, "run takes no argument a, which parameters defines");
	assert_int_equal(fits("{\"variable\":true,\"parameters\":[]}", SCHEMA("\"a\":{}", ""), &err), 0);
	assert_int_equal(fits("{\"variable\":true,\"positional\":[\"x\"],\"parameters\":[]}", SCHEMA("\"a\":{}", ""), &err), -EINVAL);
	assert_string_equal(err.detail, "run takes x by position only; arguments come by name");
}

/* ---- the words, before any jail ---- */

static int words(const char *name, size_t description_len, const char *body, size_t body_len, const char *parameters, struct err *err)
{
	static char description[TOOL_DESCRIPTION_MAX + 2];
	struct schema *schema = NULL;

	memset(description, 'd', sizeof(description));
	description[description_len] = '\0';
	int r = registry_check_texts(&(struct registry_texts){ .name = name,
							       .name_len = strlen(name),
							       .description = description,
							       .description_len = description_len,
							       .body = body,
							       .body_len = body_len,
							       .parameters = parameters,
							       .parameters_len = strlen(parameters) },
				     &schema, err);
	assert_true((r == 0) == (schema != NULL));
	schema_free(schema);
	return r;
}

static void words_are_refused_by_guardrail(void **state)
{
	static const char object[] = "{\"type\":\"object\"}";
	struct err err;
	char *large = calloc(1, (1u << 20) + 2);

	(void)state;
	assert_int_equal(words("a", 1, "x", 1, object, &err), 0);
	assert_int_equal(words("a", TOOL_DESCRIPTION_MAX, "x", 1, object, &err), 0);
	assert_int_equal(words("a.b", 1, "x", 1, object, &err), -EINVAL);
	assert_string_equal(err.where, "name");
	assert_int_equal(words("run", 1, "x", 1, object, &err), -EINVAL);
	assert_non_null(strstr(err.detail, "reserved"));
	assert_int_equal(words("Run", 1, "x", 1, object, &err), 0);
	assert_int_equal(words("a", 0, "x", 1, object, &err), -EINVAL);
	assert_string_equal(err.where, "description");
	assert_int_equal(words("a", TOOL_DESCRIPTION_MAX + 1, "x", 1, object, &err), -EINVAL);
	assert_string_equal(err.where, "description");
	assert_int_equal(words("a", 1, "x\n\0y", 4, object, &err), -EINVAL);
	assert_non_null(strstr(err.detail, "NUL character (line 2)"));
	memset(large, '#', (1u << 20) + 1);
	assert_int_equal(words("a", 1, large, (1u << 20) + 1, object, &err), -EINVAL);
	assert_string_equal(err.where, "body");
	for (const char *const *p = (const char *const[]){ "1", "\"{}\"", "[]", "true", "{\"type\":\"string\"}", "{}", NULL }; *p; p++) {
		assert_int_equal(words("a", 1, "x", 1, *p, &err), -EINVAL);
		assert_string_equal(err.where, "parameters");
	}
	snprintf(large, 70000, "{\"type\":\"object\",\"description\":\"%069000d\"}", 1);
	assert_int_equal(words("a", 1, "x", 1, large, &err), -EINVAL);
	assert_string_equal(err.where, "parameters");
	free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_statement_is_read),
		cmocka_unit_test(what_is_no_statement_is_refused),
		cmocka_unit_test(a_statement_is_bounded),
		cmocka_unit_test(run_and_schema_fit_or_not),
		cmocka_unit_test(words_are_refused_by_guardrail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
