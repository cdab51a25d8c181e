/* What is in an array and in an object. */
#include "supervisor/schema_judge.h"

#include <errno.h>

/* ---- arrays ---- */

static int check_unique(struct check *c, const struct sub *s, uint32_t node)
{
	const struct tape *t = &c->tape;
	struct value_set seen;
	struct line l = { 0 };
	uint32_t same = 0;
	int r = 0;

	/* The room for them, however soon two are found equal. */
	if (judge_step(c, t->nodes[node].len / 16) < 0)
		return -E2BIG;
	if (value_set_init(&seen, t->nodes[node].len) < 0)
		return judge_failed(c, -ENOMEM);
	for (uint32_t i = node + 1; r == 0 && i < t->nodes[node].next; i = t->nodes[i].next) {
		r = value_set_find(&seen, t, t, i, true, &c->steps, &same);
		if (r == 1 && c->say) {
			judge_path(&l, c, node);
			line_add(&l, ": wanted no two equal items, but ");
			say_path(&l, t, same);
			line_add(&l, " and ");
			say_path(&l, t, i);
			line_add(&l, " are");
			err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
			judge_place(c, s, "uniqueItems");
		}
	}
	value_set_done(&seen);
	return r < 0 ? judge_failed(c, r) : r;
}

static int check_contains(struct check *c, const struct sub *s, uint32_t node)
{
	uint64_t n = 0;

	for (uint32_t i = node + 1; i < c->tape.nodes[node].next; i = c->tape.nodes[i].next) {
		int r = judge_quiet(c, s->one[ONE_CONTAINS], i);

		if (r < 0)
			return r;
		n += r == 0;
	}
	if (n < s->bound[MIN_CONTAINS])
		return judge_unfit(c, s, node, "contains", "at least %ju items that fit \"contains\", %ju do", (uintmax_t)s->bound[MIN_CONTAINS],
			     (uintmax_t)n);
	if (n > s->bound[MAX_CONTAINS])
		return judge_unfit(c, s, node, "maxContains", "at most %ju items that fit \"contains\", %ju do", (uintmax_t)s->bound[MAX_CONTAINS],
			     (uintmax_t)n);
	return 0;
}

int judge_array(struct check *c, const struct sub *s, uint32_t node)
{
	const struct list *prefix = &s->many[MANY_PREFIX];
	uint32_t n = c->tape.nodes[node].len, index = 0;
	int r;

	if (n < s->bound[MIN_ITEMS])
		return judge_unfit(c, s, node, "minItems", "at least %ju items", (uintmax_t)s->bound[MIN_ITEMS]);
	if (n > s->bound[MAX_ITEMS])
		return judge_unfit(c, s, node, "maxItems", "at most %ju items", (uintmax_t)s->bound[MAX_ITEMS]);
	if (prefix->count || s->one[ONE_ITEMS] != NO_SUB)
		for (uint32_t i = node + 1; i < c->tape.nodes[node].next; i = c->tape.nodes[i].next, index++) {
			uint32_t sub = index < prefix->count ? prefix->items[index] : s->one[ONE_ITEMS];

			if (sub == NO_SUB)
				break;
			r = judge_sub(c, sub, i);
			if (r)
				return r;
		}
	if (s->one[ONE_CONTAINS] != NO_SUB) {
		r = check_contains(c, s, node);
		if (r)
			return r;
	}
	return s->unique ? check_unique(c, s, node) : 0;
}

/* ---- objects ---- */

static const struct name *find_name(const struct check *c, const struct sub *s, uint32_t key)
{
	uint32_t low = 0, high = s->name_count;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		int order = string_order(&c->schema->tape, s->names[mid].key, &c->tape, key);

		if (order == 0)
			return &s->names[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

static void say_known(struct line *l, const struct check *c, const struct sub *s)
{
	const struct tape *t = &c->schema->tape;
	bool first = true;

	if (!s->properties || !t->nodes[s->properties].len) {
		line_add(l, " (none is known)");
		return;
	}
	line_add(l, " (known: ");
	for (uint32_t key = s->properties + 1; key < t->nodes[s->properties].next; key = tape_next_member(t, key)) {
		line_add(l, first ? "" : ", ");
		if (l->len > 220) {
			line_add(l, "...");
			break;
		}
		line_raw(l, t->raw + t->nodes[key].at + 1, tape_raw_len(t, key) - 2, 40);
		first = false;
	}
	line_add(l, ")");
}

static int unknown_member(struct check *c, const struct sub *s, uint32_t node, uint32_t key)
{
	struct line l = { 0 };

	if (!c->say)
		return UNFIT;
	say_path(&l, &c->tape, key + 1);
	line_add(&l, node == 0 ? " is no parameter of this tool" : " is not known there");
	say_known(&l, c, s);
	err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	judge_place(c, s, "additionalProperties");
	return UNFIT;
}

/* The member under every schema that is about it. */
static int check_member(struct check *c, const struct sub *s, uint32_t node, uint32_t key, uint32_t *seen)
{
	const struct name *name = find_name(c, s, key);
	uint32_t additional = s->one[ONE_ADDITIONAL];
	bool known = name && name->sub != NO_SUB;
	int r;

	*seen += name && name->required;
	r = s->one[ONE_NAMES] != NO_SUB ? judge_sub(c, s->one[ONE_NAMES], key) : 0;
	if (r == 0 && known)
		r = judge_sub(c, name->sub, key + 1);
	for (uint32_t i = 0; r == 0 && i < s->pattern_count; i++) {
		r = judge_pattern(c, s->patterns[i].pattern, s->patterns[i].key, key);
		if (r <= 0)
			continue;
		known = true;
		r = judge_sub(c, s->patterns[i].sub, key + 1);
	}
	if (r || known || additional == NO_SUB)
		return r;
	if (c->schema->subs[additional].never)
		return unknown_member(c, s, node, key);
	return judge_sub(c, additional, key + 1);
}

static int missing(struct check *c, const struct sub *s, uint32_t node, uint32_t key, const char *keyword, uint32_t because)
{
	const struct tape *t = &c->schema->tape;
	struct line l = { 0 };

	if (!c->say)
		return UNFIT;
	say_path(&l, &c->tape, node);
	line_add(&l, "%s", node ? "." : "");
	line_raw(&l, t->raw + t->nodes[key].at + 1, tape_raw_len(t, key) - 2, 64);
	line_add(&l, " is required");
	if (because) {
		line_add(&l, " where ");
		line_raw(&l, t->raw + t->nodes[because].at + 1, tape_raw_len(t, because) - 2, 64);
		line_add(&l, " is given");
	}
	err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	judge_place(c, s, keyword);
	return UNFIT;
}

static uint32_t member(const struct check *c, uint32_t node, uint32_t key)
{
	return object_find(&c->tape, node, tape_text(&c->schema->tape, key), c->schema->tape.nodes[key].len);
}

static int check_dependents(struct check *c, const struct sub *s, uint32_t node)
{
	for (uint32_t i = 0; i < s->dependent_count; i++) {
		const struct dependent *d = &s->dependents[i];
		int r = judge_step(c, (uint64_t)c->tape.nodes[node].len * (d->names.count + 1u));

		if (r < 0)
			return r;
		if (member(c, node, d->key) == NO_SUB)
			continue;
		for (uint32_t k = 0; k < d->names.count; k++)
			if (member(c, node, d->names.items[k]) == NO_SUB)
				return missing(c, s, node, d->names.items[k], "dependentRequired", d->key);
		r = d->sub != NO_SUB ? judge_sub(c, d->sub, node) : 0;
		if (r)
			return r;
	}
	return 0;
}

int judge_object(struct check *c, const struct sub *s, uint32_t node)
{
	uint32_t n = c->tape.nodes[node].len, seen = 0;
	int r;

	if (n < s->bound[MIN_MEMBERS])
		return judge_unfit(c, s, node, "minProperties", "at least %ju members", (uintmax_t)s->bound[MIN_MEMBERS]);
	if (n > s->bound[MAX_MEMBERS])
		return judge_unfit(c, s, node, "maxProperties", "at most %ju members", (uintmax_t)s->bound[MAX_MEMBERS]);
	if (s->name_count || s->pattern_count || s->one[ONE_ADDITIONAL] != NO_SUB || s->one[ONE_NAMES] != NO_SUB)
		for (uint32_t key = node + 1; key < c->tape.nodes[node].next; key = tape_next_member(&c->tape, key)) {
			r = judge_step(c, 1u + s->pattern_count + c->tape.nodes[key].len / 64);
			if (r == 0)
				r = check_member(c, s, node, key, &seen);
			if (r)
				return r;
		}
	/* No key stands twice, so the count tells whether all are there. */
	for (uint32_t i = 0; seen < s->required_count && i < s->name_count; i++) {
		if (judge_step(c, 1u + n / 16) < 0)
			return -E2BIG;
		if (s->names[i].required && member(c, node, s->names[i].key) == NO_SUB)
			return missing(c, s, node, s->names[i].key, "required", 0);
	}
	return check_dependents(c, s, node);
}
