/* A proven JSON text as a flat list of its values in the order of the text: what walks a document more than once
 * (schemas, policies) neither parses twice nor follows pointers. No value is converted: numbers stay the digits that were written.
 *
 *   {"a":[1,2]}   0 {   1 "a"   2 [   3 1   4 2     next of 0 is 5, of 1 is 2, of 2 is 5
 */
#ifndef BRIG_WIRE_TAPE_H
#define BRIG_WIRE_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tape_node {
	uint32_t at;   /* where it begins, in the text and in its plain copy; a string's characters begin one later */
	uint32_t len;  /* a string: decoded bytes; a number or a word: bytes; an object: members; an array: items */
	uint32_t next; /* the node after it and all that is in it */
};

struct tape {
	const char *raw; /* the text as it was given, borrowed */
	size_t raw_len;
	char *plain;     /* a copy in which each string is decoded in its place */
	struct tape_node *nodes;
	uint32_t count;
};

/* text: what json_check() accepted without JSON_COMMENTS. -E2BIG: deeper than max_depth, or 4 GB. -ENOMEM. */
int tape_read(const char *text, size_t len, unsigned max_depth, struct tape *ret);
void tape_done(struct tape *tape);

/* '{', '[', '"', 't', 'f', 'n'; of numbers '0', whatever they begin with. */
char tape_kind(const struct tape *tape, uint32_t node);
/* Characters of a string (decoded, may hold NUL), digits of a number. */
const char *tape_text(const struct tape *tape, uint32_t node);
/* How many bytes of the raw text it takes. */
size_t tape_raw_len(const struct tape *tape, uint32_t node);
bool tape_is(const struct tape *tape, uint32_t node, const char *word); /* a string of exactly these characters */

/* The children: for (i = node + 1; i < nodes[node].next; i = tape_next(...)). In an object keys and values take turns; this steps over both. */
uint32_t tape_next_member(const struct tape *tape, uint32_t key);

#endif
