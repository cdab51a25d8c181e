#include "jail/base/names.h"

#include <string.h>

static const char *const layer_names[LAYER_COUNT] = {
#define X(id, name) [id] = name,
	LAYER_LIST(X)
#undef X
};

static const struct {
	const char *name;
	int status;
} outcomes[OUTCOME_COUNT] = {
#define X(id, name, status) [id] = { name, status },
	OUTCOME_LIST(X)
#undef X
};

const char *layer_name(enum layer layer)
{
	return layer < LAYER_COUNT ? layer_names[layer] : "unknown";
}

int layer_find(const char *name)
{
	for (int i = 0; i < LAYER_COUNT; i++)
		if (strcmp(layer_names[i], name) == 0)
			return i;
	return -1;
}

const char *outcome_name(enum outcome outcome)
{
	return outcome < OUTCOME_COUNT ? outcomes[outcome].name : "internal_error";
}

int outcome_exit_status(enum outcome outcome)
{
	return outcome < OUTCOME_COUNT ? outcomes[outcome].status : 70;
}

int outcome_find(const char *name)
{
	for (int i = 0; i < OUTCOME_COUNT; i++)
		if (strcmp(outcomes[i].name, name) == 0)
			return i;
	return -1;
}
