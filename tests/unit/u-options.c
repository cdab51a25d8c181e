/* The command line: both spellings of a value, refusals with the nearest word, help from the same table. */
#include "agent/nearest.h"
#include "agent/options.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct option options[] = {
	{ "--profile", "NAME|FILE", "the rules", offsetof(struct options, profile) },
	{ "--args", "JSON", "the arguments", offsetof(struct options, args) },
	{ "--json", NULL, "one object", offsetof(struct options, json) },
	{ "--best-effort", NULL, "with what there is", offsetof(struct options, best_effort) },
	{ 0 },
};

static const struct verb verb = {
	.name = "run",
	.operands = "FILE.py",
	.summary = "run it",
	.options = options,
	.later = " --stream learn ",
	.example = "brig run x.py",
	.min_operands = 1,
	.max_operands = 1,
};

static int parse(struct options *opt, struct err *err, const char *line)
{
	static char text[256];
	char *argv[16], *save = NULL;
	int argc = 0;

	snprintf(text, sizeof(text), "%s", line);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	memset(err, 0, sizeof(*err));
	return options_parse(&verb, argc, argv, opt, err);
}

static void a_value_may_follow_or_stand_behind_equals(void **state)
{
	struct options opt;
	struct err err;

	(void)state;
	assert_int_equal(parse(&opt, &err, "x.py --profile pure --args={\"a\":\"=\"}"), 0);
	assert_string_equal(opt.profile, "pure");
	assert_string_equal(opt.args, "{\"a\":\"=\"}");
	assert_string_equal(opt.operand[0], "x.py");
	assert_false(opt.json);
	assert_int_equal(parse(&opt, &err, "--json --args - x.py --best-effort"), 0);
	assert_string_equal(opt.args, "-");
	assert_true(opt.json && opt.best_effort);
	assert_int_equal(parse(&opt, &err, "x.py --args="), 0);
	assert_string_equal(opt.args, "");
}

static void two_dashes_end_the_options(void **state)
{
	struct options opt;
	struct err err;

	(void)state;
	assert_int_equal(parse(&opt, &err, "--json -- --profile"), 0);
	assert_string_equal(opt.operand[0], "--profile");
	assert_null(opt.profile);
}

static void a_wrong_line_is_refused_with_the_way_out(void **state)
{
	static const struct {
		const char *line, *detail, *hint;
	} cases[] = {
		{ "x.py --jsno", "unknown option '--jsno'", "'--json'" },
		{ "x.py --profil pure", "unknown option '--profil'", "'--profile'" },
		{ "x.py --best_effort", "unknown option '--best_effort'", "'--best-effort'" },
		{ "x.py --prof=pure", "unknown option '--prof'", "--help" },
		{ "x.py -x", "unknown option '-x'", "--help" },
		{ "x.py --\033[31m", "unknown option '--\\x1b[31m'", "--help" },
		{ "x.py --stream", "not in this version", "--help" },
		{ "x.py --json=1", "takes no value", "" },
		{ "x.py --args", "needs a value: JSON", "" },
		{ "x.py --args --json", "needs a value", "" },
		{ "x.py --args {} --args {}", "given twice", "" },
		{ "x.py y.py", "one argument too many: 'y.py'", "FILE.py" },
		{ "--json", "needs FILE.py", "brig run x.py" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct options opt;
		struct err err;

		assert_true(parse(&opt, &err, cases[i].line) < 0);
		assert_int_equal(err.class, ERR_CALLER);
		assert_non_null(strstr(err.detail, cases[i].detail));
		assert_non_null(strstr(err.hint, cases[i].hint));
	}
}

static void the_first_error_is_told_and_json_is_still_known(void **state)
{
	struct options opt;
	struct err err;

	(void)state;
	assert_true(parse(&opt, &err, "--wrogn --stream x.py y.py --json") < 0);
	assert_non_null(strstr(err.detail, "--wrogn"));
	assert_true(opt.json);
}

static void help_needs_no_operand_and_lists_every_option(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct options opt;
	struct err err;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_int_equal(parse(&opt, &err, "--help"), 0);
	assert_true(opt.help);
	assert_int_equal(parse(&opt, &err, "-h"), 0);
	assert_true(opt.help);
	options_help(&verb, out);
	fclose(out);
	for (const struct option *o = options; o->name; o++)
		assert_non_null(strstr(text, o->name));
	assert_non_null(strstr(text, "--help"));
	assert_non_null(strstr(text, "brig run x.py"));
}

static void later_words_are_whole_words(void **state)
{
	(void)state;
	assert_true(options_is_later(&verb, "--stream"));
	assert_true(options_is_later(&verb, "learn"));
	assert_false(options_is_later(&verb, "lear"));
	assert_false(options_is_later(&verb, "--stream learn"));
	assert_false(options_is_later(&verb, ""));
	assert_false(options_is_later(&verb, " "));
}

static void distances_count_edits(void **state)
{
	char longer[100];

	(void)state;
	assert_int_equal(nearest_distance("", ""), 0);
	assert_int_equal(nearest_distance("", "abc"), 3);
	assert_int_equal(nearest_distance("json", "jsno"), 1);
	assert_int_equal(nearest_distance("kitten", "sitting"), 3);
	assert_int_equal(nearest_distance("run", "run"), 0);
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_true(nearest_distance(longer, "x") > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_may_follow_or_stand_behind_equals),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(a_wrong_line_is_refused_with_the_way_out),
		cmocka_unit_test(the_first_error_is_told_and_json_is_still_known),
		cmocka_unit_test(help_needs_no_operand_and_lists_every_option),
		cmocka_unit_test(later_words_are_whole_words),
		cmocka_unit_test(distances_count_edits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
