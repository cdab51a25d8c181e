/* The log: each form byte for byte, hostile texts, and readers that do not read. */
#include "supervisor/log_line.h"
#include "supervisor/wire/json.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

/* 2026-03-01 00:00:05.000042 UTC: the day after the last of February. */
#define SOME_TIME { 1772323205, 42000 }

static struct log_entry entry(const char *message, const struct log_field *fields)
{
	return (struct log_entry){ .level = LOG_WARNING, .process = "core", .pid = 77, .time = SOME_TIME, .event = "zygote_died",
				   .message = message, .fields = fields };
}

static void expect(const struct log_line *l, const char *want)
{
	char got[LOG_LINE_MAX + 1];

	memcpy(got, l->data, l->len);
	got[l->len] = '\0';
	assert_string_equal(got, want);
}

static void golden(void **state)
{
	struct log_line l;
	struct log_entry e = entry("the zygote ended", LOG_FIELDS(LOG_STR("profile", "pure"), LOG_NUM("gen", 3)));

	(void)state;
	log_line_text(&l, &e);
	expect(&l, "brigd: core: the zygote ended (profile=pure, gen=3)\n");
	log_line_json(&l, &e);
	expect(&l, "{\"time\":\"2026-03-01T00:00:05.000042Z\",\"level\":\"warning\",\"process\":\"core\",\"pid\":77,\"event\":\"zygote_died\","
		   "\"message\":\"the zygote ended\",\"fields\":{\"profile\":\"pure\",\"gen\":3}}\n");
	log_line_journal(&l, &e);
	expect(&l, "PRIORITY=4\nSYSLOG_IDENTIFIER=brigd\nBRIG_EVENT=zygote_died\nBRIG_PROCESS=core\nMESSAGE=the zygote ended\n"
		   "BRIG_PROFILE=pure\nBRIG_GEN=3\n");
}

static void golden_without_role_or_fields_and_with_lost_lines(void **state)
{
	struct log_line l;
	struct log_entry e = entry("starting", LOG_NONE);

	(void)state;
	e.process = "";
	log_line_text(&l, &e);
	expect(&l, "brigd: starting\n");
	e.dropped = 2;
	log_line_text(&l, &e);
	expect(&l, "brigd: starting (lines_lost=2)\n");
	log_line_json(&l, &e);
	expect(&l, "{\"time\":\"2026-03-01T00:00:05.000042Z\",\"level\":\"warning\",\"process\":\"brigd\",\"pid\":77,\"event\":\"zygote_died\","
		   "\"message\":\"starting\",\"fields\":{\"lines_lost\":2}}\n");
}

/* Against the C library's own calendar, over leap years, centuries and the end of 32 bits. */
static void dates_are_right(void **state)
{
	struct log_line l;
	struct log_entry e = entry("x", LOG_NONE);

	(void)state;
	for (int64_t t = 0; t < 5000000000; t += 86400 * 13 + 3607) {
		struct tm tm;
		time_t at = t;
		char want[32];

		e.time = (struct timespec){ .tv_sec = at };
		assert_non_null(gmtime_r(&at, &tm));
		strftime(want, sizeof(want), "%Y-%m-%dT%H:%M:%S", &tm);
		log_line_json(&l, &e);
		assert_memory_equal(l.data + strlen("{\"time\":\""), want, strlen(want));
	}
}

static void check_clean(const struct log_line *l, unsigned new_lines)
{
	size_t at;

	assert_true(utf8_check(l->data, l->len, &at));
	assert_int_equal(l->data[l->len - 1], '\n');
	for (size_t i = 0; i < l->len; i++) {
		if (l->data[i] == '\n')
			new_lines--;
		else
			assert_true((unsigned char)l->data[i] >= 0x20 && l->data[i] != 0x7f);
	}
	assert_int_equal(new_lines, 0);
}

static void check_forms(const struct log_entry *e, unsigned fields)
{
	struct log_line l;
	struct json_error je;

	log_line_text(&l, e);
	check_clean(&l, 1);
	log_line_json(&l, e);
	check_clean(&l, 1);
	assert_int_equal(json_check(l.data, l.len, JSON_OBJECT, 8, &je), 0);
	log_line_journal(&l, e);
	check_clean(&l, 5 + fields);
}

static void no_text_breaks_a_line(void **state)
{
	const char *evil = "a\nb\r\x1b[2J\x7f\xc2\x9b\xff\xc3 \"quoted\\\" \xe2\x82\xac }\nPRIORITY=0\n";
	struct log_entry e = entry(evil, LOG_FIELDS(LOG_STR("profile", evil)));
	struct log_line l;

	(void)state;
	check_forms(&e, 1);
	log_line_json(&l, &e);
	char *start = memmem(l.data, l.len, "\"message\":", 10);
	size_t at, len, n;
	assert_non_null(start);
	assert_true(json_find(l.data, l.len, "message", &at, &len, NULL));
	_cleanup_free_ char *back = json_string_dup(l.data + at, len, &n);
	assert_string_equal(back, "a\nb\r\x1b[2J\x7f\xc2\x9b\xef\xbf\xbd\xef\xbf\xbd \"quoted\\\" \xe2\x82\xac }\nPRIORITY=0\n");
}

/* Whatever the length, at every border, each form stays whole and in bounds. */
static void long_texts_are_cut(void **state)
{
	static char big[2 * LOG_LINE_MAX];
	static const char *const parts[] = { "a", "\n", "\xe2\x82\xac", "\"" };

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
		for (size_t n = 600; n < LOG_LINE_MAX + 200; n += 5) {
			size_t part = strlen(parts[k]);
			for (size_t i = 0; i + part <= n; i += part)
				memcpy(big + i, parts[k], part);
			big[n - n % part] = '\0';
			struct log_entry e = entry("short", LOG_FIELDS(LOG_STR("one", big), LOG_STR("two", big), LOG_NUM("three", 3)));
			e.dropped = n % 2;
			struct log_line l;
			struct json_error je;
			log_line_json(&l, &e);
			assert_true(l.len <= sizeof(l.data));
			assert_int_equal(json_check(l.data, l.len, JSON_OBJECT, 8, &je), 0);
			log_line_text(&l, &e);
			assert_true(l.len <= sizeof(l.data) && l.data[l.len - 1] == '\n');
			log_line_journal(&l, &e);
			assert_true(l.len <= sizeof(l.data) && l.data[l.len - 1] == '\n');
		}
	}
}

/* Runs fn with standard error replaced by fd. */
static void with_stderr(int fd, void (*fn)(void))
{
	int old = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);

	fflush(stderr);
	assert_true(old >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	fn();
	assert_true(dup2(old, STDERR_FILENO) >= 0);
	close(old);
}

static void say_much(void)
{
	log_open(LOG_TEXT, LOG_INFO, NULL);
	log_process("core");
	for (int i = 0; i < 3000; i++)
		log_event(LOG_INFO, "flood", LOG_FIELDS(LOG_NUM("i", i)), "nobody reads this");
}

static void say_one(void)
{
	log_event(LOG_INFO, "flood", LOG_NONE, "read again");
}

/* If a write could block, this test would not end. */
static void a_reader_that_stops_does_not_stop_us(int rd, int wr, int flags)
{
	char buf[65536];
	ssize_t n = 0, got;

	alarm(20);
	with_stderr(wr, say_much);
	assert_int_equal(fcntl(rd, F_SETFL, flags | O_NONBLOCK), 0);
	while ((got = read(rd, buf, sizeof(buf))) > 0)
		n = got;
	assert_true(n > 0 && buf[n - 1] == '\n'); /* whole lines only */
	with_stderr(wr, say_one);
	got = read(rd, buf, sizeof(buf) - 1);
	assert_true(got > 0);
	buf[got] = '\0';
	assert_non_null(strstr(buf, "brigd: core: read again (lines_lost="));
	alarm(0);
	close(rd);
	close(wr);
}

static void a_full_pipe_loses_lines_and_says_so(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	a_reader_that_stops_does_not_stop_us(p[0], p[1], O_RDONLY);
}

static void a_full_socket_loses_lines_and_says_so(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p), 0);
	a_reader_that_stops_does_not_stop_us(p[0], p[1], O_RDWR);
}

static int journal_fake(char path[64])
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(path, 64, "/tmp/brig-u-log.%d", (int)getpid());
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	unlink(path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static char journal_path[64];

static void say_to_journal(void)
{
	log_open(LOG_JOURNAL, LOG_NOTICE, journal_path);
	log_process("audit");
	log_event(LOG_INFO, "quiet", LOG_NONE, "below the level");
	log_event(LOG_ERR, "torn", LOG_FIELDS(LOG_NUM("seq", 12)), "a record is torn");
}

static void say_as_before(void)
{
	log_event(LOG_ERR, "torn", LOG_NONE, "again");
}

/* The journal's stream of standard error: JOURNAL_STREAM names the very file. */
static void say_auto(void)
{
	struct stat st;
	char stream[64];

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open(LOG_AUTO, LOG_INFO, "/nonexistent/socket");
	assert_int_equal(log_fd(), -1);
	log_event(LOG_ERR, "torn", LOG_NONE, "behind a number");
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_open(LOG_AUTO, LOG_INFO, journal_path);
	assert_int_equal(log_fd(), -1);
	log_event(LOG_ERR, "torn", LOG_NONE, "plain");
	unsetenv("JOURNAL_STREAM");
}

static void the_journal_gets_fields_and_standard_error_when_it_is_gone(void **state)
{
	char buf[1024];
	int fd = journal_fake(journal_path), p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	with_stderr(p[1], say_to_journal);
	ssize_t n = recv(fd, buf, sizeof(buf) - 1, MSG_DONTWAIT);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_string_equal(buf, "PRIORITY=3\nSYSLOG_IDENTIFIER=brigd\nBRIG_EVENT=torn\nBRIG_PROCESS=audit\nMESSAGE=a record is torn\nBRIG_SEQ=12\n");
	assert_true(recv(fd, buf, sizeof(buf), MSG_DONTWAIT) < 0);
	assert_true(read(p[0], buf, sizeof(buf)) < 0);
	close(fd);
	with_stderr(p[1], say_as_before);
	n = read(p[0], buf, sizeof(buf) - 1);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_string_equal(buf, "brigd: audit: again\n");
	with_stderr(p[1], say_auto);
	n = read(p[0], buf, sizeof(buf) - 1);
	assert_true(n > 0);
	buf[n] = '\0';
	assert_string_equal(buf, "<3>brigd: audit: behind a number\nbrigd: audit: plain\n");
	unlink(journal_path);
	close(p[0]);
	close(p[1]);
}

static void an_error_brings_its_hint(void)
{
	struct err err;

	log_open(LOG_TEXT, LOG_ERR, NULL);
	log_process("keeper");
	err_set(&err, ERR_HOST, EBUSY, "run_dir", "another brigd serves it");
	err_hint(&err, "stop that one");
	log_err(LOG_ERR, "start_failed", LOG_FIELDS(LOG_NUM("errno", err.code)), &err);
	log_err(LOG_WARNING, "start_failed", LOG_NONE, &err); /* below the level */
	log_open(LOG_JSON, LOG_ERR, NULL);
	log_err(LOG_ERR, "start_failed", LOG_NONE, &err);
}

static void errors_are_told_whole(void **state)
{
	char buf[1024];
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_CLOEXEC | O_NONBLOCK), 0);
	with_stderr(p[1], an_error_brings_its_hint);
	ssize_t n = read(p[0], buf, sizeof(buf) - 1);
	assert_true(n > 0);
	buf[n] = '\0';
	char *json = strchr(buf, '{');
	assert_non_null(json);
	assert_non_null(strstr(json, "\"fields\":{\"hint\":\"stop that one\"}}\n"));
	*json = '\0';
	assert_string_equal(buf, "brigd: keeper: run_dir: another brigd serves it (errno=16)\nbrigd: keeper: hint: stop that one\n");
	close(p[0]);
	close(p[1]);
}

static void a_gate_lets_some_pass_and_counts_the_rest(void **state)
{
	struct log_gate g = { 0 };
	unsigned held = 99, passed = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		passed += log_gate_pass(&g, 5000 + i, &held);
	assert_int_equal(passed, LOG_GATE_BURST);
	assert_int_equal(held, 0);
	assert_false(log_gate_pass(&g, 5000 + LOG_GATE_MS - 1, &held));
	assert_true(log_gate_pass(&g, 5000 + LOG_GATE_MS, &held));
	assert_int_equal(held, 100 - LOG_GATE_BURST + 1);
	assert_true(log_gate_pass(&g, 5001 + LOG_GATE_MS, &held));
	assert_int_equal(held, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),
		cmocka_unit_test(golden_without_role_or_fields_and_with_lost_lines),
		cmocka_unit_test(dates_are_right),
		cmocka_unit_test(no_text_breaks_a_line),
		cmocka_unit_test(long_texts_are_cut),
		cmocka_unit_test(a_full_pipe_loses_lines_and_says_so),
		cmocka_unit_test(a_full_socket_loses_lines_and_says_so),
		cmocka_unit_test(the_journal_gets_fields_and_standard_error_when_it_is_gone),
		cmocka_unit_test(errors_are_told_whole),
		cmocka_unit_test(a_gate_lets_some_pass_and_counts_the_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
