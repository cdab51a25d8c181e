#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/python.h"

#include "jail/base/fd.h"
#include "jail/frame.h"
#include "jail/python_api.h"
#include "jail/python_host.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

extern const char _binary_prelude_py_start[], _binary_prelude_py_end[];

/* Given back when an exception is to be described: MemoryError must still find
 * room for its words. Above malloc's mmap threshold, so never touched until then. */
#define RESERVE_BYTES (512u << 10)
/* Many times what core needs to take a frame, also under emulation. */
#define STAND_MS 250

/* The interpreter rewrites code objects for what it has seen (after 8 to 16 calls); done here, no jail pays for the copies. */
#define WARM_ROUNDS 24

enum step { STEP_CONFIGURE, STEP_PREPARE, STEP_ENTRY, STEP_DRIVE, STEP_ENCODE, STEP_DESCRIBE, STEP_FINISH, STEP_EXAMINE, STEPS };
static const char *const step_names[STEPS] = { "configure", "prepare", "entry", "drive", "encode", "describe", "finish", "examine" };

static PyObject *g_steps[STEPS]; /* functions of the prelude */
static void *g_reserve;
static pid_t g_pid; /* of the process that was asked */
static bool g_session; /* one request after the other */

/* Short, since its compilation is work that nobody asked for; it goes the ways that most tools go. */
static const char warm_body[] = "def run(n, items):\n"
				"    print(end='')\n"
				"    return {'n': sum(int(d) for d in str(n)), 'items': [f'{i}' for i in items]}\n";
static const char warm_args[] = "{\"n\": 8675309, \"items\": [1, 2.5, \"x\"]}";

/* --- start ------------------------------------------------------------------ */

/* The pending exception in one line. */
static int error_why(const char *what, char *why, size_t cap)
{
	PyObject *type, *value, *trace, *text;
	const char *words;

	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	text = value ? PyObject_Str(value) : NULL;
	words = text ? PyUnicode_AsUTF8(text) : NULL;
	snprintf(why, cap, "%s: %s: %s", what, type ? ((PyTypeObject *)type)->tp_name : "error", words ? words : "?");
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
	return -1;
}

/* NUL-separated names -> list of str. */
static PyObject *name_list(const char *names, size_t len)
{
	PyObject *list = PyList_New(0);

	for (const char *p = names; list && p < names + len; p += strlen(p) + 1) {
		PyObject *name = PyUnicode_FromString(p);
		if (!name || PyList_Append(list, name) < 0)
			Py_CLEAR(list);
		Py_XDECREF(name);
	}
	return list;
}

/* Runs the prelude's text in a module that sys.modules does not know, and keeps its functions. */
static int prelude_load(const char *text, size_t len)
{
	PyObject *source = PyUnicode_DecodeUTF8(text, (Py_ssize_t)len, "strict"), *code = NULL, *module = NULL, *own = NULL, *done = NULL;
	const char *utf8 = source ? PyUnicode_AsUTF8(source) : NULL;
	int r = -1;

	if (utf8)
		code = Py_CompileString(utf8, "brig_prelude", Py_file_input);
	module = code ? PyModule_New("brig_prelude") : NULL;
	/* A copy: a tool that spoils builtins shall not spoil the report of how it ended. */
	own = module ? PyDict_Copy(PyEval_GetBuiltins()) : NULL;
	if (own && PyModule_AddObjectRef(module, "__builtins__", own) == 0)
		done = PyEval_EvalCode(code, PyModule_GetDict(module), PyModule_GetDict(module));
	if (done) {
		r = 0;
		for (int i = 0; i < STEPS && r == 0; i++) {
			g_steps[i] = PyObject_GetAttrString(module, step_names[i]);
			r = g_steps[i] ? 0 : -1;
			/* A prelude of an operator's own may do without: calls run, only no tool can be created with it. */
			if (r < 0 && i == STEP_EXAMINE) {
				PyErr_Clear();
				r = 0;
			}
		}
	}
	Py_XDECREF(source);
	Py_XDECREF(code);
	Py_XDECREF(own);
	Py_XDECREF(done);
	/* module stays: its dictionary is the globals of the functions */
	return r;
}

static int prelude_configure(const struct jail_spec *spec)
{
	PyObject *imports = name_list(spec->imports, spec->imports_len);
	PyObject *preload = name_list(spec->preload, spec->preload_len);
	PyObject *host = python_host_new(), *done = NULL;

	if (imports && preload && host)
		done = PyObject_CallFunction(g_steps[STEP_CONFIGURE], "sOOOOO", spec->profile,
					     spec->flags & SPEC_FULL_BUILTINS ? Py_True : Py_False, imports, preload, host,
					     g_session ? Py_True : Py_False);
	Py_XDECREF(imports);
	Py_XDECREF(preload);
	Py_XDECREF(host);
	Py_XDECREF(done);
	return done ? 0 : -1;
}

static int call_gc(const char *name)
{
	PyObject *gc = PyImport_ImportModule("gc"), *done = gc ? PyObject_CallMethod(gc, name, NULL) : NULL;

	Py_XDECREF(gc);
	Py_XDECREF(done);
	return done ? 0 : -1;
}

int python_start(const struct jail_spec *spec, char *why, size_t why_cap)
{
	const char *text = spec->prelude_len ? spec->prelude : _binary_prelude_py_start;
	size_t len = spec->prelude_len ? spec->prelude_len : (size_t)(_binary_prelude_py_end - _binary_prelude_py_start);

	g_session = spec->flags & SPEC_SESSION;
	/* What C code of a tool prints must not sit in a buffer when the jail is killed. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (python_interpreter_start(why, why_cap) < 0)
		return -1;
	g_reserve = malloc(RESERVE_BYTES);
	if (prelude_load(text, len) < 0)
		return error_why("prelude", why, why_cap);
	if (python_api_new() < 0)
		return error_why("module " PYTHON_API_NAME, why, why_cap);
	if (prelude_configure(spec) < 0)
		return error_why("prelude or preload", why, why_cap);
	for (int i = 0; i < WARM_ROUNDS; i++)
		python_warm();
	if (call_gc("collect") < 0 || call_gc("freeze") < 0)
		return error_why("gc", why, why_cap);
	PyGC_Disable();
	python_holes_fill();
	return 0;
}

/* --- fork ------------------------------------------------------------------- */

void python_before_fork(void)
{
	PyOS_BeforeFork();
}

void python_after_fork_parent(void)
{
	PyOS_AfterFork_Parent();
}

void python_after_fork_child(void)
{
	PyOS_AfterFork_Child();
}

/* --- a call ----------------------------------------------------------------- */

static PyObject *step(enum step which, PyObject *arg)
{
	return arg ? PyObject_CallOneArg(g_steps[which], arg) : PyObject_CallNoArgs(g_steps[which]);
}

/* A coroutine that never waits needs no event loop, and one that may wait had to import asyncio. */
static PyObject *awaited(PyObject *value)
{
	PyObject *result = NULL, *loop;
	PySendResult sent = PYGEN_NEXT;

	if (!PyCoro_CheckExact(value) && !(Py_TYPE(value)->tp_as_async && Py_TYPE(value)->tp_as_async->am_await))
		return value;
	loop = PyDict_GetItemString(PyImport_GetModuleDict(), "asyncio");
	if (loop || !PyCoro_CheckExact(value)) {
		result = step(STEP_DRIVE, value);
		Py_DECREF(value);
		return result;
	}
	while (sent == PYGEN_NEXT) {
		Py_XDECREF(result);
		sent = PyIter_Send(value, Py_None, &result);
	}
	Py_DECREF(value);
	return result;
}

/* (code, namespace, keyword arguments). A profile may bring its own prelude: what it answers is checked. */
static PyObject *job_new(PyObject *body, PyObject *args, PyObject *seed)
{
	PyObject *job = PyObject_CallFunctionObjArgs(g_steps[STEP_PREPARE], body, args, seed, NULL);

	if (!job || (PyTuple_Check(job) && PyTuple_GET_SIZE(job) == 3 && PyCode_Check(PyTuple_GET_ITEM(job, 0)) &&
		     PyDict_Check(PyTuple_GET_ITEM(job, 1)) && PyDict_Check(PyTuple_GET_ITEM(job, 2))))
		return job;
	Py_DECREF(job);
	PyErr_SetString(PyExc_TypeError, "prepare() of the prelude did not answer (code, namespace, arguments)");
	return NULL;
}

static PyObject *examined(PyObject *run)
{
	if (g_steps[STEP_EXAMINE])
		return step(STEP_EXAMINE, run);
	PyErr_SetString(PyExc_NotImplementedError, "the prelude of this profile has no examine(): it cannot check bodies");
	return NULL;
}

/* Body and run() are called from here, not from the prelude: below the tool's frames there is none. */
static PyObject *tool_value(PyObject *body, PyObject *args, PyObject *seed, bool check)
{
	PyObject *job = job_new(body, args, seed), *space, *done, *run, *none, *value = NULL;

	if (!job)
		return NULL;
	space = PyTuple_GET_ITEM(job, 1);
	PyGC_Enable();
	done = PyEval_EvalCode(PyTuple_GET_ITEM(job, 0), space, space);
	run = done ? step(STEP_ENTRY, space) : NULL;
	none = run && !check ? PyTuple_New(0) : NULL;
	if (run && check)
		value = examined(run);
	if (none)
		value = PyObject_Call(run, none, PyTuple_GET_ITEM(job, 2));
	if (value && !check)
		value = awaited(value);
	PyGC_Disable();
	Py_XDECREF(none);
	Py_XDECREF(run);
	Py_XDECREF(done);
	Py_DECREF(job);
	return value;
}

/* A child that the tool forked came back out of run(). It has no result to give, and ends as a program of its own would. */
static void child_end(void)
{
	PyObject *type, *value, *trace, *code;
	long status = 0;

	if (!PyErr_Occurred())
		_exit(0);
	if (!PyErr_ExceptionMatches(PyExc_SystemExit)) {
		PyErr_Print();
		_exit(1);
	}
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	code = value ? PyObject_GetAttrString(value, "code") : NULL;
	if (code && code != Py_None)
		status = PyLong_Check(code) ? PyLong_AsLong(code) : 1;
	_exit((int)(status & 0xff));
}

static PyObject *error_payload(void)
{
	PyObject *type, *value, *trace, *payload;

	free(take_ptr(g_reserve));
	PyErr_Fetch(&type, &value, &trace);
	PyErr_NormalizeException(&type, &value, &trace);
	if (trace)
		PyException_SetTraceback(value, trace);
	payload = python_api_unanswered(value);
	if (!payload)
		payload = step(STEP_DESCRIBE, value);
	if (!payload || !PyBytes_CheckExact(payload)) {
		PyErr_Clear();
		payload = PyBytes_FromString("{\"type\":\"Error\",\"message\":\"the tool failed, and its error cannot be described\",\"traceback\":[]}");
	}
	if (g_session) { /* else they end with the process, without the tool's destructors */
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(trace);
	}
	return payload;
}

/* Runs the tool to its value or error. NULL only when not even an error can be told. */
static PyObject *tool_run(PyObject *body, PyObject *args, PyObject *seed, bool check, enum result_kind *ret_kind)
{
	PyObject *value = tool_value(body, args, seed, check), *payload;

	if (getpid() != g_pid)
		child_end();
	payload = value ? step(STEP_ENCODE, value) : NULL;
	if (g_session)
		Py_XDECREF(value);
	*ret_kind = RESULT_OK;
	if (payload && PyBytes_CheckExact(payload))
		return payload;
	*ret_kind = RESULT_ERROR;
	return PyErr_Occurred() ? error_payload() : NULL;
}

void python_warm(void)
{
	static const char zero[sizeof(((struct request_head *)0)->seed)];
	PyObject *body = PyBytes_FromStringAndSize(warm_body, sizeof(warm_body) - 1);
	PyObject *args = PyBytes_FromStringAndSize(warm_args, sizeof(warm_args) - 1);
	PyObject *seed = PyBytes_FromStringAndSize(zero, sizeof(zero)), *payload = NULL, *done;
	enum result_kind kind;

	g_pid = getpid();
	if (body && args && seed)
		payload = tool_run(body, args, seed, false, &kind);
	Py_XDECREF(payload);
	done = step(STEP_FINISH, NULL);
	Py_XDECREF(done);
	PyDict_DelItemString(PyImport_GetModuleDict(), "tool");
	PyErr_Clear();
	Py_XDECREF(body);
	Py_XDECREF(args);
	Py_XDECREF(seed);
}

/* len bytes of the request, straight into a bytes object. */
static PyObject *read_bytes(int fd, size_t len)
{
	PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)len);

	if (!bytes || fd_read_all(fd, PyBytes_AS_STRING(bytes), len) < 0)
		_exit(1);
	return bytes;
}

/* Reads one request, runs it, writes its frame. */
static void serve_one(int request_fd, int result_fd)
{
	struct request_head head;
	struct result_head out = { .magic = RESULT_MAGIC };
	enum result_kind kind;
	PyObject *body, *args, *context, *seed, *payload;

	/* Core went away, or threw this jail out. Python's lock is held while we wait: a session's threads stand still between calls. */
	if (fd_read_all(request_fd, &head, sizeof(head)) < 0)
		_exit(0);
	if (head.magic != REQUEST_MAGIC || head.flags & ~(uint32_t)REQUEST_CHECK || head.body_len > LIMIT_BODY_BYTES || head.args_len > LIMIT_ARGS_BYTES ||
	    head.context_len > LIMIT_CONTEXT_BYTES)
		_exit(1);
	body = read_bytes(request_fd, head.body_len);
	args = read_bytes(request_fd, head.args_len);
	context = head.context_len ? read_bytes(request_fd, head.context_len) : NULL;
	if (!g_session)
		fd_close(request_fd);
	seed = PyBytes_FromStringAndSize((const char *)head.seed, sizeof(head.seed));
	if (!g_reserve) /* an earlier error took it */
		g_reserve = malloc(RESERVE_BYTES);
	if (!seed || python_api_begin(result_fd, head.nonce, context) < 0)
		_exit(1);

	g_pid = getpid();
	payload = tool_run(body, args, seed, head.flags & REQUEST_CHECK, &kind);
	Py_XDECREF(step(STEP_FINISH, NULL));
	if (!payload)
		_exit(1);
	out.kind = kind;
	out.len = (uint64_t)PyBytes_GET_SIZE(payload);
	memcpy(out.nonce, head.nonce, sizeof(out.nonce));
	if ((fd_write_all(result_fd, &out, sizeof(out)) < 0 || fd_write_all(result_fd, PyBytes_AS_STRING(payload), out.len) < 0) && g_session)
		_exit(1); /* nobody reads: core is gone, or the tool closed it */
	Py_DECREF(payload);
	Py_DECREF(body);
	Py_DECREF(args);
	Py_XDECREF(context);
	Py_DECREF(seed);
}

void python_serve(int request_fd, int result_fd)
{
	/* As CPython's own start does: a closed pipe and a full file are OSErrors of the tool, not its death. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	do
		serve_one(request_fd, result_fd);
	while (g_session);
	/* Core kills the jail as soon as it has the frame. Until then it stands, so that what the kernel holds against it
	 * (usage, a pending SIGXFSZ) can still be read; a frame that core does not take must not keep it for long. */
	(void)poll(NULL, 0, STAND_MS);
	/* No atexit, no wait for threads: nothing of the tool's may delay or change what was sent. */
	_exit(0);
}
