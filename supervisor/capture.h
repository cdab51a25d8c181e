/* One output stream of a jail, kept within a bound: the head and the tail stay,
 * what lies between is counted. Every byte that was written is counted and
 * hashed. Core only. */
#ifndef BRIG_SUPERVISOR_CAPTURE_H
#define BRIG_SUPERVISOR_CAPTURE_H

#include "supervisor/wire/json.h"

#include <sha2.h>
#include <stdint.h>

struct capture {
	size_t head_cap, tail_cap; /* together the profile's cap less the note */
	size_t cap;
	char *head, *tail;         /* tail is a ring */
	size_t head_len, tail_pos;
	uint64_t bytes;            /* all that came */
	SHA2_CTX sha;
};

/* 0 or -ENOMEM. cap: bytes of text to keep. */
int capture_init(struct capture *c, size_t cap);
void capture_done(struct capture *c);
void capture_add(struct capture *c, const char *bytes, size_t len);
bool capture_truncated(const struct capture *c);
/* Appends {"text":...,"bytes":...,"truncated":...,"sha256":...}. Valid UTF-8 whatever came. */
void capture_print(const struct capture *c, struct jbuf *out);

#endif
