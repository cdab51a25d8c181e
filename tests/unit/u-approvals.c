/* What an approval is bound to: every part of it, and nothing but it. */
#include "supervisor/approvals.h"
#include "tests/unit/unit.h"

#include <string.h>

static const struct permissions none = { .scope = SCOPE_DESTRUCTIVE };

struct parts {
	const char *hash;
	struct permissions p;
	const char *digest, *args;
	uid_t uid;
	const char *context;
};

static void bind_parts(const struct parts *b, char ret[TOOL_HASH_MAX])
{
	const struct gate_ask ask = { .uid = b->uid, .args = b->args, .args_len = strlen(b->args), .context = b->context,
				      .context_len = b->context ? strlen(b->context) : 0 };

	approval_binding(&ask, b->hash, &b->p, b->digest, ret);
}

static void test_every_part_counts(void **state UNUSED)
{
	const struct parts base = { "sha256:aa", none, "sha256:bb", "{\"n\":1}", 1000, "{\"inputs\":{}}" };
	struct parts other[10];
	char want[TOOL_HASH_MAX], got[TOOL_HASH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(other); i++)
		other[i] = base;
	other[0].hash = "sha256:ab";
	other[1].p.network = true;
	other[2].p.scope = SCOPE_READ_ONLY;
	other[3].digest = "sha256:bc";
	other[4].args = "{\"n\":2}";
	other[5].args = "{\"n\": 1}";
	other[6].uid = 1001;
	other[7].p.write = true;
	other[8].context = NULL;
	other[9].context = "{\"inputs\":{ }}";
	bind_parts(&base, want);
	assert_int_equal(strlen(want), TOOL_HASH_MAX - 1);
	bind_parts(&base, got);
	assert_string_equal(want, got);
	for (size_t i = 0; i < ARRAY_LEN(other); i++) {
		bind_parts(&other[i], got);
		if (strcmp(want, got) == 0)
			fail_msg("part %zu is not bound", i);
	}
}

/* A byte that moves from one part to the next makes another whole. */
static void test_parts_do_not_run_together(void **state UNUSED)
{
	const struct parts a = { "sha256:aa", none, "sha256:bb", "{}", 1, NULL }, b = { "sha256:a", none, "asha256:bb", "{}", 1, NULL },
			   c = { "sha256:aa", none, "sha256:b", "b{}", 1, NULL };
	char one[TOOL_HASH_MAX], two[TOOL_HASH_MAX], three[TOOL_HASH_MAX];

	bind_parts(&a, one);
	bind_parts(&b, two);
	bind_parts(&c, three);
	assert_string_not_equal(one, two);
	assert_string_not_equal(one, three);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_part_counts),
		cmocka_unit_test(test_parts_do_not_run_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
