#include "supervisor/fair.h"

#include <errno.h>
#include <stdlib.h>

struct fair_flow {
	TAILQ_ENTRY(fair_flow) link;
	struct fair_user *user;
	const void *key;
	TAILQ_HEAD(, fair_item) items;
};

struct fair_user {
	TAILQ_ENTRY(fair_user) link;
	uint32_t uid;
	TAILQ_HEAD(fair_flows, fair_flow) flows; /* in the order of their turns */
};

void fair_init(struct fair *fair)
{
	TAILQ_INIT(&fair->users);
	fair->count = 0;
}

/* A user who comes takes his place behind the others: he cannot gain by leaving and coming again. */
static struct fair_user *user_get(struct fair *fair, uint32_t uid)
{
	struct fair_user *u;

	TAILQ_FOREACH(u, &fair->users, link)
		if (u->uid == uid)
			return u;
	u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->uid = uid;
	TAILQ_INIT(&u->flows);
	TAILQ_INSERT_TAIL(&fair->users, u, link);
	return u;
}

static void drop_if_empty(struct fair *fair, struct fair_user *u)
{
	if (!TAILQ_EMPTY(&u->flows))
		return;
	TAILQ_REMOVE(&fair->users, u, link);
	free(u);
}

static struct fair_flow *flow_get(struct fair *fair, uint32_t uid, const void *key)
{
	struct fair_user *u = user_get(fair, uid);
	struct fair_flow *f;

	if (!u)
		return NULL;
	TAILQ_FOREACH(f, &u->flows, link)
		if (f->key == key)
			return f;
	f = calloc(1, sizeof(*f));
	if (!f) {
		drop_if_empty(fair, u);
		return NULL;
	}
	f->user = u;
	f->key = key;
	TAILQ_INIT(&f->items);
	TAILQ_INSERT_TAIL(&u->flows, f, link);
	return f;
}

int fair_add(struct fair *fair, struct fair_item *item, uint32_t uid, const void *flow)
{
	struct fair_flow *f = flow_get(fair, uid, flow);

	if (!f)
		return -ENOMEM;
	item->flow = f;
	TAILQ_INSERT_TAIL(&f->items, item, link);
	fair->count++;
	return 0;
}

int fair_put_back(struct fair *fair, struct fair_item *item, uint32_t uid, const void *flow)
{
	struct fair_flow *f = flow_get(fair, uid, flow);

	if (!f)
		return -ENOMEM;
	item->flow = f;
	TAILQ_INSERT_HEAD(&f->items, item, link);
	fair->count++;
	TAILQ_REMOVE(&f->user->flows, f, link);
	TAILQ_INSERT_HEAD(&f->user->flows, f, link);
	TAILQ_REMOVE(&fair->users, f->user, link);
	TAILQ_INSERT_HEAD(&fair->users, f->user, link);
	return 0;
}

void fair_remove(struct fair *fair, struct fair_item *item)
{
	struct fair_flow *f = item->flow;

	if (!f)
		return;
	item->flow = NULL;
	TAILQ_REMOVE(&f->items, item, link);
	fair->count--;
	if (!TAILQ_EMPTY(&f->items))
		return;
	TAILQ_REMOVE(&f->user->flows, f, link);
	drop_if_empty(fair, f->user);
	free(f);
}

struct fair_item *fair_next(struct fair *fair, fair_may_fn may, void *arg)
{
	struct fair_user *u;
	struct fair_flow *f;

	TAILQ_FOREACH(u, &fair->users, link)
		TAILQ_FOREACH(f, &u->flows, link) {
			struct fair_item *item = TAILQ_FIRST(&f->items);

			if (may && !may(item, arg))
				continue;
			/* Their turn is used: behind the others, before the removal may end them. */
			TAILQ_REMOVE(&u->flows, f, link);
			TAILQ_INSERT_TAIL(&u->flows, f, link);
			TAILQ_REMOVE(&fair->users, u, link);
			TAILQ_INSERT_TAIL(&fair->users, u, link);
			fair_remove(fair, item);
			return item;
		}
	return NULL;
}
