#include "agent/programs.h"

#include "agent/show.h"
#include "jail/base/names.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

static const struct option relay_options[] = {
	{ "--webhook", "URL", "where open questions are posted", OPT(webhook) },
	{ "--listen", "HOST:PORT", "take signed answers there, on this host alone", OPT(listen) },
	{ "--key", "FILE", "the key that signs both ways; yours alone to read", OPT(key) },
	{ "--socket", "PATH", "the admin.sock of that daemon and no other", OPT(socket) },
	{ 0 },
};

static const struct option mcp_options[] = {
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};

const struct program programs[] = {
	{ .verb = { .name = "relay", .operands = "", .summary = "carry approvals to a webhook, and signed answers back", .options = relay_options,
	  .details = "The key has 16 to 4096 bytes. Without --webhook nothing is posted, without\n"
		     "--listen no answers are taken. Runs until it is stopped. Asks over admin.sock,\n"
		     "once a second.",
	  .example = "brig relay --key /etc/brig/relay.key --webhook https://ops.example/brig \\\n      --listen 127.0.0.1:8099" },
	  .file = "brig-relay" },
	{ .verb = { .name = "mcp", .operands = "", .summary = "serve the tools to an MCP client on stdin and stdout", .options = mcp_options,
	  .details = "An MCP client starts it. Ends when its standard input does.", .example = "brig mcp" },
	  .file = "brig-mcp" },
};
const size_t programs_count = ARRAY_LEN(programs);

static const struct program *program_of(const char *verb)
{
	for (size_t i = 0; i < programs_count; i++)
		if (strcmp(programs[i].verb.name, verb) == 0)
			return &programs[i];
	return NULL;
}

int program_become(const struct verb *verb, int argc, char *const argv[])
{
	struct show s = { .out = stdout, .err = stderr };
	const char *file = program_of(verb->name)->file;
	char path[PATH_MAX];
	struct err err = { 0 };
	char **args = calloc((size_t)argc + 3, sizeof(*args));
	size_t name = strlen(file) + 1;
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - name - 1);

	path[len > 0 ? len : 0] = '\0';
	char *slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, file, name);
	if (args) {
		args[0] = (char *)file;
		args[1] = (char *)verb->name;
		memcpy(args + 2, argv, (size_t)argc * sizeof(*args));
		execv(path, args);
	}
	err_set(&err, ERR_HOST, errno, verb->name, "cannot start %.200s: %s", path, strerror(errno));
	err_hint(&err, "it is installed beside brig");
	free(args);
	return show_failure(&s, OUTCOME_SETUP_FAILED, outcome_exit_status(OUTCOME_SETUP_FAILED), &err);
}

int program_main(int argc, char *argv[], const struct program_run *runs)
{
	struct show s = { .out = stdout, .err = stderr };
	struct options opt;
	struct err err = { 0 };

	while (runs->verb && (argc < 2 || strcmp(runs->verb, argv[1]) != 0))
		runs++;
	const struct verb *verb = runs->verb ? &program_of(runs->verb)->verb : NULL;

	if (!verb) {
		err_set(&err, ERR_CALLER, EINVAL, "command line", "this program is started by brig");
		err_hint(&err, "'brig help' lists the verbs");
	} else if (options_parse(verb, argc - 2, argv + 2, &opt, &err) == 0) {
		if (!opt.help)
			return runs->run(&opt);
		options_help(verb, stdout);
		return show_end(&s, 0);
	}
	return show_end(&s, show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err));
}
