#include "supervisor/missing.h"

#include "supervisor/wire/json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* What an error frame says of a refusal. */
struct refusal {
	int error;
	char path[SPEC_PATH_MAX];
	char need[16];
};

static void text_at(const char *frame, size_t len, const char *path, char *ret, size_t cap)
{
	size_t at, raw, n = 0;

	ret[0] = '\0';
	if (!json_find(frame, len, path, &at, &raw, NULL) || frame[at] != '"')
		return;
	_cleanup_free_ char *text = json_string_dup(frame + at, raw, &n);
	if (text && n < cap && strlen(text) == n)
		memcpy(ret, text, n + 1);
}

static bool refusal_read(const char *frame, size_t len, struct refusal *ret)
{
	size_t at, n;

	if (!json_find(frame, len, "refused.errno", &at, &n, NULL) || n > 3 || strspn(frame + at, "0123456789") < n)
		return false;
	ret->error = 0;
	for (size_t i = 0; i < n; i++)
		ret->error = ret->error * 10 + frame[at + i] - '0';
	text_at(frame, len, "refused.path", ret->path, sizeof(ret->path));
	text_at(frame, len, "refused.need", ret->need, sizeof(ret->need));
	return true;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

static const struct spec_mount *mount_of(const struct jail_spec *s, const char *path)
{
	for (uint32_t i = 0; i < s->mount_count; i++)
		if (!(s->mounts[i].flags & SPEC_MOUNT_SYMLINK) && is_below(path, s->mounts[i].to))
			return &s->mounts[i];
	return NULL;
}

/* A path that a mount of the whole profile shows: read-only or not at all, where it was narrowed. */
static int of_path(const struct profile *profile, const struct permissions *left, const struct refusal *r)
{
	const struct spec_mount *wide = mount_of(profile_spec(profile_wide(profile)), r->path), *is = mount_of(profile_spec(profile), r->path);

	if (r->error == ENOENT && wide && !is && !left->filesystem)
		return PERMISSION_FILESYSTEM;
	if (r->error == EROFS && wide && is && (wide->flags & (SPEC_MOUNT_RW | SPEC_MOUNT_WORKSPACE)) && !(is->flags & SPEC_MOUNT_RW))
		return PERMISSION_WRITE;
	return -1;
}

static int which_of(const struct profile *profile, const struct permissions *left, const struct refusal *r)
{
	if (r->error == EPERM || r->error == EACCES) {
		if (strcmp(r->need, "subprocess") == 0 && !left->subprocess)
			return PERMISSION_SUBPROCESS;
		if (strcmp(r->need, "network") == 0 && !left->network)
			return PERMISSION_NETWORK;
	}
	return r->path[0] == '/' ? of_path(profile, left, r) : -1;
}

/* The permissions that it would have to declare, as tool.create takes them. */
static void hint_declare(const struct tool *tool, enum permission which, struct missing *ret)
{
	struct permissions p = tool->declared;
	struct jbuf b;

	p.network |= which == PERMISSION_NETWORK;
	p.subprocess |= which == PERMISSION_SUBPROCESS;
	p.write |= which == PERMISSION_WRITE;
	p.filesystem |= which == PERMISSION_FILESYSTEM || which == PERMISSION_WRITE;
	if (p.write && p.scope == SCOPE_READ_ONLY)
		p.scope = SCOPE_READ_WRITE;
	jbuf_init(&b, 256);
	permissions_print(&p, &b);
	if (!b.failed)
		snprintf(ret->hint, sizeof(ret->hint), "create it again (replace) with permissions %.*s, or write it without", (int)b.len, b.data);
	jbuf_done(&b);
}

static void words(const struct tool *tool, const struct profile *profile, struct missing *ret)
{
	static const char *const keys[PERMISSION_COUNT] = { "files.mounts", "network.mode", "processes.subprocess", "files.mounts" };
	const char *name = permission_name(ret->which), *taken = profile_taken(profile, ret->which), *origin;
	bool asked = permission_of(&tool->declared, ret->which) && (ret->which != PERMISSION_WRITE || tool->declared.scope != SCOPE_READ_ONLY);
	struct permissions granted;

	profile_grants(profile_wide(profile), &granted);
	origin = profile_origin(profile, keys[ret->which]);
	if (!permission_of(&granted, ret->which)) {
		snprintf(ret->what, sizeof(ret->what), "permission %s is missing: the profile %.40s does not grant it", name, profile_name(profile));
		snprintf(ret->rule, sizeof(ret->rule), "%s", origin ?: profile_name(profile));
		snprintf(ret->hint, sizeof(ret->hint), "create it under a profile that grants %s ('brig profile list'), or write it without", name);
	} else if (!asked) {
		snprintf(ret->what, sizeof(ret->what), "permission %s is missing: the tool did not declare it", name);
		snprintf(ret->rule, sizeof(ret->rule), "tool: not declared");
		hint_declare(tool, ret->which, ret);
	} else {
		snprintf(ret->what, sizeof(ret->what), "permission %s is missing: a tool that is %s does not get it", name, tool_state_name(tool->state));
		snprintf(ret->rule, sizeof(ret->rule), "%s", taken ?: origin ?: "");
		snprintf(ret->hint, sizeof(ret->hint), "an operator can lift it: brig tool promote %s", tool->name);
	}
}

bool missing_find(const struct tool *tool, const struct profile *profile, const struct permissions *left, const char *frame, size_t len,
		  struct missing *ret)
{
	struct refusal r;
	int which;

	*ret = (struct missing){ 0 };
	if (!refusal_read(frame, len, &r))
		return false;
	which = which_of(profile, left, &r);
	if (which < 0)
		return false;
	ret->which = (enum permission)which;
	ret->error = r.error;
	words(tool, profile, ret);
	return true;
}
