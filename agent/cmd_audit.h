/* The actions of brig audit. Each returns the exit status. */
#ifndef BRIG_AGENT_CMD_AUDIT_H
#define BRIG_AGENT_CMD_AUDIT_H

#include "agent/options.h"
#include "agent/show.h"

int cmd_audit_tail(const struct show *s, const struct options *opt); /* and export */

#endif
