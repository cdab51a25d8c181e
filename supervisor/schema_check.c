/* Judges an instance by a compiled schema. Every schema that is applied, every member and item that is looked at costs a step; the steps are
 * in proportion to the instance, so that no schema makes judging much dearer than reading. */
#include "supervisor/schema_judge.h"

#include "jail/base/limits.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* For any instance, and for each of its values; one step is some 20 ns. */
enum { STEPS_BASE = 1000000, STEPS_A_VALUE = 16 };
/* Frames of judge_sub() at a time. Depth of the instance times schemas of one value would be 12,800. */
enum { FRAMES_MAX = 2000 };
enum { ALTERNATIVES_SHOWN = 3 };

int judge_too_dear(struct check *c)
{
	err_set(c->fatal, ERR_CALLER, E2BIG, "arguments", "to judge these arguments by their schema costs too much");
	err_hint(c->fatal, "make them smaller; or the schema simpler, with fewer \"$ref\" and \"anyOf\" within one another");
	return -E2BIG;
}

int judge_failed(struct check *c, int r)
{
	return r == -E2BIG ? judge_too_dear(c) : err_set(c->fatal, ERR_HOST, ENOMEM, "arguments", "no memory");
}

int judge_step(struct check *c, uint64_t n)
{
	c->steps -= (int64_t)n;
	return c->steps < 0 ? judge_too_dear(c) : 0;
}

void judge_place(struct check *c, const struct sub *s, const char *keyword)
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

void judge_path(struct line *l, const struct check *c, uint32_t node)
{
	if (node == 0)
		line_add(l, "the arguments");
	else
		say_path(l, &c->tape, node);
}

int judge_unfit(struct check *c, const struct sub *s, uint32_t node, const char *keyword, const char *fmt, ...)
{
	struct line l = { 0 };
	char wanted[200];
	va_list ap;

	if (!c->say)
		return UNFIT;
	va_start(ap, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, ap);
	va_end(ap);
	judge_path(&l, c, node);
	line_add(&l, ": wanted %s, got ", wanted);
	say_value(&l, &c->tape, node);
	err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	judge_place(c, s, keyword);
	return UNFIT;
}

int judge_quiet(struct check *c, uint32_t sub, uint32_t node)
{
	struct err *say = c->say;
	int r;

	c->say = NULL;
	r = judge_sub(c, sub, node);
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
	return judge_unfit(c, s, node, "type", "%s", l.text);
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
	return judge_unfit(c, s, node, "enum", "one of %s", l.text);
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
			return judge_failed(c, r);
		if (r == 0)
			return unfit_choice(c, s, node);
	}
	if (s->constant) {
		r = value_equal(t, s->constant, &c->tape, node, &c->steps);
		if (r < 0)
			return judge_failed(c, r);
		if (r == 0) {
			say_value(&l, t, s->constant);
			return judge_unfit(c, s, node, "const", "%s", l.text);
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

	/* By two divisions a digit. */
	if (s->multiple && judge_step(c, c->tape.nodes[node].len / 2) < 0)
		return -E2BIG;
	(void)decimal_read(tape_text(&c->tape, node), c->tape.nodes[node].len, &d);
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		int order;

		if (!s->limit[i])
			continue;
		if (judge_step(c, t->nodes[s->limit[i]].len / NUMBER_BYTES_A_STEP) < 0)
			return -E2BIG;
		(void)decimal_read(tape_text(t, s->limit[i]), t->nodes[s->limit[i]].len, &e);
		order = decimal_order(&d, &e);
		order = (order > 0) - (order < 0);
		if (order >= limits[i].least && order <= limits[i].most)
			continue;
		say_value(&l, t, s->limit[i]);
		return judge_unfit(c, s, node, limits[i].name, "%s %s", limits[i].words, l.text);
	}
	if (s->multiple && !decimal_is_multiple(&d, &s->divisor)) {
		say_value(&l, t, s->multiple);
		return judge_unfit(c, s, node, "multipleOf", "a multiple of %s", l.text);
	}
	return 0;
}

/* ---- strings ---- */

static int too_hard(struct check *c, uint32_t node, uint32_t pattern)
{
	struct line l = { 0 };

	judge_path(&l, c, node);
	line_add(&l, ": to look for the pattern ");
	say_value(&l, &c->schema->tape, pattern);
	line_add(&l, " in it costs too much");
	err_set(c->fatal, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	err_hint(c->fatal, "shorten the text (%u bytes), or make the pattern simpler", c->tape.nodes[node].len);
	return -EINVAL;
}

int judge_pattern(struct check *c, const struct pattern *p, uint32_t pattern_at, uint32_t node)
{
	int r = pattern_match(p, tape_text(&c->tape, node), c->tape.nodes[node].len, &c->pattern_budget);

	if (r == -E2BIG)
		return too_hard(c, node, pattern_at);
	return r < 0 ? judge_failed(c, r) : r;
}

static int check_string(struct check *c, const struct sub *s, uint32_t node)
{
	const char *p = tape_text(&c->tape, node);
	uint32_t len = c->tape.nodes[node].len;
	struct line l = { 0 };
	uint64_t chars = 0;
	int r;

	if (s->bound[MIN_LENGTH] > 0 || s->bound[MAX_LENGTH] < len) {
		if (judge_step(c, len / 64) < 0)
			return -E2BIG;
		for (uint32_t i = 0; i < len; i++)
			chars += ((unsigned char)p[i] & 0xc0) != 0x80;
		if (chars < s->bound[MIN_LENGTH])
			return judge_unfit(c, s, node, "minLength", "at least %ju characters", (uintmax_t)s->bound[MIN_LENGTH]);
		if (chars > s->bound[MAX_LENGTH])
			return judge_unfit(c, s, node, "maxLength", "at most %ju characters", (uintmax_t)s->bound[MAX_LENGTH]);
	}
	if (!s->pattern)
		return 0;
	r = judge_pattern(c, s->pattern, s->pattern_at, node);
	if (r)
		return r < 0 ? r : 0;
	say_value(&l, &c->schema->tape, s->pattern_at);
	return judge_unfit(c, s, node, "pattern", "a text that matches %s", l.text);
}

/* ---- schemas of schemas ---- */

/* What each of the first alternatives wanted. */
static void explain_any(struct check *c, const struct sub *s, enum many which, uint32_t node)
{
	const struct list *list = &s->many[which];
	struct err *say = c->say, *why = &c->aside;
	struct line l = { 0 }, path = { 0 };

	judge_path(&path, c, node);
	line_add(&path, ": ");
	line_add(&l, "%sfits none of the %u alternatives", path.text, list->count);
	c->explaining++;
	for (uint32_t i = 0; i < list->count && i < ALTERNATIVES_SHOWN && c->explaining < 2; i++) {
		const char *text = why->detail;

		*why = (struct err){ 0 };
		c->say = why;
		if (judge_sub(c, list->items[i], node) < 0)
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
	judge_place(c, s, which == MANY_ANY ? "anyOf" : "oneOf");
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
		return judge_sub(c, near, node);
	if (others == 0) {
		say_types(&l, types);
		return judge_unfit(c, s, node, which == MANY_ANY ? "anyOf" : "oneOf", "%s", l.text);
	}
	explain_any(c, s, which, node);
	return UNFIT;
}

static int check_any(struct check *c, const struct sub *s, uint32_t node)
{
	const struct list *list = &s->many[MANY_ANY];

	for (uint32_t i = 0; i < list->count; i++) {
		int r = judge_quiet(c, list->items[i], node);
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
		int r = judge_quiet(c, list->items[i], node);

		if (r < 0)
			return r;
		if (r == 0 && first != NO_SUB)
			return judge_unfit(c, s, node, "oneOf", "a value that fits exactly one alternative (it fits %u and %u)", first + 1, i + 1);
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
	r = judge_quiet(c, s->one[ONE_IF], node);
	if (r < 0)
		return r;
	next = s->one[r == 0 ? ONE_THEN : ONE_ELSE];
	return next == NO_SUB ? 0 : judge_sub(c, next, node);
}

static int check_logic(struct check *c, const struct sub *s, uint32_t node)
{
	int r = s->one[ONE_REF] != NO_SUB ? judge_sub(c, s->one[ONE_REF], node) : 0;

	for (uint32_t i = 0; r == 0 && i < s->many[MANY_ALL].count; i++)
		r = judge_sub(c, s->many[MANY_ALL].items[i], node);
	if (r == 0)
		r = check_any(c, s, node);
	if (r == 0)
		r = check_exactly_one(c, s, node);
	if (r == 0 && s->one[ONE_NOT] != NO_SUB) {
		r = judge_quiet(c, s->one[ONE_NOT], node);
		if (r >= 0)
			r = r ? 0 : judge_unfit(c, s, node, "not", "a value that does not fit \"not\"");
	}
	return r ? r : check_condition(c, s, node);
}

static int check_never(struct check *c, const struct sub *s, uint32_t node)
{
	struct line l = { 0 };

	if (!c->say)
		return UNFIT;
	judge_path(&l, c, node);
	line_add(&l, node ? " is not allowed" : ": nothing is allowed");
	err_set(c->say, ERR_CALLER, EINVAL, "arguments", "%s", l.text);
	l = (struct line){ 0 };
	say_pointer(&l, &c->schema->tape, s->at);
	err_hint(c->say, "it is the false at %s of the tool's parameters that says so", l.text);
	return UNFIT;
}

static int check_parts(struct check *c, const struct sub *s, uint32_t node)
{
	/* A number is read digit by digit by each keyword that is about numbers. */
	int r = tape_kind(&c->tape, node) == '0' ? judge_step(c, c->tape.nodes[node].len / NUMBER_BYTES_A_STEP) : 0;

	if (r == 0)
		r = check_type(c, s, node);
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
		r = judge_array(c, s, node);
		break;
	case '{':
		r = judge_object(c, s, node);
		break;
	default:
		break;
	}
	return r ? r : check_logic(c, s, node);
}

int judge_sub(struct check *c, uint32_t sub, uint32_t node)
{
	const struct sub *s = &c->schema->subs[sub];
	int r = judge_step(c, 1);

	if (r < 0)
		return r;
	if (s->never)
		return check_never(c, s, node);
	if (c->frames == FRAMES_MAX)
		return judge_too_dear(c);
	c->frames++;
	r = check_parts(c, s, node);
	c->frames--;
	return r;
}

int schema_check(const struct schema *schema, const char *text, size_t len, struct err *err)
{
	struct err none = { 0 };
	struct check c = { .schema = schema, .say = err, .fatal = err ? err : &none, .pattern_budget = PATTERN_BUDGET };
	struct line l = { 0 };
	uint32_t odd;
	bool bad;
	int r = tape_read(text, len, LIMIT_JSON_DEPTH, &c.tape);

	if (r == -E2BIG)
		return err_set(err, ERR_CALLER, EINVAL, "arguments", "they are nested deeper than %d levels", LIMIT_JSON_DEPTH);
	if (r < 0)
		return judge_failed(&c, r);
	c.steps = STEPS_BASE + (int64_t)STEPS_A_VALUE * c.tape.count;
	odd = value_odd_number(&c.tape, &bad);
	if (bad) {
		judge_path(&l, &c, odd);
		r = err_set(err, ERR_CALLER, EINVAL, "arguments", "%s: a number with an exponent of more than 12 digits", l.text);
	} else {
		r = judge_sub(&c, 0, 0);
	}
	tape_done(&c.tape);
	return r == UNFIT ? -EINVAL : r;
}
