/* The lines of brigd.conf: "key = value", comments from a '#' that begins a line or follows a blank. Strict: what is
 * not understood is refused with its place, and nothing holds. */
#include "supervisor/config_impl.h"

#include "jail/base/fd.h"
#include "supervisor/nearest.h"

#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

/* Written by hand: some forty keys with their comments. */
#define FILE_MAX (256u << 10)
/* Long enough for a list of users or profiles, and for any path. */
#define LINE_MAX_BYTES 4096u
#define KEY_MAX_BYTES  40u

struct parser {
	struct config *config;
	struct config_origin *origin;
	const char *name;
	unsigned line;
	struct err *err;
};

static int refuse(const struct parser *p, size_t column, const char *fmt, ...) PRINTF_LIKE(3, 4);
static int refuse(const struct parser *p, size_t column, const char *fmt, ...)
{
	char where[64], detail[320];
	va_list args;

	snprintf(where, sizeof(where), "%.36s:%u:%zu", p->name, p->line, column);
	va_start(args, fmt);
	vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	return err_set(p->err, ERR_POLICY, EINVAL, where, "%s", detail);
}

static int refuse_key(const struct parser *p, size_t column, const char *key)
{
	const char *words[CONFIG_KEYS_MAX], *near;
	size_t n = 0;
	int r = refuse(p, column, "there is no key \"%s\"", key);

	for (; config_keys[n].name; n++)
		words[n] = config_keys[n].name;
	near = nearest_word(key, words, n);
	if (near)
		err_hint(p->err, "did you mean \"%s\"?", near);
	else
		err_hint(p->err, "brigd --print-config lists the keys, brigd.conf(5) tells what they mean");
	return r;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_key_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* Every byte of the line may be shown again in a message. */
static int check_bytes(const struct parser *p, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return refuse(p, i + 1, "a control character (0x%02x)", c);
	}
	return len < LINE_MAX_BYTES ? 0 : refuse(p, LINE_MAX_BYTES, "the line has more than %u bytes", LINE_MAX_BYTES - 1);
}

/* Without the comment and the blanks before it. No value begins with a '#': printed behind a blank it would be a comment. */
static size_t value_end(const char *text, size_t from, size_t len)
{
	size_t end = from;

	while (end < len && !(text[end] == '#' && (end == from || is_blank(text[end - 1]))))
		end++;
	while (end > from && is_blank(text[end - 1]))
		end--;
	return end;
}

static int set_value(const struct parser *p, int row, const char *value, size_t column)
{
	struct config_refusal why = { 0 };
	int r = config_value_set(p->config, &config_keys[row], value, &why);

	if (r == 0)
		return 0;
	r = refuse(p, column + why.at, "%s: %s", config_keys[row].name, why.why);
	if (why.write_it[0])
		err_hint(p->err, "write %s", why.write_it);
	return r;
}

static int take_pair(const struct parser *p, const char *text, size_t key_at, size_t len)
{
	char key[KEY_MAX_BYTES + 1], value[LINE_MAX_BYTES];
	size_t end = key_at, at;
	int row;

	while (end < len && is_key_char(text[end]))
		end++;
	if (end == key_at || end - key_at > KEY_MAX_BYTES)
		return refuse(p, key_at + 1, "a line is \"key = value\"; this does not begin with a key");
	memcpy(key, text + key_at, end - key_at);
	key[end - key_at] = '\0';
	for (at = end; at < len && is_blank(text[at]);)
		at++;
	if (at == len || text[at] != '=')
		return refuse(p, at + 1, "\"=\" is missing after \"%s\"", key);
	row = config_key_find(key);
	if (row < 0)
		return refuse_key(p, key_at + 1, key);
	if (p->origin->at[row].line)
		return refuse(p, key_at + 1, "%s is set a second time; line %u has it already", key, p->origin->at[row].line);
	for (at++; at < len && is_blank(text[at]);)
		at++;
	end = value_end(text, at, len);
	if (end == at)
		return refuse(p, at + 1, "%s has no value; leave the line out where the default is meant", key);
	memcpy(value, text + at, end - at);
	value[end - at] = '\0';
	p->origin->at[row].line = p->line;
	p->origin->at[row].column = (uint32_t)at + 1;
	return set_value(p, row, value, at + 1);
}

static int take_line(const struct parser *p, const char *text, size_t len)
{
	size_t at = 0;
	int r = check_bytes(p, text, len);

	while (at < len && is_blank(text[at]))
		at++;
	if (r < 0 || at == len || text[at] == '#')
		return r;
	return take_pair(p, text, at, len);
}

int config_parse(struct config *c, struct config_origin *ret, const char *name, const char *text, size_t len, struct err *err)
{
	const char *slash = strrchr(name, '/');
	struct parser p = { c, ret, slash ? slash + 1 : name, 0, err };
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	snprintf(c->path, sizeof(c->path), "%s", name);
	while (r == 0 && len > 0) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		p.line++;
		r = take_line(&p, text, n);
		n += end != NULL;
		text += n;
		len -= n;
	}
	if (r == 0)
		r = config_derive(c, ret, err);
	return r < 0 ? r : config_check(c, ret, err);
}

/* Whoever may write the file decides about every jail. */
static int check_owner(const char *path, const struct stat *st, struct err *err)
{
	if (!S_ISREG(st->st_mode))
		return err_set(err, ERR_POLICY, EINVAL, "config", "%.200s is not a regular file", path);
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		err_set(err, ERR_POLICY, EPERM, "config", "%.200s belongs to uid %u, neither root nor us", path, st->st_uid);
		err_hint(err, "chown it to %s", geteuid() == 0 ? "root" : "the user that brigd runs as");
		return -EPERM;
	}
	if (st->st_mode & 022) {
		err_set(err, ERR_POLICY, EPERM, "config", "%.200s may be written by others (mode %04o)", path, st->st_mode & 07777);
		err_hint(err, "chmod go-w it");
		return -EPERM;
	}
	return st->st_size <= (off_t)FILE_MAX ?
		       0 :
		       err_set(err, ERR_POLICY, EFBIG, "config", "%.200s has more than %u bytes", path, FILE_MAX);
}

int config_read(struct config *ret, struct config_origin *origin, const char *path, bool named, struct err *err)
{
	struct stat st;
	int r = config_defaults(ret, err);

	memset(origin, 0, sizeof(*origin));
	if (r < 0)
		return r;
	/* Non-blocking, so that a FIFO in its place stops nobody. Links are followed: configuration is often linked. */
	_cleanup_close_ int fd = path[0] ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	if (fd < 0 && !named && (!path[0] || errno == ENOENT))
		return config_check(ret, origin, err);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_POLICY, errno, "config", "cannot read %.200s: %s", path, strerror(errno));
	r = check_owner(path, &st, err);
	if (r < 0)
		return r;
	_cleanup_free_ char *text = malloc((size_t)st.st_size + 1);
	if (!text)
		return err_set(err, ERR_HOST, ENOMEM, "config", "out of memory");
	r = fd_read_all(fd, text, (size_t)st.st_size);
	if (r < 0)
		return err_set(err, ERR_HOST, -r, "config", "cannot read %.200s: %s", path, strerror(-r));
	return config_parse(ret, origin, path, text, (size_t)st.st_size, err);
}
