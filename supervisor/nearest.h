/* The word that somebody who wrote a key or a name probably meant. */
#ifndef BRIG_SUPERVISOR_NEAREST_H
#define BRIG_SUPERVISOR_NEAREST_H

#include <stddef.h>

/* The nearest of n words, or NULL when none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t n);

#endif
