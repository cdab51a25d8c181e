/* Control-group files: numbers, keyed numbers, and writes that are read back. */
#include "jail/base/fd.h"
#include "supervisor/cgroup_impl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_CAP 64   /* a uint64_t or "max" */
#define KEYED_CAP  2048 /* a dozen lines of a name and a number */

static bool number_parse(const char *text, uint64_t *ret)
{
	char *end;

	if (strncmp(text, "max", 3) == 0) {
		*ret = UINT64_MAX;
		return true;
	}
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && (*end == '\0' || *end == '\n' || *end == ' ');
}

static int key_parse(const char *text, const char *key, uint64_t *ret)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return number_parse(line + len + 1, ret) ? 0 : -EPROTO;
	}
	return -ENOENT;
}

int cgroup_key_read(int dir, const char *file, const char *key, uint64_t *ret)
{
	char text[KEYED_CAP];
	ssize_t n = fd_read_file_at(dir, file, text, sizeof(text));

	return n < 0 ? (int)n : key_parse(text, key, ret);
}

/* From its start: the kernel makes such a file's text anew, and in one piece. */
static ssize_t file_text(struct cgroup *cg, enum cgroup_file which, enum cgroup_dir in, const char *name, char *text, size_t cap)
{
	ssize_t n;

	if (!cg->is_view)
		return cg->dir[in] < 0 ? -ENOENT : fd_read_file_at(cg->dir[in], name, text, cap);
	if (cg->file[which] < 0 && cg->dir[in] >= 0)
		cg->file[which] = openat(cg->dir[in], name, O_RDONLY | O_CLOEXEC);
	if (cg->file[which] < 0)
		return -ENOENT;
	do
		n = pread(cg->file[which], text, cap - 1, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return n;
}

int cgroup_file_number(struct cgroup *cg, enum cgroup_file which, enum cgroup_dir in, const char *name, uint64_t *ret)
{
	char text[NUMBER_CAP];
	ssize_t n = file_text(cg, which, in, name, text, sizeof(text));

	if (n < 0)
		return (int)n;
	return number_parse(text, ret) ? 0 : -EPROTO;
}

int cgroup_file_key(struct cgroup *cg, enum cgroup_file which, enum cgroup_dir in, const char *name, const char *key, uint64_t *ret)
{
	char text[KEYED_CAP];
	ssize_t n = file_text(cg, which, in, name, text, sizeof(text));

	return n < 0 ? (int)n : key_parse(text, key, ret);
}

int cgroup_text_set(int dir, const char *file, const char *text, struct err *err)
{
	char back[128];
	int r = fd_write_file_at(dir, file, text);

	if (r < 0)
		return err_set(err, ERR_HOST, -r, "cgroup", "cannot write \"%s\" to %s: %s", text, file, strerror(-r));
	ssize_t n = fd_read_file_at(dir, file, back, sizeof(back));
	if (n < 0)
		return err_set(err, ERR_HOST, (int)-n, "cgroup", "cannot read %s back: %s", file, strerror((int)-n));
	back[strcspn(back, "\n")] = '\0';
	if (strcmp(back, text) != 0)
		return err_set(err, ERR_HOST, EIO, "cgroup", "%s reads \"%s\" after \"%s\" was written", file, back, text);
	return 0;
}

int cgroup_number_set(int dir, const char *file, uint64_t value, struct err *err)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	return cgroup_text_set(dir, file, text, err);
}

int cgroup_procs_count(int dir)
{
	char text[8192];
	ssize_t n = fd_read_file_at(dir, "cgroup.procs", text, sizeof(text));
	int count = 0;

	if (n < 0)
		return (int)n;
	for (const char *p = text; (p = strchr(p, '\n')); p++)
		count++;
	return count;
}

bool cgroup_list_has(const char *list, const char *word)
{
	size_t len = strlen(word);

	while (*list) {
		size_t n = strcspn(list, " ,\n");
		if (n == len && strncmp(list, word, n) == 0)
			return true;
		list += n;
		list += strspn(list, " ,\n");
	}
	return false;
}
