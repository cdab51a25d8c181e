/* The keys of brigd.conf, in one table. Only the config_*.c files include this. */
#ifndef BRIG_SUPERVISOR_CONFIG_IMPL_H
#define BRIG_SUPERVISOR_CONFIG_IMPL_H

#include "supervisor/config.h"

#include <stddef.h>

enum config_kind {
	CONFIG_DIR,      /* an absolute path */
	CONFIG_FILES,    /* absolute paths, blanks between them; PATH_MAX in all */
	CONFIG_URL,      /* http:// or https://, CONFIG_URL_MAX */
	CONFIG_SOCKET,   /* the name of a file in run_dir */
	CONFIG_USER,
	CONFIG_GROUP,
	CONFIG_MODE,     /* octal, at most `max` */
	CONFIG_USERS,    /* struct config_socket; "*" where max is 1 */
	CONFIG_UIDS,     /* struct config_uids */
	CONFIG_COUNT,
	CONFIG_BYTES,    /* uint64_t; COUNT and TIME are uint32_t */
	CONFIG_TIME,
	CONFIG_BOOL,
	CONFIG_PROFILE,
	CONFIG_PROFILES, /* struct config_names; "*" where max is 1 */
	CONFIG_CHOICE,   /* uint32_t: index into choices */
};

struct config_key {
	const char *name;
	enum config_kind kind;
	size_t offset;         /* in struct config */
	uint64_t min, max;
	const char *choices;   /* "a|b" */
	bool restart;          /* a reload cannot change it */
};

/* Ends with a NULL name. */
extern const struct config_key config_keys[];
/* The row of that key, or -1. */
int config_key_find(const char *name);
/* name:line:column of the key at that row, or the name of the key where its default holds. */
void config_place(const struct config *config, const struct config_origin *origin, const char *key, char ret[64]);

/* config_value.c: one value, NUL-terminated and not empty, into its place. -EINVAL or -ERANGE: *why, "" for none; write_it: the right spelling. */
struct config_refusal {
	char why[160], write_it[64];
	size_t at; /* offset of what is wrong in the value */
};
int config_value_set(struct config *config, const struct config_key *key, const char *value, struct config_refusal *why);
/* The number as one writes it: the largest unit that takes it whole. */
void config_number_print(const struct config_key *key, uint64_t n, char ret[32]);

/* config_check.c: what follows from run_dir; and combinations that no single key shows. */
int config_derive(struct config *config, const struct config_origin *origin, struct err *err);
int config_check(const struct config *config, const struct config_origin *origin, struct err *err);

#endif
