#include "supervisor/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int path_set(char *ret, size_t cap, const char *dir, const char *name, struct err *err)
{
	int n = snprintf(ret, cap, "%s%s", dir, name);

	return n < 0 || (size_t)n >= cap ? err_set(err, ERR_CALLER, ENAMETOOLONG, "config", "%s%s is too long a path", dir, name) : 0;
}

static int dirs_default(struct config *c, struct err *err)
{
	const char *workspace = secure_getenv("BRIG_WORKSPACE");
	const char *state = secure_getenv("BRIG_STATE"), *run = secure_getenv("XDG_RUNTIME_DIR"), *data = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	int r = workspace && *workspace ? path_set(c->workspace, sizeof(c->workspace), workspace, "", err) : 0;

	if (r < 0)
		return r;
	if (state && *state) {
		r = path_set(c->run_dir, sizeof(c->run_dir), state, "/run", err);
		return r < 0 ? r : path_set(c->state_dir, sizeof(c->state_dir), state, "", err);
	}
	if (geteuid() == 0) {
		r = path_set(c->run_dir, sizeof(c->run_dir), "/run/brig", "", err);
		return r < 0 ? r : path_set(c->state_dir, sizeof(c->state_dir), "/var/lib/brig", "", err);
	}
	/* What has no usual place the file may name; config_check() misses it where there are sockets. A private one, whose
	 * registry lies in state_dir, needs no run_dir: a shell without XDG_RUNTIME_DIR is no reason to be without tools. */
	if (run && *run)
		r = path_set(c->run_dir, sizeof(c->run_dir), run, "/brig", err);
	if (r == 0 && data && *data)
		return path_set(c->state_dir, sizeof(c->state_dir), data, "/brig", err);
	return r == 0 && home && *home ? path_set(c->state_dir, sizeof(c->state_dir), home, "/.local/state/brig", err) : r;
}

int config_defaults(struct config *c, struct err *err)
{
	*c = (struct config){
		.agent = { .uid = geteuid(), .gid = getegid(), .mode = 0660, .any_uid = false },
		.admin = { .uid = geteuid(), .gid = getegid(), .mode = 0600 },
		.connections_per_uid = 64,
		.connections_max = 512,
		.calls_per_uid = 256,
		.queued_bytes_per_uid = 64ull << 20,
		.unread_ms = 30000,
		.running_max = 32,
		.running_per_uid = 24,
		.queue_max = 1024,
		.queue_wait_ms = 30000,
		.forks_max = 4,
		.pool_idle_ms = 60000,
		.generation_calls = 10000,
		.generation_ms = 3600000,
		.profiles = { .any = true },
		.default_profile = "pure",
		.allow_tool_creation = true,
		.max_custom_tools = 20,
		.max_rebuilds = 100,
		.sessions_per_uid = 8,
		.session_idle_ms = 300000,
		.session_life_ms = 3600000,
		.quarantine_after = 3,
		.approval_ms = 600000,
		.approvals_per_uid = 16,
		.audit = true,
		.audit_rotate_bytes = 64ull << 20,
		.audit_sync_ms = 1000,
		.log_level = 6,
		.decision_ms = 1000,
		.drain_ms = 30000,
	};
	int r = dirs_default(c, err);
	if (r == 0)
		r = path_set(c->agent.path, sizeof(c->agent.path), c->run_dir, "/agent.sock", err);
	return r < 0 ? r : path_set(c->admin.path, sizeof(c->admin.path), c->run_dir, "/admin.sock", err);
}

void config_default_path(char *ret, size_t cap)
{
	const char *dir = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");

	ret[0] = '\0';
	if (geteuid() == 0)
		snprintf(ret, cap, "/etc/brig/brigd.conf");
	else if (dir && *dir)
		snprintf(ret, cap, "%s/brig/brigd.conf", dir);
	else if (home && *home)
		snprintf(ret, cap, "%s/.config/brig/brigd.conf", home);
}
