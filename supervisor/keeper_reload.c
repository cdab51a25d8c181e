/* A reload's first half: the keeper reads again, core decides whether it can work with it, and what core took is
 * what the next core gets. A file that is wrong changes nothing. */
#include "supervisor/keeper.h"

#include "supervisor/log.h"
#include "supervisor/notify.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static void say_ready(const char *status)
{
	notify_send("READY=1\nSTATUS=%s", status);
}

int keeper_reload_read(struct keeper *k)
{
	struct timespec ts;
	struct err err = { 0 };

	keeper_reload_drop(k);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	notify_send("RELOADING=1\nMONOTONIC_USEC=%" PRIu64, (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000);
	int r = load_read(&k->boot->from, &k->next, &err);
	if (r == 0)
		r = config_reload_check(&k->boot->config, &k->next.config, &k->next.origin, &err);
	k->next_pending = r == 0;
	int fd = load_pack(&k->next, r < 0 ? &err : NULL);
	if (r < 0)
		load_done(&k->next);
	return fd;
}

void keeper_reload_take(struct keeper *k)
{
	profile_store_free(k->boot->profiles);
	profile_store_free(k->boot->policy);
	k->boot->profiles = k->next.profiles;
	k->boot->policy = k->next.policy;
	k->boot->config = k->next.config;
	k->next.profiles = k->next.policy = NULL;
	k->next_pending = false;
	log_level_set((int)k->boot->config.log_level);
	say_ready("Reloaded");
}

void keeper_reload_refused(struct keeper *k)
{
	keeper_reload_drop(k);
	say_ready("Reload refused, see the log; what was loaded before holds");
}

void keeper_reload_drop(struct keeper *k)
{
	if (k->next_pending)
		load_done(&k->next);
	k->next_pending = false;
}
