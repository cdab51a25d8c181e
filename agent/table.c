#include "agent/table.h"

#include "agent/text.h"
#include "jail/base/compiler.h"

#include <string.h>

#define CELL_MAX 80
/* No clock counts that far. */
#define TIME_MAX_MS 1e15

void time_print(char *buf, size_t cap, double ms)
{
	static const struct {
		unsigned long long s, part;
		const char *unit, *part_unit;
	} steps[] = { { 86400, 3600, "d", "h" }, { 3600, 60, "h", "m" }, { 60, 1, "m", "s" } };
	unsigned long long s;

	ms = ms > 0 ? (ms < TIME_MAX_MS ? ms : TIME_MAX_MS) : 0;
	s = (unsigned long long)(ms / 1000);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (s < steps[i].s)
			continue;
		snprintf(buf, cap, "%llu%s%llu%s", s / steps[i].s, steps[i].unit, s % steps[i].s / steps[i].part, steps[i].part_unit);
		return;
	}
	if (s > 0)
		snprintf(buf, cap, "%.1fs", ms / 1000);
	else
		snprintf(buf, cap, "%.*fms", ms > 0 && ms < 10 ? 1 : 0, ms);
}

/* Bytes of the first `chars` characters, and in *ret_all how many there are. */
static size_t chars_cut(const char *s, size_t len, int chars, int *ret_all)
{
	size_t cut = len;
	int n = 0;

	for (size_t i = 0; i < len; i++) {
		if (((unsigned char)s[i] & 0xc0) == 0x80)
			continue;
		if (n++ == chars)
			cut = i;
	}
	*ret_all = n;
	return cut;
}

static void text_cell(FILE *out, const char *text, size_t len, const struct table_column *col)
{
	size_t shown = len < CELL_MAX ? len : CELL_MAX, cut;
	struct jbuf b;
	int all;

	jbuf_init(&b, 10 * CELL_MAX + 64);
	text_escape(&b, text, shown, TEXT_LINE);
	cut = chars_cut(b.data ? b.data : "", b.len, col->width, &all);
	if (all > col->width || shown < len) {
		cut = chars_cut(b.data, b.len, col->width - 1, &all);
		fprintf(out, "%.*s~%*s", (int)cut, b.data, all < col->width - 1 ? col->width - 1 - all : 0, "");
	} else {
		fprintf(out, "%.*s%*s", (int)cut, b.data ? b.data : "", col->width - all, "");
	}
	jbuf_done(&b);
}

static void number_cell(FILE *out, const char *raw, size_t len, const struct table_column *col)
{
	char word[CELL_MAX] = "?";

	if (strchr("-0123456789", raw[0]))
		snprintf(word, sizeof(word), "%.*s", (int)(len < sizeof(word) ? len : sizeof(word) - 1), raw);
	if (col->kind == TABLE_TIME && word[0] != '?')
		time_print(word, sizeof(word), strtod(word, NULL));
	/* Part of a number would be another number. */
	if (strlen(word) > (size_t)col->width)
		snprintf(word, sizeof(word), "%.*s", col->width, "################");
	fprintf(out, "%*s", col->width, word);
}

static void cell_show(FILE *out, const char *row, size_t len, const struct table_column *col)
{
	size_t start, n = 0;

	if (!json_find(row, len, col->key, &start, &n, NULL) || row[start] == 'n') {
		fprintf(out, col->kind == TABLE_TEXT ? "%-*s" : "%*s", col->width, "-");
		return;
	}
	if (col->kind != TABLE_TEXT) {
		number_cell(out, row + start, n, col);
		return;
	}
	_cleanup_free_ char *text = json_string_dup(row + start, n, &n);
	text_cell(out, text ? text : row + start, n, col);
}

static void head_show(FILE *out, const struct table_column *columns)
{
	for (const struct table_column *c = columns; c->title; c++)
		fprintf(out, c->kind == TABLE_TEXT ? "%s%-*s" : "%s%*s", c == columns ? "" : "  ", c->width, c->title);
	fputc('\n', out);
}

unsigned table_show(FILE *out, const char *json, size_t len, const char *path, const struct table_column *columns)
{
	size_t start, n;
	char item[64];
	unsigned rows = 0;

	for (;; rows++) {
		snprintf(item, sizeof(item), "%s.%u", path, rows);
		if (!json_find(json, len, item, &start, &n, NULL))
			return rows;
		if (rows == 0)
			head_show(out, columns);
		for (const struct table_column *c = columns; c->title; c++) {
			if (c != columns)
				fputs("  ", out);
			cell_show(out, json + start, n, c);
		}
		fputc('\n', out);
	}
}
