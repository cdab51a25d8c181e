#include "supervisor/call_event.h"

#include "jail/base/limits.h"
#include "supervisor/call.h"

#include <string.h>

bool call_event_room(struct call *c, size_t len)
{
	if (c->events < LIMIT_EVENTS && c->event_bytes + len <= LIMIT_EVENT_BYTES) {
		c->events++;
		c->event_bytes += len;
		return true;
	}
	/* From here on nothing fits: that a smaller one still would is no reason to leave a hole. */
	c->events = LIMIT_EVENTS;
	if (c->stream)
		c->limits_hit |= HIT_EVENTS;
	return false;
}

static bool is_number(const char *value, size_t len)
{
	return len > 0 && strchr("-0123456789", value[0]);
}

static bool is_string(const char *value, size_t len)
{
	return len > 0 && value[0] == '"';
}

static bool is_level(const char *value, size_t len)
{
	static const char *const levels[] = { EVENT_LEVELS };

	return json_is_one_of(value, len, levels, ARRAY_LEN(levels));
}

static bool is_anything(const char *value, size_t len)
{
	return value && len > 0;
}

static bool is_log(const char *value, size_t len);

struct member {
	const char *key;
	bool (*fits)(const char *value, size_t len);
	bool needed;
};
#define MEMBERS_MAX 4
static const struct member of_progress[MEMBERS_MAX] = { { "progress", is_number, true }, { "total", is_number, false }, { "message", is_string, false } };
static const struct member of_log[MEMBERS_MAX] = { { "level", is_level, true }, { "logger", is_string, false }, { "data", is_anything, true } };
static const struct member of_event[MEMBERS_MAX] = { { "log", is_log, true } };

/* An object of these members and no others; that none is there twice was proven with its text. */
static bool is_exactly(const char *text, size_t len, const struct member *members)
{
	bool found[MEMBERS_MAX] = { false };
	struct json_member m;
	size_t at = 0, i;

	if (len < 2 || text[0] != '{' || text[len - 1] != '}')
		return false;
	while (json_member_next(text, len, &at, &m)) {
		for (i = 0; members[i].key; i++)
			if (strlen(members[i].key) == m.key_len && memcmp(text + m.key, members[i].key, m.key_len) == 0)
				break;
		if (!members[i].key || !members[i].fits(text + m.value, m.value_len))
			return false;
		found[i] = true;
	}
	for (i = 0; members[i].key; i++)
		if (members[i].needed && !found[i])
			return false;
	return true;
}

static bool is_log(const char *value, size_t len)
{
	return is_exactly(value, len, of_log);
}

bool call_event_check(const char *text, size_t len)
{
	return is_exactly(text, len, of_progress) || is_exactly(text, len, of_event);
}
