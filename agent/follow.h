/* What a tool writes and says, shown while it runs (brig run --stream). */
#ifndef BRIG_AGENT_FOLLOW_H
#define BRIG_AGENT_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct follow {
	FILE *out;
	bool started;               /* the supervisor tells as the output comes */
	const char *open;           /* the channel whose line has no end yet, or NULL */
	char dropped[2][24];        /* digits: bytes of stdout and stderr that we read too slowly to be told */
};

/* One notification of the supervisor; others than `started`, `output` and `event` are passed over. arg: a struct follow. Lines
 * stand behind "stdout| ", "stderr| ", "progress| " and "log| " and are escaped, as show_result() has them: nothing that a tool prints can
 * pass for a line of Brig's, wherever a piece of it begins. */
void follow_event(void *arg, const char *line, size_t len);
/* Ends the last line, and says how much is missing. */
void follow_end(struct follow *f);

#endif
