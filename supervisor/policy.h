/* The gate's rules (policy(5)): JSON texts, loaded like profiles, all or nothing; then a pure function from a question to a decision.
 * Denies are looked at first, then escalations, then allows; within each the first that matches, in the order of the files; nothing
 * matches: deny. Core only; opens nothing. */
#ifndef BRIG_SUPERVISOR_POLICY_H
#define BRIG_SUPERVISOR_POLICY_H

#include "supervisor/tool.h"

enum decision { DECISION_ALLOW, DECISION_DENY, DECISION_ESCALATE }; /* the values of enum audit_decision */
const char *decision_name(enum decision d);

enum trust { TRUST_STANDARD, TRUST_ELEVATED, TRUST_ADMIN, TRUST_COUNT };
const char *trust_name(enum trust t);
int trust_find(const char *name);

/* What "rate" may ask for: whoever counts keeps that many times, for so long. */
#define POLICY_RATE_OVER_MAX 1000u
#define POLICY_RATE_WINDOW_MAX_MS 3600000u

struct policy;

struct policy_text {
	const char *name; /* for messages and rules: "policy.json" */
	const char *text;
	size_t len;
};
/* Several files make one policy, as if they were one list. -EINVAL: file:line:column in err->where. */
int policy_parse(const struct policy_text *texts, size_t count, struct policy **ret, struct err *err);
struct policy *policy_ref(struct policy *policy);
void policy_free(struct policy *policy);

/* All that a rule can look at. Texts are borrowed. */
struct question {
	const char *tool;          /* canonical: exactly a registered name, or "run" */
	const char *hash;          /* "sha256:..." of the version; NULL for run */
	enum tool_state state;
	bool reviewed, custom;     /* neither: a body sent with `run` */
	struct permissions effective;
	const char *profile;
	const char *args;          /* JSON object that json_check() accepted */
	size_t args_len;
	const char *user_id, *session, *task; /* NULL: none */
	const char *labels;        /* JSON object of strings, or NULL */
	uint32_t uid;
	enum trust trust;          /* of the configuration for that peer, never from a call */
	const char *workspace;     /* as the tool sees it, or NULL: what "@workspace" means, and where a relative path begins */
	int64_t now_ms;            /* since 1970 */
	/* Earlier calls of this session (or uid) to this tool in the last `window_ms`; NULL: none. */
	unsigned (*rate)(void *arg, uint32_t window_ms);
	void *rate_arg;
};

struct verdict_gate {
	enum decision decision;
	char rule[160];   /* "policy.json:12 read-only"; "default" where nothing matched */
	char reason[400], hint[300];
};
void policy_decide(const struct policy *policy, const struct question *q, struct verdict_gate *ret);

#endif
