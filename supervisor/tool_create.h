/* tool.create, from its parameters over the look at the body in a jail to a row of the registry. Core only. */
#ifndef BRIG_SUPERVISOR_TOOL_CREATE_H
#define BRIG_SUPERVISOR_TOOL_CREATE_H

#include "supervisor/request.h"

extern const struct param params_tool_create[];
void method_tool_create(const struct request *rq);

#endif
