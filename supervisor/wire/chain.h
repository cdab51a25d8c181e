/* The chain of the audit log: JSON lines, each of which ends
 *
 *     ...,"prev":"<hash of the line before>","hash":"<SHA-256 of this line up to here>"}
 *
 * and begins {"seq":N, counting from 1 over all files of the log. A line that is cut by the death of its writer stays where it
 * is; the next line is then a record of kind "torn" that carries the length and hash of the cut bytes, and only that is sound.
 * Written by brigd: audit, read again by it at its start and by `brig audit verify`. */
#ifndef BRIG_WIRE_CHAIN_H
#define BRIG_WIRE_CHAIN_H

#include "supervisor/wire/json.h"

#include <sha2.h>
#include <stdint.h>

#define CHAIN_HEX 64
/* The file that grows, and those that were put away: with the number of a record that is in them, or their last, in digits
 * enough for any, so that names sort as the records do. */
#define CHAIN_LOG_NAME "audit.log"
#define CHAIN_OLD_NAME "audit-%020llu.log"
bool chain_is_old_name(const char *name);
/* The longest is a "file" record that lists the open calls (AUDIT_OPEN_MAX ids of 35 bytes). Readers hold one line. */
#define CHAIN_LINE_MAX (256u << 10)

/* The last sound record; before the first: 0 and zeros. */
struct chain {
	uint64_t seq;
	char hash[CHAIN_HEX + 1];
};

void chain_init(struct chain *c);
/* Begins a line: {"seq":N. Members follow, each with its comma in front. */
void chain_open(const struct chain *c, struct jbuf *b);
/* Ends the line that begins at b->data + start, its line feed included; c is then that record. */
void chain_close(struct chain *c, struct jbuf *b, size_t start);

/* SHA-256 as 64 hex digits and a NUL. */
void chain_hash(const void *bytes, size_t len, char ret[CHAIN_HEX + 1]);

enum chain_seen {
	CHAIN_SOUND,   /* the next record */
	CHAIN_TORN,    /* the next record, and it accounts for the unsound bytes before it */
	CHAIN_UNSOUND, /* no record: sound only if a "torn" record follows */
	CHAIN_BREAK,   /* a record, but not the next one, or unsound bytes before it are not accounted for */
};

/* A walk over the lines of a log, first to last, file after file. */
struct chain_walk {
	struct chain last;
	bool begun;          /* a record was seen */
	bool unsound;        /* bytes wait for a "torn" record */
	uint64_t bad_bytes;
	SHA2_CTX bad;
	char why[160];       /* of UNSOUND and BREAK */
};

void chain_walk_init(struct chain_walk *w);
/* One line, with its line feed where it has one. After CHAIN_BREAK the walk goes on from this record. */
enum chain_seen chain_walk_line(struct chain_walk *w, const char *line, size_t len);

/* More bytes that a "torn" record will account for, and their hash. */
void chain_walk_unsound(struct chain_walk *w, const char *bytes, size_t len);
void chain_walk_hash(const struct chain_walk *w, char ret[CHAIN_HEX + 1]);

/* Calls fn for each line of a file from where fd stands, line feed included where there is one; a line over CHAIN_LINE_MAX comes
 * in parts of that length, which are no records. fn ends it by returning other than 0. Returns that, 0, or -errno. */
int chain_lines(int fd, int (*fn)(const char *line, size_t len, void *arg), void *arg);

#endif
