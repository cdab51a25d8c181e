/* brig: the client's command line. It parses, runs one command and returns its exit status. */
#include "agent/cmd.h"
#include "agent/nearest.h"
#include "agent/programs.h"
#include "agent/show.h"
#include "agent/text.h"
#include "jail/base/names.h"

#include <fcntl.h>
#include <string.h>

static int cmd_help(const struct options *opt);
static int cmd_version(const struct options *opt);

#define OPT_JSON                                                                       \
	{                                                                              \
		"--json", NULL, "exactly one JSON object on standard output", OPT(json) \
	}

static const struct option run_options[] = {
	{ "--profile", "NAME|FILE", "the jail's rules; a FILE has a / or ends in .json", OPT(profile) },
	{ "--args", "JSON|@FILE|-", "arguments of run(), one JSON object; -: from stdin", OPT(args) },
	{ "--context", "JSON|@FILE", "what you answer to what the tool asked", OPT(context) },
	OPT_JSON,
	{ "--best-effort", NULL, "run with what this host can enforce; list the rest", OPT(best_effort) },
	{ "--stream", NULL, "show what the tool prints as it comes", OPT(stream) },
	{ "--session", "ID", "a call of that session ('brig session open')", OPT(session) },
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};

static const struct option call_options[] = {
	{ "--args", "JSON|@FILE|-", "its arguments, one JSON object; -: from stdin", OPT(args) },
	{ "--context", "JSON|@FILE", "what you answer to what the tool asked", OPT(context) },
	OPT_JSON,
	{ "--best-effort", NULL, "run with what this host can enforce; list the rest", OPT(best_effort) },
	{ "--stream", NULL, "show what the tool prints as it comes", OPT(stream) },
	{ "--session", "ID", "a call of that session ('brig session open')", OPT(session) },
	{ "--wait", NULL, "where a person has to decide: wait for that", OPT(wait) },
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};

static const struct option profile_options[] = {
	{ "--effective", NULL, "show: every merged value, and where it came from", OPT(effective) },
	OPT_JSON,
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};

static const struct option doctor_options[] = {
	OPT_JSON,
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};

#define OPT_ADMIN                                                                     \
	{                                                                             \
		"--admin", NULL, "over admin.sock: the calls of every user", OPT(admin) \
	}

static const struct option daemon_options[] = { OPT_JSON, OPT_SOCKET, { 0 } };
static const struct option calls_options[] = { OPT_ADMIN, OPT_JSON, OPT_SOCKET, { 0 } };
static const struct option drain_options[] = {
	{ "--wait", NULL, "return when no call is left", OPT(wait) },
	{ "--off", NULL, "take calls again", OPT(off) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option session_options[] = {
	{ "--profile", "NAME", "open: the rules of its calls", OPT(profile) },
	{ "--task", "TEXT", "open: what it is for", OPT(task) },
	{ "--state", NULL, "open: one jail that keeps Python's state", OPT(state) },
	{ "--admin", NULL, "close, list: over admin.sock, those of every user", OPT(admin) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option approvals_options[] = {
	{ "--all", NULL, "those that were decided, too", OPT(all) },
	{ "--mine", NULL, "over agent.sock: what one asked for oneself", OPT(mine) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option approve_options[] = {
	{ "--uses", "N", "so many calls, each exactly the same; default 1", OPT(uses) },
	{ "--for", "TIME", "used up or not, it ends then; default 10m", OPT(how_long) },
	{ "--reason", "TEXT", "why, for the audit log", OPT(reason) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option deny_options[] = {
	{ "--reason", "TEXT", "why, for the model that asked", OPT(reason) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option audit_options[] = {
	{ "-n", "N", "tail: the last N records (20)", OPT(lines) },
	{ "--follow", NULL, "tail: and those to come", OPT(follow) },
	{ "-f", NULL, "the same", OPT(follow) },
	{ "--kind", "KIND", "tail, export: of that kind only (begin, end, ...)", OPT(kind) },
	{ "--tool", "NAME", "of that tool", OPT(tool) },
	{ "--uid", "UID", "who asked", OPT(uid) },
	{ "--session", "ID", "in that session", OPT(session) },
	{ "--call", "ID", "of that call", OPT(call) },
	{ "--outcome", "WORD", "calls that ended so", OPT(outcome) },
	{ "--decision", "WORD", "allow, deny or escalate", OPT(decision) },
	{ "--since", "TIME", "2026-01-02T03:04:05 (UTC) or 90m, 12h, 2d ago", OPT(since) },
	{ "--until", "TIME", "before that", OPT(until) },
	{ "--format", "jsonl|csv", "export: as what", OPT(format) },
	{ "--head", "HASH", "verify: a last hash of earlier; it must be there", OPT(head) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option why_options[] = {
	{ "--args", "JSON|@FILE|-", "of the call of TOOL", OPT(args) },
	{ "--path", "PATH", "what the tool finds there", OPT(path) },
	{ "--host", "NAME", "whether a way leads there", OPT(host) },
	{ "--syscall", "NAME", "what the filter answers", OPT(syscall) },
	{ "--profile", "NAME|FILE", "of that profile, not of TOOL", OPT(profile) },
	{ "--session", "ID", "as a call of that session", OPT(session) },
	{ "--admin", NULL, "over admin.sock, with the operator's trust", OPT(admin) },
	OPT_JSON,
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};
static const struct option policy_options[] = {
	{ "--policy", "FILE", "test: the rules to try; more files after CASES.json", OPT(policy) },
	{ "--admin", NULL, "over admin.sock: the rules that the daemon has", OPT(admin) },
	OPT_JSON,
	OPT_SOCKET,
	{ 0 },
};
static const struct option tool_options[] = {
	{ "--name", "NAME", "create: what it is called", OPT(name) },
	{ "--description", "TEXT", "create: when to use it, for a model", OPT(description) },
	{ "--parameters", "JSON|@FILE", "create: JSON Schema of its arguments", OPT(parameters) },
	{ "--body", "FILE|-", "create: Python that defines run(**kwargs)", OPT(body) },
	{ "--profile", "NAME|FILE", "create: the rules of its jail", OPT(profile) },
	{ "--permissions", "JSON|@FILE", "create: what it needs; else what its body shows", OPT(permissions) },
	{ "--replace", NULL, "create, import: another version of one's own", OPT(replace) },
	{ "--best-effort", NULL, "create, import: look at the body all the same", OPT(best_effort) },
	{ "--version", "N", "show: that version", OPT(version) },
	{ "--to", "STATE", "promote, restore: draft, probation or approved", OPT(to) },
	{ "--hash", "HASH", "promote, quarantine, restore: if it is that one", OPT(hash) },
	{ "--reason", "TEXT", "promote, quarantine (needs it), restore: why", OPT(reason) },
	{ "--format", "NAME", "list: openai, anthropic or mcp", OPT(format) },
	{ "--all", NULL, "list: every version; export: every tool", OPT(all) },
	{ "--admin", NULL, "over admin.sock: the tools of every user", OPT(admin) },
	OPT_JSON,
	OPT_SOCKET,
	OPT_PRIVATE,
	{ 0 },
};
static const struct option no_options[] = { { 0 } };

static const struct verb verbs[] = {
	{ "run", "FILE.py", "run a body once in a fresh jail", run_options, NULL,
		"FILE.py defines run(**kwargs). Its result goes to standard output; what it\n"
		"printed, and one line that says why when it did not end well, to standard error.",
		"brig run sum.py --args '{\"n\": 8675309}'", 1, 1, cmd_run },
	{ "call", "NAME", "call a tool of the registry, through the gate", call_options, NULL,
		"Its result goes to standard output. Exit status 4: denied, or a person has to\n"
		"decide ('brig approvals'); the same call again runs once that has happened.",
		"brig call add --args '{\"a\": 2, \"b\": 3}'", 1, 1, cmd_call },
	{ "tool", "create|list|show|remove|promote|...", "the tools that agents wrote", tool_options, NULL,
		"create takes options, or the DIR of an exported tool; show and remove a NAME.\n"
		"export NAME DIR, or --all DIR, writes a folder for each tool, with tool.json and\n"
		"body.py; import DIR reads them. promote, quarantine and restore NAME are the\n"
		"operator's, over admin.sock: a new tool is a draft, the next state is probation,\n"
		"then approved.",
		"brig tool create --name add --description Add --parameters @a.json --body a.py", 1, 3, cmd_tool },
	{ "approvals", "[show ID]", "list what waits for a person's word", approvals_options, NULL,
		"'show' says exactly what would run. Asked over admin.sock.", "brig approvals show 4f0c2a", 0, 2, cmd_approvals },
	{ "approve", "ID", "let what was asked for run", approve_options, NULL,
		"ID may be its beginning, six characters or more. The approval holds for that\n"
		"version of the tool, those arguments, that user and that profile. Asked over\n"
		"admin.sock.",
		"brig approve 4f0c2a --uses 3 --for 10m", 1, 1, cmd_approve },
	{ "deny", "ID", "refuse what was asked for", deny_options, NULL, "Asked over admin.sock.",
		"brig deny 4f0c2a --reason 'not on a weekday'", 1, 1, cmd_deny },
	{ "profile", "list | show NAME|FILE | check FILE", "look at profiles", profile_options,
		" explain learn diff surface ", NULL, "brig profile show pure --effective", 1, 2, cmd_profile },
	{ "policy", "check [FILE ...] | test CASES.json", "prove the rules of the gate", policy_options, NULL,
		"Several files make one policy. Without any: the one that ships with Brig.\n"
		"Exit status 0: good, and all verdicts as expected; 1: not so.",
		"brig policy test cases.json --policy policy.json", 1, OPTIONS_OPERANDS_MAX, cmd_policy },
	{ "why", "[TOOL]", "tell the verdict, the rule and the layer, and run nothing", why_options, NULL,
		"For a call of TOOL, or for a path, a host or a system call: of TOOL as it would\n"
		"run now, or of a profile. 'run' as TOOL is a body that is sent. Exit status 0:\n"
		"allowed; 4: not; 3: the arguments do not fit, or there is no such tool.",
		"brig why write_file --args '{\"path\": \"../x\", \"content\": \"\"}'", 0, 1, cmd_why },
	{ "doctor", "", "say what this host can enforce, layer by layer", doctor_options, " --attack ",
		"Exit status 0: calls run; 6: a call would be refused.", "brig doctor", 0, 0, cmd_doctor },
	{ "session", "open | close ID | list", "contexts that last for many calls", session_options, NULL,
		"With --state the bodies of a session run one after the other in one jail and\n"
		"find the names that earlier ones defined.",
		"brig session open --state --profile python", 1, 2, cmd_session },
	{ "status", "", "say how the daemon is", daemon_options, NULL, NULL, "brig status", 0, 0, cmd_status },
	{ "list", "", "list the calls that are queued or running", calls_options, NULL, NULL, "brig list --admin", 0, 0, cmd_list },
	{ "cancel", "CALL_ID", "end a call that is queued or running", calls_options, NULL,
		"'brig list' shows the ids. The call ends as cancelled for whoever made it.",
		"brig cancel 2fc012ee86e5dac7258356e1f1f8f2ae", 1, 1, cmd_cancel },
	{ "metrics", "", "print the daemon's counters for Prometheus", daemon_options, NULL, NULL, "brig metrics | grep brig_calls_total",
		0, 0, cmd_metrics },
	{ "pool", "", "show the jails that wait parked, by profile", daemon_options, NULL, "Asked over admin.sock.", "brig pool", 0, 0,
		cmd_pool },
	{ "reload", "", "read brigd.conf and the profiles again", daemon_options, NULL,
		"All or nothing: after a mistake, told with file, line and column, all stays\nas it was. Asked over admin.sock.",
		"brig reload", 0, 0, cmd_reload },
	{ "drain", "", "take no new calls", drain_options, NULL,
		"What was accepted goes on. Ctrl-C ends the waiting, not the drain.\nAsked over admin.sock.", "brig drain --wait", 0, 0,
		cmd_drain },
	{ "audit", "tail|export|verify [DIR|FILE...]", "show, export or prove the audit log", audit_options, NULL,
		"tail and export ask the daemon over admin.sock, or read DIR or FILE.\n"
		"verify proves that no record is missing or changed; without DIR: where a brigd\n"
		"of yours keeps it. Exit status 0: sound; 1: broken, with file and line.",
		"brig audit tail --decision deny --since 2h", 1, OPTIONS_OPERANDS_MAX, cmd_audit },
	{ "help", "[VERB]", "show what there is, or the help of one verb", no_options, NULL, NULL, "brig help run", 0,
		1, cmd_help },
	{ "version", "", "show the version", no_options, NULL, NULL, "brig version", 0, 0, cmd_version },
};

/* Part of the contract, not built yet: told apart from a typing error. */
static const char *const later_verbs[] = { "serve", "console", "agent" };

#define VERBS_COUNT (ARRAY_LEN(verbs) + programs_count)
static const struct verb *verb_at(size_t i)
{
	return i < ARRAY_LEN(verbs) ? &verbs[i] : &programs[i - ARRAY_LEN(verbs)].verb;
}

static const struct verb *verb_find(const char *name)
{
	for (size_t i = 0; i < VERBS_COUNT; i++)
		if (strcmp(verb_at(i)->name, name) == 0)
			return verb_at(i);
	return NULL;
}

/* What people look for together; a verb of none comes last. */
static const struct {
	const char *title, *verbs;
} groups[] = {
	{ "Run", " run call session list cancel " },
	{ "Tools, and who decides", " tool approvals relay approve deny " },
	{ "For agents", " mcp " },
	{ "Rules", " profile policy why " },
	{ "Look and prove", " doctor audit status metrics " },
	{ "Operate a daemon", " pool reload drain " },
	{ "Help", " help version " },
};

static bool group_has(size_t group, const char *verb)
{
	char spaced[32];

	snprintf(spaced, sizeof(spaced), " %s ", verb);
	return strstr(groups[group].verbs, spaced) != NULL;
}

static bool group_of_none(const char *verb)
{
	for (size_t i = 0; i < ARRAY_LEN(groups); i++)
		if (group_has(i, verb))
			return false;
	return true;
}

static void verbs_show(FILE *out)
{
	fputs("usage: brig VERB ...\n\nRuns Python tools that agents write, each call in a fresh jail that the kernel\nenforces.\n", out);
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		bool last = g + 1 == ARRAY_LEN(groups);

		fprintf(out, "\n%s:\n", groups[g].title);
		for (size_t i = 0; i < VERBS_COUNT; i++)
			if (group_has(g, verb_at(i)->name) || (last && group_of_none(verb_at(i)->name)))
				fprintf(out, "  %-10s %s\n", verb_at(i)->name, verb_at(i)->summary);
	}
	fputs("\n'brig VERB --help' says more. The manual is brig(1).\n", out);
}

static int verb_refuse(const char *name)
{
	struct nearest near = { .word = name };
	struct err err = { 0 };
	char shown[64];

	text_quote(shown, sizeof(shown), name);
	for (size_t i = 0; i < ARRAY_LEN(later_verbs); i++) {
		if (strcmp(later_verbs[i], name) != 0)
			continue;
		err_set(&err, ERR_CALLER, EINVAL, "command line", "%s is not in this version", shown);
		err_hint(&err, "'brig help' lists what there is");
		show_error(stderr, &err);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < VERBS_COUNT; i++)
		nearest_try(&near, verb_at(i)->name);
	err_set(&err, ERR_CALLER, EINVAL, "command line", "no such verb: %s", shown);
	if (near.best)
		err_hint(&err, "did you mean '%s'?", near.best);
	else
		err_hint(&err, "'brig help' lists the verbs");
	show_error(stderr, &err);
	return EXIT_USAGE;
}

static int help_end(void)
{
	struct show s = { .out = stdout, .err = stderr };

	return show_end(&s, 0);
}

static int cmd_help(const struct options *opt)
{
	const struct verb *verb = opt->operands ? verb_find(opt->operand[0]) : NULL;

	if (opt->operands && !verb)
		return verb_refuse(opt->operand[0]);
	if (verb)
		options_help(verb, stdout);
	else
		verbs_show(stdout);
	return help_end();
}

static int cmd_version(const struct options *opt)
{
	(void)opt;
	puts("brig " BRIG_VERSION);
	return help_end();
}

/* A first operand that names a sub-command of a later version. */
static int later_refuse(const struct verb *verb, const char *word)
{
	struct err err = { 0 };

	err_set(&err, ERR_CALLER, EINVAL, "command line", "'%s %s' is not in this version", verb->name, word);
	err_hint(&err, "'brig %s --help' lists what there is", verb->name);
	show_error(stderr, &err);
	return EXIT_USAGE;
}

static int verb_run(const struct verb *verb, int argc, char *const argv[])
{
	struct options opt;
	struct err err = { 0 };

	if (argc > 0 && options_is_later(verb, argv[0]) && argv[0][0] != '-')
		return later_refuse(verb, argv[0]);
	if (options_parse(verb, argc, argv, &opt, &err) < 0) {
		struct show s = { .out = stdout, .err = stderr, .json = opt.json };

		return show_end(&s, show_failure(&s, OUTCOME_INVALID_ARGUMENTS, EXIT_USAGE, &err));
	}
	if (opt.help) {
		options_help(verb, stdout);
		return help_end();
	}
	return verb->run ? verb->run(&opt) : program_become(verb, argc, argv);
}

/* A program started without descriptors 0, 1 or 2 would open its files there. The stand-ins answer every use with an
 * error, so that a result written to a closed stdout is not lost in silence. */
static void standard_fds_hold(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_NOCTTY);
}

int main(int argc, char *argv[])
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct verb *verb;

	standard_fds_hold();
	if (!name) {
		verbs_show(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	else if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	verb = verb_find(name);
	return verb ? verb_run(verb, argc - 2, argv + 2) : verb_refuse(name);
}
