/* Text from strangers, made fit to be shown. */
#ifndef BRIG_AGENT_TEXT_H
#define BRIG_AGENT_TEXT_H

#include "supervisor/wire/json.h"

#include <stdio.h>

enum text_kind {
	TEXT_LINE,  /* one line: new lines and tabs are escaped too */
	TEXT_BLOCK, /* new lines and tabs stay */
};

/* Appends the bytes so that a terminal shows them and obeys none of them: control characters (C0, DEL, C1),
 * line and paragraph separators, bidirectional overrides and invalid UTF-8 become \n, \x1b, \u202e. */
void text_escape(struct jbuf *out, const char *bytes, size_t len, enum text_kind kind);

/* 'word' in quotes, escaped, cut with "..." when it does not fit. */
void text_quote(char *buf, size_t cap, const char *word);

#define TEXT_WIDTH 80
/* Prints text from column `indent` on, broken at blanks so that no line passes the width; the cursor is at `indent`. */
void text_wrap(FILE *out, const char *text, int indent);

/* The string at a dotted path of a text that json_check() accepted; NULL when there is none. malloc'd; it may hold NUL
 * bytes, which *ret_len (may be NULL) counts. */
char *text_find(const char *json, size_t json_len, const char *path, size_t *ret_len);

#endif
