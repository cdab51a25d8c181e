/* Inside the policy: what a text becomes. Only policy*.c and the tests include this. */
#ifndef BRIG_SUPERVISOR_POLICY_IMPL_H
#define BRIG_SUPERVISOR_POLICY_IMPL_H

#include "supervisor/glob.h"
#include "supervisor/policy.h"
#include "supervisor/profile_impl.h"
#include "supervisor/wire/json.h"
#include "supervisor/wire/json_scan.h"

/* Written by hand, and looked through at every call. */
#define POLICY_RULES_MAX 1000u
#define POLICY_LIST_MAX  256u
#define POLICY_NAME_MAX  64u
#define POLICY_PATTERN_MAX 1024u
/* A pattern that needs more steps, or a longer text, is not judged: core waits for nobody. */
#define POLICY_PATTERN_STEPS 20000u
#define POLICY_SUBJECT_MAX (64u << 10)

struct texts {
	char **at;
	size_t count;
};

/* ---- predicates on one argument, or one label ---- */

#define PRED_LIST(X)                                                                \
	X(PRED_UNDER, "under")         /* a path at or below one of these */        \
	X(PRED_NOT_UNDER, "not_under") /* a path outside all of these */            \
	X(PRED_EQUALS, "equals")                                                    \
	X(PRED_ONE_OF, "one_of")                                                    \
	X(PRED_MATCHES, "matches")     /* a pattern over the whole string */        \
	X(PRED_MIN, "min")                                                          \
	X(PRED_MAX, "max")                                                          \
	X(PRED_MAX_BYTES, "max_bytes") /* of a string, in UTF-8 */                  \
	X(PRED_PRESENT, "present")
enum pred_kind {
#define X(id, name) id,
	PRED_LIST(X)
#undef X
	PRED_COUNT
};

struct pred {
	enum pred_kind kind;
	char *arg;            /* dotted */
	struct texts texts;   /* UNDER: canonical, or "@workspace..."; EQUALS, ONE_OF: scalars (below); MIN, MAX: one number */
	void *pattern;        /* pcre2_code */
	uint64_t bytes;
	bool present;
};
/* A scalar as a text: '"' and the plain characters of a string; else the JSON itself: 12.50, true, null. */

/* ---- conditions ---- */

enum cond_kind {
	COND_STATES, COND_SCOPES, COND_FLAG, COND_HASHES, COND_GLOBS, COND_UIDS, COND_TRUST_MIN, COND_TRUST_BELOW,
	COND_LABELS, COND_ARGS, COND_TIME, COND_RATE,
};

struct cond_key {
	const char *name;
	enum cond_kind kind;
	size_t offset; /* FLAG, GLOBS: in struct question */
	bool tool;     /* of a registered tool alone: a body sent with `run` has none */
};

struct label {
	char *key;
	struct texts globs;
};

struct cond {
	const struct cond_key *key;
	uint32_t mask;          /* STATES, SCOPES; days of TIME */
	bool flag;
	enum trust trust;
	unsigned from, to;      /* TIME: minutes of the day; to is not in it */
	uint32_t over, per_ms;  /* RATE */
	struct texts texts;     /* HASHES, GLOBS */
	uint32_t *uids;
	size_t uid_count;
	struct label *labels;
	size_t label_count;
	struct pred *preds;     /* ARGS */
	size_t pred_count;
	char *raw;              /* compact JSON, to compare */
};

struct rule {
	enum decision decide;
	char where[64], brief[64]; /* struct origin */
	char *name, *reason, *hint; /* or NULL */
	struct texts match;
	struct cond *conds;
	size_t cond_count;
};

struct policy {
	unsigned refs;
	struct rule *rules;
	size_t count, cap;
};

/* What reads one text. */
struct policy_reader {
	const char *text;
	size_t len;
	struct origins origins;
	struct err *err;
};
#define reader_refuse(r, node, ...) policy_error(&(r)->origins, node, (r)->err, __VA_ARGS__)
/* Says which of the words was meant, or which there are. Returns -EINVAL. */
int reader_hint(const struct policy_reader *r, const char *word, const char *const *words, size_t n);
int reader_no_memory(const struct policy_reader *r);
/* A value, or a list of alternatives: the first. */
const cJSON *reader_first(const cJSON *node);
/* The value as it is written. */
const char *reader_raw(const struct policy_reader *r, const cJSON *node, size_t *ret_len);
int texts_add(struct texts *t, const char *text);
void texts_done(struct texts *t);
/* A glob, or a list of them. */
int reader_globs(const struct policy_reader *r, const cJSON *node, enum glob_of of, struct texts *ret);

/* policy_keys.c: "when". policy_args.c: one argument's predicates. */
int conds_read(const struct policy_reader *r, const cJSON *when, struct rule *rule);
void cond_done(struct cond *cond);
int preds_read(const struct policy_reader *r, const cJSON *args, struct cond *cond);
void pred_done(struct pred *pred);

/* policy_match.c. The rule that decides, or -1. */
int policy_find(const struct policy *policy, const struct question *q);

/* What cannot be judged is neither: it holds for a deny or an escalation, and not for an allow. */
enum fit { FIT_NO, FIT_UNKNOWN, FIT_YES };
enum fit preds_fit(const struct pred *preds, size_t count, const struct question *q);

/* policy_lint.c: what is no error and still not meant. fn is called with file:line:column. */
void policy_lint(const struct policy *policy, void (*fn)(const char *where, const char *what, void *arg), void *arg);

#endif
