/* Reads an audit log from its first record to its last and proves that each follows from the one before
 * (supervisor/wire/chain.h). One line is held in memory at a time. */
#ifndef BRIG_AGENT_AUDIT_VERIFY_H
#define BRIG_AGENT_AUDIT_VERIFY_H

#include "jail/base/err.h"
#include "supervisor/wire/chain.h"

#define VERIFY_TORN_MAX 64

struct verify_place {
	const char *file; /* borrowed from the list of files */
	uint64_t line;
};

struct verify {
	const char *head;      /* a hash that somebody wrote down: the record must be there; or NULL */
	struct chain_walk walk;
	struct verify_place at;
	uint64_t records, first_seq;
	unsigned files;
	struct verify_place torn[VERIFY_TORN_MAX]; /* records that account for torn bytes before them */
	uint64_t torn_count;
	bool head_found;
	bool unfinished;       /* the break is a last line without its end: maybe it is being written now */
	/* The first break: */
	bool broken;
	struct verify_place where; /* file NULL: of the whole log */
	char what[200];
	struct verify_place unsound; /* file NULL: none waits for its "torn" record */
	char unsound_why[160];
};

/* The files of a log, in order: a directory's, or just those named. */
struct verify_files {
	char **path;
	int *fd; /* opened before the directory was listed, or -1 */
	unsigned count;
};

int verify_files_of_dir(const char *dir, struct verify_files *ret, struct err *err);
int verify_files_named(const char *const *names, unsigned count, struct verify_files *ret, struct err *err);
void verify_files_done(struct verify_files *files);

/* 0: v says what was found. -errno: a file could not be read. */
int verify_run(struct verify *v, const char *head, const struct verify_files *files, struct err *err);

#endif
