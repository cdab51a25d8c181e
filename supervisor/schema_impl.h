/* What the files of the schema share: schema.c and schema_keys.c compile, schema_check.c and its helpers judge. */
#ifndef BRIG_SUPERVISOR_SCHEMA_IMPL_H
#define BRIG_SUPERVISOR_SCHEMA_IMPL_H

#include "supervisor/pattern.h"
#include "supervisor/schema.h"
#include "supervisor/decimal.h"
#include "supervisor/wire/tape.h"

#define NO_SUB UINT32_MAX

/* A tool has ten parameters, not ten thousand. */
enum { SCHEMA_SUBS_MAX = 4096, SCHEMA_NEST_MAX = 100 };
/* Digits that are read in the time of one step of judging. */
enum { NUMBER_BYTES_A_STEP = 8 };

enum {
	TYPE_NULL = 1,
	TYPE_BOOLEAN = 2,
	TYPE_INTEGER = 4,
	TYPE_NUMBER = 8,
	TYPE_STRING = 16,
	TYPE_ARRAY = 32,
	TYPE_OBJECT = 64,
};

/* Keywords that hold one schema. Those up to ONE_ELSE judge the same instance as the schema that they stand in. */
enum one { ONE_REF, ONE_NOT, ONE_IF, ONE_THEN, ONE_ELSE, ONE_ADDITIONAL, ONE_NAMES, ONE_ITEMS, ONE_CONTAINS, ONE_COUNT };
/* Keywords that hold a list of them; the first three judge the same instance. */
enum many { MANY_ALL, MANY_ANY, MANY_ONE, MANY_PREFIX, MANY_COUNT };
enum bound { MIN_LENGTH, MAX_LENGTH, MIN_ITEMS, MAX_ITEMS, MIN_MEMBERS, MAX_MEMBERS, MIN_CONTAINS, MAX_CONTAINS, BOUND_COUNT };
enum limit { LIMIT_MINIMUM, LIMIT_MAXIMUM, LIMIT_ABOVE, LIMIT_BELOW, LIMIT_COUNT };

struct list {
	uint32_t *items;
	uint32_t count, cap;
};

/* A key that properties or required name; nodes are those of the schema's own text. */
struct name {
	uint32_t key, sub;
	bool required;
};

struct named_pattern {
	struct pattern *pattern;
	uint32_t key, sub;
};

/* Where `key` is there: the names (nodes) must be too, and the schema must fit. */
struct dependent {
	uint32_t key, sub;
	struct list names;
};

/* Values of one tape by their hashes. */
struct value_slot {
	uint32_t node1; /* plus one; 0 is free */
	uint32_t hash;
};
struct value_set {
	struct value_slot *slots;
	uint32_t mask;
};

struct sub {
	uint32_t at; /* its node */
	bool never, unique;
	uint8_t types; /* 0: any */
	uint32_t one[ONE_COUNT];
	struct list many[MANY_COUNT];
	uint64_t bound[BOUND_COUNT];
	uint32_t limit[LIMIT_COUNT]; /* nodes, 0: none */
	uint32_t constant, multiple, choice, properties; /* nodes, 0: none */
	struct divisor divisor;
	struct value_set choices;
	struct pattern *pattern;
	uint32_t pattern_at;
	struct name *names; /* in the order of their bytes */
	uint32_t name_count, required_count;
	struct named_pattern *patterns;
	uint32_t pattern_count;
	struct dependent *dependents;
	uint32_t dependent_count;
};

struct schema {
	char *text;
	struct tape tape;
	struct sub *subs; /* the first is the whole */
	uint32_t count, cap;
	char **properties; /* of the whole */
	uint32_t property_count;
};

struct compile {
	struct schema *schema;
	struct err *err;
	uint32_t *sub_of; /* by node */
	unsigned depth;
};

/* schema.c: the schema at a node, compiled if it is not; *ret its number. */
int compile_sub(struct compile *c, uint32_t node, uint32_t *ret);
int list_add(struct list *list, uint32_t item);
/* schema_keys.c: one keyword of sub. */
int compile_keyword(struct compile *c, uint32_t sub, uint32_t key);
/* -EINVAL; the message is followed by the pointer of the node. */
int refuse_at(struct compile *c, uint32_t node, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* schema_words.c: with what was probably meant. */
int refuse_type_at(struct compile *c, uint32_t value);
int refuse_keyword_at(struct compile *c, uint32_t key, const char *const *words, size_t count);

/* schema_value.c. Negative: -E2BIG, the budget is spent; -ENOMEM. */
int value_hash(const struct tape *tape, uint32_t node, int64_t *budget, uint32_t *ret);
int value_equal(const struct tape *a, uint32_t x, const struct tape *b, uint32_t y, int64_t *budget); /* 1, 0 */
int value_set_init(struct value_set *set, uint32_t count);
void value_set_done(struct value_set *set);
/* 1 and the equal node of set_tape, or 0. add: a new one is put in, both tapes are the same. */
int value_set_find(struct value_set *set, const struct tape *set_tape, const struct tape *tape, uint32_t node, bool add, int64_t *budget,
		   uint32_t *ret);
/* Numbers that nothing here can count: the node, or 0. A document that is one number is node 0: *ret_bad. */
uint32_t value_odd_number(const struct tape *tape, bool *ret_bad);

/* Order of two strings' bytes. */
int string_order(const struct tape *a, uint32_t x, const struct tape *b, uint32_t y);
/* The value's node, or NO_SUB. */
uint32_t object_find(const struct tape *tape, uint32_t object, const char *key, size_t len);

/* schema_say.c: what a person reads. All cut what they show to the room, between characters. */
struct line {
	char text[320];
	size_t len;
};
void line_add(struct line *line, const char *fmt, ...) PRINTF_LIKE(2, 3);
void line_raw(struct line *line, const char *text, size_t len, size_t max);
void say_path(struct line *line, const struct tape *tape, uint32_t node);    /* xs[1].name; nothing for the whole */
void say_pointer(struct line *line, const struct tape *tape, uint32_t node); /* /properties/n/minimum */
void say_value(struct line *line, const struct tape *tape, uint32_t node);   /* 5.5, "abc", a list of 3 */
void say_types(struct line *line, unsigned types);                           /* integer or null */
unsigned type_of(const struct tape *tape, uint32_t node);
int type_find(const struct tape *tape, uint32_t node); /* TYPE_x of a name, or 0 */

#endif
