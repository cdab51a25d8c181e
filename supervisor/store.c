/* The store's connection: opened strictly, its schema versioned, its failures told in words. Facts: sqlite.org/c3ref, sqlite.org/wal.html. */
#include "supervisor/store_impl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Other supervisors on this store write for milliseconds. */
#define BUSY_MS 2000
#define BUSY_STEP_MS 20
/* A body, its escapes, its schema and as much again. */
#define ROW_MAX (8 << 20)
/* Growth by a flood of versions or approvals stops here (pages of 4 KiB: 1 GiB). */
#define PAGES_MAX "262144"

/* Each brings a store of the version before to the next; never changed once released. */
static const char *const migrations[] = {
	"CREATE TABLE tool (id INTEGER PRIMARY KEY, name TEXT NOT NULL, version INTEGER NOT NULL, hash TEXT NOT NULL,"
	" description TEXT NOT NULL, parameters TEXT NOT NULL, body TEXT NOT NULL, permissions TEXT NOT NULL, inferred INTEGER NOT NULL,"
	" profile TEXT NOT NULL, profile_text TEXT, state INTEGER NOT NULL, why TEXT, uid INTEGER NOT NULL, session TEXT NOT NULL,"
	" user_id TEXT NOT NULL, created_ms INTEGER NOT NULL, kernel_denials INTEGER NOT NULL DEFAULT 0, current INTEGER NOT NULL,"
	" UNIQUE (name, version)) STRICT;"
	"CREATE UNIQUE INDEX tool_current ON tool (name) WHERE current = 1;"
	"CREATE INDEX tool_hash ON tool (hash);"
	"CREATE TABLE approval (id TEXT PRIMARY KEY, binding TEXT NOT NULL, state INTEGER NOT NULL, tool TEXT NOT NULL, tool_hash TEXT NOT NULL,"
	" profile_digest TEXT NOT NULL, args TEXT NOT NULL, uid INTEGER NOT NULL, session TEXT NOT NULL, rule TEXT NOT NULL, reason TEXT,"
	" uses INTEGER NOT NULL, decided_uid INTEGER NOT NULL, decided_by TEXT NOT NULL, created_ms INTEGER NOT NULL,"
	" expires_ms INTEGER NOT NULL, decided_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE INDEX approval_binding ON approval (binding, uid);"
	"CREATE INDEX approval_state ON approval (state, expires_ms);"
	"CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"INSERT INTO counter VALUES ('generation', 1);",
	/* What the caller says beside the arguments: NULL in nearly all. */
	"ALTER TABLE approval ADD COLUMN context TEXT;",
};
#define VERSION ((int)ARRAY_LEN(migrations))

int store_failed(const struct store *s, int rc, const char *what, struct err *err)
{
	static const struct {
		int rc, code;
		const char *hint;
	} known[] = {
		{ SQLITE_BUSY, EBUSY, "another supervisor writes to it for long; nothing was changed: ask again" },
		{ SQLITE_LOCKED, EBUSY, "another supervisor writes to it for long; nothing was changed: ask again" },
		{ SQLITE_FULL, ENOSPC, "make room where the registry lies (state_dir of brigd.conf); nothing was changed" },
		{ SQLITE_NOTADB, EBADMSG, "move registry/registry.db of the state directory away, or put a good copy there; Brig does not touch it" },
		{ SQLITE_CORRUPT, EBADMSG, "move registry/registry.db of the state directory away, or put a good copy there; Brig does not touch it" },
		{ SQLITE_READONLY, EROFS, "the registry cannot be written: look at state_dir of brigd.conf" },
		{ SQLITE_NOMEM, ENOMEM, "core has no memory left" },
		{ SQLITE_TOOBIG, E2BIG, "a text is larger than the registry takes" },
	};
	int code = EIO;
	const char *hint = "look at the disk that holds the registry (state_dir of brigd.conf)";

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if ((rc & 0xff) == known[i].rc) {
			code = known[i].code;
			hint = known[i].hint;
		}
	err_set(err, ERR_HOST, code, "registry", "cannot %s: %.200s", what, s && s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(rc));
	err_hint(err, "%s", hint);
	return -code;
}

/* ---- statements ---- */

sqlite3_stmt *store_prepare(struct store *s, struct err *err, const char *sql, const char *format, ...)
{
	sqlite3_stmt *stmt = NULL;
	int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
	va_list ap;

	va_start(ap, format);
	for (int i = 0; rc == SQLITE_OK && format[i]; i++) {
		if (format[i] == 'i') {
			rc = sqlite3_bind_int64(stmt, i + 1, va_arg(ap, int64_t));
		} else if (format[i] == 'u') {
			rc = sqlite3_bind_int64(stmt, i + 1, va_arg(ap, uint32_t));
		} else {
			const char *text = va_arg(ap, const char *);
			rc = text ? sqlite3_bind_text(stmt, i + 1, text, -1, SQLITE_TRANSIENT) : sqlite3_bind_null(stmt, i + 1);
		}
	}
	va_end(ap);
	if (rc == SQLITE_OK)
		return stmt;
	store_failed(s, rc, "ask the registry", err);
	sqlite3_finalize(stmt);
	return NULL;
}

int store_run(struct store *s, sqlite3_stmt *stmt, int *ret_changes, struct err *err)
{
	int rc, r = 0;

	if (!stmt)
		return -EIO;
	do
		rc = sqlite3_step(stmt);
	while (rc == SQLITE_ROW);
	if (rc != SQLITE_DONE)
		r = store_failed(s, rc, "write to the registry", err);
	else if (ret_changes)
		*ret_changes = sqlite3_changes(s->db);
	sqlite3_finalize(stmt);
	return r;
}

int store_number(struct store *s, sqlite3_stmt *stmt, int64_t *ret, struct err *err)
{
	int rc, r = 0;

	if (!stmt)
		return -EIO;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(stmt, 0);
	else
		r = rc == SQLITE_DONE ? -ENOENT : store_failed(s, rc, "read the registry", err);
	sqlite3_finalize(stmt);
	return r;
}

int store_rows(struct store *s, sqlite3_stmt *stmt, int (*take)(sqlite3_stmt *stmt, void *arg, struct err *err), void *arg, struct err *err)
{
	int rc = SQLITE_DONE, r = stmt ? 0 : -EIO;

	while (r == 0 && (rc = sqlite3_step(stmt)) == SQLITE_ROW)
		r = take(stmt, arg, err);
	if (r == 0 && rc != SQLITE_DONE)
		r = store_failed(s, rc, "read the registry", err);
	sqlite3_finalize(stmt);
	return r;
}

static int exec(struct store *s, const char *sql, const char *what, struct err *err)
{
	int rc = sqlite3_exec(s->db, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : store_failed(s, rc, what, err);
}

int store_begin(struct store *s, struct err *err)
{
	return exec(s, "BEGIN IMMEDIATE", "begin to write to the registry", err);
}

int store_end(struct store *s, int r, struct err *err)
{
	if (r == 0)
		r = exec(s, "COMMIT", "write to the registry", err);
	if (r != 0)
		(void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

char *store_text(sqlite3_stmt *stmt, int column, bool *oom)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);
	char *copy = text ? strdup(text) : NULL;

	if (!copy && sqlite3_column_type(stmt, column) != SQLITE_NULL)
		*oom = true;
	return copy;
}

void store_text_into(sqlite3_stmt *stmt, int column, char *ret, size_t cap)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	snprintf(ret, cap, "%s", text ? text : "");
}

/* ---- opening ---- */

/* What a database that somebody prepared could make SQLite do beyond what it is asked. */
static void harden(sqlite3 *db)
{
	static const struct {
		int id, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, ROW_MAX },	 { SQLITE_LIMIT_SQL_LENGTH, 16 << 10 }, { SQLITE_LIMIT_COLUMN, 64 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 32 },	 { SQLITE_LIMIT_ATTACHED, 0 },		 { SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_WORKER_THREADS, 0 },	 { SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64 },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		(void)sqlite3_limit(db, limits[i].id, limits[i].most);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	(void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	(void)sqlite3_busy_timeout(db, BUSY_MS);
}

static int version_of(struct store *s, int64_t *ret, struct err *err)
{
	return store_number(s, store_prepare(s, err, "PRAGMA user_version", ""), ret, err);
}

static int migrate(struct store *s, struct err *err)
{
	int64_t version;
	char set[48];
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	r = version_of(s, &version, err); /* again: another supervisor may have been here before us */
	for (; r == 0 && version < VERSION; version++)
		r = exec(s, migrations[version], "prepare the registry", err);
	snprintf(set, sizeof(set), "PRAGMA user_version = %d", VERSION);
	if (r == 0)
		r = exec(s, set, "prepare the registry", err);
	return store_end(s, r, err);
}

/* Of several who make a fresh store at once all but one find it locked, for which SQLite does not wait in this case. */
static int journal_set(struct store *s, struct err *err)
{
	int r;

	for (int waited = 0;; waited += BUSY_STEP_MS) {
		r = exec(s, "PRAGMA journal_mode = WAL", "open the registry", err);
		if (r != -EBUSY || waited >= BUSY_MS)
			return r;
		sqlite3_sleep(BUSY_STEP_MS);
	}
}

static int prepare(struct store *s, struct err *err)
{
	int64_t version = 0;
	int r = journal_set(s, err);

	if (r == 0)
		r = exec(s, "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA max_page_count = " PAGES_MAX, "open the registry", err);
	if (r == 0)
		r = version_of(s, &version, err);
	if (r < 0)
		return r;
	/* The log stays when the last supervisor closes: nobody here may remove a file. */
	(void)sqlite3_file_control(s->db, "main", SQLITE_FCNTL_PERSIST_WAL, &(int){ 1 });
	if (version > VERSION) {
		err_set(err, ERR_HOST, EPROTONOSUPPORT, "registry", "the registry has format %lld, and this version of Brig knows formats up to %d",
			(long long)version, VERSION);
		err_hint(err, "use the newer Brig that wrote it, or another state_dir");
		return -EPROTONOSUPPORT;
	}
	return version < VERSION ? migrate(s, err) : 0;
}

int store_open(struct store **ret, struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc, r;

	if (!s)
		return err_set(err, ERR_HOST, ENOMEM, "registry", "no memory");
	rc = sqlite3_open_v2(STORE_PATH, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, "unix");
	if (rc != SQLITE_OK) {
		r = store_failed(s, rc, "open the registry", err);
		store_close(s);
		return r;
	}
	harden(s->db);
	r = prepare(s, err);
	if (r < 0) {
		store_close(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	(void)sqlite3_close_v2(s->db);
	free(s);
}
