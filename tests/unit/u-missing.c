/* Which permission an error lacks: named only where the call really did not have it, with who did not give it. */
#include "supervisor/missing.h"
#include "supervisor/profile_impl.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct profile_store *g_store;

static int group_open(void **state)
{
	_cleanup_close_ int dir = open("profiles", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err = { 0 };

	(void)state;
	if (dir < 0 || profile_store_read(dir, "profiles", &g_store, &err) < 0)
		fail_msg("profiles: %s", err.detail);
	return 0;
}

static int group_close(void **state)
{
	(void)state;
	profile_store_free(g_store);
	return 0;
}

static struct missing g_missing;

/* An error frame of a tool under that profile, which declared that and runs in that tier. */
static bool find(const char *profile, struct permissions declared, const char *tier, const char *frame)
{
	struct tool tool = { .name = "t", .declared = declared, .state = tier ? TOOL_DRAFT : TOOL_APPROVED };
	struct profile *p, *t = NULL, *n;
	struct permissions left, lets = { 0 };
	struct err err = { 0 };
	bool found;

	assert_int_equal(profile_load(g_store, profile, &p, &err), 0);
	if (tier)
		assert_int_equal(profile_load_tier(g_store, tier, &t, &err), 0);
	if (tier)
		profile_grants(t, &lets);
	assert_int_equal(profile_narrow(g_store, p, &declared, t, lets.write, &n, &left, &err), 0);
	found = missing_find(&tool, n, &left, frame, strlen(frame), &g_missing);
	profile_free(n);
	profile_free(t);
	profile_free(p);
	return found;
}

#define REFUSED(error, path, need) \
	"{\"type\":\"E\",\"message\":\"m\",\"refused\":{\"errno\":" #error ",\"path\":\"" path "\",\"need\":\"" need "\"},\"traceback\":[]}"

static const struct permissions none = { 0 }, programs = { .subprocess = true }, reads = { .filesystem = true },
				writes = { .filesystem = true, .write = true, .scope = SCOPE_READ_WRITE };

static void what_the_tool_did_not_declare(void **state)
{
	(void)state;
	assert_true(find("python", none, NULL, REFUSED(1, "", "subprocess")));
	assert_int_equal(g_missing.which, PERMISSION_SUBPROCESS);
	assert_int_equal(g_missing.error, 1);
	assert_string_equal(g_missing.what, "permission subprocess is missing: the tool did not declare it");
	assert_string_equal(g_missing.rule, "tool: not declared");
	assert_non_null(strstr(g_missing.hint, "\"subprocess\":true"));
	assert_true(find("files-ro", none, NULL, REFUSED(2, "/workspace/a.txt", "")));
	assert_int_equal(g_missing.which, PERMISSION_FILESYSTEM);
	assert_true(find("files-rw", reads, NULL, REFUSED(30, "/workspace/a.txt", "")));
	assert_int_equal(g_missing.which, PERMISSION_WRITE);
	assert_non_null(strstr(g_missing.hint, "\"write\":true"));
	assert_non_null(strstr(g_missing.hint, "\"scope\":\"read-write\""));
	/* Declared, but under a scope that cannot write. */
	assert_true(find("files-rw", (struct permissions){ .filesystem = true, .write = true }, NULL, REFUSED(30, "/workspace/a.txt", "")));
	assert_string_equal(g_missing.rule, "tool: not declared");
}

static void what_the_profile_does_not_grant(void **state)
{
	(void)state;
	assert_true(find("pure", programs, NULL, REFUSED(1, "", "subprocess")));
	assert_string_equal(g_missing.what, "permission subprocess is missing: the profile pure does not grant it");
	assert_int_equal(strncmp(g_missing.rule, "base.json:", 10), 0);
	assert_true(find("python", none, NULL, REFUSED(1, "", "network")));
	assert_int_equal(g_missing.which, PERMISSION_NETWORK);
	assert_true(find("files-ro", writes, NULL, REFUSED(30, "/workspace/a.txt", "")));
	assert_string_equal(g_missing.what, "permission write is missing: the profile files-ro does not grant it");
	assert_true(find("python", none, NULL, REFUSED(1, "", "network")));
	assert_non_null(strstr(g_missing.what, "the profile python does not grant it"));
}

static void what_the_tier_takes(void **state)
{
	(void)state;
	assert_true(find("files-rw", writes, "draft", REFUSED(30, "/workspace/a.txt", "")));
	assert_string_equal(g_missing.what, "permission write is missing: a tool that is draft does not get it");
	assert_string_equal(g_missing.rule, "tier draft");
	assert_string_equal(g_missing.hint, "an operator can lift it: brig tool promote t");
	assert_false(find("files-rw", writes, "probation", REFUSED(30, "/workspace/a.txt", "")));
}

static void what_no_permission_would_give(void **state)
{
	(void)state;
	assert_false(find("python", programs, "draft", REFUSED(1, "", "subprocess")));
	assert_false(find("files-ro", reads, NULL, REFUSED(2, "/workspace/a.txt", "")));
	assert_false(find("files-ro", none, NULL, REFUSED(2, "/workspacex/a.txt", "")));
	assert_false(find("files-ro", none, NULL, REFUSED(2, "/etc/shadow", "")));
	assert_false(find("python", none, NULL, REFUSED(30, "/usr/bin/sh", "")));
	assert_false(find("python", none, NULL, REFUSED(1, "", "")));
}

static void frames_are_hostile(void **state)
{
	static const char *const bad[] = { "{}", "[]", "{\"refused\":1}", "{\"refused\":{}}", "{\"refused\":{\"errno\":\"1\",\"need\":\"subprocess\"}}",
					   "{\"refused\":{\"errno\":1e0,\"need\":\"subprocess\"}}", "{\"refused\":{\"errno\":-1,\"need\":\"subprocess\"}}",
					   "{\"refused\":{\"errno\":11111111111,\"need\":\"subprocess\"}}",
					   "{\"refused\":{\"errno\":1,\"need\":[\"subprocess\"]}}", "{\"refused\":{\"errno\":1,\"need\":\"sub\\u0000process\"}}",
					   "{\"refused\":{\"errno\":1,\"need\":\"subprocesssubprocesssubprocess\"}}",
					   "{\"refused\":{\"errno\":1,\"need\":\"write\"}}" };
	char frame[1200];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (find("files-rw", none, "draft", bad[i]))
			fail_msg("%s: %s", bad[i], g_missing.what);
	snprintf(frame, sizeof(frame), "{\"refused\":{\"errno\":2,\"path\":\"/workspace/%0900d\"}}", 0);
	assert_false(find("files-ro", none, NULL, frame));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_tool_did_not_declare),
		cmocka_unit_test(what_the_profile_does_not_grant),
		cmocka_unit_test(what_the_tier_takes),
		cmocka_unit_test(what_no_permission_would_give),
		cmocka_unit_test(frames_are_hostile),
	};

	return cmocka_run_group_tests(tests, group_open, group_close);
}
