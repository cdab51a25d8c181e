/* Inside the profile loader: text -> checked tree -> merged tree -> spec.
 *
 * A tree is cJSON; the `valueint` of each node, which nothing here needs, holds
 * the index of its origin, so that a value keeps file, line and column through
 * every merge. Only core and the tests link this; nothing here needs privilege. */
#ifndef BRIG_SUPERVISOR_PROFILE_IMPL_H
#define BRIG_SUPERVISOR_PROFILE_IMPL_H

#include "supervisor/nearest.h"
#include "supervisor/profile.h"
#include "supervisor/profile_seccomp.h"

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct origin {
	char where[64]; /* file:line:column, for errors */
	char brief[64]; /* file:line, for people who ask where a value came from */
	unsigned depth; /* 0: the profile itself, 1: what it extends, ... */
	size_t value;   /* offset of the value in its text */
};

struct origins {
	struct origin *at;
	size_t count, cap;
};

struct profile {
	unsigned refs;
	char name[SPEC_NAME_MAX];
	cJSON *tree; /* effective */
	struct origins origins;
	struct jail_spec *spec;
	char filter_digest[80], digest[80];
	unsigned warm, max;
	struct profile *wide; /* that it was narrowed from, a reference; NULL: it was not */
	bool audit_values;
	int mount_origin[SPEC_MOUNTS_MAX]; /* of each of the spec's */
	unsigned taken[4]; /* narrow.c, by enum permission: 1 + the origin of its being taken; 0: it was not */
};

/* profile_store.c */
struct store_file {
	char *name; /* "pure.json", "tiers/draft.json" */
	char *text;
	size_t len;
};

struct profile_store {
	struct store_file *files; /* sorted by name */
	size_t count, cap;
	char **names; /* profiles only, without the ".json" */
	size_t name_count;
	char **tiers; /* the same of the folder of tiers */
	size_t tier_count;
	char workspace[PATH_MAX]; /* "": none */
	char *guarded[16]; /* directories of Brig's own that no mount may show */
	size_t guarded_count;
};

/* One that was read elsewhere, put together again: files, guarded directories, then the index over the names. */
struct profile_store *profile_store_new(void);
int profile_store_add(struct profile_store *store, const char *name, const char *text, size_t len);
/* That file of the directory, added to the store. */
int profile_store_read_one(struct profile_store *store, int dir_fd, const char *dir_path, const char *name, struct err *err);
int profile_store_guard(struct profile_store *store, const char *path);
void profile_store_workspace(struct profile_store *store, const char *path);
int profile_store_index(struct profile_store *store, struct err *err);
const struct store_file *store_find(const struct profile_store *store, const char *file_name);
bool profile_name_ok(const char *name);
/* Where the profiles of trust tiers lie; they are in the store, and no name of a profile. */
#define TIERS_FOLDER "tiers"

/* profile_text.c: parses strictly, marks every node's origin. depth as in struct origin. */
int profile_text_parse(const char *file, const char *text, size_t len, unsigned depth, struct origins *origins,
		       cJSON **ret, struct err *err);
const struct origin *origin_of(const struct origins *origins, const cJSON *node);
/* err_set() with the node's place, class ERR_POLICY, code EINVAL. */
int policy_error(const struct origins *origins, const cJSON *node, struct err *err, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
/* An untrusted string as a JSON string, cut where it is long; room holds it. */
const char *quoted(const char *text, char room[96]);

/* profile_keys.c: the keys of a profile, in one table. */
enum key_kind {
	KEY_NAME,     /* name of a profile */
	KEY_TEXT,     /* words for people */
	KEY_SECTION,  /* object of further keys */
	KEY_SIZE,     /* bytes */
	KEY_SHM,      /* bytes, or "none" */
	KEY_DURATION, /* milliseconds */
	KEY_COUNT,    /* whole number */
	KEY_CPUS,     /* number of cores, kept in hundredths */
	KEY_CHOICE,
	KEY_BOOL,
	KEY_PRELUDE,  /* file name */
	KEY_MODULES,  /* array of module names */
	KEY_MOUNTS,
	KEY_SYSCALLS,
	KEY_REQUIRE,  /* object of layer names */
};

struct profile_key {
	const char *path; /* "limits.wall" */
	enum key_kind kind;
	uint64_t min, max;         /* KEY_SIZE to KEY_CPUS */
	const char *why_min, *why_max;
	const char *choices;       /* KEY_CHOICE: "a|b" */
	size_t offset, width;      /* of the number in struct jail_spec; width 0: none */
};

const struct profile_key *profile_key_at(size_t i);
/* The key `name` of a section ("" for the top), or NULL. */
const struct profile_key *profile_key_find(const char *section, const char *name);
/* Fills err's hint with the nearest key of that section, of another section, or all that there are. */
void profile_key_hint(const char *section, const char *name, struct err *err);

/* profile_value.c: a value with its unit. On refusal -EINVAL; *ret_write_it gets the right spelling where there is one to guess. */
int value_size(const cJSON *node, uint64_t *ret, char ret_write_it[32]);
int value_duration(const cJSON *node, uint64_t *ret_ms, char ret_write_it[32]);
int value_count(const cJSON *node, uint64_t *ret);
int value_cpus(const cJSON *node, uint64_t *ret_hundredths);
/* The number of a key of kind KEY_SIZE to KEY_CPUS that passed profile_check(). */
uint64_t value_of(const struct profile_key *key, const cJSON *node);

/* profile_check.c: one text by itself: keys, types, units, ranges. */
int profile_check(const struct origins *origins, const cJSON *tree, struct err *err);

/* profile_merge.c: moves what `leaf` says over `base`; consumes leaf. */
void profile_merge(cJSON *base, cJSON *leaf);
/* The node at "limits.wall", or NULL. */
cJSON *tree_at(const cJSON *tree, const char *path);

/* profile_mounts.c */
int profile_mounts(const struct profile_store *store, struct profile *profile, struct err *err);

/* profile_spec.c: does the profile switch on what that group is for? */
bool profile_group_takes_effect(const struct profile *p, const char *group);
/* profile_spec.c: the merged tree as a whole, and its spec. */
int profile_finish(const struct profile_store *store, struct profile *profile, struct err *err);

#endif
