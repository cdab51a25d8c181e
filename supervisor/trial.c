#include "supervisor/trial.h"

#include "supervisor/client.h"
#include "supervisor/doctor.h"
#include "supervisor/jail.h"
#include "supervisor/profile_cache.h"
#include "supervisor/request.h"
#include "supervisor/status_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCTOR_MAX (1u << 20)

/* They take milliseconds. */
#define RETRY_MS 200
/* What a call without --profile gets. */
#define TRIAL_PROFILE "pure"

/* A trial's jail waits for no turn in the queue, so a user has few of them at a time. */
#define TRIALS_PER_UID 2

struct trial {
	LIST_ENTRY(trial) link; /* in core->trials */
	struct core *core;
	uid_t uid;
	struct pending *pending;
	struct jail *jail;
	bool refused;    /* the strict trial was: this is the second, best effort, to see what there is */
	struct err why;  /* of the refusal */
	char layer[sizeof(((struct err *)0)->where)];
};

static void trial_next(struct trial *t);

static void trial_answer(struct trial *t, const char *receipt)
{
	struct client *client = t->pending->client; /* NULL once it left */
	struct doctor_input in = { .receipt_json = receipt, .peer_known = client != NULL, .peer = client ? client_uid(client) : 0 };
	struct jbuf b, supervisor;

	if (t->refused) {
		in.error_layer = t->layer;
		in.error_text = t->why.detail;
	}
	jbuf_init(&supervisor, DOCTOR_MAX);
	if (t->core->boot->client_fd < 0) {
		status_own_print(t->core, &supervisor);
		in.supervisor = supervisor.data;
	}
	jbuf_init(&b, DOCTOR_MAX);
	doctor_build(&b, t->core->boot, &in);
	jbuf_done(&supervisor);
	pending_answer(t->pending, &b);
	jbuf_done(&b);
	LIST_REMOVE(t, link);
	free(t);
}

/* A call as users make it is refused; what could be had with --best-effort is worth knowing all the same. */
static void trial_refused(struct trial *t, const char *layer, const struct err *why)
{
	if (t->refused || t->core->leaving) {
		trial_answer(t, NULL);
		return;
	}
	t->refused = true;
	t->why = *why;
	snprintf(t->layer, sizeof(t->layer), "%s", layer);
	trial_next(t);
}

static void on_jail(struct jail *j, enum jail_news news, void *arg)
{
	struct trial *t = arg;
	struct jbuf receipt;

	if (news == JAIL_NEWS_PARKED) {
		jbuf_init(&receipt, DOCTOR_MAX);
		receipt_print(&j->receipt, &receipt);
		jail_abandon(j);
		trial_answer(t, receipt.failed ? NULL : receipt.data);
		jbuf_done(&receipt);
	} else if (news == JAIL_NEWS_FAILED || news == JAIL_NEWS_ENDED) {
		struct err why = j->why;
		enum layer layer = j->failed_layer;
		jail_abandon(j);
		trial_refused(t, layer_name(layer), &why);
	}
}

static void trial_next(struct trial *t)
{
	struct profile *profile = NULL;
	struct zygote *z;
	struct err err = { 0 };

	if (profile_cache_get(t->core->profiles, TRIAL_PROFILE, NULL, NULL, 0, &profile, &err) < 0 ||
	    zygote_get(t->core, profile, t->refused ? ZYGOTE_BEST_EFFORT : 0, &z, &err) < 0 ||
	    jail_spawn(z, on_jail, t, &t->jail, &err) < 0)
		trial_refused(t, err.where, &err);
	profile_free(profile);
}

static bool has_room(const struct client *client)
{
	const struct trial *t;
	unsigned n = 0;

	LIST_FOREACH(t, &client_core(client)->trials, link)
		n += t->uid == client_uid(client);
	return n < TRIALS_PER_UID;
}

void trial_start(struct client *client, const char *rpc_id, size_t rpc_id_len)
{
	struct trial *t;
	struct err err;

	if (!has_room(client)) {
		err_set(&err, ERR_HOST, EBUSY, "doctor", "uid %u has %u trials under way, as many as may be", client_uid(client), TRIALS_PER_UID);
		err_hint(&err, "try again when one of them has been answered");
		client_answer_err(client, rpc_id, rpc_id_len, RPC_BUSY, &err, RETRY_MS);
		return;
	}
	t = calloc(1, sizeof(*t));
	if (!t) {
		client_answer_error(client, rpc_id, rpc_id_len, -32603, "no memory", NULL, NULL);
		return;
	}
	t->core = client_core(client);
	t->pending = pending_new(client, rpc_id, rpc_id_len);
	if (!t->pending) {
		free(t);
		return;
	}
	t->uid = client_uid(client);
	LIST_INSERT_HEAD(&t->core->trials, t, link);
	trial_next(t);
}
