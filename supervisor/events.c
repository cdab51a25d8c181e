#include "supervisor/events.h"

#include "supervisor/client.h"
#include "supervisor/store.h"

#include <stdio.h>
#include <string.h>

unsigned events_find(const char *name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} words[] = {
#define X(id, word, value) { word, value },
		EVENT_LIST(X)
#undef X
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i].name, name) == 0)
			return words[i].bit;
	return 0;
}

void events_tools_changed(struct core *core)
{
	uint64_t generation = 0;
	struct client *cl;
	struct store *store;
	struct err ignored;
	char params[48];

	if (store_of(core, &store, &ignored) == 0)
		(void)store_tool_generation(store, &generation, &ignored);
	int len = snprintf(params, sizeof(params), "{\"generation\":%llu}", (unsigned long long)generation);
	for (cl = LIST_FIRST(&core->clients); cl; cl = client_next(cl))
		if (client_events(cl) & EVENT_TOOLS)
			(void)client_notify(cl, "tools.changed", params, (size_t)len);
}

void events_approval(struct core *core, uid_t uid, const char *params, size_t len)
{
	struct client *cl;

	for (cl = LIST_FIRST(&core->clients); cl; cl = client_next(cl))
		if (client_events(cl) & EVENT_APPROVALS && (client_uid(cl) == uid || client_authority(cl) == AUTHORITY_ADMIN))
			(void)client_notify(cl, "approvals.changed", params, len);
}
