/* What no single key of brigd.conf shows: combinations, and what a running supervisor cannot take over. */
#include "supervisor/config_impl.h"

#include "supervisor/nearest.h"

#include <stdarg.h>
#include <string.h>

struct check {
	const struct config *config;
	const struct config_origin *origin;
	struct err *err;
};

static int refuse(const struct check *k, const char *key, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int refuse(const struct check *k, const char *key, const char *fmt, ...)
{
	char where[64], detail[320];
	va_list args;

	config_place(k->config, k->origin, key, where);
	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	return err_set(k->err, ERR_POLICY, EINVAL, where, "%s", detail);
}

static int socket_place(struct config_socket *s, const struct check *k, const char *key)
{
	const char *slash = strrchr(s->path, '/');
	char name[CONFIG_SOCKET_MAX];
	int n;

	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : s->path);
	char path[PATH_MAX + CONFIG_SOCKET_MAX];
	n = snprintf(path, sizeof(path), "%s/%s", k->config->run_dir, name);
	if (n < (int)sizeof(s->path)) {
		memcpy(s->path, path, (size_t)n + 1);
		return 0;
	}
	refuse(k, k->origin->at[config_key_find("run_dir")].line ? "run_dir" : key, "the path of a socket has at most %d bytes; %.100s/%.50s would have %d",
	       CONFIG_SOCKET_MAX - 1, k->config->run_dir, name, n);
	err_hint(k->err, "choose a shorter run_dir");
	return -EINVAL;
}

int config_derive(struct config *c, const struct config_origin *origin, struct err *err)
{
	struct check k = { c, origin, err };
	int r = socket_place(&c->agent, &k, "agent_socket");

	return r < 0 ? r : socket_place(&c->admin, &k, "admin_socket");
}

/* Whoever may ask may not approve: no user stands on both sides. */
static int check_users(const struct check *k)
{
	const struct config_socket *agent = &k->config->agent, *admin = &k->config->admin;

	if (agent->any_uid && admin->uid_count > 0) {
		refuse(k, "agent_users", "\"*\" lets every user ask, those who may decide (admin_users) too");
		err_hint(k->err, "name the users that agents run as, or leave admin_users out: root always may decide");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < admin->uid_count; i++)
		for (uint32_t j = 0; j < agent->uid_count; j++)
			if (admin->uids[i] == agent->uids[j]) {
				refuse(k, "admin_users", "uid %u may ask already (agent_users); whoever may ask may not decide", admin->uids[i]);
				err_hint(k->err, "give the agent a user of its own");
				return -EINVAL;
			}
	return 0;
}

static bool names_has(const struct config_names *names, const char *name)
{
	for (uint32_t i = 0; i < names->count; i++)
		if (strcmp(names->name[i], name) == 0)
			return true;
	return names->any;
}

static int check_numbers(const struct check *k)
{
	const struct config *c = k->config;

	if (c->connections_per_uid > c->connections_max)
		return refuse(k, "connections_per_uid", "%u for one user is more than connections_max, %u for all", c->connections_per_uid,
			      c->connections_max);
	if (c->session_idle_ms > c->session_life_ms)
		return refuse(k, "session_idle", "it is longer than session_life, so it would never hold");
	return 0;
}

static int check_places(const struct check *k)
{
	const char *key = !k->config->run_dir[0] ? "run_dir" : "state_dir";

	if (k->config->run_dir[0] && k->config->state_dir[0])
		return 0;
	refuse(k, key, "there is no default place for it: XDG_RUNTIME_DIR or HOME is not set");
	err_hint(k->err, "set %s in brigd.conf, or BRIG_STATE to a directory of yours", key);
	return -EINVAL;
}

int config_check(const struct config *c, const struct config_origin *origin, struct err *err)
{
	struct check k = { c, origin, err };
	int r = check_places(&k);

	if (r == 0)
		r = check_users(&k);

	if (r == 0)
		r = check_numbers(&k);
	if (r == 0 && strcmp(c->agent.path, c->admin.path) == 0)
		r = refuse(&k, "agent_socket", "it is the same as admin_socket");
	if (r == 0 && strcmp(c->run_dir, c->state_dir) == 0)
		r = refuse(&k, "state_dir", "it is the same as run_dir, which may go at a reboot");
	if (r == 0 && !names_has(&c->profiles, c->default_profile))
		r = refuse(&k, "default_profile", "%s is not among the profiles that may be used (profiles)", c->default_profile);
	return r;
}

static int profile_exists(const struct check *k, const char *key, const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return 0;
	const char *near = nearest_word(name, names, count);
	int r = refuse(k, key, "there is no profile \"%s\"", name);
	if (near)
		err_hint(k->err, "did you mean \"%s\"?", near);
	return r;
}

int config_profiles_check(const struct config *c, const struct config_origin *origin, const char *const *names, size_t count, struct err *err)
{
	struct check k = { c, origin, err };
	int r = profile_exists(&k, "default_profile", c->default_profile, names, count);

	for (uint32_t i = 0; r == 0 && i < c->profiles.count; i++)
		r = profile_exists(&k, "profiles", c->profiles.name[i], names, count);
	for (uint32_t i = 0; r == 0 && i < c->prewarm.count; i++)
		r = profile_exists(&k, "prewarm", c->prewarm.name[i], names, count);
	return r;
}

static size_t width_of(enum config_kind kind)
{
	switch (kind) {
	case CONFIG_DIR:
	case CONFIG_FILES: return PATH_MAX;
	case CONFIG_URL: return CONFIG_URL_MAX;
	case CONFIG_SOCKET: return CONFIG_SOCKET_MAX;
	case CONFIG_BYTES: return sizeof(uint64_t);
	default: return sizeof(uint32_t);
	}
}

int config_reload_check(const struct config *now, const struct config *next, const struct config_origin *origin, struct err *err)
{
	struct check k = { next, origin, err };

	for (const struct config_key *key = config_keys; key->name; key++) {
		const char *a = (const char *)now + key->offset, *b = (const char *)next + key->offset;
		bool text = key->kind == CONFIG_DIR || key->kind == CONFIG_FILES || key->kind == CONFIG_URL || key->kind == CONFIG_SOCKET;

		if (!key->restart || (text ? strcmp(a, b) : memcmp(a, b, width_of(key->kind))) == 0)
			continue;
		refuse(&k, key->name, "%s cannot change while brigd runs", key->name);
		err_hint(err, "restart brigd, or put the value back");
		return -EINVAL;
	}
	return 0;
}
