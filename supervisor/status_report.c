#include "supervisor/status_report.h"

#include "jail/base/version.h"
#include "supervisor/audit_client.h"
#include "supervisor/call.h"
#include "supervisor/client.h"
#include "supervisor/core_filter.h"
#include "supervisor/core_seal.h"
#include "supervisor/metrics.h"
#include "supervisor/pool.h"
#include "supervisor/sched.h"
#include "supervisor/server.h"
#include "supervisor/session.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static const char *json_bool(bool b)
{
	return b ? "true" : "false";
}

static const char *zygote_state(const struct zygote *z)
{
	if (z->retired)
		return "retiring"; /* until its last jail is gone */
	if (z->state == ZYGOTE_READY)
		return z->standby ? "standby" : "ready";
	return "starting";
}

static void processes_print(struct core *core, struct jbuf *b)
{
	struct audit_health h;
	struct zygote *z;
	unsigned parked;

	audit_client_health(core, &h);
	jbuf_printf(b, ",\"processes\":[{\"role\":\"keeper\",\"pid\":%d},{\"role\":\"core\",\"pid\":%d}", (int)getppid(),
		    (int)getpid());
	if (h.pid > 0)
		jbuf_printf(b, ",{\"role\":\"audit\",\"pid\":%d}", (int)h.pid);
	LIST_FOREACH(z, &core->zygotes, link) {
		if (z->state == ZYGOTE_DEAD || z->pid <= 0)
			continue;
		jbuf_printf(b, ",{\"role\":\"zygote\",\"pid\":%d,\"profile\":", (int)z->pid);
		jbuf_cstring(b, profile_name(z->profile));
		pool_count(z, &parked);
		jbuf_printf(b, ",\"generation\":%u,\"state\":\"%s\",\"parked\":%u}", z->gen, zygote_state(z), parked);
	}
	jbuf_text(b, "]");
}

/* Not what /proc shows to root only; -1: it cannot be read. */
static int descriptors_count(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = d ? -3 : -1; /* ".", "..", and the one that looks */

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

void status_own_print(struct core *core, struct jbuf *b)
{
	struct audit_health h;
	struct zygote *z;

	audit_client_health(core, &h);
	jbuf_printf(b, "[{\"role\":\"keeper\",\"pid\":%d},{\"role\":\"core\",\"pid\":%d,\"landlock_abi\":%d", (int)getppid(),
		    (int)getpid(), seal_abi());
	jbuf_printf(b, ",\"landlock_proven\":%s,\"seccomp_proven\":%s,\"descriptors\":%d}", json_bool(core_seal_holds()),
		    json_bool(core_filter_holds()), descriptors_count());
	/* It does not serve before it has tried the same (audit_seal.c). */
	if (h.pid > 0)
		jbuf_printf(
			b,
			",{\"role\":\"audit\",\"pid\":%d,\"landlock_abi\":%d,\"landlock_proven\":%s,\"seccomp_proven\":true}",
			(int)h.pid, seal_abi(), json_bool(seal_abi() > 0));
	LIST_FOREACH(z, &core->zygotes, link) {
		if (z->state == ZYGOTE_DEAD || z->pid <= 0)
			continue;
		jbuf_printf(b, ",{\"role\":\"zygote\",\"pid\":%d,\"profile\":", (int)z->pid);
		jbuf_cstring(b, profile_name(z->profile));
		jbuf_text(b, "}");
	}
	jbuf_text(b, "]");
}

static void socket_print(struct core *core, struct jbuf *b, const char *name, const struct config_socket *s,
			 enum authority authority)
{
	jbuf_printf(b, "{\"name\":\"%s\",\"path\":", name);
	jbuf_cstring(b, s->path);
	jbuf_printf(b, ",\"connections\":%u}", client_count(core, authority));
}

static void sockets_print(struct core *core, struct jbuf *b)
{
	const struct config *c = &core->boot->config;
	unsigned now = client_count(core, AUTHORITY_AGENT) + client_count(core, AUTHORITY_ADMIN);

	jbuf_text(b, ",\"sockets\":[");
	if (core->boot->client_fd < 0) {
		socket_print(core, b, "agent", &c->agent, AUTHORITY_AGENT);
		jbuf_text(b, ",");
		socket_print(core, b, "admin", &c->admin, AUTHORITY_ADMIN);
	}
	jbuf_printf(b, "],\"connections\":{\"now\":%u,\"max\":%u}", now, server_connections_max(core));
}

static void jails_print(struct core *core, struct jbuf *b)
{
	unsigned states[JAIL_GONE + 1] = { 0 }, parked = 0, alive = 0;
	const char *sep = "";
	struct jail *j;

	jbuf_text(b, ",\"jails\":[");
	LIST_FOREACH(j, &core->jails, link) {
		parked += j->state == JAIL_PARKED && !j->fn;
		alive++;
		states[j->state]++;
		if (j->pid > 0)
			jbuf_printf(b, "%s{\"pid\":%d,\"state\":\"%s\"}", sep, j->pid, jail_state_name(j->state));
		sep = j->pid > 0 ? "," : sep;
	}
	jbuf_printf(b, "],\"parked\":%u,\"alive\":%u,\"jail_states\":{", parked, alive);
	for (enum jail_state s = 0; s < JAIL_GONE; s++)
		jbuf_printf(b, "%s\"%s\":%u", s ? "," : "", jail_state_name(s), states[s]);
	jbuf_text(b, "}");
}

static void work_print(struct core *core, struct jbuf *b)
{
	const struct config *c = &core->boot->config;
	unsigned sessions = 0;
	struct sched_stats stats;
	struct session *s;

	sched_stats_get(core, &stats);
	LIST_FOREACH(s, &core->sessions, link)
		sessions += s->state != SESSION_ENDED;
		jbuf_printf(b,
			    ",\"calls\":{\"queued\":%u,\"running\":%u,\"queue_max\":%u,\"running_max\":%u},\"sessions\":%u,"
			    "\"draining\":%s",
			    stats.waiting, stats.running, c->queue_max, c->running_max, sessions, json_bool(core->draining));
}

static void string_or_null(struct jbuf *b, const char *text)
{
	if (*text)
		jbuf_cstring(b, text);
	else
		jbuf_text(b, "null");
}

static void audit_print(struct core *core, struct jbuf *b)
{
	struct audit_health h;

	audit_client_health(core, &h);
	if (!h.kept) {
		jbuf_text(b, ",\"audit\":null");
		return;
	}
	jbuf_printf(b, ",\"audit\":{\"connected\":%s,\"waiting\":%u,\"written\":%llu,\"refused\":%llu,\"error\":",
		    json_bool(h.connected), h.waiting, (unsigned long long)h.written, (unsigned long long)h.refused);
	string_or_null(b, h.err ? strerror(h.err) : "");
	jbuf_text(b, "}");
}

void status_print(struct core *core, struct jbuf *b)
{
	const struct core_boot *boot = core->boot;
	const struct config *c = &boot->config;

	jbuf_printf(b, "{\"version\":\"" BRIG_VERSION "\",\"uptime_ms\":%llu,\"private\":%s,\"config\":",
		    (unsigned long long)((core_now_ns() - core->started_ns) / 1000000), json_bool(boot->client_fd >= 0));
	string_or_null(b, c->path);
	jbuf_text(b, ",\"run_dir\":");
	string_or_null(b, boot->client_fd >= 0 ? "" : c->run_dir);
	jbuf_text(b, ",\"state_dir\":");
	string_or_null(b, boot->client_fd >= 0 ? "" : c->state_dir);
	processes_print(core, b);
	sockets_print(core, b);
	work_print(core, b);
	jails_print(core, b);
	audit_print(core, b);
	jbuf_printf(b, ",\"restarts\":%u,\"cgroup\":{\"kind\":\"%s\",\"why\":", boot->restarts, cgroup_kind_name(boot->cgroup));
	string_or_null(b, boot->cgroup_why);
	jbuf_text(b, "}}");
}
