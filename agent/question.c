#include "agent/question.h"

#include "agent/stop.h"
#include "agent/text.h"

#include <string.h>

static struct show show_of(const struct options *opt)
{
	return (struct show){ .out = stdout, .err = stderr, .out_tty = isatty(STDOUT_FILENO), .json = opt->json };
}

int question_ask(const struct options *opt, const struct question *q)
{
	const struct show s = show_of(opt);
	_cleanup_close_ int stop_fd = stop_open();
	_cleanup_(call_done) struct call c;

	call_make(&c, &(struct call_ask){ .method = q->method, .params = q->params, .params_len = q->params_len, .want = q->want,
			      .opt = opt, .stop_fd = stop_fd, .progress = q->progress, .answer_ms = q->answer_ms });
	if (c.end != CALL_RESULT)
		return show_end(&s, call_show_failure(&c, &s));
	stop_release();
	if (opt->json)
		fprintf(s.out, "%.*s\n", (int)c.result_len, c.result);
	else
		q->show(&s, &c);
	return show_end(&s, 0);
}

int question_refuse(const struct options *opt, const struct err *err)
{
	const struct show s = show_of(opt);

	return show_end(&s, show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, err));
}

char *answer_text(const struct call *c, const char *path)
{
	size_t n = 0;
	struct jbuf b;

	_cleanup_free_ char *text = text_find(c->result, c->result_len, path, &n);
	if (!text)
		return NULL;
	jbuf_init(&b, 10 * n + 64);
	text_escape(&b, text, n, TEXT_LINE);
	jbuf_raw(&b, "", 1);
	return b.data;
}

double answer_number(const struct call *c, const char *path)
{
	size_t start, n;
	char word[32];

	if (!json_find(c->result, c->result_len, path, &start, &n, NULL) || n >= sizeof(word))
		return 0;
	snprintf(word, sizeof(word), "%.*s", (int)n, c->result + start);
	return strtod(word, NULL);
}

bool answer_true(const struct call *c, const char *path)
{
	size_t start, n;

	return json_find(c->result, c->result_len, path, &start, &n, NULL) && n == 4 && c->result[start] == 't';
}
