/* Works on a copy of the merged tree and lets the loader finish it, so that mounts, filter and spec are made in the one way that there is. */
#include "supervisor/narrow.h"

#include "supervisor/profile_impl.h"

#include <stdio.h>
#include <string.h>

/* Mounts that show what every Linux has, and nobody's files. */
static const char *const system_tokens[] = { "@stdlib", "@libs", "@zoneinfo", "@dist-packages", "@bin" };

/* Groups that mean nothing but a permission. */
static const struct {
	enum permission which;
	const char *group;
} permission_groups[] = {
	{ PERMISSION_NETWORK, "@sockets-ip" },
	{ PERMISSION_NETWORK, "@sockets-unix" }, /* a mount can hold a socket of the host's */
	{ PERMISSION_SUBPROCESS, "@processes" },
};

struct narrowing {
	struct profile *profile; /* the copy */
	const struct profile *tier;
	struct permissions asked, left;
	bool changed, failed; /* failed: out of memory */
};

const char *permission_name(enum permission which)
{
	static const char *const names[PERMISSION_COUNT] = { "filesystem", "network", "subprocess", "write" };

	return names[which];
}

bool permission_of(const struct permissions *p, enum permission which)
{
	const bool all[PERMISSION_COUNT] = { p->filesystem, p->network, p->subprocess, p->write };

	return all[which];
}

static const char *text_at(const cJSON *item, const char *key)
{
	const cJSON *node = cJSON_GetObjectItemCaseSensitive(item, key);

	return cJSON_IsString(node) ? node->valuestring : "";
}

static bool shows_somebodys(const cJSON *mount)
{
	const char *from = text_at(mount, "from");

	for (size_t i = 0; i < ARRAY_LEN(system_tokens); i++)
		if (strcmp(from, system_tokens[i]) == 0)
			return false;
	return true;
}

static bool is_writable(const cJSON *mount)
{
	return strcmp(text_at(mount, "mode"), "rw") == 0;
}

static bool grants_group(const struct profile *p, const char *group)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, tree_at(p->tree, "syscalls.allow"))
		if (strcmp(text_at(item, "group"), group) == 0)
			return true;
	return false;
}

void profile_grants(const struct profile *p, struct permissions *ret)
{
	const cJSON *item;

	*ret = (struct permissions){ 0 };
	cJSON_ArrayForEach(item, tree_at(p->tree, "files.mounts")) {
		ret->filesystem |= shows_somebodys(item);
		ret->write |= shows_somebodys(item) && is_writable(item);
	}
	ret->network = strcmp(text_at(tree_at(p->tree, "network"), "mode"), "none") != 0 || grants_group(p, "@sockets-unix");
	ret->subprocess = cJSON_IsTrue(tree_at(p->tree, "processes.subprocess"));
	ret->scope = ret->write ? SCOPE_READ_WRITE : SCOPE_READ_ONLY;
}

/* ---- one value replaced, with a new origin ---- */

static int origin_add(struct narrowing *n, const char *text)
{
	struct origins *o = &n->profile->origins;
	struct origin *at;

	/* The last one again: a mount after the other is taken for the same reason. */
	if (o->count && strcmp(o->at[o->count - 1].brief, text) == 0)
		return (int)o->count - 1;
	at = reallocarray(o->at, o->count + 1, sizeof(*at));
	if (!at) {
		n->failed = true;
		return 0;
	}
	o->at = at;
	at = &o->at[o->count];
	*at = (struct origin){ 0 };
	snprintf(at->where, sizeof(at->where), "%s", text);
	snprintf(at->brief, sizeof(at->brief), "%s", text);
	o->cap = ++o->count;
	return (int)o->count - 1;
}

/* The tier's name, and where it says so. */
static int origin_of_tier(struct narrowing *n, const char *key)
{
	const char *where = key ? profile_origin(n->tier, key) : NULL;
	char text[sizeof(n->profile->origins.at->brief)];

	snprintf(text, sizeof(text), where ? "tier %.20s (%.38s)" : "tier %.20s", profile_name(n->tier), where);
	return origin_add(n, text);
}

/* Takes `node`. */
static void put(struct narrowing *n, cJSON *object, const char *key, cJSON *node, int origin)
{
	if (!node || !cJSON_ReplaceItemInObjectCaseSensitive(object, key, node)) {
		cJSON_Delete(node);
		n->failed = true;
		return;
	}
	node->valueint = origin;
	n->changed = true;
}

/* ---- what is taken ---- */

/* Who takes it: the tool, which did not ask, before the tier, which does not give. Remembered for who asks why. */
static int take(struct narrowing *n, enum permission which, const char *tier_key)
{
	int origin = permission_of(&n->asked, which) ? origin_of_tier(n, tier_key) : origin_add(n, "tool: not declared");

	n->profile->taken[which] = (unsigned)origin + 1;
	return origin;
}

static void drop_groups(struct narrowing *n, enum permission which)
{
	cJSON *list = tree_at(n->profile->tree, "syscalls.allow"), *item, *next;

	for (item = list ? list->child : NULL; item; item = next) {
		next = item->next;
		for (size_t i = 0; i < ARRAY_LEN(permission_groups); i++)
			if (permission_groups[i].which == which && strcmp(text_at(item, "group"), permission_groups[i].group) == 0) {
				cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
				n->changed = true;
				break;
			}
	}
}

static void take_network(struct narrowing *n)
{
	int origin = take(n, PERMISSION_NETWORK, "network.mode");

	put(n, tree_at(n->profile->tree, "network"), "mode", cJSON_CreateString("none"), origin);
	drop_groups(n, PERMISSION_NETWORK);
}

static void take_subprocess(struct narrowing *n)
{
	int origin = take(n, PERMISSION_SUBPROCESS, "processes.subprocess");

	put(n, tree_at(n->profile->tree, "processes"), "subprocess", cJSON_CreateFalse(), origin);
	drop_groups(n, PERMISSION_SUBPROCESS);
}

static void take_mounts(struct narrowing *n, bool filesystem, bool write)
{
	cJSON *list = tree_at(n->profile->tree, "files.mounts"), *item, *next;

	for (item = list ? list->child : NULL; item; item = next) {
		next = item->next;
		if (!shows_somebodys(item))
			continue;
		if (write && is_writable(item))
			put(n, item, "mode", cJSON_CreateString("ro"), take(n, PERMISSION_WRITE, NULL));
		if (filesystem) {
			take(n, PERMISSION_FILESYSTEM, NULL);
			cJSON_Delete(cJSON_DetachItemViaPointer(list, item));
			n->changed = true;
		}
	}
}

/* Each number of the spec that a tier makes smaller: all but the pool's, which are no limit of a tool's. */
static void take_limits(struct narrowing *n)
{
	const struct profile_key *key;

	for (size_t i = 0; n->tier && (key = profile_key_at(i)); i++) {
		const cJSON *ceiling = tree_at(n->tier->tree, key->path), *now = tree_at(n->profile->tree, key->path);
		const char *dot = strchr(key->path, '.');
		char section[32];

		if (!key->width || !ceiling || !now || !dot || value_of(key, ceiling) >= value_of(key, now))
			continue;
		snprintf(section, sizeof(section), "%.*s", (int)(dot - key->path), key->path);
		put(n, tree_at(n->profile->tree, section), dot + 1, cJSON_Duplicate(ceiling, true), origin_of_tier(n, key->path));
	}
}

static void narrow(struct narrowing *n, const struct permissions *granted)
{
	if (granted->network && !n->left.network)
		take_network(n);
	if (granted->subprocess && !n->left.subprocess)
		take_subprocess(n);
	take_mounts(n, !n->left.filesystem, !n->left.write);
	take_limits(n);
}

static struct permissions left_of(const struct permissions *asked, const struct permissions *granted, const struct profile *tier,
				  bool tier_write)
{
	struct permissions ceiling = { .network = true, .subprocess = true }, left = *asked;

	if (tier)
		profile_grants(tier, &ceiling);
	left.network = asked->network && granted->network && ceiling.network;
	left.subprocess = asked->subprocess && granted->subprocess && ceiling.subprocess;
	left.filesystem = asked->filesystem && granted->filesystem;
	left.write = asked->write && granted->write && (!tier || tier_write);
	return left;
}

/* What cannot be used is not asked for: nothing is written that cannot be seen. */
static struct permissions asked_of(const struct permissions *declared)
{
	struct permissions asked = *declared;

	asked.write = declared->write && declared->filesystem && declared->scope != SCOPE_READ_ONLY;
	return asked;
}

void profile_left(const struct profile *profile, const struct permissions *declared, const struct profile *tier, bool tier_write,
		  struct permissions *ret)
{
	struct permissions granted, asked = asked_of(declared);

	profile_grants(profile, &granted);
	*ret = left_of(&asked, &granted, tier, tier_write);
}

static struct profile *copy_of(const struct profile *p)
{
	struct profile *copy = calloc(1, sizeof(*copy));

	if (!copy)
		return NULL;
	memcpy(copy->name, p->name, sizeof(copy->name));
	copy->tree = cJSON_Duplicate(p->tree, true);
	copy->spec = calloc(1, sizeof(*copy->spec));
	copy->origins.at = calloc(p->origins.count + 1, sizeof(*p->origins.at));
	if (!copy->tree || !copy->spec || !copy->origins.at) {
		profile_free(copy);
		return NULL;
	}
	memcpy(copy->origins.at, p->origins.at, p->origins.count * sizeof(*p->origins.at));
	copy->origins.count = p->origins.count;
	copy->origins.cap = p->origins.count + 1;
	return copy;
}

int profile_narrow(const struct profile_store *store, struct profile *profile, const struct permissions *declared,
		   const struct profile *tier, bool tier_write, struct profile **ret, struct permissions *ret_effective, struct err *err)
{
	struct narrowing n = { .profile = copy_of(profile), .tier = tier, .asked = asked_of(declared) };
	struct permissions granted;
	int r = 0;

	if (!n.profile)
		return err_set(err, ERR_HOST, ENOMEM, "profile", "out of memory");
	profile_grants(profile, &granted);
	n.left = left_of(&n.asked, &granted, tier, tier_write);
	narrow(&n, &granted);
	if (n.failed)
		r = err_set(err, ERR_HOST, ENOMEM, "profile", "out of memory");
	else if (n.changed)
		r = profile_finish(store, n.profile, err);
	if (r == 0 && n.changed)
		n.profile->wide = profile_ref(profile);
	if (r == 0) {
		*ret = n.changed ? profile_ref(n.profile) : profile_ref(profile);
		*ret_effective = n.left;
	}
	profile_free(n.profile);
	return r;
}

const struct profile *profile_wide(const struct profile *p)
{
	return p->wide ? p->wide : p;
}

const char *profile_taken(const struct profile *p, enum permission which)
{
	return p->taken[which] ? p->origins.at[p->taken[which] - 1].brief : NULL;
}
