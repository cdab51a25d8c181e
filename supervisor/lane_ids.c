/* Which host ids may be ours: mapped here, named nowhere, promised to nobody. */
#include "supervisor/lane.h"

#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

/* systemd hands out 0x80000..0x6fffffff to containers and leaves 0x70000000..0x7fffffff
 * to others; above 2^31 some file systems and tools take ids for negative. */
#define CANDIDATE_FIRST 0x70400000u
#define CANDIDATE_STEP 0x00400000u
#define CANDIDATES 8u
/* A block inside a small mapping stays clear of system accounts. */
#define FALLBACK_LOWEST 4096u
#define ID_NOBODY 65534u

#define SPANS_MAX 4096u

struct span {
	uint64_t first, count;
};

struct spans {
	struct span at[SPANS_MAX];
	unsigned n;
	bool full;
};

const struct lane_ids_from lane_ids_host = {
	"/proc/self/uid_map", "/proc/self/gid_map", "/etc/passwd", "/etc/group", "/etc/subuid", "/etc/subgid",
};

static void span_add(struct spans *s, uint64_t first, uint64_t count)
{
	if (s->n < SPANS_MAX)
		s->at[s->n++] = (struct span){ first, count };
	else
		s->full = true;
}

static bool map_read(const char *path, struct spans *ret)
{
	FILE *f = fopen(path, "re");
	uint64_t inside, outside, count;

	while (f && fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside, &count) == 3)
		span_add(ret, inside, count);
	if (f)
		fclose(f);
	return f && ret->n > 0;
}

/* NAME:FIRST:COUNT (subuid(5)). */
static void subids_read(const char *path, struct spans *taken)
{
	FILE *f = fopen(path, "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		uint64_t first, count;
		char *colon = strchr(line, ':');
		if (colon && sscanf(colon, ":%" SCNu64 ":%" SCNu64, &first, &count) == 2)
			span_add(taken, first, count);
	}
	if (f)
		fclose(f);
}

static void names_read(const struct lane_ids_from *from, struct spans *taken)
{
	FILE *f = fopen(from->passwd, "re");

	for (struct passwd *p; f && (p = fgetpwent(f));) {
		span_add(taken, p->pw_uid, 1);
		span_add(taken, p->pw_gid, 1);
	}
	if (f)
		fclose(f);
	f = fopen(from->group, "re");
	for (struct group *g; f && (g = fgetgrent(f));)
		span_add(taken, g->gr_gid, 1);
	if (f)
		fclose(f);
}

static bool within(const struct spans *map, uint64_t first, uint64_t count)
{
	for (unsigned i = 0; i < map->n; i++)
		if (first >= map->at[i].first && first + count <= map->at[i].first + map->at[i].count)
			return true;
	return false;
}

static bool overlaps(const struct spans *taken, uint64_t first, uint64_t count)
{
	for (unsigned i = 0; i < taken->n; i++)
		if (first < taken->at[i].first + taken->at[i].count && taken->at[i].first < first + count)
			return true;
	return false;
}

struct search {
	struct spans uids, gids, taken;
};

static bool usable(const struct search *s, uint64_t first, uint64_t count)
{
	return first > 0 && first + count <= INT32_MAX && within(&s->uids, first, count) && within(&s->gids, first, count) &&
	       !overlaps(&s->taken, first, count);
}

/* From the top of the mapping down, whole blocks, for as many lanes as fit. */
static bool fallback(const struct search *s, struct lane_ids *ret)
{
	for (uint32_t lanes = LANE_COUNT; lanes >= 1; lanes /= 4) {
		uint64_t block = (uint64_t)lanes * LANE_IDS;
		for (unsigned i = 0; i < s->uids.n; i++) {
			uint64_t end = s->uids.at[i].first + s->uids.at[i].count;
			uint64_t top = (end < INT32_MAX ? end : INT32_MAX) / LANE_IDS * LANE_IDS;
			/* 64 steps look past what named ids may sit at the top; more would only find someone's range. */
			for (unsigned step = 0; step < 64 && top >= FALLBACK_LOWEST + block; step++, top -= LANE_IDS) {
				if (!usable(s, top - block, block))
					continue;
				*ret = (struct lane_ids){ (uint32_t)(top - block), lanes };
				return true;
			}
		}
	}
	return false;
}

static int search(const struct lane_ids_from *from, struct search *s, struct lane_ids *ret, struct err *err)
{
	uint64_t block = (uint64_t)LANE_COUNT * LANE_IDS;

	if (!map_read(from->uid_map, &s->uids) || !map_read(from->gid_map, &s->gids))
		return err_set(err, ERR_HOST, ENOENT, "ids", "cannot read our own id maps (is /proc mounted?)");
	names_read(from, &s->taken);
	subids_read(from->subuid, &s->taken);
	subids_read(from->subgid, &s->taken);
	span_add(&s->taken, ID_NOBODY, 2); /* and 65535, which 16-bit calls take for "none" */
	if (s->taken.full)
		return err_set(err, ERR_HOST, E2BIG, "ids", "more than %u ids and ranges in the account files", SPANS_MAX);
	for (unsigned i = 0; i < CANDIDATES; i++) {
		uint64_t first = CANDIDATE_FIRST + (uint64_t)i * CANDIDATE_STEP;
		if (!usable(s, first, block))
			continue;
		*ret = (struct lane_ids){ (uint32_t)first, LANE_COUNT };
		return 0;
	}
	if (fallback(s, ret))
		return 0;
	err_set(err, ERR_HOST, ENOSPC, "ids", "no %u free ids in a row are mapped in our user namespace", LANE_IDS);
	err_hint(err, "map more ids into this container (at least %u above %u), or run as an ordinary user", LANE_IDS,
		 FALLBACK_LOWEST);
	return -ENOSPC;
}

int lane_ids_find(const struct lane_ids_from *from, struct lane_ids *ret, struct err *err)
{
	_cleanup_free_ struct search *s = calloc(1, sizeof(*s));

	return s ? search(from, s, ret, err) : err_set(err, ERR_HOST, ENOMEM, "ids", "out of memory");
}
