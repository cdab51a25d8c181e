#include "supervisor/profile_cache.h"

#include "supervisor/reviewed.h"

#include <stdlib.h>
#include <string.h>

/* The shipped ones, tiers, and some of the operator's; the oldest makes room. */
#define CACHE_MAX 24
/* What tools run under: a profile, seldom more than two sets of permissions, two tiers. About 150 KiB each; what was not asked for longest
 * makes room. */
#define NARROWED_MAX 32

struct entry {
	char *key; /* "n" (of a tier "i"), name, NUL, or "t", path, NUL, text: a text may be empty */
	size_t len;
	struct profile *profile;
};

/* Found by address: the references keep both from being another one's. */
struct narrowed {
	struct profile *profile, *tier, *result;
	struct permissions declared, effective;
	bool tier_write;
	uint64_t used;
};

struct profile_cache {
	const struct profile_store *store;
	struct entry entries[CACHE_MAX];
	unsigned next;
	struct narrowed narrowed[NARROWED_MAX];
	uint64_t clock;
	struct reviewed *reviewed; /* NULL: not asked for yet */
};

struct profile_cache *profile_cache_new(const struct profile_store *store)
{
	struct profile_cache *cache = calloc(1, sizeof(*cache));

	if (cache)
		cache->store = store;
	return cache;
}

static void entry_done(struct entry *e)
{
	free(e->key);
	profile_free(e->profile);
	*e = (struct entry){ 0 };
}

static void narrowed_done(struct narrowed *n)
{
	profile_free(n->profile);
	profile_free(n->tier);
	profile_free(n->result);
	*n = (struct narrowed){ 0 };
}

void profile_cache_free(struct profile_cache *cache)
{
	if (!cache)
		return;
	for (unsigned i = 0; i < NARROWED_MAX; i++)
		narrowed_done(&cache->narrowed[i]);
	for (unsigned i = 0; i < CACHE_MAX; i++)
		entry_done(&cache->entries[i]);
	reviewed_free(cache->reviewed);
	free(cache);
}

static char *key_make(char kind, const char *first, const char *text, size_t len, size_t *ret_len)
{
	size_t n = 1 + strlen(first) + 1;
	char *key = malloc(n + (text ? len : 0));

	if (!key)
		return NULL;
	key[0] = kind;
	memcpy(key + 1, first, n - 1);
	if (text)
		memcpy(key + n, text, len);
	*ret_len = n + (text ? len : 0);
	return key;
}

static int get(struct profile_cache *cache, char kind, const char *first, const char *text, size_t len, struct profile **ret, struct err *err)
{
	size_t key_len = 0;
	_cleanup_free_ char *key = key_make(kind, first, text, len, &key_len);
	int r;

	if (!key)
		return err_set(err, ERR_HOST, ENOMEM, "profile", "out of memory");
	for (unsigned i = 0; i < CACHE_MAX; i++) {
		struct entry *e = &cache->entries[i];

		if (e->key && e->len == key_len && memcmp(e->key, key, key_len) == 0) {
			*ret = profile_ref(e->profile);
			return 0;
		}
	}
	if (kind == 't')
		r = profile_load_text(cache->store, first, text, len, ret, err);
	else
		r = kind == 'i' ? profile_load_tier(cache->store, first, ret, err) : profile_load(cache->store, first, ret, err);
	if (r < 0)
		return r;
	struct entry *e = &cache->entries[cache->next++ % CACHE_MAX];
	entry_done(e);
	*e = (struct entry){ take_ptr(key), key_len, profile_ref(*ret) };
	return 0;
}

int profile_cache_get(struct profile_cache *cache, const char *name, const char *path, const char *text, size_t len,
		      struct profile **ret, struct err *err)
{
	return get(cache, text ? 't' : 'n', text ? path : name, text, len, ret, err);
}

int profile_cache_tier(struct profile_cache *cache, const char *name, struct profile **ret, struct err *err)
{
	return get(cache, 'i', name, NULL, 0, ret, err);
}

const struct reviewed *profile_cache_reviewed(struct profile_cache *cache, struct err *err)
{
	if (!cache->reviewed)
		(void)reviewed_load(cache->store, &cache->reviewed, err);
	return cache->reviewed;
}

static bool same_permissions(const struct permissions *a, const struct permissions *b)
{
	return a->filesystem == b->filesystem && a->network == b->network && a->subprocess == b->subprocess && a->write == b->write &&
	       a->scope == b->scope;
}

/* The entry for that, or the one that makes room for it, whose result then is NULL. */
static struct narrowed *narrowed_find(struct profile_cache *cache, const struct profile *profile, const struct permissions *declared,
				      const struct profile *tier, bool tier_write)
{
	struct narrowed *oldest = &cache->narrowed[0];

	for (unsigned i = 0; i < NARROWED_MAX; i++) {
		struct narrowed *n = &cache->narrowed[i];

		if (n->result && n->profile == profile && n->tier == tier && n->tier_write == tier_write &&
		    same_permissions(&n->declared, declared))
			return n;
		if (n->used < oldest->used)
			oldest = n;
	}
	narrowed_done(oldest);
	return oldest;
}

int profile_cache_narrow(struct profile_cache *cache, struct profile *profile, const struct permissions *declared, struct profile *tier,
			 bool tier_write, struct profile **ret, struct permissions *ret_effective, struct err *err)
{
	struct narrowed *n = narrowed_find(cache, profile, declared, tier, tier_write);

	if (!n->result) {
		int r = profile_narrow(cache->store, profile, declared, tier, tier_write, &n->result, &n->effective, err);

		if (r < 0) {
			n->result = NULL;
			return r;
		}
		n->profile = profile_ref(profile);
		n->tier = tier ? profile_ref(tier) : NULL;
		n->declared = *declared;
		n->tier_write = tier_write;
	}
	n->used = ++cache->clock;
	*ret = profile_ref(n->result);
	*ret_effective = n->effective;
	return 0;
}

int profile_cache_fill(struct profile_cache *cache, struct err *err)
{
	struct profile *profile;
	const char *name;
	int r;

	for (size_t i = 0; (name = profile_store_name(cache->store, i)); i++) {
		r = profile_cache_get(cache, name, NULL, NULL, 0, &profile, err);
		if (r < 0)
			return r;
		profile_free(profile);
	}
	for (size_t i = 0; (name = profile_store_tier(cache->store, i)); i++) {
		r = profile_cache_tier(cache, name, &profile, err);
		if (r < 0)
			return r;
		profile_free(profile);
	}
	return profile_cache_reviewed(cache, err) ? 0 : -err->code;
}
