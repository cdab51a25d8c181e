/* The commands. Each takes parsed options and returns the exit status. */
#ifndef BRIG_AGENT_CMD_H
#define BRIG_AGENT_CMD_H

#include "agent/options.h"
#include "jail/base/version.h"

int cmd_audit(const struct options *opt);
int cmd_approvals(const struct options *opt);
int cmd_approve(const struct options *opt);
int cmd_deny(const struct options *opt);
int cmd_call(const struct options *opt);
int cmd_run(const struct options *opt);
int cmd_why(const struct options *opt);
int cmd_policy(const struct options *opt);
int cmd_profile(const struct options *opt);
int cmd_tool(const struct options *opt);
int cmd_session(const struct options *opt);
int cmd_doctor(const struct options *opt);
int cmd_status(const struct options *opt);
int cmd_list(const struct options *opt);
int cmd_cancel(const struct options *opt);
int cmd_metrics(const struct options *opt);
int cmd_pool(const struct options *opt);
int cmd_reload(const struct options *opt);
int cmd_drain(const struct options *opt);

#endif
