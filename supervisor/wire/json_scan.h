/* Steps over the parts of a JSON text; shared by the checker (json.c) and the
 * finder (json_find.c). The skip functions trust that json_check() accepted the text. */
#ifndef BRIG_WIRE_JSON_SCAN_H
#define BRIG_WIRE_JSON_SCAN_H

#include <stddef.h>

/* Past white space and comments. An unclosed comment leaves the position at its start. */
size_t json_skip_space(const char *text, size_t len, size_t at);
/* Past the string whose opening quote is at `at`. */
size_t json_skip_string(const char *text, size_t len, size_t at);
/* Past the value that begins at `at`; iterative. */
size_t json_skip_value(const char *text, size_t len, size_t at);
/* Decodes the escapes of a checked string's inside into out (at least len bytes); returns the length. */
size_t json_unescape(const char *raw, size_t len, char *out);

#endif
