#include "supervisor/profile_impl.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WHY_MAX 400 /* reasons are sentences, not documents */

struct checker {
	const struct origins *origins;
	struct err *err;
};

#define refuse(c, node, ...) policy_error((c)->origins, node, (c)->err, __VA_ARGS__)

static const char *kind_of(const cJSON *node, char room[96])
{
	if (cJSON_IsString(node))
		return quoted(node->valuestring, room);
	if (cJSON_IsNumber(node))
		snprintf(room, 96, "%.15g", node->valuedouble);
	else
		snprintf(room, 96, "%s", cJSON_IsArray(node)  ? "an array" :
					 cJSON_IsObject(node) ? "an object" :
					 cJSON_IsNull(node)   ? "null" :
					 cJSON_IsTrue(node)   ? "true" :
								"false");
	return room;
}

/* "limits.wall" must be X, found Y */
static int wrong(struct checker *c, const char *path, const cJSON *node, const char *must)
{
	char room[96];

	return refuse(c, node, "\"%s\" must be %s, found %s", path, must, kind_of(node, room));
}

static bool text_is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

static int check_text(struct checker *c, const char *path, const cJSON *node)
{
	if (!cJSON_IsString(node) || !node->valuestring[0])
		return wrong(c, path, node, "a reason in words");
	if (strlen(node->valuestring) > WHY_MAX || !text_is_plain(node->valuestring))
		return wrong(c, path, node, "one line of at most 400 bytes");
	return 0;
}

static void show(const struct profile_key *key, uint64_t value, char out[32])
{
	static const char units[] = "\0KMGT";
	unsigned i = 0;

	if (key->kind == KEY_DURATION && value % 1000 == 0)
		snprintf(out, 32, "%llus", (unsigned long long)value / 1000);
	else if (key->kind == KEY_DURATION)
		snprintf(out, 32, "%llums", (unsigned long long)value);
	else if (key->kind == KEY_CPUS)
		snprintf(out, 32, "%.2f", (double)value / 100);
	else if (key->kind == KEY_COUNT)
		snprintf(out, 32, "%llu", (unsigned long long)value);
	else {
		while (i < 4 && value && value % 1024 == 0) {
			value /= 1024;
			i++;
		}
		snprintf(out, 32, "%llu%.1s", (unsigned long long)value, i ? &units[i] : "");
	}
}

static int check_range(struct checker *c, const struct profile_key *key, const cJSON *node, uint64_t value)
{
	char has[32], bound[32];

	show(key, value, has);
	if (value < key->min) {
		show(key, key->min, bound);
		return refuse(c, node, "\"%s\" is %s, it must be at least %s: %s", key->path, has, bound, key->why_min);
	}
	if (value > key->max) {
		show(key, key->max, bound);
		return refuse(c, node, "\"%s\" is %s, it can be at most %s: %s", key->path, has, bound, key->why_max);
	}
	return 0;
}

static int check_number(struct checker *c, const struct profile_key *key, const cJSON *node)
{
	const char *must = "a size such as \"16M\" or \"64K\" (units K, M, G), or a number of bytes";
	char write_it[32] = "";
	uint64_t value = 0;
	int r = 0;

	if (key->kind == KEY_SHM && cJSON_IsString(node) && strcmp(node->valuestring, "none") == 0)
		return 0;
	if (key->kind == KEY_SIZE || key->kind == KEY_SHM) {
		r = value_size(node, &value, write_it);
		if (key->kind == KEY_SHM)
			must = "\"none\", or a size such as \"16M\" (units K, M, G)";
	} else if (key->kind == KEY_DURATION) {
		r = value_duration(node, &value, write_it);
		must = "a duration such as \"5s\", \"250ms\" or \"2m\"";
	} else if (key->kind == KEY_CPUS) {
		r = value_cpus(node, &value);
		must = "a number of cores such as 1 or 0.5";
	} else {
		r = value_count(node, &value);
		must = "a whole number";
	}
	if (r < 0) {
		r = wrong(c, key->path, node, must);
		if (write_it[0])
			err_hint(c->err, "write %s", write_it);
		return r;
	}
	return check_range(c, key, node, value);
}

/* One of the words of "a|b|c". */
static int check_choice(struct checker *c, const char *path, const cJSON *node, const char *choices)
{
	const char *words[8];
	char list[64], must[128] = "", room[96];
	size_t n = 0, used = 0;
	const char *near;

	snprintf(list, sizeof(list), "%s", choices);
	for (char *save, *word = strtok_r(list, "|", &save); word && n < ARRAY_LEN(words);
	     word = strtok_r(NULL, "|", &save))
		words[n++] = word;
	for (size_t i = 0; i < n; i++) {
		if (cJSON_IsString(node) && strcmp(words[i], node->valuestring) == 0)
			return 0;
		used += (size_t)snprintf(must + used, sizeof(must) - used, "%s\"%s\"", i ? " or " : "", words[i]);
	}
	near = cJSON_IsString(node) ? nearest_word(node->valuestring, words, n) : NULL;
	refuse(c, node, "\"%s\" must be %s, found %s", path, must, kind_of(node, room));
	if (near)
		err_hint(c->err, "did you mean \"%s\"?", near);
	return -EINVAL;
}

/* "xml.etree.ElementTree": identifiers between dots. */
static bool module_ok(const char *name)
{
	bool start = true;

	if (strlen(name) > 128)
		return false;
	for (; *name; name++) {
		if (*name == '.' && !start) {
			start = true;
			continue;
		}
		if (!isalpha((unsigned char)*name) && *name != '_' && (start || !isdigit((unsigned char)*name)))
			return false;
		start = false;
	}
	return !start;
}

static int check_modules(struct checker *c, const struct profile_key *key, const cJSON *node)
{
	const cJSON *item, *before;
	size_t bytes = 0;
	char room[96];

	if (!cJSON_IsArray(node))
		return wrong(c, key->path, node, "an array of module names");
	cJSON_ArrayForEach(item, node) {
		if (!cJSON_IsString(item) || !module_ok(item->valuestring))
			return wrong(c, key->path, item, "module names such as \"json\" or \"urllib.parse\"");
		for (before = node->child; before != item; before = before->next)
			if (strcmp(before->valuestring, item->valuestring) == 0)
				return refuse(c, item, "module %s is listed twice", quoted(item->valuestring, room));
		bytes += strlen(item->valuestring) + 1;
		if (bytes > SPEC_MODULES_MAX)
			return refuse(c, item, "\"%s\" is longer than %u bytes", key->path, SPEC_MODULES_MAX);
	}
	return 0;
}

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

static int check_mount(struct checker *c, const cJSON *item)
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

static int check_call(struct checker *c, const cJSON *item)
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

static int check_each(struct checker *c, const struct profile_key *key, const cJSON *node,
		      int (*check)(struct checker *, const cJSON *))
{
	const cJSON *item;

	if (!cJSON_IsArray(node))
		return wrong(c, key->path, node, "an array");
	cJSON_ArrayForEach(item, node) {
		int r = check(c, item);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Layers that a host may lack without the jail being none. */
#define MAY_MISS                                                                                              \
	(LAYER_BIT(LAYER_CGROUP) | LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_MDWE) |                        \
	 LAYER_BIT(LAYER_SPECULATION) | LAYER_BIT(LAYER_GROUPS) | LAYER_BIT(LAYER_TIME) | LAYER_BIT(LAYER_PROC))

static int check_layer(struct checker *c, const cJSON *node)
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

static int check_require(struct checker *c, const struct profile_key *key, const cJSON *node)
{
	const cJSON *member;

	if (!cJSON_IsObject(node))
		return wrong(c, key->path, node, "an object");
	cJSON_ArrayForEach(member, node) {
		int r = check_layer(c, member);
		if (r < 0)
			return r;
	}
	return 0;
}

bool profile_name_ok(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return n > 0 && n < SPEC_NAME_MAX && !name[n] && name[0] != '-' && name[0] != '_';
}

static int check_prelude(struct checker *c, const struct profile_key *key, const cJSON *node)
{
	const char *name = cJSON_IsString(node) ? node->valuestring : "";
	size_t n = strlen(name);

	if (n < 4 || n > 64 || strchr(name, '/') || name[0] == '.' || !text_is_plain(name) ||
	    strcmp(name + n - 3, ".py") != 0)
		return wrong(c, key->path, node, "the name of a .py file beside the profiles");
	return 0;
}

static int check_section(struct checker *c, const char *section, const cJSON *node);

static int check_value(struct checker *c, const struct profile_key *key, const cJSON *node)
{
	switch (key->kind) {
	case KEY_SECTION:
		return check_section(c, key->path, node);
	case KEY_NAME:
		if (!cJSON_IsString(node) || !profile_name_ok(node->valuestring))
			return wrong(c, key->path, node, "a name of a-z, 0-9, \"-\" and \"_\", at most 63 long");
		return 0;
	case KEY_TEXT:
		return check_text(c, key->path, node);
	case KEY_CHOICE:
		return check_choice(c, key->path, node, key->choices);
	case KEY_BOOL:
		return cJSON_IsBool(node) ? 0 : wrong(c, key->path, node, "true or false");
	case KEY_PRELUDE:
		return check_prelude(c, key, node);
	case KEY_MODULES:
		return check_modules(c, key, node);
	case KEY_MOUNTS:
		return check_each(c, key, node, check_mount);
	case KEY_SYSCALLS:
		return check_each(c, key, node, check_call);
	case KEY_REQUIRE:
		return check_require(c, key, node);
	case KEY_SIZE:
	case KEY_SHM:
	case KEY_DURATION:
	case KEY_COUNT:
	case KEY_CPUS:
	default:
		return check_number(c, key, node);
	}
}

static int check_section(struct checker *c, const char *section, const cJSON *node)
{
	const cJSON *member;
	char room[96];

	if (!cJSON_IsObject(node))
		return wrong(c, section, node, "an object");
	cJSON_ArrayForEach(member, node) {
		const struct profile_key *key = profile_key_find(section, member->string);
		int r;

		if (!key) {
			refuse(c, member, "unknown key %s%s%s%s", quoted(member->string, room),
			       section[0] ? " in \"" : "", section, section[0] ? "\"" : "");
			profile_key_hint(section, member->string, c->err);
			return -EINVAL;
		}
		r = check_value(c, key, member);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Two values of one text where the first can never be reached, since the second ends the call before. */
static int check_pair(struct checker *c, const cJSON *tree, const char *path, const char *other, uint64_t factor,
		      const char *why)
{
	const cJSON *node = tree_at(tree, path), *bound = tree_at(tree, other);
	const struct profile_key *key = NULL;

	if (!node || !bound)
		return 0;
	for (size_t i = 0; (key = profile_key_at(i)) && strcmp(key->path, path) != 0; i++)
		;
	if (!key || (cJSON_IsString(node) && strcmp(node->valuestring, "none") == 0))
		return 0;
	/* Both are of one kind, so one key's unit reads both. */
	if (value_of(key, node) * 100 <= value_of(key, bound) * factor)
		return 0;
	return refuse(c, node, "\"%s\" cannot be reached: %s", path, why);
}

int profile_check(const struct origins *origins, const cJSON *tree, struct err *err)
{
	struct checker c = { .origins = origins, .err = err };
	const cJSON *cpus = tree_at(tree, "limits.cpus");
	uint64_t hundredths = 100;
	int r = check_section(&c, "", tree);

	if (r < 0)
		return r;
	if (!cJSON_GetObjectItemCaseSensitive(tree, "name"))
		return refuse(&c, tree, "a profile needs a \"name\"");
	if (cpus)
		(void)value_cpus(cpus, &hundredths);
	r = check_pair(&c, tree, "limits.cpu", "limits.wall", hundredths > 100 ? hundredths : 100,
		       "\"limits.wall\" ends the call before");
	if (r == 0)
		r = check_pair(&c, tree, "files.tmp", "limits.memory", 100, "/tmp lives in the memory of \"limits.memory\"");
	if (r == 0)
		r = check_pair(&c, tree, "files.shm", "limits.memory", 100,
			       "/dev/shm lives in the memory of \"limits.memory\"");
	if (r == 0)
		r = check_pair(&c, tree, "pool.warm", "pool.max", 100, "\"pool.max\" is smaller");
	return r;
}
