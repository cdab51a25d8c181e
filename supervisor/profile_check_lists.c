#include "supervisor/profile_check.h"

#include <stdlib.h>
#include <string.h>

/* The keys of an element of files.mounts or syscalls.allow. */
static int check_members(struct checker *c, const char *path, const cJSON *item, const char *const *words, size_t n)
{
	const cJSON *member;
	char room[96];

	if (!cJSON_IsObject(item))
		return wrong(c, path, item, "objects");
	cJSON_ArrayForEach(member, item) {
		bool known = false;
		const char *near;

		for (size_t i = 0; i < n; i++)
			known = known || strcmp(words[i], member->string) == 0;
		if (known)
			continue;
		refuse(c, member, "unknown key %s in an element of \"%s\"", quoted(member->string, room), path);
		near = nearest_word(member->string, words, n);
		if (near)
			err_hint(c->err, "did you mean \"%s\"?", near);
		return -EINVAL;
	}
	member = cJSON_GetObjectItemCaseSensitive(item, "why");
	if (!member)
		return refuse(c, item, "an element of \"%s\" needs a \"why\"", path);
	return check_text(c, "why", member);
}

static int check_path(struct checker *c, const char *what, const cJSON *node)
{
	const char *p = node->valuestring;
	bool bad = !cJSON_IsString(node) || p[0] != '/' || strlen(p) >= SPEC_PATH_MAX || strstr(p, "//") ||
		   !text_is_plain(p);

	for (const char *part = bad ? NULL : p; part; part = strchr(part + 1, '/'))
		if (strcmp(part, "/.") == 0 || strcmp(part, "/..") == 0 || strncmp(part, "/./", 3) == 0 ||
		    strncmp(part, "/../", 4) == 0)
			bad = true;
	if (bad || (p[1] && p[strlen(p) - 1] == '/'))
		return wrong(c, what, node, "an absolute path without \"..\", \".\", \"//\" or a slash at its end");
	return 0;
}

int check_mount(struct checker *c, const cJSON *item)
{
	static const char *const words[] = { "from", "to", "mode", "exec", "why" };
	const cJSON *from = cJSON_GetObjectItemCaseSensitive(item, "from");
	const cJSON *to = cJSON_GetObjectItemCaseSensitive(item, "to");
	const cJSON *mode = cJSON_GetObjectItemCaseSensitive(item, "mode");
	const cJSON *exec = cJSON_GetObjectItemCaseSensitive(item, "exec");
	int r = check_members(c, "files.mounts", item, words, ARRAY_LEN(words));

	if (r < 0)
		return r;
	if (!from)
		return refuse(c, item, "an element of \"files.mounts\" needs a \"from\"");
	if (mode) {
		r = check_choice(c, "mode", mode, "ro|rw");
		if (r < 0)
			return r;
	}
	if (exec && !cJSON_IsBool(exec))
		return wrong(c, "exec", exec, "true or false");
	if (cJSON_IsTrue(exec) && mode && strcmp(mode->valuestring, "rw") == 0)
		return refuse(c, exec, "a mount is either writable or executable, never both");
	if (cJSON_IsString(from) && strcmp(from->valuestring, "@workspace") == 0)
		return to || exec ? refuse(c, to ? to : exec, "the workspace stands at /workspace and nothing in it is executed: leave \"to\" and \"exec\" out") : 0;
	if (cJSON_IsString(from) && from->valuestring[0] == '@') {
		if (to || exec || (mode && strcmp(mode->valuestring, "ro") != 0))
			return refuse(c, to ? to : exec ? exec : mode,
				      "a mount by token stands at its own place, read-only: leave \"to\", \"exec\" and \"rw\" out");
		return 0;
	}
	r = check_path(c, "from", from);
	if (r == 0 && to)
		r = check_path(c, "to", to);
	return r;
}

static int check_call_name(struct checker *c, const cJSON *name)
{
	const struct syscall_fixed *fixed;
	const struct syscall_group *group;
	struct seccomp_grants *scratch;
	char room[96];
	bool known;

	if (!cJSON_IsString(name))
		return wrong(c, "name", name, "a system call");
	fixed = syscall_fixed_find(name->valuestring);
	if (fixed)
		return refuse(c, name, "%s cannot be granted: %s", quoted(name->valuestring, room), fixed->why);
	for (size_t g = 0; (group = syscall_group_at(g)); g++)
		for (size_t i = 0; i < group->count; i++)
			if (strcmp(group->entries[i].name, name->valuestring) == 0) {
				if (g < 4)
					return 0;
				refuse(c, name, "%s comes with a group only", quoted(name->valuestring, room));
				err_hint(c->err, "write { \"group\": \"%s\", \"why\": ... }", group->name);
				return -EINVAL;
			}
	scratch = calloc(1, sizeof(*scratch));
	known = scratch && seccomp_grant_name(scratch, name->valuestring);
	free(scratch);
	return known ? 0 : refuse(c, name, "no system call %s here", quoted(name->valuestring, room));
}

static int check_call_group(struct checker *c, const cJSON *name)
{
	const struct syscall_group *group;
	const char *words[16], *near;
	char room[96];
	size_t n = 0;

	if (cJSON_IsString(name) && syscall_group_find(name->valuestring))
		return 0;
	for (size_t i = 0; (group = syscall_group_at(i)) && n < ARRAY_LEN(words); i++)
		words[n++] = group->name;
	near = cJSON_IsString(name) ? nearest_word(name->valuestring, words, n) : NULL;
	refuse(c, name, "no group of system calls %s", kind_of(name, room));
	if (near)
		err_hint(c->err, "did you mean \"%s\"?", near);
	else
		err_hint(c->err, "the groups are @base, @files-read, @files-write, @events, @threads, @processes, "
				 "@exec-memory, @sockets-ip, @sockets-unix");
	return -EINVAL;
}

int check_call(struct checker *c, const cJSON *item)
{
	static const char *const words[] = { "group", "name", "why" };
	const cJSON *group = cJSON_GetObjectItemCaseSensitive(item, "group");
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");
	int r = check_members(c, "syscalls.allow", item, words, ARRAY_LEN(words));

	if (r < 0)
		return r;
	if (!group == !name)
		return refuse(c, item, "an element of \"syscalls.allow\" needs either a \"group\" or a \"name\"");
	return group ? check_call_group(c, group) : check_call_name(c, name);
}

/* Layers that a host may lack without the jail being none. */
#define MAY_MISS                                                                                              \
	(LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_MDWE) |                        \
	 LAYER_BIT(LAYER_SPECULATION) | LAYER_BIT(LAYER_GROUPS) | LAYER_BIT(LAYER_TIME) | LAYER_BIT(LAYER_PROC))

int check_layer(struct checker *c, const cJSON *node)
{
	const char *words[LAYER_COUNT], *near;
	int layer = layer_find(node->string), r;
	char room[96];

	if (layer < 0) {
		for (int i = 0; i < LAYER_COUNT; i++)
			words[i] = layer_name((enum layer)i);
		near = nearest_word(node->string, words, LAYER_COUNT);
		refuse(c, node, "no protection is called %s", quoted(node->string, room));
		err_hint(c->err, near ? "did you mean \"%s\"?" : "\"brig doctor\" lists them%s", near ? near : "");
		return -EINVAL;
	}
	r = check_choice(c, node->string, node, layer == LAYER_MDWE ? "enforced|best_effort|off" : "enforced|best_effort");
	if (r < 0 && cJSON_IsString(node) && strcmp(node->valuestring, "off") == 0)
		return refuse(c, node, "\"%s\" cannot be switched off, only \"mdwe\" can (for a JIT or ctypes)",
			      node->string);
	if (r == 0 && strcmp(node->valuestring, "best_effort") == 0 && !(MAY_MISS & LAYER_BIT((unsigned)layer))) {
		refuse(c, node, "Brig cannot run without \"%s\": it is part of what makes a jail", node->string);
		err_hint(c->err, "leave it out; best_effort is possible for cgroup, landlock, mdwe, speculation, groups, time, proc");
		return -EINVAL;
	}
	return r;
}
