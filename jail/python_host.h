/* What the prelude needs of C: builtin functions without a way back to the
 * builtins module, the import gate, a print of one write. Used by jail/python.c only;
 * include Python.h first. */
#ifndef BRIG_JAIL_PYTHON_HOST_H
#define BRIG_JAIL_PYTHON_HOST_H

/* New reference to the object handed to prelude.configure(), or NULL with an exception. Zygote only, once. */
PyObject *python_host_new(void);

#endif
