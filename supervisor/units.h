/* Numbers with a unit, as profiles and brigd.conf have them. */
#ifndef BRIG_SUPERVISOR_UNITS_H
#define BRIG_SUPERVISOR_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* "64M": K, M or G. -EINVAL, and ret_write_it gets the right spelling in quotes where there is one to guess; -ERANGE. */
int units_size(const char *text, uint64_t *ret, char ret_write_it[32]);
/* "30s": ms, s, m, and h where hours may be meant; in milliseconds. */
int units_time(const char *text, bool hours, uint64_t *ret_ms, char ret_write_it[32]);

#endif
