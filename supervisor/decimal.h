/* Numbers of JSON as the decimals that were written: no double, no rounding, any length. 9007199254740993 is not ...992, 1.0 is 1. */
#ifndef BRIG_SUPERVISOR_DECIMAL_H
#define BRIG_SUPERVISOR_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0.DIGITS times 10 to the exp. Zero has no digits. Points into the text. */
struct decimal {
	const char *digits; /* from the first that is not 0 to the last; a point may stand among them */
	size_t count;
	int64_t exp;
	bool negative;
};

/* text: a number of JSON. -ERANGE: its exponent has more than 12 digits, which nothing here can count. */
int decimal_read(const char *text, size_t len, struct decimal *ret);
int decimal_order(const struct decimal *a, const struct decimal *b); /* < 0, 0, > 0 */
/* Of two texts: *ret is -1, 0 or 1. False: an exponent is beyond all sense. */
bool decimal_compare(const char *a, size_t a_len, const char *b, size_t b_len, int *ret);
bool decimal_is_integer(const struct decimal *d);
/* Of one that is not negative; beyond 2^64 the largest. */
uint64_t decimal_u64(const struct decimal *d);
uint64_t decimal_hash(const struct decimal *d);

/* A divisor: the digits of one must fit 18, -ERANGE. */
struct divisor {
	uint64_t digits;
	int64_t exp; /* times 10 to this */
};
int divisor_read(const struct decimal *d, struct divisor *ret);
bool decimal_is_multiple(const struct decimal *d, const struct divisor *of);

#endif
