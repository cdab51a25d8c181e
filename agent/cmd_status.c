/* brig status: how the daemon is. */
#include "agent/cmd.h"
#include "agent/question.h"
#include "agent/table.h"

#define NAME_WIDTH 12

static void line_show(const struct show *s, const char *name, const char *value)
{
	if (value && *value)
		fprintf(s->out, "%-*s %s\n", NAME_WIDTH, name, value);
}

static void path_show(const struct show *s, const struct call *c, const char *name, const char *path)
{
	_cleanup_free_ char *text = answer_text(c, path);

	line_show(s, name, text);
}

static void head_show(const struct show *s, const struct call *c)
{
	_cleanup_free_ char *version = answer_text(c, "version");
	char up[32], line[256];

	time_print(up, sizeof(up), answer_number(c, "uptime_ms"));
	snprintf(line, sizeof(line), "brigd %s, up %s%s", version ? version : "of an unknown version", up,
		answer_true(c, "draining") ? ", draining: it takes no new calls" : "");
	line_show(s, "state", line);
	path_show(s, c, "config", "config");
	path_show(s, c, "sockets in", "run_dir");
	path_show(s, c, "state in", "state_dir");
	path_show(s, c, "cgroup", "cgroup.kind");
	path_show(s, c, "", "cgroup.why");
}

static void counts_show(const struct show *s, const struct call *c)
{
	fprintf(s->out, "%-*s %.0f running of %.0f, %.0f queued of %.0f\n", NAME_WIDTH, "calls", answer_number(c, "calls.running"),
		answer_number(c, "calls.running_max"), answer_number(c, "calls.queued"), answer_number(c, "calls.queue_max"));
	fprintf(s->out, "%-*s %.0f, %.0f of them parked\n", NAME_WIDTH, "jails", answer_number(c, "alive"), answer_number(c, "parked"));
	fprintf(s->out, "%-*s %.0f\n", NAME_WIDTH, "sessions", answer_number(c, "sessions"));
	fprintf(s->out, "%-*s %.0f of %.0f\n", NAME_WIDTH, "connections", answer_number(c, "connections.now"),
		answer_number(c, "connections.max"));
}

static void status_show(const struct show *s, const struct call *c)
{
	static const struct table_column columns[] = {
		{ "PROCESS", "role", NAME_WIDTH, TABLE_TEXT },
		{ "PID", "pid", 8, TABLE_NUMBER },
		{ "PROFILE", "profile", 12, TABLE_TEXT },
		{ "GENERATION", "generation", 10, TABLE_NUMBER },
		{ "STATE", "state", 8, TABLE_TEXT },
		{ "PARKED", "parked", 6, TABLE_NUMBER },
		{ 0 },
	};

	head_show(s, c);
	counts_show(s, c);
	fputc('\n', s->out);
	(void)table_show(s->out, c->result, c->result_len, "processes", columns);
}

int cmd_status(const struct options *opt)
{
	return question_ask(opt, &(struct question){ .method = "status", .params = "{}", .params_len = 2, .want = CONNECT_DAEMON,
					 .answer_ms = QUESTION_ANSWER_MS, .show = status_show });
}
