/* Core's handle of one jail, from SPAWN to the removed cgroup. Single use: the
 * states only go forward.
 *
 *   WAITING    for its zygote
 *   SPAWNING   SPAWN sent
 *   ENTERING   in its cgroup, GO sent
 *   LOCKED     every layer on; listener and namespaces are being fetched
 *   PARKING    read back from the kernel, PARK sent
 *   PARKED     waits for a request; may be taken once
 *   RUNNING    received the first byte of a request; a session's jail stays so from call to call
 *   DYING      killed or ended; waiting for its status and the cgroup's removal, however long: its slot is nobody else's
 *   GONE       nothing is left of it
 */
#ifndef BRIG_SUPERVISOR_JAIL_H
#define BRIG_SUPERVISOR_JAIL_H

#include "jail/status.h"
#include "supervisor/receipt.h"
#include "supervisor/zygote.h"

enum jail_state { JAIL_WAITING, JAIL_SPAWNING, JAIL_ENTERING, JAIL_LOCKED, JAIL_PARKING, JAIL_PARKED, JAIL_RUNNING, JAIL_DYING, JAIL_GONE };

/* What the owner is told. */
enum jail_news {
	JAIL_NEWS_PARKED, /* may be given a request */
	JAIL_NEWS_FAILED, /* never parked: failed_layer and why say what stopped it; GONE follows */
	JAIL_NEWS_DENIED, /* the notification listener fired: denied_* */
	JAIL_NEWS_ENDED,  /* PID 1 ended: exited, wait_status; GONE follows */
	JAIL_NEWS_GONE,   /* cgroup removed, usage final; or it does not die, and we wait no longer. The handle is not the owner's after this */
};
typedef void (*jail_fn)(struct jail *jail, enum jail_news news, void *arg);

struct jail {
	LIST_ENTRY(jail) link;
	struct core *core;
	struct zygote *zygote;
	enum jail_state state;
	uint64_t seq;
	unsigned slot;
	bool has_slot, has_cgroup;
	uint64_t groups;       /* it enters its control groups by itself, with what the keeper gave the zygote under this id; 0: it is moved */
	bool pooled;           /* the pool's: waits, or will, for a call that is not there yet */
	int pidfd;
	pid_t pid;             /* valid while pidfd is held and not reaped */
	int status_fd, listener_fd, tmp_fd;
	int stdout_fd, stderr_fd, request_fd, result_fd; /* core's ends; the owner may take them once RUNNING */
	int child_fds[ZSPAWN_FDS];
	struct event *status_ev, *listener_ev, *timer;
	jail_fn fn;
	void *arg;
	struct receipt receipt;
	enum layer failed_layer;
	bool failed, internal; /* internal: the supervisor's own part failed, not a layer */
	struct err why;
	bool denied;
	uint32_t denied_arch;
	int denied_nr;
	pid_t denied_pid;
	bool exited, killed;   /* killed: by us */
	bool ended;            /* no process of it is left that we know of; its group may still have to go */
	bool told;             /* its owner heard GONE */
	uint64_t dying_ns;     /* since when it is DYING */
	uint32_t bury_ms;      /* pause before the keeper is asked for its group again */
	int wait_status;       /* of PID 1, or of the tool under an init */
	bool tool_ended;       /* ENDED came from the init */
	uint64_t cpu_us;       /* once exited: set-up and tool together, where no cgroup tells them apart */
	struct cgroup *view;   /* of its control group, from PARKED on; NULL where there is none */
	struct cgroup_usage usage;
	bool usage_known;
	uint64_t stage_ns[STAGE_COUNT];
	uint64_t spawn_ns, fork_ns; /* SPAWN to PARKED; inside clone3 */
	uint64_t parked_ns;    /* when it parked; 0: not yet */
};

/* Where an error stands that says: no room now, ask again (all slots or all zygotes are in use). */
#define JAIL_NO_ROOM "room"

/* Starts one. News come to fn later, from the event loop. On failure what was begun ends by itself, without news. */
int jail_spawn(struct zygote *z, jail_fn fn, void *arg, struct jail **ret, struct err *err);
/* A parked one for this zygote, or NULL. It is the caller's from now on. */
struct jail *jail_take_parked(struct zygote *z, jail_fn fn, void *arg);
/* From now on news go there. */
void jail_own(struct jail *jail, jail_fn fn, void *arg);
/* Usage begins anew, as far as the kernel can; the view of the control group comes with it. */
int jail_count_from_here(struct jail *jail, struct err *err);
/* A parked jail is about to be given a request. Usage counts from when it parked: it slept since. */
void jail_begin(struct jail *jail);
/* Reads the usage so far into jail->usage. */
void jail_usage(struct jail *jail);
/* Takes a notification that waits on the listener right now (news DENIED). */
void jail_check_denied(struct jail *jail);
/* Every process of it dies now; ENDED and GONE follow. Harmless when it is dying already. */
void jail_kill(struct jail *jail);
/* No more news to the owner; the jail is killed and cleaned up on its own. */
void jail_abandon(struct jail *jail);
/* Is anybody waiting for a jail of this zygote, or for its end? */
bool jail_zygote_in_use(const struct zygote *z);
/* Slots that no jail has. */
unsigned jail_slots_free(const struct core *core);
/* The zygote became READY or died. */
void jail_zygote_changed(struct zygote *z);
/* A message of the zygote about one of its jails. fds are taken. */
void jail_zygote_msg(struct zygote *z, const struct zygote_msg *msg, int *fds, unsigned nfds);
const char *jail_state_name(enum jail_state state);
/* /tmp of the jail has no block or no inode left now. */
bool jail_tmp_full(const struct jail *jail);

#endif
