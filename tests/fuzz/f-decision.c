/* What an external decision point answers: a decision with a reason in one line, or none with a word why. */
#include "supervisor/decision_point.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum decision d = (enum decision)99;
	struct err err = { 0 };
	char reason[300];
	char *text = malloc(size ? size : 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	int r = decision_point_parse(text, size, &d, reason, &err);
	if (r == 0 && (d > DECISION_ESCALATE || strlen(reason) >= sizeof(reason) || strpbrk(reason, "\n\r\033")))
		abort();
	if (r < 0 && !err.detail[0])
		abort();
	free(text);
	return 0;
}
