/* Verbs of brig that are programs of their own beside it: what speaks HTTP, or holds a key, has a link list of its own, and `brig` loads none of it.
 *
 * brig proves the command line by the table here and becomes the program; its main calls program_main(), which reads the
 * same line by the same table. So --help, errors and completion are one thing. */
#ifndef BRIG_AGENT_PROGRAMS_H
#define BRIG_AGENT_PROGRAMS_H

#include "agent/options.h"

#include <stddef.h>

struct program {
	struct verb verb;
	const char *file; /* beside brig */
};
extern const struct program programs[];
extern const size_t programs_count;

/* In brig: executes the program of a verb in programs[] with the verb and these arguments. Returns only when that
 * failed: an exit status, after a message. */
int program_become(const struct verb *verb, int argc, char *const argv[]);

/* A program's verb and what it does. */
struct program_run {
	const char *verb;
	int (*run)(const struct options *opt); /* returns the exit status */
};
/* main() of a program: `brig-NAME VERB ...`, as program_become() starts it. runs ends with a NULL verb. */
int program_main(int argc, char *argv[], const struct program_run *runs);

#endif
