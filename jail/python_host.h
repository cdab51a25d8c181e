/* The parts of jail/python.c that are files of their own: the interpreter's
 * start, and what the prelude needs of C (builtin functions without a way back to the
 * builtins module, the import gate, a print of one write). Zygote only; include Python.h first. */
#ifndef BRIG_JAIL_PYTHON_HOST_H
#define BRIG_JAIL_PYTHON_HOST_H

/* 0, or -1 with why[] filled. The caller is chrooted into the base root. */
int python_interpreter_start(char *why, size_t cap);
/* After the last import and collection: makes the objects of a jail share few pages. */
void python_holes_fill(void);

/* New reference to the object handed to prelude.configure(), or NULL with an exception. Once. */
PyObject *python_host_new(void);

#endif
