/* The facts of a host that bear on what can be enforced. Read without privilege, changing nothing. */
#ifndef BRIG_SUPERVISOR_DOCTOR_HOST_H
#define BRIG_SUPERVISOR_DOCTOR_HOST_H

#include <stdbool.h>
#include <stddef.h>

enum fact_state { FACT_UNKNOWN, FACT_OK, FACT_WARN, FACT_MISSING };

struct fact {
	const char *name;
	enum fact_state state;
	char detail[200];
	char fix[200]; /* empty: nothing to do */
};

/* Fills at most max facts; as_root: Brig was started with privilege. Returns how many. */
unsigned host_facts(struct fact *facts, unsigned max, bool as_root);
const struct fact *host_fact_find(const struct fact *facts, unsigned n, const char *name);

#endif
