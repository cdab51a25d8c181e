/* A person's word about one question: once, by somebody else than asked, about what still is as it was. */
#include "supervisor/approvals.h"

#include "supervisor/audit_client.h"
#include "supervisor/registry.h"

#include <stdio.h>
#include <string.h>

/* Where it was started as root core's own uid is nobody's. */
static uid_t supervisor_uid(const struct core *core)
{
	return core->boot->as_root ? 0 : getuid();
}

/* Who asks may not approve. Where both are the supervisor's own uid there is nobody to tell apart. */
static int check_who(struct core *core, const struct approval *a, const struct decision_word *d, struct err *err)
{
	if (d->uid != a->uid || d->uid == 0 || d->uid == supervisor_uid(core))
		return 0;
	err_set(err, ERR_CALLER, EPERM, "authority", "uid %u asked for it, and who asks may not decide", d->uid);
	err_hint(err, "somebody else who may use admin.sock decides");
	return -EPERM;
}

static int stale(enum approval_state state, struct err *err)
{
	static const char *const says[APPROVAL_STATE_COUNT] = {
		[APPROVAL_PENDING] = "it cannot be decided now",
		[APPROVAL_APPROVED] = "it was approved already",
		[APPROVAL_DENIED] = "it was denied already",
		[APPROVAL_EXPIRED] = "nobody decided in time: it has expired, which is a denial",
		[APPROVAL_USED] = "it was approved already, and used",
		[APPROVAL_VOID] = "what it was for has changed since",
	};

	err_set(err, ERR_CALLER, ESTALE, "approval", "%s", says[state]);
	err_hint(err, "nothing was changed; 'brig approvals --all' shows what became of it");
	return -ESTALE;
}

/* A version that is not called any more cannot be approved: what its name means now was not what was asked. */
static int check_drift(struct core *core, struct store *store, const struct approval *a, struct err *err)
{
	struct tool *now = NULL;
	bool same;
	int r;

	if (strcmp(a->tool, "run") == 0)
		return 0;
	r = registry_current(core, a->tool, &now, err);
	if (r < 0 && r != -ENOENT)
		return r;
	same = r == 0 && strcmp(now->hash, a->tool_hash) == 0 && now->state != TOOL_QUARANTINED;
	if (!same)
		(void)store_approval_void(store, a->tool, r == 0 ? now->hash : "", err);
	tool_free(now);
	return same ? 0 : stale(APPROVAL_VOID, err);
}

/* Before it is done: what is not in the log was not decided. */
static int record(struct core *core, const struct approval *a, const struct decision_word *d, const char *outcome, struct err *err)
{
	char text[AUDIT_TEXT_MAX];

	snprintf(text, sizeof(text), "%s %s", d->by, outcome);
	int r = audit_note_about(core, AUDIT_APPROVAL_DECIDE, d->uid, d->pid,
				 &(struct audit_about){ .session = a->session, .tool = a->tool, .hash = a->tool_hash, .approval = a->id, .rule = a->rule,
							.args = a->args, .args_len = strlen(a->args), .reason = d->reason, .decided = true,
							.decision = d->approve ? AUDIT_ALLOW : AUDIT_DENY, .text = text });

	if (r == 0)
		return 0;
	err_set(err, ERR_HOST, -r, "audit", "the audit log cannot take the decision, so it does not hold: %s", strerror(-r));
	err_hint(err, "'brig status' tells how the log is");
	return r;
}

static int decide(struct core *core, struct store *store, const struct approval *a, const struct decision_word *d, struct err *err)
{
	int64_t now = wall_now_ms();
	enum approval_state state;
	char what[64];
	int r;

	if (a->state != APPROVAL_PENDING)
		return stale(a->state, err);
	if (a->expires_ms <= now)
		return stale(APPROVAL_EXPIRED, err);
	r = check_who(core, a, d, err);
	if (r == 0)
		r = check_drift(core, store, a, err);
	if (r < 0)
		return r;
	snprintf(what, sizeof(what), d->approve ? "approves, %u uses" : "denies", d->uses);
	r = record(core, a, d, what, err);
	if (r == 0)
		r = store_approval_decide(store, a->id, d->approve, d->uses, now + d->for_ms, d->reason, d->uid, d->by, now, &state, err);
	if (r == -ESTALE) { /* another supervisor of this store was first */
		(void)record(core, a, d, "came too late", err);
		return stale(state, err);
	}
	if (r == -ENOENT) /* expired meanwhile, and forgotten by another supervisor */
		return stale(APPROVAL_EXPIRED, err);
	if (r == 0)
		approvals_tell(core, a->id, a->tool, a->uid, approval_state_name(state));
	return r;
}

int approvals_decide(struct core *core, const struct decision_word *d, struct err *err)
{
	struct approval *a;
	struct store *store;
	int r = store_of(core, &store, err);

	if (r == 0) {
		approvals_sweep(core, store);
		r = store_approval_get(store, d->id, &a, err);
	}
	if (r == -ENOENT) {
		err_set(err, ERR_CALLER, ENOENT, "approval", "there is no question of that id");
		err_hint(err, "'brig approvals' shows those that are open");
	}
	if (r < 0)
		return r;
	r = decide(core, store, a, d, err);
	approval_free(a);
	if (r == 0)
		approvals_kick(core);
	return r;
}
