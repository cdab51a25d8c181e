/* How a call ended: one pure function from what was observed outside the jail
 * to one word of the contract. No I/O, no clock, nothing that a jail said
 * beyond "I sent one complete frame of this kind". */
#ifndef BRIG_SUPERVISOR_VERDICT_H
#define BRIG_SUPERVISOR_VERDICT_H

#include "jail/base/names.h"

#include <stdbool.h>
#include <stdint.h>

struct evidence {
	/* Facts from before any kill of ours. */
	bool frame_complete; /* a whole result frame came and its payload is valid */
	bool frame_ok;       /* it is a value, not an error */
	enum outcome gate;   /* OUTCOME_OK: the gate let it through; else how it ended there */
	bool internal;       /* the supervisor itself failed (zygote or keeper gone) */
	bool setup_failed;   /* never reached PARKED */
	bool busy;           /* there was no room to begin */
	bool cancelled;      /* by the client, or the client left */
	bool syscall;        /* the notification listener fired */
	bool result_over;    /* more result bytes arrived than the profile keeps */
	bool cpu_over;       /* cgroup usage reached limits.cpu, or SIGXCPU's hard limit with it */
	bool wall_over;      /* limits.wall passed */
	uint64_t oom_kills;  /* memory cgroup */
	/* The end of PID 1, or of the tool under an init. */
	bool exited;         /* wait_status holds */
	int wait_status;     /* raw */
	bool we_killed;      /* SIGKILL came from us after one of the facts above */
};

enum outcome verdict_of(const struct evidence *ev);

#endif
