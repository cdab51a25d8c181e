#include "supervisor/trial.h"

#include "supervisor/client.h"
#include "supervisor/doctor.h"
#include "supervisor/jail.h"
#include "supervisor/profile_cache.h"

#include <stdlib.h>
#include <string.h>

#define DOCTOR_MAX (1u << 20)

/* The profile that every other builds on is the one to try; what is best effort shows as degraded. */
#define TRIAL_PROFILE "pure"

struct trial {
	struct core *core;
	char *rpc_id;
	struct jail *jail;
};

static void trial_answer(struct trial *t, const char *receipt, const char *layer, const char *error)
{
	struct jbuf b;

	jbuf_init(&b, DOCTOR_MAX);
	doctor_build(&b, t->core->boot, receipt, layer, error);
	client_answer(t->core->client, t->rpc_id, strlen(t->rpc_id), b.data, b.len);
	jbuf_done(&b);
	free(t->rpc_id);
	free(t);
}

static void on_jail(struct jail *j, enum jail_news news, void *arg)
{
	struct trial *t = arg;
	struct jbuf receipt;

	if (news == JAIL_NEWS_PARKED) {
		jbuf_init(&receipt, DOCTOR_MAX);
		receipt_print(&j->receipt, &receipt);
		jail_abandon(j);
		trial_answer(t, receipt.failed ? NULL : receipt.data, NULL, NULL);
		jbuf_done(&receipt);
	} else if (news == JAIL_NEWS_FAILED || news == JAIL_NEWS_ENDED) {
		struct err why = j->why;
		enum layer layer = j->failed_layer;
		jail_abandon(j);
		trial_answer(t, NULL, layer_name(layer), why.detail);
	}
}

void trial_start(struct core *core, const char *rpc_id, size_t rpc_id_len)
{
	struct trial *t = calloc(1, sizeof(*t));
	struct profile *profile = NULL;
	struct zygote *z;
	struct err err = { 0 };

	if (!t || !(t->rpc_id = strndup(rpc_id, rpc_id_len))) {
		free(t);
		client_answer_error(core->client, rpc_id, rpc_id_len, -32603, "no memory", NULL, NULL);
		return;
	}
	t->core = core;
	if (profile_cache_get(core->profiles, TRIAL_PROFILE, NULL, NULL, 0, &profile, &err) < 0 || zygote_get(core, profile, true, &z, &err) < 0 ||
	    jail_spawn(z, on_jail, t, &t->jail, &err) < 0)
		trial_answer(t, NULL, err.where, err.detail);
	profile_free(profile);
}
