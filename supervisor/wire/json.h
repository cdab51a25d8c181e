/* Strict JSON in front of cJSON. cJSON holds numbers as doubles, takes the last
 * of two equal keys and knows no positions; so every text is first proven here.
 *
 * Never linked by anything under jail/. */
#ifndef BRIG_WIRE_JSON_H
#define BRIG_WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_flag {
	JSON_COMMENTS = 1, /* // and block comments allowed (profiles, policies) */
	JSON_OBJECT = 2,   /* the top value must be an object */
};

struct json_error {
	size_t offset;
	unsigned line, column; /* 1-based, column in characters */
	char what[160];        /* no position in it */
};

/* Proves one JSON text: RFC 8259 grammar, UTF-8 (no surrogates, no overlong
 * forms), no lone \u surrogate, no NUL in it raw, no duplicate key within one
 * object (compared after unescaping), nesting at most max_depth, nothing after
 * the value. Iterative: depth costs no stack. Returns 0 or -EINVAL with *err. */
int json_check(const char *text, size_t len, unsigned flags, unsigned max_depth, struct json_error *err);

/* In a text that json_check() accepted: the raw bytes of the value at a dotted
 * path ("params.args", "limits.wall", "files.mounts.2.mode"). Returns false if
 * there is none. key_offset (may be NULL) gets where the key itself stands. */
bool json_find(const char *text, size_t len, const char *path, size_t *ret_start, size_t *ret_len, size_t *key_offset);

/* One member of an object: offsets into the text; the key without its quotes, still escaped. */
struct json_member {
	size_t key, key_len, value, value_len;
};

/* Walks the members of an object in a text that json_check() accepted: *at is first where the object begins, then what
 * the call left there. False: no more. */
bool json_member_next(const char *text, size_t len, size_t *at, struct json_member *ret);

/* The characters of a JSON string ("..." with its quotes, from an accepted text),
 * unescaped, NUL-terminated, malloc'd; *ret_len may count NULs inside. NULL: no memory or no string. */
char *json_string_dup(const char *raw, size_t len, size_t *ret_len);

/* Line and column of an offset. */
void json_position(const char *text, size_t len, size_t offset, unsigned *ret_line, unsigned *ret_column);

/* Overwrites comments with spaces, keeping every offset; for cJSON, in a copy of an accepted text. */
void json_blank_comments(char *text, size_t len);

/* Line breaks of an accepted text become blanks: outside of strings they are only white space, inside they were refused. What travels
 * as one line must be one: left in, whoever wrote the text could put a whole message of his own on a line of its own. */
void json_one_line(char *text, size_t len);

/* The raw string (with its quotes) is one of these words, which need no escapes. */
bool json_is_one_of(const char *value, size_t len, const char *const words[], size_t count);

/* The whole buffer is UTF-8 without surrogates; *ret_offset: first bad byte. */
bool utf8_check(const char *text, size_t len, size_t *ret_offset);

/* A growing text with a maximum, for building JSON that holds raw parts. All
 * appends are sticky: after a failure (maximum, memory) the buffer is empty and
 * `failed` is set. */
struct jbuf {
	char *data;
	size_t len, cap, max;
	bool failed;
};
void jbuf_init(struct jbuf *b, size_t max);
void jbuf_done(struct jbuf *b);
void jbuf_raw(struct jbuf *b, const char *bytes, size_t len);
void jbuf_text(struct jbuf *b, const char *text);                 /* raw C string */
void jbuf_string(struct jbuf *b, const char *bytes, size_t len);  /* quoted, escaped; invalid UTF-8 becomes U+FFFD, one for each maximal bad part */
void jbuf_cstring(struct jbuf *b, const char *text);              /* the same of a C string */
/* ,"key":"text" of a key that needs no escapes; null where the text is NULL or empty. */
void jbuf_member(struct jbuf *b, const char *key, const char *text);
void jbuf_printf(struct jbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
