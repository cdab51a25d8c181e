/* The look at the start: where the chain stands, which calls are open, which record of core came last. */
#include "supervisor/audit_impl.h"

#include <stdio.h>
#include <string.h>

bool open_calls_has(const struct open_calls *o, const char *id)
{
	for (unsigned i = 0; i < o->count; i++)
		if (memcmp(o->id[i], id, AUDIT_ID_MAX) == 0)
			return true;
	return false;
}

bool open_calls_add(struct open_calls *o, const char *id)
{
	if (o->count == AUDIT_OPEN_MAX)
		return false;
	memcpy(o->id[o->count++], id, AUDIT_ID_MAX);
	return true;
}

bool open_calls_remove(struct open_calls *o, const char *id)
{
	for (unsigned i = 0; i < o->count; i++)
		if (memcmp(o->id[i], id, AUDIT_ID_MAX) == 0) {
			memmove(o->id[i], o->id[--o->count], AUDIT_ID_MAX);
			return true;
		}
	return false;
}

/* A string member of a sound line, which we wrote: no escape in it. False: not there, or longer than cap - 1. */
static bool member(const char *line, size_t len, const char *path, char *ret, size_t cap)
{
	size_t start, n;

	if (!json_find(line, len, path, &start, &n, NULL) || line[start] != '"' || n - 2 >= cap)
		return false;
	memcpy(ret, line + start + 1, n - 2);
	ret[n - 2] = '\0';
	return true;
}

static uint64_t number(const char *line, size_t len, const char *path)
{
	size_t start, n;

	return json_find(line, len, path, &start, &n, NULL) ? strtoull(line + start, NULL, 10) : 0;
}

static void take_open_list(struct audit_scan *s, const char *line, size_t len)
{
	size_t start, n;

	s->open->count = 0;
	if (!json_find(line, len, "open", &start, &n, NULL))
		return;
	/* ["id","id"]: each takes 35 bytes with its comma. */
	for (size_t at = start + 2; at + AUDIT_ID_MAX <= start + n; at += AUDIT_ID_MAX + 2) {
		char id[AUDIT_ID_MAX] = { 0 };

		memcpy(id, line + at, AUDIT_ID_MAX - 1);
		(void)open_calls_add(s->open, id);
	}
}

static void take_record(struct audit_scan *s, const char *line, size_t len)
{
	char kind[24] = "", core[24] = "", id[AUDIT_ID_MAX] = "";

	(void)member(line, len, "kind", kind, sizeof(kind));
	if (member(line, len, "core", core, sizeof(core))) {
		uint64_t c = strtoull(core, NULL, 16), n = number(line, len, "n");

		s->core_n = c != s->core || n > s->core_n ? n : s->core_n;
		s->core = c;
		s->core_lives = strcmp(kind, "core_end") != 0;
	}
	if (strcmp(kind, "file") == 0)
		take_open_list(s, line, len);
	if (strcmp(kind, "begin") != 0 && strcmp(kind, "end") != 0)
		return;
	if (!member(line, len, "call_id", id, sizeof(id)) || strlen(id) != AUDIT_ID_MAX - 1)
		return;
	if (kind[0] == 'b')
		(void)open_calls_add(s->open, id);
	else
		(void)open_calls_remove(s->open, id);
}

static int on_line(const char *line, size_t len, void *arg)
{
	struct audit_scan *s = arg;
	enum chain_seen seen = chain_walk_line(&s->walk, line, len);

	s->cut = line[len - 1] != '\n';
	if (seen == CHAIN_UNSOUND)
		return 0;
	/* The first of a log whose older files are put away has nothing to follow. */
	s->breaks += seen == CHAIN_BREAK && s->in_log;
	s->in_log = true;
	take_record(s, line, len);
	return 0;
}

int audit_scan(int log_fd, int before_fd, struct open_calls *open, struct audit_scan *ret)
{
	struct audit_scan before = { .open = open };
	int r = 0;

	*ret = (struct audit_scan){ .open = open };
	chain_walk_init(&before.walk);
	chain_walk_init(&ret->walk);
	open->count = 0;
	r = chain_lines(log_fd, on_line, ret);
	if (r < 0 || ret->in_log || before_fd < 0)
		return r;
	/* audit.log is new: the chain goes on from the file before. What was cut in both waits for one "torn" record. */
	r = chain_lines(before_fd, on_line, &before);
	if (r < 0 || lseek(log_fd, 0, SEEK_SET) < 0)
		return r < 0 ? r : -errno;
	*ret = before;
	ret->in_log = ret->cut = false;
	return chain_lines(log_fd, on_line, ret);
}
