/* Globs over names: * ? [a-z] [!a-z], and \ before a character that means itself. Case-sensitive, the same in every
 * locale, and never slower than pattern times text. */
#ifndef BRIG_SUPERVISOR_GLOB_H
#define BRIG_SUPERVISOR_GLOB_H

#include <stdbool.h>
#include <stddef.h>

enum glob_of {
	GLOB_TOOLS, /* only what a tool's name can hold: anything else could never match */
	GLOB_WORDS, /* any text in UTF-8 */
};

/* 0, or -EINVAL: *why says what is wrong with it. */
int glob_check(const char *glob, enum glob_of of, char why[120]);
/* glob was checked. */
bool glob_match(const char *glob, const char *text);
/* Whatever b matches a matches too. False where it cannot be told. */
bool glob_covers(const char *a, const char *b);

#endif
