/* files.mounts of the merged tree -> mounts of the spec: tokens become the paths
 * of this host, and what would show Brig's own files or the kernel's is refused.
 * Only looks (stat, readlink); opening is the zygote's. */
#include "supervisor/profile_impl.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#ifndef BRIG_PYTHON_VERSION
#error "the version of libpython that the zygote is linked with"
#endif
#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#endif

/* One path that a token stands for. It must exist unless optional. On hosts with
 * a merged /usr some are symlinks, and become symlinks of the jail. */
struct token_path {
	const char *token, *path;
	bool optional;
	uint32_t flags;
};

static const struct token_path token_paths[] = {
	/* The modules, some of them shared objects, hence EXEC. */
	{ "@stdlib", "/usr/lib/python" BRIG_PYTHON_VERSION, false, SPEC_MOUNT_EXEC },
	/* Shared objects and the program loader. */
	{ "@libs", "/usr/lib/" MULTIARCH, false, SPEC_MOUNT_EXEC },
	{ "@libs", "/usr/lib64", true, SPEC_MOUNT_EXEC },
	{ "@libs", "/lib", true, SPEC_MOUNT_EXEC },
	{ "@libs", "/lib64", true, SPEC_MOUNT_EXEC },
	{ "@zoneinfo", "/usr/share/zoneinfo", false, 0 },
	{ "@dist-packages", "/usr/lib/python3/dist-packages", false, SPEC_MOUNT_EXEC },
	{ "@dist-packages", "/usr/local/lib/python" BRIG_PYTHON_VERSION "/dist-packages", true, SPEC_MOUNT_EXEC },
	/* Links only: numpy's BLAS and LAPACK are chosen there, and lie in @libs. */
	{ "@dist-packages", "/etc/alternatives", true, 0 },
	{ "@bin", "/usr/bin", false, SPEC_MOUNT_EXEC },
	{ "@bin", "/bin", true, SPEC_MOUNT_EXEC },
};

struct mounts {
	const struct profile_store *store;
	struct profile *profile;
	const cJSON *item;
	struct err *err;
};

#define refuse(m, ...) policy_error(&(m)->profile->origins, (m)->item, (m)->err, __VA_ARGS__)

/* Is `path` at or below `dir`? */
static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static int add(struct mounts *m, const char *from, const char *to, uint32_t flags)
{
	struct jail_spec *spec = m->profile->spec;
	struct spec_mount *mount = &spec->mounts[spec->mount_count];

	if (spec->mount_count == SPEC_MOUNTS_MAX)
		return refuse(m, "more than %u mounts", SPEC_MOUNTS_MAX);
	if (strlen(from) >= sizeof(mount->from) || strlen(to) >= sizeof(mount->to))
		return refuse(m, "a path of more than %u bytes", SPEC_PATH_MAX - 1);
	for (uint32_t i = 0; i < spec->mount_count; i++)
		if (strcmp(spec->mounts[i].to, to) == 0)
			return refuse(m, "\"%s\" is mounted twice", to);
	memcpy(mount->from, from, strlen(from) + 1);
	memcpy(mount->to, to, strlen(to) + 1);
	mount->flags = flags;
	m->profile->mount_origin[spec->mount_count] = m->item->valueint;
	spec->mount_count++;
	return 0;
}

static int add_token_path(struct mounts *m, const struct token_path *t)
{
	char target[SPEC_PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(t->path, &st) < 0) {
		if (t->optional && errno == ENOENT)
			return 0;
		return refuse(m, "\"%s\" stands for %s, which is not on this host: %s", t->token, t->path, strerror(errno));
	}
	if (!S_ISLNK(st.st_mode))
		return add(m, t->path, t->path, t->flags);
	n = readlink(t->path, target + 1, sizeof(target) - 2);
	if (n <= 0 || n >= (ssize_t)sizeof(target) - 2)
		return refuse(m, "cannot read the link %s", t->path);
	target[n + 1] = '\0';
	target[0] = '/'; /* "usr/lib64", at the root, is "/usr/lib64" */
	return add(m, target[1] == '/' ? target + 1 : target, t->path, SPEC_MOUNT_SYMLINK);
}

static int add_token(struct mounts *m, const char *token)
{
	const char *words[ARRAY_LEN(token_paths)], *near;
	bool known = false;
	char room[96];

	for (size_t i = 0; i < ARRAY_LEN(token_paths); i++) {
		int r;

		words[i] = token_paths[i].token;
		if (strcmp(token_paths[i].token, token) != 0)
			continue;
		known = true;
		r = add_token_path(m, &token_paths[i]);
		if (r < 0)
			return r;
	}
	if (known)
		return 0;
	near = nearest_word(token, words, ARRAY_LEN(words));
	refuse(m, "no mount is called %s", quoted(token, room));
	if (near)
		err_hint(m->err, "did you mean \"%s\"?", near);
	else
		err_hint(m->err, "the tokens are @stdlib, @libs, @zoneinfo, @dist-packages, @bin, @workspace");
	return -EINVAL;
}

/* Sources that are never shown: at or below the first kind, exactly the second. */
static const struct {
	const char *path, *why;
	bool below;
} forbidden[] = {
	{ "/", "it holds everything, Brig's own state too", false },
	{ "/proc", "it is the kernel's; ask for files.proc", true },
	{ "/sys", "it is the kernel's", true },
	{ "/dev", "devices are Brig's own choice", true },
	{ "/run", "it holds the sockets of the host's services", true },
	{ "/var/run", "it holds the sockets of the host's services", true },
	{ "/etc", "it holds the host's secrets; mount what is needed below it", false },
	{ "/etc/shadow", "it holds the host's secrets", true },
	{ "/etc/gshadow", "it holds the host's secrets", true },
	{ "/etc/sudoers", "it holds the host's secrets", true },
	{ "/etc/ssh", "it holds the host's keys", true },
	{ "/root", "it is somebody's whole home; mount a directory in it", false },
	{ "/home", "it holds everybody's homes; mount a directory in one", false },
	{ "/boot", "it is the machine's", true },
	{ "/tmp", "it holds other programs' files and sockets; mount a directory in it", false },
	{ "/var", "it holds the host's state; mount a directory in it", false },
};

static int check_source(struct mounts *m, const char *from, const struct stat *st)
{
	const char *home = getenv("HOME");

	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
		if (strcmp(from, forbidden[i].path) == 0 || (forbidden[i].below && is_below(from, forbidden[i].path)))
			return refuse(m, "\"%s\" may not be mounted: %s", from, forbidden[i].why);
	if (home && home[0] == '/' && home[1] && strcmp(from, home) == 0)
		return refuse(m, "\"%s\" may not be mounted: it is somebody's whole home; mount a directory in it", from);
	for (size_t i = 0; i < m->store->guarded_count; i++)
		if (is_below(from, m->store->guarded[i]) || is_below(m->store->guarded[i], from))
			return refuse(m, "\"%s\" may not be mounted: it holds Brig's own %s", from, m->store->guarded[i]);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return refuse(m, "\"%s\" is neither a directory nor a regular file", from);
	return 0;
}

/* Places that Brig fills itself, so that a mount there would hide them or be hidden. */
static int check_place(struct mounts *m, const char *to)
{
	static const char *const whole[] = { "/proc", "/dev", "/sys", "/tmp" };
	static const char *const own[] = { "/etc", "/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/usr",
					   "/usr/lib", "/lib", "/lib64", "/bin" };

	if (strcmp(to, "/") == 0)
		return refuse(m, "nothing can be mounted at \"/\"");
	for (size_t i = 0; i < ARRAY_LEN(whole); i++)
		if (is_below(to, whole[i]))
			return refuse(m, "nothing can be mounted at \"%s\": %s is the jail's own", to, whole[i]);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (strcmp(to, own[i]) == 0)
			return refuse(m, "nothing can be mounted at \"%s\": Brig makes it", to);
	return 0;
}

/* By name alone: the path was made canonical by the keeper, and may lie where core cannot look. */
static int add_workspace(struct mounts *m)
{
	static const struct stat directory = { .st_mode = S_IFDIR };
	const cJSON *mode = cJSON_GetObjectItemCaseSensitive(m->item, "mode");
	const char *path = m->store->workspace;
	uint32_t flags = SPEC_MOUNT_WORKSPACE;
	int r = path[0] ? check_source(m, path, &directory) : 0;

	if (r < 0)
		return r;
	if (mode && strcmp(mode->valuestring, "rw") == 0)
		flags |= SPEC_MOUNT_RW;
	return add(m, path[0] ? path : PROFILE_WORKSPACE, PROFILE_WORKSPACE, path[0] ? flags : flags | SPEC_MOUNT_ABSENT);
}

static int add_path(struct mounts *m, const char *from, const char *to)
{
	const cJSON *mode = cJSON_GetObjectItemCaseSensitive(m->item, "mode");
	const cJSON *exec = cJSON_GetObjectItemCaseSensitive(m->item, "exec");
	_cleanup_free_ char *real = realpath(from, NULL);
	uint32_t flags = cJSON_IsTrue(exec) ? SPEC_MOUNT_EXEC : 0;
	struct stat st;
	int r;

	if (!real || stat(real, &st) < 0)
		return refuse(m, "\"%s\" cannot be mounted: %s", from, strerror(errno));
	if (mode && strcmp(mode->valuestring, "rw") == 0)
		flags |= SPEC_MOUNT_RW;
	r = check_source(m, real, &st);
	if (r == 0)
		r = check_place(m, to);
	return r < 0 ? r : add(m, real, to, flags);
}

int profile_mounts(const struct profile_store *store, struct profile *profile, struct err *err)
{
	struct mounts m = { .store = store, .profile = profile, .err = err };
	const cJSON *mounts = tree_at(profile->tree, "files.mounts");

	cJSON_ArrayForEach(m.item, mounts) {
		const cJSON *from = cJSON_GetObjectItemCaseSensitive(m.item, "from");
		const cJSON *to = cJSON_GetObjectItemCaseSensitive(m.item, "to");
		int r = strcmp(from->valuestring, "@workspace") == 0 ? add_workspace(&m) :
			from->valuestring[0] == '@' ? add_token(&m, from->valuestring) :
						      add_path(&m, from->valuestring, to ? to->valuestring : from->valuestring);
		if (r < 0)
			return r;
	}
	return 0;
}
