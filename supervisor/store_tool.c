/* Tools in the embedded store. */
#include "supervisor/store_impl.h"

#include "supervisor/wire/json.h"

#include "supervisor/wall_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_WITH(body)                                                                                                                \
	"name, version, hash, description, parameters, " body ", permissions, inferred, profile, profile_text, state, why, uid, session, user_id," \
	" created_ms, kernel_denials"
#define COLUMNS COLUMNS_WITH("body")
/* Of many at once: bodies are a megabyte each, and who asks for a list wants none. */
#define COLUMNS_OF_EACH COLUMNS_WITH("''")

static int bad_row(const char *what, struct err *err)
{
	err_set(err, ERR_HOST, EBADMSG, "registry", "a row of the registry has %s that cannot be", what);
	err_hint(err, "somebody else wrote to it: put a good copy of registry/registry.db back");
	return -EBADMSG;
}

/* The file may have been changed by anybody who could: what decides something is checked again. */
static int row_check(struct tool *t, bool whole, const char *permissions, int64_t state, struct err *err)
{
	char hash[TOOL_HASH_MAX];
	struct json_error je;

	if (!permissions || json_check(permissions, strlen(permissions), JSON_OBJECT, 4, &je) < 0 ||
	    permissions_parse(permissions, strlen(permissions), &t->declared, err) < 0)
		return bad_row("permissions", err);
	if (state < 0 || state >= TOOL_STATE_COUNT)
		return bad_row("a state", err);
	t->state = (enum tool_state)state;
	if (tool_name_check(t->name, strlen(t->name), err) < 0)
		return bad_row("a name", err);
	if (!whole)
		return 0;
	tool_hash(t, hash);
	return strcmp(hash, t->hash) == 0 ? 0 : bad_row("a content hash", err);
}

static int row_take(sqlite3_stmt *stmt, bool whole, struct tool **ret, struct err *err)
{
	struct tool *t = calloc(1, sizeof(*t));
	bool oom = !t;
	int r;

	if (t) {
		store_text_into(stmt, 0, t->name, sizeof(t->name));
		t->version = (uint32_t)sqlite3_column_int64(stmt, 1);
		store_text_into(stmt, 2, t->hash, sizeof(t->hash));
		t->description = store_text(stmt, 3, &oom);
		t->parameters = store_text(stmt, 4, &oom);
		t->body = store_text(stmt, 5, &oom);
		t->inferred = sqlite3_column_int(stmt, 7) != 0;
		store_text_into(stmt, 8, t->profile, sizeof(t->profile));
		t->profile_text = store_text(stmt, 9, &oom);
		t->why = store_text(stmt, 11, &oom);
		t->uid = (uint32_t)sqlite3_column_int64(stmt, 12);
		store_text_into(stmt, 13, t->session, sizeof(t->session));
		store_text_into(stmt, 14, t->user_id, sizeof(t->user_id));
		t->created_ms = sqlite3_column_int64(stmt, 15);
		t->kernel_denials = (uint32_t)sqlite3_column_int64(stmt, 16);
	}
	r = oom ? err_set(err, ERR_HOST, ENOMEM, "registry", "no memory") :
		  row_check(t, whole, (const char *)sqlite3_column_text(stmt, 6), sqlite3_column_int64(stmt, 10), err);
	if (r < 0) {
		tool_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

static int take_one(sqlite3_stmt *stmt, void *arg, struct err *err)
{
	int r = row_take(stmt, true, arg, err);

	return r < 0 ? r : 1;
}

static int one(struct store *s, sqlite3_stmt *stmt, struct tool **ret, struct err *err)
{
	int r = store_rows(s, stmt, take_one, ret, err);

	return r == 1 ? 0 : r == 0 ? -ENOENT : r;
}

int store_tool_get(struct store *s, const char *name, struct tool **ret, struct err *err)
{
	return one(s, store_prepare(s, err, "SELECT " COLUMNS " FROM tool WHERE name = ? AND current = 1", "t", name), ret, err);
}

int store_tool_by_hash(struct store *s, const char *hash, struct tool **ret, struct err *err)
{
	return one(s, store_prepare(s, err, "SELECT " COLUMNS " FROM tool WHERE hash = ? ORDER BY id DESC LIMIT 1", "t", hash), ret, err);
}

struct visit {
	int (*fn)(const struct tool *tool, void *arg);
	void *arg;
};

static int take_visit(sqlite3_stmt *stmt, void *arg, struct err *err)
{
	const struct visit *v = arg;
	struct tool *t;
	int r = row_take(stmt, false, &t, err);

	if (r < 0)
		return r;
	int over = v->fn(t, v->arg);
	tool_free(t);
	return over ? 1 : 0;
}

static int each(struct store *s, sqlite3_stmt *stmt, int (*fn)(const struct tool *tool, void *arg), void *arg, struct err *err)
{
	int r = store_rows(s, stmt, take_visit, &(struct visit){ fn, arg }, err);

	return r < 0 ? r : 0;
}

int store_tool_each(struct store *s, bool all, int (*fn)(const struct tool *tool, void *arg), void *arg, struct err *err)
{
	return each(s,
		    store_prepare(s, err,
				  all ? "SELECT " COLUMNS_OF_EACH " FROM tool ORDER BY name, version" :
					"SELECT " COLUMNS_OF_EACH " FROM tool WHERE current = 1 ORDER BY name",
				  ""),
		    fn, arg, err);
}

int store_tool_versions(struct store *s, const char *name, int (*fn)(const struct tool *tool, void *arg), void *arg, struct err *err)
{
	return each(s, store_prepare(s, err, "SELECT " COLUMNS_OF_EACH " FROM tool WHERE name = ? ORDER BY version", "t", name), fn, arg, err);
}

/* ---- changes ---- */

static int changed(struct store *s, struct err *err)
{
	return store_run(s, store_prepare(s, err, "UPDATE counter SET value = value + 1 WHERE name = 'generation'", ""), NULL, err);
}

int store_tool_generation(struct store *s, uint64_t *ret, struct err *err)
{
	int64_t value = 0;
	int r = store_number(s, store_prepare(s, err, "SELECT value FROM counter WHERE name = 'generation'", ""), &value, err);

	*ret = (uint64_t)value;
	return r;
}

/* May this version be added beside what is there? Fills its number. */
static int add_check(struct store *s, struct tool *t, bool replace, unsigned limit, struct err *err)
{
	int64_t count = 0, last = 0;
	struct tool *now = NULL;
	int r = store_tool_get(s, t->name, &now, err);

	if (r < 0 && r != -ENOENT)
		return r;
	bool same = now && strcmp(now->hash, t->hash) == 0;
	tool_free(now);
	if (r == 0 && !replace)
		return -EEXIST;
	if (r == -ENOENT && replace)
		return -ENOENT;
	if (same)
		return -EALREADY;
	if (!replace) {
		r = store_number(s, store_prepare(s, err, "SELECT count(*) FROM tool WHERE current = 1", ""), &count, err);
		if (r < 0)
			return r;
		if (count >= limit)
			return -EDQUOT;
	}
	r = store_number(s, store_prepare(s, err, "SELECT coalesce(max(version), 0) FROM tool WHERE name = ?", "t", t->name), &last, err);
	t->version = (uint32_t)last + 1;
	return r;
}

/* The kernel's denials go on with the name: a new version is no way out of quarantine. */
static int add_row(struct store *s, const struct tool *t, struct err *err)
{
	struct jbuf p;

	jbuf_init(&p, 1024);
	permissions_print(&t->declared, &p);
	if (p.failed) {
		jbuf_done(&p);
		return err_set(err, ERR_HOST, ENOMEM, "registry", "no memory");
	}
	sqlite3_stmt *stmt = store_prepare(s, err,
					   "INSERT INTO tool (" COLUMNS ", current) VALUES (?1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
					   " (SELECT coalesce(max(kernel_denials), 0) FROM tool WHERE name = ?1), 1)",
					   "tutttttuttututti", t->name, t->version, t->hash, t->description, t->parameters, t->body,
					   p.data, (uint32_t)t->inferred, t->profile, t->profile_text, (uint32_t)t->state, t->why, t->uid,
					   t->session, t->user_id, t->created_ms);
	jbuf_done(&p);
	return store_run(s, stmt, NULL, err);
}

int store_tool_add(struct store *s, struct tool *t, bool replace, unsigned limit, struct err *err)
{
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	tool_hash(t, t->hash);
	t->created_ms = wall_now_ms();
	r = add_check(s, t, replace, limit, err);
	if (r == 0)
		r = store_run(s, store_prepare(s, err, "UPDATE tool SET current = 0 WHERE name = ? AND current = 1", "t", t->name), NULL, err);
	if (r == 0)
		r = add_row(s, t, err);
	if (r == 0)
		r = changed(s, err);
	return store_end(s, r, err);
}

int store_tool_state(struct store *s, const char *hash, enum tool_state from, enum tool_state to, const char *why, struct err *err)
{
	int rows = 0, r = store_begin(s, err);

	if (r < 0)
		return r;
	r = store_run(s,
		      store_prepare(s, err, "UPDATE tool SET state = ?, why = ?, current = ? WHERE hash = ? AND state = ? AND current = 1", "ututu",
				    (uint32_t)to, why, (uint32_t)(to != TOOL_REMOVED), hash, (uint32_t)from),
		      &rows, err);
	if (r == 0 && rows == 0)
		r = -ESTALE;
	if (r == 0)
		r = changed(s, err);
	return store_end(s, r, err);
}

int store_tool_denied(struct store *s, const char *hash, uint32_t *ret, struct err *err)
{
	int64_t count = 0;
	int r = store_number(s,
			     store_prepare(s, err,
					   "UPDATE tool SET kernel_denials = kernel_denials + 1 WHERE id = (SELECT max(id) FROM tool WHERE hash = ?)"
					   " RETURNING kernel_denials",
					   "t", hash),
			     &count, err);

	*ret = (uint32_t)count;
	return r;
}
