#include "supervisor/config_impl.h"

#include "jail/base/limits.h"

#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(struct config, field)
#define HOURS(n)  ((n) * 3600000ull)
#define DAY       HOURS(24)
/* Callers and queues beyond these are a mistake of the file, not a host's need. */
#define CONNECTIONS_MAX 16384
#define QUEUE_MAX       100000
#define FORKS_MAX       16
#define SESSIONS_MAX    LIMIT_SLOTS
#define TOOLS_MAX       10000
/* More questions nobody reads. */
#define APPROVALS_MAX   1000

const struct config_key config_keys[] = {
	{ "run_dir", CONFIG_DIR, AT(run_dir), 0, 0, NULL, true },
	{ "state_dir", CONFIG_DIR, AT(state_dir), 0, 0, NULL, true },
	{ "workspace", CONFIG_DIR, AT(workspace), 0, 0, NULL, true },
	{ "profiles_dir", CONFIG_DIR, AT(profiles_dir), 0, 0, NULL, false },
	{ "policy", CONFIG_FILES, AT(policy), 0, 0, NULL, false },

	{ "agent_socket", CONFIG_SOCKET, AT(agent.path), 0, 0, NULL, true },
	{ "agent_owner", CONFIG_USER, AT(agent.uid), 0, 0, NULL, true },
	{ "agent_group", CONFIG_GROUP, AT(agent.gid), 0, 0, NULL, true },
	{ "agent_mode", CONFIG_MODE, AT(agent.mode), 0, 0666, NULL, true },
	{ "agent_users", CONFIG_USERS, AT(agent), 0, 1, NULL, false },

	{ "admin_socket", CONFIG_SOCKET, AT(admin.path), 0, 0, NULL, true },
	{ "admin_owner", CONFIG_USER, AT(admin.uid), 0, 0, NULL, true },
	{ "admin_group", CONFIG_GROUP, AT(admin.gid), 0, 0, NULL, true },
	{ "admin_mode", CONFIG_MODE, AT(admin.mode), 0, 0660, NULL, true },
	{ "admin_users", CONFIG_USERS, AT(admin), 0, 0, NULL, false },

	{ "connections_per_uid", CONFIG_COUNT, AT(connections_per_uid), 1, CONNECTIONS_MAX, NULL, false },
	{ "connections_max", CONFIG_COUNT, AT(connections_max), 1, CONNECTIONS_MAX, NULL, false },
	{ "calls_per_uid", CONFIG_COUNT, AT(calls_per_uid), 1, QUEUE_MAX, NULL, false },
	/* One request line has to fit. */
	{ "queued_bytes_per_uid", CONFIG_BYTES, AT(queued_bytes_per_uid), LIMIT_FRAME_BYTES, 16ull << 30, NULL, false },
	{ "unread_wait", CONFIG_TIME, AT(unread_ms), 100, HOURS(1), NULL, false },

	{ "running_max", CONFIG_COUNT, AT(running_max), 1, LIMIT_SLOTS, NULL, false },
	{ "running_per_uid", CONFIG_COUNT, AT(running_per_uid), 1, LIMIT_SLOTS, NULL, false },
	{ "queue_max", CONFIG_COUNT, AT(queue_max), 0, QUEUE_MAX, NULL, false },
	{ "queue_wait", CONFIG_TIME, AT(queue_wait_ms), 1, HOURS(1), NULL, false },

	{ "forks_max", CONFIG_COUNT, AT(forks_max), 1, FORKS_MAX, NULL, false },
	{ "pool_idle", CONFIG_TIME, AT(pool_idle_ms), 100, DAY, NULL, false },
	{ "generation_calls", CONFIG_COUNT, AT(generation_calls), 1, 1000000000, NULL, false },
	{ "generation_time", CONFIG_TIME, AT(generation_ms), 1000, 7 * DAY, NULL, false },
	{ "prewarm", CONFIG_PROFILES, AT(prewarm), 0, 0, NULL, false },

	{ "profiles", CONFIG_PROFILES, AT(profiles), 0, 1, NULL, false },
	{ "default_profile", CONFIG_PROFILE, AT(default_profile), 0, 0, NULL, false },
	{ "allow_best_effort", CONFIG_BOOL, AT(allow_best_effort), 0, 0, NULL, false },

	{ "sessions_per_uid", CONFIG_COUNT, AT(sessions_per_uid), 0, SESSIONS_MAX, NULL, false },
	{ "session_idle", CONFIG_TIME, AT(session_idle_ms), 1000, DAY, NULL, false },
	{ "session_life", CONFIG_TIME, AT(session_life_ms), 1000, 7 * DAY, NULL, false },

	{ "allow_tool_creation", CONFIG_BOOL, AT(allow_tool_creation), 0, 0, NULL, false },
	{ "max_custom_tools", CONFIG_COUNT, AT(max_custom_tools), 0, TOOLS_MAX, NULL, false },
	{ "max_rebuilds", CONFIG_COUNT, AT(max_rebuilds), 0, 1000000000, NULL, false },
	{ "trust_elevated", CONFIG_UIDS, AT(trust_elevated), 0, 0, NULL, false },
	{ "trust_admin", CONFIG_UIDS, AT(trust_admin), 0, 0, NULL, false },
	{ "approval_time", CONFIG_TIME, AT(approval_ms), 1000, DAY, NULL, false },
	{ "approvals_per_uid", CONFIG_COUNT, AT(approvals_per_uid), 1, APPROVALS_MAX, NULL, false },
	{ "decision_url", CONFIG_URL, AT(decision_url), 0, 0, NULL, true },
	{ "decision_timeout", CONFIG_TIME, AT(decision_ms), 50, 30000, NULL, false },

	{ "quarantine_after", CONFIG_COUNT, AT(quarantine_after), 0, 1000000, NULL, false },

	{ "audit_rotate", CONFIG_BYTES, AT(audit_rotate_bytes), 64ull << 10, 64ull << 30, NULL, true },
	{ "audit_sync", CONFIG_TIME, AT(audit_sync_ms), 0, 60000, NULL, true },

	{ "log_format", CONFIG_CHOICE, AT(log_format), 0, 0, "auto|text|json|journal", true },
	{ "log_level", CONFIG_CHOICE, AT(log_level), 0, 0, "emerg|alert|crit|err|warning|notice|info|debug", false },
	{ "drain", CONFIG_TIME, AT(drain_ms), 0, HOURS(1), NULL, false },
	{ 0 },
};
_Static_assert(ARRAY_LEN(config_keys) <= CONFIG_KEYS_MAX, "struct config_origin has room for every key");

int config_key_find(const char *name)
{
	for (int i = 0; config_keys[i].name; i++)
		if (strcmp(config_keys[i].name, name) == 0)
			return i;
	return -1;
}

void config_place(const struct config *c, const struct config_origin *origin, const char *key, char ret[64])
{
	int i = config_key_find(key);
	const char *slash = strrchr(c->path, '/');

	if (i >= 0 && origin->at[i].line)
		snprintf(ret, 64, "%.36s:%u:%u", slash ? slash + 1 : c->path, origin->at[i].line, origin->at[i].column);
	else
		snprintf(ret, 64, "%s", key);
}
