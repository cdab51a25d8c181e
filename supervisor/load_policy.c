/* The policy's files: read as raw bytes like profiles, under the same rule about whose they may be. */
#include "supervisor/load.h"

#include "jail/base/fd.h"
#include "supervisor/load_impl.h"
#include "supervisor/policy.h"
#include "supervisor/profile_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DIR  "policies"
#define DEFAULT_FILE "default.json"

/* Adds dir_path/name. -ENOENT: there is none. */
static int read_file(struct profile_store *store, const char *dir_path, const char *name, struct err *err)
{
	_cleanup_close_ int dir = open(dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (dir < 0)
		r = err_set(err, ERR_POLICY, errno, "policy", "cannot open %.200s: %s", dir_path, strerror(errno));
	else
		r = profile_store_read_one(store, dir, dir_path, name, err);
	if (r < 0 && err)
		snprintf(err->where, sizeof(err->where), "policy");
	return r;
}

static int read_named(struct profile_store *store, const char *files, struct err *err)
{
	char path[PATH_MAX];
	int r = 0;

	for (const char *at = files; r == 0 && *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		snprintf(path, sizeof(path), "%.*s", (int)n, at);
		char *slash = strrchr(path, '/');
		*slash = '\0';
		r = read_file(store, path[0] ? path : "/", slash + 1, err);
		at += n;
	}
	return r;
}

static int read_default(struct profile_store *store, const char *profiles_dir, struct err *err)
{
	char path[PATH_MAX], dir[PATH_MAX + sizeof(DEFAULT_DIR) + 1];

	snprintf(dir, sizeof(dir), "%s/" DEFAULT_DIR, profiles_dir);
	int r = read_file(store, dir, DEFAULT_FILE, err);
	if (r != -ENOENT)
		return r;
	fd_close(load_shipped(path));
	snprintf(dir, sizeof(dir), "%s/" DEFAULT_DIR, path);
	r = read_file(store, dir, DEFAULT_FILE, err);
	if (r == -ENOENT)
		err_hint(err, "without a policy nothing may run; name one by policy in brigd.conf");
	return r;
}

int load_policy(struct loaded *l, struct err *err)
{
	struct profile_store *store = profile_store_new();

	if (!store)
		return err_set(err, ERR_HOST, ENOMEM, "policy", "out of memory");
	int r = l->config.policy[0] ? read_named(store, l->config.policy, err) : read_default(store, l->config.profiles_dir, err);
	if (r < 0) {
		profile_store_free(store);
		return r;
	}
	l->policy = store;
	return 0;
}

int load_policy_parse(const struct profile_store *texts, struct policy **ret, struct err *err)
{
	_cleanup_free_ struct policy_text *list = calloc(texts->count + 1, sizeof(*list));

	if (!list)
		return err_set(err, ERR_HOST, ENOMEM, "policy", "out of memory");
	for (size_t i = 0; i < texts->count; i++)
		list[i] = (struct policy_text){ texts->files[i].name, texts->files[i].text, texts->files[i].len };
	return policy_parse(list, texts->count, ret, err);
}
