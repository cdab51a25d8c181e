/* The arguments of a call, from wherever the command line says. */
#ifndef BRIG_AGENT_ARGS_H
#define BRIG_AGENT_ARGS_H

#include "agent/file.h"

struct jbuf;

/* arg: "JSON", "@FILE" or "-"; NULL: none, {}. One proven JSON object, in one line. -ECANCELED when stop_fd becomes readable first. */
int args_read(const char *arg, int stop_fd, struct bytes *ret, struct err *err);
/* The same of --context, which is not read from standard input; NULL: none, and ret stays empty. */
int args_read_context(const char *arg, struct bytes *ret, struct err *err);
/* ,"context":... where there is one. */
void args_put_context(struct jbuf *b, const struct bytes *context);

#endif
