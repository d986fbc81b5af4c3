/* inside.h - declarations that the files of the extension module gpufl._capture share.
 *
 * The module uses only CPython's limited API of 3.9, so that one binary works with all later
 * versions. All state is in the module or in objects: interpreters of one process share the session
 * of libgpufl.so and nothing else. Every function runs with the interpreter's lock, and calls that
 * can take long (init, shutdown, windows, upload) release the lock meanwhile. */
#ifndef GPUFL_PYTHON_CAPTURE_INSIDE_H
#define GPUFL_PYTHON_CAPTURE_INSIDE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <gpufl/gpufl.h>

/* A text argument as UTF-8: a new bytes object; NULL with an exception. None gives "" if None is
 * allowed. A text with a NUL in it raises a ValueError. */
PyObject *text_argument(PyObject *value, const char *name, int none);

/* The value as a Python int, also for numpy's integers: a new reference. NULL without an exception
 * for all other values, including True and False. */
PyObject *whole_number(PyObject *value);

/* gpufl.init(**options): True if a session runs then; False if capture is disabled or failed. */
PyObject *capture_init(PyObject *module, PyObject *args, PyObject *kwargs);

/* A list of (name, kind, default, unit, least, most, doc) of every option. */
PyObject *capture_options(PyObject *module, PyObject *none);

/* gpufl.upload_logs(...): a tuple (code, lines, message). */
PyObject *capture_upload(PyObject *module, PyObject *args, PyObject *kwargs);

/* Adds the types Scope and its iterator to the module. 0, or -1 with an exception. */
int scope_add_types(PyObject *module);

#endif
