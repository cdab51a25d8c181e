#include "supervisor/wire/record.h"

#include "jail/base/compiler.h"

#include <stdlib.h>
#include <string.h>

static const char seq_key[] = "{\"seq\":";
/* As far as it is told: the digits may be any, the rest stands where it stands. */
static const char time_shape[] = "0000-00-00T00:00:00.000000000Z";

const char *record_time_check(const char *time)
{
	size_t len = strlen(time);

	if (len < 4 || len >= sizeof(time_shape))
		return "a time is written 2026-01-02 or 2026-01-02T03:04:05, in UTC";
	for (size_t i = 0; i < len; i++) {
		bool digit = time[i] >= '0' && time[i] <= '9';

		if (time_shape[i] == '0' ? !digit && !(time[i] == 'Z' && i + 1 == len) : time[i] != time_shape[i])
			return "a time is written 2026-01-02 or 2026-01-02T03:04:05, in UTC";
	}
	return NULL;
}

uint64_t record_seq(const char *line, size_t len)
{
	if (len < sizeof(seq_key) || memcmp(line, seq_key, sizeof(seq_key) - 1) != 0)
		return 0;
	return strtoull(line + sizeof(seq_key) - 1, NULL, 10);
}

/* A raw value, a string's without its quotes. */
static bool value_is(const char *line, size_t len, const char *path, const char *want)
{
	size_t at, n;

	if (!json_find(line, len, path, &at, &n, NULL))
		return false;
	if (line[at] != '"')
		return strlen(want) == n && memcmp(line + at, want, n) == 0;
	if (!memchr(line + at, '\\', n))
		return strlen(want) == n - 2 && memcmp(line + at + 1, want, n - 2) == 0;
	_cleanup_free_ char *text = json_string_dup(line + at, n, &n);
	return text && strlen(want) == n && memcmp(text, want, n) == 0;
}

/* Times are written so that they sort as texts. A shorter one is the beginning of its day, hour or second. */
static bool in_time(const struct record_filter *f, const char *line, size_t len)
{
	size_t at, n;

	if (!json_find(line, len, "time", &at, &n, NULL) || n < 3)
		return false;
	/* A "Z" after seconds would sort after the fraction that follows them in the log. */
	size_t since = f->since ? strcspn(f->since, "Z") : 0, until = f->until ? strcspn(f->until, "Z") : 0;
	return (!f->since || strncmp(line + at + 1, f->since, since) >= 0) && (!f->until || strncmp(line + at + 1, f->until, until) < 0);
}

bool record_matches(const struct record_filter *f, const char *line, size_t len)
{
	const struct {
		const char *path, *want;
	} members[] = { { "kind", f->kind },	   { "tool", f->tool },	      { "outcome", f->outcome },
			{ "decision", f->decision }, { "call_id", f->call_id }, { "who.uid", f->uid },
			{ "who.session", f->session } };

	if (f->after_seq && record_seq(line, len) <= f->after_seq)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (members[i].want && !value_is(line, len, members[i].path, members[i].want))
			return false;
	return (!f->since && !f->until) || in_time(f, line, len);
}
