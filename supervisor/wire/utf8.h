/* One step through bytes that should be UTF-8; shared by the checker and by the writer. */
#ifndef BRIG_WIRE_UTF8_H
#define BRIG_WIRE_UTF8_H

#include <stddef.h>

/* Looks at the n >= 1 bytes at p. Returns the length (1..4) of the well-formed
 * character there, or minus the length of the maximal bad part (Unicode 15,
 * section 3.9, table 3-7: no surrogates, no overlong forms, at most U+10FFFF). */
int utf8_step(const unsigned char *p, size_t n);

/* Writes a scalar value below 0x110000 as UTF-8; returns its length. */
size_t utf8_put(unsigned code, char out[4]);

#endif
