/* The embedded store, over files that were opened for it: what is added is there, of two who race one wins, what is broken is said. */
#include "supervisor/store_impl.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/var/tmp/u-store.XXXXXX";
static int fds[STORE_FILES];

static void path_of(int i, char ret[64])
{
	snprintf(ret, 64, "%s/%s", dir, store_file_names[i]);
}

static int set_up(void **state)
{
	char path[64];

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < STORE_FILES; i++) {
		path_of(i, path);
		fds[i] = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fds[i] >= 0);
	}
	assert_int_equal(store_files_serve(fds), 0);
	*state = NULL;
	return 0;
}

static int tear_down(void **state)
{
	char path[64];

	store_close(*state);
	for (int i = 0; i < STORE_FILES; i++) {
		close(fds[i]);
		path_of(i, path);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0); /* SQLite made no file beside them */
	return 0;
}

static struct store *opened(void **state)
{
	struct err err = { 0 };
	struct store *s = NULL;

	if (store_open(&s, &err) < 0)
		fail_msg("%s", err.detail);
	*state = s;
	return s;
}

static struct tool sample(const char *name, const char *body)
{
	struct tool t = { .description = (char *)"what it does", .parameters = (char *)"{}", .body = (char *)body, .profile = "pure", .uid = 7 };

	snprintf(t.name, sizeof(t.name), "%s", name);
	return t;
}

static int add(struct store *s, const char *name, const char *body, bool replace, unsigned limit, struct tool *ret)
{
	struct tool t = sample(name, body);
	struct err err = { 0 };
	int r = store_tool_add(s, &t, replace, limit, &err);

	if (ret)
		*ret = t;
	return r;
}

static void a_tool_comes_back_as_it_was(void **state)
{
	struct store *s = opened(state);
	struct tool t = sample("adder", "def run(): pass # \xc3\xa4 'q' \"d\" \n"), *got = NULL;
	struct err err = { 0 };

	t.declared = (struct permissions){ .filesystem = true, .write = true, .scope = SCOPE_DESTRUCTIVE };
	t.inferred = true;
	t.profile_text = (char *)"{}";
	strcpy(t.session, "s1");
	strcpy(t.user_id, "u1");
	assert_int_equal(store_tool_get(s, "adder", &got, &err), -ENOENT);
	assert_int_equal(store_tool_add(s, &t, false, 20, &err), 0);
	assert_int_equal(t.version, 1);
	assert_true(t.created_ms > 1600000000000);
	store_close(s);
	s = opened(state);
	assert_int_equal(store_tool_get(s, "adder", &got, &err), 0);
	assert_string_equal(got->body, t.body);
	assert_string_equal(got->description, t.description);
	assert_string_equal(got->parameters, t.parameters);
	assert_string_equal(got->profile_text, "{}");
	assert_string_equal(got->hash, t.hash);
	assert_string_equal(got->session, "s1");
	assert_string_equal(got->user_id, "u1");
	assert_true(got->declared.write && got->declared.filesystem && !got->declared.network && got->declared.scope == SCOPE_DESTRUCTIVE);
	assert_true(got->inferred && got->uid == 7 && got->state == TOOL_DRAFT && !got->why && got->created_ms == t.created_ms);
	tool_free(got);
	assert_int_equal(store_tool_get(s, "Adder", &got, &err), -ENOENT);
	assert_int_equal(store_tool_get(s, "adder ", &got, &err), -ENOENT);
}

static void names_are_once_and_counted(void **state)
{
	struct store *s = opened(state);
	struct tool t;

	assert_int_equal(add(s, "a", "1", false, 2, NULL), 0);
	assert_int_equal(add(s, "a", "2", false, 2, NULL), -EEXIST);
	assert_int_equal(add(s, "b", "1", true, 2, NULL), -ENOENT);
	assert_int_equal(add(s, "b", "1", false, 2, NULL), 0);
	assert_int_equal(add(s, "c", "1", false, 2, NULL), -EDQUOT);
	assert_int_equal(add(s, "a", "1", true, 2, NULL), -EALREADY);
	assert_int_equal(add(s, "a", "2", true, 2, &t), 0);
	assert_int_equal(t.version, 2);
}

static int note(const struct tool *t, void *arg)
{
	char *all = arg;

	assert_string_equal(t->body, ""); /* nobody who lists pays for them */
	snprintf(all + strlen(all), 200 - strlen(all), "%s%u:%s ", t->name, t->version, tool_state_name(t->state));
	return 0;
}

static void removed_ones_stay_in_the_history(void **state)
{
	struct store *s = opened(state);
	char all[200] = "";
	struct err err = { 0 };
	struct tool t, *got = NULL;
	uint64_t before = 0, after = 0;

	assert_int_equal(add(s, "b", "1", false, 9, &t), 0);
	assert_int_equal(add(s, "a", "1", false, 9, NULL), 0);
	assert_int_equal(store_tool_generation(s, &before, &err), 0);
	assert_int_equal(store_tool_state(s, t.hash, TOOL_APPROVED, TOOL_REMOVED, "x", &err), -ESTALE);
	assert_int_equal(store_tool_state(s, t.hash, TOOL_DRAFT, TOOL_REMOVED, "not needed", &err), 0);
	assert_int_equal(store_tool_state(s, t.hash, TOOL_DRAFT, TOOL_REMOVED, "not needed", &err), -ESTALE);
	assert_int_equal(store_tool_generation(s, &after, &err), 0);
	assert_int_equal(after, before + 1);
	assert_int_equal(store_tool_get(s, "b", &got, &err), -ENOENT);
	assert_int_equal(add(s, "b", "1", false, 9, &t), 0); /* again, and it is the second */
	assert_int_equal(t.version, 2);
	assert_int_equal(store_tool_each(s, false, note, all, &err), 0);
	assert_string_equal(all, "a1:draft b2:draft ");
	all[0] = '\0';
	assert_int_equal(store_tool_each(s, true, note, all, &err), 0);
	assert_string_equal(all, "a1:draft b1:removed b2:draft ");
	all[0] = '\0';
	assert_int_equal(store_tool_versions(s, "b", note, all, &err), 0);
	assert_string_equal(all, "b1:removed b2:draft ");
	assert_int_equal(store_tool_by_hash(s, t.hash, &got, &err), 0);
	assert_int_equal(got->version, 2);
	tool_free(got);
}

static void denials_are_counted_and_go_on_with_the_name(void **state)
{
	struct store *s = opened(state);
	struct err err = { 0 };
	uint32_t n = 0;
	struct tool t;

	assert_int_equal(add(s, "a", "1", false, 9, &t), 0);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(store_tool_denied(s, t.hash, &n, &err), 0);
		assert_int_equal(n, i);
	}
	assert_int_equal(store_tool_denied(s, "sha256:none", &n, &err), -ENOENT);
	assert_int_equal(store_tool_state(s, t.hash, TOOL_DRAFT, TOOL_QUARANTINED, "three denials", &err), 0);
	struct tool *got = NULL;
	assert_int_equal(store_tool_get(s, "a", &got, &err), 0);
	assert_true(got->kernel_denials == 3 && got->state == TOOL_QUARANTINED);
	assert_string_equal(got->why, "three denials");
	tool_free(got);
	assert_int_equal(add(s, "a", "2", true, 9, &t), 0);
	assert_int_equal(store_tool_denied(s, t.hash, &n, &err), 0);
	assert_int_equal(n, 4);
	assert_int_equal(add(s, "b", "2", false, 9, &t), 0);
	assert_int_equal(store_tool_denied(s, t.hash, &n, &err), 0);
	assert_int_equal(n, 1);
}

static int one_byte_of_a_row(struct store *s, const char *sql)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL);
}

static void a_row_that_somebody_changed_is_refused(void **state)
{
	static const char *const changes[] = {
		"UPDATE tool SET body = 'other'",
		"UPDATE tool SET permissions = '{\"network\":true,\"scope\":\"read-only\"}'",
		"UPDATE tool SET permissions = 'x'",
		"UPDATE tool SET state = 99",
		"UPDATE tool SET name = 'b'",
	};

	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct store *s = opened(state);
		struct err err = { 0 };
		struct tool *got = NULL;

		(void)one_byte_of_a_row(s, "DELETE FROM tool");
		assert_int_equal(add(s, "a", "1", false, 9, NULL), 0);
		assert_int_equal(one_byte_of_a_row(s, changes[i]), SQLITE_OK);
		assert_int_equal(store_tool_get(s, i == 4 ? "b" : "a", &got, &err), -EBADMSG);
		assert_non_null(strstr(err.detail, "registry"));
		store_close(s);
		*state = NULL;
	}
}

/* ---- approvals ---- */

static struct approval question(const char *id, const char *binding)
{
	struct approval a = { .args = (char *)"{\"n\":1}", .uid = 7, .created_ms = 1000, .expires_ms = 2000, .reason = (char *)"why" };

	snprintf(a.id, sizeof(a.id), "%s", id);
	snprintf(a.binding, sizeof(a.binding), "%s", binding);
	strcpy(a.tool, "rm");
	strcpy(a.tool_hash, "h1");
	strcpy(a.rule, "policy.json:3 x");
	return a;
}

static int ask(struct store *s, const char *id, const char *binding, unsigned limit, char ret[APPROVAL_ID_MAX])
{
	struct approval a = question(id, binding);
	struct err err = { 0 };

	return store_approval_add(s, &a, limit, ret, &err);
}

static int decide(struct store *s, const char *id, bool approve, uint32_t uses, int64_t now, enum approval_state *ret)
{
	struct err err = { 0 };

	return store_approval_decide(s, id, approve, uses, now + 500, "because", 9, "admin.sock", now, ret, &err);
}

static void an_approval_is_used_up(void **state)
{
	struct store *s = opened(state);
	enum approval_state st = APPROVAL_STATE_COUNT;
	char id[APPROVAL_ID_MAX] = "";
	struct approval *a = NULL;
	struct err err = { 0 };

	assert_int_equal(ask(s, "one", "b1", 9, id), 0);
	assert_string_equal(id, "one");
	assert_int_equal(ask(s, "two", "b1", 9, id), -EALREADY);
	assert_string_equal(id, "one");
	assert_int_equal(store_approval_take(s, "b1", 7, 1100, id, &err), -ENOENT);
	assert_int_equal(decide(s, "one", true, 2, 1200, &st), 0);
	assert_int_equal(decide(s, "one", false, 0, 1200, &st), -ESTALE);
	assert_int_equal(st, APPROVAL_APPROVED);
	assert_int_equal(decide(s, "none", true, 1, 1200, &st), -ENOENT);
	assert_int_equal(store_approval_take(s, "b1", 8, 1300, id, &err), -ENOENT); /* another uid */
	assert_int_equal(store_approval_take(s, "b2", 7, 1300, id, &err), -ENOENT);
	assert_int_equal(store_approval_take(s, "b1", 7, 1700, id, &err), -ENOENT); /* too late */
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_approval_take(s, "b1", 7, 1300, id, &err), 0);
	assert_string_equal(id, "one");
	assert_int_equal(store_approval_take(s, "b1", 7, 1300, id, &err), -ENOENT);
	assert_int_equal(store_approval_get(s, "one", &a, &err), 0);
	assert_true(a->state == APPROVAL_USED && a->uses == 0 && a->decided_uid == 9 && a->decided_ms == 1200);
	assert_string_equal(a->reason, "because");
	assert_string_equal(a->args, "{\"n\":1}");
	approval_free(a);
	assert_int_equal(store_approval_last(s, "b1", 7, &a, &err), 0);
	assert_string_equal(a->decided_by, "admin.sock");
	approval_free(a);
}

static int count(const struct approval *a, void *arg)
{
	(void)a;
	++*(unsigned *)arg;
	return 0;
}

static unsigned count_of(struct store *s, int state)
{
	struct err err = { 0 };
	unsigned n = 0;

	assert_int_equal(store_approval_each(s, state, count, &n, &err), 0);
	return n;
}

/* A tool that is replaced over and over voids what was asked about it: the questions that are over do not fill the registry. */
static void old_questions_are_forgotten(void **state)
{
	struct store *s = opened(state);
	enum approval_state st = APPROVAL_STATE_COUNT;
	char id[APPROVAL_ID_MAX] = "", name[16];
	struct err err = { 0 };
	unsigned n = 0;

	assert_int_equal(ask(s, "no", "bn", 9, id), 0);
	assert_int_equal(decide(s, "no", false, 0, 1100, &st), 0);
	for (unsigned i = 0; i < APPROVALS_KEPT + 50; i++) {
		snprintf(name, sizeof(name), "a%u", i);
		assert_int_equal(ask(s, name, name, 9, id), 0);
		assert_int_equal(store_approval_void(s, "rm", "h2", &err), 0);
	}
	assert_int_equal(ask(s, "open", "bo", 9, id), 0);
	assert_int_equal(count_of(s, APPROVAL_VOID), APPROVALS_KEPT);
	assert_int_equal(count_of(s, APPROVAL_DENIED), 1);
	assert_int_equal(count_of(s, APPROVAL_PENDING), 1);
	assert_int_equal(count_of(s, -1), APPROVALS_KEPT + 2);
	assert_int_equal(store_approval_begin_with(s, "op", count, &n, &err), 0);
	assert_int_equal(n, 1);
}

static void time_and_change_end_an_approval(void **state)
{
	struct store *s = opened(state);
	enum approval_state st = APPROVAL_STATE_COUNT;
	char id[APPROVAL_ID_MAX] = "";
	struct err err = { 0 };

	assert_int_equal(ask(s, "late", "b1", 9, id), 0);
	assert_int_equal(decide(s, "late", true, 1, 2000, &st), -ESTALE); /* expires at 2000 */
	assert_int_equal(st, APPROVAL_EXPIRED);
	assert_int_equal(ask(s, "again", "b1", 9, id), 0);
	assert_int_equal(decide(s, "again", true, 5, 1500, &st), 0);
	assert_int_equal(store_approval_void(s, "rm", "h1", &err), 0);
	assert_int_equal(store_approval_take(s, "b1", 7, 1600, id, &err), 0); /* the same version: it stands */
	assert_int_equal(store_approval_void(s, "rm", "h2", &err), 0);
	assert_int_equal(store_approval_take(s, "b1", 7, 1600, id, &err), -ENOENT);
	assert_int_equal(decide(s, "again", true, 1, 1600, &st), -ESTALE);
	assert_int_equal(st, APPROVAL_VOID);
}

static void questions_of_one_uid_are_bounded(void **state)
{
	struct store *s = opened(state);
	char id[APPROVAL_ID_MAX] = "";

	assert_int_equal(ask(s, "1", "b1", 2, id), 0);
	assert_int_equal(ask(s, "2", "b2", 2, id), 0);
	assert_int_equal(ask(s, "3", "b3", 2, id), -EDQUOT);
	assert_int_equal(ask(s, "4", "b1", 2, id), -EALREADY);
}

/* ---- several supervisors ---- */

#define RACERS 4
#define USES   20

static int race(int (*fn)(struct store *s, int i), int i)
{
	struct store *s = NULL;
	struct err err = { 0 };

	if (store_open(&s, &err) < 0)
		return 200;
	int got = fn(s, i);
	store_close(s);
	return got;
}

static int take_all(struct store *s, int i)
{
	char id[APPROVAL_ID_MAX];
	struct err err = { 0 };
	int got = 0, r;

	(void)i;
	while ((r = store_approval_take(s, "b1", 7, 1300, id, &err)) == 0)
		got++;
	return r == -ENOENT ? got : 201;
}

static int add_some(struct store *s, int i)
{
	int got = 0;

	for (int n = 0; n < 30; n++) {
		char name[16];
		snprintf(name, sizeof(name), "t%d", n); /* all of them want the same names */
		int r = add(s, name, i ? "x" : "y", false, 1000, NULL);
		if (r == 0)
			got++;
		else if (r != -EEXIST)
			return 202;
	}
	return got;
}

static int race_all(int (*fn)(struct store *s, int i))
{
	int sum = 0, status;
	pid_t pid[RACERS];

	for (int i = 0; i < RACERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(race(fn, i));
	}
	for (int i = 0; i < RACERS; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFEXITED(status));
		assert_true(WEXITSTATUS(status) < 200);
		sum += WEXITSTATUS(status);
	}
	return sum;
}

static void of_those_who_race_one_wins_each(void **state)
{
	struct store *s = opened(state);
	enum approval_state st = APPROVAL_STATE_COUNT;
	char id[APPROVAL_ID_MAX];

	assert_int_equal(ask(s, "one", "b1", 9, id), 0);
	assert_int_equal(decide(s, "one", true, USES, 1200, &st), 0);
	store_close(s);
	*state = NULL;
	assert_int_equal(race_all(take_all), USES);
	assert_int_equal(race_all(add_some), 30);
}

static void fresh_ones_that_race_find_one_store(void **state)
{
	(void)state;
	assert_int_equal(race_all(add_some), 30);
}

/* ---- bad files ---- */

static void put(int i, const void *bytes, size_t len)
{
	assert_int_equal(ftruncate(fds[i], 0), 0);
	assert_int_equal(pwrite(fds[i], bytes, len, 0), (ssize_t)len);
}

static void what_is_no_database_is_left_alone(void **state)
{
	char junk[8192], back[sizeof(junk)];
	struct store *s = NULL;
	struct err err = { 0 };

	(void)state;
	memset(junk, 'j', sizeof(junk));
	put(STORE_DB, junk, sizeof(junk));
	assert_int_equal(store_open(&s, &err), -EBADMSG);
	assert_non_null(strstr(err.detail, "registry"));
	assert_true(err.hint[0]);
	assert_int_equal(pread(fds[STORE_DB], back, sizeof(back), 0), sizeof(back));
	assert_memory_equal(junk, back, sizeof(back));
}

static void one_from_a_newer_version_is_refused(void **state)
{
	struct store *s = opened(state);
	struct err err = { 0 };

	assert_int_equal(one_byte_of_a_row(s, "PRAGMA user_version = 99"), SQLITE_OK);
	store_close(s);
	*state = NULL;
	assert_int_equal(store_open(&s, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.detail, "99"));
}

static void one_cut_short_is_refused(void **state)
{
	struct store *s = opened(state);
	struct err err = { 0 };
	struct tool *got = NULL;
	int r;

	for (int i = 0; i < 40; i++) {
		char name[16], body[3000];
		memset(body, 'b', sizeof(body) - 1);
		body[sizeof(body) - 1] = '\0';
		snprintf(name, sizeof(name), "t%d", i);
		assert_int_equal(add(s, name, body, false, 100, NULL), 0);
	}
	assert_int_equal(one_byte_of_a_row(s, "PRAGMA wal_checkpoint(TRUNCATE)"), SQLITE_OK);
	store_close(s);
	*state = NULL;
	assert_int_equal(ftruncate(fds[STORE_DB], 20000), 0);
	r = store_open(&s, &err);
	if (r == 0) {
		r = store_tool_get(s, "t39", &got, &err);
		store_close(s);
	}
	assert_int_equal(r, -EBADMSG);
}

static void one_that_is_locked_says_so(void **state)
{
	struct store *s = opened(state);
	int ready[2], status;
	char byte;

	store_close(s);
	*state = NULL;
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct err err = { 0 };

		if (store_open(&s, &err) < 0 || store_begin(s, &err) < 0)
			_exit(1);
		(void)!write(ready[1], "x", 1);
		pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	s = opened(state);
	assert_int_equal(add(s, "a", "1", false, 9, NULL), -EBUSY);
	struct tool *got = NULL;
	struct err err = { 0 };
	assert_int_equal(store_tool_get(s, "a", &got, &err), -ENOENT); /* readers go on */
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(add(s, "a", "1", false, 9, NULL), 0); /* the dead hold no lock */
	close(ready[0]);
	close(ready[1]);
}

/* What was answered is there, whatever moment the writer is killed in. */
static void nothing_answered_is_lost_with_its_writer(void **state)
{
	(void)state;
	for (int round = 0; round < 8; round++) {
		int told[2], status;
		char n = 0, last = -1;
		pid_t pid;

		assert_int_equal(pipe(told), 0);
		pid = fork();
		if (pid == 0) {
			struct store *s = NULL;
			struct err err = { 0 };
			char name[16];

			if (store_open(&s, &err) < 0)
				_exit(1);
			for (char i = 0; i < 100; i++) {
				snprintf(name, sizeof(name), "r%dt%d", round, i);
				if (add(s, name, "b", false, 100000, NULL) == 0)
					(void)!write(told[1], &i, 1);
			}
			_exit(0);
		}
		close(told[1]);
		usleep(3000 + (useconds_t)round * 7000);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		while (read(told[0], &n, 1) == 1)
			last = n;
		close(told[0]);
		struct store *s = opened(state);
		for (char i = 0; i <= last; i++) {
			struct tool *got = NULL;
			struct err err = { 0 };
			char name[16];

			snprintf(name, sizeof(name), "r%dt%d", round, i);
			assert_int_equal(store_tool_get(s, name, &got, &err), 0);
			tool_free(got);
		}
		store_close(s);
		*state = NULL;
	}
}

#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_tool_comes_back_as_it_was),
		T(names_are_once_and_counted),
		T(removed_ones_stay_in_the_history),
		T(denials_are_counted_and_go_on_with_the_name),
		T(a_row_that_somebody_changed_is_refused),
		T(an_approval_is_used_up),
		T(time_and_change_end_an_approval),
		T(old_questions_are_forgotten),
		T(questions_of_one_uid_are_bounded),
		T(of_those_who_race_one_wins_each),
		T(fresh_ones_that_race_find_one_store),
		T(what_is_no_database_is_left_alone),
		T(one_from_a_newer_version_is_refused),
		T(one_cut_short_is_refused),
		T(one_that_is_locked_says_so),
		T(nothing_answered_is_lost_with_its_writer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
