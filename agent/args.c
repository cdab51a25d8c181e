#include "agent/args.h"

#include "jail/base/limits.h"
#include "supervisor/wire/json.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The text of --args, from wherever it is. */
static int args_fetch(const char *arg, int stop_fd, struct bytes *ret, struct err *err)
{
	size_t len;

	if (strcmp(arg, "-") == 0)
		return file_read_stream(STDIN_FILENO, stop_fd, "standard input", LIMIT_ARGS_BYTES, ret, err);
	if (arg[0] == '@') {
		int r = file_read(arg + 1, LIMIT_ARGS_BYTES, ret, err);

		if (r == -EINVAL)
			err_hint(err, "'--args -' reads standard input");
		return r;
	}
	len = strlen(arg);
	if (len > LIMIT_ARGS_BYTES)
		return err_set(
			err, ERR_CALLER, EFBIG, "--args", "the arguments are larger than %u bytes", LIMIT_ARGS_BYTES);
	ret->data = strdup(arg);
	ret->len = len;
	return ret->data ? 0 : err_set(err, ERR_HOST, ENOMEM, "--args", "no memory for the arguments");
}

int args_read(const char *arg, int stop_fd, struct bytes *ret, struct err *err)
{
	struct json_error je;
	int r = args_fetch(arg ?: "{}", stop_fd, ret, err);

	if (r < 0)
		return r;
	if (json_check(ret->data, ret->len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0) {
		err_set(err, ERR_CALLER, EINVAL, "--args", "the arguments are no good: line %u, column %u: %s", je.line,
			je.column, je.what);
		err_hint(err, "--args takes one JSON object, such as '{\"n\": 1}'");
		return -EINVAL;
	}
	/* A request is one line. Proven JSON has new lines only between tokens, where a blank means the same. */
	for (size_t i = 0; i < ret->len; i++)
		if (ret->data[i] == '\n' || ret->data[i] == '\r')
			ret->data[i] = ' ';
	return 0;
}
