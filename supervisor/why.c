#include "supervisor/why.h"

#include "supervisor/policy_path.h"
#include "supervisor/profile_impl.h"
#include "supervisor/syscall_groups.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LINKS_MAX 4 /* of the jail's own: /lib64 to /usr/lib64 */

static const char *brief_of(const struct profile *p, int origin)
{
	return origin >= 0 && (size_t)origin < p->origins.count ? p->origins.at[origin].brief : "";
}

static void rule_set(struct why *w, const char *text)
{
	snprintf(w->rule, sizeof(w->rule), "%s", text ?: "");
}

/* ---- paths ---- */

/* Replaces what lies below a link that the jail's root holds. */
static bool link_follow(const struct jail_spec *spec, char path[PATH_MAX])
{
	char next[PATH_MAX], dir[SPEC_PATH_MAX];

	for (uint32_t i = 0; i < spec->mount_count; i++) {
		const struct spec_mount *m = &spec->mounts[i];

		if (!(m->flags & SPEC_MOUNT_SYMLINK) || !path_is_under(path, m->to))
			continue;
		snprintf(dir, sizeof(dir), "%s", m->to);
		char *slash = strrchr(dir, '/');
		slash[slash == dir] = '\0';
		if (snprintf(next, sizeof(next), "%s%s", m->from, path + strlen(m->to)) >= (int)sizeof(next))
			return false;
		char whole[PATH_MAX];
		if (!path_canonical(dir, next, whole) || strcmp(whole, path) == 0)
			return false;
		memcpy(path, whole, sizeof(whole));
		return true;
	}
	return false;
}

/* The innermost mount over that path, or -1. */
static int mount_over(const struct jail_spec *spec, const char *path)
{
	int found = -1;

	for (uint32_t i = 0; i < spec->mount_count; i++)
		if (!(spec->mounts[i].flags & SPEC_MOUNT_SYMLINK) && path_is_under(path, spec->mounts[i].to) &&
		    (found < 0 || strlen(spec->mounts[i].to) > strlen(spec->mounts[found].to)))
			found = (int)i;
	return found;
}

static void say_mount(const struct profile *p, int i, const char *path, struct why *w)
{
	const struct spec_mount *m = &profile_spec(p)->mounts[i];
	const char *rest = path + strlen(m->to);

	rule_set(w, brief_of(p, p->mount_origin[i]));
	if (m->flags & SPEC_MOUNT_ABSENT) {
		w->verdict = "deny";
		snprintf(w->text, sizeof(w->text), "%s is empty: no workspace is set", m->to);
		snprintf(w->hint, sizeof(w->hint), "the operator names it: workspace in brigd.conf(5)");
		return;
	}
	w->verdict = "allow";
	snprintf(w->text, sizeof(w->text), "shows %.120s%.120s of the host, %s%s", m->from, rest,
		 m->flags & SPEC_MOUNT_RW ? "to read and to write" : "to read only (EROFS where somebody writes)",
		 m->flags & SPEC_MOUNT_EXEC ? "" : "; no program there can be started");
}

/* What Brig itself makes in every jail. */
static bool say_own(const struct profile *p, const char *path, struct why *w)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };
	const struct jail_spec *spec = profile_spec(p);

	w->verdict = "allow";
	if (path_is_under(path, "/tmp") && spec->limits.tmp_bytes) {
		rule_set(w, profile_origin(p, "files.tmp"));
		snprintf(w->text, sizeof(w->text), "the call's own /tmp, to read and to write, %llu bytes; gone with the call",
			 (unsigned long long)spec->limits.tmp_bytes);
		return true;
	}
	if (path_is_under(path, "/dev/shm") && spec->flags & SPEC_SHM) {
		rule_set(w, profile_origin(p, "files.shm"));
		snprintf(w->text, sizeof(w->text), "the call's own shared memory; gone with the call");
		return true;
	}
	if (path_is_under(path, "/proc") && spec->flags & SPEC_PROC) {
		rule_set(w, profile_origin(p, "files.proc"));
		snprintf(w->text, sizeof(w->text), "a /proc of the jail's own, with the processes of the call alone");
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (strcmp(path, devices[i]) == 0) {
			snprintf(w->text, sizeof(w->text), "a device that every jail has");
			return true;
		}
	for (uint32_t i = 0; i < spec->mount_count; i++)
		if (path_is_under(spec->mounts[i].to, path)) {
			snprintf(w->text, sizeof(w->text), "a directory of the jail's own, to read only: it holds places where something is mounted");
			return true;
		}
	return false;
}

static void say_nothing(const struct profile *p, const char *path, struct why *w)
{
	const struct jail_spec *spec = profile_spec(p);

	w->verdict = "deny";
	rule_set(w, profile_origin(p, "files.mounts"));
	snprintf(w->text, sizeof(w->text), "nothing is there (ENOENT): a jail's root holds what its profile mounts and nothing else");
	snprintf(w->hint, sizeof(w->hint), "files.mounts of a profile shows it: profile(5)");
	for (uint32_t i = 0; i < spec->mount_count; i++)
		if (!(spec->mounts[i].flags & (SPEC_MOUNT_SYMLINK | SPEC_MOUNT_ABSENT)) && path_is_under(path, spec->mounts[i].from)) {
			snprintf(w->hint, sizeof(w->hint), "the tool finds that file of the host as %.100s%.100s", spec->mounts[i].to,
				 path + strlen(spec->mounts[i].from));
			return;
		}
}

int why_path(const struct profile *p, const char *path, struct why *ret, struct err *err)
{
	char at[PATH_MAX];

	*ret = (struct why){ .layer = "mount" };
	if (!path_canonical(NULL, path, at)) {
		err_set(err, ERR_CALLER, EINVAL, "path", "it is no absolute path, or too long");
		err_hint(err, "a path as the tool sees it, such as /workspace/a.txt");
		return -EINVAL;
	}
	for (int i = 0; i < LINKS_MAX && link_follow(profile_spec(p), at); i++)
		;
	int mount = mount_over(profile_spec(p), at);
	if (mount >= 0)
		say_mount(p, mount, at, ret);
	else if (!say_own(p, at, ret))
		say_nothing(p, at, ret);
	return 0;
}

/* ---- hosts ---- */

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return strcmp(host, "localhost") == 0 || (inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

void why_host(const struct profile *p, const char *host, struct why *ret)
{
	bool up = profile_spec(p)->flags & SPEC_LO_UP;

	*ret = (struct why){ .layer = "net", .verdict = up && is_loopback(host) ? "allow" : "deny" };
	rule_set(ret, profile_origin(p, "network.mode"));
	if (up && is_loopback(host)) {
		snprintf(ret->text, sizeof(ret->text), "the jail's own loopback: what the call itself listens on, nothing of the host's");
		return;
	}
	snprintf(ret->text, sizeof(ret->text), "the jail has a network of its own %s (ENETUNREACH): no way leads out of it",
		 up ? "with nothing but a loopback" : "without any interface that is up");
	snprintf(ret->hint, sizeof(ret->hint), "no profile of this version leads to other hosts; hand the tool what it needs as an argument");
}

/* ---- system calls ---- */

static const struct syscall_entry *entry_find(const struct syscall_group *group, const char *name)
{
	for (size_t i = 0; group && i < group->count; i++)
		if (strcmp(group->entries[i].name, name) == 0)
			return &group->entries[i];
	return NULL;
}

/* The item of syscalls.allow that grants it, and takes effect. */
static const cJSON *grant_find(const struct profile *p, const char *name, const struct syscall_entry **ret)
{
	const cJSON *item, *limited = NULL;

	cJSON_ArrayForEach(item, tree_at(p->tree, "syscalls.allow")) {
		const cJSON *group = cJSON_GetObjectItemCaseSensitive(item, "group"), *one = cJSON_GetObjectItemCaseSensitive(item, "name");
		const struct syscall_entry *entry = group ? entry_find(syscall_group_find(group->valuestring), name) : NULL;

		if (one && strcmp(one->valuestring, name) == 0) {
			*ret = NULL;
			return item;
		}
		if (!entry || !profile_group_takes_effect(p, group->valuestring))
			continue;
		/* One that grants it whole says more than one that narrows its arguments. */
		if (!limited || entry->check == CHECK_NONE) {
			limited = item;
			*ret = entry;
		}
	}
	return limited;
}

static int refuse_name(const char *name, struct err *err)
{
	const char *words[600], *near;
	const struct syscall_group *group;
	const struct syscall_fixed *fixed;
	char room[96];
	size_t n = 0;

	for (size_t g = 0; (group = syscall_group_at(g)); g++)
		for (size_t i = 0; i < group->count && n < ARRAY_LEN(words); i++)
			words[n++] = group->entries[i].name;
	for (size_t i = 0; (fixed = syscall_fixed_at(i)) && n < ARRAY_LEN(words); i++)
		words[n++] = fixed->name;
	err_set(err, ERR_CALLER, EINVAL, "syscall", "this machine has no system call %s", quoted(name, room));
	near = nearest_word(name, words, n);
	if (near)
		err_hint(err, "did you mean \"%s\"?", near);
	return -EINVAL;
}

static void say_granted(const struct profile *p, const cJSON *item, const struct syscall_entry *entry, enum syscall_check check, struct why *w)
{
	const cJSON *group = cJSON_GetObjectItemCaseSensitive(item, "group"), *why = cJSON_GetObjectItemCaseSensitive(item, "why");

	w->verdict = "allow";
	rule_set(w, brief_of(p, item->valueint));
	snprintf(w->text, sizeof(w->text), "%s%s: %s%s", group ? "group " : "granted by its name", group ? group->valuestring : "",
		 entry ? entry->why : cJSON_IsString(why) ? why->valuestring : "", check == CHECK_NONE ? "" : "; only with certain arguments, else EPERM");
}

/* A group that has it and that this profile could name. */
static void say_denied(const struct profile *p, const char *name, struct why *w)
{
	const struct syscall_group *group;

	w->verdict = "deny";
	rule_set(w, profile_origin(p, "syscalls.allow"));
	snprintf(w->text, sizeof(w->text), "EPERM: no group that the profile allows has it");
	for (size_t i = 0; (group = syscall_group_at(i)); i++)
		if (entry_find(group, name)) {
			snprintf(w->hint, sizeof(w->hint), "group %s has it: %.150s", group->name, group->why);
			return;
		}
	snprintf(w->hint, sizeof(w->hint), "no group has it; \"name\" in syscalls.allow grants one call: profile(5)");
}

int why_syscall(const struct profile *p, const char *name, struct why *ret, struct err *err)
{
	const struct syscall_fixed *fixed = syscall_fixed_find(name);
	const struct syscall_entry *entry = NULL;
	const cJSON *item = grant_find(p, name, &entry);

	*ret = (struct why){ .layer = "seccomp" };
	if (!seccomp_name_known(name))
		return refuse_name(name, err);
	if (item) {
		say_granted(p, item, entry, entry ? entry->check : syscall_check_of(name), ret);
	} else if (fixed) {
		ret->verdict = fixed->fate == FATE_ATTACK ? "kill" : fixed->fate == FATE_ENOSYS ? "enosys" : "deny";
		snprintf(ret->text, sizeof(ret->text), "%s: %s",
			 fixed->fate == FATE_ATTACK ? "ends the call as syscall_denied" : fixed->fate == FATE_ENOSYS ? "ENOSYS" : "EPERM, whatever a profile says",
			 fixed->why);
	} else {
		say_denied(p, name, ret);
	}
	return 0;
}
