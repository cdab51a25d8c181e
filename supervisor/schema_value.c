/* Values compared as JSON Schema means it: numbers by their value, strings by their characters, objects in any order. */
#include "supervisor/schema_impl.h"

#include "supervisor/wire/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool spend(int64_t *budget, size_t bytes)
{
	*budget -= 1 + (int64_t)(bytes / 64);
	return *budget >= 0;
}

/* What looking at a value itself costs, in bytes that are compared: digits are read one by one. */
static size_t own_bytes(const struct tape *t, uint32_t node)
{
	char kind = tape_kind(t, node);

	if (kind == '{' || kind == '[')
		return 0;
	return kind == '0' ? (size_t)t->nodes[node].len * (64 / NUMBER_BYTES_A_STEP) : t->nodes[node].len;
}

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
	h = (h ^ h >> 27) * 0x94d049bb133111ebu;
	return h ^ h >> 31;
}

static struct decimal number_of(const struct tape *t, uint32_t node)
{
	struct decimal d = { 0 };

	(void)decimal_read(tape_text(t, node), t->nodes[node].len, &d);
	return d;
}

static uint64_t bytes_hash(const struct tape *t, uint32_t node)
{
	const unsigned char *p = (const unsigned char *)tape_text(t, node);
	uint64_t hash = 0xcbf29ce484222325u;

	for (uint32_t i = 0; i < t->nodes[node].len; i++)
		hash = (hash ^ p[i]) * 0x100000001b3u;
	return hash;
}

static int hash_wide(const struct tape *t, uint32_t node, int64_t *budget, uint64_t *ret)
{
	char kind = tape_kind(t, node);
	uint64_t sum = (uint64_t)kind << 56, child, key;

	if (!spend(budget, own_bytes(t, node)))
		return -E2BIG;
	if (kind == '0') {
		struct decimal d = number_of(t, node);
		*ret = mix(sum ^ decimal_hash(&d));
		return 0;
	}
	if (kind != '{' && kind != '[') {
		*ret = mix(sum ^ bytes_hash(t, node));
		return 0;
	}
	for (uint32_t i = node + 1; i < t->nodes[node].next; i = t->nodes[i].next) {
		key = 0;
		if (kind == '{') {
			key = mix(bytes_hash(t, i));
			if (!spend(budget, t->nodes[i++].len))
				return -E2BIG;
		}
		int r = hash_wide(t, i, budget, &child);
		if (r < 0)
			return r;
		/* Of an object a sum, which has no order. */
		sum = kind == '{' ? sum + mix(key ^ (child << 1 | child >> 63)) : mix(sum * 31 + child);
	}
	*ret = mix(sum);
	return 0;
}

int value_hash(const struct tape *t, uint32_t node, int64_t *budget, uint32_t *ret)
{
	uint64_t wide = 0;
	int r = hash_wide(t, node, budget, &wide);

	*ret = (uint32_t)wide;
	return r;
}

int string_order(const struct tape *a, uint32_t x, const struct tape *b, uint32_t y)
{
	uint32_t n = a->nodes[x].len, m = b->nodes[y].len;
	int order = memcmp(tape_text(a, x), tape_text(b, y), n < m ? n : m);

	return order ? order : (n > m) - (n < m);
}

uint32_t object_find(const struct tape *t, uint32_t object, const char *key, size_t len)
{
	for (uint32_t i = object + 1; i < t->nodes[object].next; i = tape_next_member(t, i))
		if (t->nodes[i].len == len && memcmp(tape_text(t, i), key, len) == 0)
			return i + 1;
	return NO_SUB;
}

/* Members mostly stand in the same order: look there first. */
static int objects_equal(const struct tape *a, uint32_t x, const struct tape *b, uint32_t y, int64_t *budget)
{
	uint32_t guess = y + 1, value;
	int r;

	for (uint32_t i = x + 1; i < a->nodes[x].next; i = tape_next_member(a, i)) {
		if (!spend(budget, a->nodes[i].len))
			return -E2BIG;
		if (string_order(a, i, b, guess) == 0) {
			value = guess + 1;
		} else {
			if (!spend(budget, (size_t)b->nodes[y].len * 64))
				return -E2BIG;
			value = object_find(b, y, tape_text(a, i), a->nodes[i].len);
			if (value == NO_SUB)
				return 0;
		}
		r = value_equal(a, i + 1, b, value, budget);
		if (r <= 0)
			return r;
		guess = b->nodes[value].next < b->nodes[y].next ? b->nodes[value].next : y + 1;
	}
	return 1;
}

int value_equal(const struct tape *a, uint32_t x, const struct tape *b, uint32_t y, int64_t *budget)
{
	char kind = tape_kind(a, x);
	uint32_t j = y + 1;

	if (kind != tape_kind(b, y))
		return 0;
	if (!spend(budget, own_bytes(a, x) + (kind == '0' ? own_bytes(b, y) : 0)))
		return -E2BIG;
	if (kind == '0') {
		struct decimal d = number_of(a, x), e = number_of(b, y);
		return decimal_order(&d, &e) == 0;
	}
	if (kind != '{' && kind != '[')
		return string_order(a, x, b, y) == 0;
	if (a->nodes[x].len != b->nodes[y].len)
		return 0;
	if (kind == '{')
		return objects_equal(a, x, b, y, budget);
	for (uint32_t i = x + 1; i < a->nodes[x].next; i = a->nodes[i].next, j = b->nodes[j].next) {
		int r = value_equal(a, i, b, j, budget);
		if (r <= 0)
			return r;
	}
	return 1;
}

int value_set_init(struct value_set *set, uint32_t count)
{
	uint32_t size = 4;

	while (size / 2 < count && size < 1u << 31)
		size *= 2;
	set->slots = calloc(size, sizeof(*set->slots));
	set->mask = size - 1;
	return set->slots ? 0 : -ENOMEM;
}

void value_set_done(struct value_set *set)
{
	free(set->slots);
	*set = (struct value_set){ 0 };
}

int value_set_find(struct value_set *set, const struct tape *set_tape, const struct tape *t, uint32_t node, bool add, int64_t *budget,
		   uint32_t *ret)
{
	uint32_t hash, i;
	int r = value_hash(t, node, budget, &hash);

	if (r < 0)
		return r;
	for (i = hash & set->mask; set->slots[i].node1; i = (i + 1) & set->mask) {
		if (!spend(budget, 0))
			return -E2BIG;
		if (set->slots[i].hash != hash)
			continue;
		*ret = set->slots[i].node1 - 1;
		r = value_equal(set_tape, *ret, t, node, budget);
		if (r)
			return r;
	}
	if (add)
		set->slots[i] = (struct value_slot){ .node1 = node + 1, .hash = hash };
	return 0;
}

uint32_t value_odd_number(const struct tape *t, bool *ret_bad)
{
	struct decimal d;

	*ret_bad = false;
	for (uint32_t i = 0; i < t->count; i++) {
		if (tape_kind(t, i) != '0' || decimal_read(tape_text(t, i), t->nodes[i].len, &d) == 0)
			continue;
		*ret_bad = true;
		return i;
	}
	return 0;
}
