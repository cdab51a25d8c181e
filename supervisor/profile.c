#include "supervisor/profile_impl.h"

#include <stdio.h>
#include <string.h>

/* One text of the chain, as it is found. */
struct link {
	const char *file, *text;
	size_t len;
	cJSON *tree;
};

struct chain {
	struct link links[LIMIT_EXTENDS_DEPTH];
	size_t count;
};

static void chain_done(struct chain *chain)
{
	for (size_t i = 0; i < chain->count; i++)
		cJSON_Delete(chain->links[i].tree);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static int unknown_profile(const struct profile_store *store, const char *name, struct err *err)
{
	const char *const *names = (const char *const *)store->names;
	const char *near = nearest_word(name, names, store->name_count);
	char room[96];

	err_set(err, ERR_POLICY, ENOENT, "profiles", "no profile %s", quoted(name, room));
	if (near)
		err_hint(err, "did you mean \"%s\"?", near);
	else
		err_hint(err, "\"brig profile list\" shows what there is");
	return -ENOENT;
}

/* Parses and checks the last link; *ret_next names what it extends, or NULL. */
static int chain_parse(struct chain *chain, struct profile *p, const cJSON **ret_next, struct err *err)
{
	struct link *link = &chain->links[chain->count];
	int r = profile_text_parse(link->file, link->text, link->len, (unsigned)chain->count, &p->origins, &link->tree,
				   err);

	if (r < 0)
		return r;
	chain->count++;
	r = profile_check(&p->origins, link->tree, err);
	*ret_next = cJSON_GetObjectItemCaseSensitive(link->tree, "extends");
	return r;
}

/* A profile of the store carries the name of its file, so that a name in a result leads to it. */
static int check_file_name(const struct link *link, struct profile *p, struct err *err)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(link->tree, "name");
	const char *file = base_name(link->file);
	size_t n = strlen(name->valuestring);
	char room[96];

	if (strncmp(name->valuestring, file, n) == 0 && strcmp(file + n, ".json") == 0)
		return 0;
	return policy_error(&p->origins, name, err, "\"name\" is %s in the file %s", quoted(name->valuestring, room),
			    link->file);
}

static int chain_follow(struct chain *chain, const struct profile_store *store, struct profile *p, const cJSON *next,
			struct err *err)
{
	char file_name[SPEC_NAME_MAX + 8], room[96];
	const struct store_file *file;
	int r;

	while (next) {
		snprintf(file_name, sizeof(file_name), "%s.json", next->valuestring);
		file = store_find(store, file_name);
		if (!file) {
			r = unknown_profile(store, next->valuestring, err);
			snprintf(err->where, sizeof(err->where), "%s", origin_of(&p->origins, next)->where);
			return r;
		}
		for (size_t i = 0; i < chain->count; i++)
			if (chain->links[i].text == file->text)
				return policy_error(&p->origins, next, err, "%s extends itself",
						    quoted(next->valuestring, room));
		if (chain->count == LIMIT_EXTENDS_DEPTH)
			return policy_error(&p->origins, next, err, "more than %d profiles extend each other",
					    LIMIT_EXTENDS_DEPTH);
		chain->links[chain->count] = (struct link){ file->name, file->text, file->len, NULL };
		r = chain_parse(chain, p, &next, err);
		if (r < 0)
			return r;
		r = check_file_name(&chain->links[chain->count - 1], p, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An operator's own text may not pass for a profile of the store: results name the profile. */
static int check_own_name(const struct profile_store *store, const struct link *link, struct profile *p, struct err *err)
{
	const cJSON *name = cJSON_GetObjectItemCaseSensitive(link->tree, "name");
	char file_name[SPEC_NAME_MAX + 8], room[96];
	const struct store_file *file;

	snprintf(file_name, sizeof(file_name), "%s.json", name->valuestring);
	file = store_find(store, file_name);
	if (!file || (file->len == link->len && memcmp(file->text, link->text, link->len) == 0))
		return 0;
	policy_error(&p->origins, name, err, "the name %s belongs to another profile", quoted(name->valuestring, room));
	err_hint(err, "give it a name of its own and \"extends\": \"%s\"", name->valuestring);
	return -EEXIST;
}

static int load_chain(struct chain *chain, const struct profile_store *store, bool own, struct profile *p,
		      struct err *err)
{
	const cJSON *next = NULL, *name;
	int r = chain_parse(chain, p, &next, err);

	if (r == 0)
		r = own ? check_own_name(store, &chain->links[0], p, err) : check_file_name(&chain->links[0], p, err);
	if (r == 0)
		r = chain_follow(chain, store, p, next, err);
	if (r < 0)
		return r;
	name = cJSON_GetObjectItemCaseSensitive(chain->links[0].tree, "name");
	snprintf(p->name, sizeof(p->name), "%s", name->valuestring);
	while (chain->count > 1) {
		cJSON *base = chain->links[chain->count - 1].tree, *leaf = chain->links[chain->count - 2].tree;

		profile_merge(base, leaf);
		chain->links[--chain->count - 1].tree = base;
	}
	p->tree = take_ptr(chain->links[0].tree);
	return profile_finish(store, p, err);
}

static int load(const struct profile_store *store, const char *file, const char *text, size_t len, bool own,
		struct profile **ret, struct err *err)
{
	_cleanup_(chain_done) struct chain chain = { .links = { { file, text, len, NULL } } };
	struct profile *p = calloc(1, sizeof(*p));
	int r;

	if (p)
		p->spec = calloc(1, sizeof(*p->spec));
	if (!p || !p->spec) {
		profile_free(p);
		return err_set(err, ERR_HOST, ENOMEM, "profile", "out of memory");
	}
	r = load_chain(&chain, store, own, p, err);
	if (r < 0) {
		profile_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

int profile_load(const struct profile_store *store, const char *name, struct profile **ret, struct err *err)
{
	char file_name[SPEC_NAME_MAX + 8];
	const struct store_file *file = NULL;

	if (profile_name_ok(name)) {
		snprintf(file_name, sizeof(file_name), "%s.json", name);
		file = store_find(store, file_name);
	}
	if (!file)
		return unknown_profile(store, name, err);
	return load(store, file->name, file->text, file->len, false, ret, err);
}

int profile_load_tier(const struct profile_store *store, const char *name, struct profile **ret, struct err *err)
{
	char file_name[sizeof(TIERS_FOLDER "/") + SPEC_NAME_MAX + 8];
	const struct store_file *file = NULL;
	char room[96];

	if (profile_name_ok(name)) {
		snprintf(file_name, sizeof(file_name), TIERS_FOLDER "/%s.json", name);
		file = store_find(store, file_name);
	}
	if (file)
		return load(store, file->name, file->text, file->len, false, ret, err);
	err_set(err, ERR_HOST, ENOENT, "tier", "no trust tier %s beside the profiles", quoted(name, room));
	err_hint(err, "put " TIERS_FOLDER "/%.40s.json there, as Brig ships one, and reload", name);
	return -ENOENT;
}

int profile_load_text(const struct profile_store *store, const char *path, const char *text, size_t len,
		      struct profile **ret, struct err *err)
{
	return load(store, base_name(path), text, len, true, ret, err);
}

struct profile *profile_ref(struct profile *profile)
{
	profile->refs++;
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile || profile->refs-- > 0)
		return;
	profile_free(profile->wide);
	cJSON_Delete(profile->tree);
	free(profile->origins.at);
	free(profile->spec);
	free(profile);
}

const char *profile_name(const struct profile *profile)
{
	return profile->name;
}

const char *profile_why(const struct profile *profile)
{
	const cJSON *why = cJSON_GetObjectItemCaseSensitive(profile->tree, "why");

	return cJSON_IsString(why) ? why->valuestring : "";
}

const struct jail_spec *profile_spec(const struct profile *profile)
{
	return profile->spec;
}

const char *profile_filter_digest(const struct profile *profile)
{
	return profile->filter_digest;
}

const char *profile_digest(const struct profile *profile)
{
	return profile->digest;
}

const char *profile_origin(const struct profile *profile, const char *key)
{
	const cJSON *node = tree_at(profile->tree, key);

	return node ? origin_of(&profile->origins, node)->brief : NULL;
}

bool profile_audit_values(const struct profile *profile)
{
	return profile->audit_values;
}

unsigned profile_warm(const struct profile *profile)
{
	return profile->warm < profile->max ? profile->warm : profile->max;
}

unsigned profile_max(const struct profile *profile)
{
	return profile->max;
}
