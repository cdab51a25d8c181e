/* brigd.conf: what is taken, what is refused and where, what a reload may change, and that what is printed can be read. */
#include "jail/base/fd.h"
#include "supervisor/config_impl.h"
#include "supervisor/load.h"
#include "supervisor/profile_impl.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

static struct config g_config;
static struct config_origin g_origin;
static struct err g_err;

static int parse(const char *text)
{
	assert_int_equal(config_defaults(&g_config, &g_err), 0);
	g_err = (struct err){ 0 };
	return config_parse(&g_config, &g_origin, "/etc/brig/brigd.conf", text, strlen(text), &g_err);
}

static void taken(const char *text)
{
	if (parse(text) < 0)
		fail_msg("%s\nrefused: %s: %s", text, g_err.where, g_err.detail);
}

static void refused(const char *text, const char *where, const char *word)
{
	if (parse(text) == 0)
		fail_msg("taken: %s", text);
	if (strcmp(g_err.where, where) != 0 || (!strstr(g_err.detail, word) && !strstr(g_err.hint, word)))
		fail_msg("%s\nsays %s: %s (%s), not %s: %s", text, g_err.where, g_err.detail, g_err.hint, where, word);
}

static void test_values_arrive(void **state UNUSED)
{
	taken("# a comment\n\n\tdrain = 90s # ninety\nqueue_wait=250ms\nsession_life = 2h\nsession_idle = 30m\naudit_rotate = 3M\n"
	      "queued_bytes_per_uid = 1G\nagent_users = 1000,1001  1002\nallow_best_effort = yes\nlog_format = json\nlog_level = debug\n"
	      "agent_mode = 0666\nprofiles = pure stdlib\nprewarm = pure\nrun_dir = /run/other/\nadmin_socket = decide.sock");
	assert_int_equal(g_config.drain_ms, 90000);
	assert_int_equal(g_config.queue_wait_ms, 250);
	assert_int_equal(g_config.session_life_ms, 7200000);
	assert_int_equal(g_config.session_idle_ms, 1800000);
	assert_true(g_config.audit_rotate_bytes == 3ull << 20);
	assert_true(g_config.queued_bytes_per_uid == 1ull << 30);
	assert_int_equal(g_config.agent.uid_count, 3);
	assert_int_equal(g_config.agent.uids[2], 1002);
	assert_true(g_config.allow_best_effort);
	assert_int_equal(g_config.log_format, LOG_JSON);
	assert_int_equal(g_config.log_level, 7);
	assert_int_equal(g_config.agent.mode, 0666);
	assert_false(g_config.profiles.any);
	assert_string_equal(g_config.profiles.name[1], "stdlib");
	assert_string_equal(g_config.prewarm.name[0], "pure");
	assert_string_equal(g_config.run_dir, "/run/other");
	assert_string_equal(g_config.agent.path, "/run/other/agent.sock"); /* it follows */
	assert_string_equal(g_config.admin.path, "/run/other/decide.sock");
	assert_int_equal(g_origin.at[config_key_find("drain")].line, 3);
	assert_int_equal(g_origin.at[config_key_find("queue_max")].line, 0);
}

static void test_an_empty_file_is_the_defaults(void **state UNUSED)
{
	struct config before;

	assert_int_equal(config_defaults(&before, &g_err), 0);
	taken("");
	assert_memory_equal(&before.agent, &g_config.agent, sizeof(before.agent));
	assert_int_equal(before.drain_ms, g_config.drain_ms);
	taken("\n\n# only a comment");
}

static void test_a_wrong_line_has_its_place(void **state UNUSED)
{
	refused("drian = 10s", "brigd.conf:1:1", "did you mean \"drain\"");
	refused("\n  qqqqqqqqqqqq = 1\n", "brigd.conf:2:3", "--print-config");
	refused("drain = 1s\ndrain = 1s\n", "brigd.conf:2:1", "line 1");
	refused("drain", "brigd.conf:1:6", "\"=\" is missing");
	refused("drain 10s", "brigd.conf:1:7", "\"=\" is missing");
	refused("drain =", "brigd.conf:1:8", "no value");
	refused("drain = # ten", "brigd.conf:1:9", "no value");
	refused("[section]", "brigd.conf:1:1", "key = value");
	refused("drain = 10s\r\n", "brigd.conf:1:12", "0x0d");
}

static void test_a_nul_does_not_end_the_text(void **state UNUSED)
{
	static const char text[] = "drain = 1s\n\0drain = 2s\n";

	assert_int_equal(config_defaults(&g_config, &g_err), 0);
	assert_true(config_parse(&g_config, &g_origin, "x", text, sizeof(text) - 1, &g_err) < 0);
	assert_string_equal(g_err.where, "x:2:1");
}

static void test_a_long_line_is_refused(void **state UNUSED)
{
	char text[5000];

	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	refused(text, "brigd.conf:1:4096", "bytes");
}

static void test_wrong_values(void **state UNUSED)
{
	static const char *const rows[][3] = {
		{ "drain = 10", "brigd.conf:1:9", "write 10s" },
		{ "drain = 10sec", "brigd.conf:1:9", "write 10s" },
		{ "drain = -1s", "brigd.conf:1:9", "units" },
		{ "drain = 2h", "brigd.conf:1:9", "0s to 1h" },
		{ "drain = 99999999999999999999s", "brigd.conf:1:9", "time" },
		{ "audit_rotate = 64MB", "brigd.conf:1:16", "write 64M" },
		{ "audit_rotate = 1K", "brigd.conf:1:16", "64K to" },
		{ "running_max = 62", "brigd.conf:1:15", "1 to 61" },
		{ "agent_socket =# a comment", "brigd.conf:1:15", "has no value" },
		{ "running_max = 0", "brigd.conf:1:15", "1 to 61" },
		{ "running_max = 5x", "brigd.conf:1:15", "whole number" },
		{ "running_max = 18446744073709551617", "brigd.conf:1:15", "whole number" },
		{ "agent_users = root nobody-here", "brigd.conf:1:20", "nobody-here" },
		{ "agent_users = 4294967295", "brigd.conf:1:15", "no id" },
		{ "agent_users = * 1000", "brigd.conf:1:15", "\"*\"" },
		{ "agent_users = ,", "brigd.conf:1:15", "no user" },
		{ "admin_users = *", "brigd.conf:1:15", "one by one" },
		{ "agent_owner = nobody-here", "brigd.conf:1:15", "/etc/passwd" },
		{ "agent_group = nobody-here", "brigd.conf:1:15", "/etc/group" },
		{ "agent_mode = rw-rw----", "brigd.conf:1:14", "octal" },
		{ "agent_mode = 0777", "brigd.conf:1:14", "0666" },
		{ "admin_mode = 0662", "brigd.conf:1:14", "0660" },
		{ "agent_socket = /tmp/x.sock", "brigd.conf:1:16", "run_dir" },
		{ "agent_socket = brigd.lock", "brigd.conf:1:16", "run_dir" },
		{ "run_dir = relative", "brigd.conf:1:11", "absolute" },
		{ "allow_best_effort = true", "brigd.conf:1:21", "yes nor no" },
		{ "log_format = jsn", "brigd.conf:1:14", "write json" },
		{ "log_level = loud", "brigd.conf:1:13", "emerg|alert" },
		{ "default_profile = Pure", "brigd.conf:1:19", "cannot be the name" },
		{ "profiles = pure ../x", "brigd.conf:1:17", "cannot be the name" },
		{ "profiles = base", "brigd.conf:1:12", "extended" },
		{ "prewarm = *", "brigd.conf:1:11", "cannot be the name" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		refused(rows[i][0], rows[i][1], rows[i][2]);
}

static void test_dangerous_combinations(void **state UNUSED)
{
	char text[300];

	refused("agent_users = 1000\nadmin_users = 7 1000", "brigd.conf:2:15", "may not decide");
	refused("agent_users = *\nadmin_users = 1000", "brigd.conf:1:15", "root always may");
	refused("agent_socket = admin.sock", "brigd.conf:1:16", "same as admin_socket");
	refused("connections_max = 3", "connections_per_uid", "connections_max, 3");
	refused("session_life = 1m", "session_idle", "session_life");
	refused("profiles = stdlib", "default_profile", "not among");
	refused("state_dir = /a\nrun_dir = /a", "brigd.conf:1:13", "reboot");
	taken("agent_users = 1000\nadmin_users = 1001");
	/* One byte more than fits. */
	snprintf(text, sizeof(text), "run_dir = /%0*d", CONFIG_SOCKET_MAX - 1 - (int)strlen("//agent.sock"), 0);
	taken(text);
	strcat(text, "0");
	refused(text, "brigd.conf:1:11", "shorter run_dir");
}

#define ORDINARY_ID 61234

/* A service's user has neither: the file may name the places. Which check failed, or 0. */
static int without_places(void)
{
	(void)unsetenv("BRIG_STATE");
	(void)unsetenv("HOME");
	if (geteuid() == 0 && setuid(ORDINARY_ID) < 0)
		return 1;
	if (parse("") == 0 || strcmp(g_err.where, "run_dir") != 0 || !strstr(g_err.hint, "BRIG_STATE"))
		return 2;
	if (parse("run_dir = /tmp/a") == 0 || strcmp(g_err.where, "state_dir") != 0)
		return 3;
	return parse("run_dir = /tmp/a\nstate_dir = /tmp/b") == 0 ? 0 : 4;
}

static void test_no_home_and_no_file(void **state UNUSED)
{
	int status;

	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(without_places());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_too_many_in_a_list(void **state UNUSED)
{
	char text[2000] = "agent_users =";
	size_t n = strlen(text);

	for (int i = 0; i < CONFIG_UIDS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %d", 1000 + i);
	taken(text);
	strcat(text, " 5");
	if (parse(text) == 0 || !strstr(g_err.detail, "more than 32"))
		fail_msg("%s", g_err.detail);
}

static void test_every_key_has_a_default_within_its_range(void **state UNUSED)
{
	taken("");
	for (const struct config_key *k = config_keys; k->name; k++) {
		const char *field = (const char *)&g_config + k->offset;
		uint64_t n = k->kind == CONFIG_BYTES ? *(const uint64_t *)field : *(const uint32_t *)field;

		if ((k->kind == CONFIG_COUNT || k->kind == CONFIG_TIME || k->kind == CONFIG_BYTES) && (n < k->min || n > k->max))
			fail_msg("%s", k->name);
	}
}

static void test_what_is_printed_can_be_read(void **state UNUSED)
{
	char first[8192], second[8192];
	const char *text = "drain = 0s\naudit_sync = 1500ms\naudit_rotate = 65537\nagent_users = 1000 1001\nprofiles = pure\nlog_level = err\n"
			   "queued_bytes_per_uid = 1000000000\n";

	for (int round = 0; round < 2; round++) {
		char *out = round ? second : first;
		taken(round ? first : text);
		FILE *f = fmemopen(out, sizeof(first), "w");
		assert_non_null(f);
		config_print(&g_config, &g_origin, f);
		fclose(f);
	}
	/* All but the comments, which now name lines. */
	for (char *p = first, *q = second; *p || *q;) {
		size_t n = strcspn(p, "\n"), m = strcspn(q, "\n"), a = (size_t)(strstr(p, "  #") - p), b = (size_t)(strstr(q, "  #") - q);
		assert_int_equal(a, b);
		assert_memory_equal(p, q, a);
		p += n + (p[n] == '\n');
		q += m + (q[m] == '\n');
	}
	assert_non_null(strstr(second, "audit_sync = 1500ms"));
	assert_non_null(strstr(second, "audit_rotate = 65537"));
}

static void test_a_reload_changes_what_can_change(void **state UNUSED)
{
	struct config now;

	taken("drain = 1s");
	now = g_config;
	taken("drain = 2s\nagent_users = 1000\nprofiles = pure\n");
	assert_int_equal(config_reload_check(&now, &g_config, &g_origin, &g_err), 0);
	static const char *const fixed[] = { "run_dir = /run/x", "state_dir = /var/x", "agent_socket = a.sock", "admin_socket = b.sock",
					     "agent_mode = 0600", "admin_mode = 0660", "agent_owner = 7", "admin_group = 7",
					     "audit_rotate = 1M", "audit_sync = 2s", "log_format = json" };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		taken(fixed[i]);
		if (config_reload_check(&now, &g_config, &g_origin, &g_err) == 0 || strncmp(g_err.where, "brigd.conf:1:", 13) != 0)
			fail_msg("%s: %s: %s", fixed[i], g_err.where, g_err.detail);
	}
	/* A line that went away is a change, too. */
	taken("run_dir = /run/x");
	now = g_config;
	taken("");
	assert_true(config_reload_check(&now, &g_config, &g_origin, &g_err) < 0);
	assert_string_equal(g_err.where, "run_dir");
}

static void test_profiles_that_are_named_exist(void **state UNUSED)
{
	static const char *const names[] = { "base", "pure", "stdlib" };

	taken("profiles = pure stdlib\nprewarm = pure");
	assert_int_equal(config_profiles_check(&g_config, &g_origin, names, 3, &g_err), 0);
	taken("prewarm = pure\nprofiles = pure stdlb");
	assert_true(config_profiles_check(&g_config, &g_origin, names, 3, &g_err) < 0);
	assert_string_equal(g_err.where, "brigd.conf:2:12");
	assert_non_null(strstr(g_err.hint, "\"stdlib\""));
}

static struct profile_store *store_small(void)
{
	struct profile_store *s = profile_store_new();

	assert_non_null(s);
	assert_int_equal(profile_store_add(s, "b.json", "{}", 2), 0);
	assert_int_equal(profile_store_add(s, "a.json", "", 0), 0);
	assert_int_equal(profile_store_add(s, "p.py", "x\0y", 3), 0);
	assert_int_equal(profile_store_guard(s, "/"), 0);
	assert_int_equal(profile_store_index(s, &g_err), 0);
	return s;
}

static void test_what_is_packed_comes_out(void **state UNUSED)
{
	struct loaded l = { 0 }, got = { 0 };
	struct err why = { ERR_POLICY, EINVAL, "brigd.conf:7:1", "wrong", "right" };
	size_t len;

	taken("drain = 7s");
	l.config = g_config;
	l.origin = g_origin;
	l.profiles = store_small();
	_cleanup_close_ int fd = load_pack(&l, NULL);
	assert_true(fd >= 0);
	assert_int_equal(load_unpack(fd, &got, &g_err), 0);
	assert_int_equal(got.config.drain_ms, 7000);
	assert_string_equal(profile_store_name(got.profiles, 0), "a");
	assert_string_equal(profile_store_name(got.profiles, 1), "b");
	assert_null(profile_store_name(got.profiles, 2));
	assert_string_equal(profile_store_text(got.profiles, "b", &len), "{}");
	assert_int_equal(store_find(got.profiles, "p.py")->len, 3);
	assert_int_equal(got.profiles->guarded_count, 1);
	load_done(&got);
	_cleanup_close_ int bad = load_pack(&l, &why);
	assert_true(load_unpack(bad, &got, &g_err) == -EINVAL);
	assert_string_equal(g_err.where, "brigd.conf:7:1");
	assert_string_equal(g_err.hint, "right");
	assert_null(got.profiles);
	load_done(&l);
}

/* Core trusts the keeper, and still reads no byte beyond what came. */
static void test_a_pack_that_is_cut_is_refused(void **state UNUSED)
{
	struct loaded l = { 0 }, got = { 0 };
	static char bytes[1 << 20];

	taken("");
	l.config = g_config;
	l.profiles = store_small();
	_cleanup_close_ int fd = load_pack(&l, NULL);
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	assert_true(n > 0);
	for (ssize_t cut = n - 1; cut > n - 60; cut--) {
		_cleanup_close_ int part = memfd_create("part", MFD_CLOEXEC);
		assert_int_equal(pwrite(part, bytes, (size_t)cut, 0), cut);
		assert_true(load_unpack(part, &got, &g_err) < 0);
		assert_null(got.profiles);
	}
	bytes[0] ^= 1;
	_cleanup_close_ int other = memfd_create("other", MFD_CLOEXEC);
	assert_int_equal(pwrite(other, bytes, (size_t)n, 0), n);
	assert_true(load_unpack(other, &got, &g_err) < 0);
	load_done(&l);
}

static char *file_of_tree(const char *name)
{
	char path[PATH_MAX];
	static char text[64 << 10];

	snprintf(path, sizeof(path), "%s/%s", getenv("SRC_DIR") ? getenv("SRC_DIR") : ".", name);
	assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) > 0);
	return text;
}

/* Each "#key = value" line of the example, without its "#", says what holds anyway; the lists of names are examples. */
static void test_the_example_is_the_defaults(void **state UNUSED)
{
	char *text = file_of_tree("dist/brigd.conf"), line[200];
	struct config before;

	for (char *at = text; *at; at += strcspn(at, "\n") + 1) {
		size_t n = strcspn(at, "\n");
		if (at[0] != '#' || at[1] < 'a' || at[1] > 'z')
			continue;
		snprintf(line, sizeof(line), "%.*s", (int)n - 1, at + 1);
		char *key = strndup(line, strcspn(line, " "));
		int row = config_key_find(key);
		if (row < 0)
			fail_msg("%s: no such key", key);
		enum config_kind kind = config_keys[row].kind;
		taken("");
		before = g_config;
		if (kind == CONFIG_USERS || kind == CONFIG_UIDS || strcmp(key, "prewarm") == 0 || kind == CONFIG_DIR || kind == CONFIG_FILES ||
		    kind == CONFIG_URL) {
			free(key);
			continue;
		}
		taken(line);
		bool sockets = kind == CONFIG_USER || kind == CONFIG_GROUP; /* root's, where the test may be another's */
		if (!sockets && memcmp(&before.connections_per_uid, &g_config.connections_per_uid, sizeof(before) - offsetof(struct config, connections_per_uid)))
			fail_msg("%s is not the default", line);
		free(key);
	}
}

/* Whoever may write it decides about every jail. */
static void test_a_file_that_others_may_write_is_refused(void **state UNUSED)
{
	char path[] = "/tmp/brig-u-config.XXXXXX";
	static const struct {
		mode_t mode;
		bool taken;
	} cases[] = { { 0644, true }, { 0600, true }, { 0664, false }, { 0646, false } };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, "queue_max = 7\n", 14), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fchmod(fd, cases[i].mode), 0);
		assert_int_equal(config_read(&g_config, &g_origin, path, true, &g_err) == 0, cases[i].taken);
		if (!cases[i].taken)
			assert_non_null(strstr(g_err.detail, "may be written by others"));
	}
	assert_int_equal(fchmod(fd, 0644), 0);
	if (fchown(fd, 65534, 65534) == 0) { /* root alone can */
		assert_true(config_read(&g_config, &g_origin, path, true, &g_err) < 0);
		assert_non_null(strstr(g_err.detail, "neither root nor us"));
	}
	close(fd);
	unlink(path);
}

static void test_every_key_is_explained(void **state UNUSED)
{
	static const char *const files[] = { "dist/brigd.conf", "supervisor/brigd.conf.5" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char *text = file_of_tree(files[i]);
		for (const struct config_key *k = config_keys; k->name; k++)
			if (!strstr(text, k->name))
				fail_msg("%s does not tell of %s", files[i], k->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_arrive),
		cmocka_unit_test(test_an_empty_file_is_the_defaults),
		cmocka_unit_test(test_a_wrong_line_has_its_place),
		cmocka_unit_test(test_a_nul_does_not_end_the_text),
		cmocka_unit_test(test_a_long_line_is_refused),
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_dangerous_combinations),
		cmocka_unit_test(test_no_home_and_no_file),
		cmocka_unit_test(test_too_many_in_a_list),
		cmocka_unit_test(test_every_key_has_a_default_within_its_range),
		cmocka_unit_test(test_what_is_printed_can_be_read),
		cmocka_unit_test(test_a_reload_changes_what_can_change),
		cmocka_unit_test(test_profiles_that_are_named_exist),
		cmocka_unit_test(test_the_example_is_the_defaults),
		cmocka_unit_test(test_every_key_is_explained),
		cmocka_unit_test(test_a_file_that_others_may_write_is_refused),
		cmocka_unit_test(test_what_is_packed_comes_out),
		cmocka_unit_test(test_a_pack_that_is_cut_is_refused),
	};

	(void)setenv("BRIG_STATE", "/var/tmp/brig-u-config", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
