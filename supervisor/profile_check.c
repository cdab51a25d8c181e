#include "supervisor/profile_check.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WHY_MAX 400 /* reasons are sentences, not documents */

const char *kind_of(const cJSON *node, char room[96])
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

int wrong(struct checker *c, const char *path, const cJSON *node, const char *must)
{
	char room[96];

	return refuse(c, node, "\"%s\" must be %s, found %s", path, must, kind_of(node, room));
}

bool text_is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

int check_text(struct checker *c, const char *path, const cJSON *node)
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

int check_choice(struct checker *c, const char *path, const cJSON *node, const char *choices)
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
