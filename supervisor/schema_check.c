/* Judges an instance by a compiled schema. Every schema that is applied, every member and item that is looked at costs a step; the steps are
 * in proportion to the instance, so that no schema makes judging much dearer than reading. */
#include "supervisor/schema_impl.h"

#include "jail/base/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* For any instance, and for each of its values; one step is some 20 ns. */
enum { STEPS_BASE = 1000000, STEPS_A_VALUE = 16 };
/* Frames of check_sub() at a time. Depth of the instance times schemas of one value would be 12,800. */
enum { FRAMES_MAX = 2000 };
enum { UNFIT = 1, ALTERNATIVES_SHOWN = 3 };

struct check {
	const struct schema *schema;
	struct tape tape;
	struct err *say;   /* where to say why it does not fit; NULL while that may be of no interest */
	struct err *fatal; /* where to say why nobody knows */
	int64_t steps, pattern_budget;
	unsigned frames, explaining;
};

static int check_sub(struct check *c, uint32_t sub, uint32_t node);

static int too_dear(struct check *c)
{
	err_set(c->fatal, ERR_CALLER, E2BIG, "arguments", "to judge these arguments by their schema costs too much");
	err_hint(c->fatal, "make them smaller; or the schema simpler, with fewer \"$ref\" and \"anyOf\" within one another");
	return -E2BIG;
}

static int failed(struct check *c, int r)
{
	return r == -E2BIG ? too_dear(c) : err_set(c->fatal, ERR_HOST, ENOMEM, "arguments", "no memory");
}

/* One step for each; negative when none is left. */
static int step(struct check *c, uint64_t n)
{
	c->steps -= (int64_t)n;
	return c->steps < 0 ? too_dear(c) : 0;
}

/* The hint: the keyword and its place. */
static void say_place(struct check *c, const struct sub *s, const char *keyword)
{
	struct line l = { 0 };

	if (s->at) {
		say_pointer(&l, &c->schema->tape, s->at);
		line_add(&l, "/%s", keyword);
	} else {
		line_add(&l, "/%s", keyword);
	}
	err_hint(c->say, "it is %s of the tool's parameters that says so", l.text);
}

static void line_path(struct line *l, const struct check *c, uint32_t node)
{
	if (node == 0)
		line_add(l, "the arguments");
	else
		say_path(l, &c->tape, node);
}

/* "n: wanted WHAT, got 5" */
static int unfit(struct check *c, const struct sub *s, uint32_t node, const char *keyword, const char *fmt, ...) PRINTF_LIKE(5, 6);
static int unfit(struct check *c, const struct sub *s, uint32_t node, const char *keyword, const char *fmt, ...)
{
	struct line l = { 0 };
	char wanted[200];
	va_list ap;

	if (!c->say)
		return UNFIT;
	va_start(ap, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, ap);
	va_end(ap);
	line_path(&l, c, node);
	line_add(&l, ": wanted %s, got ", wanted);
	say_value(&l, &c->tape, node);
	err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	say_place(c, s, keyword);
	return UNFIT;
}

/* Whether it fits, and nothing said. */
static int quiet(struct check *c, uint32_t sub, uint32_t node)
{
	struct err *say = c->say;
	int r;

	c->say = NULL;
	r = check_sub(c, sub, node);
	c->say = say;
	return r;
}

/* ---- any value ---- */

static int check_type(struct check *c, const struct sub *s, uint32_t node)
{
	struct line l = { 0 };

	if (!s->types || (s->types & type_of(&c->tape, node)))
		return 0;
	if (c->say)
		say_types(&l, s->types);
	return unfit(c, s, node, "type", "%s", l.text);
}

static int unfit_choice(struct check *c, const struct sub *s, uint32_t node)
{
	const struct tape *t = &c->schema->tape;
	struct line l = { 0 };

	for (uint32_t i = s->choice + 1; c->say && i < t->nodes[s->choice].next && l.len < 100; i = t->nodes[i].next) {
		line_add(&l, "%s", i > s->choice + 1 ? ", " : "");
		say_value(&l, t, i);
		if (l.len >= 100 && t->nodes[i].next < t->nodes[s->choice].next)
			line_add(&l, ", ...");
	}
	return unfit(c, s, node, "enum", "one of %s", l.text);
}

static int check_value(struct check *c, const struct sub *s, uint32_t node)
{
	const struct tape *t = &c->schema->tape;
	struct line l = { 0 };
	uint32_t same;
	int r;

	if (s->choice) {
		struct value_set choices = s->choices; /* looked up only */

		r = value_set_find(&choices, t, &c->tape, node, false, &c->steps, &same);
		if (r < 0)
			return failed(c, r);
		if (r == 0)
			return unfit_choice(c, s, node);
	}
	if (s->constant) {
		r = value_equal(t, s->constant, &c->tape, node, &c->steps);
		if (r < 0)
			return failed(c, r);
		if (r == 0) {
			say_value(&l, t, s->constant);
			return unfit(c, s, node, "const", "%s", l.text);
		}
	}
	return 0;
}

static int check_number(struct check *c, const struct sub *s, uint32_t node)
{
	static const struct {
		const char *name, *words;
		int least, most; /* of the order to the limit */
	} limits[LIMIT_COUNT] = {
		[LIMIT_MINIMUM] = { "minimum", "at least", 0, 1 },
		[LIMIT_MAXIMUM] = { "maximum", "at most", -1, 0 },
		[LIMIT_ABOVE] = { "exclusiveMinimum", "more than", 1, 1 },
		[LIMIT_BELOW] = { "exclusiveMaximum", "less than", -1, -1 },
	};
	const struct tape *t = &c->schema->tape;
	struct line l = { 0 };
	struct decimal d, e;

	(void)decimal_read(tape_text(&c->tape, node), c->tape.nodes[node].len, &d);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		int order;

		if (!s->limit[i])
			continue;
		(void)decimal_read(tape_text(t, s->limit[i]), t->nodes[s->limit[i]].len, &e);
		order = decimal_compare(&d, &e);
		order = (order > 0) - (order < 0);
		if (order >= limits[i].least && order <= limits[i].most)
			continue;
		say_value(&l, t, s->limit[i]);
		return unfit(c, s, node, limits[i].name, "%s %s", limits[i].words, l.text);
	}
	if (s->multiple && !decimal_is_multiple(&d, &s->divisor)) {
		say_value(&l, t, s->multiple);
		return unfit(c, s, node, "multipleOf", "a multiple of %s", l.text);
	}
	return 0;
}

/* ---- strings ---- */

static int too_hard(struct check *c, const struct sub *s, uint32_t node, uint32_t pattern)
{
	struct line l = { 0 };

	line_path(&l, c, node);
	line_add(&l, ": to look for the pattern ");
	say_value(&l, &c->schema->tape, pattern);
	line_add(&l, " in it costs too much");
	err_set(c->fatal, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	err_hint(c->fatal, "shorten the text (%u bytes), or make the pattern simpler", c->tape.nodes[node].len);
	(void)s;
	return -EINVAL;
}

/* 1 it matches, 0 not. */
static int matches(struct check *c, const struct sub *s, const struct pattern *p, uint32_t pattern_at, uint32_t node)
{
	int r = pattern_match(p, tape_text(&c->tape, node), c->tape.nodes[node].len, &c->pattern_budget);

	if (r == -E2BIG)
		return too_hard(c, s, node, pattern_at);
	return r < 0 ? failed(c, r) : r;
}

static int check_string(struct check *c, const struct sub *s, uint32_t node)
{
	const char *p = tape_text(&c->tape, node);
	uint32_t len = c->tape.nodes[node].len;
	struct line l = { 0 };
	uint64_t chars = 0;
	int r;

	if (s->bound[MIN_LENGTH] > 0 || s->bound[MAX_LENGTH] < len) {
		if (step(c, len / 64) < 0)
			return -E2BIG;
		for (uint32_t i = 0; i < len; i++)
			chars += ((unsigned char)p[i] & 0xc0) != 0x80;
		if (chars < s->bound[MIN_LENGTH])
			return unfit(c, s, node, "minLength", "at least %ju characters", (uintmax_t)s->bound[MIN_LENGTH]);
		if (chars > s->bound[MAX_LENGTH])
			return unfit(c, s, node, "maxLength", "at most %ju characters", (uintmax_t)s->bound[MAX_LENGTH]);
	}
	if (!s->pattern)
		return 0;
	r = matches(c, s, s->pattern, s->pattern_at, node);
	if (r)
		return r < 0 ? r : 0;
	say_value(&l, &c->schema->tape, s->pattern_at);
	return unfit(c, s, node, "pattern", "a text that matches %s", l.text);
}

/* ---- arrays ---- */

static int check_unique(struct check *c, const struct sub *s, uint32_t node)
{
	const struct tape *t = &c->tape;
	struct value_set seen;
	struct line l = { 0 };
	uint32_t same = 0;
	int r = 0;

	if (value_set_init(&seen, t->nodes[node].len) < 0)
		return failed(c, -ENOMEM);
	for (uint32_t i = node + 1; r == 0 && i < t->nodes[node].next; i = t->nodes[i].next) {
		r = value_set_find(&seen, t, t, i, true, &c->steps, &same);
		if (r == 1 && c->say) {
			line_path(&l, c, node);
			line_add(&l, ": wanted no two equal items, but ");
			say_path(&l, t, same);
			line_add(&l, " and ");
			say_path(&l, t, i);
			line_add(&l, " are");
			err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
			say_place(c, s, "uniqueItems");
		}
	}
	value_set_done(&seen);
	return r < 0 ? failed(c, r) : r;
}

static int check_contains(struct check *c, const struct sub *s, uint32_t node)
{
	uint64_t n = 0;

	for (uint32_t i = node + 1; i < c->tape.nodes[node].next; i = c->tape.nodes[i].next) {
		int r = quiet(c, s->one[ONE_CONTAINS], i);

		if (r < 0)
			return r;
		n += r == 0;
	}
	if (n < s->bound[MIN_CONTAINS])
		return unfit(c, s, node, "contains", "at least %ju items that fit \"contains\", %ju do", (uintmax_t)s->bound[MIN_CONTAINS],
			     (uintmax_t)n);
	if (n > s->bound[MAX_CONTAINS])
		return unfit(c, s, node, "maxContains", "at most %ju items that fit \"contains\", %ju do", (uintmax_t)s->bound[MAX_CONTAINS],
			     (uintmax_t)n);
	return 0;
}

static int check_array(struct check *c, const struct sub *s, uint32_t node)
{
	const struct list *prefix = &s->many[MANY_PREFIX];
	uint32_t n = c->tape.nodes[node].len, index = 0;
	int r;

	if (n < s->bound[MIN_ITEMS])
		return unfit(c, s, node, "minItems", "at least %ju items", (uintmax_t)s->bound[MIN_ITEMS]);
	if (n > s->bound[MAX_ITEMS])
		return unfit(c, s, node, "maxItems", "at most %ju items", (uintmax_t)s->bound[MAX_ITEMS]);
	if (prefix->count || s->one[ONE_ITEMS] != NO_SUB)
		for (uint32_t i = node + 1; i < c->tape.nodes[node].next; i = c->tape.nodes[i].next, index++) {
			uint32_t sub = index < prefix->count ? prefix->items[index] : s->one[ONE_ITEMS];

			if (sub == NO_SUB)
				break;
			r = check_sub(c, sub, i);
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
	say_place(c, s, "additionalProperties");
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
	r = s->one[ONE_NAMES] != NO_SUB ? check_sub(c, s->one[ONE_NAMES], key) : 0;
	if (r == 0 && known)
		r = check_sub(c, name->sub, key + 1);
	for (uint32_t i = 0; r == 0 && i < s->pattern_count; i++) {
		r = matches(c, s, s->patterns[i].pattern, s->patterns[i].key, key);
		if (r <= 0)
			continue;
		known = true;
		r = check_sub(c, s->patterns[i].sub, key + 1);
	}
	if (r || known || additional == NO_SUB)
		return r;
	if (c->schema->subs[additional].never)
		return unknown_member(c, s, node, key);
	return check_sub(c, additional, key + 1);
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
	say_place(c, s, keyword);
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
		int r = step(c, (uint64_t)c->tape.nodes[node].len * (d->names.count + 1u));

		if (r < 0)
			return r;
		if (member(c, node, d->key) == NO_SUB)
			continue;
		for (uint32_t k = 0; k < d->names.count; k++)
			if (member(c, node, d->names.items[k]) == NO_SUB)
				return missing(c, s, node, d->names.items[k], "dependentRequired", d->key);
		r = d->sub != NO_SUB ? check_sub(c, d->sub, node) : 0;
		if (r)
			return r;
	}
	return 0;
}

static int check_object(struct check *c, const struct sub *s, uint32_t node)
{
	uint32_t n = c->tape.nodes[node].len, seen = 0;
	int r;

	if (n < s->bound[MIN_MEMBERS])
		return unfit(c, s, node, "minProperties", "at least %ju members", (uintmax_t)s->bound[MIN_MEMBERS]);
	if (n > s->bound[MAX_MEMBERS])
		return unfit(c, s, node, "maxProperties", "at most %ju members", (uintmax_t)s->bound[MAX_MEMBERS]);
	if (s->name_count || s->pattern_count || s->one[ONE_ADDITIONAL] != NO_SUB || s->one[ONE_NAMES] != NO_SUB)
		for (uint32_t key = node + 1; key < c->tape.nodes[node].next; key = tape_next_member(&c->tape, key)) {
			r = step(c, 1u + s->pattern_count + c->tape.nodes[key].len / 64);
			if (r == 0)
				r = check_member(c, s, node, key, &seen);
			if (r)
				return r;
		}
	/* No key stands twice, so the count tells whether all are there. */
	for (uint32_t i = 0; seen < s->required_count && i < s->name_count; i++) {
		if (step(c, 1u + n / 16) < 0)
			return -E2BIG;
		if (s->names[i].required && member(c, node, s->names[i].key) == NO_SUB)
			return missing(c, s, node, s->names[i].key, "required", 0);
	}
	return check_dependents(c, s, node);
}

/* ---- schemas of schemas ---- */

/* What each of the first alternatives wanted. */
static void explain_any(struct check *c, const struct sub *s, enum many which, uint32_t node)
{
	const struct list *list = &s->many[which];
	struct err *say = c->say, why;
	struct line l = { 0 }, path = { 0 };

	line_path(&path, c, node);
	line_add(&path, ": ");
	line_add(&l, "%sfits none of the %u alternatives", path.text, list->count);
	c->explaining++;
	for (uint32_t i = 0; i < list->count && i < ALTERNATIVES_SHOWN && c->explaining < 2; i++) {
		const char *text = why.detail;

		why = (struct err){ 0 };
		c->say = &why;
		if (check_sub(c, list->items[i], node) < 0)
			break;
		if (strncmp(text, path.text, path.len) == 0)
			text += path.len;
		line_add(&l, "%s(%u) ", i ? "; " : ": ", i + 1);
		line_raw(&l, text, strlen(text), 80);
	}
	if (list->count > ALTERNATIVES_SHOWN)
		line_add(&l, "; ...");
	c->explaining--;
	c->say = say;
	err_set(say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	say_place(c, s, which == MANY_ANY ? "anyOf" : "oneOf");
}

/* None fits: where only the types differ that is said in one, and where one alternative has the type, it is that which was meant. */
static int unfit_any(struct check *c, const struct sub *s, enum many which, uint32_t node)
{
	const struct list *list = &s->many[which];
	unsigned types = 0, type = type_of(&c->tape, node);
	uint32_t near = NO_SUB, others = 0;
	struct line l = { 0 };

	if (!c->say)
		return UNFIT;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct sub *alternative = &c->schema->subs[list->items[i]];

		if (alternative->types && !(alternative->types & type)) {
			types |= alternative->types;
			continue;
		}
		near = list->items[i];
		others++;
	}
	if (others == 1)
		return check_sub(c, near, node);
	if (others == 0) {
		say_types(&l, types);
		return unfit(c, s, node, which == MANY_ANY ? "anyOf" : "oneOf", "%s", l.text);
	}
	explain_any(c, s, which, node);
	return UNFIT;
}

static int check_any(struct check *c, const struct sub *s, uint32_t node)
{
	const struct list *list = &s->many[MANY_ANY];

	for (uint32_t i = 0; i < list->count; i++) {
		int r = quiet(c, list->items[i], node);
		if (r <= 0)
			return r;
	}
	return list->count ? unfit_any(c, s, MANY_ANY, node) : 0;
}

static int check_exactly_one(struct check *c, const struct sub *s, uint32_t node)
{
	const struct list *list = &s->many[MANY_ONE];
	uint32_t first = NO_SUB;

	for (uint32_t i = 0; i < list->count; i++) {
		int r = quiet(c, list->items[i], node);

		if (r < 0)
			return r;
		if (r == 0 && first != NO_SUB)
			return unfit(c, s, node, "oneOf", "a value that fits exactly one alternative (it fits %u and %u)", first + 1, i + 1);
		if (r == 0)
			first = i;
	}
	return list->count && first == NO_SUB ? unfit_any(c, s, MANY_ONE, node) : 0;
}

static int check_condition(struct check *c, const struct sub *s, uint32_t node)
{
	uint32_t next;
	int r;

	if (s->one[ONE_IF] == NO_SUB || (s->one[ONE_THEN] == NO_SUB && s->one[ONE_ELSE] == NO_SUB))
		return 0;
	r = quiet(c, s->one[ONE_IF], node);
	if (r < 0)
		return r;
	next = s->one[r == 0 ? ONE_THEN : ONE_ELSE];
	return next == NO_SUB ? 0 : check_sub(c, next, node);
}

static int check_logic(struct check *c, const struct sub *s, uint32_t node)
{
	int r = s->one[ONE_REF] != NO_SUB ? check_sub(c, s->one[ONE_REF], node) : 0;

	for (uint32_t i = 0; r == 0 && i < s->many[MANY_ALL].count; i++)
		r = check_sub(c, s->many[MANY_ALL].items[i], node);
	if (r == 0)
		r = check_any(c, s, node);
	if (r == 0)
		r = check_exactly_one(c, s, node);
	if (r == 0 && s->one[ONE_NOT] != NO_SUB) {
		r = quiet(c, s->one[ONE_NOT], node);
		if (r >= 0)
			r = r ? 0 : unfit(c, s, node, "not", "a value that does not fit \"not\"");
	}
	return r ? r : check_condition(c, s, node);
}

static int check_never(struct check *c, const struct sub *s, uint32_t node)
{
	struct line l = { 0 };

	if (!c->say)
		return UNFIT;
	line_path(&l, c, node);
	line_add(&l, node ? " is not allowed" : ": nothing is allowed");
	err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	l = (struct line){ 0 };
	say_pointer(&l, &c->schema->tape, s->at);
	err_hint(c->say, "it is the false at %s of the tool's parameters that says so", l.text);
	return UNFIT;
}

static int check_parts(struct check *c, const struct sub *s, uint32_t node)
{
	int r = check_type(c, s, node);

	if (r == 0)
		r = check_value(c, s, node);
	if (r)
		return r;
	switch (tape_kind(&c->tape, node)) {
	case '0':
		r = check_number(c, s, node);
		break;
	case '"':
		r = check_string(c, s, node);
		break;
	case '[':
		r = check_array(c, s, node);
		break;
	case '{':
		r = check_object(c, s, node);
		break;
	default:
		break;
	}
	return r ? r : check_logic(c, s, node);
}

/* 0 it fits, UNFIT, or negative: nobody knows. */
static int check_sub(struct check *c, uint32_t sub, uint32_t node)
{
	const struct sub *s = &c->schema->subs[sub];
	int r = step(c, 1);

	if (r < 0)
		return r;
	if (s->never)
		return check_never(c, s, node);
	if (c->frames == FRAMES_MAX)
		return too_dear(c);
	c->frames++;
	r = check_parts(c, s, node);
	c->frames--;
	return r;
}

int schema_check(const struct schema *schema, const char *text, size_t len, struct err *err)
{
	struct err none;
	struct check c = { .schema = schema, .say = err, .fatal = err ? err : &none, .pattern_budget = PATTERN_BUDGET };
	struct line l = { 0 };
	uint32_t odd;
	bool bad;
	int r = tape_read(text, len, LIMIT_JSON_DEPTH, &c.tape);

	if (r == -E2BIG)
		return err_set(err, ERR_CALLER, EINVAL, "arguments", "they are nested deeper than %d levels", LIMIT_JSON_DEPTH);
	if (r < 0)
		return failed(&c, r);
	c.steps = STEPS_BASE + (int64_t)STEPS_A_VALUE * c.tape.count;
	odd = value_odd_number(&c.tape, &bad);
	if (bad) {
		line_path(&l, &c, odd);
		r = err_set(err, ERR_CALLER, EINVAL, "arguments", "%s: a number with an exponent of more than 17 digits", l.text);
	} else {
		r = check_sub(&c, 0, 0);
	}
	tape_done(&c.tape);
	return r == UNFIT ? -EINVAL : r;
}
