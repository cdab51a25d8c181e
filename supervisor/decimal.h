/* Numbers as JSON writes them, compared as the decimals that they are: 9007199254740993 is not ...992, 1.0 is 1. */
#ifndef BRIG_SUPERVISOR_DECIMAL_H
#define BRIG_SUPERVISOR_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>

/* a < b: -1, equal: 0, a > b: 1. Both are numbers that json_check() accepted. False: an exponent is beyond all sense. */
bool decimal_compare(const char *a, size_t a_len, const char *b, size_t b_len, int *ret);

#endif
