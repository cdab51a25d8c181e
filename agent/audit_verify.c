#include "agent/audit_verify.h"

#include "jail/base/limits.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which files, and their order ---- */

static int no_memory(struct err *err)
{
	return err_set(err, ERR_HOST, ENOMEM, "audit", "no memory for the list of files");
}

/* Takes path and fd. */
static int file_add(struct verify_files *f, char *path, int fd, struct err *err)
{
	char **paths = path ? reallocarray(f->path, f->count + 1, sizeof(*paths)) : NULL;
	int *fds = paths ? reallocarray(f->fd, f->count + 1, sizeof(*fds)) : NULL;

	f->path = paths ?: f->path;
	f->fd = fds ?: f->fd;
	if (!fds) {
		free(path);
		fd_close(fd);
		return no_memory(err);
	}
	f->path[f->count] = path;
	f->fd[f->count++] = fd;
	return 0;
}

void verify_files_done(struct verify_files *f)
{
	for (unsigned i = 0; i < f->count; i++) {
		free(f->path[i]);
		fd_close(f->fd[i]);
	}
	free(f->path);
	free(f->fd);
	*f = (struct verify_files){ 0 };
}

static char *join(const char *dir, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int is_old(const struct dirent *d)
{
	return chain_is_old_name(d->d_name);
}

static bool same_file(int dir_fd, const char *name, int fd)
{
	struct stat a, b;

	return fd >= 0 && fstatat(dir_fd, name, &a, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int old_files_add(int dir_fd, const char *dir, int log_fd, struct verify_files *ret, struct err *err)
{
	struct dirent **names;
	int n = scandirat(dir_fd, ".", &names, is_old, alphasort), r = 0;

	if (n < 0)
		return err_set(err, ERR_HOST, errno, "audit", "%.200s: %s", dir, strerror(errno));
	for (int i = 0; i < n; i++) {
		/* Put away since we opened it as the one that grows. */
		if (r == 0 && !same_file(dir_fd, names[i]->d_name, log_fd))
			r = file_add(ret, join(dir, names[i]->d_name), -1, err);
		free(names[i]);
	}
	free(names);
	return r;
}

int verify_files_of_dir(const char *dir, struct verify_files *ret, struct err *err)
{
	_cleanup_close_ int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct verify_files){ 0 };
	if (dir_fd < 0)
		return err_set(err, ERR_HOST, errno, "audit", "%.200s: %s", dir, strerror(errno));
	/* First, so that a rotation meanwhile takes no file from between our fingers. */
	_cleanup_close_ int log_fd = openat(dir_fd, CHAIN_LOG_NAME, O_RDONLY | O_CLOEXEC);
	if (log_fd < 0 && errno != ENOENT)
		return err_set(err, ERR_HOST, errno, "audit", "%.200s/" CHAIN_LOG_NAME ": %s", dir, strerror(errno));
	int r = old_files_add(dir_fd, dir, log_fd, ret, err);
	if (r == 0 && log_fd >= 0)
		r = file_add(ret, join(dir, CHAIN_LOG_NAME), fd_take(&log_fd), err);
	if (r == 0 && ret->count == 0)
		r = err_set(err, ERR_CALLER, ENOENT, "audit", "%.200s holds no audit log", dir);
	if (r < 0)
		verify_files_done(ret);
	return r;
}

int verify_files_named(const char *const *names, unsigned count, struct verify_files *ret, struct err *err)
{
	int r = 0;

	*ret = (struct verify_files){ 0 };
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = file_add(ret, strdup(names[i]), -1, err);
	if (r < 0)
		verify_files_done(ret);
	return r;
}

/* ---- the walk ---- */

#define STOP 1

static int found(struct verify *v, struct verify_place where, const char *what)
{
	v->broken = true;
	v->where = where;
	snprintf(v->what, sizeof(v->what), "%s", what);
	return STOP;
}

/* Every record says its kind at the front. */
static bool goes_on_from_another(const char *line, size_t len)
{
	static const char kind[] = "\"kind\":\"file\"";

	return memmem(line, len < 96 ? len : 96, kind, sizeof(kind) - 1) != NULL;
}

static int take_break(struct verify *v, bool first, const char *line, size_t len)
{
	if (v->unsound.file)
		return found(v, v->unsound, v->unsound_why);
	if (!first)
		return found(v, v->at, v->walk.why);
	if (!goes_on_from_another(line, len))
		return found(v, v->at, "the log does not begin here: the records before this one are missing");
	return 0; /* older files were put away: nothing can be said of them */
}

static int on_line(const char *line, size_t len, void *arg)
{
	struct verify *v = arg;
	bool first = !v->walk.begun;
	struct json_error je;

	v->at.line++;
	enum chain_seen seen = chain_walk_line(&v->walk, line, len);
	if (seen == CHAIN_UNSOUND) {
		if (!v->unsound.file) {
			v->unsound = v->at;
			memcpy(v->unsound_why, v->walk.why, sizeof(v->unsound_why));
		}
		v->unfinished = line[len - 1] != '\n';
		return 0;
	}
	if (seen == CHAIN_BREAK && take_break(v, first, line, len))
		return STOP;
	if (seen == CHAIN_TORN && v->torn_count++ < VERIFY_TORN_MAX)
		v->torn[v->torn_count - 1] = v->at;
	v->unsound.file = NULL;
	if (json_check(line, len, JSON_OBJECT, LIMIT_JSON_DEPTH, &je) < 0)
		return found(v, v->at, "the record is not JSON, though its hash holds: whoever wrote it was not brigd");
	v->first_seq = first ? v->walk.last.seq : v->first_seq;
	v->records++;
	v->head_found = v->head_found || (v->head && memcmp(v->head, v->walk.last.hash, CHAIN_HEX) == 0);
	return 0;
}

static int walk_file(struct verify *v, const char *path, int opened, struct err *err)
{
	_cleanup_close_ int fd = opened >= 0 ? fcntl(opened, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 || (opened >= 0 && lseek(fd, 0, SEEK_SET) < 0) ? -errno : 0;

	v->at = (struct verify_place){ path, 0 };
	v->unfinished = false;
	v->files++;
	if (r == 0)
		r = chain_lines(fd, on_line, v);
	return r < 0 ? err_set(err, ERR_HOST, -r, "audit", "%.200s: %s", path, strerror(-r)) : r;
}

int verify_run(struct verify *v, const char *head, const struct verify_files *files, struct err *err)
{
	int r = 0;

	*v = (struct verify){ .head = head };
	chain_walk_init(&v->walk);
	for (unsigned i = 0; r == 0 && i < files->count; i++)
		r = walk_file(v, files->path[i], files->fd[i], err);
	if (r != 0)
		return r < 0 ? r : 0;
	if (v->unsound.file)
		(void)found(v, v->unsound, v->unsound_why);
	else if (v->records == 0)
		(void)found(v, (struct verify_place){ 0 }, "the log holds no record");
	else if (head && !v->head_found)
		(void)found(v, (struct verify_place){ 0 }, "no record has the hash that --head names: the log was cut, or written anew from before it on");
	return 0;
}
