/* brig doctor: what this host can enforce, as the supervisor found it (supervisor/doctor.h draws the object). */
#include "agent/call.h"
#include "agent/cmd.h"
#include "agent/doctor_processes.h"
#include "agent/show.h"
#include "agent/stop.h"
#include "agent/text.h"

#include <string.h>

/* Half a kilobyte for each of at most 32. */
#define PROCESSES_JSON_MAX (64u << 10)
#define NAME_WIDTH  20
#define STATE_WIDTH 10

static char *cell_find(const struct call *c, const char *list, unsigned i, const char *key)
{
	char path[64];
	size_t n = 0;
	struct jbuf b;

	snprintf(path, sizeof(path), "%s.%u.%s", list, i, key);
	_cleanup_free_ char *text = text_find(c->result, c->result_len, path, &n);
	if (!text || n == 0)
		return NULL;
	jbuf_init(&b, 6 * n + 64);
	text_escape(&b, text, n, TEXT_LINE);
	jbuf_raw(&b, "", 1);
	return b.data;
}

static void list_show(const struct show *s, const struct call *c, const char *list, const char *title)
{
	const int indent = NAME_WIDTH + STATE_WIDTH + 2;

	fprintf(s->out, "%s\n", title);
	for (unsigned i = 0;; i++) {
		_cleanup_free_ char *name = cell_find(c, list, i, "name");
		_cleanup_free_ char *state = cell_find(c, list, i, "state");
		_cleanup_free_ char *detail = cell_find(c, list, i, "detail");
		_cleanup_free_ char *fix = cell_find(c, list, i, "fix");

		if (!name)
			return;
		fprintf(s->out, "  %-*s%-*s", NAME_WIDTH, name, STATE_WIDTH, state ?: "unknown");
		text_wrap(s->out, detail ?: "", indent);
		if (fix) {
			fprintf(s->out, "%*s", indent, "");
			fputs("fix: ", s->out);
			text_wrap(s->out, fix, indent + 5);
		}
	}
}

/* The object as the supervisor sent it, and what we saw of its processes as its last member. */
static void json_show(const struct show *s, const struct call *c)
{
	struct jbuf b;

	jbuf_init(&b, c->result_len + PROCESSES_JSON_MAX);
	if (processes_count(c) > 0) {
		jbuf_raw(&b, c->result, c->result_len - 1);
		jbuf_text(&b, ",\"processes\":");
		processes_print(c, &b);
		jbuf_text(&b, "}");
	}
	if (b.len > 0)
		fprintf(s->out, "%.*s\n", (int)b.len, b.data);
	else
		fprintf(s->out, "%.*s\n", (int)c->result_len, c->result);
	jbuf_done(&b);
}

static int report_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *verdict = text_find(c->result, c->result_len, "verdict", NULL);
	_cleanup_free_ char *summary = text_find(c->result, c->result_len, "summary", NULL);

	stop_release();
	if (s->json) {
		json_show(s, c);
	} else {
		list_show(s, c, "layers", "protections of a call");
		list_show(s, c, "host", "this host");
		if (processes_count(c) > 0)
			processes_show(s, c);
		fputc('\n', s->out);
		text_wrap(s->out, summary ?: "no verdict", 0);
	}
	return verdict && (strcmp(verdict, "enforced") == 0 || strcmp(verdict, "degraded") == 0)
		       ? 0
		       : outcome_exit_status(OUTCOME_SETUP_FAILED);
}

int cmd_doctor(const struct options *opt)
{
	struct show s = { .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
	_cleanup_close_ int stop_fd = stop_open();
	_cleanup_(call_done) struct call c;
	int status;

	call_make(&c, &(struct call_ask){ .method = "doctor", .params = "{}", .params_len = 2, .want = CONNECT_ANY, .opt = opt,
			      .stop_fd = stop_fd, .progress = "trying a call" });
	status = c.end == CALL_RESULT ? report_show(&s, &c) : call_show_failure(&c, &s);
	return show_end(&s, status);
}
