/* brigd: keeper, the privileged role. It starts core, audit and the zygotes, starts
 * core and audit again when they end, owns the control groups, and answers
 * fixed messages (keeper_proto.h, audit_proto.h). It parses nothing that a client
 * wrote: its input is the command line, the configuration file, the kernel's
 * pseudo-files, the account files (lane.h, config.h) and slot numbers. */
#ifndef BRIG_SUPERVISOR_KEEPER_H
#define BRIG_SUPERVISOR_KEEPER_H

#include "jail/base/err.h"
#include "supervisor/cgroup.h"
#include "supervisor/config.h"
#include "supervisor/keeper_proto.h"
#include "supervisor/lane.h"
#include "supervisor/listener.h"
#include "supervisor/load.h"
#include "supervisor/profile.h"
#include "supervisor/store_files.h"
#include "supervisor/zygote_start.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct keeper_boot {
	int client_fd;                  /* private supervisor: the client's connection, becomes core's; -1: serve sockets */
	pid_t client_pid;               /* the brig that made it, if it is our parent, else 0 */
	struct load_from from;          /* where these two are read again */
	struct profile_store *profiles, *policy; /* raw texts; each core gets a copy by fork */
	struct config config;
	const char *zygote_path; /* NULL: beside our own binary */
};

/* Takes a lane, opens the control groups, forks core, drops privilege and serves.
 * A private supervisor ends with its core and returns core's exit status (128+N for
 * signal N). A daemon starts core again when it ends, until a signal ends
 * all, and returns one of the exit statuses of brigd(8), reason on
 * stderr. Leaves nothing behind. */
int keeper_main(struct keeper_boot *boot);

/* A role that the keeper starts, and starts again when it ends by itself. */
struct keeper_child {
	pid_t pid;
	int pidfd, sock;    /* -1 while it does not run */
	int64_t started_ms;
	int64_t again_ms;   /* a start is due then; 0: none is */
	unsigned failures;  /* ends in a row, each soon after its start */
	char end[80];       /* how the one before ended: "signal 9"; "": there was none */
};

struct keeper {
	struct keeper_boot *boot;
	bool daemon;
	struct lane lane;
	struct cgroup_host host;
	struct cgroup *slots[LIMIT_SLOTS];
	struct zygote zygotes[KEEPER_ZYGOTES]; /* pidfd -1: free */
	uint32_t last_gen;
	uint64_t last_groups; /* id of a struct zygote_groups */
	int lifeline[2]; /* nobody ever writes; the kernel closes [1] with us */
	int image_fd, signal_fd;
	sigset_t mask;   /* as we were started */
	struct listener listener;
	struct keeper_child core;
	uint32_t core_starts;
	uint64_t core_instance; /* random, never 0: whose records the log has */
	int mounts_fd;  /* the workspace, once for each slot; -1: none */
	int store_fd[STORE_FILES]; /* of the registry; -1: nobody asked for it yet */
	struct keeper_child audit;
	int audit_dir;          /* state_dir/audit; -1: nothing is recorded */
	bool audit_ready;
	int audit_err;          /* of its start */
	char audit_why[160];    /* that in words, or how the last one ended; "" at first */
	uint64_t audit_rotated; /* number of the last rotation */
	struct keeper_child courier;
	int courier_image;      /* its program; -1: there is nobody to reach */
	bool courier_ready;
	struct loaded next;     /* read again, and not yet taken by core */
	bool next_pending;
	bool core_ready;   /* this core said READY */
	bool served;       /* one did: from then on one that ends is replaced */
	int64_t alive_ms;  /* core's last sign of life */
	unsigned signals;  /* that told us to end */
	int64_t leave_ms;  /* core has to be gone by then; 0: it need not */
	bool reload_due;   /* SIGHUP came while no core was ready */
	bool over;         /* the loop ends */
	int status;        /* what we end with */
};

int64_t keeper_now_ms(void); /* CLOCK_MONOTONIC */

/* keeper_loop.c: serves until k->over. */
void keeper_loop(struct keeper *k);

/* keeper_child.c */
/* A new socket to the child that is forked next; its end goes to *ret_theirs. */
int keeper_child_pair(struct keeper_child *c, int *ret_theirs, struct err *err);
/* After fork(), whose answer is pid. On failure the socket is closed. */
int keeper_child_forked(struct keeper_child *c, pid_t pid, const char *name, struct err *err);
void keeper_child_signal(const struct keeper_child *c, int sig);
/* False while it runs. */
bool keeper_child_reap(struct keeper_child *c, siginfo_t *ret);
/* Sets when the next start is due. */
void keeper_child_again(struct keeper_child *c);
/* In a child: everything but these, and the standard ones, goes. */
void keeper_close_others(const int *keep, size_t count);

/* keeper_core.c */
int keeper_core_start(struct keeper *k, struct err *err);
/* Core has ended: reaps it, ends what it used, and ends the loop or sets the time of the next start. */
void keeper_core_ended(struct keeper *k);
/* A start that is due. */
void keeper_core_again(struct keeper *k);

/* keeper_reload.c. Reads again; a sealed memfd for core, or -errno. */
int keeper_reload_read(struct keeper *k);
void keeper_reload_take(struct keeper *k);
void keeper_reload_refused(struct keeper *k);
void keeper_reload_drop(struct keeper *k);

/* Every zygote with all its jails, and every control group. Bounded. */
void keeper_jails_end(struct keeper *k);

/* keeper_audit.c. Only in a daemon. Open: before the drop of privilege. Start: waits until the log can be written, else says why not. */
int keeper_audit_open(struct keeper *k, struct err *err);
int keeper_audit_start(struct keeper *k, struct err *err);
void keeper_audit_msg(struct keeper *k);
void keeper_audit_ended(struct keeper *k);
void keeper_audit_again(struct keeper *k);
/* Core's end of a new pair to it. EAGAIN: it is being started. */
/* A file of the log, to read: the oldest whose name is at least that number, or audit.log with 0; before: the youngest of a lower one. -errno. */
int keeper_audit_look(struct keeper *k, uint64_t number, bool before, uint64_t *ret_number);
int keeper_audit_pair(struct keeper *k, int *ret_fd, struct err *err);
/* After core: waits (bounded) until the last line is written. */
void keeper_audit_finish(struct keeper *k, const char *why);

/* keeper_courier.c. Only in a daemon, and only where the configuration names somebody. Start: waits until it has given up what it can. */
int keeper_courier_open(struct keeper *k, struct err *err);
void keeper_courier_msg(struct keeper *k);
void keeper_courier_ended(struct keeper *k);
void keeper_courier_again(struct keeper *k);
int keeper_courier_pair(struct keeper *k, int *ret_fd, struct err *err);
void keeper_courier_finish(struct keeper *k);

/* keeper_mounts.c. Before the drop of privilege: a mount of the workspace for each slot, where ids are ours to give. */
int keeper_mounts_open(struct keeper *k, struct err *err);

/* keeper_store.c. Core's first question for the registry. Its files stay with the keeper for the next core. */
int keeper_store_open(struct keeper *k, struct err *err);
void keeper_store_close(struct keeper *k);

/* One message of core: receive, check, handle, answer. 0; 1 at end of file; -errno when
 * core broke the protocol, which ends it. */
int keeper_serve(struct keeper *k);

/* Gives up every capability that the loop does not need and proves it. may_map: ids are ours to give (root). */
int keeper_caps_drop(bool may_map, struct err *err);

#endif
