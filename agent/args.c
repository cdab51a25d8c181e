#include "agent/args.h"

#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* An option that takes one JSON object. */
struct object_option {
	const char *name, *what, *example;
	size_t max;
};
static const struct object_option of_args = { "--args", "the arguments", "{\"n\": 1}", LIMIT_ARGS_BYTES };
static const struct object_option of_context = { "--context", "the context", "{\"inputs\": {\"KEY\": {\"action\": \"accept\", \"content\": {}}}}",
						 LIMIT_CONTEXT_BYTES };

/* Its text, from wherever it is. */
static int object_fetch(const struct object_option *o, const char *arg, int stop_fd, struct bytes *ret, struct err *err)
{
	size_t len = strlen(arg);

	if (strcmp(arg, "-") == 0 && o == &of_args) /* both cannot be there */
		return file_read_stream(STDIN_FILENO, stop_fd, "standard input", o->max, ret, err);
	if (arg[0] == '@') {
		int r = file_read(arg + 1, o->max, ret, err);

		if (r == -EINVAL && o == &of_args)
			err_hint(err, "'--args -' reads standard input");
		return r;
	}
	if (len > o->max)
		return err_set(err, ERR_CALLER, EFBIG, o->name, "%s: more than %zu bytes", o->what, o->max);
	ret->data = strdup(arg);
	ret->len = len;
	return ret->data ? 0 : err_set(err, ERR_HOST, ENOMEM, o->name, "no memory for %s", o->what);
}

static int object_read(const struct object_option *o, const char *arg, int stop_fd, struct bytes *ret, struct err *err)
{
	struct json_error je;
	int r = object_fetch(o, arg, stop_fd, ret, err);

	if (r < 0)
		return r;
	if (json_check(ret->data, ret->len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0) {
		err_set(err, ERR_CALLER, EINVAL, o->name, "%s: line %u, column %u: %s", o->what, je.line, je.column, je.what);
		err_hint(err, "%s takes one JSON object, such as '%s'", o->name, o->example);
		return -EINVAL;
	}
	/* A request is one line. Proven JSON has new lines only between tokens, where a blank means the same. */
	for (size_t i = 0; i < ret->len; i++)
		if (ret->data[i] == '\n' || ret->data[i] == '\r')
			ret->data[i] = ' ';
	return 0;
}

int args_read(const char *arg, int stop_fd, struct bytes *ret, struct err *err)
{
	return object_read(&of_args, arg ?: "{}", stop_fd, ret, err);
}

int args_read_context(const char *arg, struct bytes *ret, struct err *err)
{
	return arg ? object_read(&of_context, arg, -1, ret, err) : 0;
}

void args_put_context(struct jbuf *b, const struct bytes *context)
{
	if (!context->data)
		return;
	jbuf_text(b, ",\"context\":");
	jbuf_raw(b, context->data, context->len);
}
