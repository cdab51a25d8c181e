#include "agent/audit_source.h"

#include "agent/question.h"
#include "jail/base/limits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PAGE_RECORDS 1000

int audit_default_dir(char *ret, size_t cap, struct err *err)
{
	const char *state = secure_getenv("BRIG_STATE"), *data = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	int n;

	if (state && *state)
		n = snprintf(ret, cap, "%s/audit", state);
	else if (geteuid() == 0)
		n = snprintf(ret, cap, "/var/lib/brig/audit");
	else if (data && *data)
		n = snprintf(ret, cap, "%s/brig/audit", data);
	else
		n = home ? snprintf(ret, cap, "%s/.local/state/brig/audit", home) : -1;
	if (n >= 0 && (size_t)n < cap)
		return 0;
	err_set(err, ERR_CALLER, EINVAL, "command line", "there is no usual place for an audit log here");
	err_hint(err, "name its directory: brig audit verify DIR");
	return -EINVAL;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int failed(struct audit_source *s, struct err *err)
{
	s->status = show_failure(s->show, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, err);
	return AUDIT_SOURCE_FAILED;
}

/* ---- over admin.sock ---- */

static void member_text(struct jbuf *b, const char *name, const char *value)
{
	if (!value)
		return;
	jbuf_printf(b, ",\"%s\":", name);
	jbuf_cstring(b, value);
}

static void params_print(const struct record_filter *f, uint64_t after, unsigned limit, struct jbuf *b)
{
	jbuf_printf(b, "{\"after_seq\":%llu,\"limit\":%u", (unsigned long long)after, limit);
	member_text(b, "kind", f->kind);
	member_text(b, "tool", f->tool);
	member_text(b, "outcome", f->outcome);
	member_text(b, "decision", f->decision);
	member_text(b, "session", f->session);
	member_text(b, "call_id", f->call_id);
	member_text(b, "since", f->since);
	member_text(b, "until", f->until);
	if (f->uid)
		jbuf_printf(b, ",\"uid\":%s", f->uid);
	jbuf_text(b, "}");
}

static void ask(struct audit_source *s, const struct record_filter *f, uint64_t after, unsigned limit, struct call *ret)
{
	struct jbuf b;

	jbuf_init(&b, 1u << 16);
	params_print(f, after, limit, &b);
	call_make(ret, &(struct call_ask){ .method = "audit.read", .params = b.data, .params_len = b.len, .want = CONNECT_ADMIN, .opt = s->opt,
			       .stop_fd = s->stop_fd, .answer_ms = QUESTION_ANSWER_MS });
	jbuf_done(&b);
}

static int page_each(const struct call *c, int (*fn)(const char *line, size_t len, void *arg), void *arg)
{
	size_t at, n;
	int r = 0;

	if (!json_find(c->result, c->result_len, "records", &at, &n, NULL) || c->result[at] != '[')
		return 0;
	/* One after the other: by their index each would be looked for from the first on. */
	const char *p = c->result + at + 1, *end = c->result + at + n;
	while (r == 0 && p < end && *p == '{') {
		size_t depth = 0;
		const char *start = p;
		bool text = false;

		for (; p < end; p++) {
			if (text && *p == '\\')
				p++;
			else if (*p == '"')
				text = !text;
			else if (!text && (*p == '{' || *p == '['))
				depth++;
			else if (!text && (*p == '}' || *p == ']') && --depth == 0)
				break;
		}
		if (p >= end)
			break;
		r = fn(start, (size_t)(++p - start), arg);
		p += p < end && *p == ',';
	}
	return r;
}

static int daemon_each(struct audit_source *s, const struct record_filter *f, int (*fn)(const char *line, size_t len, void *arg), void *arg)
{
	bool more = true;
	int r = 0;

	s->next = f->after_seq;
	while (r == 0 && more) {
		_cleanup_(call_done) struct call c;

		ask(s, f, s->next, PAGE_RECORDS, &c);
		if (c.end != CALL_RESULT) {
			s->status = call_show_failure(&c, s->show);
			return AUDIT_SOURCE_FAILED;
		}
		more = answer_true(&c, "more");
		s->next = (uint64_t)answer_number(&c, "next");
		s->last = (uint64_t)answer_number(&c, "last");
		r = page_each(&c, fn, arg);
	}
	return r;
}

/* ---- files ---- */

struct walk {
	struct audit_source *source;
	const struct record_filter *filter;
	int (*fn)(const char *line, size_t len, void *arg);
	void *arg;
};

/* What is no record is not shown: brig audit verify tells of it. */
static int on_line(const char *line, size_t len, void *arg)
{
	struct walk *w = arg;
	struct json_error je;

	if (line[len - 1] != '\n' || json_check(line, len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0 || !record_seq(line, len))
		return 0;
	w->source->next = record_seq(line, len);
	return record_matches(w->filter, line, len) ? w->fn(line, len - 1, w->arg) : 0;
}

static int files_each(struct audit_source *s, struct walk *w)
{
	struct err err;
	int r = 0;

	for (unsigned i = 0; r == 0 && i < s->files.count; i++) {
		_cleanup_close_ int fd = s->files.fd[i] >= 0 ? fcntl(s->files.fd[i], F_DUPFD_CLOEXEC, 3) : open(s->files.path[i], O_RDONLY | O_CLOEXEC);

		r = fd < 0 || (s->files.fd[i] >= 0 && lseek(fd, 0, SEEK_SET) < 0) ? -errno : chain_lines(fd, on_line, w);
		if (r >= 0)
			continue;
		err_set(&err, ERR_HOST, -r, "audit", "%.200s: %s", s->files.path[i], strerror(-r));
		return failed(s, &err);
	}
	return r;
}

int audit_source_each(struct audit_source *s, const struct record_filter *filter, int (*fn)(const char *line, size_t len, void *arg), void *arg)
{
	struct walk w = { s, filter, fn, arg };

	return s->daemon ? daemon_each(s, filter, fn, arg) : files_each(s, &w);
}

/* ---- which ---- */

static int files_open(struct audit_source *s, struct err *err)
{
	const struct options *opt = s->opt;

	if (opt->operands > 2 || !is_dir(opt->operand[1]))
		return verify_files_named(opt->operand + 1, opt->operands - 1, &s->files, err);
	return verify_files_of_dir(opt->operand[1], &s->files, err);
}

/* Nobody serves, and no daemon was named: what the usual place holds, if we may read it. */
static bool files_instead(struct audit_source *s, const struct call *c)
{
	char dir[4096];
	struct err err;

	return c->end == CALL_BROKEN && !s->opt->socket && audit_default_dir(dir, sizeof(dir), &err) == 0 &&
	       verify_files_of_dir(dir, &s->files, &err) == 0;
}

int audit_source_open(struct audit_source *s)
{
	struct err err = { 0 };
	_cleanup_(call_done) struct call c = { 0 };

	if (s->opt->operands > 1)
		return files_open(s, &err) < 0 ? failed(s, &err) : 0;
	ask(s, &(struct record_filter){ 0 }, 0, 0, &c);
	s->daemon = c.end == CALL_RESULT;
	s->last = s->daemon ? (uint64_t)answer_number(&c, "last") : 0;
	if (s->daemon || files_instead(s, &c))
		return 0;
	s->status = call_show_failure(&c, s->show);
	return AUDIT_SOURCE_FAILED;
}

void audit_source_done(struct audit_source *s)
{
	verify_files_done(&s->files);
}
