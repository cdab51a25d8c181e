#include "supervisor/profile_impl.h"
#include "supervisor/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX 9007199254740992.0 /* doubles are whole numbers up to here */

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
	return units_size(node->valuestring, ret, ret_write_it);
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
	return units_time(node->valuestring, false, ret_ms, ret_write_it);
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
