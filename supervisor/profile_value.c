#include "supervisor/profile_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define EXACT_MAX 9007199254740992.0 /* doubles are whole numbers up to here */

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit size_units[] = { { "K", 1ull << 10 }, { "M", 1ull << 20 }, { "G", 1ull << 30 } };
static const struct unit time_units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 } };

/* What people write by habit, and the unit that they mean. */
static const struct {
	const char *habit, *unit;
} habits[] = {
	{ "k", "K" }, { "kb", "K" }, { "kib", "K" }, { "m", "M" }, { "mb", "M" }, { "mib", "M" },
	{ "g", "G" }, { "gb", "G" }, { "gib", "G" }, { "msec", "ms" }, { "millis", "ms" }, { "sec", "s" },
	{ "secs", "s" }, { "seconds", "s" }, { "min", "m" }, { "mins", "m" }, { "minutes", "m" },
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

static int value_with_unit(const char *text, const struct unit *units, size_t n, uint64_t *ret, char write_it[32])
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

static bool is_whole(double number)
{
	return (double)(uint64_t)number == number;
}

int value_count(const cJSON *node, uint64_t *ret)
{
	if (!cJSON_IsNumber(node) || node->valuedouble < 0 || node->valuedouble > EXACT_MAX ||
	    !is_whole(node->valuedouble))
		return -EINVAL;
	*ret = (uint64_t)node->valuedouble;
	return 0;
}

int value_size(const cJSON *node, uint64_t *ret, char ret_write_it[32])
{
	ret_write_it[0] = '\0';
	if (cJSON_IsNumber(node))
		return value_count(node, ret);
	if (!cJSON_IsString(node))
		return -EINVAL;
	return value_with_unit(node->valuestring, size_units, ARRAY_LEN(size_units), ret, ret_write_it);
}

int value_duration(const cJSON *node, uint64_t *ret_ms, char ret_write_it[32])
{
	ret_write_it[0] = '\0';
	if (cJSON_IsNumber(node) && node->valuedouble >= 0 && node->valuedouble < 1e6)
		snprintf(ret_write_it, 32, "\"%.0fms\"", node->valuedouble * 1000);
	if (cJSON_IsNumber(node) && node->valuedouble >= 1 && node->valuedouble < 1e6 &&
	    is_whole(node->valuedouble))
		snprintf(ret_write_it, 32, "\"%.0fs\"", node->valuedouble);
	if (!cJSON_IsString(node))
		return -EINVAL;
	return value_with_unit(node->valuestring, time_units, ARRAY_LEN(time_units), ret_ms, ret_write_it);
}

int value_cpus(const cJSON *node, uint64_t *ret_hundredths)
{
	double hundredths = cJSON_IsNumber(node) ? node->valuedouble * 100 : -1;

	if (!(hundredths >= 0 && hundredths < 1e9))
		return -EINVAL;
	*ret_hundredths = (uint64_t)(hundredths + 0.5);
	return 0;
}

uint64_t value_of(const struct profile_key *key, const cJSON *node)
{
	uint64_t value = 0;
	char ignored[32];

	switch (key->kind) {
	case KEY_SIZE:
	case KEY_SHM:
		(void)value_size(node, &value, ignored);
		break;
	case KEY_DURATION:
		(void)value_duration(node, &value, ignored);
		break;
	case KEY_COUNT:
		(void)value_count(node, &value);
		break;
	case KEY_CPUS:
		(void)value_cpus(node, &value);
		break;
	default:
		break;
	}
	return value;
}
