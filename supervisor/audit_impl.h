/* What the files of the audit process share; nobody else includes this. */
#ifndef BRIG_SUPERVISOR_AUDIT_IMPL_H
#define BRIG_SUPERVISOR_AUDIT_IMPL_H

#include "supervisor/audit.h"
#include "supervisor/audit_line.h"
#include "supervisor/audit_proto.h"

#include "jail/base/err.h"

/* Calls that have a begin and no end: all that core may have in its queue and in jails, with room. A "file" record lists them. */
#define AUDIT_OPEN_MAX 7168

struct open_calls {
	char id[AUDIT_OPEN_MAX][AUDIT_ID_MAX];
	unsigned count;
};
bool open_calls_has(const struct open_calls *o, const char *id);
bool open_calls_add(struct open_calls *o, const char *id); /* false: full */
bool open_calls_remove(struct open_calls *o, const char *id);

/* ---- audit_scan.c: what the files say that are there already ---- */

struct audit_scan {
	struct chain_walk walk;
	struct open_calls *open;   /* filled */
	uint64_t core, core_n;     /* whose records came last, and the last one's number; 0: nobody's */
	bool core_lives;           /* no "core_end" after its records */
	bool in_log;               /* a record was found in audit.log itself, not only in the file before */
	bool cut;                  /* audit.log does not end with a line feed */
	uint64_t breaks;           /* records that do not follow the one before: somebody changed the file */
};
/* Reads before_fd (-1: none) only if log_fd holds no record. 0 or -errno. */
int audit_scan(int log_fd, int before_fd, struct open_calls *open, struct audit_scan *ret);

/* ---- audit_log.c: the file that only grows ---- */

struct audit_log {
	int fd;
	int next_fd;            /* what the keeper opened for the records to come, or -1 */
	struct jbuf out;        /* whole lines that are not written yet */
	size_t out_sent;        /* of them, by a write that stopped half way */
	uint64_t size;          /* of the file */
	uint64_t reserved;      /* the disk has room for the file up to here */
	bool cannot_reserve;    /* the file system knows no fallocate */
	bool dirty;             /* written and not synced */
	int err, sync_err;      /* errno of the last try while it fails, else 0 */
};
int audit_log_open(struct audit_log *log, int fd);
/* Disk space for `more` bytes beyond all lines in `out`. 0 or -errno (ENOENT: the file was removed). */
int audit_log_reserve(struct audit_log *log, uint64_t more);
/* Writes what is in `out`; what does not go stays for the next try. 0 or -errno. */
int audit_log_write(struct audit_log *log);
int audit_log_sync(struct audit_log *log);

/* ---- audit_take.c: what core sends ---- */

struct audit {
	struct audit_boot *boot;
	int core_fd, keeper_fd; /* -1 once at their end */
	uint64_t core, core_n;  /* as in struct audit_scan */
	uint64_t acked_n;       /* what core was told of */
	bool core_lives;        /* "core_start" was written and "core_end" not */
	struct chain chain;
	struct audit_log log;
	struct open_calls *open;
	uint64_t rotate_size;   /* AUDIT_ROTATE when the file is so large; 0: never */
	uint64_t before_number; /* of the file that next_fd comes after */
	bool rotating;          /* asked, not answered */
	bool complained;        /* that lines cannot be written */
	uint64_t synced_ms;
	char stop_why[160];
};

/* Lines that wait in memory before no more are taken from core, which keeps them. */
#define AUDIT_OUT_ENOUGH (4u << 20)
/* Everything that core has sent so far, made lines; refusals are answered. False: the socket is at its end.
 * until_empty: whatever waits to be written, for a core that has ended; else only while there is room for it in memory.
 * A core that sends without end is left after what no socket holds: the keeper must be heard. */
bool audit_take_all(struct audit *a, bool until_empty);
/* A line of our own that is about a core or the supervisor. */
void audit_own_line(struct audit *a, enum audit_kind kind, const char *text);
/* The core whose records came last is dead: its open calls end, and a "core_end" follows. */
void audit_core_ended(struct audit *a, const char *cause);
/* Writes, syncs where that comes first, and tells core. */
void audit_settle(struct audit *a);

/* ---- audit_seal.c ---- */

/* Gives up everything but the descriptors that it holds, and proves it by attempts that must fail. */
int audit_seal(bool as_root, uid_t uid, struct err *err);

#endif
