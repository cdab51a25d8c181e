/* The validator of tools' parameters: what fits, what is said about what does not, and what hostile schemas and arguments cost. */
#include "supervisor/decimal.h"
#include "supervisor/pattern.h"
#include "supervisor/schema.h"
#include "supervisor/wire/json.h"
#include "supervisor/wire/tape.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct schema *compile_len(const char *text, size_t len, struct err *err)
{
	struct schema *schema = NULL;
	struct json_error je;

	if (json_check(text, len, 0, 4000, &je) < 0)
		fail_msg("the test's own schema: %s in %.60s", je.what, text);
	*err = (struct err){ 0 };
	if (schema_compile(text, len, &schema, err) < 0) {
		assert_null(schema);
		assert_true(err->detail[0]);
	}
	return schema;
}

static struct schema *compile(const char *text)
{
	struct err err;
	struct schema *schema = compile_len(text, strlen(text), &err);

	if (!schema)
		fail_msg("%s: %s (%s)", text, err.detail, err.hint);
	return schema;
}

static int check_len(const char *schema_text, const char *text, size_t len, struct err *err)
{
	struct schema *schema = compile(schema_text);
	int r;

	*err = (struct err){ 0 };
	r = schema_check(schema, text, len, err);
	assert_int_equal(r == 0, err->detail[0] == '\0');
	schema_free(schema);
	return r;
}

static bool fits(const char *schema, const char *text, struct err *err)
{
	int r = check_len(schema, text, strlen(text), err);

	assert_true(r == 0 || r == -EINVAL);
	return r == 0;
}

static const struct {
	const char *schema, *good, *bad; /* values with newlines between */
} keywords[] = {
	{ "true", "1\nnull", NULL },
	{ "false", NULL, "1\n{}" },
	{ "{}", "1\n{}\n[]", NULL },
	{ "{\"type\":\"integer\"}", "1\n1.0\n-0\n1e400\n100e-2\n12300e-2", "1.5\n\"1\"\ntrue\nnull\n[]\n1e-1\n{}" },
	{ "{\"type\":[\"string\",\"null\"]}", "null\n\"\"", "0\nfalse\n{}" },
	{ "{\"type\":\"number\"}", "1\n1.5", "true\n\"1\"" },
	{ "{\"const\":1}", "1\n1.0\n10e-1", "true\n\"1\"\n1.0000000000000000000000000000001" },
	{ "{\"const\":9007199254740993}", "9007199254740993\n9007199254740993.0", "9007199254740992\n9007199254740994" },
	{ "{\"const\":false}", "false", "0\nnull\n\"false\"" },
	{ "{\"const\":{\"a\":[1,{\"b\":2}],\"c\":\"\\u00e9\"}}", "{\"c\":\"\xc3\xa9\",\"a\":[1.0,{\"b\":2}]}", "{\"a\":[{\"b\":2},1],\"c\":\"\xc3\xa9\"}\n{\"a\":[1,{\"b\":2}]}" },
	{ "{\"enum\":[1,\"a\",null,[0]]}", "1\n\"a\"\n\"\\u0061\"\nnull\n[0]\n[0.0]", "2\n\"A\"\nfalse\n[]\n[false]" },
	{ "{\"minimum\":0.1,\"maximum\":1e2}", "0.1\n100\n1.0e2\n\"x\"", "0.09999999999999999999999\n100.00000000000000000000001\n-1\n1e400\n0" },
	{ "{\"exclusiveMinimum\":-1,\"exclusiveMaximum\":1}", "0\n-0.99999999999999999999\n0.99999999999999999999", "-1\n1\n1.0" },
	{ "{\"multipleOf\":0.01}", "0\n0.07\n4.35\n1e300\n19.99\n-0.01", "0.001\n4.351\n1e-300" },
	{ "{\"multipleOf\":7e-3}", "0.007\n0.7\n7e99", "0.01\n1\n1e99" },
	{ "{\"minLength\":2,\"maxLength\":3}", "\"ab\"\n\"\\ud83d\\ude00\\ud83d\\ude00\"\n\"\xc3\xa9\xc3\xa9\xc3\xa9\"\n5", "\"a\"\n\"abcd\"\n\"\\ud83d\\ude00\"" },
	{ "{\"minItems\":1,\"maxItems\":2.0}", "[1]\n[1,2]\n{}", "[]\n[1,2,3]" },
	{ "{\"uniqueItems\":true}", "[]\n[1,\"1\",true,[1],{\"a\":1}]\n[0,false]", "[1,1.0]\n[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]\n[\"a\",\"\\u0061\"]" },
	{ "{\"items\":{\"type\":\"integer\"},\"prefixItems\":[{\"type\":\"string\"}]}", "[]\n[\"a\"]\n[\"a\",1,2]", "[1]\n[\"a\",\"b\"]" },
	{ "{\"contains\":{\"const\":1},\"minContains\":2,\"maxContains\":3}", "[1,1]\n[1,2,1,1]", "[1]\n[]\n[1,1,1,1]" },
	{ "{\"properties\":{\"a\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"],\"additionalProperties\":false,\"patternProperties\":{\"^b\":{}}}",
	  "{\"a\":1,\"b\":2}\n{\"\\u0061\":1,\"b\":1,\"bb\":0}\n7", "{\"a\":1}\n{\"a\":\"x\",\"b\":1}\n{\"a\":1,\"b\":1,\"c\":1}\n{}" },
	{ "{\"additionalProperties\":{\"type\":\"integer\"}}", "{\"x\":1}", "{\"x\":\"1\"}" },
	{ "{\"propertyNames\":{\"maxLength\":1},\"minProperties\":1,\"maxProperties\":2}", "{\"a\":0}", "{}\n{\"aa\":0}\n{\"a\":0,\"b\":0,\"c\":0}" },
	{ "{\"dependentRequired\":{\"a\":[\"b\"]},\"dependentSchemas\":{\"c\":{\"maxProperties\":1}}}", "{\"a\":1,\"b\":1}\n{\"b\":1}\n{\"c\":1}", "{\"a\":1}\n{\"c\":1,\"d\":1}" },
	{ "{\"anyOf\":[{\"type\":\"integer\"},{\"minimum\":2.5}]}", "1\n3.5\n\"x\"", "1.5" },
	{ "{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", "1\n2.5", "3\n1.5" },
	{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":2}],\"not\":{\"const\":1.5}}", "1\n2", "0\n3\n1.5" },
	{ "{\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"multipleOf\":3}}", "20\n9", "15\n5" },
	{ "{\"$defs\":{\"node\":{\"properties\":{\"next\":{\"$ref\":\"#/$defs/node\"},\"v\":{\"type\":\"integer\"}},\"additionalProperties\":false}},\"$ref\":\"#/$defs/node\"}",
	  "{\"next\":{\"next\":{\"v\":1}}}", "{\"next\":{\"next\":{\"v\":\"1\"}}}\n{\"w\":1}" },
	{ "{\"$defs\":{\"a/b~c%\":{\"$anchor\":\"here\",\"type\":\"null\"}},\"properties\":{\"x\":{\"$ref\":\"#/$defs/a~1b~0c%25\"},\"y\":{\"$ref\":\"#here\"}}}",
	  "{\"x\":null,\"y\":null}", "{\"x\":1}\n{\"y\":1}" },
	{ "{\"pattern\":\"^a.c$\",\"format\":\"email\",\"default\":5,\"title\":\"t\"}", "\"abc\"\n\"a\\u0000c\"\n1", "\"abcd\"\n\"a\\nc\"\n\"abc\\n\"" },
};

static void keyword_cases(const char *schema, const char *values, bool good)
{
	_cleanup_free_ char *copy = values ? strdup(values) : NULL;
	char *rest = copy, *value;
	struct err err;

	while (rest && (value = strsep(&rest, "\n")))
		if (fits(schema, value, &err) != good)
			fail_msg("%s with %s: %s", schema, value, good ? err.detail : "it fits");
}

static void keywords_judge_as_the_standard_says(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		keyword_cases(keywords[i].schema, keywords[i].good, true);
		keyword_cases(keywords[i].schema, keywords[i].bad, false);
	}
}

static void an_exponent_of_any_length_costs_nothing(void **state)
{
	static const char schema[] = "{\"multipleOf\":0.01,\"minimum\":0}";
	size_t len = 1000002;
	char *text = malloc(len + 1);
	struct err err;

	(void)state;
	assert_non_null(text);
	memset(text, '9', len);
	memcpy(text, "1e", 2);
	assert_int_equal(check_len(schema, text, len, &err), -EINVAL);
	assert_non_null(strstr(err.detail, "exponent"));
	memset(text + 2, '0', len - 3);
	assert_int_equal(check_len(schema, text, len, &err), 0);
	assert_true(fits(schema, "1e999999999999", &err));
	assert_false(fits(schema, "1e-999999999999", &err));
	/* A million digits are one number. */
	memset(text, '7', len);
	assert_int_equal(check_len(schema, text, len, &err), 0);
	free(text);
}

static const struct {
	const char *schema, *args, *detail, *hint;
} words[] = {
	{ "{\"properties\":{\"n\":{\"type\":\"integer\"}}}", "{\"n\":5.5}", "n: wanted integer, got 5.5", "/properties/n/type" },
	{ "{\"properties\":{\"n\":{\"type\":[\"integer\",\"null\",\"string\"]}}}", "{\"n\":[1]}", "n: wanted string, integer or null, got a list of 1", "/type" },
	{ "{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"b\"]}", "{\"a\":1}", "b is required", "/required" },
	{ "{\"properties\":{\"o\":{\"required\":[\"b\"]}}}", "{\"o\":{}}", "o.b is required", "/properties/o/required" },
	{ "{\"properties\":{\"a\":{},\"b\":{}},\"additionalProperties\":false}", "{\"a\":1,\"c\":1}", "c is no parameter of this tool (known: a, b)", "" },
	{ "{\"additionalProperties\":false}", "{\"c\":1}", "c is no parameter of this tool (none is known)", "" },
	{ "{\"properties\":{\"xs\":{\"items\":{\"properties\":{\"name\":{\"type\":\"string\"}}}}}}", "{\"xs\":[{},{\"name\":1}]}",
	  "xs[1].name: wanted string, got 1", "/properties/xs/items/properties/name/type" },
	{ "{\"properties\":{\"a b\":{\"minimum\":3}}}", "{\"a b\":2}", "[\"a b\"]: wanted at least 3, got 2", "minimum" },
	{ "{\"properties\":{\"m\":{\"enum\":[\"r\",\"w\"]}}}", "{\"m\":\"x\"}", "m: wanted one of \"r\", \"w\", got \"x\"", "enum" },
	{ "{\"properties\":{\"m\":{\"const\":5}}}", "{\"m\":\"x\"}", "m: wanted 5, got \"x\"", "const" },
	{ "{\"properties\":{\"s\":{\"minLength\":3}}}", "{\"s\":\"x\"}", "s: wanted at least 3 characters, got \"x\"", "minLength" },
	{ "{\"properties\":{\"s\":{\"pattern\":\"^a\"}}}", "{\"s\":\"x\\u202e\"}", "s: wanted a text that matches \"^a\", got \"x\\u202e\"", "pattern" },
	{ "{\"properties\":{\"xs\":{\"uniqueItems\":true}}}", "{\"xs\":[1,2,1]}", "xs: wanted no two equal items, but xs[0] and xs[2] are", "uniqueItems" },
	{ "{\"properties\":{\"x\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"null\"}]}}}", "{\"x\":\"a\"}", "x: wanted integer or null, got \"a\"", "anyOf" },
	{ "{\"properties\":{\"x\":{\"anyOf\":[{\"properties\":{\"k\":{\"type\":\"integer\"}}},{\"type\":\"null\"}]}}}", "{\"x\":{\"k\":\"a\"}}", NULL, NULL },
	{ "{\"properties\":{\"x\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"integer\"}}},{\"type\":\"null\"}]}}}", "{\"x\":{\"k\":\"a\"}}",
	  "x.k: wanted integer, got \"a\"", "/properties/x/anyOf/0/properties/k/type" },
	{ "{\"properties\":{\"x\":{\"oneOf\":[{\"minimum\":3},{\"const\":1}]}}}", "{\"x\":2}",
	  "x: fits none of the 2 alternatives: (1) wanted at least 3, got 2; (2) wanted 1, got 2", "oneOf" },
	{ "{\"properties\":{\"x\":false}}", "{\"x\":2}", "x is not allowed", "/properties/x" },
	{ "{\"propertyNames\":{\"maxLength\":1}}", "{\"ab\":1}", "the name \"ab\": wanted at most 1 characters, got \"ab\"", "propertyNames" },
	{ "{\"type\":\"object\"}", "[]", "the arguments: wanted object, got a list of 0", "type" },
};

static void what_does_not_fit_is_said_in_words(void **state)
{
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		bool fit = fits(words[i].schema, words[i].args, &err);

		if (!words[i].detail) {
			assert_false(fit);
			continue;
		}
		assert_string_equal(err.detail, words[i].detail);
		assert_non_null(strstr(err.hint, words[i].hint));
	}
}

static const struct {
	const char *schema, *detail, *hint;
} refused[] = {
	{ "{\"properties\":{\"n\":{\"minimun\":1}}}", "unknown keyword \"minimun\", at /properties/n/minimun", "did you mean \"minimum\"?" },
	{ "{\"x\":1}", "unknown keyword \"x\", at /x", "properties" },
	{ "{\"definitions\":{}}", "unknown keyword \"definitions\"", "$defs" },
	{ "{\"properties\":{\"a\":{\"nullable\":true}}}", "unknown keyword \"nullable\"", "null" },
	{ "{\"unevaluatedProperties\":false}", "unknown keyword \"unevaluatedProperties\"", "additionalProperties" },
	{ "{\"type\":\"int\"}", "\"int\" is no type, at /type", "did you mean \"integer\"?" },
	{ "{\"type\":\"strng\"}", "\"strng\" is no type", "\"string\"" },
	{ "{\"type\":[\"string\",\"dict\"]}", "\"dict\" is no type, at /type/1", "\"object\"" },
	{ "{\"type\":5}", "5 is no type", "types are" },
	{ "{\"type\":[]}", "no type", "" },
	{ "{\"properties\":{\"a\":{\"required\":true}}}", "\"required\" is a list of names, at /properties/a/required", "beside \"properties\"" },
	{ "{\"required\":[\"a\",\"a\"]}", "listed twice, at /required/1", "" },
	{ "{\"items\":[{}]}", "\"items\" is one schema", "prefixItems" },
	{ "{\"enum\":[]}", "no value is listed", "" },
	{ "{\"minLength\":-1}", "wanted an integer from 0, at /minLength", "" },
	{ "{\"minLength\":1.5}", "wanted an integer from 0", "" },
	{ "{\"multipleOf\":0}", "above 0", "" },
	{ "{\"multipleOf\":1234567890123456789}", "more than 18 digits", "" },
	{ "{\"minimum\":\"1\"}", "wanted a number", "" },
	{ "{\"minimum\":1e99999999999999999999}", "exponent", "" },
	{ "{\"properties\":{\"a\":5}}", "wanted a schema", "" },
	{ "{\"pattern\":\"(a\"}", "this pattern is refused", "" },
	{ "{\"pattern\":\"(a)\\\\1\"}", "back reference at character 4", "" },
	{ "{\"patternProperties\":{\"[\":{}}}", "this pattern is refused", "" },
	{ "{\"$ref\":\"http://x/y\"}", "leads out of this schema", "$defs" },
	{ "{\"$ref\":\"#/$defs/x\"}", "leads to no schema", "" },
	{ "{\"$defs\":{\"x\":{}},\"$ref\":\"#/$defs\"}", "leads to no schema", "" },
	{ "{\"default\":{\"type\":\"string\"},\"$ref\":\"#/default\"}", "leads to no schema", "" },
	{ "{\"$ref\":\"#\"}", "refers to itself", "" },
	{ "{\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"not\":{\"$ref\":\"#/$defs/a\"}}},\"properties\":{\"x\":{\"$ref\":\"#/$defs/a\"}}}",
	  "refers to itself", "" },
	{ "{\"$schema\":\"http://json-schema.org/draft-07/schema#\"}", "draft 2020-12", "" },
	{ "{\"properties\":{\"a\":{\"$id\":\"x\"}}}", "\"$id\" stands at the top only", "" },
	{ "[]", "wanted a schema", "" },
};

static void what_cannot_be_enforced_is_refused_by_name(void **state)
{
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct schema *schema = compile_len(refused[i].schema, strlen(refused[i].schema), &err);

		if (schema)
			fail_msg("compiled: %s", refused[i].schema);
		if (!strstr(err.detail, refused[i].detail) || !strstr(err.hint, refused[i].hint))
			fail_msg("%s: %s (%s)", refused[i].schema, err.detail, err.hint);
	}
}

/* n times `part`, between two ends. */
static char *repeat(const char *begin, const char *part, size_t n, const char *end, size_t *len)
{
	size_t b = strlen(begin), p = strlen(part), e = strlen(end);
	char *text = malloc(b + n * p + e + 1);

	assert_non_null(text);
	memcpy(text, begin, b);
	for (size_t i = 0; i < n; i++)
		memcpy(text + b + i * p, part, p);
	memcpy(text + b + n * p, end, e + 1);
	*len = b + n * p + e;
	return text;
}

static void hostile_schemas_are_refused(void **state)
{
	struct err err;
	size_t len, inner;
	char *text, *tail;

	(void)state;
	tail = repeat("", "}", 1000, "", &inner);
	text = repeat("", "{\"not\":", 1000, "{}", &len);
	text = realloc(text, len + inner + 1);
	assert_non_null(text);
	memcpy(text + len, tail, inner + 1);
	assert_null(compile_len(text, len + inner, &err));
	assert_non_null(strstr(err.detail, "128 levels"));
	free(text);
	free(tail);

	text = repeat("{\"enum\":[0", ",1", 1000000, "]}", &len);
	assert_null(compile_len(text, len, &err));
	assert_non_null(strstr(err.detail, "at most 65536"));
	free(text);

	text = repeat("{\"anyOf\":[{}", ",{}", 5000, "]}", &len);
	assert_null(compile_len(text, len, &err));
	assert_non_null(strstr(err.detail, "more than 4096"));
	free(text);
}

/* Each of n definitions refers k times to the next. */
static char *doubling(unsigned n, const char *how)
{
	struct jbuf b;

	jbuf_init(&b, 60000);
	jbuf_text(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
	for (unsigned i = 0; i < n; i++)
		jbuf_printf(&b, "\"d%u\":{\"%s\":[{\"$ref\":\"#/$defs/d%u\"},{\"$ref\":\"#/$defs/d%u\"}]},", i, how, i + 1, i + 1);
	jbuf_printf(&b, "\"d%u\":{\"type\":\"string\"}}}", n);
	assert_false(b.failed);
	return b.data;
}

static void references_that_multiply_end_at_the_budget(void **state)
{
	static const char *const how[] = { "allOf", "anyOf", "oneOf" };
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		char *schema = doubling(30, how[i]);

		assert_int_equal(check_len(schema, i == 0 ? "\"x\"" : "5", i == 0 ? 3 : 1, &err), -E2BIG);
		assert_true(err.hint[0]);
		free(schema);
	}
	/* A chain longer than any that people write is refused before. */
	char *schema = doubling(200, "allOf");
	assert_null(compile_len(schema, strlen(schema), &err));
	assert_non_null(strstr(err.detail, "100 deep"));
	free(schema);
}

/* Each schema that is applied reads the digits again: the schema's and the argument's. */
static void long_numbers_are_paid_by_the_digit(void **state)
{
	static const char *const about[] = { "\"minimum\":1", "\"multipleOf\":7", "\"enum\":[7]", "\"type\":\"integer\"" };
	size_t len = 100000;
	char *number = malloc(len + 1);
	struct jbuf b;
	struct err err;

	(void)state;
	assert_non_null(number);
	memset(number, '7', len);
	number[len] = '\0';
	for (size_t i = 0; i <= ARRAY_LEN(about); i++) {
		jbuf_init(&b, 60000);
		jbuf_text(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
		for (unsigned k = 0; k < 12; k++)
			jbuf_printf(&b, "\"d%u\":{\"allOf\":[{\"$ref\":\"#/$defs/d%u\"},{\"$ref\":\"#/$defs/d%u\"}]},", k, k + 1, k + 1);
		jbuf_text(&b, "\"d12\":{\"anyOf\":[{");
		jbuf_text(&b, i < ARRAY_LEN(about) ? about[i] : "\"maximum\":");
		jbuf_raw(&b, number, i < ARRAY_LEN(about) ? 0 : 50000);
		jbuf_text(&b, "},true]}}}");
		assert_false(b.failed);
		assert_int_equal(check_len(b.data, i < ARRAY_LEN(about) ? number : "5", i < ARRAY_LEN(about) ? len : 1, &err), -E2BIG);
		assert_int_equal(check_len(b.data, "5", 1, &err), i < ARRAY_LEN(about) ? 0 : -E2BIG);
		jbuf_done(&b);
	}
	free(number);
}

/* Also where the second item ends the look: the room for all of them was made. */
static void room_for_unique_items_is_paid(void **state)
{
	enum { ITEMS = 200000 };
	char *list = malloc(2 * ITEMS + 2);
	struct jbuf b;
	struct err err;

	(void)state;
	assert_non_null(list);
	for (size_t i = 0; i < ITEMS; i++)
		memcpy(list + 1 + 2 * i, "1,", 2);
	list[0] = '[';
	list[2 * ITEMS] = ']';
	jbuf_init(&b, 60000);
	jbuf_text(&b, "{\"$ref\":\"#/$defs/d0\",\"$defs\":{");
	for (unsigned k = 0; k < 15; k++)
		jbuf_printf(&b, "\"d%u\":{\"allOf\":[{\"$ref\":\"#/$defs/d%u\"},{\"$ref\":\"#/$defs/d%u\"}]},", k, k + 1, k + 1);
	jbuf_text(&b, "\"d15\":{\"anyOf\":[{\"uniqueItems\":true},true]}}}");
	assert_false(b.failed);
	assert_int_equal(check_len(b.data, list, 2 * ITEMS + 1, &err), -E2BIG);
	assert_int_equal(check_len(b.data, "[1,1]", 5, &err), 0);
	assert_int_equal(check_len("{\"uniqueItems\":true}", list, 2 * ITEMS + 1, &err), -EINVAL);
	jbuf_done(&b);
	free(list);
}

static void large_arguments_are_judged(void **state)
{
	static const char unique[] = "{\"uniqueItems\":true,\"items\":{\"type\":\"integer\"}}";
	struct jbuf b;
	struct err err;
	size_t len;
	char *text;

	(void)state;
	jbuf_init(&b, 8u << 20);
	jbuf_text(&b, "[");
	for (unsigned i = 0; i < 100000; i++)
		jbuf_printf(&b, "%s%u", i ? "," : "", i);
	jbuf_text(&b, ",7]");
	assert_int_equal(check_len(unique, b.data, b.len, &err), -EINVAL);
	assert_non_null(strstr(err.detail, "[7] and [100000]"));
	b.data[b.len - 2] = ' ';
	b.data[b.len - 3] = ' ';
	assert_int_equal(check_len(unique, b.data, b.len, &err), 0);
	jbuf_done(&b);

	text = repeat("[0", ",0", 2000000, "]", &len);
	assert_int_equal(check_len("{\"items\":{\"type\":\"integer\",\"minimum\":0}}", text, len, &err), 0);
	free(text);
	text = repeat("", "[", 200, "", &len);
	memset(text + 100, ']', 100);
	assert_int_equal(check_len("{\"items\":{\"$ref\":\"#\"}}", text, len, &err), 0);
	free(text);
}

/* 1 it matches, 0 not, -1 refused, -2 too dear. */
static int pattern(const char *p, const char *text, size_t len)
{
	int64_t budget = PATTERN_BUDGET;
	struct pattern *compiled;
	struct err err = { 0 };
	int r;

	if (pattern_compile(p, strlen(p), &compiled, &err) < 0) {
		assert_true(err.detail[0]);
		return -1;
	}
	r = pattern_match(compiled, text, len, &budget);
	assert_true(budget >= 0 && budget < PATTERN_BUDGET);
	pattern_free(compiled);
	return r < 0 ? -2 : r;
}

static const struct {
	const char *pattern, *text;
	int want;
} patterns[] = {
	{ "b", "abc", 1 }, { "^b", "abc", 0 }, { "c$", "abc", 1 }, { "c$", "abc\n", 0 }, { "^$", "", 1 }, { "", "x", 1 }, { "a|^b$", "b", 1 },
	{ "^\\d+$", "123", 1 }, { "^\\d$", "\xd9\xa3", 0 }, { "^\\D$", "\xd9\xa3", 1 }, { "^\\w$", "\xc3\xa9", 0 }, { "^\\W$", "\xc3\xa9", 1 },
	{ "^\\s$", "\xc2\xa0", 1 }, { "^\\s$", "\xef\xbb\xbf", 1 }, { "^\\S$", "\xe2\x80\xa8", 0 }, { "^[\\s]$", "\t", 1 }, { "^[^\\s]$", "a", 1 },
	{ "^[^\\s]$", "\xc2\xa0", 0 }, { "^[\\S]$", "a", 1 }, { "^.$", "\n", 0 }, { "^.$", "\xe2\x80\xa8", 0 }, { "^.$", "\xf0\x9f\x98\x80", 1 },
	{ "^\\p{Letter}+$", "p\xc3\xa4", 1 }, { "^\\p{Lu}$", "a", 0 }, { "^\\P{L}$", "1", 1 }, { "^[\\p{L}\\d]+$", "a1", 1 }, { "\\p{Greek}", "x", -1 },
	{ "\\p{Letterx}", "x", -1 }, { "\\p{Lx}", "x", -1 }, { "\\pL", "x", -1 },
	{ "^a{2}$", "aa", 1 }, { "^a{2,}$", "a", 0 }, { "^a{1,2}?$", "aaa", 0 }, { "a{,2}", "a", -1 }, { "a{2", "a", -1 }, { "a}", "a", -1 }, { "a]", "a", -1 },
	{ "a{3,2}", "a", -1 }, { "a{1001}", "a", -1 }, { "a**", "a", -1 }, { "a++", "a", -1 }, { "^*", "a", -1 }, { "*", "a", -1 }, { "(?=a)*", "a", -1 },
	{ "^(?:a|b)+$", "abab", 1 }, { "^(?<x>a)$", "a", 1 }, { "(?P<x>a)", "a", -1 }, { "(?i)a", "a", -1 }, { "(?>a)", "a", -1 }, { "(*F)", "a", -1 },
	{ "^(?=.*\\d)(?=.*[a-z]).{4,}$", "abc1", 1 }, { "^(?=.*\\d).{4,}$", "abcd", 0 }, { "^(?!x)", "xa", 0 }, { "(?<=a)b", "ab", 1 }, { "(?<!a)b", "ab", 0 },
	{ "[]", "a", 0 }, { "^[^]$", "\n", 1 }, { "[a-", "a", -1 }, { "[b-a]", "a", -1 }, { "^[\\w-.]+$", "a-.", 1 }, { "^[a-\\d]+$", "a-1", 1 },
	{ "^[a-c-e]+$", "b-e", 1 }, { "^[a-c-e]+$", "d", 0 },
	{ "^[.-]$", "-", 1 }, { "^[]-]$", "-", -1 }, { "^[[:alpha:]]$", "a", -1 }, { "^[[a]$", "[", 1 }, { "^[\\]\\\\]+$", "]\\", 1 }, { "^[\\b]$", "\b", 1 },
	{ "^\\u00e9$", "\xc3\xa9", 1 }, { "^\\u{1F600}$", "\xf0\x9f\x98\x80", 1 }, { "^\\uD83D\\uDE00$", "\xf0\x9f\x98\x80", 1 }, { "\\uD83D", "x", -1 },
	{ "^\\x41\\t\\cJ$", "A\t\n", 1 }, { "\\x4", "x", -1 }, { "\\A", "x", -1 }, { "\\Z", "x", -1 }, { "\\h", "x", -1 }, { "\\1", "x", -1 },
	{ "^\\-\\/\\.$", "-/.", 1 }, { "\\bx\\b", "a x b", 1 }, { "\\bx\\b", "axb", 0 }, { "\\Q.\\E", ".", -1 }, { "\\C", "x", -1 }, { "(", "x", -1 }, { ")", "x", -1 },
	{ "\\", "x", -1 }, { "^a+b*c?$", "aac", 1 }, { "^[a]+$", "aaa", 1 }, { "(a+)+$", "aab", 0 }, { "#x", "#x", 1 }, { " ", "a b", 1 },
};

static void patterns_are_those_of_ecma(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		int came = pattern(patterns[i].pattern, patterns[i].text, strlen(patterns[i].text));

		if (came != patterns[i].want)
			fail_msg("%s on \"%s\": %d", patterns[i].pattern, patterns[i].text, came);
	}
	assert_int_equal(pattern("^a.$", "a\0", 2), 1);
	assert_int_equal(pattern("^a\\0$", "a\0", 2), 1);
}

static void patterns_that_burn_elsewhere_cost_little(void **state)
{
	static const struct {
		const char *pattern, *part, *end;
		size_t n;
		int want;
	} cases[] = {
		{ "(a+)+$", "a", "b", 100000, 0 },	{ "^(a|aa)+$", "a", "b", 100000, 0 }, { "(x+x+)+y", "x", "", 100000, 0 },
		{ "(.*)(.*)(.*)(.*)(.*)x", "a", "", 50000, 0 }, { "((((a*)*)*)*)*b", "a", "", 50000, 0 }, { "a*a*a*a*b", "a", "b", 50000, 1 },
		{ "^[A-Za-z0-9+/=]*$", "abcd", "", 250000, 1 },
		{ "[ab]{1000}c", "a", "", 1000000, -2 }, { "(?:a?){500}a{500}", "a", "", 1000000, -2 },
		{ "(?=(?=(?=.*x).*x).*x)y", "z", "", 1000000, -2 }, { "^(?:(?=.*b)a)*$", "a", "", 1000000, -2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t len;
		char *text = repeat("", cases[i].part, cases[i].n, cases[i].end, &len);
		int came = pattern(cases[i].pattern, text, len);

		if (came != cases[i].want)
			fail_msg("%s: %d", cases[i].pattern, came);
		free(text);
	}
	assert_int_equal(pattern("(?:(?:a{1000}){1000}){1000}", "a", 1), -1);
	size_t len;
	char *deep = repeat("", "(", 60, "a", &len);
	assert_int_equal(pattern(deep, "a", 1), -1);
	free(deep);
	deep = repeat("", "a", PATTERN_MAX + 1, "", &len);
	assert_int_equal(pattern(deep, "a", 1), -1);
	free(deep);
}

/* Inside "not" and "anyOf" too: what nobody knows fits nothing. */
static void a_pattern_too_dear_makes_the_arguments_invalid(void **state)
{
	static const char schema[] = "{\"properties\":{\"s\":{\"anyOf\":[{\"not\":{\"pattern\":\"[ab]{1000}c\"}},true]}}}";
	struct err err;
	size_t len;
	char *text = repeat("{\"s\":\"", "a", 1000000, "\"}", &len);

	(void)state;
	assert_int_equal(check_len(schema, text, len, &err), -EINVAL);
	assert_non_null(strstr(err.detail, "s: to look for the pattern \"[ab]{1000}c\" in it costs too much"));
	free(text);
}

static void parameters_are_told(void **state)
{
	struct schema *s = compile("{\"type\":\"object\",\"properties\":{\"z\":{},\"a\":{}},\"required\":[\"a\",\"q\"],\"additionalProperties\":false}");
	bool required;

	(void)state;
	assert_true(schema_is_object(s));
	assert_false(schema_is_open(s));
	assert_string_equal(schema_property(s, 0, &required), "z");
	assert_false(required);
	assert_string_equal(schema_property(s, 1, &required), "a");
	assert_true(required);
	assert_null(schema_property(s, 2, &required));
	schema_free(s);
	s = compile("{\"type\":[\"object\",\"null\"]}");
	assert_false(schema_is_object(s));
	assert_true(schema_is_open(s));
	assert_null(schema_property(s, 0, &required));
	schema_free(s);
	schema_free(NULL);
}

static void a_tape_is_what_the_text_is(void **state)
{
	static const char text[] = " {\"a\\u0062\":[1, -2.5,\"x\\n\"] ,\"\":{},\"c\":true}";
	struct tape t;

	(void)state;
	assert_int_equal(tape_read(text, strlen(text), 2, &t), 0);
	assert_int_equal(t.count, 10);
	assert_int_equal(t.nodes[0].len, 3);
	assert_int_equal(t.nodes[0].next, 10);
	assert_true(tape_is(&t, 1, "ab"));
	assert_int_equal(t.nodes[2].len, 3);
	assert_int_equal(tape_kind(&t, 4), '0');
	assert_true(tape_is(&t, 5, "x\n"));
	assert_int_equal(tape_next_member(&t, 1), 6);
	assert_int_equal(t.nodes[7].len, 0);
	assert_int_equal(tape_raw_len(&t, 2), strlen("[1, -2.5,\"x\\n\"]"));
	assert_int_equal(tape_kind(&t, 9), 't');
	tape_done(&t);
	assert_int_equal(tape_read(text, strlen(text), 1, &t), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keywords_judge_as_the_standard_says),
		cmocka_unit_test(an_exponent_of_any_length_costs_nothing),
		cmocka_unit_test(what_does_not_fit_is_said_in_words),
		cmocka_unit_test(what_cannot_be_enforced_is_refused_by_name),
		cmocka_unit_test(hostile_schemas_are_refused),
		cmocka_unit_test(references_that_multiply_end_at_the_budget),
		cmocka_unit_test(long_numbers_are_paid_by_the_digit),
		cmocka_unit_test(room_for_unique_items_is_paid),
		cmocka_unit_test(large_arguments_are_judged),
		cmocka_unit_test(patterns_are_those_of_ecma),
		cmocka_unit_test(patterns_that_burn_elsewhere_cost_little),
		cmocka_unit_test(a_pattern_too_dear_makes_the_arguments_invalid),
		cmocka_unit_test(parameters_are_told),
		cmocka_unit_test(a_tape_is_what_the_text_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
