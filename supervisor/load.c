#include "supervisor/load.h"

#include "jail/base/fd.h"
#include "supervisor/load_impl.h"
#include "supervisor/profile_impl.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define PROFILES_INSTALLED "/usr/share/brig/profiles"

int load_shipped(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	path[n > 0 ? n : 0] = '\0';
	for (int up = 0; up < 2; up++) {
		char *slash = strrchr(path, '/');
		if (slash)
			*slash = '\0';
	}
	n = (ssize_t)strlen(path);
	snprintf(path + n, PATH_MAX - (size_t)n, "/profiles");
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, PATH_MAX, "%s", PROFILES_INSTALLED);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* No mount of a profile may show them; profile_store_read() knows the usual places only. */
static int own_dirs_guard(struct loaded *l, struct err *err)
{
	profile_store_workspace(l->profiles, l->config.workspace);
	const char *const dirs[] = { l->config.run_dir, l->config.state_dir };

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (dirs[i][0] && profile_store_guard(l->profiles, dirs[i]) < 0)
			return err_set(err, ERR_HOST, ENOMEM, "profiles", "out of memory");
	return 0;
}

int load_profiles(const struct load_from *from, struct loaded *ret, struct err *err)
{
	char *path = ret->config.profiles_dir;

	if (from->profiles)
		snprintf(path, PATH_MAX, "%s", from->profiles);
	_cleanup_close_ int dir = path[0] ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : load_shipped(path);
	if (dir < 0) {
		err_set(err, ERR_HOST, errno, "profiles", "cannot open the profiles in %.200s: %s", path, strerror(errno));
		err_hint(err, "name them by --profiles DIR, or by profiles_dir in brigd.conf");
		return -err->code;
	}
	int r = profile_store_read(dir, path, &ret->profiles, err);
	return r < 0 ? r : own_dirs_guard(ret, err);
}

/* Profiles and messages speak of where it is. One that is not there is told by who opens it. */
static int workspace_settle(struct config *c, struct err *err)
{
	_cleanup_free_ char *real = c->workspace[0] ? realpath(c->workspace, NULL) : NULL;

	if (c->workspace[0] && !real) {
		err_set(err, ERR_CALLER, errno, "workspace", "the workspace %.200s: %s", c->workspace, strerror(errno));
		err_hint(err, "name a directory that is there: workspace in brigd.conf, or BRIG_WORKSPACE");
		return -err->code;
	}
	if (real)
		snprintf(c->workspace, sizeof(c->workspace), "%s", real);
	return 0;
}

int load_config(const struct load_from *from, struct loaded *ret, struct err *err)
{
	char path[PATH_MAX];

	ret->profiles = ret->policy = NULL;
	int r;

	if (!from->config)
		config_default_path(path, sizeof(path));
	r = config_read(&ret->config, &ret->origin, from->config ? from->config : path, from->config != NULL, err);
	return r < 0 ? r : workspace_settle(&ret->config, err);
}

static int names_check(const struct loaded *l, struct err *err)
{
	size_t count = 0;

	while (profile_store_name(l->profiles, count))
		count++;
	_cleanup_free_ const char **names = calloc(count + 1, sizeof(*names));
	if (!names)
		return err_set(err, ERR_HOST, ENOMEM, "config", "out of memory");
	for (size_t i = 0; i < count; i++)
		names[i] = profile_store_name(l->profiles, i);
	return config_profiles_check(&l->config, &l->origin, names, count, err);
}

int load_read(const struct load_from *from, struct loaded *ret, struct err *err)
{
	int r = load_config(from, ret, err);

	if (r == 0)
		r = load_profiles(from, ret, err);
	if (r == 0)
		r = names_check(ret, err);
	if (r == 0)
		r = load_policy(ret, err);
	if (r < 0)
		load_done(ret);
	return r;
}

void load_done(struct loaded *l)
{
	profile_store_free(l->profiles);
	profile_store_free(l->policy);
	l->profiles = l->policy = NULL;
}
