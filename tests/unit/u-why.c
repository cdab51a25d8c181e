/* What why says is what is so: of every system call its word against the filter's own verdict, of paths and hosts against the spec. */
#include "supervisor/profile.h"
#include "supervisor/why.h"
#include "tests/filter/bpf_sim.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

static struct profile_store *g_store;

static int open_store(void **state UNUSED)
{
	struct err err;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/profiles", getenv("SRC_DIR") ? getenv("SRC_DIR") : ".");
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return profile_store_read(dir, path, &g_store, &err);
}

static int close_store(void **state UNUSED)
{
	profile_store_free(g_store);
	return 0;
}

static struct profile *load(const char *name)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	if (profile_load(g_store, name, &p, &err) < 0)
		fail_msg("%s: %s", name, err.detail);
	return p;
}

static struct profile *load_text(const char *text)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	if (profile_load_text(g_store, "t.json", text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s", err.where, err.detail);
	return p;
}

/* With arguments that are all 0, and all ones: a call that is limited to some may be refused with these. */
static void filter_says(const struct profile *p, int nr, uint32_t ret[2])
{
	const struct jail_spec *spec = profile_spec(p);

	for (int i = 0; i < 2; i++) {
		struct seccomp_data data = { .nr = nr, .arch = seccomp_arch_native() };

		memset(data.args, i ? 0xff : 0, sizeof(data.args));
		ret[i] = sim_run(spec->filter, spec->filter_len, &data, NULL);
	}
}

static bool agrees(const struct why *w, const uint32_t verdict[2])
{
	bool limited = strstr(w->text, "only with certain arguments") != NULL;
	uint32_t eperm = SECCOMP_RET_ERRNO | EPERM;

	if (strcmp(w->verdict, "kill") == 0)
		return verdict[0] == SECCOMP_RET_USER_NOTIF && verdict[1] == SECCOMP_RET_USER_NOTIF;
	if (strcmp(w->verdict, "enosys") == 0)
		return verdict[0] == (SECCOMP_RET_ERRNO | ENOSYS) && verdict[1] == verdict[0];
	if (strcmp(w->verdict, "deny") == 0)
		return verdict[0] == eperm && verdict[1] == eperm;
	if (strcmp(w->verdict, "allow") != 0)
		return false;
	for (int i = 0; i < 2; i++)
		if (verdict[i] != SECCOMP_RET_ALLOW && !(limited && (verdict[i] & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO))
			return false;
	return true;
}

static void test_every_call_is_as_the_filter_says(void **state UNUSED)
{
	static const char *const profiles[] = { "base", "pure", "stdlib", "python" };
	unsigned count = 0, words = 0;

	for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
		struct profile *p = load(profiles[i]);

		for (int nr = 0; nr < 600; nr++) {
			_cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);
			uint32_t verdict[2];
			struct why w;
			struct err err;

			if (!name)
				continue;
			assert_int_equal(why_syscall(p, name, &w, &err), 0);
			filter_says(p, nr, verdict);
			if (!agrees(&w, verdict))
				fail_msg("%s %s: why says %s (%s), the filter 0x%x 0x%x", profiles[i], name, w.verdict, w.text, verdict[0], verdict[1]);
			assert_string_equal(w.layer, "seccomp");
			count++;
			words |= strcmp(w.verdict, "kill") == 0 ? 1 : strcmp(w.verdict, "enosys") == 0 ? 2 : strcmp(w.verdict, "deny") == 0 ? 4 : 8;
		}
		profile_free(p);
	}
	assert_true(count > 1000);
	assert_int_equal(words, 15);
}

static void test_calls_that_do_not_exist(void **state UNUSED)
{
	struct profile *p = load("pure");
	struct why w;
	struct err err = { 0 };

	assert_int_equal(why_syscall(p, "sokcet", &w, &err), -EINVAL);
	assert_non_null(strstr(err.hint, "socket"));
	assert_int_equal(why_syscall(p, "", &w, &err), -EINVAL);
	profile_free(p);
}

static void test_a_grant_has_its_place(void **state UNUSED)
{
	struct profile *p = load_text("{\"name\":\"t\",\"why\":\"t\",\"extends\":\"base\",\n\"syscalls\":{\"allow\":[\n{\"name\":\"getpriority\",\"why\":\"a test\"}]}}");
	struct why w;
	struct err err;

	assert_int_equal(why_syscall(p, "getpriority", &w, &err), 0);
	assert_string_equal(w.verdict, "allow");
	assert_string_equal(w.rule, "t.json:3");
	assert_non_null(strstr(w.text, "a test"));
	profile_free(p);
}

/* A group that is granted and whose switch is off is in no filter. */
static void test_a_group_without_its_switch_grants_nothing(void **state UNUSED)
{
	struct profile *p = load_text("{\"name\":\"t\",\"why\":\"t\",\"extends\":\"base\",\"syscalls\":{\"allow\":[{\"group\":\"@sockets-ip\",\"why\":\"w\"}]}}");
	uint32_t verdict[2];
	struct why w;
	struct err err;

	assert_int_equal(why_syscall(p, "listen", &w, &err), 0);
	assert_string_equal(w.verdict, "deny");
	filter_says(p, seccomp_syscall_resolve_name("listen"), verdict);
	assert_true(agrees(&w, verdict));
	profile_free(p);
}

static void test_paths(void **state UNUSED)
{
	struct profile *p = load_text("{\"name\":\"t\",\"why\":\"t\",\"extends\":\"base\",\"files\":{\"proc\":\"pid\",\"mounts\":[\n"
				      "{\"from\":\"/usr/share\",\"to\":\"/data\",\"mode\":\"ro\",\"why\":\"w\"},\n"
				      "{\"from\":\"/usr/include\",\"to\":\"/data/in\",\"exec\":true,\"why\":\"w\"}]}}");
	static const struct {
		const char *path, *verdict, *rule, *text, *hint;
	} cases[] = {
		{ "/data", "allow", "t.json:2", "shows /usr/share of the host, to read only", "" },
		{ "/data/x/../y", "allow", "t.json:2", "/usr/share/y", "" },
		{ "/data/in/x", "allow", "t.json:3", "/usr/include/x", "" },
		{ "/data/inx", "allow", "t.json:2", "/usr/share/inx", "" },
		{ "/datax", "deny", "", "ENOENT", "files.mounts" },
		{ "/usr/share/doc", "deny", "", "ENOENT", "/data/doc" },
		{ "/etc/passwd", "deny", "", "ENOENT", "" },
		{ "/data/../etc/passwd", "deny", "", "ENOENT", "" },
		{ "/tmp/x", "allow", "", "gone with the call", "" },
		{ "/tmpx", "deny", "", "ENOENT", "" },
		{ "/dev/null", "allow", "", "device", "" },
		{ "/dev/sda", "deny", "", "ENOENT", "" },
		{ "/dev/shm/x", "deny", "", "ENOENT", "" },
		{ "/proc/self/status", "allow", "t.json:1", "of the jail's own", "" },
		{ "/", "allow", "", "places where something is mounted", "" },
	};
	struct why w;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(why_path(p, cases[i].path, &w, &err), 0);
		if (strcmp(w.verdict, cases[i].verdict) != 0 || !strstr(w.text, cases[i].text) || !strstr(w.hint, cases[i].hint) ||
		    (cases[i].rule[0] && strcmp(w.rule, cases[i].rule) != 0))
			fail_msg("%s: %s %s %s; %s", cases[i].path, w.verdict, w.rule, w.text, w.hint);
	}
	assert_int_equal(why_path(p, "data", &w, &err), -EINVAL);
	assert_int_equal(why_path(p, "", &w, &err), -EINVAL);
	profile_free(p);
}

static void test_hosts(void **state UNUSED)
{
	struct profile *none = load("pure"), *lo;
	struct why w;

	why_host(none, "localhost", &w);
	assert_string_equal(w.verdict, "deny");
	assert_non_null(strstr(w.rule, "base.json:"));
	lo = load_text("{\"name\":\"t\",\"why\":\"t\",\"extends\":\"base\",\n\"network\":{\"mode\":\"loopback\"},"
		       "\"syscalls\":{\"allow\":[{\"group\":\"@sockets-ip\",\"why\":\"w\"}]}}");
	why_host(lo, "127.0.0.1", &w);
	assert_string_equal(w.verdict, "allow");
	assert_string_equal(w.rule, "t.json:2");
	why_host(lo, "example.org", &w);
	assert_string_equal(w.verdict, "deny");
	why_host(lo, "localhost.example.org", &w);
	assert_string_equal(w.verdict, "deny");
	why_host(lo, "127.0.0.1.example.org", &w);
	assert_string_equal(w.verdict, "deny");
	profile_free(none);
	profile_free(lo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_call_is_as_the_filter_says),
		cmocka_unit_test(test_calls_that_do_not_exist),
		cmocka_unit_test(test_a_grant_has_its_place),
		cmocka_unit_test(test_a_group_without_its_switch_grants_nothing),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_hosts),
	};
	return cmocka_run_group_tests(tests, open_store, close_store);
}
