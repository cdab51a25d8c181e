/* What an operator chose for this supervisor (brigd.conf(5)), as one flat struct:
 * the keeper reads the file and checks it, core and audit get it by fork, and by
 * a sealed memfd at a reload. All times are in milliseconds. */
#ifndef BRIG_SUPERVISOR_CONFIG_H
#define BRIG_SUPERVISOR_CONFIG_H

#include "jail/base/err.h"
#include "jail/spec.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Ids that may use one socket, by name or number in the file. */
#define CONFIG_UIDS_MAX 32
/* Names in a list of profiles. */
#define CONFIG_PROFILES_MAX 32
/* sun_path of unix(7) without the ".new" that a socket has until it listens; its NUL included. */
#define CONFIG_SOCKET_MAX 104
#define CONFIG_URL_MAX 1024

struct config_socket {
	char path[CONFIG_SOCKET_MAX];
	uint32_t uid, gid; /* owner of the file */
	uint32_t mode;
	uint32_t uids[CONFIG_UIDS_MAX]; /* who may connect, whatever the mode lets through; our own uid always may */
	uint32_t uid_count;
	bool any_uid; /* "*" */
};

/* Users without a socket: who is trusted more. */
struct config_uids {
	uint32_t uid[CONFIG_UIDS_MAX];
	uint32_t count;
};

struct config_names {
	char name[CONFIG_PROFILES_MAX][SPEC_NAME_MAX];
	uint32_t count;
	bool any; /* "*" */
};

enum log_format { LOG_AUTO, LOG_TEXT, LOG_JSON, LOG_JOURNAL };

struct config {
	char path[PATH_MAX]; /* the file, "" where there is none; for messages */
	char run_dir[PATH_MAX], state_dir[PATH_MAX], profiles_dir[PATH_MAX];
	char workspace[PATH_MAX]; /* the directory that profiles call @workspace; "": none */
	char policy[PATH_MAX]; /* absolute paths with a blank between; "": the shipped one */
	struct config_socket agent, admin;

	/* Who may hold how much: for each uid, and all together. */
	uint32_t connections_per_uid, connections_max;
	uint32_t calls_per_uid;         /* queued and running */
	uint64_t queued_bytes_per_uid;  /* requests that wait */
	uint32_t unread_ms;             /* a client that reads none of its answers for so long is dropped */

	/* The queue. */
	uint32_t running_max;           /* calls in jails at once, at most LIMIT_SLOTS */
	uint32_t running_per_uid;       /* of them, of one uid: the others find room at once */
	uint32_t queue_max;             /* calls that wait, of all clients */
	uint32_t queue_wait_ms;         /* longer in the queue: busy */

	/* The pool; warm and max stand in each profile. */
	uint32_t forks_max;             /* jails of all profiles that are being set up for it at once */
	uint32_t pool_idle_ms;          /* no arrival for so long: back to `warm` */
	uint32_t generation_calls, generation_ms; /* a zygote is replaced after */
	struct config_names prewarm;    /* profiles whose pool is filled at start */

	struct config_names profiles;   /* that agent.sock may name */
	char default_profile[SPEC_NAME_MAX];
	bool allow_best_effort;         /* agent.sock may ask for it */

	uint32_t sessions_per_uid, session_idle_ms, session_life_ms;

	bool allow_tool_creation;       /* agents may create and replace tools */
	uint32_t max_custom_tools;      /* that there are at one time */
	uint32_t max_rebuilds;          /* changes of the set of tools by agents, in the life of a supervisor */
	struct config_uids trust_elevated, trust_admin; /* of who comes over agent.sock; nobody else raises trust */
	uint32_t approval_ms, approvals_per_uid;        /* a question is open so long; so many of one uid */
	uint32_t quarantine_after;      /* calls that the kernel stopped for a denied action; 0: never */
	char decision_url[CONFIG_URL_MAX]; /* asked by the courier (courier_proto.h) whether a call that the policy allows may run; "": nobody is */
	uint32_t decision_ms;

	bool audit;                     /* false only in a private supervisor */
	uint64_t audit_rotate_bytes;
	uint32_t audit_sync_ms;         /* fdatasync at least so often; 0: before each acknowledgement */

	enum log_format log_format;
	uint32_t log_level;             /* of syslog(3), 0 to 7 */
	uint32_t drain_ms;              /* at SIGTERM, what runs has so long */
	uint32_t warm;                  /* private supervisor: --warm N */
};

/* What holds without a file. Places that cannot be told are "", which config_read() refuses where the file names none.
 * For root /run/brig and /var/lib/brig; for others below XDG_RUNTIME_DIR and XDG_STATE_HOME;
 * BRIG_STATE, where set, replaces both. */
int config_defaults(struct config *ret, struct err *err);

/* Room for every key of the file. */
#define CONFIG_KEYS_MAX 96

/* Where each value came from: the place of the key in the file, or line 0 for a default. By row of the table of keys. */
struct config_origin {
	struct {
		uint32_t line, column;
	} at[CONFIG_KEYS_MAX];
};

/* The whole text of a file over the defaults that stand in *config. name is for messages. On failure, whose place
 * (name:line:column) is in err->where, *config is not as it was. */
int config_parse(struct config *config, struct config_origin *ret, const char *name, const char *text, size_t len, struct err *err);
/* Defaults, then the file; one that is not there is as good as empty unless it was named. It must belong to
 * root or to us, and nobody else may write it. */
int config_read(struct config *ret, struct config_origin *ret_origin, const char *path, bool named, struct err *err);
/* The file that is read where none is named: /etc/brig/brigd.conf for root, else below XDG_CONFIG_HOME. "" where there is no such place. */
void config_default_path(char *ret, size_t cap);
/* Refuses what a running supervisor cannot take over, naming the key. */
int config_reload_check(const struct config *now, const struct config *next, const struct config_origin *origin, struct err *err);
/* Do the profiles that it names exist? names[count], sorted or not. */
int config_profiles_check(const struct config *config, const struct config_origin *origin, const char *const *names, size_t count, struct err *err);
/* Every key with its value and where that came from, as a file that config_parse() takes. */
void config_print(const struct config *config, const struct config_origin *origin, FILE *out);

#endif
