/* The command line: one static table per verb. The same table parses, and prints
 * --help; the man page is checked against it. GNU style: --opt VALUE, --opt=VALUE,
 * options and operands in any order, "--" ends the options. No abbreviations: a
 * script must not change its meaning when an option is added. */
#ifndef BRIG_AGENT_OPTIONS_H
#define BRIG_AGENT_OPTIONS_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* audit verify takes the files of a log. */
#define OPTIONS_OPERANDS_MAX 64

/* Values of every verb; borrowed from argv. */
struct options {
	const char *webhook, *listen, *key; /* of the programs beside brig (programs.h) */
	const char *profile, *args, *context, *socket, *session, *task, *head;
	const char *kind, *tool, *uid, *call, *outcome, *decision, *since, *until, *lines; /* audit */
	const char *format;
	const char *policy;
	const char *path, *host, *syscall; /* why */
	const char *uses, *how_long, *reason; /* approve, deny */
	const char *name, *description, *parameters, *permissions, *body, *version, *to, *hash; /* tool */
	bool follow, all, mine, replace;
	bool json, best_effort, effective, help, private, admin, wait, off, stream, state;
	const char *operand[OPTIONS_OPERANDS_MAX];
	unsigned operands;
};

struct option {
	const char *name;  /* with its dashes; NULL ends a table */
	const char *value; /* what --help calls the value; NULL: a flag */
	const char *help;
	size_t offset; /* in struct options: bool for a flag, else const char * */
};
#define OPT(field) offsetof(struct options, field)
/* Which supervisor, for verbs that can do without a daemon and for those that cannot. */
#define OPT_SOCKET                                                                       \
	{                                                                                \
		"--socket", "PATH", "the daemon that listens there and no other", OPT(socket) \
	}
#define OPT_PRIVATE                                                                      \
	{                                                                                \
		"--private", NULL, "a supervisor of our own, even where a daemon runs", OPT(private) \
	}

struct verb {
	const char *name;
	const char *operands; /* as the usage line shows them */
	const char *summary;
	const struct option *options;
	const char *
		later; /* options and sub-commands of the contract that this version lacks, each in spaces: " --stream " */
	const char *details; /* paragraph of --help; may be NULL */
	const char *example;
	unsigned min_operands, max_operands;
	int (*run)(const struct options *opt); /* returns the exit status; NULL: a program of its own (programs.h) */
};

/* Parses what follows the verb. 0, or -EINVAL with *err (class ERR_CALLER). ret->help stops further checks;
 * ret->json is right even when an error is returned, so that the error can be told in JSON. */
int options_parse(const struct verb *verb, int argc, char *const argv[], struct options *ret, struct err *err);
void options_help(const struct verb *verb, FILE *out);
/* True when the word stands in verb->later. */
bool options_is_later(const struct verb *verb, const char *word);

#endif
