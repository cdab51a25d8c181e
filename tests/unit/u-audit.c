/* The audit log's parts: lines, chain, the look at the start, and the whole process over its two sockets. */
#include "agent/audit_verify.h"
#include "jail/base/fd.h"
#include "supervisor/audit_client.h"
#include "supervisor/audit_impl.h"
#include "supervisor/cgroup.h"
#include "tests/unit/unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ID_A "00112233445566778899aabbccddeeff"
#define ID_B "ffeeddccbbaa99887766554433221100"
#define HASH_A ID_A ID_A
#define CORE 0x1234567890abcdefull

static const struct timespec at = { .tv_sec = 1767323045, .tv_nsec = 6 };

static struct audit_record record(enum audit_kind kind, uint64_t number, const char *id)
{
	struct audit_record r = { .magic = AUDIT_MAGIC, .kind = kind, .number = number, .uid = 1000, .pid = 77 };

	snprintf(r.call_id, sizeof(r.call_id), "%s", id);
	snprintf(r.profile, sizeof(r.profile), "pure");
	return r;
}

/* ---- lines ---- */

static void a_begin_line_is_as_documented(void **state)
{
	(void)state;
	struct audit_record r = record(AUDIT_BEGIN, 3, ID_A);
	struct chain c;
	struct jbuf b;

	r.has = AUDIT_HAS_ARGS;
	r.args_bytes = 7;
	memset(r.args, 0xab, sizeof(r.args));
	snprintf(r.session, sizeof(r.session), "s\"\n");
	chain_init(&c);
	c.seq = 41;
	jbuf_init(&b, 1 << 16);
	audit_line_record(&c, &r, CORE, &at, &b);
	jbuf_raw(&b, "", 1);
	const char *want =
		"{\"seq\":42,\"time\":\"2026-01-02T03:04:05.000000006Z\",\"kind\":\"begin\",\"core\":\"1234567890abcdef\",\"n\":3,"
		"\"call_id\":\"" ID_A "\",\"who\":{\"uid\":1000,\"pid\":77,\"session\":\"s\\\"\\n\"},\"tool\":null,\"tool_hash\":null,\"profile\":\"pure\","
		"\"body\":null,\"args\":{\"sha256\":\"abababababababababababababababababababababababababababababababab\",\"bytes\":7},"
		"\"decision\":\"allow\",\"rule\":null,\"approval\":null,"
		"\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\",\"hash\":\"";
	assert_memory_equal(b.data, want, strlen(want));
	assert_int_equal(b.len, strlen(want) + CHAIN_HEX + 3 + 1);
	assert_int_equal(c.seq, 42);
	assert_memory_equal(b.data + strlen(want), c.hash, CHAIN_HEX);
	jbuf_done(&b);
}

static void an_end_line_is_as_documented(void **state)
{
	(void)state;
	struct audit_record r = record(AUDIT_END, 4, ID_A);
	struct chain c;
	struct jbuf b;

	r.outcome = OUTCOME_TIMEOUT;
	r.has = AUDIT_HAS_USAGE;
	r.wall_us = 5000000;
	r.memory_peak_bytes = AUDIT_UNKNOWN;
	chain_init(&c);
	jbuf_init(&b, 1 << 16);
	audit_line_record(&c, &r, CORE, &at, &b);
	jbuf_raw(&b, "", 1);
	assert_non_null(strstr(b.data, "\"outcome\":\"timeout\",\"cause\":null,\"usage\":{\"wall_us\":5000000,\"queue_us\":0,\"cpu_us\":0,"
				       "\"memory_peak_bytes\":null,\"processes_peak\":0},\"receipt\":null,\"prev\":"));
	jbuf_done(&b);
}

static void line_of(const struct audit_record *r, struct jbuf *b)
{
	struct chain c;

	chain_init(&c);
	jbuf_init(b, 1 << 16);
	audit_line_record(&c, r, CORE, &at, b);
	jbuf_raw(b, "", 1);
}

static void a_note_about_a_tool_says_all_of_it(void **state UNUSED)
{
	struct audit_record r = record(AUDIT_APPROVAL_ASK, 5, "");
	struct jbuf b;

	audit_fill_about(&(struct audit_about){ .tool = "drop_table", .hash = "sha256:" HASH_A, .approval = ID_B, .rule = "policy.json:12 destructive",
				 .args = "{}", .args_len = 2, .reason = "secret", .profile = "pure", .decided = true, .decision = AUDIT_ESCALATE,
				 .text = "x\n{\"kind\":\"approval_decide\"}\033[2J\302\233J\177" }, &r);
	line_of(&r, &b);
	assert_non_null(strstr(b.data, ",\"tool\":\"drop_table\",\"tool_hash\":\"sha256:" HASH_A "\",\"profile\":\"pure\",\"args\":{\"sha256\":\""
				       "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a\",\"bytes\":2},\"decision\":\"escalate\","
				       "\"rule\":\"policy.json:12 destructive\",\"approval\":\"" ID_B "\",\"reason\":{\"sha256\":\""
				       "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b\",\"bytes\":6},\"text\":\"x\\n{\\\"kind\\\":"
				       "\\\"approval_decide\\\"}\\u001b[2J\\u009bJ\\u007f\",\"prev\":"));
	jbuf_done(&b);
}

static void arguments_stand_in_the_line_only_where_they_are_wanted(void **state UNUSED)
{
	struct audit_record r = record(AUDIT_BEGIN, 5, ID_A);
	struct jbuf b;

	snprintf(r.value, sizeof(r.value), "{\"token\":\"sesame\"}");
	r.has = AUDIT_HAS_ARGS;
	line_of(&r, &b);
	assert_null(strstr(b.data, "sesame"));
	jbuf_done(&b);
	r.has |= AUDIT_HAS_VALUE;
	line_of(&r, &b);
	assert_non_null(strstr(b.data, ",\"bytes\":0,\"value\":\"{\\\"token\\\":\\\"sesame\\\"}\"},"));
	jbuf_done(&b);
}

/* B111: a cut text pins what it leaves out, and is cut between characters. */
static void a_text_that_is_cut_says_so(void **state UNUSED)
{
	char field[AUDIT_TEXT_MAX], long_text[4000], other[AUDIT_TEXT_MAX];

	for (size_t i = 0; i + 2 < sizeof(long_text); i += 2)
		memcpy(long_text + i, "\303\244", 3);
	audit_fill_text(field, sizeof(field), long_text);
	assert_true(strlen(field) < sizeof(field));
	assert_int_equal(strspn(field, "\303\244") % 2, 0);
	assert_non_null(strstr(field, " bytes, sha256 "));
	long_text[3990] = 'x';
	audit_fill_text(other, sizeof(other), long_text);
	assert_string_not_equal(field, other);
	audit_fill_text(field, sizeof(field), "short");
	assert_string_equal(field, "short");
}

/* Disk space is kept by this bound. */
static void no_line_of_a_call_is_longer_than_its_bound(void **state)
{
	(void)state;
	for (uint32_t kind = AUDIT_BEGIN; kind <= AUDIT_POLICY; kind++) {
		struct audit_record r = record((enum audit_kind)kind, UINT64_MAX, ID_A);
		struct chain c;
		struct jbuf b;

		memset(r.session, 1, sizeof(r.session) - 1); /* each becomes \u0001 */
		memset(r.tool, 1, sizeof(r.tool) - 1);
		memset(r.profile, 1, sizeof(r.profile) - 1);
		memset(r.rule, 1, sizeof(r.rule) - 1);
		memset(r.cause, 1, sizeof(r.cause) - 1);
		memset(r.text, 1, sizeof(r.text) - 1);
		memset(r.approval, 1, sizeof(r.approval) - 1);
		memset(r.value, 1, sizeof(r.value) - 1);
		r.uid = r.pid = UINT32_MAX;
		r.has = AUDIT_HAS_ALL;
		r.body_bytes = r.args_bytes = UINT64_MAX;
		r.wall_us = r.queue_us = r.cpu_us = r.memory_peak_bytes = r.processes_peak = UINT64_MAX - 1;
		assert_null(audit_record_check(&r, sizeof(r)));
		chain_init(&c);
		c.seq = UINT64_MAX - 1;
		jbuf_init(&b, 1 << 16);
		audit_line_record(&c, &r, UINT64_MAX, &at, &b);
		assert_false(b.failed);
		assert_in_range(b.len, 200, kind == AUDIT_BEGIN ? AUDIT_BEGIN_MAX : AUDIT_LINE_MAX);
		jbuf_done(&b);
	}
}

static void what_is_no_record_is_refused(void **state)
{
	(void)state;
	const struct audit_record good = record(AUDIT_BEGIN, 1, ID_A);
	struct audit_record r = good;

	assert_null(audit_record_check(&r, sizeof(r)));
	assert_non_null(audit_record_check(&r, sizeof(r) - 1));
	assert_non_null(audit_record_check(&r, sizeof(r) + 1));
#define REFUSED(change)                                        \
	r = good;                                              \
	change;                                                \
	assert_non_null(audit_record_check(&r, sizeof(r)))
	REFUSED(r.magic++);
	REFUSED(r.kind = 0);
	REFUSED(r.kind = AUDIT_KIND_COUNT);
	REFUSED(r.kind = AUDIT_TORN);
	REFUSED(r.kind = AUDIT_SUPERVISOR_STOP);
	REFUSED(r.number = 0);
	REFUSED(r.unused = 1);
	REFUSED(r.has = AUDIT_HAS_ALL + 1);
	REFUSED(r.decision = AUDIT_DECISION_COUNT);
	REFUSED(r.outcome = OUTCOME_COUNT);
	REFUSED(r.call_id[0] = 'G');
	REFUSED(r.call_id[31] = '\0');
	REFUSED(memset(r.call_id, 'a', sizeof(r.call_id)));
	REFUSED(memset(r.session, 'a', sizeof(r.session)));
	REFUSED(memset(r.tool, 'a', sizeof(r.tool)));
	REFUSED(memset(r.profile, 'a', sizeof(r.profile)));
	REFUSED(memset(r.rule, 'a', sizeof(r.rule)));
	REFUSED(memset(r.cause, 'a', sizeof(r.cause)));
	REFUSED(memset(r.text, 'a', sizeof(r.text)));
	REFUSED(memset(r.approval, 'a', sizeof(r.approval)));
	REFUSED(memset(r.value, 'a', sizeof(r.value)));
	r = good;
	r.kind = AUDIT_DRAIN;
	r.call_id[0] = '\0';
	assert_null(audit_record_check(&r, sizeof(r)));
}

/* ---- the chain ---- */

/* n records: begin, end, begin, end ... of one call. */
static void lines_make(struct jbuf *b, struct chain *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct audit_record r = record(i % 2 ? AUDIT_END : AUDIT_BEGIN, i + 1, ID_A);

		audit_line_record(c, &r, CORE, &at, b);
	}
}

static int file_of(const char *bytes, size_t len)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_int_equal(fd_write_all(fd, bytes, len), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* What `brig audit verify` says of these bytes; "" when it is sound. */
static const char *verdict(const char *bytes, size_t len, const char *head, uint64_t *ret_line)
{
	static struct verify v;
	char path[64];
	_cleanup_close_ int fd = file_of(bytes, len);
	struct verify_files files;
	struct err err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(verify_files_named((const char *const[]){ path }, 1, &files, &err), 0);
	assert_int_equal(verify_run(&v, head, &files, &err), 0);
	verify_files_done(&files);
	if (ret_line)
		*ret_line = v.broken ? v.where.line : v.torn_count ? v.torn[0].line : 0;
	return v.broken ? v.what : "";
}

static char *line_at(const struct jbuf *b, unsigned n)
{
	char *p = b->data;

	while (n-- > 1)
		p = strchr(p, '\n') + 1;
	return p;
}

#define TAMPERED(n, change, words, line)                                              \
	do {                                                                          \
		uint64_t got;                                                         \
		struct jbuf b;                                                        \
		struct chain c;                                                       \
		jbuf_init(&b, 1 << 20);                                               \
		chain_init(&c);                                                       \
		lines_make(&b, &c, 10);                                               \
		jbuf_raw(&b, "", 1);                                                  \
		b.len--;                                                              \
		char *l = line_at(&b, n);                                             \
		size_t l_len = (size_t)(strchr(l, '\n') + 1 - l);                     \
		char *rest = l + l_len;                                               \
		size_t rest_len = b.len - (size_t)(rest - b.data);                    \
		(void)rest;                                                           \
		(void)rest_len;                                                       \
		change;                                                               \
		const char *what = verdict(b.data, b.len, NULL, &got);                \
		if (!strstr(what, words))                                             \
			fail_msg("said \"%s\", not \"%s\"", what, words);             \
		assert_int_equal(got, line);                                          \
		jbuf_done(&b);                                                        \
	} while (0)

static void every_change_is_named_with_its_line(void **state)
{
	(void)state;
	TAMPERED(5, (void)0, "", 0);
	for (size_t i = 0; i < 60; i++) /* any byte of the text */
		TAMPERED(5, l[i] ^= 1, "", 5);
	TAMPERED(5, strstr(l, "\"uid\":1000")[7] = '9', "does not match its hash", 5);
	TAMPERED(5, strstr(l, "\"hash\":\"")[8] ^= 1, "does not match its hash", 5);
	TAMPERED(5, strstr(l, "\"prev\":\"")[8] ^= 1, "does not match its hash", 5);
	TAMPERED(5, (memmove(l, rest, rest_len), b.len -= l_len), "record 5 is missing", 5);
	TAMPERED(10, (l[l_len - 1] = ' '), "not finished", 10);
	TAMPERED(10, b.len -= 20, "not finished", 10);
	TAMPERED(1, (memmove(l, rest, rest_len), b.len -= l_len), "does not begin here", 1);
	TAMPERED(5, memset(l, 0, l_len), "no record", 5);
	TAMPERED(5, memset(l, 'x', l_len - 1), "no record", 5);
}

static void swapped_repeated_and_forged_records_are_named(void **state)
{
	(void)state;
	struct jbuf b, other;
	struct chain c, fork;
	uint64_t line;

	chain_init(&c);
	jbuf_init(&b, 1 << 20);
	lines_make(&b, &c, 4);
	jbuf_raw(&b, "", 1);
	size_t l2 = (size_t)(line_at(&b, 2) - b.data), l3 = (size_t)(line_at(&b, 3) - b.data), l4 = (size_t)(line_at(&b, 4) - b.data);
	jbuf_init(&other, 1 << 20);
	jbuf_raw(&other, b.data, l2);
	jbuf_raw(&other, b.data + l3, l4 - l3);
	jbuf_raw(&other, b.data + l2, l3 - l2);
	jbuf_text(&other, b.data + l4);
	assert_non_null(strstr(verdict(other.data, other.len, NULL, &line), "record 2 is missing: 3 comes after 1"));
	assert_int_equal(line, 2);
	other.len = 0;
	jbuf_raw(&other, b.data, l3);
	jbuf_text(&other, b.data + l2);
	assert_non_null(strstr(verdict(other.data, other.len, NULL, &line), "comes again"));
	assert_int_equal(line, 3);
	/* A record with a right number and a right hash of its own, that follows another past. */
	other.len = 0;
	chain_init(&fork);
	fork.seq = 2;
	jbuf_raw(&other, b.data, l3);
	lines_make(&other, &fork, 1);
	assert_non_null(strstr(verdict(other.data, other.len, NULL, &line), "\"prev\" of record 3 is not the hash of record 2"));
	assert_int_equal(line, 3);
	jbuf_done(&other);
	jbuf_done(&b);
}

static void a_written_down_hash_tells_that_the_end_was_cut(void **state)
{
	(void)state;
	struct jbuf b;
	struct chain c;

	chain_init(&c);
	jbuf_init(&b, 1 << 20);
	lines_make(&b, &c, 4);
	jbuf_raw(&b, "", 1);
	size_t cut = (size_t)(line_at(&b, 4) - b.data);
	assert_string_equal(verdict(b.data, b.len - 1, c.hash, NULL), "");
	assert_string_equal(verdict(b.data, cut, NULL, NULL), "");
	assert_non_null(strstr(verdict(b.data, cut, c.hash, NULL), "--head"));
	assert_non_null(strstr(verdict("", 0, NULL, NULL), "no record"));
	jbuf_done(&b);
}

static void torn_make(struct jbuf *b, struct chain *c, const char *bytes, uint64_t say, const char *hash_of)
{
	char hash[CHAIN_HEX + 1];
	size_t start;

	jbuf_text(b, bytes);
	chain_hash(hash_of, strlen(hash_of), hash);
	start = b->len;
	audit_line_open(c, AUDIT_TORN, &at, b);
	jbuf_printf(b, ",\"bytes\":%llu,\"sha256\":\"%s\"", (unsigned long long)say, hash);
	chain_close(c, b, start);
	lines_make(b, c, 2);
}

static void torn_bytes_are_sound_only_as_their_record_says(void **state)
{
	(void)state;
	static const struct {
		const char *bytes, *hash_of;
		uint64_t say;
		const char *words;
		uint64_t line;
	} cases[] = {
		{ "{\"seq\":3,\"ti\n", "{\"seq\":3,\"ti\n", 13, "", 4 },
		{ "two\nparts\n", "two\nparts\n", 10, "", 5 },
		{ "{\"seq\":3,\"ti\n", "{\"seq\":3,\"ti\n", 12, "no record", 3 },
		{ "{\"seq\":3,\"tx\n", "{\"seq\":3,\"ti\n", 13, "no record", 3 },
		{ "", "", 0, "torn bytes that are not there", 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct jbuf b;
		struct chain c;
		uint64_t line;

		chain_init(&c);
		jbuf_init(&b, 1 << 20);
		lines_make(&b, &c, 2);
		torn_make(&b, &c, cases[i].bytes, cases[i].say, cases[i].hash_of);
		const char *what = verdict(b.data, b.len, NULL, &line);
		if (*cases[i].words ? !strstr(what, cases[i].words) : *what)
			fail_msg("case %zu said \"%s\"", i, what);
		assert_int_equal(line, cases[i].line);
		jbuf_done(&b);
	}
}

/* ---- the process ---- */

struct harness {
	char dir[64], log[96], old[96];
	pid_t pid;
	int keeper, core;
	struct config config;
};

static void harness_init(struct harness *h)
{
	*h = (struct harness){ .keeper = -1, .core = -1, .config = { .audit = true, .audit_sync_ms = 1000 } };
	snprintf(h->dir, sizeof(h->dir), "/tmp/brig-u-audit.XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->log, sizeof(h->log), "%s/audit.log", h->dir);
	snprintf(h->old, sizeof(h->old), "%s/audit-%020d.log", h->dir, 2);
}

static void harness_done(struct harness *h)
{
	unlink(h->log);
	unlink(h->old);
	rmdir(h->dir);
}

static void start(struct harness *h, const char *why)
{
	struct audit_ctl msg;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	fflush(NULL);
	h->pid = fork();
	if (h->pid == 0) {
		struct audit_boot boot = { .keeper_fd = pair[1], .config = &h->config, .uid = getuid() };

		boot.log_fd = open(h->log, O_APPEND | O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		boot.look_fd = open(h->log, O_RDONLY | O_CLOEXEC);
		boot.before_fd = open(h->old, O_RDONLY | O_CLOEXEC);
		snprintf(boot.why, sizeof(boot.why), "%s", why);
		close(pair[0]);
		_exit(audit_main(&boot));
	}
	close(pair[1]);
	h->keeper = pair[0];
	assert_int_equal(fd_recv(h->keeper, &msg, sizeof(msg), NULL, 0, NULL, 0), 1);
	assert_int_equal(msg.kind, AUDIT_READY);
	assert_int_equal(msg.err, 0);
}

static void core_connect(struct harness *h, uint64_t instance)
{
	struct audit_ctl msg = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_CORE, .number = instance, .text = "test" };
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fd_send(h->keeper, &msg, sizeof(msg), &pair[1], 1), 0);
	close(pair[1]);
	fd_close(h->core);
	h->core = pair[0];
}

static void say(struct harness *h, enum audit_kind kind, uint64_t number, const char *id)
{
	struct audit_record r = record(kind, number, id);

	assert_int_equal(fd_send(h->core, &r, sizeof(r), NULL, 0), 0);
}

/* Waits for the word on everything up to `number`. */
static void acked(struct harness *h, uint64_t number)
{
	struct audit_ack ack = { 0 };

	while (ack.number < number) {
		struct pollfd p = { h->core, POLLIN, 0 };

		assert_int_equal(poll(&p, 1, 5000), 1);
		assert_int_equal(fd_recv(h->core, &ack, sizeof(ack), NULL, 0, NULL, 0), 1);
		assert_int_equal(ack.err, 0);
	}
	assert_int_equal(ack.number, number);
}

static int stop(struct harness *h)
{
	int status;

	h->core = fd_close(h->core);
	h->keeper = fd_close(h->keeper);
	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	return status;
}

static void kill_it(struct harness *h)
{
	kill(h->pid, SIGKILL);
	(void)stop(h);
}

static char *slurp(const char *path)
{
	static char text[1 << 20];

	assert_true(fd_read_file_at(AT_FDCWD, path, text, sizeof(text)) >= 0);
	return text;
}

static unsigned count(const char *text, const char *what)
{
	unsigned n = 0;

	for (const char *p = text; (p = strstr(p, what)); p++)
		n++;
	return n;
}

static void a_call_is_written_and_acknowledged(void **state)
{
	(void)state;
	struct harness h;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	assert_int_equal(count(slurp(h.log), "\"kind\":\"begin\""), 1);
	say(&h, AUDIT_END, 2, ID_A);
	acked(&h, 2);
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"kind\":\"end\""), 1);
	assert_non_null(strstr(text, "\"kind\":\"stop\",\"text\":\"killed\""));
	assert_string_equal(verdict(text, strlen(text), NULL, NULL), "");
	harness_done(&h);
}

static void what_was_sent_before_the_death_of_all_others_is_written(void **state)
{
	(void)state;
	struct harness h;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	kill(h.pid, SIGSTOP);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	say(&h, AUDIT_END, 2, ID_A);
	say(&h, AUDIT_BEGIN, 3, ID_B);
	h.core = fd_close(h.core);
	h.keeper = fd_close(h.keeper);
	kill(h.pid, SIGCONT);
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"kind\":\"begin\""), 2);
	assert_int_equal(count(text, "\"kind\":\"end\""), 2);
	assert_int_equal(count(text, "\"call_id\":\"" ID_B "\",\"outcome\":\"internal_error\",\"cause\":\"core_ended\""), 1);
	assert_string_equal(verdict(text, strlen(text), NULL, NULL), "");
	harness_done(&h);
}

/* Then the kernel resets the sockets, and says so before it gives out what was sent. */
static void what_was_sent_is_written_although_answers_were_unread(void **state)
{
	(void)state;
	struct harness h;
	struct audit_ctl msg = { .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_STOP, .text = "a signal told it to" };
	struct pollfd p[2];

	harness_init(&h);
	h.config.audit_rotate_bytes = 1;
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	p[0] = (struct pollfd){ h.core, POLLIN, 0 };
	p[1] = (struct pollfd){ h.keeper, POLLIN, 0 };
	assert_int_equal(poll(&p[0], 1, 5000), 1); /* acknowledged, and not read */
	assert_int_equal(poll(&p[1], 1, 5000), 1); /* ROTATE, neither */
	kill(h.pid, SIGSTOP);
	say(&h, AUDIT_END, 2, ID_A);
	assert_int_equal(fd_send(h.keeper, &msg, sizeof(msg), NULL, 0), 0);
	h.core = fd_close(h.core);
	h.keeper = fd_close(h.keeper);
	kill(h.pid, SIGCONT);
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"kind\":\"end\""), 1);
	assert_int_equal(count(text, "\"outcome\":\"internal_error\""), 0);
	assert_non_null(strstr(text, "\"kind\":\"stop\",\"text\":\"a signal told it to\""));
	harness_done(&h);
}

static void the_next_one_writes_nothing_twice_and_loses_nothing(void **state)
{
	(void)state;
	struct harness h;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	say(&h, AUDIT_BEGIN, 2, ID_B);
	acked(&h, 2);
	kill_it(&h);
	start(&h, "signal 9");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A); /* core never heard of these */
	say(&h, AUDIT_BEGIN, 2, ID_B);
	say(&h, AUDIT_END, 3, ID_A);
	acked(&h, 3);
	/* Another core: what the first had open ends. */
	core_connect(&h, CORE + 1);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"kind\":\"begin\""), 3);
	assert_int_equal(count(text, "\"kind\":\"end\""), 3);
	assert_int_equal(count(text, "\"kind\":\"bad\""), 0);
	assert_int_equal(count(text, "\"kind\":\"audit_start\",\"text\":\"signal 9\""), 1);
	assert_int_equal(count(text, "\"kind\":\"core_start\""), 2);
	assert_int_equal(count(text, "\"call_id\":\"" ID_B "\",\"outcome\":\"internal_error\",\"cause\":\"core_ended\""), 1);
	assert_string_equal(verdict(text, strlen(text), NULL, NULL), "");
	harness_done(&h);
}

static void a_new_supervisor_ends_what_the_old_one_left_open(void **state)
{
	(void)state;
	struct harness h;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	kill_it(&h);
	start(&h, "");
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"call_id\":\"" ID_A "\",\"outcome\":\"internal_error\",\"cause\":\"supervisor_killed\""), 1);
	assert_string_equal(verdict(text, strlen(text), NULL, NULL), "");
	harness_done(&h);
}

/* Wherever the end of the file is cut, as by a kill within write(2), the next start makes it sound again. */
static void a_torn_line_is_noted_wherever_it_was_torn(void **state)
{
	(void)state;
	struct harness h;
	struct stat st;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	kill_it(&h);
	assert_int_equal(stat(h.log, &st), 0);
	for (int round = 0; round < 6; round++) {
		const char *before = slurp(h.log);
		size_t len = strlen(before), last = len;

		while (last > 1 && before[last - 2] != '\n')
			last--;
		assert_int_equal(truncate(h.log, (off_t)(last - 1 + (len - last) * (size_t)(round + 1) / 7)), 0);
		start(&h, "signal 9");
		kill_it(&h);
		char *text = slurp(h.log);
		assert_string_equal(verdict(text, strlen(text), NULL, NULL), "");
		assert_int_equal(count(text, "\"kind\":\"torn\""), round + 1);
	}
	harness_done(&h);
}

static void records_that_are_none_are_noted_and_harm_nothing(void **state)
{
	(void)state;
	struct harness h;
	struct audit_record r = record(AUDIT_BEGIN, 1, ID_A);

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	r.kind = 999;
	assert_int_equal(fd_send(h.core, &r, sizeof(r), NULL, 0), 0);
	assert_int_equal(fd_send(h.core, &r, 5, NULL, 0), 0);
	assert_int_equal(fd_send(h.core, &r, sizeof(r), (int[]){ 0, 1, 2 }, 3), 0);
	say(&h, AUDIT_END, 1, ID_A);   /* of nothing */
	say(&h, AUDIT_BEGIN, 2, ID_A);
	say(&h, AUDIT_BEGIN, 3, ID_A); /* again */
	say(&h, AUDIT_END, 4, ID_A);
	acked(&h, 4);
	char fds[64];
	snprintf(fds, sizeof(fds), "/proc/%d/fd/8", h.pid);
	assert_int_equal(access(fds, F_OK), -1); /* descriptors that nobody asked for are gone */
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"kind\":\"bad\""), 5);
	assert_int_equal(count(text, "\"kind\":\"begin\""), 1);
	assert_int_equal(count(text, "\"kind\":\"end\""), 1);
	assert_string_equal(verdict(text, strlen(text), NULL, NULL), "");
	harness_done(&h);
}

static void a_log_that_was_removed_takes_no_call(void **state)
{
	(void)state;
	struct harness h;
	struct audit_ack ack;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	unlink(h.log);
	say(&h, AUDIT_END, 2, ID_A); /* finds out */
	(void)poll(NULL, 0, 300);
	say(&h, AUDIT_BEGIN, 3, ID_B);
	struct pollfd p = { h.core, POLLIN, 0 };
	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(fd_recv(h.core, &ack, sizeof(ack), NULL, 0, NULL, 0), 1);
	assert_int_equal(ack.number, 3);
	assert_int_equal(ack.err, ENOENT);
	kill_it(&h);
	harness_done(&h);
}

static void rotation_carries_the_chain_and_the_open_calls(void **state)
{
	(void)state;
	struct harness h;
	struct audit_ctl msg;
	struct verify v;
	struct verify_files files;
	struct err err;

	harness_init(&h);
	h.config.audit_rotate_bytes = 600;
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	say(&h, AUDIT_BEGIN, 2, ID_B);
	acked(&h, 2);
	assert_int_equal(fd_recv(h.keeper, &msg, sizeof(msg), NULL, 0, NULL, 0), 1);
	assert_int_equal(msg.kind, AUDIT_ROTATE);
	assert_in_range(msg.number, 2, 4);
	assert_int_equal(rename(h.log, h.old), 0);
	say(&h, AUDIT_END, 3, ID_B); /* between the two: still in the old one */
	acked(&h, 3);
	_cleanup_close_ int fresh = open(h.log, O_APPEND | O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	msg = (struct audit_ctl){ .magic = AUDIT_CTL_MAGIC, .kind = AUDIT_FILE, .number = 2 };
	assert_int_equal(fd_send(h.keeper, &msg, sizeof(msg), &fresh, 1), 0);
	for (int i = 0; i < 100 && !count(slurp(h.log), "\"kind\":\"file\""); i++)
		(void)poll(NULL, 0, 20);
	char *text = slurp(h.log);
	assert_non_null(strstr(text, "\"before\":\"audit-00000000000000000002.log\",\"open\":[\"" ID_A "\"]"));
	/* The next process knows from the new file alone which call is open. */
	kill_it(&h);
	start(&h, "signal 9");
	core_connect(&h, CORE);
	say(&h, AUDIT_END, 4, ID_A);
	acked(&h, 4);
	assert_int_equal(stop(&h), 0);
	assert_int_equal(count(slurp(h.log), "\"kind\":\"bad\""), 0);
	assert_int_equal(verify_files_of_dir(h.dir, &files, &err), 0);
	assert_int_equal(files.count, 2);
	assert_int_equal(verify_run(&v, NULL, &files, &err), 0);
	assert_false(v.broken);
	verify_files_done(&files);
	/* Without the first file the rest is sound by itself. */
	assert_int_equal(verify_files_named((const char *const[]){ h.log }, 1, &files, &err), 0);
	assert_int_equal(verify_run(&v, NULL, &files, &err), 0);
	assert_false(v.broken);
	assert_true(v.first_seq > 1);
	verify_files_done(&files);
	harness_done(&h);
}

static void a_kill_between_the_files_breaks_nothing(void **state)
{
	(void)state;
	struct harness h;
	struct verify v;
	struct verify_files files;
	struct err err;

	harness_init(&h);
	start(&h, "");
	core_connect(&h, CORE);
	say(&h, AUDIT_BEGIN, 1, ID_A);
	acked(&h, 1);
	kill_it(&h);
	/* Renamed, with a line cut at its end; the new one begun, and cut, too. */
	assert_int_equal(rename(h.log, h.old), 0);
	int fd = open(h.old, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(fd_write_all(fd, "{\"seq\":4,", 9), 0);
	close(fd);
	fd = open(h.log, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, "{\"se", 4), 0);
	close(fd);
	start(&h, "signal 9");
	core_connect(&h, CORE);
	say(&h, AUDIT_END, 2, ID_A);
	acked(&h, 2);
	assert_int_equal(stop(&h), 0);
	char *text = slurp(h.log);
	assert_int_equal(count(text, "\"kind\":\"bad\""), 0);
	assert_int_equal(count(text, "\"kind\":\"file\""), 1);
	assert_int_equal(count(text, "\"bytes\":14,"), 1);
	assert_int_equal(verify_files_of_dir(h.dir, &files, &err), 0);
	assert_int_equal(verify_run(&v, NULL, &files, &err), 0);
	assert_false(v.broken);
	assert_int_equal(v.torn_count, 1);
	verify_files_done(&files);
	harness_done(&h);
}

/* ---- its walls ---- */

/* A child that is sealed, then does one thing. Returns its wait status. */
static int sealed(void (*then)(int fd), int fd)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct err err;

		(void)prctl(PR_SET_NAME, "sealed", 0, 0, 0);
		if (audit_seal(false, getuid(), &err) < 0)
			_exit(99);
		then(fd);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void appends(int fd)
{
	if (write(fd, "x", 1) != 1 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096) < 0 || fdatasync(fd) < 0)
		_exit(1);
}
static void cuts(int fd)
{
	if (ftruncate(fd, 0) == 0 || fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0 ||
	    fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 4096) == 0 || fcntl(fd, F_SETFL, 0) == 0 || pwrite(fd, "y", 1, 0) == 1)
		_exit(1);
}
static void opens(int fd)
{
	(void)fd;
	if (open("/etc/passwd", O_RDONLY) >= 0 || open("/tmp/brig-u-audit-made", O_CREAT | O_WRONLY, 0600) >= 0 || socket(AF_UNIX, SOCK_STREAM, 0) >= 0)
		_exit(1);
}
static void maps_code(int fd)
{
	(void)fd;
	(void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
/* Its bytes would be written past write(2). */
static void maps_the_file(int fd)
{
	(void)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
}

static void forks(int fd)
{
	(void)fd;
	(void)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void it_can_append_and_nothing_else(void **state)
{
	(void)state;
	char path[] = "/tmp/brig-u-audit.XXXXXX";
	_cleanup_close_ int made = mkstemp(path);
	_cleanup_close_ int fd = open(path, O_APPEND | O_WRONLY | O_CLOEXEC);

	assert_true(made >= 0);
	assert_int_equal(fd_write_all(fd, "begin", 5), 0);
	assert_int_equal(sealed(appends, fd), 0);
	assert_int_equal(sealed(cuts, fd), 0);
	assert_int_equal(sealed(opens, fd), 0);
	assert_string_equal(slurp(path), "beginx");
	unlink(path);
	int status = sealed(maps_code, fd);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = sealed(maps_the_file, fd);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = sealed(forks, fd);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_begin_line_is_as_documented),
		cmocka_unit_test(an_end_line_is_as_documented),
		cmocka_unit_test(a_note_about_a_tool_says_all_of_it),
		cmocka_unit_test(arguments_stand_in_the_line_only_where_they_are_wanted),
		cmocka_unit_test(a_text_that_is_cut_says_so),
		cmocka_unit_test(no_line_of_a_call_is_longer_than_its_bound),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(every_change_is_named_with_its_line),
		cmocka_unit_test(swapped_repeated_and_forged_records_are_named),
		cmocka_unit_test(a_written_down_hash_tells_that_the_end_was_cut),
		cmocka_unit_test(torn_bytes_are_sound_only_as_their_record_says),
		cmocka_unit_test(a_call_is_written_and_acknowledged),
		cmocka_unit_test(what_was_sent_before_the_death_of_all_others_is_written),
		cmocka_unit_test(what_was_sent_is_written_although_answers_were_unread),
		cmocka_unit_test(the_next_one_writes_nothing_twice_and_loses_nothing),
		cmocka_unit_test(a_new_supervisor_ends_what_the_old_one_left_open),
		cmocka_unit_test(a_torn_line_is_noted_wherever_it_was_torn),
		cmocka_unit_test(records_that_are_none_are_noted_and_harm_nothing),
		cmocka_unit_test(a_log_that_was_removed_takes_no_call),
		cmocka_unit_test(rotation_carries_the_chain_and_the_open_calls),
		cmocka_unit_test(a_kill_between_the_files_breaks_nothing),
		cmocka_unit_test(it_can_append_and_nothing_else),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
