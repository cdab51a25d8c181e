/* Inside profile_check.c and profile_check_lists.c: one text, one error. */
#ifndef BRIG_SUPERVISOR_PROFILE_CHECK_H
#define BRIG_SUPERVISOR_PROFILE_CHECK_H

#include "supervisor/profile_impl.h"

struct checker {
	const struct origins *origins;
	struct err *err;
};

#define refuse(c, node, ...) policy_error((c)->origins, node, (c)->err, __VA_ARGS__)

/* The value in an error's words; room holds it where it is made up. */
const char *kind_of(const cJSON *node, char room[96]);
/* "limits.wall" must be X, found Y */
int wrong(struct checker *c, const char *path, const cJSON *node, const char *must);
/* One line of text without control characters. */
bool text_is_plain(const char *text);
int check_text(struct checker *c, const char *path, const cJSON *node);
/* One of the words of "a|b|c". */
int check_choice(struct checker *c, const char *path, const cJSON *node, const char *choices);

/* One element of files.mounts, of syscalls.allow, one member of require. */
int check_mount(struct checker *c, const cJSON *item);
int check_call(struct checker *c, const cJSON *item);
int check_layer(struct checker *c, const cJSON *node);

#endif
