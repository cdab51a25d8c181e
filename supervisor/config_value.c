/* One value of brigd.conf. */
#include "supervisor/config_impl.h"

#include "supervisor/nearest.h"
#include "supervisor/units.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>

/* Names longer than this are nobody's. */
#define WORD_MAX_BYTES 64u
#define CHOICES_MAX 8u

static int refused(struct config_refusal *why, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int refused(struct config_refusal *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->why, sizeof(why->why), fmt, args);
	va_end(args);
	return -EINVAL;
}

static bool is_number(const char *s)
{
	return s[0] && strspn(s, "0123456789") == strlen(s);
}

static int set_dir(char *field, const char *value, struct config_refusal *why)
{
	if (value[0] != '/')
		return refused(why, "not an absolute path");
	if (strlen(value) >= PATH_MAX)
		return refused(why, "a path has fewer than %d bytes", PATH_MAX);
	size_t len = strlen(value);
	while (len > 1 && value[len - 1] == '/')
		len--;
	snprintf(field, PATH_MAX, "%.*s", (int)len, value);
	return 0;
}

/* A host and what follows it. Names and passwords in a URL would be in every message that shows it. */
static int set_url(char *field, const char *value, struct config_refusal *why)
{
	const char *host = strncmp(value, "https://", 8) == 0 ? value + 8 : strncmp(value, "http://", 7) == 0 ? value + 7 : NULL;
	size_t n = host ? strcspn(host, "/?") : 0;

	if (!host)
		return refused(why, "not a URL that begins with https:// or http://");
	if (strlen(value) >= CONFIG_URL_MAX)
		return refused(why, "a URL has fewer than %d bytes here", CONFIG_URL_MAX);
	for (const char *c = value; *c; c++)
		if (*c <= ' ' || *c > '~' || strchr("\"<>\\^`{}|#", *c)) {
			why->at = (size_t)(c - value);
			return refused(why, "not a character of a URL");
		}
	if (n == 0 || memchr(host, '@', n))
		return refused(why, n ? "a user or password in a URL is shown wherever the URL is" : "no host is named");
	snprintf(field, CONFIG_URL_MAX, "%s", value);
	return 0;
}

static int set_files(char *field, const char *value, struct config_refusal *why)
{
	size_t len = 0;

	for (const char *at = value + strspn(value, " \t,"); *at;) {
		size_t n = strcspn(at, " \t,");

		why->at = (size_t)(at - value);
		if (*at != '/')
			return refused(why, "not an absolute path; a blank ends one and begins another");
		if (len + n + 2 > PATH_MAX)
			return refused(why, "all of them together have fewer than %d bytes", PATH_MAX);
		len += (size_t)snprintf(field + len, PATH_MAX - len, "%s%.*s", len ? " " : "", (int)n, at);
		at += n;
		at += strspn(at, " \t,");
	}
	why->at = 0;
	return len > 0 ? 0 : refused(why, "no file is named");
}

/* The lock of run_dir is what makes a socket ours, so both lie there. */
static int set_socket(char *path, const char *value, struct config_refusal *why)
{
	if (strchr(value, '/') || value[0] == '.' || strcmp(value, "brigd.lock") == 0 || strcmp(value, "lanes") == 0)
		return refused(why, "not a name for a socket; it lies in run_dir, so it is a file's name without a path");
	if (strlen(value) >= CONFIG_SOCKET_MAX)
		return refused(why, "the path of a socket has at most %d bytes", CONFIG_SOCKET_MAX - 1);
	snprintf(path, CONFIG_SOCKET_MAX, "%s", value);
	return 0;
}

static int id_number(const char *word, uint32_t *ret, struct config_refusal *why)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(word, &end, 10);
	if (errno || n >= UINT32_MAX) /* the last one means "none" to the kernel */
		return refused(why, "%.40s is no id", word);
	*ret = (uint32_t)n;
	return 0;
}

/* /etc/passwd alone: the keeper asks no network and loads no module for a name. */
static int user_id(const char *word, uint32_t *ret, struct config_refusal *why)
{
	if (is_number(word))
		return id_number(word, ret, why);
	FILE *f = fopen("/etc/passwd", "re");
	int r = -ENOENT;

	for (struct passwd *p; f && r < 0 && (p = fgetpwent(f));)
		if (strcmp(p->pw_name, word) == 0) {
			*ret = p->pw_uid;
			r = 0;
		}
	if (f)
		fclose(f);
	return r == 0 ? 0 : refused(why, "no user \"%.40s\" in /etc/passwd (one that is kept elsewhere goes by its number)", word);
}

static int group_id(const char *word, uint32_t *ret, struct config_refusal *why)
{
	if (is_number(word))
		return id_number(word, ret, why);
	FILE *f = fopen("/etc/group", "re");
	int r = -ENOENT;

	for (struct group *g; f && r < 0 && (g = fgetgrent(f));)
		if (strcmp(g->gr_name, word) == 0) {
			*ret = g->gr_gid;
			r = 0;
		}
	if (f)
		fclose(f);
	return r == 0 ? 0 : refused(why, "no group \"%.40s\" in /etc/group (one that is kept elsewhere goes by its number)", word);
}

static int set_mode(uint32_t *field, const char *value, uint64_t max, struct config_refusal *why)
{
	size_t len = strlen(value);

	if (strspn(value, "01234567") != len || len < 3 || len > 4) {
		snprintf(why->write_it, sizeof(why->write_it), "three octal digits, such as 0660");
		return refused(why, "not a mode");
	}
	uint32_t mode = (uint32_t)strtoul(value, NULL, 8);
	if (mode & ~(uint32_t)max)
		return refused(why, "mode %04o gives more than %04o, the most that this socket may have", mode, (unsigned)max);
	*field = mode;
	return 0;
}

/* The next word of a list; 0 at the end. */
static size_t word_next(const char *value, size_t *at, char ret[WORD_MAX_BYTES + 1])
{
	size_t from = *at + strspn(value + *at, " \t,"), len = strcspn(value + from, " \t,");

	*at = from + len;
	snprintf(ret, WORD_MAX_BYTES + 1, "%.*s", (int)(len < WORD_MAX_BYTES ? len : WORD_MAX_BYTES), value + from);
	return len;
}

static int set_uids(uint32_t uids[CONFIG_UIDS_MAX], uint32_t *count, const char *value, struct config_refusal *why)
{
	char word[WORD_MAX_BYTES + 1];
	size_t at = 0, len;

	*count = 0;
	while ((len = word_next(value, &at, word))) {
		why->at = at - len;
		if (*count == CONFIG_UIDS_MAX)
			return refused(why, "more than %d users", CONFIG_UIDS_MAX);
		int r = len > WORD_MAX_BYTES ? refused(why, "no user has so long a name") : user_id(word, &uids[*count], why);
		if (r < 0)
			return r;
		++*count;
	}
	why->at = 0;
	return *count > 0 ? 0 : refused(why, "no user is named");
}

static int set_users(struct config_socket *s, const char *value, bool may_be_any, struct config_refusal *why)
{
	if (strcmp(value, "*") != 0)
		return set_uids(s->uids, &s->uid_count, value, why);
	s->any_uid = may_be_any;
	return may_be_any ? 0 : refused(why, "who may decide is named one by one, \"*\" is not");
}

static int profile_word(const char *word, size_t len, struct config_refusal *why)
{
	if (len >= SPEC_NAME_MAX || strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-") != len || word[0] == '-' || word[0] == '_')
		return refused(why, "\"%.40s\" cannot be the name of a profile", word);
	if (strcmp(word, "base") == 0)
		return refused(why, "base is only there to be extended");
	return 0;
}

static int set_profiles(struct config_names *names, const char *value, bool may_be_any, struct config_refusal *why)
{
	char word[WORD_MAX_BYTES + 1];
	size_t at = 0, len;

	names->any = false;
	names->count = 0;
	if (may_be_any && strcmp(value, "*") == 0) {
		names->any = true;
		return 0;
	}
	while ((len = word_next(value, &at, word))) {
		why->at = at - len;
		if (names->count == CONFIG_PROFILES_MAX)
			return refused(why, "more than %d profiles", CONFIG_PROFILES_MAX);
		int r = profile_word(word, len, why);
		if (r < 0)
			return r;
		memcpy(names->name[names->count++], word, len + 1);
	}
	why->at = 0;
	return names->count > 0 ? 0 : refused(why, "no profile is named");
}

/* "500ms", "30s"; a bare number is bytes where bytes are meant. */
static int number_parse(const struct config_key *key, const char *value, uint64_t *ret, struct config_refusal *why)
{
	char guess[32] = "";
	int r = -EINVAL;

	if (key->kind == CONFIG_TIME)
		r = units_time(value, true, ret, guess);
	else if (key->kind == CONFIG_BYTES && !is_number(value))
		r = units_size(value, ret, guess);
	else if (is_number(value) && strlen(value) <= 18) {
		*ret = strtoull(value, NULL, 10);
		r = 0;
	}
	if (r == 0)
		return 0;
	if (guess[0] == '"') /* quotes belong to profiles */
		snprintf(why->write_it, sizeof(why->write_it), "%.*s", (int)strcspn(guess + 1, "\""), guess + 1);
	return refused(why, key->kind == CONFIG_TIME  ? "not a time; the units are ms, s, m and h" :
			    key->kind == CONFIG_BYTES ? "not a size; the units are K, M and G" :
							"not a whole number");
}

void config_number_print(const struct config_key *key, uint64_t n, char ret[32])
{
	static const struct {
		uint64_t factor;
		const char *unit;
	} times[] = { { 3600000, "h" }, { 60000, "m" }, { 1000, "s" }, { 1, "ms" } },
	  sizes[] = { { 1ull << 30, "G" }, { 1ull << 20, "M" }, { 1ull << 10, "K" }, { 1, "" } };
	unsigned i = 0;

	if (key->kind == CONFIG_COUNT) {
		snprintf(ret, 32, "%" PRIu64, n);
		return;
	}
	while (i < 3 && (n == 0 ? i < 2 : n % (key->kind == CONFIG_TIME ? times[i].factor : sizes[i].factor) != 0))
		i++;
	snprintf(ret, 32, "%" PRIu64 "%s", n / (key->kind == CONFIG_TIME ? times[i].factor : sizes[i].factor),
		 key->kind == CONFIG_TIME ? times[i].unit : sizes[i].unit);
}

static int set_number(const struct config_key *key, void *field, const char *value, struct config_refusal *why)
{
	char min[32], max[32];
	uint64_t n;
	int r = number_parse(key, value, &n, why);

	if (r < 0)
		return r;
	if (n < key->min || n > key->max) {
		config_number_print(key, key->min, min);
		config_number_print(key, key->max, max);
		return refused(why, "%.40s is out of range: %s to %s", value, min, max);
	}
	if (key->kind == CONFIG_BYTES)
		*(uint64_t *)field = n;
	else
		*(uint32_t *)field = (uint32_t)n;
	return 0;
}

static int set_bool(bool *field, const char *value, struct config_refusal *why)
{
	*field = strcmp(value, "yes") == 0;
	return *field || strcmp(value, "no") == 0 ? 0 : refused(why, "neither yes nor no");
}

static int set_choice(const struct config_key *key, uint32_t *field, const char *value, struct config_refusal *why)
{
	char all[80], *rest = all;
	const char *words[CHOICES_MAX], *near;
	uint32_t n = 0;

	snprintf(all, sizeof(all), "%s", key->choices);
	while (rest && n < CHOICES_MAX)
		words[n++] = strsep(&rest, "|");
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(words[i], value) == 0) {
			*field = i;
			return 0;
		}
	near = nearest_word(value, words, n);
	if (near)
		snprintf(why->write_it, sizeof(why->write_it), "%.60s", near);
	return refused(why, "not one of %s", key->choices);
}

int config_value_set(struct config *c, const struct config_key *key, const char *value, struct config_refusal *why)
{
	void *field = (char *)c + key->offset;

	switch (key->kind) {
	case CONFIG_DIR: return set_dir(field, value, why);
	case CONFIG_URL: return set_url(field, value, why);
	case CONFIG_FILES: return set_files(field, value, why);
	case CONFIG_SOCKET: return set_socket(field, value, why);
	case CONFIG_USER: return user_id(value, field, why);
	case CONFIG_GROUP: return group_id(value, field, why);
	case CONFIG_MODE: return set_mode(field, value, key->max, why);
	case CONFIG_USERS: return set_users(field, value, key->max == 1, why);
	case CONFIG_UIDS: return set_uids(((struct config_uids *)field)->uid, &((struct config_uids *)field)->count, value, why);
	case CONFIG_BOOL: return set_bool(field, value, why);
	case CONFIG_PROFILES: return set_profiles(field, value, key->max == 1, why);
	case CONFIG_CHOICE: return set_choice(key, field, value, why);
	case CONFIG_PROFILE:
		if (profile_word(value, strlen(value), why) < 0)
			return -EINVAL;
		snprintf(field, SPEC_NAME_MAX, "%s", value);
		return 0;
	case CONFIG_COUNT:
	case CONFIG_BYTES:
	case CONFIG_TIME: return set_number(key, field, value, why);
	}
	return -EINVAL;
}
