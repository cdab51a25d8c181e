/* Profiles: JSON texts (profile(5)) to one effective profile and its flat spec.
 *
 * Only core parses. Texts are read as raw bytes while brigd may still read
 * them (profile_store_read), and parsed after the drop. An effective profile is
 * immutable; its identity is the hash of its spec. */
#ifndef BRIG_SUPERVISOR_PROFILE_H
#define BRIG_SUPERVISOR_PROFILE_H

#include "jail/base/err.h"
#include "jail/spec.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a jail finds the workspace, whatever its place on the host. */
#define PROFILE_WORKSPACE "/workspace"

struct profile_store; /* NAME -> text of every NAME.json (and *.py preludes) in the profile directory and in its folder of tiers */

/* Reads every *.json in the directory, bounded; parses nothing. dir_path is for messages. */
int profile_store_read(int dir_fd, const char *dir_path, struct profile_store **ret, struct err *err);
void profile_store_free(struct profile_store *store);
/* i-th name, or NULL past the end; sorted. */
const char *profile_store_name(const struct profile_store *store, size_t i);
/* i-th trust tier, or NULL past the end; sorted. */
const char *profile_store_tier(const struct profile_store *store, size_t i);
/* The text of that profile as it was read, or NULL; borrowed. */
const char *profile_store_text(const struct profile_store *store, const char *name, size_t *ret_len);

struct profile;

/* The effective profile of that name in the store. */
int profile_load(const struct profile_store *store, const char *name, struct profile **ret, struct err *err);
/* The trust tier of that name, "tiers/NAME.json" of the store: a profile that nobody can call or extend. */
int profile_load_tier(const struct profile_store *store, const char *name, struct profile **ret, struct err *err);
/* One from a text of the caller's (brig run --profile FILE); its "extends" is looked up in the store. path is for messages. */
int profile_load_text(const struct profile_store *store, const char *path, const char *text, size_t len, struct profile **ret, struct err *err);
/* One more holder; each ends with profile_free(). */
struct profile *profile_ref(struct profile *profile);
void profile_free(struct profile *profile);

const char *profile_name(const struct profile *profile);
const char *profile_why(const struct profile *profile);
/* Sealable spec, filter included; borrowed, lives as long as the profile. */
const struct jail_spec *profile_spec(const struct profile *profile);
/* "sha256:<hex>" of the BPF program, and of the whole spec (the key of warm jails). */
const char *profile_filter_digest(const struct profile *profile);
const char *profile_digest(const struct profile *profile);
/* Where a value came from, as "pure.json:41", for a dotted key such as "limits.memory"; NULL if nowhere. */
const char *profile_origin(const struct profile *profile, const char *key);
unsigned profile_warm(const struct profile *profile); /* pool.warm */
unsigned profile_max(const struct profile *profile);  /* pool.max */
bool profile_audit_values(const struct profile *profile); /* the audit log gets arguments, not only their hash */

/* The profile with every merged value and its origin, as malloc'd text (brig profile show --effective). */
char *profile_print(const struct profile *profile);

/* Name of a system call number of an AUDIT_ARCH_*, or NULL; static storage of libseccomp, freed by the caller. */
char *profile_syscall_name(uint32_t arch, int nr);

#endif
