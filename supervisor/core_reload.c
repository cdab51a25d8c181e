/* A reload's second half: core parses all that the keeper read, and works with all of it or with none. */
#include "supervisor/audit_client.h"
#include "supervisor/core_state.h"

#include "supervisor/digest.h"
#include "supervisor/keeper_client.h"
#include "supervisor/load.h"
#include "supervisor/log.h"
#include "supervisor/policy.h"
#include "supervisor/pool.h"
#include "supervisor/profile_cache.h"
#include "supervisor/profile_impl.h"
#include "supervisor/server.h"

#include <stdio.h>
#include <string.h>

static int take(struct core *core, struct loaded *next, struct err *err)
{
	struct profile_cache *cache = profile_cache_new(next->profiles);
	struct policy *policy = NULL;
	int r = cache ? profile_cache_fill(cache, err) : err_set(err, ERR_HOST, ENOMEM, "reload", "no memory");

	if (r == 0)
		r = load_policy_parse(next->policy, &policy, err);
	if (r < 0) {
		profile_cache_free(cache);
		return r;
	}
	profile_cache_free(core->profiles);
	policy_free(core->policy);
	profile_store_free(core->boot->profiles);
	profile_store_free(core->boot->policy);
	core->profiles = cache;
	core->policy = policy;
	core->boot->policy = next->policy;
	core->boot->profiles = next->profiles;
	core->boot->config = next->config;
	next->profiles = next->policy = NULL;
	return 0;
}

static int fetch(struct core *core, struct loaded *next, struct err *err)
{
	struct keeper_msg msg = { .kind = KP_RELOAD };
	struct keeper_reply reply;
	_cleanup_close_ int fd = -1;
	int r = keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, &fd, 1, err);

	return r < 0 ? r : load_unpack(fd, next, err);
}

static void tell(struct core *core, enum keeper_kind kind)
{
	struct keeper_msg msg = { .kind = kind };
	struct keeper_reply reply;

	(void)keeper_ask(core->boot->keeper_fd, &msg, -1, &reply, NULL, 0, NULL);
}

/* What came of it, whoever asked. */
static void note(struct core *core, const char *text)
{
	(void)audit_note(core, AUDIT_RELOAD, getuid(), getpid(), NULL, NULL, text);
}

void core_note_policy(struct core *core)
{
	const struct profile_store *texts = core->boot->policy;
	char hash[DIGEST_MAX], names[AUDIT_TEXT_MAX] = "";
	SHA2_CTX sha;

	SHA256Init(&sha);
	for (size_t i = 0, used = 0; texts && i < texts->count; i++) {
		digest_part(&sha, texts->files[i].text, texts->files[i].len);
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? " " : "", texts->files[i].name);
	}
	digest_end(&sha, hash);
	(void)audit_note_about(core, AUDIT_POLICY, getuid(), getpid(), &(struct audit_about){ .hash = hash, .text = names });
}

int core_reload(struct core *core, struct err *err)
{
	if (core->boot->agent_fd < 0) {
		err_set(err, ERR_CALLER, ENOTSUP, "reload", "a private supervisor reads its profiles once, when it starts");
		err_hint(err, "start another one");
		return -ENOTSUP;
	}
	_cleanup_free_ struct loaded *next = calloc(1, sizeof(*next));
	if (!next)
		return err_set(err, ERR_HOST, ENOMEM, "reload", "no memory");
	int r = fetch(core, next, err);
	if (r == 0)
		r = take(core, next, err);
	load_done(next);
	tell(core, r == 0 ? KP_RELOAD_DONE : KP_RELOAD_REFUSED);
	if (r < 0) {
		struct err told = *err;
		(void)err_wrap(&told, "reload refused, nothing has changed");
		log_err(LOG_ERR, "reload_refused", LOG_NONE, &told);
		note(core, told.detail);
		return r;
	}
	note(core, "taken");
	core_note_policy(core);
	log_level_set((int)core->boot->config.log_level);
	log_event(LOG_NOTICE, "reloaded", LOG_NONE, "configuration, profiles and policy are those of now");
	server_config_changed(core);
	pool_profiles_changed(core);
	return 0;
}
