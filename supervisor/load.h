/* What an operator wrote, read as a whole: the configuration, and the texts of the profiles. The keeper reads at start and
 * at each reload, hands it to core as a sealed memfd, and keeps it for the next core. Only core
 * parses profiles. */
#ifndef BRIG_SUPERVISOR_LOAD_H
#define BRIG_SUPERVISOR_LOAD_H

#include "supervisor/config.h"
#include "supervisor/profile.h"

/* The command line's part; borrowed. */
struct load_from {
	const char *config;   /* NULL: the default place, where nothing is as good as an empty file */
	const char *profiles; /* NULL: what the configuration says, else beside build/, else where they are installed */
};

struct loaded {
	struct config config;
	struct config_origin origin;
	struct profile_store *profiles; /* ours */
	struct profile_store *policy;   /* ours; its files make the policy, in their order */
};

/* The configuration alone; ret->profiles is NULL. */
int load_config(const struct load_from *from, struct loaded *ret, struct err *err);
/* Both; what the configuration says about profiles is checked against their names. */
int load_read(const struct load_from *from, struct loaded *ret, struct err *err);
/* The texts alone, from ret->config.profiles_dir or as struct load_from says. */
int load_profiles(const struct load_from *from, struct loaded *ret, struct err *err);
/* The policy's texts, from ret->config.policy, else policies/default.json beside the profiles, else the shipped one. */
int load_policy(struct loaded *ret, struct err *err);
struct policy;
/* Core: what they say. */
int load_policy_parse(const struct profile_store *texts, struct policy **ret, struct err *err);
void load_done(struct loaded *loaded);

/* Keeper: a sealed memfd that holds it, or the error where `why` is not NULL. fd or -errno. */
int load_pack(const struct loaded *loaded, const struct err *why);
/* Core: what load_pack() was given; the error is an error here, too. */
int load_unpack(int fd, struct loaded *ret, struct err *err);

#endif
