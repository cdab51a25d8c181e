/* Where an attack of tests/escape/onelayer.c runs: throw-away copies of the host's
 * namespaces, and what a zygote's clone gives a jail for the one layer asked for. */
#ifndef BRIG_TESTS_ESCAPE_LIBPLACE_H
#define BRIG_TESTS_ESCAPE_LIBPLACE_H

/* The calling process (and for pid and time its children) moves there; exits with 70 where that cannot be. */
void place_make(const char *layer);

#endif
