#include "agent/show.h"

#include "agent/stop.h"
#include "agent/text.h"
#include "jail/base/limits.h"

#include <string.h>

/* A cause is read by people in one glance; the whole of it is in the JSON. */
#define CAUSE_SHOWN    1000
#define LINE_MAX_BYTES (64u << 10)
#define STATUS_OUTPUT  70

static void line_start(struct jbuf *b)
{
	jbuf_init(b, LINE_MAX_BYTES);
	jbuf_text(b, "brig: ");
}

/* Escaped, and cut at a character. */
static void line_add(struct jbuf *b, const char *text, size_t len)
{
	size_t n = len < CAUSE_SHOWN ? len : CAUSE_SHOWN;

	while (n && n < len && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	text_escape(b, text, n, TEXT_LINE);
	if (n < len)
		jbuf_text(b, "...");
}

static void line_add_text(struct jbuf *b, const char *text)
{
	line_add(b, text, strlen(text));
}

static void line_end(struct jbuf *b, FILE *out)
{
	jbuf_text(b, "\n");
	if (b->len)
		fwrite(b->data, 1, b->len, out);
	jbuf_done(b);
}

/* Adds "separator" and the string at path; false when there is none. */
static bool line_add_found(struct jbuf *b, const char *separator, const char *json, size_t len, const char *path)
{
	size_t n = 0;
	_cleanup_free_ char *text = text_find(json, len, path, &n);

	if (!text || n == 0)
		return false;
	jbuf_text(b, separator);
	line_add(b, text, n);
	return true;
}

static void cause_show(const struct show *s, const char *json, size_t len, const char *outcome)
{
	struct jbuf b;
	size_t start, n;

	line_start(&b);
	line_add_text(&b, outcome);
	if (line_add_found(&b, ": ", json, len, "error.type")) {
		line_add_found(&b, ": ", json, len, "error.message");
		if (json_find(json, len, "error.line", &start, &n, NULL) && json[start] != 'n') {
			jbuf_text(&b, " (line ");
			line_add(&b, json + start, n);
			jbuf_text(&b, ")");
		}
		/* The error is the tool's word; what it comes of is ours. */
		if (json_find(json, len, "cause.evidence.permission", &start, &n, NULL))
			line_add_found(&b, "; ", json, len, "cause.what");
	} else if (!line_add_found(&b, ": ", json, len, "cause.what")) {
		line_add_found(&b, ": ", json, len, "error.message");
	}
	if (line_add_found(&b, " (", json, len, "cause.rule"))
		jbuf_text(&b, ")");
	line_add_found(&b, "; ", json, len, "cause.hint");
	line_end(&b, s->err);
}

/* A list of strings, or of objects with a "layer", as one note. */
static void list_show(const struct show *s, const char *json, size_t len, const char *path, const char *note)
{
	struct jbuf b;
	char item[96];

	line_start(&b);
	jbuf_text(&b, note);
	for (unsigned i = 0;; i++) {
		const char *separator = i ? ", " : ": ";

		snprintf(item, sizeof(item), "%s.%u", path, i);
		if (line_add_found(&b, separator, json, len, item))
			continue;
		snprintf(item, sizeof(item), "%s.%u.layer", path, i);
		if (line_add_found(&b, separator, json, len, item))
			continue;
		if (i > 0)
			line_end(&b, s->err);
		else
			jbuf_done(&b);
		return;
	}
}

static bool is_true(const char *json, size_t len, const char *path)
{
	size_t start, n;

	return json_find(json, len, path, &start, &n, NULL) && n == 4 && memcmp(json + start, "true", 4) == 0;
}

/* One channel of the tool, line by line behind its name. */
static void channel_text_show(const struct show *s, const char *json, size_t len, const char *name)
{
	char path[32];
	size_t n = 0;

	snprintf(path, sizeof(path), "%s.text", name);
	_cleanup_free_ char *text = text_find(json, len, path, &n);
	for (size_t at = 0; text && at < n;) {
		const char *end = memchr(text + at, '\n', n - at);
		size_t line = end ? (size_t)(end - (text + at)) : n - at;
		struct jbuf b;

		jbuf_init(&b, 6 * line + 64);
		text_escape(&b, text + at, line, TEXT_BLOCK);
		fprintf(s->err, "%s| %.*s\n", name, (int)b.len, b.data ? b.data : "");
		jbuf_done(&b);
		at += line + 1;
	}
}

static void channel_show(const struct show *s, const char *json, size_t len, const char *name)
{
	char path[32];
	size_t start, digits;

	if (!s->streamed)
		channel_text_show(s, json, len, name);
	snprintf(path, sizeof(path), "%s.truncated", name);
	if (!is_true(json, len, path))
		return;
	snprintf(path, sizeof(path), "%s.bytes", name);
	if (json_find(json, len, path, &start, &digits, NULL))
		fprintf(s->err, "brig: the tool's %s was cut: it wrote %.*s bytes\n", name, (int)digits, json + start);
}

static void value_show(const struct show *s, const char *json, size_t len)
{
	size_t start, raw_len, n = 0;
	const char *bytes;
	struct jbuf b;

	if (!json_find(json, len, "result", &start, &raw_len, NULL))
		return;
	_cleanup_free_ char *text = json_string_dup(json + start, raw_len, &n);
	bytes = text ? text : json + start;
	n = text ? n : raw_len;
	if (s->out_tty) {
		jbuf_init(&b, 6 * n + 64);
		text_escape(&b, bytes, n, TEXT_BLOCK);
		if (b.len)
			fwrite(b.data, 1, b.len, s->out);
		jbuf_done(&b);
	} else {
		fwrite(bytes, 1, n, s->out);
	}
	if (n == 0 || bytes[n - 1] != '\n')
		fputc('\n', s->out);
}

int show_result(const struct show *s, const char *json, size_t len)
{
	_cleanup_free_ char *name = text_find(json, len, "outcome", NULL);
	int outcome = name ? outcome_find(name) : -1;
	struct err unknown;

	stop_release();
	if (outcome < 0) {
		err_set(&unknown, ERR_BUG, EPROTO, "supervisor",
			"the supervisor answered with no outcome that this client knows");
		return show_failure(s, OUTCOME_INTERNAL_ERROR, outcome_exit_status(OUTCOME_INTERNAL_ERROR), &unknown);
	}
	if (s->json) {
		fwrite(json, 1, len, s->out);
		fputc('\n', s->out);
	} else {
		channel_show(s, json, len, "stdout");
		channel_show(s, json, len, "stderr");
		list_show(s, json, len, "limits_hit", "limits touched");
		list_show(s, json, len, "receipt.degraded", "ran without");
		value_show(s, json, len);
	}
	if (outcome != OUTCOME_OK) {
		fflush(s->out);
		cause_show(s, json, len, name);
	}
	return outcome_exit_status((enum outcome)outcome);
}

static void failure_line(FILE *out, const char *outcome, const struct err *err)
{
	struct jbuf b;

	line_start(&b);
	if (outcome) {
		line_add_text(&b, outcome);
		jbuf_text(&b, ": ");
	}
	if (strchr(err->where, ':')) { /* a position in a file; module names mean nothing to the caller */
		line_add_text(&b, err->where);
		jbuf_text(&b, ": ");
	}
	line_add_text(&b, err->detail);
	if (err->hint[0]) {
		jbuf_text(&b, "; ");
		line_add_text(&b, err->hint);
	}
	line_end(&b, out);
}

int show_failure(const struct show *s, enum outcome outcome, int status, const struct err *err)
{
	struct jbuf b;

	stop_release();
	if (s->json) {
		jbuf_init(&b, LINE_MAX_BYTES);
		jbuf_text(&b, "{\"outcome\":");
		jbuf_cstring(&b, outcome_name(outcome));
		jbuf_text(&b, ",\"cause\":{\"what\":");
		jbuf_cstring(&b, err->detail);
		jbuf_text(&b, ",\"evidence\":{\"where\":");
		jbuf_cstring(&b, err->where);
		jbuf_text(&b, "},\"hint\":");
		jbuf_cstring(&b, err->hint);
		jbuf_text(&b, ",\"final\":true},\"limits_hit\":[]}\n");
		if (b.len)
			fwrite(b.data, 1, b.len, s->out);
		jbuf_done(&b);
		fflush(s->out);
	}
	failure_line(s->err, status == EXIT_USAGE ? NULL : outcome_name(outcome), err);
	return status;
}

void show_error(FILE *out, const struct err *err)
{
	failure_line(out, NULL, err);
}

int show_end(const struct show *s, int status)
{
	errno = 0;
	if (fflush(s->out) == 0 && !ferror(s->out))
		return status;
	if (errno == EPIPE)
		return status;
	fprintf(s->err, "brig: cannot write the result: %s\n", errno ? strerror(errno) : "output error");
	return STATUS_OUTPUT;
}
