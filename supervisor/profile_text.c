#include "supervisor/profile_impl.h"

#include "supervisor/wire/json.h"
#include "supervisor/wire/json_scan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PROFILE_DEPTH 8 /* files.mounts[].why stands on level 4 */

const char *quoted(const char *text, char room[96])
{
	size_t len = strnlen(text, 48);
	struct jbuf b;

	jbuf_init(&b, 90);
	jbuf_string(&b, text, len);
	if (b.failed)
		snprintf(room, 96, "\"...\"");
	else
		snprintf(room, 96, "%s%s", b.data, text[len] ? "..." : "");
	jbuf_done(&b);
	return room;
}

const struct origin *origin_of(const struct origins *origins, const cJSON *node)
{
	return &origins->at[node->valueint];
}

int policy_error(const struct origins *origins, const cJSON *node, struct err *err, const char *fmt, ...)
{
	char text[sizeof(((struct err *)0)->detail)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(err, ERR_POLICY, EINVAL, origin_of(origins, node)->where, "%s", text);
}

/* Walks text and tree side by side: cJSON keeps members in the order of the text. */
struct mark {
	const char *file, *text;
	size_t len, at;
	unsigned depth;
	size_t line_start; /* positions are asked for in order, so lines are counted once */
	unsigned line;
	struct origins *origins;
	struct err *err;
};

static void mark_place(struct mark *m, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
	unsigned column = 1;
	size_t i;

	for (i = m->line_start; i < offset; i++) {
		if (m->text[i] == '\n') {
			m->line++;
			m->line_start = i + 1;
			column = 1;
		} else if (((unsigned char)m->text[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = m->line;
	*ret_column = column;
}

static int mark_node(struct mark *m, cJSON *node, size_t offset)
{
	struct origins *o = m->origins;
	unsigned line, column;

	if (o->count == o->cap) {
		size_t cap = o->cap ? o->cap * 2 : 64;
		struct origin *at = reallocarray(o->at, cap, sizeof(*at));

		if (!at)
			return err_set(m->err, ERR_HOST, ENOMEM, m->file, "out of memory");
		o->at = at;
		o->cap = cap;
	}
	mark_place(m, offset, &line, &column);
	node->valueint = (int)o->count;
	snprintf(o->at[o->count].where, sizeof(o->at->where), "%.40s:%u:%u", m->file, line, column);
	snprintf(o->at[o->count].brief, sizeof(o->at->brief), "%.40s:%u", m->file, line);
	o->at[o->count].value = m->at;
	o->at[o->count++].depth = m->depth;
	return 0;
}

/* cJSON ends a string at an escaped NUL: what it compares would not be what the text says. */
static int refuse_nul(struct mark *m, size_t start, size_t end)
{
	const char *hit = memmem(m->text + start, end - start, "\\u0000", 6);
	unsigned line, column;
	char where[64];

	if (!hit)
		return 0;
	json_position(m->text, m->len, (size_t)(hit - m->text), &line, &column);
	snprintf(where, sizeof(where), "%.40s:%u:%u", m->file, line, column);
	return err_set(m->err, ERR_POLICY, EINVAL, where, "a string may not hold a NUL character");
}

static int mark_value(struct mark *m, cJSON *node, size_t key_offset);

static int mark_member(struct mark *m, cJSON *child, bool object)
{
	size_t key;
	int r = 0;

	m->at = json_skip_space(m->text, m->len, m->at + 1);
	key = m->at;
	if (object) {
		m->at = json_skip_string(m->text, m->len, m->at);
		r = refuse_nul(m, key, m->at);
		m->at = json_skip_space(m->text, m->len, m->at);
		m->at = json_skip_space(m->text, m->len, m->at + 1);
	}
	if (r == 0)
		r = mark_value(m, child, key);
	m->at = json_skip_space(m->text, m->len, m->at);
	return r;
}

/* On entry the position is at the value, on return past it. */
static int mark_value(struct mark *m, cJSON *node, size_t key_offset)
{
	size_t start = m->at;
	int r = mark_node(m, node, key_offset);

	if (r < 0)
		return r;
	if (!cJSON_IsObject(node) && !cJSON_IsArray(node)) {
		m->at = json_skip_value(m->text, m->len, start);
		return cJSON_IsString(node) ? refuse_nul(m, start, m->at) : 0;
	}
	for (cJSON *child = node->child; child; child = child->next) {
		r = mark_member(m, child, cJSON_IsObject(node));
		if (r < 0)
			return r;
	}
	if (!node->child)
		m->at = json_skip_space(m->text, m->len, m->at + 1);
	m->at++;
	return 0;
}

static int text_error(const char *file, const struct json_error *bad, struct err *err)
{
	char where[64];

	snprintf(where, sizeof(where), "%.40s:%u:%u", file, bad->line, bad->column);
	return err_set(err, ERR_POLICY, EINVAL, where, "%s", bad->what);
}

int profile_text_parse(const char *file, const char *text, size_t len, unsigned depth, struct origins *origins,
		       cJSON **ret, struct err *err)
{
	struct mark m = { .file = file, .depth = depth, .line = 1, .origins = origins, .err = err };
	_cleanup_free_ char *plain = NULL;
	struct json_error bad;
	cJSON *tree;
	int r;

	if (len > LIMIT_PROFILE_BYTES)
		return err_set(err, ERR_POLICY, E2BIG, file, "it may have %u bytes, this has %zu", LIMIT_PROFILE_BYTES, len);
	if (json_check(text, len, JSON_COMMENTS | JSON_OBJECT, PROFILE_DEPTH, &bad) < 0)
		return text_error(file, &bad, err);
	plain = malloc(len + 1);
	if (!plain)
		return err_set(err, ERR_HOST, ENOMEM, file, "out of memory");
	memcpy(plain, text, len);
	plain[len] = '\0';
	json_blank_comments(plain, len);
	tree = cJSON_ParseWithLength(plain, len + 1);
	if (!tree)
		return err_set(err, ERR_HOST, ENOMEM, file, "out of memory");
	m.text = text;
	m.len = len;
	m.at = json_skip_space(text, len, 0);
	r = mark_value(&m, tree, m.at);
	if (r < 0) {
		cJSON_Delete(tree);
		return r;
	}
	*ret = tree;
	return 0;
}
