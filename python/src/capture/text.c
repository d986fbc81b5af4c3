/* text.c - converts Python texts to UTF-8 for the C library, and reads whole numbers. */
#include "inside.h"

#include <string.h>

PyObject *text_argument(PyObject *value, const char *name, int none)
{
    if (none && (!value || value == Py_None))
        return PyBytes_FromString("");
    PyObject *bytes = NULL;
    if (PyUnicode_Check(value)) {
        /* Names of files may contain bytes that are not UTF-8, which Python keeps as surrogates. */
        bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
    } else if (!PyBytes_Check(value) && PyObject_HasAttrString(value, "__fspath__")) {
        PyObject *path = PyOS_FSPath(value);
        if (path && PyUnicode_Check(path))
            bytes = PyUnicode_AsEncodedString(path, "utf-8", "surrogateescape");
        else if (path) {
            Py_INCREF(path);
            bytes = path;
        }
        Py_XDECREF(path);
    } else {
        PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", name, (PyObject *)Py_TYPE(value));
    }
    if (bytes && strlen(PyBytes_AsString(bytes)) != (size_t)PyBytes_Size(bytes)) {
        PyErr_Format(PyExc_ValueError, "%s must not contain a null character", name);
        Py_CLEAR(bytes);
    }
    return bytes;
}

PyObject *whole_number(PyObject *value)
{
    PyObject *whole = PyBool_Check(value) || !PyIndex_Check(value) ? NULL : PyNumber_Index(value);
    if (!whole)
        PyErr_Clear();
    return whole;
}
