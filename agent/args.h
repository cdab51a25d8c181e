/* The arguments of a call, from wherever the command line says. */
#ifndef BRIG_AGENT_ARGS_H
#define BRIG_AGENT_ARGS_H

#include "agent/file.h"

/* arg: "JSON", "@FILE" or "-"; NULL: none, {}. One proven JSON object, in one line. -ECANCELED when stop_fd becomes readable first. */
int args_read(const char *arg, int stop_fd, struct bytes *ret, struct err *err);

#endif
