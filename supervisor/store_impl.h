/* Inside the embedded store: statements over one SQLite connection. */
#ifndef BRIG_SUPERVISOR_STORE_IMPL_H
#define BRIG_SUPERVISOR_STORE_IMPL_H

#include "supervisor/store.h"

#include <sqlite3.h>

struct store {
	sqlite3 *db;
};

/* What SQLite says, as an error of the host with what to do; -errno. */
int store_failed(const struct store *s, int rc, const char *what, struct err *err);

/* One statement, prepared, with its parameters bound in order by a format: i int64, u uint32, t text (NULL: null). NULL with *err. */
sqlite3_stmt *store_prepare(struct store *s, struct err *err, const char *sql, const char *format, ...);
/* Runs it to its end and finishes it; *ret_changes (may be NULL) the rows that it changed. NULL stmt: store_prepare() failed, -EIO is
 * returned and *err stays. */
int store_run(struct store *s, sqlite3_stmt *stmt, int *ret_changes, struct err *err);
/* One number of one row. -ENOENT: no row. */
int store_number(struct store *s, sqlite3_stmt *stmt, int64_t *ret, struct err *err);

/* Each row of a prepared statement, which is finished. take: 0 goes on, 1 ends it, -errno fails. Returns the last of these, 0 after
 * the last row, or the store's failure. NULL stmt: as for store_run(). */
int store_rows(struct store *s, sqlite3_stmt *stmt, int (*take)(sqlite3_stmt *stmt, void *arg, struct err *err), void *arg, struct err *err);

/* Around several statements. IMMEDIATE: it writes. End: commits where r is 0, else rolls back; returns r or the failure to commit. */
int store_begin(struct store *s, struct err *err);
int store_end(struct store *s, int r, struct err *err);

/* A text of the row as malloc'd copy, NULL for null; *oom set where there is no memory. */
char *store_text(sqlite3_stmt *stmt, int column, bool *oom);
/* Into a fixed field, cut. */
void store_text_into(sqlite3_stmt *stmt, int column, char *ret, size_t cap);

#endif
