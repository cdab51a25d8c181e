/* Reads the profile directory as it is; nothing is parsed here, so the process
 * that still has its privileges may call it. */
#include "supervisor/profile_impl.h"

#include "jail/base/fd.h"
#include "supervisor/reviewed.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define STORE_FILES_MAX 512 /* a directory of profiles, not of data */

struct open_dir {
	DIR *dir;
};

static void open_dir_done(struct open_dir *d)
{
	if (d->dir)
		closedir(d->dir);
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n > m && strcmp(name + n - m, suffix) == 0;
}

/* The schema describes profiles and is none. */
static bool is_wanted(const char *name)
{
	return name[0] != '.' && strcmp(name, "schema.json") != 0 &&
	       (has_suffix(name, ".json") || has_suffix(name, ".py"));
}

static struct store_file *store_add(struct profile_store *store)
{
	if (store->count == store->cap) {
		size_t cap = store->cap ? store->cap * 2 : 16;
		struct store_file *files = reallocarray(store->files, cap, sizeof(*files));

		if (!files)
			return NULL;
		store->files = files;
		store->cap = cap;
	}
	store->files[store->count] = (struct store_file){ 0 };
	return &store->files[store->count++];
}

/* A profile decides what jails may do: what anybody may write, or a stranger laid there, is no operator's word. */
static int owner_check(const struct stat *st, const struct stat *dir, const char *dir_path, const char *name, struct err *err)
{
	bool ours = st->st_uid == 0 || st->st_uid == geteuid() || st->st_uid == dir->st_uid;

	if (ours && !(st->st_mode & S_IWOTH))
		return 0;
	if (ours)
		err_set(err, ERR_POLICY, EPERM, "profiles", "everybody may write %s/%s", dir_path, name);
	else
		err_set(err, ERR_POLICY, EPERM, "profiles", "%s/%s belongs to uid %u: neither root, nor us, nor who owns the directory", dir_path, name,
			st->st_uid);
	err_hint(err, "%s", ours ? "chmod o-w" : "chown root, once you have read it");
	return -EPERM;
}

/* prefix: what its name gets in the store, "" or "tiers/". */
static int read_file(struct profile_store *store, int dir_fd, const char *dir_path, const char *prefix, const struct stat *dir,
		     const char *name, struct err *err)
{
	/* Non-blocking, so that a FIFO in the directory stops nobody. Links are followed: configuration is often linked. */
	_cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t max = has_suffix(name, ".py") ? LIMIT_PRELUDE_BYTES : LIMIT_PROFILE_BYTES;
	struct store_file *file;
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_HOST, errno, "profiles", "cannot read %s/%s: %s", dir_path, name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_POLICY, EINVAL, "profiles", "%s/%s is not a regular file", dir_path, name);
	r = owner_check(&st, dir, dir_path, name, err);
	if (r < 0)
		return r;
	if (st.st_size > (off_t)max)
		return err_set(err, ERR_POLICY, EFBIG, "profiles", "%s/%s has more than %zu bytes", dir_path, name, max);
	file = store_add(store);
	if (!file)
		return err_set(err, ERR_HOST, ENOMEM, "profiles", "out of memory");
	if (asprintf(&file->name, "%s%s", prefix, name) < 0)
		file->name = NULL;
	file->text = malloc((size_t)st.st_size + 1);
	if (!file->name || !file->text)
		return err_set(err, ERR_HOST, ENOMEM, "profiles", "out of memory");
	r = fd_read_all(fd, file->text, (size_t)st.st_size);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "profiles", "cannot read %s/%s: %s", dir_path, name, strerror(-r));
	file->len = (size_t)st.st_size;
	file->text[file->len] = '\0';
	return 0;
}

int profile_store_read_one(struct profile_store *store, int dir_fd, const char *dir_path, const char *name, struct err *err)
{
	struct stat dir;

	if (fstat(dir_fd, &dir) < 0)
		return err_set(err, ERR_HOST, errno, "profiles", "cannot look at %s: %s", dir_path, strerror(errno));
	return read_file(store, dir_fd, dir_path, "", &dir, name, err);
}

struct profile_store *profile_store_new(void)
{
	return calloc(1, sizeof(struct profile_store));
}

int profile_store_add(struct profile_store *store, const char *name, const char *text, size_t len)
{
	struct store_file *file = store->count < STORE_FILES_MAX ? store_add(store) : NULL;

	if (!file)
		return -ENOMEM;
	file->name = strdup(name);
	file->text = malloc(len + 1);
	if (!file->name || !file->text)
		return -ENOMEM;
	memcpy(file->text, text, len);
	file->text[len] = '\0';
	file->len = len;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct store_file *)a)->name, ((const struct store_file *)b)->name);
}

int profile_store_index(struct profile_store *store, struct err *err)
{
	size_t folder = strlen(TIERS_FOLDER "/");

	qsort(store->files, store->count, sizeof(*store->files), by_name);
	store->names = calloc(store->count + 1, sizeof(*store->names));
	store->tiers = calloc(store->count + 1, sizeof(*store->tiers));
	if (!store->names || !store->tiers)
		return err_set(err, ERR_HOST, ENOMEM, "profiles", "out of memory");
	for (size_t i = 0; i < store->count; i++) {
		const char *name = store->files[i].name;
		bool tier = strncmp(name, TIERS_FOLDER "/", folder) == 0;
		char *short_name;

		if (!has_suffix(name, ".json") || (!tier && strchr(name, '/')))
			continue;
		name += tier ? folder : 0;
		short_name = strndup(name, strlen(name) - 5);
		if (!short_name)
			return err_set(err, ERR_HOST, ENOMEM, "profiles", "out of memory");
		if (tier)
			store->tiers[store->tier_count++] = short_name;
		else
			store->names[store->name_count++] = short_name;
	}
	return 0;
}

int profile_store_guard(struct profile_store *store, const char *path)
{
	char *real = realpath(path, NULL);

	if (!real && !(real = strdup(path)))
		return -ENOMEM;
	if (store->guarded_count == ARRAY_LEN(store->guarded)) {
		free(real);
		return -E2BIG;
	}
	store->guarded[store->guarded_count++] = real;
	return 0;
}

void profile_store_workspace(struct profile_store *store, const char *path)
{
	snprintf(store->workspace, sizeof(store->workspace), "%s", path);
}

/* A directory that no mount may show, from an environment variable or fixed; "" parts are none. */
static void guard(struct profile_store *store, const char *base, const char *below)
{
	char path[PATH_MAX];

	if (base && base[0] == '/' && (size_t)snprintf(path, sizeof(path), "%s%s", base, below) < sizeof(path))
		(void)profile_store_guard(store, path);
}

static void guard_all(struct profile_store *store, const char *dir_path)
{
	char *dir = realpath(dir_path, NULL);

	guard(store, "/var/lib/brig", "");
	guard(store, "/run/brig", "");
	guard(store, "/etc/brig", "");
	guard(store, getenv("BRIG_STATE"), "");
	guard(store, getenv("XDG_STATE_HOME"), "/brig");
	guard(store, getenv("XDG_DATA_HOME"), "/brig");
	guard(store, getenv("XDG_CONFIG_HOME"), "/brig");
	guard(store, getenv("XDG_RUNTIME_DIR"), "/brig");
	guard(store, getenv("HOME"), "/.local/state/brig");
	guard(store, getenv("HOME"), "/.local/share/brig");
	guard(store, getenv("HOME"), "/.config/brig");
	guard(store, dir, "");
	free(dir);
}

static int read_dir(struct profile_store *store, int dir_fd, const char *dir_path, const char *prefix, struct err *err)
{
	_cleanup_(open_dir_done) struct open_dir d = { NULL };
	_cleanup_close_ int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	struct stat st;

	if (fstat(dir_fd, &st) == 0 && (st.st_mode & S_IWOTH)) {
		err_set(err, ERR_POLICY, EPERM, "profiles", "everybody may write the directory %s", dir_path);
		err_hint(err, "chmod o-w");
		return -EPERM;
	}
	if (copy >= 0)
		d.dir = fdopendir(copy);
	if (!d.dir)
		return err_set(err, ERR_HOST, errno, "profiles", "cannot list %s: %s", dir_path, strerror(errno));
	(void)fd_take(&copy);
	while ((entry = readdir(d.dir))) {
		int r;

		if (!is_wanted(entry->d_name))
			continue;
		if (store->count == STORE_FILES_MAX)
			return err_set(err, ERR_POLICY, E2BIG, "profiles", "%s holds more than %d files", dir_path,
				       STORE_FILES_MAX);
		r = read_file(store, dir_fd, dir_path, prefix, &st, entry->d_name, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A folder beside the profiles; its files are called "folder/NAME" in the store. One that is not there is as good as empty. */
static int read_folder(struct profile_store *store, int dir_fd, const char *dir_path, const char *folder, struct err *err)
{
	_cleanup_close_ int fd = openat(dir_fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[PATH_MAX], prefix[NAME_MAX + 2];

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || (size_t)snprintf(path, sizeof(path), "%s/%s", dir_path, folder) >= sizeof(path))
		return err_set(err, ERR_HOST, errno, "profiles", "cannot open the folder %s/%s: %s", dir_path, folder, strerror(errno));
	snprintf(prefix, sizeof(prefix), "%s/", folder);
	return read_dir(store, fd, path, prefix, err);
}

int profile_store_read(int dir_fd, const char *dir_path, struct profile_store **ret, struct err *err)
{
	struct profile_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return err_set(err, ERR_HOST, ENOMEM, "profiles", "out of memory");
	r = read_dir(store, dir_fd, dir_path, "", err);
	if (r == 0)
		r = read_folder(store, dir_fd, dir_path, TIERS_FOLDER, err);
	if (r == 0)
		r = read_folder(store, dir_fd, dir_path, REVIEWED_FOLDER, err);
	if (r == 0)
		r = profile_store_index(store, err);
	if (r < 0) {
		profile_store_free(store);
		return r;
	}
	guard_all(store, dir_path);
	*ret = store;
	return 0;
}

void profile_store_free(struct profile_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->count; i++) {
		free(store->files[i].name);
		free(store->files[i].text);
	}
	for (size_t i = 0; store->names && i < store->name_count; i++)
		free(store->names[i]);
	for (size_t i = 0; store->tiers && i < store->tier_count; i++)
		free(store->tiers[i]);
	for (size_t i = 0; i < store->guarded_count; i++)
		free(store->guarded[i]);
	free(store->files);
	free(store->names);
	free(store->tiers);
	free(store);
}

const char *profile_store_name(const struct profile_store *store, size_t i)
{
	return i < store->name_count ? store->names[i] : NULL;
}

const char *profile_store_tier(const struct profile_store *store, size_t i)
{
	return i < store->tier_count ? store->tiers[i] : NULL;
}

const struct store_file *store_find(const struct profile_store *store, const char *file_name)
{
	for (size_t i = 0; i < store->count; i++)
		if (strcmp(store->files[i].name, file_name) == 0)
			return &store->files[i];
	return NULL;
}

const char *profile_store_text(const struct profile_store *store, const char *name, size_t *ret_len)
{
	char file_name[SPEC_NAME_MAX + sizeof(".json")];
	const struct store_file *file;

	if ((size_t)snprintf(file_name, sizeof(file_name), "%s.json", name) >= sizeof(file_name))
		return NULL;
	file = store_find(store, file_name);
	if (!file)
		return NULL;
	*ret_len = file->len;
	return file->text;
}
