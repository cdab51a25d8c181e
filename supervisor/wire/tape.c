#include "supervisor/wire/tape.h"

#include "supervisor/wire/json_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_delimiter(char c)
{
	return c == ',' || c == ':' || c == '[' || c == ']' || c == '{' || c == '}' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Each value but the first follows one of these, so this is never too few. */
static size_t count_nodes(const char *text, size_t len)
{
	size_t n = 1;

	for (size_t at = 0; at < len;) {
		if (text[at] == '"') {
			at = json_skip_string(text, len, at);
			continue;
		}
		n += text[at] == '[' || text[at] == '{' || text[at] == ',' || text[at] == ':';
		at++;
	}
	return n;
}

struct reader {
	struct tape *tape;
	uint32_t *open; /* the containers that have not ended */
	unsigned depth, max_depth;
	size_t at, len;
};

static struct tape_node *add_node(struct reader *r)
{
	struct tape_node *node = &r->tape->nodes[r->tape->count];

	if (r->depth)
		r->tape->nodes[r->open[r->depth - 1]].len++;
	*node = (struct tape_node){ .at = (uint32_t)r->at, .next = ++r->tape->count };
	return node;
}

static int read_open(struct reader *r)
{
	if (r->depth == r->max_depth)
		return -E2BIG;
	add_node(r);
	r->open[r->depth++] = r->tape->count - 1;
	r->at++;
	return 0;
}

static void read_close(struct reader *r)
{
	struct tape_node *node = &r->tape->nodes[r->open[--r->depth]];

	node->next = r->tape->count;
	if (r->tape->raw[node->at] == '{')
		node->len /= 2;
	r->at++;
}

static void read_string(struct reader *r)
{
	size_t end = json_skip_string(r->tape->raw, r->len, r->at);
	struct tape_node *node = add_node(r);

	node->len = (uint32_t)json_unescape(r->tape->raw + r->at + 1, end - r->at - 2, r->tape->plain + r->at + 1);
	r->at = end;
}

static void read_word(struct reader *r)
{
	struct tape_node *node = add_node(r);
	size_t start = r->at;

	while (r->at < r->len && !is_delimiter(r->tape->raw[r->at]))
		r->at++;
	node->len = (uint32_t)(r->at - start);
}

static int read_all(struct reader *r)
{
	while (r->at < r->len) {
		char c = r->tape->raw[r->at];

		if (c == '{' || c == '[') {
			if (read_open(r) < 0)
				return -E2BIG;
		} else if (c == '}' || c == ']') {
			read_close(r);
		} else if (c == '"') {
			read_string(r);
		} else if (is_delimiter(c)) {
			r->at++;
		} else {
			read_word(r);
		}
	}
	return 0;
}

int tape_read(const char *text, size_t len, unsigned max_depth, struct tape *ret)
{
	struct reader r = { .tape = ret, .len = len, .max_depth = max_depth };
	int result = -ENOMEM;

	*ret = (struct tape){ .raw = text, .raw_len = len };
	if (len >= UINT32_MAX)
		return -E2BIG;
	ret->nodes = calloc(count_nodes(text, len), sizeof(*ret->nodes));
	ret->plain = malloc(len + 1);
	r.open = calloc((size_t)max_depth + 1, sizeof(*r.open));
	if (ret->nodes && ret->plain && r.open) {
		memcpy(ret->plain, text, len);
		ret->plain[len] = '\0';
		result = read_all(&r);
	}
	free(r.open);
	if (result < 0)
		tape_done(ret);
	return result;
}

void tape_done(struct tape *t)
{
	free(t->nodes);
	free(t->plain);
	*t = (struct tape){ 0 };
}

char tape_kind(const struct tape *t, uint32_t node)
{
	char c = t->raw[t->nodes[node].at];

	return c == '-' || (c >= '0' && c <= '9') ? '0' : c;
}

const char *tape_text(const struct tape *t, uint32_t node)
{
	size_t at = t->nodes[node].at;

	return t->plain + at + (t->raw[at] == '"');
}

size_t tape_raw_len(const struct tape *t, uint32_t node)
{
	size_t at = t->nodes[node].at;

	return json_skip_value(t->raw, t->raw_len, at) - at;
}

bool tape_is(const struct tape *t, uint32_t node, const char *word)
{
	size_t n = strlen(word);

	return tape_kind(t, node) == '"' && t->nodes[node].len == n && memcmp(tape_text(t, node), word, n) == 0;
}

uint32_t tape_next_member(const struct tape *t, uint32_t key)
{
	return t->nodes[key + 1].next;
}
