/* brig relay: another program beside this one, which alone is linked with HTTP. */
#include "agent/cmd.h"
#include "agent/show.h"
#include "jail/base/names.h"

#include <limits.h>
#include <string.h>

#define PROGRAM "brig-relay"

int cmd_relay(const struct options *opt)
{
	const char *const values[][2] = { { "--key", opt->key }, { "--webhook", opt->webhook }, { "--listen", opt->listen }, { "--socket", opt->socket } };
	const char *argv[2 * ARRAY_LEN(values) + 2] = { PROGRAM };
	struct show s = { .out = stdout, .err = stderr };
	char path[PATH_MAX];
	struct err err = { 0 };
	size_t n = 1;

	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (values[i][1]) {
			argv[n++] = values[i][0];
			argv[n++] = values[i][1];
		}
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM) - 1);
	path[len > 0 ? len : 0] = '\0';
	char *slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, PROGRAM, sizeof(PROGRAM));
	execv(path, (char *const *)argv);
	err_set(&err, ERR_HOST, errno, "relay", "cannot start %.200s: %s", path, strerror(errno));
	err_hint(&err, "it is installed beside brig");
	return show_failure(&s, OUTCOME_SETUP_FAILED, outcome_exit_status(OUTCOME_SETUP_FAILED), &err);
}
