#include "supervisor/nearest.h"

#include <limits.h>
#include <string.h>

#define WORD_MAX_LEN 32

/* Edit distance with swaps of neighbours, which are the commonest slip. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][WORD_MAX_LEN + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > WORD_MAX_LEN || m > WORD_MAX_LEN)
		return UINT_MAX;
	for (size_t j = 0; j <= m; j++)
		row[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *now = row[i % 3], *last = row[(i - 1) % 3], *before = row[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);

			best = last[j] + 1 < best ? last[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
	}
	return row[n % 3][m];
}

const char *nearest_word(const char *word, const char *const *words, size_t n)
{
	unsigned best = (unsigned)strlen(word) / 3 + 2; /* further away is another word, not a slip */
	const char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		unsigned d = distance(word, words[i]);
		if (d < best && d < strlen(words[i])) {
			best = d;
			found = words[i];
		}
	}
	return found;
}
