#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "jail/python_host.h"

#include "jail/base/compiler.h"
#include "jail/python_api.h"

#include <stdbool.h>
#include <string.h>

static PyObject *g_decide;        /* prelude.refusal */
static PyObject *g_first_stdout;  /* the stream that was sys.stdout when the zygote started */
static PyObject *g_builtin_print; /* CPython's own */
static PyObject *g_write;         /* "write" */

/* A builtin function carries its module as __self__, and the module carries open,
 * exec and the rest. None of bltinmodule.c's functions reads it. */
static PyObject *host_bare(PyObject *Py_UNUSED(self), PyObject *func)
{
	PyObject *module, *bare;

	if (!PyCFunction_CheckExact(func))
		return PyErr_Format(PyExc_TypeError, "not a builtin function: %R", func);
	module = PyUnicode_FromString("builtins");
	if (!module)
		return NULL;
	bare = PyCFunction_NewEx(((PyCFunctionObject *)func)->m_ml, NULL, module);
	Py_DECREF(module);
	return bare;
}

/* The exact text of a str, whatever its class overrides. */
static PyObject *exact_str(PyObject *text)
{
	if (!PyUnicode_Check(text)) {
		PyErr_SetString(PyExc_TypeError, "module names are strings");
		return NULL;
	}
	return PyUnicode_FromObject(text);
}

static PyObject *exact_names(PyObject *names)
{
	PyObject *tuple = names && names != Py_None ? PySequence_List(names) : PyList_New(0);

	for (Py_ssize_t i = 0; tuple && i < PyList_GET_SIZE(tuple); i++) {
		PyObject *name = exact_str(PyList_GET_ITEM(tuple, i));
		if (!name) {
			Py_CLEAR(tuple);
			break;
		}
		PyList_SetItem(tuple, i, name);
	}
	return tuple;
}

/* PyImport_Import() calls the __import__ of whatever frame is on top, with an
 * empty list (statements pass None or a tuple), and takes the module from sys.modules, not
 * from the answer. So C code (pickle looking for builtins or for the tool itself) can be
 * served, and the frame gets nothing. */
static bool called_from_c(PyObject *fromlist)
{
	return fromlist && PyList_CheckExact(fromlist) && PyList_GET_SIZE(fromlist) == 0;
}

/* Decides in Python, raises here: a traceback that the tool catches then holds no frame of the prelude. */
static PyObject *import_checked(PyObject *name, PyObject *globals, PyObject *locals, PyObject *names, int level,
				bool from_c)
{
	PyObject *refusal, *module = NULL;

	/* Ours, under every profile. */
	if (level == 0 && PyUnicode_CompareWithASCIIString(name, PYTHON_API_NAME) == 0)
		return PyImport_ImportModuleLevelObject(name, globals, locals, names, 0);
	refusal = PyObject_CallFunction(g_decide, "OOi", name, names, level);
	if (!refusal)
		return NULL;
	if (refusal == Py_None)
		module = PyImport_ImportModuleLevelObject(name, globals, locals, names, level);
	else if (from_c && PyDict_Contains(PyImport_GetModuleDict(), name) == 1)
		module = Py_NewRef(Py_None);
	else
		PyErr_SetImportError(refusal, name, NULL);
	Py_DECREF(refusal);
	return module;
}

static PyObject *gate_import(PyObject *Py_UNUSED(self), PyObject *args, PyObject *kwargs)
{
	static char *keys[] = { "name", "globals", "locals", "fromlist", "level", NULL };
	PyObject *raw_name, *globals = NULL, *locals = NULL, *fromlist = NULL, *name, *names, *module = NULL;
	int level = 0;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OOOi:__import__", keys, &raw_name, &globals, &locals, &fromlist, &level))
		return NULL;
	name = exact_str(raw_name);
	names = name ? exact_names(fromlist) : NULL;
	if (names)
		module = import_checked(name, globals, locals, names, level, called_from_c(fromlist));
	Py_XDECREF(name);
	Py_XDECREF(names);
	return module;
}

static PyMethodDef gate_def = { "__import__", (PyCFunction)(void (*)(void))gate_import, METH_VARARGS | METH_KEYWORDS,
				"Imports what the profile lists." };

static PyObject *host_gate(PyObject *Py_UNUSED(self), PyObject *decide)
{
	PyObject *module, *gate;

	Py_XSETREF(g_decide, Py_NewRef(decide));
	module = PyUnicode_FromString("builtins");
	if (!module)
		return NULL;
	gate = PyCFunction_NewEx(&gate_def, NULL, module);
	Py_DECREF(module);
	return gate;
}

/* sep or end: a str or None; NULL without an exception where print() must judge it. */
static PyObject *separator(PyObject *given, const char *standard)
{
	if (!given || given == Py_None)
		return PyUnicode_FromString(standard);
	return PyUnicode_CheckExact(given) ? Py_NewRef(given) : NULL;
}

static PyObject *joined(PyObject *const *args, Py_ssize_t nargs, PyObject *sep, PyObject *end)
{
	PyObject *parts = PyList_New(nargs), *text = NULL, *whole = NULL;

	for (Py_ssize_t i = 0; parts && i < nargs; i++) {
		PyObject *part = PyObject_Str(args[i]);
		if (!part) {
			Py_DECREF(parts);
			return NULL;
		}
		PyList_SET_ITEM(parts, i, part);
	}
	if (parts)
		text = PyUnicode_Join(sep, parts);
	if (text)
		whole = PyUnicode_Concat(text, end);
	Py_XDECREF(parts);
	Py_XDECREF(text);
	return whole;
}

static PyObject *say_fast(PyObject *const *args, Py_ssize_t nargs, PyObject *sep, PyObject *end)
{
	PyObject *text = joined(args, nargs, sep, end), *done;

	if (!text)
		return NULL;
	done = PyObject_CallMethodOneArg(g_first_stdout, g_write, text);
	Py_DECREF(text);
	if (!done)
		return NULL;
	Py_DECREF(done);
	Py_RETURN_NONE;
}

/* print() to an unbuffered stream costs one system call for each argument and
 * separator; a line in one call is as safe against a kill and several times cheaper. */
static PyObject *say(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
	PyObject *given[2] = { NULL, NULL }, *sep, *end, *done;

	for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
		PyObject *key = PyTuple_GET_ITEM(kwnames, i);
		if (PyUnicode_CompareWithASCIIString(key, "sep") == 0)
			given[0] = args[nargs + i];
		else if (PyUnicode_CompareWithASCIIString(key, "end") == 0)
			given[1] = args[nargs + i];
		else
			return PyObject_Vectorcall(g_builtin_print, args, (size_t)nargs, kwnames);
	}
	if (PySys_GetObject("stdout") != g_first_stdout)
		return PyObject_Vectorcall(g_builtin_print, args, (size_t)nargs, kwnames);
	sep = separator(given[0], " ");
	end = separator(given[1], "\n");
	if (sep && end)
		done = say_fast(args, nargs, sep, end);
	else
		done = PyErr_Occurred() ? NULL : PyObject_Vectorcall(g_builtin_print, args, (size_t)nargs, kwnames);
	Py_XDECREF(sep);
	Py_XDECREF(end);
	return done;
}

static PyMethodDef say_def = { "print", (PyCFunction)(void (*)(void))say, METH_FASTCALL | METH_KEYWORDS,
			       "Prints the values to a stream, or to sys.stdout by default." };

static PyCFunction g_subclasses; /* type.__subclasses__ as CPython has it */

static PyObject *subclasses(PyObject *self, PyObject *unused)
{
	return self == (PyObject *)&PyBaseObject_Type ? PyList_New(0) : g_subclasses(self, unused);
}

/* Of the names with two underscores these lead nowhere else. */
static bool field_name_fine(PyObject *text, Py_ssize_t at)
{
	static const char *const fine[] = { "__class__", "__name__", "__qualname__", "__module__", "__doc__" };
	Py_ssize_t len = PyUnicode_GET_LENGTH(text), end = at;
	char name[16];

	while (end < len && end - at < (Py_ssize_t)sizeof(name) - 1) {
		Py_UCS4 c = PyUnicode_READ_CHAR(text, end);
		if (c >= 0x80 || !(c == '_' || Py_ISALNUM((int)c)))
			break;
		name[end++ - at] = (char)c;
	}
	name[end - at] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		if (strcmp(name, fine[i]) == 0)
			return true;
	return false;
}

/* Looks for ".__name" and "[__name" inside of braces; {{ and }} are text. */
static bool format_fine(PyObject *text)
{
	Py_ssize_t len = PyUnicode_GET_LENGTH(text), depth = 0;

	for (Py_ssize_t i = 0; i + 2 < len; i++) {
		Py_UCS4 c = PyUnicode_READ_CHAR(text, i), next = PyUnicode_READ_CHAR(text, i + 1);
		if (depth == 0 && c == next && (c == '{' || c == '}'))
			i++;
		else if (c == '{')
			depth++;
		else if (c == '}')
			depth -= depth > 0;
		else if (depth > 0 && (c == '.' || c == '[') && next == '_' && PyUnicode_READ_CHAR(text, i + 2) == '_' &&
			 !field_name_fine(text, i + 1))
			return false;
	}
	return true;
}

static PyObject *format_refused(void)
{
	PyErr_SetString(PyExc_AttributeError,
			"format fields do not reach names such as __globals__ under restricted builtins; use an f-string");
	return NULL;
}

static PyCFunctionWithKeywords g_format; /* str.format and str.format_map as CPython has them */
static PyCFunction g_format_map;

static PyObject *format(PyObject *self, PyObject *args, PyObject *kwargs)
{
	return format_fine(self) ? g_format(self, args, kwargs) : format_refused();
}

static PyObject *format_map(PyObject *self, PyObject *mapping)
{
	return format_fine(self) ? g_format_map(self, mapping) : format_refused();
}

/* Puts ours in the place of a builtin type's method, and answers CPython's own. */
static PyCFunction method_replace(PyTypeObject *type, const char *name, PyCFunction ours)
{
	PyObject *found = PyDict_GetItemString(type->tp_dict, name);
	PyCFunction theirs;

	if (!found || !Py_IS_TYPE(found, &PyMethodDescr_Type)) {
		PyErr_Format(PyExc_RuntimeError, "%s.%s is not a method descriptor", type->tp_name, name);
		return NULL;
	}
	theirs = ((PyMethodDescrObject *)found)->d_method->ml_meth;
	((PyMethodDescrObject *)found)->d_method->ml_meth = ours;
	return theirs;
}

/* Every published walk from a literal to os starts with the list of all classes,
 * which no ordinary tool reads (ABCs ask their own classes only), or with a format
 * field, which needs no builtin at all. */
static PyObject *host_shut(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(unused))
{
	g_subclasses = method_replace(&PyType_Type, "__subclasses__", subclasses);
	g_format = (PyCFunctionWithKeywords)(void (*)(void))method_replace(&PyUnicode_Type, "format",
									    (PyCFunction)(void (*)(void))format);
	g_format_map = method_replace(&PyUnicode_Type, "format_map", format_map);
	if (!g_subclasses || !g_format || !g_format_map)
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef host_methods[] = {
	{ "bare", host_bare, METH_O, NULL },
	{ "gate", host_gate, METH_O, NULL },
	{ "shut", host_shut, METH_NOARGS, NULL },
	{ NULL, NULL, 0, NULL },
};
static struct PyModuleDef host_module = { PyModuleDef_HEAD_INIT, "brig_host", NULL, -1, host_methods, NULL, NULL, NULL, NULL };

PyObject *python_host_new(void)
{
	PyObject *host = PyModule_Create(&host_module), *print, *name;

	name = PyUnicode_FromString("builtins");
	print = name ? PyCFunction_NewEx(&say_def, NULL, name) : NULL;
	Py_XDECREF(name);
	g_write = PyUnicode_InternFromString("write");
	g_builtin_print = Py_XNewRef(PyDict_GetItemString(PyEval_GetBuiltins(), "print"));
	g_first_stdout = Py_XNewRef(PySys_GetObject("stdout"));
	if (!host || !print || !g_write || !g_builtin_print || !g_first_stdout || PyModule_AddObjectRef(host, "say", print) < 0)
		Py_CLEAR(host);
	Py_XDECREF(print);
	return host;
}
