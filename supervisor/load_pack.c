/* The sealed memfd between keeper and core: a head, then the files' names and texts, one after the other. */
#include "supervisor/load.h"

#include "jail/base/fd.h"
#include "supervisor/profile_impl.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PACK_MAGIC 0x42524c44u

struct pack_head {
	uint32_t magic;
	uint32_t files;
	uint32_t guarded;
	uint32_t policies;
	struct err why; /* class ERR_NONE: none */
	struct config config;
	struct config_origin origin;
};

/* Before each name and text; both carry a NUL of their own that is not counted. */
struct pack_item {
	uint32_t name_len, text_len;
};

static size_t size_of(const struct profile_store *s)
{
	size_t size = 0;

	for (size_t i = 0; s && i < s->count; i++)
		size += sizeof(struct pack_item) + strlen(s->files[i].name) + s->files[i].len + 2;
	for (size_t i = 0; s && i < s->guarded_count; i++)
		size += sizeof(struct pack_item) + strlen(s->guarded[i]) + 2;
	return size;
}

static char *item_put(char *at, const char *name, const char *text, size_t text_len)
{
	struct pack_item item = { (uint32_t)strlen(name), (uint32_t)text_len };

	at = mempcpy(at, &item, sizeof(item));
	at = mempcpy(at, name, item.name_len + 1);
	at = mempcpy(at, text, text_len);
	*at = '\0';
	return at + 1;
}

int load_pack(const struct loaded *l, const struct err *why)
{
	const struct profile_store *s = why ? NULL : l->profiles;
	const struct profile_store *p = why ? NULL : l->policy;
	size_t size = sizeof(struct pack_head) + size_of(s) + size_of(p);
	_cleanup_free_ struct pack_head *head = calloc(1, size);

	if (!head)
		return -ENOMEM;
	char *at = (char *)(head + 1);
	head->magic = PACK_MAGIC;
	if (why) {
		head->why = *why;
		return fd_sealed("brig-load", head, size);
	}
	head->config = l->config;
	head->origin = l->origin;
	head->files = (uint32_t)s->count;
	head->guarded = (uint32_t)s->guarded_count;
	head->policies = p ? (uint32_t)p->count : 0;
	for (size_t i = 0; i < s->count; i++)
		at = item_put(at, s->files[i].name, s->files[i].text, s->files[i].len);
	for (size_t i = 0; i < s->guarded_count; i++)
		at = item_put(at, s->guarded[i], "", 0);
	for (size_t i = 0; p && i < p->count; i++)
		at = item_put(at, p->files[i].name, p->files[i].text, p->files[i].len);
	return fd_sealed("brig-load", head, size);
}

struct reader {
	const char *at, *end;
};

static bool item_take(struct reader *r, const char **name, const char **text, size_t *text_len)
{
	struct pack_item item;

	if ((size_t)(r->end - r->at) < sizeof(item))
		return false;
	memcpy(&item, r->at, sizeof(item));
	r->at += sizeof(item);
	if ((size_t)(r->end - r->at) < (size_t)item.name_len + item.text_len + 2)
		return false;
	*name = r->at;
	*text = *name + item.name_len + 1;
	*text_len = item.text_len;
	r->at = *text + item.text_len + 1;
	return (*name)[item.name_len] == '\0' && (*text)[item.text_len] == '\0';
}

static int unpack_files(const struct pack_head *head, struct reader *r, struct loaded *ret, struct err *err)
{
	const char *name, *text;
	size_t len;
	struct profile_store *s = profile_store_new(), *p = profile_store_new();

	for (uint32_t i = 0; s && i < head->files; i++)
		if (!item_take(r, &name, &text, &len) || profile_store_add(s, name, text, len) < 0)
			goto bad;
	for (uint32_t i = 0; s && i < head->guarded; i++)
		if (!item_take(r, &name, &text, &len) || profile_store_guard(s, name) < 0)
			goto bad;
	for (uint32_t i = 0; p && i < head->policies; i++)
		if (!item_take(r, &name, &text, &len) || profile_store_add(p, name, text, len) < 0)
			goto bad;
	if (s)
		profile_store_workspace(s, head->config.workspace);
	if (s && p && r->at == r->end && profile_store_index(s, err) == 0) {
		ret->profiles = s;
		ret->policy = p;
		return 0;
	}
bad:
	profile_store_free(s);
	profile_store_free(p);
	return err_set(err, ERR_HOST, EPROTO, "reload", "what the keeper sent cannot be taken apart, or there is no memory for it");
}

int load_unpack(int fd, struct loaded *ret, struct err *err)
{
	struct stat st;
	int r = -EPROTO;

	ret->profiles = ret->policy = NULL;
	if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(struct pack_head))
		return err_set(err, ERR_BUG, EPROTO, "reload", "the keeper sent too little");
	size_t size = (size_t)st.st_size;
	struct pack_head *head = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (head == MAP_FAILED)
		return err_set(err, ERR_HOST, errno, "reload", "cannot map what the keeper sent: %s", strerror(errno));
	struct reader reader = { (const char *)(head + 1), (const char *)head + size };
	if (head->magic != PACK_MAGIC) {
		err_set(err, ERR_BUG, EPROTO, "reload", "the keeper sent something else");
	} else if (head->why.class != ERR_NONE) {
		*err = head->why;
		r = err->code ? -err->code : -EINVAL;
	} else {
		ret->config = head->config;
		ret->origin = head->origin;
		r = unpack_files(head, &reader, ret, err);
	}
	(void)munmap(head, size);
	return r;
}
