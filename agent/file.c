#include "agent/file.h"

#include "agent/text.h"
#include "jail/base/limits.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_FIRST (64u << 10)
#define NAME_SHOWN 120

void bytes_done(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

static int too_large(const char *shown, size_t max, struct err *err)
{
	err_set(err, ERR_CALLER, EFBIG, "file", "%s is larger than %zu bytes", shown, max);
	return -EFBIG;
}

/* Waits until fd can be read. */
static int stream_wait(int fd, int stop_fd)
{
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN }, { .fd = stop_fd, .events = POLLIN } };

	if (poll(p, 2, -1) < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	return p[1].revents ? -ECANCELED : 0;
}

static int bytes_grow(struct bytes *b, size_t *cap, size_t max)
{
	size_t want = *cap ? 2 * *cap : FILE_FIRST;
	char *more;

	/* One byte more than allowed tells "too large" from "just fits", one is for the NUL. */
	if (want > max + 2)
		want = max + 2;
	more = realloc(b->data, want);
	if (!more)
		return -ENOMEM;
	b->data = more;
	*cap = want;
	return 0;
}

int file_read_stream(int fd, int stop_fd, const char *name, size_t max, struct bytes *ret, struct err *err)
{
	_cleanup_(bytes_done) struct bytes b = { 0 };
	char shown[NAME_SHOWN];
	size_t cap = 0;
	ssize_t n = 1;

	text_quote(shown, sizeof(shown), name);
	while (n != 0) {
		int r = stop_fd >= 0 ? stream_wait(fd, stop_fd) : 0;

		if (r == -ECANCELED)
			return err_set(err, ERR_CALLER, ECANCELED, "file", "interrupted while reading %s", shown);
		if (r == -EAGAIN)
			continue;
		if (b.len + 1 >= cap && bytes_grow(&b, &cap, max) < 0)
			return err_set(err, ERR_HOST, ENOMEM, "file", "no memory to read %s", shown);
		n = read(fd, b.data + b.len, cap - 1 - b.len);
		if (n < 0 && errno != EINTR)
			return err_set(err, ERR_CALLER, errno, "file", "cannot read %s: %s", shown, strerror(errno));
		if (n > 0)
			b.len += (size_t)n;
		if (b.len > max)
			return too_large(shown, max, err);
	}
	b.data[b.len] = '\0';
	*ret = b;
	b = (struct bytes){ 0 };
	return 0;
}

static const char *kind_name(mode_t mode)
{
	return S_ISDIR(mode) ? "a directory" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

static int read_opened(int dir_fd, const char *path, int flags, size_t max, struct bytes *ret, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char shown[NAME_SHOWN];
	struct stat st;

	text_quote(shown, sizeof(shown), path);
	/* Without O_NONBLOCK the open of a FIFO waits for a writer. */
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	if (fd < 0)
		return err_set(err, ERR_CALLER, errno, "file", "cannot open %s: %s", shown, strerror(errno));
	if (fstat(fd, &st) < 0)
		return err_set(err, ERR_CALLER, errno, "file", "cannot stat %s: %s", shown, strerror(errno));
	if (!S_ISREG(st.st_mode)) {
		err_set(err, ERR_CALLER, EINVAL, "file", "%s is %s, not a regular file", shown, kind_name(st.st_mode));
		return -EINVAL;
	}
	if (st.st_size > 0 && (size_t)st.st_size > max)
		return too_large(shown, max, err);
	return file_read_stream(fd, -1, path, max, ret, err);
}

int file_read(const char *path, size_t max, struct bytes *ret, struct err *err)
{
	return read_opened(AT_FDCWD, path, 0, max, ret, err);
}

int file_read_at(int dir_fd, const char *name, size_t max, struct bytes *ret, struct err *err)
{
	return read_opened(dir_fd, name, O_NOFOLLOW, max, ret, err);
}

static unsigned line_of(const struct bytes *b, size_t offset)
{
	unsigned line = 1;

	for (size_t i = 0; i < offset && i < b->len; i++)
		line += b->data[i] == '\n';
	return line;
}

int file_check_text(const char *name, const struct bytes *b, struct err *err)
{
	char shown[NAME_SHOWN];
	size_t offset = 0;
	const char *nul;

	text_quote(shown, sizeof(shown), name);
	if (!utf8_check(b->data, b->len, &offset)) {
		err_set(err, ERR_CALLER, EILSEQ, "file", "%s is not UTF-8: byte 0x%02x at offset %zu, line %u", shown,
			(unsigned char)b->data[offset], offset, line_of(b, offset));
		err_hint(err, "save the file as UTF-8");
		return -EILSEQ;
	}
	nul = memchr(b->data, '\0', b->len);
	if (nul) {
		offset = (size_t)(nul - b->data);
		return err_set(err, ERR_CALLER, EILSEQ, "file", "%s holds a NUL byte at offset %zu, line %u", shown,
			offset, line_of(b, offset));
	}
	return 0;
}

bool file_is_profile(const char *value)
{
	size_t n = strlen(value);

	return strchr(value, '/') || (n >= 5 && strcmp(value + n - 5, ".json") == 0);
}

int file_read_profile(const char *path, struct bytes *ret, struct err *err)
{
	int r = file_read(path, LIMIT_PROFILE_BYTES, ret, err);

	return r < 0 ? r : file_check_text(path, ret, err);
}
