/* Approvals in the embedded store. */
#include "supervisor/store_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                                                    \
	"id, binding, state, tool, tool_hash, profile_digest, args, uid, session, rule, reason, uses, decided_uid, decided_by,"  \
	" created_ms, expires_ms, decided_ms, context"

static const char *const names[] = {
#define X(id, name) [id] = name,
	APPROVAL_STATE_LIST(X)
#undef X
};

const char *approval_state_name(enum approval_state state)
{
	return state < APPROVAL_STATE_COUNT ? names[state] : "unknown";
}

void approval_free(struct approval *a)
{
	if (!a)
		return;
	free(a->args);
	free(a->context);
	free(a->reason);
	free(a);
}

static int row_take(sqlite3_stmt *stmt, struct approval **ret, struct err *err)
{
	struct approval *a = calloc(1, sizeof(*a));
	int64_t state = sqlite3_column_int64(stmt, 2);
	bool oom = !a;

	if (a) {
		store_text_into(stmt, 0, a->id, sizeof(a->id));
		store_text_into(stmt, 1, a->binding, sizeof(a->binding));
		store_text_into(stmt, 3, a->tool, sizeof(a->tool));
		store_text_into(stmt, 4, a->tool_hash, sizeof(a->tool_hash));
		store_text_into(stmt, 5, a->profile_digest, sizeof(a->profile_digest));
		a->args = store_text(stmt, 6, &oom);
		a->uid = (uint32_t)sqlite3_column_int64(stmt, 7);
		store_text_into(stmt, 8, a->session, sizeof(a->session));
		store_text_into(stmt, 9, a->rule, sizeof(a->rule));
		a->reason = store_text(stmt, 10, &oom);
		a->uses = (uint32_t)sqlite3_column_int64(stmt, 11);
		a->decided_uid = (uint32_t)sqlite3_column_int64(stmt, 12);
		store_text_into(stmt, 13, a->decided_by, sizeof(a->decided_by));
		a->created_ms = sqlite3_column_int64(stmt, 14);
		a->expires_ms = sqlite3_column_int64(stmt, 15);
		a->decided_ms = sqlite3_column_int64(stmt, 16);
		a->context = store_text(stmt, 17, &oom);
	}
	if (oom || state < 0 || state >= APPROVAL_STATE_COUNT) {
		approval_free(a);
		return oom ? err_set(err, ERR_HOST, ENOMEM, "registry", "no memory") :
			     err_set(err, ERR_HOST, EBADMSG, "registry", "an approval in the registry has a state that cannot be");
	}
	a->state = (enum approval_state)state;
	*ret = a;
	return 0;
}

static int take_one(sqlite3_stmt *stmt, void *arg, struct err *err)
{
	int r = row_take(stmt, arg, err);

	return r < 0 ? r : 1;
}

static int one(struct store *s, sqlite3_stmt *stmt, struct approval **ret, struct err *err)
{
	int r = store_rows(s, stmt, take_one, ret, err);

	return r == 1 ? 0 : r == 0 ? -ENOENT : r;
}

int store_approval_get(struct store *s, const char *id, struct approval **ret, struct err *err)
{
	return one(s, store_prepare(s, err, "SELECT " COLUMNS " FROM approval WHERE id = ?", "t", id), ret, err);
}

int store_approval_last(struct store *s, const char *binding, uint32_t uid, struct approval **ret, struct err *err)
{
	return one(s,
		   store_prepare(s, err,
				 "SELECT " COLUMNS " FROM approval WHERE binding = ? AND uid = ? AND decided_ms > 0 ORDER BY decided_ms DESC, id LIMIT 1",
				 "tu", binding, uid),
		   ret, err);
}

struct visit {
	int (*fn)(const struct approval *a, void *arg);
	void *arg;
};

static int take_visit(sqlite3_stmt *stmt, void *arg, struct err *err)
{
	const struct visit *v = arg;
	struct approval *t;
	int r = row_take(stmt, &t, err);

	if (r < 0)
		return r;
	int over = v->fn(t, v->arg);
	approval_free(t);
	return over ? 1 : 0;
}

static int each(struct store *s, sqlite3_stmt *stmt, int (*fn)(const struct approval *a, void *arg), void *arg, struct err *err)
{
	int r = store_rows(s, stmt, take_visit, &(struct visit){ fn, arg }, err);

	return r < 0 ? r : 0;
}

/* Two statements: with one for both SQLite would look at all that were ever asked, arguments too, to find the few that are open. */
int store_approval_each(struct store *s, int state, int (*fn)(const struct approval *a, void *arg), void *arg, struct err *err)
{
	return each(s,
		    state < 0 ? store_prepare(s, err, "SELECT " COLUMNS " FROM approval ORDER BY created_ms DESC, id", "") :
				store_prepare(s, err, "SELECT " COLUMNS " FROM approval WHERE state = ? ORDER BY created_ms DESC, id", "u", (uint32_t)state),
		    fn, arg, err);
}

int store_approval_begin_with(struct store *s, const char *prefix, int (*fn)(const struct approval *a, void *arg), void *arg, struct err *err)
{
	/* Ids are hex digits. */
	return each(s, store_prepare(s, err, "SELECT " COLUMNS " FROM approval WHERE id >= ? AND id < ? || 'g'", "tt", prefix, prefix), fn, arg, err);
}

/* ---- asking ---- */

/* A question that is open already is not asked again. 0: add one. */
static int add_check(struct store *s, const struct approval *a, unsigned limit, char ret_id[APPROVAL_ID_MAX], struct err *err)
{
	struct approval *same = NULL;
	int64_t count = 0;
	int r = one(s,
		    store_prepare(s, err, "SELECT " COLUMNS " FROM approval WHERE binding = ? AND uid = ? AND state = ? AND expires_ms > ? LIMIT 1", "tuui",
				  a->binding, a->uid, (uint32_t)APPROVAL_PENDING, a->created_ms),
		    &same, err);

	if (r == 0) {
		memcpy(ret_id, same->id, APPROVAL_ID_MAX);
		approval_free(same);
		return -EALREADY;
	}
	if (r != -ENOENT)
		return r;
	r = store_number(s,
			 store_prepare(s, err, "SELECT count(*) FROM approval WHERE uid = ? AND state = ? AND expires_ms > ?", "uui", a->uid,
				       (uint32_t)APPROVAL_PENDING, a->created_ms),
			 &count, err);
	return r < 0 ? r : count >= limit ? -EDQUOT : 0;
}

/* Who asks decides how many and how large they are; what became of old ones stands in the audit log. Denials stay: they bind. */
static int forget_old(struct store *s, struct err *err)
{
	static const enum approval_state over[] = { APPROVAL_EXPIRED, APPROVAL_USED, APPROVAL_VOID };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(over); i++)
		r = store_run(s,
			      store_prepare(s, err,
					    "DELETE FROM approval WHERE id IN"
					    " (SELECT id FROM approval WHERE state = ? ORDER BY expires_ms DESC LIMIT -1 OFFSET ?)",
					    "uu", (uint32_t)over[i], APPROVALS_KEPT),
			      NULL, err);
	return r;
}

int store_approval_add(struct store *s, const struct approval *a, unsigned limit, char ret_id[APPROVAL_ID_MAX], struct err *err)
{
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	r = add_check(s, a, limit, ret_id, err);
	if (r == 0)
		r = forget_old(s, err);
	if (r == 0) {
		memcpy(ret_id, a->id, APPROVAL_ID_MAX);
		r = store_run(s,
			      store_prepare(s, err, "INSERT INTO approval (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, '', ?, ?, 0, ?)",
					    "ttuttttuttt"
					    "iit",
					    a->id, a->binding, (uint32_t)APPROVAL_PENDING, a->tool, a->tool_hash, a->profile_digest, a->args, a->uid,
					    a->session, a->rule, a->reason, a->created_ms, a->expires_ms, a->context),
			      NULL, err);
	}
	return store_end(s, r, err);
}

/* ---- deciding and using: one statement each, so that of two who race the second finds nothing ---- */

static int state_of(struct store *s, const char *id, enum approval_state *ret, struct err *err)
{
	struct approval *a = NULL;
	int r = store_approval_get(s, id, &a, err);

	if (r == 0)
		*ret = a->state;
	approval_free(a);
	return r;
}

int store_approval_decide(struct store *s, const char *id, bool approve, uint32_t uses, int64_t expires_ms, const char *reason, uint32_t uid,
			  const char *by, int64_t now_ms, enum approval_state *ret_state, struct err *err)
{
	enum approval_state to = approve ? APPROVAL_APPROVED : APPROVAL_DENIED;
	int rows = 0, r = store_approval_expire(s, now_ms, err);

	if (r == 0)
		r = store_run(s,
			      store_prepare(s, err,
					    "UPDATE approval SET state = ?, uses = ?, expires_ms = ?, reason = ?, decided_uid = ?, decided_by = ?, decided_ms = ?"
					    " WHERE id = ? AND state = ? AND expires_ms > ?",
					    "uuitutitui", (uint32_t)to, approve ? uses : 0u, expires_ms, reason, uid, by, now_ms, id,
					    (uint32_t)APPROVAL_PENDING, now_ms),
			      &rows, err);
	if (r < 0)
		return r;
	if (rows == 1) {
		*ret_state = to;
		return 0;
	}
	r = state_of(s, id, ret_state, err);
	return r < 0 ? r : -ESTALE;
}

int store_approval_take(struct store *s, const char *binding, uint32_t uid, int64_t now_ms, char ret_id[APPROVAL_ID_MAX], struct err *err)
{
	sqlite3_stmt *stmt = store_prepare(s, err,
					   "UPDATE approval SET uses = uses - 1, state = CASE WHEN uses <= 1 THEN ? ELSE state END WHERE id ="
					   " (SELECT id FROM approval WHERE binding = ? AND uid = ? AND state = ? AND uses > 0 AND expires_ms > ?"
					   " ORDER BY expires_ms, id LIMIT 1) RETURNING id",
					   "utuui", (uint32_t)APPROVAL_USED, binding, uid, (uint32_t)APPROVAL_APPROVED, now_ms);
	int rc, r;

	if (!stmt)
		return -EIO;
	rc = sqlite3_step(stmt);
	if (rc == SQLITE_ROW) {
		store_text_into(stmt, 0, ret_id, APPROVAL_ID_MAX);
		/* To its end: the use counts as taken only when it is on the disk. */
		rc = sqlite3_step(stmt);
		r = rc == SQLITE_DONE ? 0 : store_failed(s, rc, "take the approval", err);
	} else {
		r = rc == SQLITE_DONE ? -ENOENT : store_failed(s, rc, "take the approval", err);
	}
	sqlite3_finalize(stmt);
	return r;
}

int store_approval_void(struct store *s, const char *tool, const char *but_hash, struct err *err)
{
	return store_run(s,
			 store_prepare(s, err, "UPDATE approval SET state = ? WHERE tool = ? AND tool_hash <> ? AND state IN (?, ?)", "uttuu",
				       (uint32_t)APPROVAL_VOID, tool, but_hash ? but_hash : "", (uint32_t)APPROVAL_PENDING, (uint32_t)APPROVAL_APPROVED),
			 NULL, err);
}

int store_approval_expire(struct store *s, int64_t now_ms, struct err *err)
{
	return store_run(s,
			 store_prepare(s, err, "UPDATE approval SET state = ? WHERE state IN (?, ?) AND expires_ms <= ?", "uuui", (uint32_t)APPROVAL_EXPIRED,
				       (uint32_t)APPROVAL_PENDING, (uint32_t)APPROVAL_APPROVED, now_ms),
			 NULL, err);
}
