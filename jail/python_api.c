#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/python_api.h"

#include "jail/base/compiler.h"
#include "jail/base/limits.h"

#include <stdlib.h>
#include <string.h>

/* Of what a person reads in one glance beside a bar; at worst six bytes each. */
#define PROGRESS_MESSAGE_CHARS 500
#define LOGGER_CHARS           100
/* Of a question. Fields and their words are in the schema. */
#define ASK_MESSAGE_CHARS 2000
#define ASK_KEY_CHARS     64
/* The error frame of an unanswered question: its words twice, and the forms. */
#define UNANSWERED_MAX LIMIT_ERROR_BYTES

static const char doc[] = "What a tool can say while it runs, and what it can ask: brig(7), \"What a tool may say\".";

static PyObject *g_module;
static PyObject *g_input_needed;
static PyObject *g_scan;       /* scan_once of a JSONDecoder of ours: C, and nothing that a tool can replace is asked by it */
static PyObject *g_inputs;     /* {key: answer} of this call, or NULL */
static PyObject *g_unanswered; /* bytes: the error frame should this call end with InputNeeded; or NULL */
static bool g_told;            /* capabilities are not those of a plain caller */
static pid_t g_pid;            /* of the process whose events count */
static int g_fd = -1;          /* the result pipe; -1: nobody is there */
static uint8_t g_nonce[FRAME_NONCE_BYTES];
static unsigned g_events;
static size_t g_event_bytes;

/* ---- events ---- */

/* Core drops what is beyond these, too; who loops over progress() need not pay for a system call each time. The first one that is
 * beyond is sent: by it core knows, and says so. */
static bool event_counts(size_t len)
{
	if (g_fd < 0 || getpid() != g_pid || g_events > LIMIT_EVENTS || g_event_bytes > LIMIT_EVENT_BYTES)
		return false;
	g_events++;
	g_event_bytes += len;
	return true;
}

/* With Python's lock held: no other thread's result comes between. A hint that cannot be written is one that is not heard. */
static PyObject *event_send(const struct json_out *out)
{
	char frame[PIPE_BUF];
	struct result_head head = { .magic = RESULT_MAGIC, .kind = RESULT_EVENT, .len = out->len };

	if (event_counts(out->len)) {
		memcpy(head.nonce, g_nonce, sizeof(head.nonce));
		memcpy(frame, &head, sizeof(head));
		memcpy(frame + sizeof(head), out->bytes, out->len);
		while (write(g_fd, frame, sizeof(head) + out->len) < 0 && errno == EINTR)
			;
	}
	return Py_NewRef(Py_None);
}

static int number_check(PyObject *number, const char *what)
{
	if (!PyBool_Check(number) && (PyLong_Check(number) || PyFloat_Check(number)))
		return 0;
	PyErr_Format(PyExc_TypeError, "%s is no number but of type %.100s", what, Py_TYPE(number)->tp_name);
	return -1;
}

static bool given(PyObject *value)
{
	return value && value != Py_None;
}

static int member_number(struct json_out *out, const char *key, PyObject *number, const char *what)
{
	if (!given(number))
		return 0;
	return number_check(number, what) < 0 || json_out_raw(out, key, what) < 0 ? -1 : json_out_value(out, number, what);
}

static int member_text(struct json_out *out, const char *key, PyObject *text, Py_ssize_t most, const char *what)
{
	if (!given(text))
		return 0;
	if (!PyUnicode_Check(text)) {
		PyErr_Format(PyExc_TypeError, "%s is no str but of type %.100s", what, Py_TYPE(text)->tp_name);
		return -1;
	}
	return json_out_raw(out, key, what) < 0 ? -1 : json_out_text(out, text, most, what);
}

static PyObject *api_progress(PyObject *Py_UNUSED(self), PyObject *args, PyObject *kwargs)
{
	static char *keys[] = { "done", "total", "message", NULL };
	PyObject *done, *total = NULL, *message = NULL;
	char bytes[EVENT_PAYLOAD_MAX];
	struct json_out out = { bytes, 0, sizeof(bytes) };

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO:progress", keys, &done, &total, &message) || number_check(done, "done") < 0 ||
	    member_number(&out, "{\"progress\":", done, "done") < 0 || member_number(&out, ",\"total\":", total, "total") < 0 ||
	    member_text(&out, ",\"message\":", message, PROGRESS_MESSAGE_CHARS, "message") < 0 || json_out_raw(&out, "}", "progress") < 0)
		return NULL;
	return event_send(&out);
}

static int level_check(PyObject *level)
{
	static const char *const levels[] = { EVENT_LEVELS };

	for (size_t i = 0; PyUnicode_Check(level) && i < ARRAY_LEN(levels); i++)
		if (PyUnicode_CompareWithASCIIString(level, levels[i]) == 0)
			return 0;
	PyErr_SetString(PyExc_ValueError, "level is debug, info, notice, warning, error, critical, alert or emergency");
	return -1;
}

static PyObject *api_log(PyObject *Py_UNUSED(self), PyObject *args, PyObject *kwargs)
{
	static char *keys[] = { "level", "data", "logger", NULL };
	PyObject *level, *data, *logger = NULL;
	char bytes[EVENT_PAYLOAD_MAX];
	struct json_out out = { bytes, 0, sizeof(bytes) };

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O:log", keys, &level, &data, &logger) || level_check(level) < 0 ||
	    member_text(&out, "{\"log\":{\"level\":", level, LOGGER_CHARS, "level") < 0 ||
	    member_text(&out, ",\"logger\":", logger, LOGGER_CHARS, "logger") < 0 || json_out_raw(&out, ",\"data\":", "data") < 0 ||
	    json_out_value(&out, data, "data") < 0 || json_out_raw(&out, "}}", "data") < 0)
		return NULL;
	return event_send(&out);
}

/* ---- questions ---- */

static int refuse(const char *what)
{
	PyErr_SetString(PyExc_ValueError, what);
	return -1;
}

static int key_check(PyObject *key)
{
	static const char fine[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	const char *text = PyUnicode_CheckExact(key) ? PyUnicode_AsUTF8(key) : NULL;
	size_t n = text ? (size_t)PyUnicode_GET_LENGTH(key) : 0;

	PyErr_Clear();
	if (text && n >= 1 && n <= ASK_KEY_CHARS && strspn(text, fine) == n)
		return 0;
	return refuse("the key of a question is 1 to 64 of the characters A-Z a-z 0-9 _ . -");
}

static bool word_is(PyObject *dict, const char *key, const char *const words[], size_t count)
{
	PyObject *word = PyDict_GetItemString(dict, key);

	for (size_t i = 0; word && PyUnicode_Check(word) && i < count; i++)
		if (PyUnicode_CompareWithASCIIString(word, words[i]) == 0)
			return true;
	return false;
}

/* The shape of MCP's form: one object, and every field of it a plain value or a choice. */
static int form_check(PyObject *schema)
{
	static const char *const object[] = { "object" };
	static const char *const plain[] = { "string", "number", "integer", "boolean", "array" };
	static const char words[] = "the schema of a question is {\"type\": \"object\", \"properties\": {...}}, and each of its properties is of type string, "
				    "number, integer or boolean, or an array of choices";
	PyObject *fields, *name, *field;
	Py_ssize_t at = 0;

	if (!PyDict_Check(schema) || !word_is(schema, "type", object, ARRAY_LEN(object)))
		return refuse(words);
	fields = PyDict_GetItemString(schema, "properties");
	if (!fields || !PyDict_Check(fields) || PyDict_GET_SIZE(fields) > LIMIT_ASK_FIELDS)
		return refuse(words);
	while (PyDict_Next(fields, &at, &name, &field))
		if (!PyDict_Check(field) || !word_is(field, "type", plain, ARRAY_LEN(plain)))
			return refuse(words);
	return 0;
}

static int question_check(PyObject *key, PyObject *message, PyObject *schema)
{
	if (key_check(key) < 0)
		return -1;
	if (!PyUnicode_Check(message) || PyUnicode_GET_LENGTH(message) < 1 || PyUnicode_GET_LENGTH(message) > ASK_MESSAGE_CHARS)
		return refuse("the message of a question is a text of 1 to 2000 characters that says what is asked for and why");
	return form_check(schema);
}

/* A new reference, or NULL; an exception only where memory is short. The dict is a copy, the tool's own. */
static PyObject *answer_to(PyObject *key)
{
	PyObject *answer = g_inputs ? PyDict_GetItemWithError(g_inputs, key) : NULL;

	return answer ? PyDict_Copy(answer) : NULL;
}

static int question_put(struct json_out *out, PyObject *key, PyObject *message, PyObject *schema, const char *before)
{
	return json_out_raw(out, before, "asks") < 0 || json_out_text(out, key, ASK_KEY_CHARS, "key") < 0 ||
			       json_out_raw(out, ":{\"message\":", "asks") < 0 || json_out_text(out, message, ASK_MESSAGE_CHARS, "message") < 0 ||
			       json_out_raw(out, ",\"schema\":", "asks") < 0 || json_out_value(out, schema, "schema") < 0 ||
			       json_out_raw(out, "}", "asks") < 0 ?
		       -1 :
		       0;
}

/* {key: (message, schema)} of what has no answer, as JSON and in words; both grow with each. */
struct unanswered {
	struct json_out asks;
	PyObject *words;
	unsigned count;
};

static int unanswered_add(struct unanswered *u, PyObject *key, PyObject *message, PyObject *schema)
{
	PyObject *one = PyUnicode_FromFormat("%s%U: %U", u->count ? "; " : "the tool asks the person at the client: ", key, message), *all = NULL;

	if (one && question_put(&u->asks, key, message, schema, u->count ? "," : "{") == 0)
		all = u->words ? PyUnicode_Concat(u->words, one) : Py_NewRef(one);
	Py_XDECREF(one);
	if (!all)
		return -1;
	Py_XDECREF(u->words);
	u->words = all;
	u->count++;
	return 0;
}

static int frame_put(struct json_out *frame, const struct unanswered *u)
{
	if (json_out_raw(frame, "{\"type\":\"InputNeeded\",\"message\":", "asks") < 0 || json_out_text(frame, u->words, PY_SSIZE_T_MAX, "asks") < 0 ||
	    json_out_raw(frame, ",\"traceback\":[],\"asks\":", "asks") < 0 || u->asks.len > frame->cap - frame->len - 1)
		return -1;
	memcpy(frame->bytes + frame->len, u->asks.bytes, u->asks.len);
	frame->len += u->asks.len;
	return json_out_raw(frame, "}", "asks");
}

/* What the error frame will be is written down now: of what the tool does to the exception, nothing gets in. */
static PyObject *unanswered_raise(struct unanswered *u)
{
	struct json_out frame = { malloc(UNANSWERED_MAX), 0, UNANSWERED_MAX };
	PyObject *bytes = NULL;

	if (!frame.bytes)
		PyErr_NoMemory();
	else if (json_out_raw(&u->asks, "}", "asks") == 0 && frame_put(&frame, u) == 0)
		bytes = PyBytes_FromStringAndSize(frame.bytes, (Py_ssize_t)frame.len);
	free(frame.bytes);
	if (bytes) {
		Py_XSETREF(g_unanswered, bytes);
		PyErr_SetObject(g_input_needed, u->words);
	}
	return NULL;
}

/* The answers to all of these, or InputNeeded with those that have none. */
static PyObject *answers_or_raise(PyObject *questions)
{
	struct unanswered u = { .asks = { malloc(LIMIT_ASKS_BYTES), 0, LIMIT_ASKS_BYTES } };
	PyObject *answers = PyDict_New(), *key, *question;
	bool failed = !answers || !u.asks.bytes;
	Py_ssize_t at = 0;

	while (!failed && PyDict_Next(questions, &at, &key, &question)) {
		PyObject *message = PyTuple_GET_ITEM(question, 0), *schema = PyTuple_GET_ITEM(question, 1), *answer = answer_to(key);

		failed = PyErr_Occurred() || (answer ? PyDict_SetItem(answers, key, answer) : unanswered_add(&u, key, message, schema)) < 0;
		Py_XDECREF(answer);
	}
	if (failed && !PyErr_Occurred())
		PyErr_NoMemory();
	if (failed || u.count > 0)
		Py_CLEAR(answers);
	if (!failed && u.count > 0)
		unanswered_raise(&u);
	free(u.asks.bytes);
	Py_XDECREF(u.words);
	return answers;
}

static PyObject *api_ask(PyObject *Py_UNUSED(self), PyObject *args, PyObject *kwargs)
{
	static char *keys[] = { "key", "message", "schema", NULL };
	PyObject *key, *message, *schema, *questions, *answers, *answer;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:ask", keys, &key, &message, &schema) || question_check(key, message, schema) < 0)
		return NULL;
	questions = Py_BuildValue("{O(OO)}", key, message, schema);
	answers = questions ? answers_or_raise(questions) : NULL;
	answer = answers ? Py_XNewRef(PyDict_GetItemWithError(answers, key)) : NULL;
	Py_XDECREF(questions);
	Py_XDECREF(answers);
	return answer;
}

/* Tuples of ours in a dict of ours: what the caller holds may change while it is looked at. */
static PyObject *questions_copy(PyObject *given_dict)
{
	PyObject *copy = PyDict_New(), *key, *question;
	Py_ssize_t at = 0;
	int r = copy ? 0 : -1;

	if (PyDict_GET_SIZE(given_dict) < 1 || PyDict_GET_SIZE(given_dict) > LIMIT_ASKS)
		r = refuse("ask_all takes 1 to 8 questions");
	while (r == 0 && PyDict_Next(given_dict, &at, &key, &question)) {
		if (!PyTuple_Check(question) || PyTuple_GET_SIZE(question) != 2)
			r = refuse("ask_all takes {key: (message, schema), ...}");
		else
			r = question_check(key, PyTuple_GET_ITEM(question, 0), PyTuple_GET_ITEM(question, 1));
		if (r == 0)
			r = PyDict_SetItem(copy, key, question);
	}
	if (r < 0)
		Py_CLEAR(copy);
	return copy;
}

static PyObject *api_ask_all(PyObject *Py_UNUSED(self), PyObject *given_dict)
{
	PyObject *questions, *answers;

	if (!PyDict_Check(given_dict))
		return PyErr_Format(PyExc_TypeError, "ask_all takes a dict, {key: (message, schema), ...}");
	questions = questions_copy(given_dict);
	answers = questions ? answers_or_raise(questions) : NULL;
	Py_XDECREF(questions);
	return answers;
}

/* ---- the module ---- */

#define KEYWORDS(fn) (PyCFunction)(void (*)(void))(fn), METH_VARARGS | METH_KEYWORDS
static PyMethodDef methods[] = {
	{ "progress", KEYWORDS(api_progress), "progress(done, total=None, message=None)\n--\n\nTells who called how far the work is." },
	{ "log", KEYWORDS(api_log), "log(level, data, logger=None)\n--\n\nA line for the log of who called; data is any JSON value." },
	{ "ask", KEYWORDS(api_ask),
	  "ask(key, message, schema)\n--\n\nThe answer of the person at the client: {\"action\": \"accept\", \"decline\" or \"cancel\", \"content\": {...}}.\n"
	  "While there is none it raises InputNeeded, the run ends, and run() is called again with it." },
	{ "ask_all", api_ask_all, METH_O, "ask_all(questions)\n--\n\nThe same for several at once: {key: (message, schema)} -> {key: answer}." },
	{ NULL, NULL, 0, NULL },
};
static struct PyModuleDef module_def = { PyModuleDef_HEAD_INIT, PYTHON_API_NAME, doc, -1, methods, NULL, NULL, NULL, NULL };

static int capabilities_set(PyObject *words)
{
	PyObject *tuple = words ? PySequence_Tuple(words) : PyTuple_New(0);
	int r = tuple ? PyModule_AddObjectRef(g_module, "capabilities", tuple) : -1;

	Py_XDECREF(tuple);
	return r;
}

static int scanner_new(void)
{
	PyObject *json = PyImport_ImportModule("json"), *decoder = json ? PyObject_CallMethod(json, "JSONDecoder", NULL) : NULL;

	g_scan = decoder ? PyObject_GetAttrString(decoder, "scan_once") : NULL;
	Py_XDECREF(json);
	Py_XDECREF(decoder);
	return g_scan ? 0 : -1;
}

int python_api_new(void)
{
	g_module = PyModule_Create(&module_def);
	/* No Exception: a tool that catches those lets the run end all the same. */
	g_input_needed = PyErr_NewExceptionWithDoc(PYTHON_API_NAME ".InputNeeded", "The person at the client has to answer first; the run ends here.",
						   PyExc_BaseException, NULL);
	if (!g_module || !g_input_needed || scanner_new() < 0 || PyModule_AddObjectRef(g_module, "InputNeeded", g_input_needed) < 0 ||
	    capabilities_set(NULL) < 0)
		return -1;
	return PyDict_SetItemString(PyImport_GetModuleDict(), PYTHON_API_NAME, g_module);
}

/* ---- a call ---- */

static int context_take(PyObject *context)
{
	PyObject *text = PyUnicode_FromEncodedObject(context, "utf-8", "strict"), *pair = NULL, *value, *words = NULL;
	int r = -1;

	if (text)
		pair = PyObject_CallFunction(g_scan, "Oi", text, 0);
	value = pair && PyTuple_Check(pair) ? PyTuple_GET_ITEM(pair, 0) : NULL;
	if (value && PyDict_Check(value)) {
		g_inputs = Py_XNewRef(PyDict_GetItemString(value, "inputs"));
		words = PyDict_GetItemString(value, "capabilities");
		r = 0;
	}
	if (r == 0 && words) {
		r = capabilities_set(words);
		g_told = true;
	}
	Py_XDECREF(text);
	Py_XDECREF(pair);
	return r;
}

int python_api_begin(int result_fd, const uint8_t nonce[FRAME_NONCE_BYTES], PyObject *context)
{
	g_fd = result_fd;
	g_pid = getpid();
	memcpy(g_nonce, nonce, sizeof(g_nonce));
	g_events = 0;
	g_event_bytes = 0;
	/* Of a session's last call. */
	Py_CLEAR(g_inputs);
	Py_CLEAR(g_unanswered);
	if (g_told && capabilities_set(NULL) < 0)
		return -1;
	g_told = false;
	return context ? context_take(context) : 0;
}

/* It, or one of a group of asyncio's that holds it. */
static bool is_input_needed(PyObject *error)
{
	PyObject *inside = NULL;
	bool found = PyErr_GivenExceptionMatches(error, g_input_needed);

	if (!found && Py_IS_TYPE(error, (PyTypeObject *)PyExc_BaseExceptionGroup))
		inside = PyObject_GetAttrString(error, "exceptions");
	for (Py_ssize_t i = 0; inside && PyTuple_Check(inside) && i < PyTuple_GET_SIZE(inside) && !found; i++)
		found = PyErr_GivenExceptionMatches(PyTuple_GET_ITEM(inside, i), g_input_needed);
	Py_XDECREF(inside);
	PyErr_Clear();
	return found;
}

PyObject *python_api_unanswered(PyObject *error)
{
	return g_unanswered && error && is_input_needed(error) ? Py_NewRef(g_unanswered) : NULL;
}
