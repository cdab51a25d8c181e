/* brig doctor's proof: a real jail is built, looked at and thrown away. Core only. */
#ifndef BRIG_SUPERVISOR_TRIAL_H
#define BRIG_SUPERVISOR_TRIAL_H

#include "supervisor/client.h"

#include <stddef.h>

/* Answers the request when the trial jail parked or failed. */
void trial_start(struct client *client, const char *rpc_id, size_t rpc_id_len);

#endif
