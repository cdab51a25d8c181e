/* What doctor concludes from a trial jail's receipt, or from the refusal of one. */
#include "supervisor/doctor.h"
#include "jail/base/names.h"
#include "tests/unit/unit.h"

#include <string.h>

/* The object, proven; the caller frees. */
static char *build(const struct core_boot *boot, const char *receipt, const char *layer, const char *text)
{
	struct json_error je;
	struct jbuf b;

	jbuf_init(&b, 1u << 20);
	assert_int_equal(doctor_build(&b, boot, &(struct doctor_input){ .receipt_json = receipt, .error_layer = layer, .error_text = text }), 0);
	assert_false(b.failed);
	assert_int_equal(json_check(b.data, b.len, JSON_OBJECT, 16, &je), 0);
	jbuf_raw(&b, "", 1);
	return b.data;
}

static void expect(const char *json, const char *path, const char *wanted)
{
	size_t start, len, n;

	assert_true(json_find(json, strlen(json), path, &start, &len, NULL));
	_cleanup_free_ char *got = json_string_dup(json + start, len, &n);
	assert_non_null(got);
	assert_string_equal(got, wanted);
}

static void expect_layer(const char *json, enum layer l, const char *key, const char *wanted)
{
	char path[64];

	snprintf(path, sizeof(path), "layers.%d.%s", (int)l, key);
	expect(json, path, wanted);
}

static void a_full_receipt_is_enforced(void **state)
{
	struct core_boot boot = { .client_fd = -1 };
	_cleanup_free_ char *json = build(&boot, "{\"cgroup\":\"v2\",\"degraded\":[]}", NULL, NULL);

	(void)state;
	expect(json, "verdict", "enforced");
	for (enum layer l = 0; l < LAYER_COUNT; l++) {
		expect_layer(json, l, "name", layer_name(l));
		expect_layer(json, l, "state", "enforced");
	}
	expect(json, "receipt.cgroup", "v2");
	expect(json, "host.0.name", "kernel");
}

static void what_is_degraded_is_named_with_its_fix(void **state)
{
	struct core_boot boot = { .client_fd = -1, .cgroup_why = "not delegated", .cgroup_fix = "delegate it" };
	_cleanup_free_ char *json = build(&boot,
		"{\"degraded\":[\"cgroup\",{\"layer\":\"mdwe\",\"why\":\"too old\"},\"cgroup_ns: no\"]}", NULL, NULL);

	(void)state;
	expect(json, "verdict", "degraded");
	expect_layer(json, LAYER_CGROUP, "state", "degraded");
	expect_layer(json, LAYER_CGROUP, "detail", "not delegated");
	expect_layer(json, LAYER_CGROUP, "fix", "delegate it");
	expect_layer(json, LAYER_MDWE, "detail", "too old");
	expect_layer(json, LAYER_CGROUP_NS, "detail", "no");
	expect_layer(json, LAYER_SECCOMP, "state", "enforced");
}

static void a_refused_trial_names_the_layer_and_claims_nothing_else(void **state)
{
	struct core_boot boot = { .client_fd = -1 };
	_cleanup_free_ char *json = build(&boot, NULL, "landlock", "the \"kernel\" lacks it");

	(void)state;
	expect(json, "verdict", "refused");
	expect(json, "summary", "a call would be refused: landlock: the \"kernel\" lacks it");
	expect_layer(json, LAYER_LANDLOCK, "state", "missing");
	expect_layer(json, LAYER_SECCOMP, "state", "unknown");
}

static void no_trial_is_no_verdict(void **state)
{
	struct core_boot boot = { .client_fd = -1 };
	_cleanup_free_ char *json = build(&boot, NULL, NULL, NULL);
	struct jbuf b;

	(void)state;
	expect(json, "verdict", "unknown");
	jbuf_init(&b, 1000);
	assert_int_equal(doctor_build(&b, &boot, &(struct doctor_input){ .receipt_json = "[1" }), -EINVAL);
	assert_int_equal(b.len, 0);
}

/* state of the "authority" line of this host for that asker; free the text. */
static char *authority_of(const struct core_boot *boot, uid_t peer)
{
	const struct doctor_input in = { .peer_known = true, .peer = peer, .supervisor = "[{\"role\":\"core\"}]" };
	size_t start, len, n;
	char path[32];
	struct jbuf b;

	jbuf_init(&b, 1u << 20);
	assert_int_equal(doctor_build(&b, boot, &in), 0);
	expect(b.data, "supervisor.0.role", "core");
	for (int i = 0;; i++) {
		snprintf(path, sizeof(path), "host.%d.name", i);
		assert_true(json_find(b.data, b.len, path, &start, &len, NULL));
		if (len == 11 && memcmp(b.data + start, "\"authority\"", 11) == 0) {
			snprintf(path, sizeof(path), "host.%d.state", i);
			break;
		}
	}
	assert_true(json_find(b.data, b.len, path, &start, &len, NULL));
	char *state = json_string_dup(b.data + start, len, &n);
	jbuf_done(&b);
	return state;
}

static void whoever_may_approve_is_warned_of(void **state)
{
	struct core_boot boot = { .client_fd = -1, .as_root = true, .uid = 70001, .config.admin = { .uids = { 1000 }, .uid_count = 1 } };
	const struct {
		uid_t peer;
		const char *want;
	} cases[] = { { 0, "warn" }, { 70001, "warn" }, { 1000, "warn" }, { 1001, "ok" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_free_ char *got = authority_of(&boot, cases[i].peer);
		assert_string_equal(got, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_receipt_is_enforced),
		cmocka_unit_test(what_is_degraded_is_named_with_its_fix),
		cmocka_unit_test(a_refused_trial_names_the_layer_and_claims_nothing_else),
		cmocka_unit_test(no_trial_is_no_verdict),
		cmocka_unit_test(whoever_may_approve_is_warned_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
