#include "supervisor/profile_cache.h"

#include <stdlib.h>
#include <string.h>

/* The shipped ones and some of the operator's; the oldest makes room. */
#define CACHE_MAX 16

struct entry {
	char *key; /* "n", name, NUL, or "t", path, NUL, text: a text may be empty */
	size_t len;
	struct profile *profile;
};

struct profile_cache {
	const struct profile_store *store;
	struct entry entries[CACHE_MAX];
	unsigned next;
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

void profile_cache_free(struct profile_cache *cache)
{
	if (!cache)
		return;
	for (unsigned i = 0; i < CACHE_MAX; i++)
		entry_done(&cache->entries[i]);
	free(cache);
}

static char *key_make(const char *name, const char *path, const char *text, size_t len, size_t *ret_len)
{
	const char *first = text ? path : name;
	size_t n = 1 + strlen(first) + 1;
	char *key = malloc(n + (text ? len : 0));

	if (!key)
		return NULL;
	key[0] = text ? 't' : 'n';
	memcpy(key + 1, first, n - 1);
	if (text)
		memcpy(key + n, text, len);
	*ret_len = n + (text ? len : 0);
	return key;
}

int profile_cache_get(struct profile_cache *cache, const char *name, const char *path, const char *text, size_t len,
		      struct profile **ret, struct err *err)
{
	size_t key_len = 0;
	_cleanup_free_ char *key = key_make(name, path, text, len, &key_len);
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
	r = text ? profile_load_text(cache->store, path, text, len, ret, err) : profile_load(cache->store, name, ret, err);
	if (r < 0)
		return r;
	struct entry *e = &cache->entries[cache->next++ % CACHE_MAX];
	entry_done(e);
	*e = (struct entry){ take_ptr(key), key_len, profile_ref(*ret) };
	return 0;
}

int profile_cache_fill(struct profile_cache *cache, struct err *err)
{
	const char *name;

	for (size_t i = 0; (name = profile_store_name(cache->store, i)); i++) {
		struct profile *profile;
		int r = profile_cache_get(cache, name, NULL, NULL, 0, &profile, err);

		if (r < 0)
			return r;
		profile_free(profile);
	}
	return 0;
}
