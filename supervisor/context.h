/* What a caller says of itself beside the arguments of a call, and what a tool asks it: the parameter `context` of `run` and `call`,
 * and error.asks of a result. Neither has any say in what is allowed. Core only. */
#ifndef BRIG_SUPERVISOR_CONTEXT_H
#define BRIG_SUPERVISOR_CONTEXT_H

#include "jail/base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* {"inputs":{KEY:{"action":...,"content":{...}?}}?,"capabilities":[...]?} and nothing else, in an object that json_check() accepted.
 * -EINVAL or -E2BIG with *err. */
int context_check(const char *raw, size_t len, struct err *err);

/* What a jail sent as its questions: {KEY:{"message":S,"schema":{...}}}, within its bounds, each schema a flat form. raw: a value in
 * a text that json_check() accepted. */
bool context_asks_check(const char *raw, size_t len);

#endif
