#include "supervisor/units.h"

#include "jail/base/compiler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = { { "K", 1ull << 10 }, { "M", 1ull << 20 }, { "G", 1ull << 30 } };
static const struct unit time_units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };

/* What people write by habit, and the unit that they mean. */
static const struct {
	const char *habit, *unit;
} habits[] = {
	{ "k", "K" }, { "kb", "K" }, { "kib", "K" }, { "m", "M" }, { "mb", "M" }, { "mib", "M" },
	{ "g", "G" }, { "gb", "G" }, { "gib", "G" }, { "msec", "ms" }, { "millis", "ms" }, { "sec", "s" },
	{ "secs", "s" }, { "seconds", "s" }, { "hour", "h" }, { "hours", "h" }, { "min", "m" }, { "mins", "m" }, { "minutes", "m" },
};

static const struct unit *unit_find(const struct unit *units, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(units[i].name, name) == 0)
			return &units[i];
	return NULL;
}

static void guess(const struct unit *units, size_t n, const char *number, int digits, const char *suffix, char out[32])
{
	if (digits <= 0 || digits > 12)
		return;
	while (*suffix == ' ')
		suffix++;
	for (size_t i = 0; i < ARRAY_LEN(habits); i++)
		if (strcasecmp(habits[i].habit, suffix) == 0 && unit_find(units, n, habits[i].unit)) {
			snprintf(out, 32, "\"%.*s%s\"", digits, number, habits[i].unit);
			return;
		}
	if (!*suffix && units == size_units)
		snprintf(out, 32, "%.*s", digits, number);
	else if (!*suffix)
		snprintf(out, 32, "\"%.*ss\"", digits, number);
}

static int with_unit(const char *text, const struct unit *units, size_t n, uint64_t *ret, char write_it[32])
{
	size_t digits = strspn(text, "0123456789");
	const struct unit *unit = unit_find(units, n, text + digits);
	uint64_t number;

	if (digits == 0 || digits > 12 || !unit) {
		guess(units, n, text, (int)digits, text + digits, write_it);
		return -EINVAL;
	}
	number = strtoull(text, NULL, 10);
	if (__builtin_mul_overflow(number, unit->factor, ret))
		return -ERANGE;
	return 0;
}

int units_size(const char *text, uint64_t *ret, char ret_write_it[32])
{
	ret_write_it[0] = '\0';
	return with_unit(text, size_units, ARRAY_LEN(size_units), ret, ret_write_it);
}

int units_time(const char *text, bool hours, uint64_t *ret_ms, char ret_write_it[32])
{
	ret_write_it[0] = '\0';
	return with_unit(text, time_units, ARRAY_LEN(time_units) - !hours, ret_ms, ret_write_it);
}
