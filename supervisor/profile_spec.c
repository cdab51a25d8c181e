/* The merged tree as a whole: nothing missing, nothing that contradicts itself; then the flat spec. */
#include "supervisor/profile_impl.h"

#include <sha2.h>
#include <stdio.h>
#include <string.h>

/* Switches that make a group of system calls take effect. A group cannot be taken
 * back by a profile that extends another, but its switch can be turned off. */
static const struct {
	const char *group, *key;
} switches[] = {
	{ "@processes", "processes.subprocess" },
	{ "@sockets-ip", "network.mode" },
	{ "@exec-memory", "require.mdwe" },
};

static bool word_is(const cJSON *node, const char *word)
{
	return cJSON_IsString(node) && strcmp(node->valuestring, word) == 0;
}

static bool switch_is_on(const struct profile *p, const char *key)
{
	const cJSON *node = tree_at(p->tree, key);

	return cJSON_IsTrue(node) || word_is(node, "loopback") || (strcmp(key, "require.mdwe") == 0 && word_is(node, "off"));
}

static const cJSON *granted(const struct profile *p, const char *group)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, tree_at(p->tree, "syscalls.allow"))
		if (word_is(cJSON_GetObjectItemCaseSensitive(item, "group"), group))
			return item;
	return NULL;
}

/* Every key that has no default of its own must have been said by somebody. */
static int check_complete(const struct profile *p, struct err *err)
{
	static const char *const may_lack[] = { "why", "extends", "python.prelude", "python.preload", "files.mounts",
						"require", "name", "audit.args" };
	const struct profile_key *key;

	for (size_t i = 0; (key = profile_key_at(i)); i++) {
		bool needed = key->kind != KEY_SECTION && !tree_at(p->tree, key->path);

		for (size_t j = 0; j < ARRAY_LEN(may_lack); j++)
			needed = needed && strcmp(may_lack[j], key->path) != 0;
		if (!needed)
			continue;
		policy_error(&p->origins, p->tree, err, "nothing says \"%s\"", key->path);
		err_hint(err, "add it, or \"extends\": \"base\"");
		return -EINVAL;
	}
	return 0;
}

static int check_whole(const struct profile *p, struct err *err)
{
	const cJSON *subprocess = tree_at(p->tree, "processes.subprocess");
	const cJSON *warm = tree_at(p->tree, "pool.warm");

	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (i < 2 && switch_is_on(p, switches[i].key) && !granted(p, switches[i].group)) {
			policy_error(&p->origins, tree_at(p->tree, switches[i].key), err,
				     "\"%s\" needs the system calls of \"%s\"", switches[i].key, switches[i].group);
			err_hint(err, "add { \"group\": \"%s\", \"why\": ... } to \"syscalls.allow\"", switches[i].group);
			return -EINVAL;
		}
	if (cJSON_IsTrue(subprocess) && p->spec->limits.pids < 3)
		return policy_error(&p->origins, tree_at(p->tree, "limits.pids"), err,
				    "\"limits.pids\" is %u, but \"processes.subprocess\" needs 3: init, tool, program",
				    p->spec->limits.pids);
	if (p->warm > p->max && origin_of(&p->origins, warm)->depth == 0)
		return policy_error(&p->origins, warm, err, "\"pool.warm\" is more than \"pool.max\"");
	return 0;
}

static void fill_numbers(struct profile *p)
{
	const struct profile_key *key;

	for (size_t i = 0; (key = profile_key_at(i)); i++) {
		unsigned char *to = (unsigned char *)p->spec + key->offset;
		uint64_t value;
		uint32_t narrow;

		if (!key->width)
			continue;
		value = value_of(key, tree_at(p->tree, key->path));
		narrow = (uint32_t)value;
		memcpy(to, key->width == sizeof(value) ? (void *)&value : (void *)&narrow, key->width);
	}
	p->audit_values = word_is(tree_at(p->tree, "audit.args"), "values");
	p->max = (unsigned)tree_at(p->tree, "pool.max")->valuedouble;
	p->warm = (unsigned)tree_at(p->tree, "pool.warm")->valuedouble;
	if (p->max > LIMIT_SLOTS)
		p->max = LIMIT_SLOTS;
	if (p->warm > p->max)
		p->warm = p->max;
}

static void fill_layers(struct profile *p)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, tree_at(p->tree, "require")) {
		uint32_t bit = LAYER_BIT((unsigned)layer_find(item->string));

		if (word_is(item, "best_effort"))
			p->spec->best_effort |= bit;
		if (word_is(item, "off"))
			p->spec->off |= bit;
	}
}

static void fill_flags(struct profile *p)
{
	uint32_t flags = 0;

	if (cJSON_IsTrue(tree_at(p->tree, "processes.subprocess")))
		flags |= SPEC_INIT;
	if (word_is(tree_at(p->tree, "files.proc"), "pid"))
		flags |= SPEC_PROC;
	if (!word_is(tree_at(p->tree, "files.shm"), "none"))
		flags |= SPEC_SHM;
	if (word_is(tree_at(p->tree, "network.mode"), "loopback"))
		flags |= SPEC_LO_UP;
	if (!(p->spec->off & LAYER_BIT(LAYER_MDWE)))
		flags |= SPEC_MDWE;
	if (word_is(tree_at(p->tree, "python.builtins"), "full"))
		flags |= SPEC_FULL_BUILTINS;
	p->spec->flags = flags;
}

/* The checks bounded each list already. */
static uint32_t fill_modules(const cJSON *list, char out[SPEC_MODULES_MAX])
{
	const cJSON *item;
	size_t used = 0;

	cJSON_ArrayForEach(item, list) {
		size_t n = strlen(item->valuestring) + 1;

		memcpy(out + used, item->valuestring, n);
		used += n;
	}
	return (uint32_t)used;
}

static int fill_prelude(const struct profile_store *store, struct profile *p, struct err *err)
{
	const cJSON *node = tree_at(p->tree, "python.prelude");
	const struct store_file *file;
	char room[96];

	if (!node)
		return 0;
	file = store_find(store, node->valuestring);
	if (!file || !file->len)
		return policy_error(&p->origins, node, err, "no prelude %s beside the profiles, or an empty one",
				    quoted(node->valuestring, room));
	memcpy(p->spec->prelude, file->text, file->len);
	p->spec->prelude_len = (uint32_t)file->len;
	return 0;
}

bool profile_group_takes_effect(const struct profile *p, const char *group)
{
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (strcmp(switches[i].group, group) == 0)
			return switch_is_on(p, switches[i].key);
	return true;
}

static int fill_filter(struct profile *p, struct err *err)
{
	_cleanup_free_ struct seccomp_grants *grants = calloc(1, sizeof(*grants));
	const cJSON *item;
	int r;

	if (!grants)
		return err_set(err, ERR_HOST, ENOMEM, "profile", "out of memory");
	cJSON_ArrayForEach(item, tree_at(p->tree, "syscalls.allow")) {
		const cJSON *group = cJSON_GetObjectItemCaseSensitive(item, "group");
		const cJSON *name = cJSON_GetObjectItemCaseSensitive(item, "name");

		if (group && profile_group_takes_effect(p, group->valuestring))
			seccomp_grant_group(grants, syscall_group_find(group->valuestring));
		if (name)
			(void)seccomp_grant_name(grants, name->valuestring);
	}
	r = seccomp_compile(grants, p->spec->filter, SPEC_FILTER_MAX, &p->spec->filter_len, err);
	return r < 0 ? err_wrap(err, "profile %s", p->name) : 0;
}

static void digest(const void *bytes, size_t len, char out[80])
{
	char hex[SHA256_DIGEST_STRING_LENGTH];

	SHA256Data(bytes, len, hex);
	snprintf(out, 80, "sha256:%s", hex);
}

int profile_finish(const struct profile_store *store, struct profile *p, struct err *err)
{
	const char *wrong;
	int r = check_complete(p, err);

	if (r < 0)
		return r;
	p->spec->magic = SPEC_MAGIC;
	p->spec->version = SPEC_VERSION;
	p->spec->size = sizeof(*p->spec);
	memcpy(p->spec->profile, p->name, sizeof(p->name));
	fill_numbers(p);
	fill_layers(p);
	fill_flags(p);
	p->spec->imports_len = fill_modules(tree_at(p->tree, "python.imports"), p->spec->imports);
	p->spec->preload_len = fill_modules(tree_at(p->tree, "python.preload"), p->spec->preload);
	r = check_whole(p, err);
	if (r == 0)
		r = fill_prelude(store, p, err);
	if (r == 0)
		r = profile_mounts(store, p, err);
	if (r == 0)
		r = fill_filter(p, err);
	if (r < 0)
		return r;
	wrong = spec_check(p->spec);
	if (wrong)
		return err_set(err, ERR_BUG, EINVAL, "profile", "the spec of profile %s is wrong: %s", p->name, wrong);
	digest(p->spec->filter, p->spec->filter_len * sizeof(p->spec->filter[0]), p->filter_digest);
	digest(p->spec, sizeof(*p->spec), p->digest);
	return 0;
}
