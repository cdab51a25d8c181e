/* One judgement by a schema, as its files see it: schema_check.c any value and the schemas of schemas, schema_children.c what is in a value. */
#ifndef BRIG_SUPERVISOR_SCHEMA_JUDGE_H
#define BRIG_SUPERVISOR_SCHEMA_JUDGE_H

#include "supervisor/schema_impl.h"

/* Answers of all that judges: 0 it fits, UNFIT, or negative: nobody knows, and fatal says why. */
enum { UNFIT = 1 };

struct check {
	const struct schema *schema;
	struct tape tape;
	struct err *say;   /* where to say why it does not fit; NULL while that may be of no interest */
	struct err *fatal; /* where to say why nobody knows */
	struct err aside;  /* what one alternative wanted */
	int64_t steps, pattern_budget;
	unsigned frames, explaining;
};

int judge_sub(struct check *c, uint32_t sub, uint32_t node);
int judge_quiet(struct check *c, uint32_t sub, uint32_t node); /* and nothing is said */
int judge_array(struct check *c, const struct sub *s, uint32_t node);
int judge_object(struct check *c, const struct sub *s, uint32_t node);
/* 1: the string matches, 0 not. */
int judge_pattern(struct check *c, const struct pattern *p, uint32_t pattern_at, uint32_t node);

int judge_step(struct check *c, uint64_t n); /* negative when no step is left */
int judge_too_dear(struct check *c);
int judge_failed(struct check *c, int r); /* of what spends c->steps by itself */

/* UNFIT; says "n: wanted WHAT, got 5" where that is of interest. */
int judge_unfit(struct check *c, const struct sub *s, uint32_t node, const char *keyword, const char *fmt, ...) PRINTF_LIKE(5, 6);
void judge_place(struct check *c, const struct sub *s, const char *keyword); /* the hint */
void judge_path(struct line *line, const struct check *c, uint32_t node);

#endif
