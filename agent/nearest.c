#include "agent/nearest.h"

#include <limits.h>
#include <string.h>

#define WORD_MAX 64

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned nearest_distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];
	size_t la = strlen(a), lb = strlen(b);

	if (la > WORD_MAX || lb > WORD_MAX)
		return UINT_MAX;
	for (size_t j = 0; j <= lb; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= la; i++) {
		unsigned *old = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= lb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		before = above;
		above = row;
		row = old;
	}
	return above[lb];
}

void nearest_try(struct nearest *n, const char *candidate)
{
	unsigned d = nearest_distance(n->word, candidate);
	size_t len = strlen(n->word);

	/* A third of the letters wrong is a typing error; more is another word. */
	if (d > (len < 6 ? 2 : len / 3) || d >= strlen(candidate))
		return;
	if (!n->best || d < n->distance) {
		n->best = candidate;
		n->distance = d;
	}
}
