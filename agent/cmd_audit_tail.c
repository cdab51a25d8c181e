/* brig audit tail and export: records of the log, for people and for other programs. */
#include "agent/audit_source.h"
#include "agent/cmd_audit.h"
#include "agent/stop.h"
#include "agent/table.h"
#include "agent/text.h"

#include <poll.h>
#include <string.h>
#include <time.h>

#define LINES_DEFAULT 20ul
#define LINES_MAX 100000ul
/* A daemon that is followed is asked again so often. */
#define FOLLOW_MS 500
#define TIME_ROOM 40

struct tail {
	struct audit_source source;
	struct record_filter filter;
	char since[TIME_ROOM], until[TIME_ROOM];
	unsigned long lines;
	char **ring;          /* the last `lines` records; NULL: each is shown as it comes */
	unsigned long seen;
	void (*print)(FILE *out, const char *line, size_t len);
	FILE *out;
};

/* ---- one record ---- */

static const struct table_column columns[] = {
	{ "SEQ", "seq", 7, TABLE_NUMBER }, { "TIME (UTC)", "time", 14, TABLE_TEXT }, { "KIND", "kind", 15, TABLE_TEXT },
	{ "UID", "who.uid", 6, TABLE_NUMBER }, { "TOOL", "tool", 12, TABLE_TEXT },   { "WHAT", NULL, 21, TABLE_TEXT },
};

/* What happened, in the few words that a line has room for. */
static void what_print(const char *line, size_t len, struct jbuf *b)
{
	static const char *const paths[] = { "decision", "outcome", "rule", "cause", "text" };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		size_t n = 0;
		_cleanup_free_ char *text = text_find(line, len, paths[i], &n);

		if (!text || n == 0)
			continue;
		jbuf_text(b, b->len ? " " : "");
		text_escape(b, text, n < 400 ? n : 400, TEXT_LINE);
	}
}

/* Of a text for which 80 columns have room; what is cut ends with ~. */
static void cell(FILE *out, const char *text, int width, bool last)
{
	size_t bytes = 0;
	int chars = 0;

	for (const char *p = text; *p; p++) {
		bool begins = ((unsigned char)*p & 0xc0) != 0x80;

		chars += begins;
		if (chars < width || (chars == width && !begins))
			bytes = (size_t)(p + 1 - text);
	}
	if (chars <= width)
		fprintf(out, "%s%*s", text, last ? 0 : width - chars, "");
	else
		fprintf(out, "%.*s~", (int)bytes, text);
	fputs(last ? "\n" : " ", out);
}

static void row_print(FILE *out, const char *line, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const struct table_column *c = &columns[i];
		bool last = i + 1 == ARRAY_LEN(columns);
		size_t at, n = 0;
		struct jbuf b;

		jbuf_init(&b, 1u << 16);
		if (last) {
			what_print(line, len, &b);
		} else if (c->kind == TABLE_NUMBER) {
			if (json_find(line, len, c->key, &at, &n, NULL))
				jbuf_printf(&b, "%*.*s", c->width, (int)n, line + at);
		} else {
			_cleanup_free_ char *text = text_find(line, len, c->key, &n);
			/* 2026-01-02T03:04:05: month, day and time. */
			if (!text) {
				jbuf_text(&b, "-");
			} else if (strcmp(c->key, "time") == 0 && n > 19) {
				text[10] = ' ';
				text_escape(&b, text + 5, 14, TEXT_LINE);
			} else {
				text_escape(&b, text, n, TEXT_LINE);
			}
		}
		cell(out, b.data ? b.data : last ? "" : "-", c->width, last);
		jbuf_done(&b);
	}
}

static void title_print(FILE *out, const struct table_column *c, bool last)
{
	char text[40];

	snprintf(text, sizeof(text), c->kind == TABLE_NUMBER ? "%*s" : "%-*s", last ? 0 : c->width, c->title);
	cell(out, text, c->width, last);
}

static void raw_print(FILE *out, const char *line, size_t len)
{
	fprintf(out, "%.*s\n", (int)len, line);
}

/* ---- CSV ---- */

static const char *const csv_paths[] = { "seq", "time", "kind", "who.uid", "who.pid", "who.session", "call_id", "tool", "tool_hash", "profile",
					 "decision", "rule", "approval", "outcome", "cause", "usage.wall_us", "usage.cpu_us",
					 "usage.memory_peak_bytes", "body.sha256", "args.sha256", "args.bytes", "args.value", "text", "hash" };

/* RFC 4180, a record a line. A text that a spreadsheet would take for a formula gets an apostrophe in front: people open these
 * files, and who wrote the text is a stranger. */
static void csv_text(FILE *out, const char *text, size_t len)
{
	struct jbuf b;

	jbuf_init(&b, 10 * CHAIN_LINE_MAX);
	text_escape(&b, text, len, TEXT_LINE);
	fputc('"', out);
	if (b.len > 0 && strchr("=+-@", b.data[0]))
		fputc('\'', out);
	for (size_t i = 0; i < b.len; i++) {
		if (b.data[i] == '"')
			fputc('"', out);
		fputc(b.data[i], out);
	}
	fputc('"', out);
	jbuf_done(&b);
}

static void csv_print(FILE *out, const char *line, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(csv_paths); i++) {
		size_t at, n;

		if (i > 0)
			fputc(',', out);
		if (!json_find(line, len, csv_paths[i], &at, &n, NULL) || line[at] == 'n')
			continue;
		if (line[at] != '"') {
			fprintf(out, "%.*s", (int)n, line + at);
			continue;
		}
		_cleanup_free_ char *text = json_string_dup(line + at, n, &n);
		if (text)
			csv_text(out, text, n);
	}
	fputs("\r\n", out);
}

static void csv_head(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(csv_paths); i++)
		fprintf(out, "%s%s", i ? "," : "", csv_paths[i]);
	fputs("\r\n", out);
}

/* ---- the words of the command line ---- */

static int wrong(struct err *err, const char *option, const char *what, const char *hint)
{
	err_set(err, ERR_CALLER, EINVAL, "command line", "option '%s': %s", option, what);
	err_hint(err, "%s", hint);
	return -EINVAL;
}

/* 90m, 2d: so long ago. */
static bool time_ago(const char *word, char ret[TIME_ROOM])
{
	static const struct {
		char unit;
		time_t s;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(word, "0123456789");
	struct tm tm;

	if (digits == 0 || digits > 6 || strlen(word) != digits + 1)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (word[digits] == units[i].unit) {
			time_t at = time(NULL) - (time_t)strtoul(word, NULL, 10) * units[i].s;

			return gmtime_r(&at, &tm) && strftime(ret, TIME_ROOM, "%Y-%m-%dT%H:%M:%S", &tm) > 0;
		}
	return false;
}

static int time_take(const char *option, const char *word, char room[TIME_ROOM], const char **ret, struct err *err)
{
	static const char hint[] = "2026-01-02, 2026-01-02T03:04:05 (UTC), or how long ago: 90m, 12h, 2d";

	if (!word)
		return 0;
	if (!time_ago(word, room)) {
		const char *what = record_time_check(word);

		if (what)
			return wrong(err, option, "no time", hint);
		snprintf(room, TIME_ROOM, "%s", word);
	}
	*ret = room;
	return 0;
}

static int words_take(struct tail *t, const struct options *opt, struct err *err)
{
	char *end;

	t->filter = (struct record_filter){ .kind = opt->kind, .tool = opt->tool, .outcome = opt->outcome, .decision = opt->decision,
					    .session = opt->session, .call_id = opt->call, .uid = opt->uid };
	if (opt->uid && (strspn(opt->uid, "0123456789") != strlen(opt->uid) || !*opt->uid || strlen(opt->uid) > 10))
		return wrong(err, "--uid", "no number of a user", "id -u NAME prints it");
	if (opt->outcome && outcome_find(opt->outcome) < 0)
		return wrong(err, "--outcome", "there is no such outcome", "brig(1) lists them");
	t->lines = opt->lines ? strtoul(opt->lines, &end, 10) : LINES_DEFAULT;
	if (opt->lines && (*end || end == opt->lines || t->lines < 1 || t->lines > LINES_MAX || opt->lines[0] == '-'))
		return wrong(err, "-n", "no number from 1 to 100000", "for all there is: brig audit export");
	int r = time_take("--since", opt->since, t->since, &t->filter.since, err);
	return r < 0 ? r : time_take("--until", opt->until, t->until, &t->filter.until, err);
}

/* ---- the two actions ---- */

static int on_record(const char *line, size_t len, void *arg)
{
	struct tail *t = arg;

	if (!t->ring) {
		t->print(t->out, line, len);
		return ferror(t->out) ? 1 : 0;
	}
	char **place = &t->ring[t->seen++ % t->lines];
	free(*place);
	*place = strndup(line, len);
	return *place ? 0 : 1;
}

static void ring_clear(struct tail *t)
{
	for (unsigned long i = 0; i < t->lines; i++)
		free(take_ptr(t->ring[i]));
	t->seen = 0;
}

/* A daemon's log is read from near its end; where too little of it matches, from further back. */
static int ring_fill(struct tail *t)
{
	uint64_t back = t->lines;
	int r;

	for (;; back *= 8) {
		t->filter.after_seq = t->source.daemon && t->source.last > back ? t->source.last - back : 0;
		r = audit_source_each(&t->source, &t->filter, on_record, t);
		if (r != 0 || t->seen >= t->lines || t->filter.after_seq == 0)
			return r;
		ring_clear(t);
	}
}

static void ring_show(struct tail *t, bool json)
{
	unsigned long n = t->seen < t->lines ? t->seen : t->lines;

	for (unsigned long i = 0; i < n; i++) {
		const char *line = t->ring[(t->seen - n + i) % t->lines];

		if (json)
			fprintf(t->out, "%s%s", i ? "," : "", line);
		else
			t->print(t->out, line, strlen(line));
	}
}

static int follow(struct tail *t)
{
	struct pollfd p = { t->source.stop_fd, POLLIN, 0 };
	int r = 0;

	free(take_ptr(t->ring));
	while (r == 0 && poll(&p, 1, FOLLOW_MS) == 0) {
		t->filter.after_seq = t->source.next;
		r = audit_source_each(&t->source, &t->filter, on_record, t);
		if (fflush(t->out) != 0)
			r = 1;
	}
	return r;
}

static int tail(struct tail *t, const struct options *opt)
{
	bool one = opt->json && !opt->follow;
	int r;

	t->print = opt->json ? raw_print : row_print;
	t->ring = calloc(t->lines, sizeof(*t->ring));
	r = t->ring ? ring_fill(t) : AUDIT_SOURCE_FAILED;
	if (r == 0) {
		if (one)
			fputs("{\"records\":[", t->out);
		else if (!opt->json) /* a title for each column, as wide as its rows */
			for (size_t i = 0; i < ARRAY_LEN(columns); i++)
				title_print(t->out, &columns[i], i + 1 == ARRAY_LEN(columns));
		ring_show(t, one);
		if (one)
			fputs("]}\n", t->out);
	}
	ring_clear(t);
	if (r == 0 && opt->follow)
		r = fflush(t->out) == 0 ? follow(t) : 1;
	free(t->ring);
	return r;
}

static int export(struct tail *t, const struct options *opt)
{
	bool csv = opt->format && strcmp(opt->format, "csv") == 0;

	t->print = csv ? csv_print : raw_print;
	if (csv)
		csv_head(t->out);
	return audit_source_each(&t->source, &t->filter, on_record, t);
}

static int check(const struct options *opt, bool is_tail, struct err *err)
{
	if (!is_tail && opt->format && strcmp(opt->format, "csv") != 0 && strcmp(opt->format, "jsonl") != 0)
		return wrong(err, "--format", "there are jsonl and csv", "jsonl are the records as they stand in the log");
	if (!is_tail && (opt->follow || opt->lines))
		return wrong(err, opt->follow ? "--follow" : "-n", "it is for tail", "brig audit tail --follow");
	if (is_tail && opt->format)
		return wrong(err, "--format", "it is for export", "brig audit export --format csv");
	if (opt->follow && opt->operands > 1)
		return wrong(err, "--follow", "a daemon's log can be followed, files cannot", "leave out DIR");
	return 0;
}

int cmd_audit_tail(const struct show *s, const struct options *opt)
{
	bool is_tail = strcmp(opt->operand[0], "tail") == 0;
	_cleanup_close_ int stop_fd = stop_open();
	struct tail t = { .source = { .opt = opt, .show = s, .stop_fd = stop_fd }, .out = s->out };
	struct err err = { 0 };
	int r = check(opt, is_tail, &err);

	if (r == 0)
		r = words_take(&t, opt, &err);
	if (r < 0)
		return show_failure(s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err);
	r = audit_source_open(&t.source);
	if (r == 0)
		r = is_tail ? tail(&t, opt) : export(&t, opt);
	audit_source_done(&t.source);
	return r < 0 ? t.source.status : 0;
}
