/* The command line of brigd. */
#ifndef BRIG_SUPERVISOR_CMDLINE_H
#define BRIG_SUPERVISOR_CMDLINE_H

#include "supervisor/load.h"

struct cmdline {
	int private_fd;        /* -1: a daemon */
	unsigned warm;
	struct load_from from;
	bool check, print_config, help, version;
};

/* 0, or the exit status (EXIT_USAGE), and the reason is on standard error. */
int cmdline_parse(int argc, char **argv, struct cmdline *ret);
void cmdline_help(void);

#endif
