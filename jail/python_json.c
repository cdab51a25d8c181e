/* JSON of plain values, written in C for the module `brig`: a function of the prelude would be a frame below the tool's own. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/python_api.h"

#include "jail/base/compiler.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Each level is a C frame of ours; a log line or a form has three or four. */
#define DEPTH_MAX 32u

static int put(struct json_out *out, const char *bytes, size_t n, const char *what)
{
	if (n > out->cap - out->len) {
		PyErr_Format(PyExc_ValueError, "%s is too large: with all that goes with it, it would be more than %zu bytes of JSON", what, out->cap);
		return -1;
	}
	memcpy(out->bytes + out->len, bytes, n);
	out->len += n;
	return 0;
}

int json_out_raw(struct json_out *out, const char *bytes, const char *what)
{
	return put(out, bytes, strlen(bytes), what);
}

static int put_character(struct json_out *out, unsigned char c, const char *what)
{
	char escape[8];
	int n = 1;

	if (c == '"' || c == '\\')
		n = snprintf(escape, sizeof(escape), "\\%c", c);
	else if (c < 0x20)
		n = snprintf(escape, sizeof(escape), "\\u%04x", c);
	else
		escape[0] = (char)c;
	return put(out, escape, (size_t)n, what);
}

/* How many of the n bytes hold the first `most` characters. */
static Py_ssize_t bytes_of(const char *bytes, Py_ssize_t n, Py_ssize_t most)
{
	Py_ssize_t at = 0;

	for (; at < n; at++)
		if (((unsigned char)bytes[at] & 0xc0) != 0x80 && most-- == 0)
			break;
	return at;
}

int json_out_text(struct json_out *out, PyObject *text, Py_ssize_t most, const char *what)
{
	Py_ssize_t n;
	const char *bytes = PyUnicode_AsUTF8AndSize(text, &n); /* an error for a lone surrogate, or where it is no str */

	if (!bytes || put(out, "\"", 1, what) < 0)
		return -1;
	n = bytes_of(bytes, n, most);
	for (Py_ssize_t i = 0; i < n; i++)
		if (put_character(out, (unsigned char)bytes[i], what) < 0)
			return -1;
	return put(out, "\"", 1, what);
}

/* Exact, whatever class it is of: CPython's own functions, not the object's. */
static int put_int(struct json_out *out, PyObject *number, const char *what)
{
	PyObject *digits = PyLong_Type.tp_repr(number);
	const char *text = digits ? PyUnicode_AsUTF8(digits) : NULL;
	int r = text ? json_out_raw(out, text, what) : -1;

	Py_XDECREF(digits);
	return r;
}

static int put_float(struct json_out *out, PyObject *number, const char *what)
{
	double value = PyFloat_AS_DOUBLE(number);
	char *text;
	int r;

	if (!isfinite(value)) {
		PyErr_Format(PyExc_ValueError, "%s holds NaN or an infinity, which JSON cannot hold", what);
		return -1;
	}
	text = PyOS_double_to_string(value, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
	r = text ? json_out_raw(out, text, what) : -1;
	PyMem_Free(text);
	return r;
}

static int put_value(struct json_out *out, PyObject *value, unsigned depth, const char *what);

static int put_items(struct json_out *out, PyObject *items, unsigned depth, const char *what)
{
	Py_ssize_t n = PySequence_Fast_GET_SIZE(items);

	if (put(out, "[", 1, what) < 0)
		return -1;
	for (Py_ssize_t i = 0; i < n; i++)
		if ((i && put(out, ",", 1, what) < 0) || put_value(out, PySequence_Fast_GET_ITEM(items, i), depth, what) < 0)
			return -1;
	return put(out, "]", 1, what);
}

static int put_dict(struct json_out *out, PyObject *dict, unsigned depth, const char *what)
{
	PyObject *key, *value;
	const char *before = "{";
	Py_ssize_t at = 0;

	while (PyDict_Next(dict, &at, &key, &value)) {
		if (!PyUnicode_Check(key)) {
			PyErr_Format(PyExc_TypeError, "%s holds a key of type %.100s; JSON has text keys", what, Py_TYPE(key)->tp_name);
			return -1;
		}
		if (json_out_raw(out, before, what) < 0 || json_out_text(out, key, PY_SSIZE_T_MAX, what) < 0 || put(out, ":", 1, what) < 0 ||
		    put_value(out, value, depth, what) < 0)
			return -1;
		before = ",";
	}
	return json_out_raw(out, before[0] == '{' ? "{}" : "}", what);
}

static int put_value(struct json_out *out, PyObject *value, unsigned depth, const char *what)
{
	if (value == Py_None)
		return json_out_raw(out, "null", what);
	if (PyBool_Check(value))
		return json_out_raw(out, value == Py_True ? "true" : "false", what);
	if (PyUnicode_Check(value))
		return json_out_text(out, value, PY_SSIZE_T_MAX, what);
	if (PyLong_Check(value))
		return put_int(out, value, what);
	if (PyFloat_Check(value))
		return put_float(out, value, what);
	if (depth == DEPTH_MAX) {
		PyErr_Format(PyExc_ValueError, "%s is nested deeper than %u levels, or contains itself", what, DEPTH_MAX);
		return -1;
	}
	if (PyList_Check(value) || PyTuple_Check(value))
		return put_items(out, value, depth + 1, what);
	if (PyDict_Check(value))
		return put_dict(out, value, depth + 1, what);
	PyErr_Format(PyExc_TypeError, "%s holds a value of type %.100s, which is not JSON", what, Py_TYPE(value)->tp_name);
	return -1;
}

int json_out_value(struct json_out *out, PyObject *value, const char *what)
{
	return put_value(out, value, 0, what);
}
