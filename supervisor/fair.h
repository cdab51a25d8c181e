/* A queue that is fair: users take turns, and the flows of one user take turns in
 * that user's turn, so that neither many requests nor many connections buy more
 * than one's share. Within a flow it is first come, first served. Pure bookkeeping:
 * knows nothing of calls or jails. Core only.
 *
 * Users and flows exist as long as something of theirs waits. */
#ifndef BRIG_SUPERVISOR_FAIR_H
#define BRIG_SUPERVISOR_FAIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct fair_flow;

/* Part of what waits. */
struct fair_item {
	TAILQ_ENTRY(fair_item) link;
	struct fair_flow *flow; /* NULL: does not wait */
};

struct fair_user;
struct fair {
	TAILQ_HEAD(fair_users, fair_user) users; /* in the order of their turns */
	unsigned count;
};

void fair_init(struct fair *fair);
/* To the end of its flow, which is told by its user and any address of the caller's. 0 or -ENOMEM. */
int fair_add(struct fair *fair, struct fair_item *item, uint32_t uid, const void *flow);
/* Takes back what fair_next() gave: it is the first of its flow again, and the flow's turn is the next. 0 or -ENOMEM. */
int fair_put_back(struct fair *fair, struct fair_item *item, uint32_t uid, const void *flow);
/* Wherever it stands. Harmless when it does not wait. */
void fair_remove(struct fair *fair, struct fair_item *item);

/* May this one go now? Asked of the first of each flow; a flow whose first may not go is passed over and keeps its turn. */
typedef bool (*fair_may_fn)(const struct fair_item *item, void *arg);
/* Whose turn it is, taken out; NULL: nobody may. */
struct fair_item *fair_next(struct fair *fair, fair_may_fn may, void *arg);

#endif
