/* The module `brig`: what a tool can say while it runs, and what it can ask. It is there under every profile, whatever its import
 * list, and is made of C alone: no function of it leads to the prelude or to a builtin. Brig's own names for people stand in
 * brig(7), "What a tool may say". Include Python.h first. */
#ifndef BRIG_JAIL_PYTHON_API_H
#define BRIG_JAIL_PYTHON_API_H

#include "jail/frame.h"

#include <stdbool.h>

#define PYTHON_API_NAME "brig"

/* Zygote, once: makes the module and puts it into sys.modules. 0, or -1 with an exception. */
int python_api_new(void);
/* Jail: a call begins. context: bytes of JSON that core has proven, borrowed; NULL: none. 0, or -1 with an exception. */
int python_api_begin(int result_fd, const uint8_t nonce[FRAME_NONCE_BYTES], PyObject *context);
/* The call ended with this exception, because nobody has answered yet: a new reference to the payload of its error frame, as bytes.
 * NULL, without an exception: it ended otherwise. */
PyObject *python_api_unanswered(PyObject *error);

/* ---- python_json.c: plain values as JSON, into a buffer with an end ---- */
struct json_out {
	char *bytes;
	size_t len, cap;
};
/* str, int, float, bool, None, lists, tuples and dicts with text keys, and what derives from them. Calls nothing that a tool could
 * have overridden. 0, or -1 with an exception that names what, such as "data". */
int json_out_value(struct json_out *out, PyObject *value, const char *what);
/* The same of a text, of which at most `most` characters count. */
int json_out_text(struct json_out *out, PyObject *text, Py_ssize_t most, const char *what);
int json_out_raw(struct json_out *out, const char *bytes, const char *what);

#endif
