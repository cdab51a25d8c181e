/* What "extends" means: objects merge key by key, values and arrays replace,
 * but files.mounts and syscalls.allow append, and an element that names the same
 * thing again takes the place of the former. name, why and extends are each
 * profile's own and never inherited. */
#include "supervisor/profile_impl.h"

#include <string.h>

cJSON *tree_at(const cJSON *tree, const char *path)
{
	const cJSON *node = tree;
	char part[64];

	while (node && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof(part))
			return NULL;
		memcpy(part, path, n);
		part[n] = '\0';
		node = cJSON_IsObject(node) ? cJSON_GetObjectItemCaseSensitive(node, part) : NULL;
		path += n + (path[n] == '.');
	}
	return (cJSON *)node;
}

/* What an element of an appending array is about: the place it mounts at, the group or call it grants. */
static const char *identity(const cJSON *item)
{
	static const char *const by[] = { "to", "from", "group", "name" };

	for (size_t i = 0; i < ARRAY_LEN(by); i++) {
		const cJSON *node = cJSON_GetObjectItemCaseSensitive(item, by[i]);
		if (node)
			return node->valuestring;
	}
	return "";
}

static void append(cJSON *array, cJSON *more)
{
	cJSON *item;

	while ((item = cJSON_DetachItemFromArray(more, 0))) {
		cJSON *old = array->child;

		while (old && strcmp(identity(old), identity(item)) != 0)
			old = old->next;
		if (old)
			cJSON_ReplaceItemViaPointer(array, old, item);
		else
			cJSON_AddItemToArray(array, item);
	}
}

static void merge(cJSON *base, cJSON *leaf, const char *section)
{
	cJSON *item;

	while ((item = leaf->child)) {
		cJSON *old = cJSON_GetObjectItemCaseSensitive(base, item->string);
		const struct profile_key *key = profile_key_find(section, item->string);
		enum key_kind kind = key ? key->kind : KEY_TEXT;

		cJSON_DetachItemViaPointer(leaf, item);
		if (old && (kind == KEY_SECTION || kind == KEY_REQUIRE)) {
			merge(old, item, key->path);
			cJSON_Delete(item);
		} else if (old && (kind == KEY_MOUNTS || kind == KEY_SYSCALLS)) {
			append(old, item);
			cJSON_Delete(item);
		} else if (old) {
			cJSON_ReplaceItemViaPointer(base, old, item);
		} else {
			cJSON_AddItemToArray(base, item); /* keeps the key that the item already has */
		}
	}
}

void profile_merge(cJSON *base, cJSON *leaf)
{
	static const char *const own[] = { "name", "why", "extends" };

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		cJSON_DeleteItemFromObjectCaseSensitive(base, own[i]);
	merge(base, leaf, "");
	cJSON_Delete(leaf);
}
