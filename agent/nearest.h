/* The word that somebody probably meant. */
#ifndef BRIG_AGENT_NEAREST_H
#define BRIG_AGENT_NEAREST_H

#include <stddef.h>

/* Edits (insert, delete, replace, swap of neighbours) from a to b; a large number when either is longer than 64
 * bytes. */
unsigned nearest_distance(const char *a, const char *b);

/* Feeds one candidate; keeps the best so far. Start with { .word = ... }. */
struct nearest {
	const char *word;
	const char *best; /* NULL: nothing is near enough */
	unsigned distance;
};
void nearest_try(struct nearest *n, const char *candidate);

#endif
