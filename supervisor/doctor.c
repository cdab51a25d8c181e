#include "supervisor/doctor.h"

#include "jail/base/names.h"
#include "supervisor/doctor_host.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FACTS_MAX 16

static struct {
	struct fact facts[FACTS_MAX];
	unsigned count;
	bool done;
} g_probe;

/* What each layer takes away, and what to do where it is missing. `fact`: the host fact whose own fix is better when it
 * has one. */
static const struct {
	const char *what, *fix, *fact;
} layer_texts[LAYER_COUNT] = {
	[LAYER_FDS] = { "only the declared descriptors enter a jail", "run Linux 5.11 or newer", "kernel" },
	[LAYER_SESSION] = { "a session and a keyring of its own, no terminal",
		"let keyctl through the surrounding seccomp profile", "container" },
	[LAYER_USER] = { "a user namespace with one id, never root of the host",
		"let clone3 with CLONE_NEWUSER through", "user_namespaces" },
	[LAYER_GROUPS] = { "no supplementary group",
		"start brigd as root: an ordinary user cannot drop groups before the id map", NULL },
	[LAYER_CGROUP] = { "memory, processes and CPU are limited and counted by the kernel",
		"delegate a cgroup with memory, pids and cpu", "cgroup" },
	[LAYER_MOUNT] = { "a root of its own, read-only, built of declared mounts",
		"run Linux 5.12 or newer; let mount and pivot_root through", "kernel" },
	[LAYER_PROC] = { "no /proc, or one that shows the jail alone", "unmask the host's /proc", "proc" },
	[LAYER_NET] = { "an empty network namespace", "sysctl -w user.max_net_namespaces=10000", "container" },
	[LAYER_PID] = { "a process namespace that dies with the call", "sysctl -w user.max_pid_namespaces=10000",
		"container" },
	[LAYER_IPC] = { "no shared memory or queue of the host", "sysctl -w user.max_ipc_namespaces=10000",
		"container" },
	[LAYER_UTS] = { "a fixed host name", "sysctl -w user.max_uts_namespaces=10000", "container" },
	[LAYER_CGROUP_NS] = { "the host's cgroup path is hidden", "sysctl -w user.max_cgroup_namespaces=10000",
		"container" },
	[LAYER_TIME] = { "the host's uptime is hidden", "run Linux 5.6 or newer with CONFIG_TIME_NS", "kernel" },
	[LAYER_RLIMIT] = { "limits of files, descriptors, stack and core dumps",
		"raise the hard limits that brigd is started with", NULL },
	[LAYER_PRIVS] = { "no program can give privileges back", NULL, NULL },
	[LAYER_MDWE] = { "memory that was writable never becomes executable", "run Linux 6.3 or newer", NULL },
	[LAYER_SPECULATION] = { "speculation across the jail's border is curbed",
		"none where the processor or the kernel's mitigations leave no choice", NULL },
	[LAYER_CAPS] = { "no capability, and none can be had", NULL, NULL },
	[LAYER_LANDLOCK] = { "files outside the declared ones stay shut even if the mounts fail",
		"run a kernel with Landlock", "landlock" },
	[LAYER_SECCOMP] = { "system calls by allowlist, attacks named",
		"run Linux 5.0 or newer with CONFIG_SECCOMP_FILTER", "seccomp" },
};

static const char *const fact_states[] = {
	[FACT_UNKNOWN] = "unknown", [FACT_OK] = "ok", [FACT_WARN] = "warn", [FACT_MISSING] = "missing"
};

static void entry_add(
	struct jbuf *out, bool first, const char *name, const char *state, const char *detail, const char *fix)
{
	jbuf_text(out, first ? "{\"name\":" : ",{\"name\":");
	jbuf_cstring(out, name);
	jbuf_text(out, ",\"state\":");
	jbuf_cstring(out, state);
	jbuf_text(out, ",\"detail\":");
	jbuf_cstring(out, detail);
	if (fix && *fix) {
		jbuf_text(out, ",\"fix\":");
		jbuf_cstring(out, fix);
	}
	jbuf_text(out, "}");
}

/* The entry of receipt.degraded for a layer: a string "layer" or "layer: why", or an object with "layer" and "why".
 * *ret_why is borrowed. */
static bool degraded_find(const cJSON *receipt, const char *layer, const char **ret_why)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(receipt, "degraded"), *e;
	size_t n = strlen(layer);

	*ret_why = NULL;
	cJSON_ArrayForEach(e, list)
	{
		const char *name =
			cJSON_GetStringValue(cJSON_IsObject(e) ? cJSON_GetObjectItemCaseSensitive(e, "layer") : e);

		if (!name || strncmp(name, layer, n) != 0 || (name[n] && name[n] != ':'))
			continue;
		*ret_why = name[n] ? name + n + 1 + strspn(name + n + 1, " ")
				   : cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(e, "why"));
		return true;
	}
	return false;
}

static const char *layer_fix(enum layer l, const struct core_boot *boot)
{
	const struct fact *f =
		layer_texts[l].fact ? host_fact_find(g_probe.facts, g_probe.count, layer_texts[l].fact) : NULL;

	if (l == LAYER_CGROUP && boot->cgroup_fix[0])
		return boot->cgroup_fix;
	return f && f->fix[0] ? f->fix : layer_texts[l].fix;
}

/* Appends the layers; returns how many run degraded. */
static unsigned layers_add(struct jbuf *out, const struct core_boot *boot, const cJSON *receipt,
	const char *error_layer, const char *error_text)
{
	unsigned degraded = 0;

	for (enum layer l = 0; l < LAYER_COUNT; l++) {
		const char *state = receipt ? "enforced" : "unknown", *detail = layer_texts[l].what, *why;
		bool sound = true;

		if (error_layer && strcmp(error_layer, layer_name(l)) == 0) {
			state = "missing";
			if (error_text)
				detail = error_text;
			sound = false;
		} else if (degraded_find(receipt, layer_name(l), &why)) {
			state = "degraded";
			detail = why ?: l == LAYER_CGROUP && boot->cgroup_why[0] ? boot->cgroup_why : detail;
			degraded++;
			sound = false;
		}
		entry_add(out, l == 0, layer_name(l), state, detail, sound ? NULL : layer_fix(l, boot));
	}
	return degraded;
}

/* Uid 0 may become the supervisor whatever id that runs under; and a private one was started by its client. */
static bool may_approve(const struct core_boot *boot, uid_t peer, uid_t own)
{
	const struct config_socket *admin = &boot->config.admin;

	if (peer == 0 || peer == own)
		return true;
	for (uint32_t i = 0; boot->client_fd < 0 && i < admin->uid_count; i++)
		if (admin->uids[i] == peer)
			return true;
	return boot->client_fd < 0 && admin->any_uid;
}

/* The separation of who may ask from who may approve holds only between two ids. */
static void authority_add(struct jbuf *out, const struct core_boot *boot, const struct doctor_input *in)
{
	uid_t own = boot->as_root ? boot->uid : getuid();
	char detail[200];

	if (!in->peer_known)
		return entry_add(out, false, "authority", "unknown", "the client's id cannot be read", NULL);
	if (!may_approve(boot, in->peer, own)) {
		snprintf(detail, sizeof(detail), "client uid %u, supervisor uid %u: who asks cannot approve", in->peer, own);
		return entry_add(out, false, "authority", "ok", detail, NULL);
	}
	snprintf(detail, sizeof(detail), "client uid %u could act as the supervisor (uid %u)%s: who asks could also approve",
		 in->peer, own, boot->client_fd < 0 ? " or use its admin.sock" : "");
	entry_add(out, false, "authority", "warn", detail, "run brigd under a uid of its own, and the agent under another");
}

static void host_add(struct jbuf *out, const struct core_boot *boot, const struct doctor_input *in)
{
	for (unsigned i = 0; i < g_probe.count; i++) {
		const struct fact *f = &g_probe.facts[i];
		bool cgroup = strcmp(f->name, "cgroup") == 0 && boot->cgroup_why[0];

		entry_add(out, i == 0, f->name, cgroup ? "warn" : fact_states[f->state],
			cgroup ? boot->cgroup_why : f->detail, cgroup ? boot->cgroup_fix : f->fix);
	}
	authority_add(out, boot, in);
}

static void verdict_add(
	struct jbuf *out, const cJSON *receipt, unsigned degraded, const char *error_layer, const char *error_text)
{
	char text[400];
	const char *verdict = error_layer || error_text ? "refused"
			      : !receipt		? "unknown"
			      : degraded		? "degraded"
							: "enforced";

	if (error_layer || error_text)
		snprintf(text, sizeof(text), "a call would be refused: %s%s%s", error_layer ?: "",
			error_layer && error_text ? ": " : "", error_text ?: "");
	else if (!receipt)
		snprintf(text, sizeof(text), "no trial call was made, so nothing is known");
	else if (degraded)
		snprintf(text, sizeof(text), "calls run; %u protection%s not in force, and every receipt says so",
			degraded, degraded == 1 ? " is" : "s are");
	else
		snprintf(text, sizeof(text), "calls run, and every protection is in force");
	jbuf_text(out, ",\"verdict\":");
	jbuf_cstring(out, verdict);
	jbuf_text(out, ",\"summary\":");
	jbuf_cstring(out, text);
}

void doctor_probe(void)
{
	if (g_probe.done)
		return;
	g_probe.count = host_facts(g_probe.facts, FACTS_MAX, geteuid() == 0);
	g_probe.done = true;
}

int doctor_build(struct jbuf *out, const struct core_boot *boot, const struct doctor_input *in)
{
	cJSON *receipt = in->receipt_json ? cJSON_Parse(in->receipt_json) : NULL;
	unsigned degraded;

	if (in->receipt_json && !cJSON_IsObject(receipt)) {
		cJSON_Delete(receipt);
		return -EINVAL;
	}
	doctor_probe();
	jbuf_text(out, "{\"layers\":[");
	degraded = layers_add(out, boot, receipt, in->error_layer, in->error_text);
	jbuf_text(out, "],\"host\":[");
	host_add(out, boot, in);
	jbuf_text(out, "]");
	verdict_add(out, receipt, degraded, in->error_layer, in->error_text);
	jbuf_text(out, ",\"receipt\":");
	jbuf_text(out, receipt ? in->receipt_json : "null");
	if (in->supervisor) {
		jbuf_text(out, ",\"supervisor\":");
		jbuf_text(out, in->supervisor);
	}
	jbuf_text(out, "}");
	cJSON_Delete(receipt);
	return 0;
}
